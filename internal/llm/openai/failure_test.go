package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/openai"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
)

// refuseWith answers with a status and a body.
func refuseWith(status int, header map[string]string, body string) wiretest.Answer {
	a := wiretest.Answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
	for k, v := range header {
		a.Header.Set(k, v)
	}
	return a
}

func openaiError(kind, code, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code)
}

// Rules: F1.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status    int
		header    map[string]string
		body      string
		code      llm.Code
		transient bool
		after     time.Duration
		says      string
	}{
		"a wrong key": {401, nil, openaiError("invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-secret-key."),
			llm.CodeMisconfigured, false, 0, "API key"},
		"no permission": {403, nil, openaiError("", "", "no"), llm.CodeMisconfigured, false, 0, "API key"},
		"no credit":     {402, nil, `{"error":{"message":"Insufficient credits","code":402}}`, llm.CodeQuotaExhausted, false, 0, "no quota"},
		"no quota": {429, nil, openaiError("insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan."),
			llm.CodeQuotaExhausted, false, 0, "no quota"},
		"too often": {429, map[string]string{"Retry-After": "7"}, openaiError("requests", "rate_limit_exceeded", "Rate limit reached"),
			llm.CodeRateLimited, true, 7 * time.Second, "rate limit"},
		"too often, in milliseconds": {429, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, "", llm.CodeRateLimited, true, 1500 * time.Millisecond, "rate limit"},
		"too often, until": {429, map[string]string{"Retry-After": now.Add(90 * time.Second).Format(http.TimeFormat)}, "",
			llm.CodeRateLimited, true, 90 * time.Second, "rate limit"},
		"an unknown model": {404, nil, openaiError("invalid_request_error", "model_not_found", "The model `gpt-9` does not exist"),
			llm.CodeMisconfigured, false, 0, "gpt-9"},
		"Ollama's unknown model": {404, nil, `{"error":"model 'llama9' not found"}`, llm.CodeMisconfigured, false, 0, "llama9"},
		"too long": {400, nil, openaiError("invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
			llm.CodeContextExceeded, false, 0, "too long"},
		"vLLM's too long": {400, nil, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}`,
			llm.CodeContextExceeded, false, 0, "too long"},
		"too large": {413, nil, "", llm.CodeContextExceeded, false, 0, "too long"},
		"a bad schema": {400, nil, openaiError("invalid_request_error", "invalid_function_parameters", "Invalid schema for function 'f': x"),
			llm.CodeInvalidToolSchema, false, 0, "'f'"},
		"a bad request":       {400, nil, openaiError("invalid_request_error", "", "Unsupported value: 'temperature'"), llm.CodeMisconfigured, false, 0, "temperature"},
		"FastAPI's detail":    {422, nil, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, llm.CodeMisconfigured, false, 0, "field required"},
		"an error in a list":  {400, nil, `[{"error":{"code":400,"message":"Invalid argument: x","status":"INVALID_ARGUMENT"}}]`, llm.CodeMisconfigured, false, 0, "Invalid argument"},
		"plain text":          {400, map[string]string{"Content-Type": "text/plain"}, "unknown field x", llm.CodeMisconfigured, false, 0, "unknown field x"},
		"a page":              {400, map[string]string{"Content-Type": "text/html"}, "<html>nginx</html>", llm.CodeMisconfigured, false, 0, "refused the request."},
		"the key in a text":   {400, nil, openaiError("x", "", "bad header: Bearer sk-secret-key"), llm.CodeMisconfigured, false, 0, "Bearer [key]"},
		"an empty bad answer": {400, nil, "", llm.CodeMisconfigured, false, 0, "refused"},
		"half an error":       {400, nil, `{"error":{"message":"ab`, llm.CodeMisconfigured, false, 0, "refused"},
		"a server error":      {500, nil, openaiError("server_error", "", "oops"), llm.CodeUnavailable, true, 0, "at the moment"},
		"overloaded":          {503, map[string]string{"Retry-After": "3"}, "<html>", llm.CodeUnavailable, true, 3 * time.Second, "at the moment"},
		"a bad gateway":       {502, nil, "<html>bad gateway</html>", llm.CodeUnavailable, true, 0, "at the moment"},
		"Cloudflare":          {524, nil, "", llm.CodeUnavailable, true, 0, "at the moment"},
		"too slow":            {408, nil, "", llm.CodeUnavailable, true, 0, "at the moment"},
		"a conflict":          {409, nil, "", llm.CodeUnavailable, true, 0, "at the moment"},
		"too early":           {425, nil, "", llm.CodeUnavailable, true, 0, "at the moment"},
		"elsewhere":           {307, map[string]string{"Location": "/elsewhere"}, "", llm.CodeMisconfigured, false, 0, "final address"},
		"moved":               {301, map[string]string{"Location": "https://evil.example/"}, "", llm.CodeMisconfigured, false, 0, "final address"},
		"a huge error":        {500, nil, strings.Repeat("x", 1<<20), llm.CodeUnavailable, true, 0, "at the moment"},
	} {
		for kind := range kinds {
			resp, h, err := ask(t, kind, refuseWith(test.status, test.header, test.body))
			e := failed(t, kind+", "+name, err, test.code, test.transient)
			if e.Status != test.status || e.RetryAfter != test.after || !strings.Contains(e.Message, test.says) {
				t.Errorf("%s, %s: %+v", kind, name, e)
			}
			if len(resp.Parts) != 0 || h.text != "" {
				t.Errorf("%s, %s: %s", kind, name, show(resp))
			}
			p := serve(t, refuseWith(test.status, test.header, test.body))
			_, err = kinds[kind].make(options(t)).Models(t.Context(), p.request().Endpoint)
			failed(t, kind+" list, "+name, err, test.code, test.transient)
		}
	}
}

func TestErrorsInStreams(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind, event string
		code        llm.Code
		transient   bool
		status      int
	}{
		"rate limit":        {"responses", `{"type":"error","code":"rate_limit_exceeded","message":"m","param":null,"sequence_number":3}`, llm.CodeRateLimited, true, 429},
		"quota":             {"responses", `{"type":"error","code":"insufficient_quota","message":"You exceeded your current quota","param":null}`, llm.CodeQuotaExhausted, false, 429},
		"server":            {"responses", `{"type":"error","code":"server_error","message":"m"}`, llm.CodeUnavailable, true, 500},
		"no code":           {"responses", `{"type":"error","code":null,"message":"m"}`, llm.CodeUnavailable, true, 500},
		"nested":            {"responses", `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"m"}}`, llm.CodeContextExceeded, false, 400},
		"overloaded":        {"responses", `{"type":"error","error":{"type":"service_unavailable_error","code":"server_is_overloaded","message":"m"}}`, llm.CodeUnavailable, true, 503},
		"failed":            {"responses", `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"m"},"output":[]}}`, llm.CodeUnavailable, true, 500},
		"failed by limits":  {"responses", `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"m"}}}`, llm.CodeRateLimited, true, 429},
		"failed by prompt":  {"responses", `{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"m"}}}`, llm.CodeMisconfigured, false, 400},
		"failed, no reason": {"responses", `{"type":"response.failed","response":{"status":"failed","error":null}}`, llm.CodeUnavailable, true, 500},
		"no response":       {"responses", `{"type":"response.completed"}`, llm.CodeUnavailable, true, 0},

		"chat overloaded":   {"chat", `{"error":{"message":"m","type":"server_error","code":"overloaded"}}`, llm.CodeUnavailable, true, 503},
		"OpenRouter":        {"chat", `{"id":"x","error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, llm.CodeUnavailable, true, 502},
		"OpenRouter limit":  {"chat", `{"error":{"code":429,"message":"m"}}`, llm.CodeRateLimited, true, 429},
		"a choice's error":  {"chat", `{"choices":[{"index":0,"delta":{},"error":{"code":429,"message":"m"}}]}`, llm.CodeRateLimited, true, 429},
		"vLLM":              {"chat", `{"object":"error","message":"The maximum context length is 10","type":"BadRequestError","code":400,"error":null}`, llm.CodeContextExceeded, false, 400},
		"only a text":       {"chat", `{"error":"unexpected EOF"}`, llm.CodeUnavailable, true, 500},
		"chat quota":        {"chat", `{"error":{"message":"m","type":"insufficient_quota"}}`, llm.CodeQuotaExhausted, false, 429},
		"chat key":          {"chat", `{"error":{"message":"m","type":"authentication_error"}}`, llm.CodeMisconfigured, false, 401},
		"DeepSeek gives up": {"chat", `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"insufficient_system_resource"}]}`, llm.CodeUnavailable, true, 503},
	} {
		begin := map[string]string{
			"responses": `data: {"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"So"}` + "\n\n",
			"chat":      `data: {"choices":[{"index":0,"delta":{"content":"So"}}]}` + "\n\n",
		}[test.kind]
		for _, first := range []string{"", begin} {
			resp, h, err := ask(t, test.kind, stream(first+"data: "+test.event+"\n\n", false))
			e := failed(t, name, err, test.code, test.transient)
			if e.Status != test.status {
				t.Errorf("%s: status %d, want %d", name, e.Status, test.status)
			}
			if first != "" {
				if len(resp.Parts) != 1 || resp.Parts[0].Text != "So" || h.text != "So" {
					t.Errorf("%s: what came before is lost: %s", name, show(resp.Parts))
				}
			}
		}
	}
	_, _, err := ask(t, "chat", stream("error: {\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}\n\n", false))
	failed(t, "llama.cpp", err, llm.CodeUnavailable, true)
	_, _, err = ask(t, "chat", stream("event: error\ndata: {\"message\":\"slow down\",\"type\":\"rate_limit_error\"}\n\n", false))
	failed(t, "an event called error", err, llm.CodeRateLimited, true)
}

func TestAnswersThatAreNoStreams(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		_, _, err := ask(t, kind, refuseWith(200, map[string]string{"Content-Type": "text/html"}, "<html>Sign in</html>"))
		failed(t, kind+", a page", err, llm.CodeUnavailable, true)
		_, _, err = ask(t, kind, refuseWith(200, nil, `{"choices":[{"message":{"content":"x"}}]}`))
		failed(t, kind+", no stream", err, llm.CodeUnavailable, true)
		_, _, err = ask(t, kind, refuseWith(200, nil, openaiError("rate_limit_error", "", "m")))
		failed(t, kind+", an error as a success", err, llm.CodeRateLimited, true)
		_, _, err = ask(t, kind, refuseWith(204, nil, ""))
		failed(t, kind+", nothing", err, llm.CodeUnavailable, true)
		_, _, err = ask(t, kind, wiretest.Answer{End: wiretest.Absent})
		failed(t, kind+", no answer", err, llm.CodeUnavailable, true)
	}
}

// TestBlockedAddresses has the client of production in the place of the tests'.
func TestBlockedAddresses(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		p := serve(t, stream("", false))
		client := egress.New(egress.Config{})
		d := kinds[kind].make(openai.Options{HTTP: client.HTTP()})
		_, err := d.Stream(t.Context(), p.request(), func(llm.Delta) {})
		if e := failed(t, kind, err, llm.CodeMisconfigured, false); !strings.Contains(e.Message, "OSTLER_EGRESS_ALLOW") {
			t.Errorf("%s: %s", kind, e.Message)
		}
		_, err = d.Models(t.Context(), p.request().Endpoint)
		failed(t, kind, err, llm.CodeMisconfigured, false)
		if p.asked() != 0 {
			t.Errorf("%s: loopback was reached", kind)
		}
		away := serve(t, refuseWith(302, map[string]string{"Location": p.URL}, ""))
		client = egress.New(egress.Config{AllowLoopback: true})
		t.Cleanup(client.CloseIdleConnections)
		_, err = kinds[kind].make(openai.Options{HTTP: client.HTTP()}).Stream(t.Context(), away.request(), func(llm.Delta) {})
		if e := failed(t, kind, err, llm.CodeMisconfigured, false); !strings.Contains(e.Message, "redirect") || p.asked() != 0 {
			t.Errorf("%s: %s", kind, e.Message)
		}
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	chat := openai.NewChat(options(t))
	_, err := chat.Stream(t.Context(), llm.Request{Model: "m"}, func(llm.Delta) {})
	if e := failed(t, "no base URL", err, llm.CodeMisconfigured, false); !strings.Contains(e.Message, "base URL") {
		t.Error(e.Message)
	}
	_, err = chat.Models(t.Context(), llm.Endpoint{})
	failed(t, "no base URL", err, llm.CodeMisconfigured, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for kind := range kinds {
		p := serve(t, stream("", false))
		if _, err := kinds[kind].make(options(t)).Stream(ctx, p.request(), func(llm.Delta) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestLimits lets servers send more than any model does.
func TestLimits(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("x", 1<<20)
	repeat := func(first, each string, n int) wiretest.Answer {
		return wiretest.Answer{Events: append([]string{first}, slices.Repeat([]string{each}, n)...)}
	}
	for name, test := range map[string]struct {
		kind   string
		answer wiretest.Answer
	}{
		"text":     {"responses", repeat("", `data: {"type":"response.output_text.delta","output_index":0,"delta":"`+piece+"\"}\n\n", 9)},
		"thinking": {"responses", repeat("", `data: {"type":"response.reasoning_text.delta","output_index":0,"delta":"`+piece+"\"}\n\n", 9)},
		"arguments": {"responses", repeat(`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"b"}}`+"\n\n",
			`data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"`+piece+"\"}\n\n", 5)},
		"items": {"responses", repeat("", `data: {"type":"response.output_item.added","item":{"type":"message"}}`+"\n\n", 2000)},
		"thoughts": {"responses", repeat("", `data: {"type":"response.output_item.done","item":{"type":"reasoning","id":"a","encrypted_content":"`+
			piece+"\"}}\n\n", 9)},
		"a line":         {"responses", repeat("data: ", piece, 34)},
		"an event":       {"responses", repeat("", "data: "+piece+"\n", 34)},
		"chat text":      {"chat", repeat("", `data: {"choices":[{"delta":{"content":"`+piece+"\"}}]}\n\n", 9)},
		"chat thinking":  {"chat", repeat("", `data: {"choices":[{"delta":{"reasoning":"`+piece+"\"}}]}\n\n", 9)},
		"chat arguments": {"chat", repeat("", `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"`+piece+"\"}}]}}]}\n\n", 5)},
		"chat names":     {"chat", repeat("", `data: {"choices":[{"delta":{"tool_calls":[{"id":"","function":{"name":"`+piece+`","arguments":"{}"}}]}}]}`+"\n\n", 9)},
		"chat calls":     {"chat", repeat("", `data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}`+"\n\n", 2000)},
		"chat parts":     {"chat", repeat("", `data: {"choices":[{"delta":{"content":"a","reasoning":"b"}}]}`+"\n\n", 2000)},
		"chat line":      {"chat", repeat(": ", piece, 34)},
	} {
		resp, _, err := ask(t, test.kind, test.answer)
		e := failed(t, name, err, llm.CodeUnavailable, true)
		if _, ok := errors.AsType[*wire.Unreadable](e.Cause); !ok {
			t.Errorf("%s: the limit does not hold: %v", name, e.Cause)
		}
		size := 0
		for _, p := range resp.Parts {
			size += len(p.Text) + len(p.Arguments)
		}
		if size > wire.MaxText+wire.MaxArguments || len(resp.Parts) > wire.MaxParts {
			t.Errorf("%s: %d bytes in %d parts are kept", name, size, len(resp.Parts))
		}
	}
}
