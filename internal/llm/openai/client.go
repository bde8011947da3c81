// Package openai speaks to OpenAI, and to the many servers that imitate it. There are two drivers: Responses for OpenAI itself, and Chat,
// with the older Chat Completions protocol, for compatible servers.
//
// Requests are made with OpenAI's SDK. Streams are read by package wire: the SDK holds back comments, which are signs of life, bounds no
// event, and takes what compatible servers do differently for an error.
package openai

import (
	"context"
	"net/http"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
)

const defaultBaseURL = "https://api.openai.com/v1"

// Options are what a driver needs from outside.
type Options struct {
	// HTTP makes the calls. It decides which addresses may be reached. Its redirects are not used. It is required.
	HTTP *http.Client
	// Now is the time, for dates in Retry-After. Nil means the system's clock.
	Now func() time.Time
}

// caller makes requests to a provider and sorts what fails.
type caller struct {
	streams, documents *http.Client
	now                func() time.Time
}

func newCaller(o Options) caller {
	if o.Now == nil {
		o.Now = time.Now
	}
	return caller{streams: wire.StreamClient(o.HTTP, wire.Lenient), documents: wire.DocumentClient(o.HTTP, wire.Lenient), now: o.Now}
}

// post asks for a stream. The caller closes its body.
func (c caller) post(ctx context.Context, at llm.Endpoint, path string, body any) (*http.Response, error) {
	var resp *http.Response
	client := newClient(at, c.streams)
	err := client.Post(ctx, path, body, &resp, option.WithHeader("Accept", "text/event-stream"))
	return resp, err
}

// get asks for a document. The caller closes its body.
func (c caller) get(ctx context.Context, at llm.Endpoint, path string) (*http.Response, error) {
	var resp *http.Response
	client := newClient(at, c.documents)
	err := client.Get(ctx, path, nil, &resp)
	return resp, err
}

// newClient makes the SDK's client for one call. It is not made by sdk.NewClient, which reads keys, addresses and headers from this process's
// environment: they belong to the operator, and the call to a tenant.
func newClient(at llm.Endpoint, over *http.Client) sdk.Client {
	opts := []option.RequestOption{option.WithBaseURL(at.BaseURL), option.WithHTTPClient(over), option.WithMaxRetries(0)}
	if at.APIKey != "" {
		opts = append(opts, option.WithAPIKey(at.APIKey))
	}
	return sdk.Client{Options: opts}
}

func (c caller) failures(at llm.Endpoint) wire.Failures {
	return wire.Failures{Key: at.APIKey, Now: c.now, Read: readRefusal}
}
