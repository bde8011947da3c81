package gemini_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
)

func refused(code int, status, message, details string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, code, message, status, details)
}

// exhausted is what Google says to every 429.
const exhausted = "You exceeded your current quota, please check your plan and billing details."

func quota(id, delay string) string {
	return fmt.Sprintf(`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":%q}]},`+
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":%q}`, id, delay)
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
		shown     int
	}{
		"invalid request": {status: 400, body: refused(400, "INVALID_ARGUMENT", "Please ensure that roles alternate", ""), code: llm.CodeMisconfigured, says: "roles alternate"},
		"wrong key": {
			status: 400, body: refused(400, "INVALID_ARGUMENT", "API key not valid.", `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}`),
			code: llm.CodeMisconfigured, says: "refused the API key", shown: 401,
		},
		"too long":   {status: 400, body: refused(400, "INVALID_ARGUMENT", "The input token count (1500000) exceeds the maximum number of tokens allowed (1048576).", ""), code: llm.CodeContextExceeded},
		"schema":     {status: 400, body: refused(400, "INVALID_ARGUMENT", "GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name", ""), code: llm.CodeInvalidToolSchema},
		"no key":     {status: 401, body: refused(401, "UNAUTHENTICATED", "no", ""), code: llm.CodeMisconfigured},
		"permission": {status: 403, body: refused(403, "PERMISSION_DENIED", "no", ""), code: llm.CodeMisconfigured},
		"model":      {status: 404, body: refused(404, "NOT_FOUND", "models/x is not found", ""), code: llm.CodeMisconfigured, says: "models/x"},
		"too large":  {status: 413, body: `{}`, code: llm.CodeContextExceeded},
		"per minute": {
			status: 429, body: refused(429, "RESOURCE_EXHAUSTED", exhausted, quota("GenerateRequestsPerMinutePerProjectPerModel", "34.5s")),
			code: llm.CodeRateLimited, transient: true, after: 34500 * time.Millisecond,
		},
		"per day": {
			status: 429, body: refused(429, "RESOURCE_EXHAUSTED", exhausted, quota("GenerateRequestsPerDayPerProjectPerModel", "34s")),
			code: llm.CodeQuotaExhausted, after: 34 * time.Second,
		},
		"busy":       {status: 429, body: refused(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.", ""), header: http.Header{"Retry-After": {"7"}}, code: llm.CodeRateLimited, transient: true, after: 7 * time.Second},
		"header":     {status: 503, body: refused(503, "UNAVAILABLE", "x", quota("", "34s")), header: http.Header{"Retry-After": {"7"}}, code: llm.CodeUnavailable, transient: true, after: 7 * time.Second},
		"list":       {status: 500, body: "[" + refused(500, "INTERNAL", "x", "") + "]", code: llm.CodeUnavailable, transient: true},
		"page":       {status: 502, body: "<html>" + strings.Repeat("x", 200_000), code: llm.CodeUnavailable, transient: true},
		"overloaded": {status: 503, body: refused(503, "UNAVAILABLE", "The model is overloaded.", ""), code: llm.CodeUnavailable, transient: true},
		"slow":       {status: 504, body: refused(504, "DEADLINE_EXCEEDED", "x", ""), code: llm.CodeUnavailable, transient: true},
		"types":      {status: 400, body: `{"error":{"code":"x","message":7}}`, code: llm.CodeMisconfigured},
		"echoes key": {status: 400, body: refused(400, "INVALID_ARGUMENT", "you sent "+key, ""), code: llm.CodeMisconfigured, says: "you sent [key]"},
		"redirect":   {status: 307, body: "-", header: http.Header{"Location": {"http://127.0.0.1:1/"}}, code: llm.CodeMisconfigured, says: "307"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wiretest.New(t, wiretest.Answer{Status: tt.status, Header: tt.header, Body: tt.body})
			d, req := newDriver(s)
			_, err := d.Stream(t.Context(), req, func(llm.Delta) { t.Error("a refusal told something") })
			e := wiretest.Failure(t, err, tt.code, tt.transient, key)
			if tt.shown == 0 {
				tt.shown = tt.status
			}
			wiretest.Same(t, "status", e.Status, tt.shown)
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
		code      int
		want      llm.Code
		status    int
		transient bool
	}{
		"INVALID_ARGUMENT":   {400, llm.CodeMisconfigured, 400, false},
		"UNAUTHENTICATED":    {401, llm.CodeMisconfigured, 401, false},
		"PERMISSION_DENIED":  {0, llm.CodeMisconfigured, 403, false},
		"NOT_FOUND":          {0, llm.CodeMisconfigured, 404, false},
		"RESOURCE_EXHAUSTED": {429, llm.CodeRateLimited, 429, true},
		"INTERNAL":           {500, llm.CodeUnavailable, 500, true},
		"UNAVAILABLE":        {0, llm.CodeUnavailable, 503, true},
		"DEADLINE_EXCEEDED":  {0, llm.CodeUnavailable, 504, true},
		"CANCELLED":          {499, llm.CodeMisconfigured, 499, false},
		"SOMETHING_NEW":      {0, llm.CodeUnavailable, 500, true},
	}
	for name, tt := range tests {
		body := refused(tt.code, name, "It said "+key, "")
		for form, sent := range map[string]string{
			"event": "data: " + body + "\n\n", "bare": body, "lines": strings.ReplaceAll(body, ",", ",\n\n"),
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				events := wiretest.Events(t, "text.sse")[:1]
				s := wiretest.New(t, wiretest.Answer{Events: append(events, sent)})
				d, req := newDriver(s)
				resp, err := d.Stream(t.Context(), req, func(llm.Delta) {})
				e := wiretest.Failure(t, err, tt.want, tt.transient, key)
				wiretest.Same(t, "status", e.Status, tt.status)
				wiretest.Same(t, "text", resp.Parts[0].Text, "Hello")
				wiretest.Same(t, "cached tokens", resp.Usage.CacheReadTokens, int64(4000))
			})
		}
	}
}

func TestModels(t *testing.T) {
	s := wiretest.New(t,
		wiretest.Answer{Body: `{"models":[{"name":"models/gemini-2.5-flash","version":"001","displayName":"Gemini 2.5 Flash","inputTokenLimit":1048576,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent","countTokens"]},` +
			`{"name":"models/embedding-001","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"two"}`},
		wiretest.Answer{Body: `{"models":[{"name":"models/gemini-next"}]}`},
	)
	d, req := newDriver(s)
	got, err := d.Models(t.Context(), req.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	wiretest.Same(t, "models", got, []llm.ModelInfo{
		{Name: "gemini-2.5-flash", DisplayName: "Gemini 2.5 Flash", ContextWindowTokens: 1_048_576, MaxOutputTokens: 65_536},
		{Name: "gemini-next"},
	})
	all := s.Requests()
	wiretest.Same(t, "first page", all[0].URL, "/v1beta/models?pageSize=1000")
	wiretest.Same(t, "second page", all[1].URL, "/v1beta/models?pageSize=1000&pageToken=two")
	wiretest.Same(t, "key", all[0].Header["X-Goog-Api-Key"], []string{key})
}

// A hostile list ends, whatever it holds.
func TestModelsHostile(t *testing.T) {
	endless := `{"models":[` + strings.TrimSuffix(strings.Repeat(`{"name":"models/m"},`, 600), ",") + `],"nextPageToken":"n"}`
	s := wiretest.New(t, wiretest.Answer{Body: endless})
	d, req := newDriver(s)
	got, err := d.Models(t.Context(), req.Endpoint)
	if err != nil || len(got) != 1000 {
		t.Fatalf("got %d models, error %v; want 1000", len(got), err)
	}
	s.Play(wiretest.Answer{Body: `{"models":[{"name":"models/m"}],"nextPageToken":"n"}`})
	before := len(s.Requests())
	if _, err := d.Models(t.Context(), req.Endpoint); err != nil || len(s.Requests())-before > 20 {
		t.Fatalf("the same page was asked for %d times, error %v", len(s.Requests())-before, err)
	}
	for name, a := range map[string]wiretest.Answer{
		"no JSON":  {Body: `{"models":[`},
		"no name":  {Body: `{"models":[{}]}`},
		"types":    {Body: `{"models":7}`},
		"page":     {Body: "<html>", Header: http.Header{"Content-Type": {"text/html"}}},
		"too long": {Body: `"` + strings.Repeat("x", 9<<20) + `"`},
		"list":     {Body: `[1]`},
		"null":     {Body: `{"models":[null]}`},
	} {
		t.Run(name, func(t *testing.T) {
			s.Play(a)
			_, err := d.Models(t.Context(), req.Endpoint)
			wiretest.Failure(t, err, llm.CodeUnavailable, true, key)
		})
	}
	s.Play(wiretest.Answer{Body: `{"models":[`, End: wiretest.Broken})
	_, err = d.Models(t.Context(), req.Endpoint)
	if e := wiretest.Failure(t, err, llm.CodeUnavailable, true, key); errors.Unwrap(e) == nil {
		t.Error("the cause is missing")
	}
}
