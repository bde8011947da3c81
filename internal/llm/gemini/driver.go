// Package gemini asks models through Google's Gemini API.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
)

var (
	_ llm.Driver = (*Driver)(nil)
	_ llm.Lister = (*Driver)(nil)
)

// maxModels and maxPages bound what is listed.
const (
	maxModels = 1000
	maxPages  = 20
)

// Options are what a Driver needs from outside.
type Options struct {
	// HTTP makes the calls. It decides which addresses may be reached. Its redirects are not used. It is required.
	HTTP *http.Client
	// Now is the time, for dates in Retry-After. Nil means the system's clock.
	Now func() time.Time
}

// Driver speaks the Gemini API. It keeps nothing between calls and may be used by many goroutines.
type Driver struct {
	sdk *genai.Client
	// broken tells why there is no SDK.
	broken error
	now    func() time.Time
}

// New makes a Driver.
func New(o Options) *Driver {
	if o.Now == nil {
		o.Now = time.Now
	}
	// Whatever is left empty the SDK takes from the environment, and without a key it does nothing: so all is given, and the
	// transport puts in the real key, or none. One client serves all calls, since each new one looks at the environment anew.
	sdk, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI,
		HTTPClient:  &http.Client{Transport: &transport{streams: wire.StreamClient(o.HTTP, wire.Strict), documents: wire.DocumentClient(o.HTTP, wire.Strict)}},
		HTTPOptions: genai.HTTPOptions{BaseURL: defaultBase, APIVersion: "v1beta"},
	})
	if err != nil {
		// The error repeats the whole configuration.
		err = &llm.Error{Code: llm.CodeInternal, Message: "The server can't use Google's SDK: its version is incompatible."}
	}
	return &Driver{sdk: sdk, broken: err, now: o.Now}
}

// defaultBase is where Google serves the API.
const defaultBase = "https://generativelanguage.googleapis.com/"

// address tells the SDK where to ask.
func address(at llm.Endpoint) *genai.HTTPOptions {
	base, version := strings.TrimRight(at.BaseURL, "/"), "v1beta"
	if base == "" {
		return &genai.HTTPOptions{BaseURL: defaultBase, APIVersion: version}
	}
	// The SDK adds the version to the path; users write it into addresses as often as not.
	for _, v := range []string{"v1beta", "v1alpha", "v1"} {
		if rest, ok := strings.CutSuffix(base, "/"+v); ok {
			base, version = rest, v
			break
		}
	}
	return &genai.HTTPOptions{BaseURL: base + "/", APIVersion: version}
}

// exchange is one request and its answer. It rides on the request's context, since the SDK has no place for it.
type exchange struct {
	key      string
	document bool
	// resp is the answer, when it is a stream. The SDK gets an empty one in its place: its own reader of streams takes events of up
	// to 256 MiB, writes to the standard log when a connection breaks, panics where a field has another type than expected, and turns
	// numbers in the arguments of calls into floats.
	resp *http.Response
}

type exchangeKey struct{}

// transport sends the SDK's requests.
type transport struct{ streams, documents *http.Client }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("the SDK made an unexpected request")
	}
	req = req.Clone(req.Context())
	req.Header.Del("X-Goog-Api-Key")
	if x.key != "" {
		req.Header.Set("X-Goog-Api-Key", x.key)
	}
	if x.document {
		return t.documents.Transport.RoundTrip(req)
	}
	resp, err := t.streams.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	x.resp = resp
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// Stream implements llm.Driver.
func (d *Driver) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
	if d.broken != nil {
		return llm.Response{}, d.broken
	}
	fail := d.failures(req.Endpoint)
	if !validModel(req.Model) {
		return llm.Response{}, badModel(req.Model)
	}
	contents, config, err := newContents(ctx, &req)
	if err != nil {
		return llm.Response{}, fail.Of(ctx, err)
	}
	x := &exchange{key: req.Endpoint.APIKey}
	err = errNotSent
	for _, e := range d.sdk.Models.GenerateContentStream(context.WithValue(ctx, exchangeKey{}, x), req.Model, contents, config) {
		if e != nil {
			err = e
		}
		break
	}
	if x.resp == nil {
		return llm.Response{}, fail.OfRequest(ctx, err)
	}
	defer func() { _ = x.resp.Body.Close() }()
	r := newReader(x.resp.Header, emit, fail)
	err = r.read(wire.NewEvents(x.resp.Body, wire.Strict, func() { emit(llm.Delta{}) }))
	if ctx.Err() == nil && r.finished() && !isRefusal(err) {
		// The answer is complete. What broke after it can at most have been its usage.
		err = nil
	}
	resp := r.response()
	if err != nil {
		resp.FinishReason = ""
	}
	return resp, fail.Of(ctx, err)
}

// errNotSent stands in where the SDK sends nothing and does not say why.
var errNotSent = errors.New("the SDK sent no request")

// Models implements llm.Lister.
func (d *Driver) Models(ctx context.Context, at llm.Endpoint) (out []llm.ModelInfo, err error) {
	if d.broken != nil {
		return nil, d.broken
	}
	fail := d.failures(at)
	// The SDK panics where a field has another type than it expects.
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fail.Of(ctx, wire.Unreadablef("the list of models does not have the expected form"))
		}
	}()
	asked := context.WithValue(ctx, exchangeKey{}, &exchange{key: at.APIKey, document: true})
	config := &genai.ListModelsConfig{PageSize: maxModels, HTTPOptions: address(at)}
	for range maxPages {
		page, err := d.sdk.Models.List(asked, config)
		if err != nil {
			return nil, fail.OfDocument(ctx, err)
		}
		for _, m := range page.Items {
			if m == nil || m.Name == "" {
				return nil, fail.Of(ctx, wire.Unreadablef("a model in the list has no name"))
			}
			// Models for embeddings, images and video are listed too.
			if len(m.SupportedActions) > 0 && !slices.Contains(m.SupportedActions, "generateContent") {
				continue
			}
			out = append(out, llm.ModelInfo{
				Name: strings.TrimPrefix(m.Name, "models/"), DisplayName: m.DisplayName,
				ContextWindowTokens: max(int(m.InputTokenLimit), 0), MaxOutputTokens: max(int(m.OutputTokenLimit), 0),
			})
			if len(out) == maxModels {
				return out, nil
			}
		}
		// A server that gives the same page again and again must not be asked forever.
		if page.NextPageToken == "" || page.NextPageToken == config.PageToken {
			break
		}
		config.PageToken = page.NextPageToken
	}
	return out, nil
}

func (d *Driver) failures(at llm.Endpoint) wire.Failures {
	return wire.Failures{Key: at.APIKey, Now: d.now, Read: readRefusal}
}

// validModel reports whether a name can stand in the path of an address without changing what is asked.
func validModel(name string) bool {
	if name == "" || strings.Contains(name, "..") {
		return false
	}
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-_./@", c):
		default:
			return false
		}
	}
	return true
}

func badModel(name string) error {
	return &llm.Error{Code: llm.CodeMisconfigured, Message: fmt.Sprintf(
		"%.100q is not a valid model name for this provider. Check the model's name.", name)}
}
