// Package gemini asks models through Google's Gemini API.
package gemini

import (
	"context"
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
	// HTTP makes the connections. Its redirects are not used. Nil means http.DefaultClient.
	HTTP *http.Client
	// Now is for dates in Retry-After. Nil means time.Now.
	Now func() time.Time
}

// Driver speaks the Gemini API. It keeps nothing between calls and may be used by many goroutines.
type Driver struct {
	streams   *http.Client
	documents *http.Client
	now       func() time.Time
}

// New makes a Driver.
func New(o Options) *Driver {
	if o.HTTP == nil {
		o.HTTP = http.DefaultClient
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Driver{streams: wire.StreamClient(o.HTTP), documents: wire.DocumentClient(o.HTTP), now: o.Now}
}

// client makes a client of the SDK for one call.
func client(ctx context.Context, at llm.Endpoint, transport http.RoundTripper) (*genai.Client, error) {
	// Whatever is left empty the SDK takes from the environment, and without a key it does nothing: so all is given, and the
	// transport below puts the real key in, or none.
	base, version := strings.TrimRight(at.BaseURL, "/"), "v1beta"
	if base == "" {
		base = "https://generativelanguage.googleapis.com"
	}
	// Users write the version into addresses as often as not.
	for _, v := range []string{"v1beta", "v1alpha", "v1"} {
		if rest, ok := strings.CutSuffix(base, "/"+v); ok {
			base, version = rest, v
			break
		}
	}
	c, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI,
		HTTPClient:  &http.Client{Transport: transport},
		HTTPOptions: genai.HTTPOptions{BaseURL: base + "/", APIVersion: version},
	})
	if err != nil {
		// The error repeats the whole configuration.
		return nil, &llm.Error{Code: llm.CodeMisconfigured, Message: "The provider can't be used with this base URL. Check it in the provider's settings."}
	}
	return c, nil
}

// keyed sends requests with the key of one call.
type keyed struct {
	client *http.Client
	key    string
}

// RoundTrip implements http.RoundTripper.
func (k *keyed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("X-Goog-Api-Key")
	if k.key != "" {
		req.Header.Set("X-Goog-Api-Key", k.key)
	}
	return k.client.Transport.RoundTrip(req)
}

// taken sends requests like keyed and keeps the answer to itself: the SDK gets an empty one. Its own reader of streams takes events
// of up to 256 MiB, writes to the standard log when a connection breaks, panics where a field has another type than expected, and
// turns numbers in the arguments of calls into floats.
type taken struct {
	keyed

	resp *http.Response
}

// RoundTrip implements http.RoundTripper.
func (t *taken) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.keyed.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	t.resp = resp
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// Stream implements llm.Driver.
func (d *Driver) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
	fail := d.failures(req.Endpoint)
	if !validModel(req.Model) {
		return llm.Response{}, badModel(req.Model)
	}
	contents, config, err := newContents(ctx, &req)
	if err != nil {
		return llm.Response{}, fail.Of(ctx, err)
	}
	t := &taken{keyed: keyed{client: d.streams, key: req.Endpoint.APIKey}}
	c, err := client(ctx, req.Endpoint, t)
	if err != nil {
		return llm.Response{}, err
	}
	for _, e := range c.Models.GenerateContentStream(ctx, req.Model, contents, config) {
		err = e
		break
	}
	if t.resp != nil {
		defer func() { _ = t.resp.Body.Close() }()
	}
	if err != nil || t.resp == nil {
		return llm.Response{}, fail.OfRequest(ctx, orUnsent(err))
	}
	r := newReader(t.resp.Header, emit, fail)
	err = r.read(wire.NewEvents(t.resp.Body, func() { emit(llm.Delta{}) }))
	if ctx.Err() == nil && r.finished() && !isRefusal(err) {
		// The answer is complete. What broke after it can at most have been its usage.
		err = nil
	}
	return r.response(), fail.Of(ctx, err)
}

// Models implements llm.Lister.
func (d *Driver) Models(ctx context.Context, at llm.Endpoint) (out []llm.ModelInfo, err error) {
	fail := d.failures(at)
	// The SDK panics where a field has another type than it expects.
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fail.Of(ctx, wire.Unreadablef("the list of models does not have the form that it should have"))
		}
	}()
	c, err := client(ctx, at, &keyed{client: d.documents, key: at.APIKey})
	if err != nil {
		return nil, err
	}
	config := &genai.ListModelsConfig{PageSize: maxModels}
	for range maxPages {
		page, err := c.Models.List(ctx, config)
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
		// A server that gives the same page again and again must not be asked for ever.
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

// validModel tells whether a name can stand in the path of an address without changing what is asked.
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
		"%.100q can't be the name of a model of this provider. Check the model's name.", name)}
}

// orUnsent stands in where the SDK sent nothing and does not say why.
func orUnsent(err error) error {
	if err == nil {
		return fmt.Errorf("the SDK sent no request")
	}
	return err
}
