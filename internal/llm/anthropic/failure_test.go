package anthropic_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
)

func refused(errorType, message string) string {
	return `{"type":"error","error":{"type":"` + errorType + `","message":"` + message + `"},"request_id":"req_1"}`
}

// Rules: F1.
func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		status    int
		body      string
		header    http.Header
		code      llm.Code
		transient bool
		after     time.Duration
		says      string
	}{
		"invalid request": {status: 400, body: refused("invalid_request_error", "messages: roles must alternate"), code: llm.CodeMisconfigured, says: "roles must alternate"},
		"too long":        {status: 400, body: refused("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), code: llm.CodeContextExceeded},
		"no credit":       {status: 400, body: refused("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), code: llm.CodeQuotaExhausted},
		"schema":          {status: 400, body: refused("invalid_request_error", "tools.0.custom.input_schema: JSON schema is invalid"), code: llm.CodeInvalidToolSchema},
		"key":             {status: 401, body: refused("authentication_error", "invalid x-api-key"), code: llm.CodeMisconfigured, says: "API key"},
		"billing":         {status: 402, body: refused("billing_error", "Pay."), code: llm.CodeQuotaExhausted},
		"permission":      {status: 403, body: refused("permission_error", "no"), code: llm.CodeMisconfigured},
		"model":           {status: 404, body: refused("not_found_error", "model: claude-x"), code: llm.CodeMisconfigured, says: "claude-x"},
		"timeout":         {status: 408, body: `{}`, code: llm.CodeUnavailable, transient: true},
		"conflict":        {status: 409, body: `{}`, code: llm.CodeUnavailable, transient: true},
		"too large":       {status: 413, body: refused("request_too_large", "Request exceeds the maximum size"), code: llm.CodeContextExceeded},
		"rate limit": {
			status: 429, body: refused("rate_limit_error", "slow down"), header: http.Header{"Retry-After": {"7"}},
			code: llm.CodeRateLimited, transient: true, after: 7 * time.Second,
		},
		"rate limit until": {
			status: 429, body: refused("rate_limit_error", "slow down"),
			header: http.Header{"Retry-After": {noon.Add(time.Minute).Format(http.TimeFormat)}},
			code:   llm.CodeRateLimited, transient: true, after: time.Minute,
		},
		"internal":   {status: 500, body: refused("api_error", "Internal server error"), code: llm.CodeUnavailable, transient: true},
		"page":       {status: 502, body: "<html>" + strings.Repeat("x", 200_000), code: llm.CodeUnavailable, transient: true},
		"overloaded": {status: 529, body: refused("overloaded_error", "Overloaded"), code: llm.CodeUnavailable, transient: true},
		"echoes key": {status: 400, body: refused("invalid_request_error", "you sent "+key), code: llm.CodeMisconfigured, says: "you sent [key]"},
		"redirect":   {status: 307, body: "-", header: http.Header{"Location": {"http://127.0.0.1:1/"}}, code: llm.CodeMisconfigured, says: "307"},
		"no content": {status: 204, code: llm.CodeMisconfigured, says: "204"},
		"should retry": {
			status: 503, body: refused("api_error", "x"), header: http.Header{"X-Should-Retry": {"true"}},
			code: llm.CodeUnavailable, transient: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wiretest.New(t, wiretest.Answer{Status: tt.status, Header: tt.header, Body: tt.body})
			d, req := newDriver(s)
			_, err := d.Stream(t.Context(), req, func(llm.Delta) { t.Error("a refusal told something") })
			e := wiretest.Failure(t, err, tt.code, tt.transient, key)
			wiretest.Same(t, "status", e.Status, tt.status)
			wiretest.Same(t, "retry after", e.RetryAfter, tt.after)
			if !strings.Contains(e.Message, tt.says) || strings.Contains(e.Message, "<html>") {
				t.Errorf("the message is %q, want %q in it", e.Message, tt.says)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests were made: the engine retries, not the SDK", n)
			}
			_, err = d.Models(t.Context(), req.Endpoint)
			wiretest.Failure(t, err, tt.code, tt.transient, key)
		})
	}
}

// An error in the middle of a stream counts like the status that it stands for. What had come is given too.
func TestErrorEvents(t *testing.T) {
	tests := map[string]struct {
		status    int
		code      llm.Code
		transient bool
	}{
		"invalid_request_error": {400, llm.CodeMisconfigured, false},
		"authentication_error":  {401, llm.CodeMisconfigured, false},
		"billing_error":         {402, llm.CodeQuotaExhausted, false},
		"permission_error":      {403, llm.CodeMisconfigured, false},
		"not_found_error":       {404, llm.CodeMisconfigured, false},
		"request_too_large":     {413, llm.CodeContextExceeded, false},
		"rate_limit_error":      {429, llm.CodeRateLimited, true},
		"api_error":             {500, llm.CodeUnavailable, true},
		"timeout_error":         {504, llm.CodeUnavailable, true},
		"overloaded_error":      {529, llm.CodeUnavailable, true},
		"something_new":         {500, llm.CodeUnavailable, true},
	}
	for name, tt := range tests {
		body := refused(name, "It said "+key)
		for form, sent := range map[string]string{
			"event": "event: error\ndata: " + body + "\n\n", "bare": body, "no type": "event: error\ndata: " + strings.Replace(body, `"type":"error",`, "", 1) + "\n\n",
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				events := wiretest.Events(t, "text.sse")[:4]
				s := wiretest.New(t, wiretest.Answer{Header: http.Header{"Retry-After": {"3"}}, Events: append(events, sent)})
				d, req := newDriver(s)
				resp, err := d.Stream(t.Context(), req, func(llm.Delta) {})
				e := wiretest.Failure(t, err, tt.code, tt.transient, key)
				wiretest.Same(t, "status", e.Status, tt.status)
				wiretest.Same(t, "retry after", e.RetryAfter, 3*time.Second)
				wiretest.Same(t, "text", resp.Parts[0].Text, "Hello")
				wiretest.Same(t, "input tokens", resp.Usage.InputTokens, int64(12))
			})
		}
	}
}

func TestModels(t *testing.T) {
	s := wiretest.New(t,
		wiretest.Answer{Body: `{"data":[{"type":"model","id":"claude-a","display_name":"Claude A","created_at":"2026-01-01T00:00:00Z","max_input_tokens":200000,"max_tokens":64000},` +
			`{"type":"model","id":"claude-b","display_name":"Claude B","created_at":"2026-01-01T00:00:00Z"}],"has_more":true,"first_id":"claude-a","last_id":"claude-b"}`},
		wiretest.Answer{Body: `{"data":[{"type":"model","id":"claude-c","display_name":"Claude C"}],"has_more":false,"first_id":"claude-c","last_id":"claude-c"}`},
	)
	d, req := newDriver(s)
	got, err := d.Models(t.Context(), req.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	wiretest.Same(t, "models", got, []llm.ModelInfo{
		{Name: "claude-a", DisplayName: "Claude A", ContextWindowTokens: 200_000, MaxOutputTokens: 64_000},
		{Name: "claude-b", DisplayName: "Claude B"},
		{Name: "claude-c", DisplayName: "Claude C"},
	})
	all := s.Requests()
	wiretest.Same(t, "first page", all[0].URL, "/v1/models?limit=1000")
	wiretest.Same(t, "second page", all[1].URL, "/v1/models?after_id=claude-b&limit=1000")
	wiretest.Same(t, "key", all[0].Header.Get("X-Api-Key"), key)
}

// A hostile list ends, whatever it holds.
func TestModelsHostile(t *testing.T) {
	endless := `{"data":[` + strings.TrimSuffix(strings.Repeat(`{"type":"model","id":"m"},`, 600), ",") + `],"has_more":true,"last_id":"m"}`
	s := wiretest.New(t, wiretest.Answer{Body: endless})
	d, req := newDriver(s)
	got, err := d.Models(t.Context(), req.Endpoint)
	if err != nil || len(got) != 1000 {
		t.Fatalf("got %d models, error %v; want 1000", len(got), err)
	}
	s.Play(wiretest.Answer{Body: `{"data":[{"id":"m"}],"has_more":true,"last_id":"m"}`})
	before := len(s.Requests())
	if _, err := d.Models(t.Context(), req.Endpoint); err != nil || len(s.Requests())-before > 20 {
		t.Fatalf("the same page was asked for %d times, error %v", len(s.Requests())-before, err)
	}
	for name, a := range map[string]wiretest.Answer{
		"no JSON":  {Body: `{"data":[`},
		"no id":    {Body: `{"data":[{}]}`},
		"page":     {Body: "<html>", Header: http.Header{"Content-Type": {"text/html"}}},
		"too long": {Body: `"` + strings.Repeat("x", 9<<20) + `"`},
		"list":     {Body: `[1]`},
		"nothing":  {Body: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			s.Play(a)
			_, err := d.Models(t.Context(), req.Endpoint)
			wiretest.Failure(t, err, llm.CodeUnavailable, true, key)
		})
	}
	s.Play(wiretest.Answer{Body: `{"data":[`, End: wiretest.Broken})
	_, err = d.Models(t.Context(), req.Endpoint)
	if e := wiretest.Failure(t, err, llm.CodeUnavailable, true, key); errors.Unwrap(e) == nil {
		t.Error("the cause is missing")
	}
}
