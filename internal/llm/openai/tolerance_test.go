package openai_test

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
	"github.com/ostler-dev/ostler/internal/models"
)

// TestTolerance has what compatible servers send in ways of their own.
func TestTolerance(t *testing.T) {
	t.Parallel()
	both := []models.Part{call("call_A", "f", `{"a":1}`), call("call_B", "g", `{"b":2}`)}
	unnamed := []models.Part{call("call_1", "f", `{"a":1}`), call("call_2", "g", `{"b":2}`)}
	hello := []models.Part{text("Hello")}
	const usage = `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`
	counted := models.Usage{InputTokens: 5, OutputTokens: 3}
	costs := func(fields string) string {
		return `{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3,` + fields + `}}`
	}
	reported := func(cost models.Nanos) models.Usage {
		return models.Usage{InputTokens: 5, OutputTokens: 3, CostNanos: cost, ProviderCost: true}
	}
	stop := `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	calls := func(list string) string { return `{"choices":[{"index":0,"delta":{"tool_calls":[` + list + `]}}]}` }
	for name, test := range map[string]struct {
		events []string
		parts  []models.Part
		usage  models.Usage
		finish llm.FinishReason
	}{
		"no [DONE]":               {[]string{`{"choices":[{"delta":{"content":"Hello"}}]}`, stop}, hello, models.Usage{}, llm.FinishStop},
		"no reason to stop":       {[]string{`{"choices":[{"delta":{"content":"Hello"}}]}`, "[DONE]"}, hello, models.Usage{}, llm.FinishStop},
		"usage after the end":     {[]string{`{"choices":[{"delta":{"content":"Hello"}}]}`, stop, usage, "[DONE]"}, hello, counted, llm.FinishStop},
		"usage with the end":      {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}`, "[DONE]"}, hello, counted, llm.FinishStop},
		"usage in each chunk":     {[]string{`{"choices":[{"delta":{"content":"Hel"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, `{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}`}, hello, counted, llm.FinishStop},
		"Groq's usage":            {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":5,"completion_tokens":3,"queue_time":0.1}}}`}, hello, counted, llm.FinishStop},
		"Moonshot's usage":        {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop","usage":{"prompt_tokens":5,"completion_tokens":3,"cached_tokens":2}}]}`}, hello, models.Usage{InputTokens: 3, CacheReadTokens: 2, OutputTokens: 3}, llm.FinishStop},
		"xAI's usage":             {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":18,"completion_tokens_details":{"reasoning_tokens":10}}}`}, hello, models.Usage{InputTokens: 5, OutputTokens: 13, ReasoningTokens: 10}, llm.FinishStop},
		"OpenRouter's cost":       {[]string{costs(`"cost":0.00001234567,"is_byok":false,"cost_details":{"upstream_inference_cost":null}`)}, hello, reported(12_346), llm.FinishStop},
		"a cost of nothing":       {[]string{costs(`"cost":0`)}, hello, reported(0), llm.FinishStop},
		"a cost with exponent":    {[]string{costs(`"cost":1.5e-7`)}, hello, reported(150), llm.FinishStop},
		"a cost as a text":        {[]string{costs(`"cost":"0.25"`)}, hello, reported(250_000_000), llm.FinishStop},
		"a key of one's own":      {[]string{costs(`"cost":0.01,"is_byok":true,"cost_details":{"upstream_inference_cost":0.2}`)}, hello, reported(210_000_000), llm.FinishStop},
		"half of a cost":          {[]string{costs(`"cost":0.01,"is_byok":true,"cost_details":{"upstream_inference_cost":null}`)}, hello, counted, llm.FinishStop},
		"half of a cost, no more": {[]string{costs(`"cost":0.01,"is_byok":true`)}, hello, counted, llm.FinishStop},
		"no cost":                 {[]string{costs(`"cost":null`)}, hello, counted, llm.FinishStop},
		"a cost that can't be":    {[]string{costs(`"cost":-1,"is_byok":"?","cost_details":[]`)}, hello, counted, llm.FinishStop},
		"a cost of another kind":  {[]string{costs(`"cost":{"total":1},"is_byok":3,"cost_details":"x"`)}, hello, counted, llm.FinishStop},
		"a cost that is endless":  {[]string{costs(`"cost":1e999999999`)}, hello, counted, llm.FinishStop},
		"usage that can't be":     {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":-3,"prompt_tokens_details":{"cached_tokens":50,"cache_write_tokens":70},"completion_tokens_details":null}}`}, hello, models.Usage{CacheReadTokens: 5}, llm.FinishStop},
		"usage that is huge":      {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1e300,"completion_tokens":"many"}}`}, hello, models.Usage{InputTokens: 1 << 40}, llm.FinishStop},
		"nulls everywhere":        {[]string{`{"id":null,"error":null,"choices":null,"usage":null}`, `{"error":null,"choices":[{"index":null,"delta":null,"finish_reason":null}]}`, `{"choices":[{"delta":{"role":null,"content":"Hello","tool_calls":null,"refusal":null,"reasoning":null},"logprobs":null,"finish_reason":"stop"}],"usage":null,"x_groq":null}`}, hello, models.Usage{}, llm.FinishStop},
		"an empty error":          {[]string{`{"error":{},"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}`}, hello, models.Usage{}, llm.FinishStop},
		"an empty finish":         {[]string{`{"choices":[{"delta":{"content":"Hel"},"finish_reason":""}]}`, `{"choices":[{"delta":{"content":"lo"},"finish_reason":""}]}`, stop}, hello, models.Usage{}, llm.FinishStop},
		"an unknown finish":       {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"eos_token"}]}`}, hello, models.Usage{}, llm.FinishStop},
		"a model's length":        {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"model_length"}]}`}, hello, models.Usage{}, llm.FinishLength},
		"an answer in one piece":  {[]string{`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}`}, hello, models.Usage{}, llm.FinishStop},
		"another choice":          {[]string{`{"choices":[{"index":1,"delta":{"content":"No"},"finish_reason":"stop"},{"index":0,"delta":{"content":"Hello"}}]}`, stop}, hello, models.Usage{}, llm.FinishStop},
		"garbage after the end":   {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}`, `{"usa`}, hello, models.Usage{}, llm.FinishStop},
		"a deprecated call's end": {[]string{calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":"{\"a\":1}"}}`), `{"choices":[{"delta":{},"finish_reason":"function_call"}]}`}, both[:1], models.Usage{}, llm.FinishToolCalls},

		"calls that end by stop":     {[]string{calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":"{\"a\":1}"}}`), stop}, both[:1], models.Usage{}, llm.FinishToolCalls},
		"an end by calls of none":    {[]string{`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"tool_calls"}]}`}, hello, models.Usage{}, llm.FinishStop},
		"calls at once":              {[]string{calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":"{\"a\":1}"}},{"index":1,"id":"call_B","function":{"name":"g","arguments":"{\"b\":2}"}}`), stop}, both, models.Usage{}, llm.FinishToolCalls},
		"no index":                   {[]string{calls(`{"id":"call_A","function":{"name":"f","arguments":"{\"a\":1}"}}`), calls(`{"id":"call_B","function":{"name":"g","arguments":"{\"b\":2}"}}`), stop}, both, models.Usage{}, llm.FinishToolCalls},
		"no index, fragments":        {[]string{calls(`{"id":"call_A","function":{"name":"f","arguments":""}}`), calls(`{"function":{"arguments":"{\"a\""}}`), calls(`{"function":{"arguments":":1}"}}`), calls(`{"id":"call_B","function":{"name":"g"}}`), calls(`{"function":{"arguments":"{\"b\":2}"}}`), stop}, both, models.Usage{}, llm.FinishToolCalls},
		"no index, an id each time":  {[]string{calls(`{"id":"call_A","function":{"name":"f","arguments":"{\"a\""}}`), calls(`{"id":"call_B","function":{"name":"g","arguments":"{\"b\""}}`), calls(`{"id":"call_A","function":{"arguments":":1}"}}`), calls(`{"id":"call_B","function":{"arguments":":2}"}}`), stop}, both, models.Usage{}, llm.FinishToolCalls},
		"one index for all":          {[]string{calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":"{\"a\":1}"}}`), calls(`{"index":0,"id":"call_B","function":{"name":"g","arguments":"{\"b\":2}"}}`), stop}, both, models.Usage{}, llm.FinishToolCalls},
		"no ids":                     {[]string{calls(`{"index":0,"function":{"name":"f","arguments":"{\"a\":1}"}}`), calls(`{"index":1,"function":{"name":"g","arguments":"{\"b\":2}"}}`), stop}, unnamed, models.Usage{}, llm.FinishToolCalls},
		"empty ids":                  {[]string{calls(`{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\""}}`), calls(`{"index":0,"id":"","function":{"name":"","arguments":":1}"}}`), stop}, unnamed[:1], models.Usage{}, llm.FinishToolCalls},
		"neither ids nor index":      {[]string{calls(`{"function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"name":"g","arguments":"{\"b\":2}"}}`), stop}, unnamed, models.Usage{}, llm.FinishToolCalls},
		"a name in each fragment":    {[]string{calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":"{\"a\""}}`), calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":":1}"}}`), stop}, both[:1], models.Usage{}, llm.FinishToolCalls},
		"an id that comes later":     {[]string{calls(`{"index":0,"function":{"name":"f"}}`), calls(`{"index":0,"id":"call_A","function":{"arguments":"{\"a\":1}"}}`), stop}, both[:1], models.Usage{}, llm.FinishToolCalls},
		"ids as numbers":             {[]string{calls(`{"index":0,"id":7,"function":{"name":"f","arguments":"{}"}}`), stop}, []models.Part{call("7", "f", "{}")}, models.Usage{}, llm.FinishToolCalls},
		"arguments as an object":     {[]string{calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":{"a":1}}}`), stop}, both[:1], models.Usage{}, llm.FinishToolCalls},
		"arguments that are missing": {[]string{calls(`{"index":0,"id":"call_A","function":{"name":"f"}}`), stop}, []models.Part{call("call_A", "f", "{}")}, models.Usage{}, llm.FinishToolCalls},
		"arguments that are null":    {[]string{calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":null}}`), stop}, []models.Part{call("call_A", "f", "{}")}, models.Usage{}, llm.FinishToolCalls},
		"arguments that are broken":  {[]string{calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":"{\"a\":"}}`), stop}, []models.Part{call("call_A", "f", `{"a":`)}, models.Usage{}, llm.FinishToolCalls},
		"text before calls":          {[]string{`{"choices":[{"delta":{"content":"Hello"}}]}`, calls(`{"index":0,"id":"call_A","function":{"name":"f","arguments":"{\"a\":1}"}}`), stop}, []models.Part{hello[0], both[0]}, models.Usage{}, llm.FinishToolCalls},
		"a signature with a call": {[]string{calls(`{"index":0,"id":"call_A","extra_content":{"google":{"thought_signature":"s=="}},"function":{"name":"f","arguments":"{\"a\":1}"}}`), stop},
			[]models.Part{{Type: models.PartToolCall, ToolCallID: "call_A", ToolName: "f", Arguments: models.JSON(`{"a":1}`), Metadata: models.JSON(`{"extra_content":{"google":{"thought_signature":"s=="}}}`)}}, models.Usage{}, llm.FinishToolCalls},

		"thoughts in both fields": {[]string{`{"choices":[{"delta":{"reasoning":"Hm","reasoning_content":"Hm"}}]}`, `{"choices":[{"delta":{"content":"Hello"}}]}`, stop}, []models.Part{thinking("Hm", `{"field":"reasoning_content"}`), hello[0]}, models.Usage{}, llm.FinishStop},
		"Mistral's lists": {[]string{`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}}]}`, `{"choices":[{"delta":{"content":[{"type":"text","text":"Hello"}]}}]}`, stop},
			[]models.Part{thinking("Hm", ""), hello[0]}, models.Usage{}, llm.FinishStop},
		"thoughts and text at once": {[]string{`{"choices":[{"delta":{"content":"Hello","reasoning_content":"Hm"}}]}`, stop}, []models.Part{thinking("Hm", `{"field":"reasoning_content"}`), hello[0]}, models.Usage{}, llm.FinishStop},
		"nothing at all":            {[]string{stop, "[DONE]"}, []models.Part{}, models.Usage{}, llm.FinishStop},
	} {
		body := "data: " + strings.Join(test.events, "\n\ndata: ") + "\n\n"
		for what, body := range map[string]string{
			"": body, ", no spaces": strings.ReplaceAll(body, "data: ", "data:"), ", no last line": strings.TrimSuffix(body, "\n\n"),
			", a mark before": "\ufeff" + body, ", other fields": strings.ReplaceAll(body, "data: ", ": ping\nid: 1\nretry: 5\ndata: "),
		} {
			resp, _, err := ask(t, "chat", stream(body, false))
			if err != nil {
				t.Errorf("%s%s: %v", name, what, err)
				continue
			}
			wiretest.Same(t, name+what, resp.Parts, test.parts)
			wiretest.Same(t, name+what+", usage", resp.Usage, test.usage)
			wiretest.Same(t, name+what+", finish", resp.FinishReason, test.finish)
		}
	}
	_, _, err := ask(t, "chat", stream("data: [DONE]\n\n", false))
	failed(t, "only the end", err, llm.CodeUnavailable, true)
}

// TestResponsesTolerance has what proxies in front of the Responses API leave out.
func TestResponsesTolerance(t *testing.T) {
	t.Parallel()
	hello := []models.Part{text("Hello")}
	for name, test := range map[string]struct {
		events []string
		parts  []models.Part
		finish llm.FinishReason
	}{
		"only the end": {[]string{`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"Hello"}]}]}}`}, hello, llm.FinishStop},
		"only pieces":  {[]string{`{"type":"response.output_text.delta","delta":"Hel"}`, `{"type":"response.output_text.delta","delta":"lo"}`, `{"type":"response.completed","response":{"status":"completed","output":[]}}`}, hello, llm.FinishStop},
		"no index": {[]string{`{"type":"response.output_item.added","item":{"type":"message","id":"m"}}`, `{"type":"response.output_text.delta","item_id":"m","delta":"Hello"}`,
			`{"type":"response.output_item.done","item":{"type":"message","id":"m","content":[]}}`, `{"type":"response.completed","response":{}}`}, hello, llm.FinishStop},
		"an item that is only done": {[]string{`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"n","arguments":"{\"a\":1}"}}`,
			`{"type":"response.completed","response":{"usage":null}}`}, []models.Part{call("c", "n", `{"a":1}`)}, llm.FinishToolCalls},
		"unknown kinds": {[]string{`{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"w"}}`, `{"type":"response.web_search_call.searching","output_index":0,"delta":{"x":1}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","id":"w"}}`, `{"type":"keepalive"}`,
			`{"type":"response.output_text.delta","output_index":1,"delta":"Hello"}`, `{"type":"response.completed","response":{"output":[{"type":"web_search_call","id":"w"},{"type":"message","content":[{"text":"Hello"}]}]}}`}, hello, llm.FinishStop},
		"the end corrects the pieces": {[]string{`{"type":"response.output_text.delta","output_index":0,"delta":"Help"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Hello"}]}}`, `{"type":"response.completed","response":{}}`}, hello, llm.FinishStop},
		"open thoughts": {[]string{`{"type":"response.reasoning_text.delta","output_index":0,"delta":"Hm"}`, `{"type":"response.output_text.delta","output_index":1,"delta":"Hello"}`,
			`{"type":"response.completed","response":{}}`}, []models.Part{thinking("Hm", ""), hello[0]}, llm.FinishStop},
		"thoughts without a summary": {[]string{`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[]}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e"}}`,
			`{"type":"response.output_text.delta","output_index":1,"delta":"Hello"}`, `{"type":"response.completed","response":{}}`},
			[]models.Part{thinking("", `{"id":"rs","encrypted_content":"e"}`), hello[0]}, llm.FinishStop},
		"incomplete for no reason": {[]string{`{"type":"response.output_text.delta","output_index":0,"delta":"Hello"}`, `{"type":"response.incomplete","response":{"status":"incomplete"}}`}, hello, llm.FinishLength},
	} {
		resp, _, err := ask(t, "responses", stream("data: "+strings.Join(test.events, "\n\ndata: ")+"\n\n", false))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wiretest.Same(t, name, resp.Parts, test.parts)
		wiretest.Same(t, name+", finish", resp.FinishReason, test.finish)
	}
}

// TestUsageOnTheWay has servers tell with each chunk what the call has taken so far: those who wait hear of it, but not of the last
// count, which the response tells.
func TestUsageOnTheWay(t *testing.T) {
	t.Parallel()
	var said []models.Usage
	p := serve(t, stream(`data: {"choices":[{"index":0,"delta":{"content":"A"}}],"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}}

data: {"choices":[{"index":0,"delta":{"content":"B"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}

data: [DONE]

`, false))
	resp, err := kinds["chat"].make(options(t)).Stream(t.Context(), p.request(), func(d llm.Delta) {
		if d.Usage != nil {
			said = append(said, *d.Usage)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	wiretest.Same(t, "said", said, []models.Usage{{InputTokens: 10, OutputTokens: 1}})
	wiretest.Same(t, "usage", resp.Usage, models.Usage{InputTokens: 10, OutputTokens: 2})
}
