package simulated_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/simulated"
	"github.com/ostler-dev/ostler/internal/models"
)

func script(messages ...llm.Message) llm.Request {
	return llm.Request{Model: "sim-script", Messages: messages}
}

// withFile adds a script to the request, in the session's files.
func withFile(req llm.Request, text string, err error) llm.Request {
	req.ReadFile = func(_ context.Context, path string) ([]byte, error) {
		if path != simulated.ScriptPath {
			return nil, fmt.Errorf("unexpected path %s", path)
		}
		return []byte(text), err
	}
	return req
}

// Rules: M2.
func TestScriptChunks(t *testing.T) {
	var r recorder
	res, err := r.stream(context.Background(), script(user(`
ttft_ms: 10
ms_per_token: 1
responses:
  - chunks:
      - thinking: think hard
      - text: "one "
      - text: two
        ms_per_token: 0
      - stall_ms: 99
      - tool_call: {name: a, arguments: {z: 1, "a": [true, null, 1.5, "<é>", 2024-01-01, 0x10]}}
      - tool_call: {id: mine, name: b, raw_arguments: '{"broken'}
      - tool_call: {name: c}
    usage: {input: 7, cache_read: 5, cache_write: 3}
`)))
	noError(t, err)
	equal(t, []models.Part{
		{Type: models.PartThinking, Text: "think hard"},
		{Type: models.PartText, Text: "one two"},
		{Type: models.PartToolCall, ToolCallID: "call_1", ToolName: "a", Arguments: models.JSON(`{"z":1,"a":[true,null,1.5,"<é>","2024-01-01",16]}`)},
		{Type: models.PartToolCall, ToolCallID: "mine", ToolName: "b", Arguments: models.JSON(`{"broken`)},
		{Type: models.PartToolCall, ToolCallID: "call_3", ToolName: "c", Arguments: models.JSON(`{}`)},
	}, res.Parts)
	equal(t, llm.FinishToolCalls, res.FinishReason)
	equal(t, int64(2), res.Usage.ReasoningTokens)
	equal(t, []int64{7, 5, 3}, []int64{res.Usage.InputTokens, res.Usage.CacheReadTokens, res.Usage.CacheWriteTokens})
	equal(t, []llm.Delta{
		{Thinking: "think"}, {Thinking: " hard"}, {Text: "one"}, {Text: " "}, {Text: "two"}, {ToolCall: "call_1"}, {ToolCall: "mine"}, {ToolCall: "call_3"},
	}, r.deltas)
	ms := time.Millisecond
	equal(t, []time.Duration{10 * ms, ms, ms, ms, 99 * ms}, r.waits[:5])
}

// Rules: M2.
func TestScriptErrors(t *testing.T) {
	for _, c := range []struct {
		chunk string
		want  llm.Error
	}{
		{`{"error":{"status":408}}`, llm.Error{Code: llm.CodeUnavailable, Status: 408, Transient: true}},
		{`{"error":{"status":409}}`, llm.Error{Code: llm.CodeUnavailable, Status: 409, Transient: true}},
		{`{"error":{"status":425}}`, llm.Error{Code: llm.CodeUnavailable, Status: 425, Transient: true}},
		{`{"error":{"status":429,"retry_after_ms":1500}}`, llm.Error{Code: llm.CodeRateLimited, Status: 429, Transient: true, RetryAfter: 1500 * time.Millisecond}},
		{`{"error":{"status":500}}`, llm.Error{Code: llm.CodeUnavailable, Status: 500, Transient: true}},
		{`{"error":{"status":529}}`, llm.Error{Code: llm.CodeUnavailable, Status: 529, Transient: true}},
		{`{"error":{"status":401}}`, llm.Error{Code: llm.CodeMisconfigured, Status: 401}},
		{`{"error":{"status":403}}`, llm.Error{Code: llm.CodeMisconfigured, Status: 403}},
		{`{"error":{"status":404}}`, llm.Error{Code: llm.CodeMisconfigured, Status: 404}},
		{`{"error":{"status":402}}`, llm.Error{Code: llm.CodeQuotaExhausted, Status: 402}},
		{`{"error":{"status":413}}`, llm.Error{Code: llm.CodeContextExceeded, Status: 413}},
		{`{"error":{"status":400,"code":"context_window_exceeded"}}`, llm.Error{Code: llm.CodeContextExceeded, Status: 400}},
		{`{"error":{"status":400,"code":"invalid_tool_schema"}}`, llm.Error{Code: llm.CodeInvalidToolSchema, Status: 400}},
		{`{"error":{"status":429,"code":"provider_quota_exhausted"}}`, llm.Error{Code: llm.CodeQuotaExhausted, Status: 429}},
		{`{"error":{"status":500,"code":"internal"}}`, llm.Error{Code: llm.CodeInternal, Status: 500}},
		{`{"disconnect":true}`, llm.Error{Code: llm.CodeUnavailable, Transient: true, Cause: io.ErrUnexpectedEOF}},
	} {
		var r recorder
		res, err := r.stream(context.Background(), script(user(
			`{"ttft_ms":5,"responses":[{"chunks":[{"text":"so far"},`+c.chunk+`],"usage":{"output":9}}]}`)))
		e := *asError(t, err)
		equal(t, true, e.Message != "")
		e.Message = ""
		equal(t, c.want, e)
		equal(t, "so far", textParts(res))
		equal(t, "so far", r.text())
		equal(t, int64(9), res.Usage.OutputTokens)

		r = recorder{}
		_, err = r.stream(context.Background(), script(user(`{"ttft_ms":5,"responses":[{"chunks":[`+c.chunk+`]}]}`)))
		asError(t, err)
		equal(t, []time.Duration{5 * time.Millisecond}, r.waits)
	}
	_, err := (&recorder{}).stream(context.Background(), script(user(`{"responses":[{"chunks":[{"error":{"status":500,"message":"Ouch."}}]}]}`)))
	equal(t, "Ouch.", asError(t, err).Message)
}

func TestScriptIsStrict(t *testing.T) {
	one := func(chunk string) string { return `{"responses":[{"chunks":[` + chunk + `]}]}` }
	for _, c := range []struct{ script, want string }{
		{`{"responses":[]}`, "responses: it must have 1 to 1000 items, not 0"},
		{`{"responses":{}}`, "responses: it must be a list, not an object"},
		{`{"response":[], "x":"responses"}`, "response: unknown field; known are ttft_ms, ms_per_token, responses"},
		{`{"responses":[{}]}`, "responses[0].chunks: it is missing"},
		{`{"responses":[{"chunks":[]}]}`, "responses[0].chunks: it must have"},
		{`{"responses":[[{"text":"a"}]]}`, "responses[0]: it must be an object, not a list"},
		{one(`{"text":"a"},{"txt":"b"}`), "responses[0].chunks[1].txt: unknown field; known are ms_per_token, text"},
		{one(`{}`), "responses[0].chunks[0]: a chunk needs one of"},
		{one(`{"text":"a","thinking":"b"}`), "both text and thinking"},
		{one(`{"text":1}`), "responses[0].chunks[0].text: it must be a text, not a number"},
		{one(`{"text":null}`), "it must be a text, not null"},
		{one(`{"text":"a","ms_per_token":-1}`), "responses[0].chunks[0].ms_per_token: it must be a whole number from 0 to 600000, not -1"},
		{one(`{"text":"a","ms_per_token":1.5}`), "not 1.5"},
		{one(`{"stall_ms":5,"ms_per_token":1}`), "stall_ms has no tokens"},
		{one(`{"stall_ms":"5"}`), "chunks[0].stall_ms: it must be a number, not a text"},
		{one(`{"disconnect":false}`), "it must be true, or not be there"},
		{one(`{"disconnect":true},{"text":"a"}`), "responses[0].chunks[1]: nothing can follow after disconnect"},
		{one(`{"tool_call":{}}`), "responses[0].chunks[0].tool_call.name: it is missing"},
		{one(`{"tool_call":{"name":""}}`), "tool_call.name: it must not be empty"},
		{one(`{"tool_call":{"name":"a","id":""}}`), "tool_call.id: it must not be empty"},
		{one(`{"tool_call":{"name":"a","argumnets":{}}}`), "responses[0].chunks[0].tool_call.argumnets: unknown field"},
		{one(`{"tool_call":{"name":"a","arguments":"{}"}}`), "tool_call.arguments: it must be an object, not a text"},
		{one(`{"tool_call":{"name":"a","arguments":{},"raw_arguments":""}}`), "can't both be there"},
		{one(`{"error":{}}`), "error.status: it is missing"},
		{one(`{"error":{"status":200}}`), "error.status: it must be a whole number from 400 to 599, not 200"},
		{one(`{"error":{"status":400,"code":"x"}}`), "error.code: it must be one of"},
		{`{"responses":[{"chunks":[{"text":"a"}],"finish":"done"}]}`, "responses[0].finish: it must be one of"},
		{`{"responses":[{"chunks":[{"text":"a"}],"usage":{"in":1}}]}`, "responses[0].usage.in: unknown field"},
		{`{"responses":[{"chunks":[{"text":"a"}],"usage":{"input":-1}}]}`, "responses[0].usage.input: it must be"},
		{`{"responses":[`, "not valid JSON at byte"},
		{`{"responses":[]} {}`, "something follows the document"},
		{`{"responses":[],"responses":[]}`, `the field "responses" is there twice`},
		{"responses: []\nresponses: []", `the field "responses" is there twice`},
		{"a: &x [1]\nresponses: *x", "aliases are not allowed"},
		{"responses: !!binary aGk=", "the tag !!binary is not allowed"},
		{"responses: .nan", "is not a number"},
		{"responses: []\n---\nresponses: []", "one document"},
		{"responses:\n\t- x", "not valid YAML"},
		{"? [a]\n: b\nresponses: []", "a key must be a text"},
		{`{"responses":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "nested deeper than 64"},
		{"responses: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper than 64"},
		{"responses: [" + strings.Repeat("x", 256<<10) + "]", "it is longer than"},
	} {
		for _, req := range []llm.Request{script(user(c.script)), withFile(script(user("go")), c.script, nil)} {
			_, err := (&recorder{}).stream(context.Background(), req)
			e := asError(t, err)
			equal(t, llm.CodeMisconfigured, e.Code)
			contains(t, e.Message, c.want)
			contains(t, e.Message, "docs/simulated-models.md")
		}
	}
}

const threeSteps = `{"responses":[{"chunks":[{"tool_call":{"name":"a"}}]},{"chunks":[{"text":"second"}]},{"chunks":[{"text":"third"}]}]}`

// called is a message of the agent that calls a tool, with the tool's answer.
func called() []llm.Message {
	return []llm.Message{
		{Role: models.MessageAgent, Parts: []models.Part{{Type: models.PartToolCall, ToolCallID: "call_1", ToolName: "a"}}},
		{Role: models.MessageTool, Parts: []models.Part{{Type: models.PartToolResult, ToolCallID: "call_1"}}},
	}
}

func TestWhichResponseIsPlayed(t *testing.T) {
	join := func(list ...[]llm.Message) (all []llm.Message) {
		for _, l := range list {
			all = append(all, l...)
		}
		return all
	}
	one := func(m llm.Message) []llm.Message { return []llm.Message{m} }
	for _, c := range []struct {
		name     string
		messages []llm.Message
		file     string
		want     string // a text, or empty for the tool call
	}{
		{"the first", one(user(threeSteps)), "", ""},
		{"after a step", join(one(user(threeSteps)), called()), "", "second"},
		{"steered", join(one(user(threeSteps)), called(), one(user("hurry"))), "", "second"},
		{"next turn", join(one(user(threeSteps)), called(), one(agent("second")), one(user("more"))), "", "third"},
		{"ended", join(one(user(threeSteps)), called(), one(agent("second")), one(agent("third")), one(user("more"))), "", "(script ended)"},
		{"a new script", join(one(user(threeSteps)), called(), one(user("```json\n"+threeSteps+"\n```"))), "", ""},
		{"YAML in a block", one(user("```yaml\nresponses:\n- chunks: [{text: hi}]\n```")), "", "hi"},
		{"file, first", one(user("go")), threeSteps, ""},
		{"file, after a step", join(one(user("go")), called()), threeSteps, "second"},
		{"file, steered", join(one(user("go")), called(), one(user("hurry"))), threeSteps, "second"},
		{"file, next turn", join(one(user("go")), called(), one(agent("second")), one(user("go"))), threeSteps, ""},
		{"file, next turn after a step", join(one(user("go")), called(), one(agent("second")), one(user("go")), called()), threeSteps, "second"},
		{"file wins", one(user(`{"responses":[{"chunks":[{"text":"message"}]}]}`)), threeSteps, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := withFile(script(c.messages...), "", fmt.Errorf("read: %w", fs.ErrNotExist))
			if c.file != "" {
				req = withFile(req, c.file, nil)
			}
			res, err := (&recorder{}).stream(context.Background(), req)
			noError(t, err)
			equal(t, c.want, textParts(res))
			equal(t, c.want == "", len(calls(res)) == 1)
		})
	}
}

func TestNoScript(t *testing.T) {
	for _, messages := range [][]llm.Message{nil, {user("hello")}, {user("{}")}, {user("what are good responses: a or b?")}} {
		_, err := (&recorder{}).stream(context.Background(), script(messages...))
		e := asError(t, err)
		equal(t, llm.CodeMisconfigured, e.Code)
		contains(t, e.Message, "/workspace/.sim/script.json")
	}
	broken := errors.New("disk")
	_, err := (&recorder{}).stream(context.Background(), withFile(script(user(threeSteps)), "", broken))
	e := asError(t, err)
	equal(t, true, e.Transient && errors.Is(err, broken) && e.Code == llm.CodeInternal)

	_, err = (&recorder{}).stream(context.Background(), withFile(script(user("go")), "", fmt.Errorf("read: %w", syscall.EISDIR)))
	equal(t, llm.CodeMisconfigured, asError(t, err).Code)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = (&recorder{}).stream(ctx, withFile(script(), "", broken))
	equal(t, true, errors.Is(err, context.Canceled))
}

// The finish reason of a script counts, but a limit of tokens counts more.
//
// Rules: M2.
func TestScriptFinish(t *testing.T) {
	req := script(user(`{"responses":[{"chunks":[{"text":"one two three"}],"finish":"refusal"}]}`))
	res, err := (&recorder{}).stream(context.Background(), req)
	noError(t, err)
	equal(t, llm.FinishRefusal, res.FinishReason)
	req.MaxTokens = 2
	res, err = (&recorder{}).stream(context.Background(), req)
	noError(t, err)
	equal(t, llm.FinishLength, res.FinishReason)
	equal(t, "one two", textParts(res))
}

func TestJSONEscapes(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`{"responses":[{"chunks":[{"text":"\ud83c\udf89\/\u00e9"}]}]}`, "🎉/é"},
		{"{\n\t\"responses\": [{\"chunks\": [{\"text\": \"tab\"}]}]}", "tab"},
		{`{"responses":[{"chunks":[{"text":"\ud83c"}]}]}`, "\uFFFD"},
		{`{responses: [{chunks: [{text: flow}]}]}`, "flow"},
	} {
		res, err := (&recorder{}).stream(context.Background(), script(user(c.script)))
		noError(t, err)
		equal(t, c.want, textParts(res))
	}
}

// No script, whatever it holds, makes the driver panic, emit invalid text or lose what it emitted.
func FuzzScript(f *testing.F) {
	doc, err := os.ReadFile("../../../docs/simulated-models.md")
	noError(f, err)
	for _, example := range codeBlocks(string(doc)) {
		f.Add(example, 0)
	}
	f.Add(threeSteps, 3)
	f.Add("a: &x [1]\nresponses: *x", 0)
	f.Add("responses: [{chunks: [{text: a, ms_per_token: 5}, {stall_ms: 1}]}]", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		req := withFile(script(user("go")), text, nil)
		req.MaxTokens = limit
		var r recorder
		res, err := r.stream(context.Background(), req)
		if err != nil {
			asError(t, err)
		}
		equal(t, textParts(res), r.text())
		for _, p := range res.Parts {
			if !utf8.ValidString(p.Text) || !utf8.Valid(p.Arguments) || !utf8.ValidString(p.ToolName) {
				t.Fatalf("invalid UTF-8 in %+v", p)
			}
		}
	})
}

// TestScriptTellsUsage has a provider tell what a call takes while it is under way: it changes nothing of what counts in the
// end, but is all that is known of a call that fails.
func TestScriptTellsUsage(t *testing.T) {
	var r recorder
	res, err := r.stream(context.Background(), llm.Request{Model: "sim-script", Messages: []llm.Message{
		user(`{"responses": [{"chunks": [{"usage": {"input": 7, "cache_read": 3}}, {"text": "hi"}, {"usage": {"output": 9}}], "usage": {"input": 8}}]}`),
	}})
	noError(t, err)
	var said []models.Usage
	for _, d := range r.deltas {
		if d.Usage != nil {
			said = append(said, *d.Usage)
		}
	}
	equal(t, 2, len(said))
	equal(t, models.Usage{InputTokens: 7, CacheReadTokens: 3}, said[0])
	equal(t, int64(9), said[1].OutputTokens)
	equal(t, models.Usage{InputTokens: 8, OutputTokens: 1}, res.Usage)

	res, err = r.stream(context.Background(), script(user(
		`{"responses": [{"chunks": [{"text": "hi"}, {"usage": {"input": 7, "output": 9}}, {"disconnect": true}]}]}`)))
	asError(t, err)
	equal(t, models.Usage{InputTokens: 7, OutputTokens: 9}, res.Usage)
}
