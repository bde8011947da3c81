// Package anthropic asks models through Anthropic's Messages API.
package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

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

// Driver speaks the Messages API. It keeps nothing between calls and may be used by many goroutines.
type Driver struct {
	messages sdk.MessageService
	models   sdk.ModelService
	now      func() time.Time
}

// New makes a Driver.
func New(o Options) *Driver {
	if o.Now == nil {
		o.Now = time.Now
	}
	// The services are made without sdk.NewClient, which would take keys, addresses and headers from the environment.
	quiet := []option.RequestOption{option.WithMaxRetries(0), option.WithoutOpenTelemetry()}
	return &Driver{
		messages: sdk.NewMessageService(append(quiet[:2:2], option.WithHTTPClient(wire.StreamClient(o.HTTP, wire.Strict)))...),
		models:   sdk.NewModelService(append(quiet[:2:2], option.WithHTTPClient(wire.DocumentClient(o.HTTP, wire.Strict)))...),
		now:      o.Now,
	}
}

// endpoint returns the options that tell the SDK where to ask, and as whom.
func endpoint(at llm.Endpoint) []option.RequestOption {
	// The SDK adds the version to the path; users write it into addresses as often as not.
	base := strings.TrimSuffix(strings.TrimRight(at.BaseURL, "/"), "/v1")
	if base == "" {
		base = "https://api.anthropic.com"
	}
	out := []option.RequestOption{option.WithBaseURL(base + "/")}
	if at.APIKey != "" {
		out = append(out, option.WithAPIKey(at.APIKey))
	}
	return out
}

// Stream implements llm.Driver.
func (d *Driver) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
	fail := d.failures(req.Endpoint)
	params, err := newParams(ctx, &req)
	if err != nil {
		return llm.Response{}, fail.Of(ctx, err)
	}
	var raw *http.Response
	// Of the SDK's stream only the response is used: it says nothing of pings, and would wait for the end of events of any size.
	stream := d.messages.NewStreaming(ctx, params, append(endpoint(req.Endpoint), option.WithResponseInto(&raw))...)
	defer func() { _ = stream.Close() }()
	if err := stream.Err(); err != nil {
		return llm.Response{}, fail.OfRequest(ctx, err)
	}
	r := newReader(raw.Header, emit, fail)
	err = r.read(wire.NewEvents(raw.Body, wire.Strict, func() { emit(llm.Delta{}) }))
	return r.response(), fail.Of(ctx, err)
}

// Models implements llm.Lister.
func (d *Driver) Models(ctx context.Context, at llm.Endpoint) ([]llm.ModelInfo, error) {
	fail := d.failures(at)
	var out []llm.ModelInfo
	params := sdk.ModelListParams{Limit: sdk.Int(maxModels)}
	for range maxPages {
		page, err := d.models.List(ctx, params, endpoint(at)...)
		if err != nil {
			return nil, fail.OfDocument(ctx, err)
		}
		if !page.JSON.Data.Valid() {
			return nil, fail.Of(ctx, wire.Unreadablef("the answer contains no list of models"))
		}
		for i := range page.Data {
			m := &page.Data[i]
			if m.ID == "" {
				return nil, fail.Of(ctx, wire.Unreadablef("a model in the list has no id"))
			}
			out = append(out, llm.ModelInfo{
				Name: m.ID, DisplayName: m.DisplayName,
				ContextWindowTokens: max(int(m.MaxInputTokens), 0), MaxOutputTokens: max(int(m.MaxTokens), 0),
			})
			if len(out) == maxModels {
				return out, nil
			}
		}
		// A server that gives the same page again and again must not be asked forever.
		if !page.HasMore || len(page.Data) == 0 || page.LastID == "" || page.LastID == params.AfterID.Value {
			break
		}
		params.AfterID = sdk.String(page.LastID)
	}
	return out, nil
}

func (d *Driver) failures(at llm.Endpoint) wire.Failures {
	return wire.Failures{Key: at.APIKey, Now: d.now, Read: readRefusal}
}

// wireError is how the API tells of an error, in a body and in a stream.
type wireError struct {
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// readRefusal reads an error's body. What is none, e.g. a proxy's page, has nothing to say to users.
func readRefusal(r *llm.Refusal, body []byte) {
	var e wireError
	if json.Unmarshal(body, &e) == nil {
		r.Type, r.Message = e.Error.Type, e.Error.Message
	}
}

// statusOf returns the status that an error inside a stream stands for, as the API's documentation pairs them.
func statusOf(errorType string) int {
	switch errorType {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "timeout_error":
		return http.StatusGatewayTimeout
	case "overloaded_error":
		return statusOverloaded
	}
	return http.StatusInternalServerError
}

// statusOverloaded is Anthropic's own status for a service that has too much to do.
const statusOverloaded = 529
