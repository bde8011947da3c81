package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/openai"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
	"github.com/ostler-dev/ostler/internal/models"
)

// now is the time of the drivers under test.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// driver is both of what the drivers are.
type driver interface {
	llm.Driver
	llm.Lister
}

// kinds are the two drivers, with the path that each posts to.
var kinds = map[string]struct {
	path string
	make func(openai.Options) driver
}{
	"responses": {"/v1/responses", func(o openai.Options) driver { return openai.NewResponses(o) }},
	"chat":      {"/v1/chat/completions", func(o openai.Options) driver { return openai.NewChat(o) }},
}

// provider is a provider's server as these tests use it.
type provider struct{ *wiretest.Server }

func serve(t *testing.T, answers ...wiretest.Answer) provider {
	t.Helper()
	return provider{wiretest.New(t, answers...)}
}

func (p provider) asked() int { return len(p.Requests()) }

func (p provider) body(n int) string { return string(p.Requests()[n].Body) }

// path returns method and path of a request.
func (p provider) path(n int) string { return p.Requests()[n].Method + " " + p.Requests()[n].URL }

func (p provider) request() llm.Request {
	return llm.Request{
		Model: "m", Messages: []llm.Message{user("Hello")}, Endpoint: llm.Endpoint{BaseURL: p.URL + "/v1", APIKey: "sk-secret-key"},
	}
}

// options use no connection twice, so that a broken one is never the next test's.
func options(t *testing.T) openai.Options {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return openai.Options{
		HTTP: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		Now:  func() time.Time { return now },
	}
}

// stream answers with events. cut makes the connection break after them; else the stream ends as it should.
func stream(body string, cut bool) wiretest.Answer {
	a := wiretest.Answer{Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, Events: []string{body}}
	if cut {
		a.End = wiretest.Broken
	}
	return a
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// heard is what a driver passed on.
type heard struct {
	text, thinking string
	calls          []string
	alive          int
}

func (h *heard) emit(d llm.Delta) {
	h.text += d.Text
	h.thinking += d.Thinking
	switch {
	case d.ToolCall != "":
		h.calls = append(h.calls, d.ToolCall)
	case d == llm.Delta{}:
		h.alive++
	}
}

// ask makes one call of a server that answers so.
func ask(t *testing.T, kind string, answer wiretest.Answer) (llm.Response, heard, error) {
	t.Helper()
	p := serve(t, answer)
	var h heard
	resp, err := kinds[kind].make(options(t)).Stream(t.Context(), p.request(), h.emit)
	if n := p.asked(); n != 1 {
		t.Errorf("the provider was asked %d times: a driver never retries", n)
	}
	return resp, h, err
}

func user(text string) llm.Message {
	return llm.Message{Role: models.MessageUser, Parts: []models.Part{{Type: models.PartText, Text: text}}}
}

func text(s string) models.Part { return models.Part{Type: models.PartText, Text: s} }

func thinking(s, metadata string) models.Part {
	p := models.Part{Type: models.PartThinking, Text: s}
	if metadata != "" {
		p.Metadata = models.JSON(metadata)
	}
	return p
}

func call(id, name, arguments string) models.Part {
	return models.Part{Type: models.PartToolCall, ToolCallID: id, ToolName: name, Arguments: models.JSON(arguments)}
}

func show(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}

// failed checks a failure against the promises that hold for all.
func failed(t *testing.T, what string, err error, code llm.Code, transient bool) *llm.Error {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Code != code || e.Transient != transient || e.Message == "" {
		t.Errorf("%s: %v (%+v), want %s, transient %v", what, err, e, code, transient)
		return &llm.Error{}
	}
	if strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("%s: the error holds the key: %v", what, err)
	}
	return e
}

var answers = map[string]struct {
	parts  []models.Part
	usage  models.Usage
	finish llm.FinishReason
}{
	"responses/text": {[]models.Part{text("Good day, Ä & 世界.")},
		models.Usage{InputTokens: 76, CacheReadTokens: 1024, CacheWriteTokens: 100, OutputTokens: 9}, llm.FinishStop},
	"responses/tools": {[]models.Part{
		thinking("**Plan** look at both.\n\nThen answer.", `{"id":"rs_01","encrypted_content":"gAAAAfinal==","summary":["**Plan** look at both.","Then answer."]}`),
		call("call_A", "read_file", `{"path":"/a"}`), call("call_B", "get_current_time", `{}`),
	}, models.Usage{InputTokens: 300, OutputTokens: 120, ReasoningTokens: 64}, llm.FinishToolCalls},
	"responses/refusal": {[]models.Part{text("I can't help with that.")}, models.Usage{InputTokens: 20, OutputTokens: 8}, llm.FinishRefusal},
	"responses/length": {[]models.Part{text("Let me see."), call("call_A", "read_file", `{"path":"/`)},
		models.Usage{InputTokens: 30, OutputTokens: 16}, llm.FinishLength},
	"responses/filtered": {[]models.Part{text("Once upon")}, models.Usage{InputTokens: 30, OutputTokens: 4}, llm.FinishRefusal},
	"chat/text":          {[]models.Part{text("Good day, 世界.")}, models.Usage{InputTokens: 176, CacheReadTokens: 1024, OutputTokens: 9}, llm.FinishStop},
	"chat/tools": {[]models.Part{call("call_A", "read_file", `{"path":"/a"}`), call("call_B", "get_current_time", `{}`)},
		models.Usage{InputTokens: 80, OutputTokens: 30}, llm.FinishToolCalls},
	"chat/deepseek": {[]models.Part{thinking("Let me think.", `{"field":"reasoning_content"}`), text("It is 4.")},
		models.Usage{InputTokens: 36, CacheReadTokens: 64, OutputTokens: 50, ReasoningTokens: 40}, llm.FinishStop},
	"chat/openrouter": {[]models.Part{thinking("Hm.", `{"field":"reasoning"}`), text("Yes.")},
		models.Usage{InputTokens: 10, OutputTokens: 5, ReasoningTokens: 2, CostNanos: 123_000, ProviderCost: true}, llm.FinishStop},
	"chat/length":   {[]models.Part{text("Once upon")}, models.Usage{InputTokens: 10, OutputTokens: 2}, llm.FinishLength},
	"chat/filtered": {[]models.Part{text("Once")}, models.Usage{}, llm.FinishRefusal},
	"chat/refusal":  {[]models.Part{text("I can't do that.")}, models.Usage{}, llm.FinishRefusal},
}

// kindOf returns the driver that a fixture is for.
func kindOf(name string) string {
	kind, _, _ := strings.Cut(name, "/")
	return kind
}

// Rules: M4.
func TestAnswers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.sse")
	if err != nil || len(files) != len(answers) {
		t.Fatalf("%d fixtures, %d of them expected: %v", len(files), len(answers), err)
	}
	for name, want := range answers {
		for _, ends := range []string{"\n", "\r\n"} {
			body := strings.ReplaceAll(fixture(t, name), "\n", ends)
			resp, h, err := ask(t, kindOf(name), stream(body, false))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			wiretest.Same(t, name+" parts", resp.Parts, want.parts)
			wiretest.Same(t, name+" usage", resp.Usage, want.usage)
			wiretest.Same(t, name+" finish", resp.FinishReason, want.finish)
			var all heard
			for _, p := range want.parts {
				switch p.Type {
				case models.PartText:
					all.text += p.Text
				case models.PartThinking:
					all.thinking += p.Text
				case models.PartToolCall:
					all.calls = append(all.calls, p.ToolCallID)
				}
			}
			h.alive = 0
			wiretest.Same(t, name+" heard", h, all)
		}
	}
}

// pieces is a body that comes in pieces.
type pieces []string

func (p *pieces) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; (*p)[0] == "" {
		*p = (*p)[1:]
	}
	return n, nil
}

// TestEveryEventIsASignOfLife counts: nothing that comes is kept back.
func TestEveryEventIsASignOfLife(t *testing.T) {
	t.Parallel()
	for name := range answers {
		events := strings.SplitAfter(strings.TrimSuffix(fixture(t, name), "\n\n"), "\n\n")
		o := options(t)
		o.HTTP.Transport = transport(func(*http.Request) (*http.Response, error) {
			body := pieces(slices.Clone(events))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(&body)}, nil
		})
		deltas := 0
		req := llm.Request{Model: "m", Endpoint: llm.Endpoint{BaseURL: "http://127.0.0.1/v1"}}
		if _, err := kinds[kindOf(name)].make(o).Stream(t.Context(), req, func(llm.Delta) { deltas++ }); err != nil {
			t.Fatal(err)
		}
		if deltas < len(events) {
			t.Errorf("%s: %d deltas of %d events", name, deltas, len(events))
		}
	}
}

// whole reports whether a stream that ends here holds the whole answer.
func whole(kind, body string) bool {
	if kind == "responses" {
		return strings.Contains(body, "event: response.completed\n") || strings.Contains(body, "event: response.incomplete\n")
	}
	return strings.Contains(body, `"finish_reason":"`) || strings.Contains(body, "[DONE]")
}

// TestCutStreams ends each fixture after each of its events, and within each, politely and by breaking the connection.
//
// Rules: M4.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	for name, want := range answers {
		kind, full := kindOf(name), fixture(t, name)
		events := strings.SplitAfter(full, "\n\n")
		came := ""
		for n, event := range events {
			for _, body := range []string{came, came + event[:len(event)/2]} {
				for _, cut := range []bool{false, true} {
					resp, h, err := ask(t, kind, stream(body, cut))
					what := fmt.Sprintf("%s, %d events and %d bytes, broken %v", name, n, len(body)-len(came), cut)
					if whole(kind, came) {
						if err != nil {
							t.Errorf("%s: %v", what, err)
						}
						continue
					}
					failed(t, what, err, llm.CodeUnavailable, true)
					if resp.FinishReason != "" {
						t.Errorf("%s: finished by %s", what, resp.FinishReason)
					}
					checkPartial(t, what, resp.Parts, want.parts, h)
				}
			}
			came += event
		}
	}
}

// checkPartial checks that parts are a beginning of what would have come, and all of what was passed on.
func checkPartial(t *testing.T, what string, parts, whole []models.Part, h heard) {
	t.Helper()
	if len(parts) > len(whole) {
		t.Errorf("%s: %s", what, show(parts))
		return
	}
	said, thought := "", ""
	for i, p := range parts {
		w := whole[i]
		if p.Type != w.Type || !strings.HasPrefix(w.Text, p.Text) || !strings.HasPrefix(string(w.Arguments), string(p.Arguments)) {
			t.Errorf("%s: part %d is %s", what, i, show(p))
		}
		switch p.Type {
		case models.PartText:
			said += p.Text
		case models.PartThinking:
			thought += p.Text
		}
	}
	if said != h.text || thought != h.thinking {
		t.Errorf("%s: %q and %q are returned, %q and %q were passed on", what, said, thought, h.text, h.thinking)
	}
}

// TestGarbage puts garbage in the place of each event.
func TestGarbage(t *testing.T) {
	t.Parallel()
	for name := range answers {
		kind := kindOf(name)
		events := strings.SplitAfter(strings.TrimSuffix(fixture(t, name), "\n\n"), "\n\n")
		for n, event := range events {
			if strings.HasPrefix(event, ":") {
				continue
			}
			for _, garbage := range []string{
				"data: {\n\n", "data: nonsense\n\n", "data: [1,2]\n\n", "data: \x00\xff\xfe\n\n", `data: {"type":7,"choices":"no"}` + "\n\n",
				`data: {"type":"response.completed","response":7,"choices":[{"delta":{"tool_calls":{}}}]}` + "\n\n", "data: \"text\"\n\n", "data: 7\n\n",
			} {
				body := strings.Join(events[:n], "") + garbage + strings.Join(events[n+1:], "")
				resp, _, err := ask(t, kind, stream(body, false))
				what := fmt.Sprintf("%s, event %d is %q", name, n, garbage)
				if whole(kind, strings.Join(events[:n], "")) {
					if err != nil || resp.FinishReason == "" {
						t.Errorf("%s: %v", what, err)
					}
					continue
				}
				if e := failed(t, what, err, llm.CodeUnavailable, true); !strings.Contains(e.Message, "unreadable") {
					t.Errorf("%s: %v", what, e)
				}
			}
		}
	}
}

// TestStalls lets the server fall silent after each event until the caller gives up.
func TestStalls(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"responses/tools", "chat/tools"} {
		kind := kindOf(name)
		events := strings.SplitAfter(fixture(t, name), "\n\n")
		for n := range 8 {
			silence := stream(strings.Join(events[:n], ""), false)
			silence.End = wiretest.Stalled
			p := serve(t, silence)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-p.Stalled
				cancel()
			}()
			_, err := kinds[kind].make(options(t)).Stream(ctx, p.request(), func(llm.Delta) {})
			if _, failed := errors.AsType[*llm.Error](err); failed || !errors.Is(err, context.Canceled) {
				t.Errorf("%s after %d events: %v", name, n, err)
			}
			cancel()
		}
	}
}
