// Package openai speaks to OpenAI, and to the many servers that imitate it. There are two drivers: Responses for OpenAI itself, and Chat,
// with the older Chat Completions protocol, for compatible servers.
//
// Requests are made with OpenAI's SDK. Streams are read here: the SDK holds back comments, which are signs of life, bounds no
// event, and takes what compatible servers do differently for an error.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/ostler-dev/ostler/internal/llm"
)

const (
	defaultBaseURL = "https://api.openai.com/v1"
	// maxRefusalBytes is how much of an answer that is no success is read.
	maxRefusalBytes = 64 << 10
)

// Options are what a driver needs from outside.
type Options struct {
	// HTTP makes the calls. It decides which addresses may be reached and must follow no redirects. It is required.
	HTTP *http.Client
	// Now is the time, for dates in Retry-After. Nil means the system's clock.
	Now func() time.Time
}

// caller makes requests to a provider and sorts what fails.
type caller struct {
	http *http.Client
	now  func() time.Time
}

func newCaller(o Options) caller {
	if o.HTTP == nil {
		// http.DefaultClient would follow redirects, and the proxies of the environment.
		panic("openai: Options.HTTP is required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return caller{http: o.HTTP, now: o.Now}
}

// post asks for a stream. The caller closes its body.
func (c caller) post(ctx context.Context, at llm.Endpoint, path string, body any) (*http.Response, error) {
	var resp *http.Response
	client := c.client(at)
	err := client.Post(ctx, path, body, &resp, option.WithHeader("Accept", "text/event-stream"))
	if err != nil {
		return nil, err
	}
	if err := checkStream(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func (c caller) get(ctx context.Context, at llm.Endpoint, path string) (*http.Response, error) {
	var resp *http.Response
	client := c.client(at)
	err := client.Get(ctx, path, nil, &resp)
	return resp, err
}

// client makes the SDK's client for one call. It is not made by sdk.NewClient, which reads keys, addresses and headers from this process's
// environment: they belong to the operator, and the call to a tenant.
func (c caller) client(at llm.Endpoint) sdk.Client {
	opts := []option.RequestOption{
		option.WithBaseURL(at.BaseURL), option.WithHTTPClient(c.http), option.WithMaxRetries(0), option.WithMiddleware(refuse),
	}
	if at.APIKey != "" {
		opts = append(opts, option.WithAPIKey(at.APIKey))
	}
	return sdk.Client{Options: opts}
}

// refuse turns every answer that is no success into a *refused. The SDK's own reading of them is unbounded, and loses the status of
// those that are not in OpenAI's form.
func refuse(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(req)
	if err != nil || resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }()
	// When the body breaks off, the status alone says enough.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusalBytes))
	r := parseRefusal(body, resp.Header.Get("Content-Type"))
	r.status, r.header = resp.StatusCode, resp.Header
	return nil, r
}

// checkStream refuses a success that is no stream.
func checkStream(resp *http.Response) error {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" || err != nil && resp.Header.Get("Content-Type") == "" {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusalBytes))
	if err == nil && hasError(body) {
		r := parseRefusal(body, kind)
		r.status = statusOf(r.kind, r.code)
		return r
	}
	return &unreadableError{fmt.Errorf("want a stream of events, got content type %q", resp.Header.Get("Content-Type"))}
}

// refused is what the provider answered instead of a stream, or in the middle of one.
type refused struct {
	status int
	header http.Header
	// kind holds type, code and parameter; code is the number that was given as a code, 0 for none.
	kind, message string
	code          int
}

func (r *refused) Error() string { return fmt.Sprintf("refused with status %d", r.status) }

// unreadableError is an answer that breaks the protocol, or our limits.
type unreadableError struct{ cause error }

func (e *unreadableError) Error() string { return e.cause.Error() }
func (e *unreadableError) Unwrap() error { return e.cause }

// failure sorts an error of a call.
func (c caller) failure(ctx context.Context, at llm.Endpoint, err error) error {
	if ctx.Err() != nil {
		return llm.ConnectionError(ctx, err)
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if r, ok := errors.AsType[*refused](err); ok {
		if r.status >= 300 && r.status < 400 {
			return &llm.Error{Code: llm.CodeMisconfigured, Status: r.status, Message: "The provider's address leads to another one, which is not followed. " +
				"Put the final address into the base URL in the provider's settings."}
		}
		return llm.RefusalError(llm.Refusal{
			Status: r.status, Header: r.header, Type: hide(r.kind, at.APIKey), Message: hide(r.message, at.APIKey),
		}, c.now())
	}
	if e, ok := errors.AsType[*unreadableError](err); ok {
		return llm.BrokenAnswerError(e)
	}
	return llm.ConnectionError(ctx, err)
}

// minSecret is the length of the shortest key that is a secret: servers without keys are often given a word in its place.
const minSecret = 8

// hide takes a key out of a text. Servers may repeat what they were sent, headers included.
func hide(text, key string) string {
	if len(key) < minSecret {
		return text
	}
	return strings.ReplaceAll(text, key, "[key]")
}

// parseRefusal reads the forms in which servers tell errors: OpenAI's {"error": {…}}, a text in its place, the same in a list, the error's
// fields on the top level, {"detail": …}, or plain text.
func parseRefusal(body []byte, contentType string) *refused {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		if len(body) == 0 || body[0] == '<' || body[0] == '{' || body[0] == '[' || strings.Contains(contentType, "html") {
			return &refused{} // a page is no message
		}
		return &refused{message: string(body)}
	}
	if isSet(outer.Error) {
		return errorFields(outer.Error)
	}
	if isSet(outer.Detail) {
		r := errorFields(outer.Detail)
		if r.message == "" {
			r.message = string(outer.Detail)
		}
		return r
	}
	return errorFields(body)
}

// errorFields reads an error, which is an object or only a text.
func errorFields(raw json.RawMessage) *refused {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &refused{message: text}
	}
	var fields struct {
		Type    loose `json:"type"`
		Code    loose `json:"code"`
		Param   loose `json:"param"`
		Message loose `json:"message"`
	}
	if json.Unmarshal(raw, &fields) != nil {
		return &refused{}
	}
	r := &refused{message: fields.Message.text}
	r.kind = strings.Join(strings.Fields(fields.Type.text+" "+fields.Code.text+" "+fields.Param.text), " ")
	if _, err := fmt.Sscanf(fields.Code.text, "%d", &r.code); err != nil {
		r.code = 0
	}
	return r
}

// hasError reports whether an object says that it is an error.
func hasError(body []byte) bool {
	var o struct {
		Object loose           `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	return json.Unmarshal(body, &o) == nil && (isSet(o.Error) || o.Object.text == "error")
}

// isSet reports whether a field is there and says something.
func isSet(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "{}", "false":
		return false
	}
	return true
}

// loose is a string that some servers write as a number, and some as nothing.
type loose struct{ text string }

// UnmarshalJSON implements json.Unmarshaler.
func (l *loose) UnmarshalJSON(b []byte) error {
	l.text = ""
	if b[0] == '"' {
		return json.Unmarshal(b, &l.text)
	}
	if b[0] == '-' || b[0] >= '0' && b[0] <= '9' {
		l.text = string(b)
	}
	return nil
}

// statusOf gives the HTTP status that an error in a stream stands for. What is not known counts as a failure of the server: the request
// had been taken.
func statusOf(kind string, code int) int {
	if code >= 400 && code < 600 {
		return code
	}
	kind = strings.ToLower(kind)
	for _, row := range [...]struct {
		status int
		words  []string
	}{
		{http.StatusTooManyRequests, []string{"rate_limit", "ratelimit", "too_many_requests", "quota", "billing"}},
		{http.StatusServiceUnavailable, []string{"overloaded", "unavailable", "timeout"}},
		{http.StatusInternalServerError, []string{"server_error", "internal"}},
		{http.StatusUnauthorized, []string{"api_key", "authentication", "unauthorized", "permission"}},
		{http.StatusNotFound, []string{"not_found", "notfound"}},
		{http.StatusBadRequest, []string{"invalid", "context_length", "unsupported", "bad_request", "badrequest", "content_policy"}},
	} {
		for _, w := range row.words {
			if strings.Contains(kind, w) {
				return row.status
			}
		}
	}
	return http.StatusInternalServerError
}
