package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const (
	providerKey = "key-of-the-provider-5f1c"
	// seal is what a provider gives along with its thinking and wants to see again, unchanged.
	seal = "seal-9c1d-of-the-thinking"
)

// fakeProvider is a server that speaks the wire formats of all providers. A conversation without results of tools is
// answered with thinking, text and two calls; one with them with a last text.
type fakeProvider struct {
	*httptest.Server
	t *testing.T

	mu sync.Mutex
	// asked are the bodies of the calls of models, in order.
	asked []string
	// refuse answers the next calls with these statuses.
	refuse []int
}

func newFakeProvider(t *testing.T) *fakeProvider {
	t.Helper()
	f := &fakeProvider{t: t}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// bodies returns what was asked so far.
func (f *fakeProvider) bodies() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.asked...)
}

// fail has the next calls refused.
func (f *fakeProvider) fail(statuses ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = append(f.refuse, statuses...)
}

func (f *fakeProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Errorf("read a call of a model: %v", err)
	}
	if key := r.Header.Get("X-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Goog-Api-Key"); key != providerKey {
		http.Error(w, `{"error": {"type": "authentication_error", "message": "the key `+key+` is wrong", "code": 401}}`, http.StatusUnauthorized)
		return
	}
	if r.Method == http.MethodGet {
		// All list their models as `data` or as `models`.
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object": "list", "has_more": false, "data": [{"id": "big-model", "type": "model", "object": "model", "display_name": "Big"}],
			"models": [{"name": "models/big-model", "displayName": "Big", "inputTokenLimit": 1000, "outputTokenLimit": 100, "supportedGenerationMethods": ["generateContent"]}]}`)
		return
	}
	f.mu.Lock()
	status := 0
	if len(f.refuse) > 0 {
		status, f.refuse = f.refuse[0], f.refuse[1:]
	} else {
		f.asked = append(f.asked, string(body))
	}
	f.mu.Unlock()
	if status != 0 {
		http.Error(w, `{"error": {"type": "overloaded", "message": "not now", "code": `+fmt.Sprint(status)+`}}`, status)
		return
	}
	stream := map[string]func(done bool) []string{
		"/v1/messages":         anthropicStream,
		"/v1/responses":        responsesStream,
		"/v1/chat/completions": chatStream,
		"/v1beta/models/big-model:streamGenerateContent": geminiStream,
	}[r.URL.Path]
	if stream == nil {
		f.t.Errorf("the provider was asked for %s", r.URL.Path)
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range stream(strings.Contains(string(body), "a.txt")) {
		_, _ = io.WriteString(w, e+"\n\n")
		w.(http.Flusher).Flush()
	}
}

// named returns server-sent events that carry their type twice, as those of Anthropic and of OpenAI's Responses do.
func named(data ...string) []string {
	list := make([]string, len(data))
	for i, d := range data {
		var e struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(d), &e); err != nil {
			panic(fmt.Sprintf("%s: %v", d, err))
		}
		list[i] = "event: " + e.Type + "\ndata: " + compact(d)
	}
	return list
}

func compact(data string) string { return strings.Join(strings.Fields(data), " ") }

func anthropicStream(done bool) []string {
	start := `{"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "big-model", "content": [],
		"stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 70, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 10, "output_tokens": 1}}}`
	if done {
		return named(start,
			`{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}`,
			`{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Both files are there."}}`,
			`{"type": "content_block_stop", "index": 0}`,
			`{"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 9}}`,
			`{"type": "message_stop"}`)
	}
	list := []string{
		start,
		`{"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}`,
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Two files."}}`,
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "` + seal + `"}}`,
		`{"type": "content_block_stop", "index": 0}`,
		`{"type": "ping"}`,
		`{"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}`,
		`{"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I write both."}}`,
		`{"type": "content_block_stop", "index": 1}`,
	}
	for i, name := range []string{"a.txt", "b.txt"} {
		list = append(list,
			fmt.Sprintf(`{"type": "content_block_start", "index": %d, "content_block": {"type": "tool_use", "id": "toolu_%d", "name": "write_file", "input": {}}}`, i+2, i),
			fmt.Sprintf(`{"type": "content_block_delta", "index": %d, "delta": {"type": "input_json_delta", "partial_json": "{\"path\": \"/workspace/%s\","}}`, i+2, name),
			fmt.Sprintf(`{"type": "content_block_delta", "index": %d, "delta": {"type": "input_json_delta", "partial_json": "\"content\": \"hello\"}"}}`, i+2),
			fmt.Sprintf(`{"type": "content_block_stop", "index": %d}`, i+2))
	}
	return named(append(list,
		`{"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 30}}`,
		`{"type": "message_stop"}`)...)
}

func responsesStream(done bool) []string {
	usage := `"usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 130}`
	response := func(status, output string) string {
		return `{"id": "resp_1", "object": "response", "created_at": 1, "status": "` + status + `", "model": "big-model", "output": [` + output + `], ` + usage + `}`
	}
	message := func(text string) string {
		return `{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "` + text + `", "annotations": []}]}`
	}
	said := func(index int, text string) []string {
		at := fmt.Sprintf(`"item_id": "msg_1", "output_index": %d, "content_index": 0`, index)
		return []string{
			fmt.Sprintf(`{"type": "response.output_item.added", "output_index": %d, "item": {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}}`, index),
			`{"type": "response.content_part.added", ` + at + `, "part": {"type": "output_text", "text": "", "annotations": []}}`,
			`{"type": "response.output_text.delta", ` + at + `, "delta": "` + text + `"}`,
			`{"type": "response.output_text.done", ` + at + `, "text": "` + text + `"}`,
			`{"type": "response.content_part.done", ` + at + `, "part": {"type": "output_text", "text": "` + text + `", "annotations": []}}`,
			fmt.Sprintf(`{"type": "response.output_item.done", "output_index": %d, "item": %s}`, index, message(text)),
		}
	}
	list := []string{`{"type": "response.created", "response": ` + response("in_progress", "") + `}`}
	if done {
		list = append(list, said(0, "Both files are there.")...)
		return named(numbered(append(list, `{"type": "response.completed", "response": `+response("completed", message("Both files are there."))+`}`))...)
	}
	thought := `{"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Two files."}], "encrypted_content": "` + seal + `"}`
	output := []string{thought, message("I write both.")}
	list = append(list,
		`{"type": "response.output_item.added", "output_index": 0, "item": {"id": "rs_1", "type": "reasoning", "summary": []}}`,
		`{"type": "response.reasoning_summary_part.added", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "part": {"type": "summary_text", "text": ""}}`,
		`{"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "delta": "Two files."}`,
		`{"type": "response.reasoning_summary_text.done", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "text": "Two files."}`,
		`{"type": "response.output_item.done", "output_index": 0, "item": `+thought+`}`)
	list = append(list, said(1, "I write both.")...)
	for i, name := range []string{"a.txt", "b.txt"} {
		arguments := fmt.Sprintf(`{\"path\": \"/workspace/%s\", \"content\": \"hello\"}`, name)
		call := func(arguments, status string) string {
			return fmt.Sprintf(`{"id": "fc_%d", "type": "function_call", "call_id": "call_%d", "name": "write_file", "arguments": "%s", "status": "%s"}`, i, i, arguments, status)
		}
		output = append(output, call(arguments, "completed"))
		list = append(list,
			fmt.Sprintf(`{"type": "response.output_item.added", "output_index": %d, "item": %s}`, i+2, call("", "in_progress")),
			fmt.Sprintf(`{"type": "response.function_call_arguments.delta", "item_id": "fc_%d", "output_index": %d, "delta": "%s"}`, i, i+2, arguments),
			fmt.Sprintf(`{"type": "response.function_call_arguments.done", "item_id": "fc_%d", "output_index": %d, "name": "write_file", "arguments": "%s"}`, i, i+2, arguments),
			fmt.Sprintf(`{"type": "response.output_item.done", "output_index": %d, "item": %s}`, i+2, call(arguments, "completed")))
	}
	return named(numbered(append(list, `{"type": "response.completed", "response": `+response("completed", strings.Join(output, ", "))+`}`))...)
}

// numbered gives each event of OpenAI's its place in the stream.
func numbered(list []string) []string {
	for i, e := range list {
		list[i] = fmt.Sprintf(`{"sequence_number": %d, %s`, i, strings.TrimPrefix(e, "{"))
	}
	return list
}

func chatStream(done bool) []string {
	chunk := func(delta, finish string) string {
		return compact(`data: {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "big-model", "choices": [{"index": 0, "delta": ` + delta + `, "finish_reason": ` + finish + `}]}`)
	}
	usage := compact(`data: {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "big-model", "choices": [],
		"usage": {"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130, "prompt_tokens_details": {"cached_tokens": 20}, "completion_tokens_details": {"reasoning_tokens": 10}}}`)
	if done {
		return []string{chunk(`{"role": "assistant", "content": "Both files are there."}`, "null"), chunk(`{}`, `"stop"`), usage, "data: [DONE]"}
	}
	list := []string{
		chunk(`{"role": "assistant", "content": "", "reasoning_content": "Two files."}`, "null"),
		chunk(`{"content": "I write both."}`, "null"),
	}
	for i, name := range []string{"a.txt", "b.txt"} {
		list = append(list,
			chunk(fmt.Sprintf(`{"tool_calls": [{"index": %d, "id": "call_%d", "type": "function", "function": {"name": "write_file", "arguments": ""}}]}`, i, i), "null"),
			chunk(fmt.Sprintf(`{"tool_calls": [{"index": %d, "function": {"arguments": "{\"path\": \"/workspace/%s\", \"content\": \"hello\"}"}}]}`, i, name), "null"))
	}
	return append(list, chunk(`{}`, `"tool_calls"`), usage, "data: [DONE]")
}

func geminiStream(done bool) []string {
	chunk := func(parts, more string) string {
		return compact(`data: {"candidates": [{"index": 0, "content": {"role": "model", "parts": [` + parts + `]}` + more + `}],
			"usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 20, "candidatesTokenCount": 20, "thoughtsTokenCount": 10, "totalTokenCount": 130}, "modelVersion": "big-model"}`)
	}
	if done {
		return []string{chunk(`{"text": "Both files are there."}`, `, "finishReason": "STOP"`)}
	}
	call := func(name string) string {
		return `"functionCall": {"name": "write_file", "args": {"path": "/workspace/` + name + `", "content": "hello"}}`
	}
	return []string{
		chunk(`{"text": "Two files.", "thought": true}`, ""),
		chunk(`{"text": "I write both."}`, ""),
		chunk(`{`+call("a.txt")+`, "thoughtSignature": "c2VhbC05YzFkLW9mLXRoZS10aGlua2luZw=="}, {`+call("b.txt")+`}`, `, "finishReason": "STOP"`),
	}
}
