package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/gemini"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
	"github.com/ostler-dev/ostler/internal/models"
)

const key = "AIzaSyTest-key"

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// newDriver makes a driver and the request that reaches the server.
func newDriver(s *wiretest.Server) (*gemini.Driver, llm.Request) {
	d := gemini.New(gemini.Options{HTTP: s.Client, Now: func() time.Time { return noon }})
	return d, llm.Request{
		Model: "gemini-2.5-flash", Endpoint: llm.Endpoint{BaseURL: s.URL, APIKey: key},
		Messages: []llm.Message{{Role: models.MessageUser, Parts: []models.Part{{Type: models.PartText, Text: "Hello"}}}},
	}
}

// told keeps the deltas of a call.
type told struct {
	text, thinking string
	calls          []string
	alive          int
	// spent is what the call was last said to have taken; silent tells that nothing had been said when the first piece came.
	spent  models.Usage
	silent bool
}

func (o *told) emit(d llm.Delta) {
	o.text += d.Text
	o.thinking += d.Thinking
	if d.ToolCall != "" {
		o.calls = append(o.calls, d.ToolCall)
	}
	if d == (llm.Delta{}) {
		o.alive++
	}
	if d.Usage != nil {
		o.spent = *d.Usage
	}
	if d.Text+d.Thinking != "" && o.spent == (models.Usage{}) {
		o.silent = true
	}
}

var fixtures = []string{"text.sse", "thinking.sse", "tools.sse", "safety.sse", "length.sse", "blocked.sse", "bare.sse"}

// Rules: M4.
func TestStream(t *testing.T) {
	tests := map[string]struct {
		want llm.Response
		told told
	}{
		"text.sse": {
			want: llm.Response{
				Parts:        []models.Part{{Type: models.PartText, Text: "Hello, wörld 🌍"}},
				Usage:        models.Usage{InputTokens: 312, OutputTokens: 9, CacheReadTokens: 4000},
				FinishReason: llm.FinishStop,
			},
			told: told{text: "Hello, wörld 🌍"},
		},
		"thinking.sse": {
			want: llm.Response{
				Parts: []models.Part{
					{Type: models.PartThinking, Text: "**Multiplying**\n\n27 × 453 is 12231."},
					{Type: models.PartText, Text: "12231"},
					{Type: models.PartText, Metadata: models.JSON(`{"thoughtSignature":"EpwCCpkCAXLI2nz/+w=="}`)},
				},
				Usage:        models.Usage{InputTokens: 20, OutputTokens: 60, ReasoningTokens: 52},
				FinishReason: llm.FinishStop,
			},
			told: told{text: "12231", thinking: "**Multiplying**\n\n27 × 453 is 12231."},
		},
		"tools.sse": {
			want: llm.Response{
				Parts: []models.Part{
					{Type: models.PartText, Text: "I will look at both."},
					{
						Type: models.PartToolCall, ToolCallID: "fc_1", ToolName: "read_file",
						Arguments: models.JSON(`{"path": "/workspace/a.txt", "id": 9007199254740993}`),
						Metadata:  models.JSON(`{"thoughtSignature":"CiQBjz1rX+/aGw=="}`),
					},
					{Type: models.PartToolCall, ToolCallID: "call_2", ToolName: "list_files", Arguments: models.JSON(`{}`)},
					{Type: models.PartToolCall, ToolCallID: "call_3", ToolName: "list_files", Arguments: models.JSON(`{}`)},
				},
				Usage:        models.Usage{InputTokens: 477, OutputTokens: 89, ReasoningTokens: 11},
				FinishReason: llm.FinishToolCalls,
			},
			told: told{text: "I will look at both.", calls: []string{"fc_1", "call_2", "call_3"}},
		},
		"safety.sse": {
			want: llm.Response{
				Parts:        []models.Part{{Type: models.PartText, Text: "I"}},
				Usage:        models.Usage{InputTokens: 10, OutputTokens: 4},
				FinishReason: llm.FinishRefusal,
			},
			told: told{text: "I"},
		},
		"length.sse": {
			want: llm.Response{
				Parts:        []models.Part{{Type: models.PartText, Text: "I"}},
				Usage:        models.Usage{InputTokens: 10, OutputTokens: 4},
				FinishReason: llm.FinishLength,
			},
			told: told{text: "I"},
		},
		"blocked.sse": {
			want: llm.Response{Parts: []models.Part{}, Usage: models.Usage{InputTokens: 10}, FinishReason: llm.FinishRefusal},
		},
		// No usage at all, parts and a reason to stop that are newer than the driver.
		"bare.sse": {
			want: llm.Response{Parts: []models.Part{{Type: models.PartText, Text: "AB"}}, FinishReason: llm.FinishStop},
			told: told{text: "AB"},
		},
	}
	if len(tests) != len(fixtures) {
		t.Fatal("a fixture has no test")
	}
	for file, tt := range tests {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			events := wiretest.Events(t, file)
			s := wiretest.New(t, wiretest.Answer{Events: events})
			d, req := newDriver(s)
			var out told
			got, err := d.Stream(t.Context(), req, out.emit)
			if err != nil {
				t.Fatal(err)
			}
			wiretest.Same(t, "response", got, tt.want)
			if out.alive == 0 {
				t.Error("no sign of life")
			}
			out.alive = 0
			// What the call takes is told before anything is said, and to the end.
			tt.told.spent, tt.told.silent = tt.want.Usage, tt.want.Usage == models.Usage{}
			wiretest.Same(t, "told", out, tt.told)
		})
	}
}

// A stream that ends early is never an answer, wherever it ends and however.
//
// Rules: M4.
func TestStreamCut(t *testing.T) {
	for _, file := range fixtures {
		for name, end := range map[string]wiretest.End{"ended": wiretest.Whole, "broken": wiretest.Broken} {
			t.Run(file+"/"+name, func(t *testing.T) {
				t.Parallel()
				events := wiretest.Events(t, file)
				s := wiretest.New(t, wiretest.Answer{Events: events})
				d, req := newDriver(s)
				whole, err := d.Stream(t.Context(), req, func(llm.Delta) {})
				if err != nil {
					t.Fatal(err)
				}
				for n := range events {
					half := events[n][:len(events[n])/2]
					for _, sent := range [][]string{
						events[:n], append(events[:n:n], half), append(events[:n:n], strings.TrimRight(events[n], "\n")),
					} {
						s.Play(wiretest.Answer{Events: sent, End: end})
						var out told
						got, err := d.Stream(t.Context(), req, out.emit)
						wiretest.Failure(t, err, llm.CodeUnavailable, true, key)
						wiretest.Same(t, "finish reason", got.FinishReason, llm.FinishReason(""))
						assertBegins(t, whole.Parts, got.Parts, out)
						wiretest.Same(t, "usage that was told", out.spent, got.Usage)
					}
				}
			})
		}
	}
}

// assertBegins checks that a partial answer is the beginning of the whole one, and is what was told.
func assertBegins(t *testing.T, whole, part []models.Part, out told) {
	t.Helper()
	if len(part) > len(whole) {
		t.Fatalf("got %d parts of %d", len(part), len(whole))
	}
	var text, thinking string
	for i, p := range part {
		if p.Type != whole[i].Type || p.ToolName != whole[i].ToolName || !strings.HasPrefix(whole[i].Text, p.Text) {
			t.Errorf("got part %+v, want a beginning of %+v", p, whole[i])
		}
		if len(p.Metadata) > 0 {
			wiretest.Same(t, "metadata, which is whole or missing", string(p.Metadata), string(whole[i].Metadata))
		}
		if p.Type == models.PartThinking {
			thinking += p.Text
		} else {
			text += p.Text
		}
	}
	wiretest.Same(t, "text", out.text, text)
	wiretest.Same(t, "thinking", out.thinking, thinking)
}

// Garbage in the place of any event fails the call.
func TestStreamGarbage(t *testing.T) {
	garbage := map[string]string{
		"no event":   "garbage\n\n",
		"no JSON":    "data: {\"candidates\": [{\"cont\n\n",
		"other JSON": "data: [1,2]\n\n",
		"text":       "data: \"x\"\n\n",
		"nothing":    "data: {}\n\n",
		"bare text":  "{oops\n\n",
		"types":      "data: {\"candidates\": 7}\n\n",
		"part":       "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": {}}]}}]}\n\n",
		"nameless":   "data: {\"candidates\": [{\"content\": {\"parts\": [{\"functionCall\": {}}]}}]}\n\n",
		"malformed":  "data: {\"candidates\": [{\"finishReason\": \"MALFORMED_FUNCTION_CALL\"}]}\n\n",
		"NUL":        "\x00\x00\n\n",
	}
	for _, file := range fixtures {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			events := wiretest.Events(t, file)
			s := wiretest.New(t, wiretest.Answer{})
			d, req := newDriver(s)
			for n := range events {
				for name, bad := range garbage {
					sent := append(append(events[:n:n], bad), events[n+1:]...)
					s.Play(wiretest.Answer{Events: sent})
					_, err := d.Stream(t.Context(), req, func(llm.Delta) {})
					if err == nil {
						t.Fatalf("%s in the place of event %d is taken for an answer", name, n)
					}
					wiretest.Failure(t, err, llm.CodeUnavailable, true, key)
				}
			}
		})
	}
}

func TestStreamOtherContent(t *testing.T) {
	s := wiretest.New(t, wiretest.Answer{Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html>Welcome</html>"})
	d, req := newDriver(s)
	_, err := d.Stream(t.Context(), req, func(llm.Delta) {})
	e := wiretest.Failure(t, err, llm.CodeUnavailable, true, key)
	if !strings.Contains(e.Message, "unreadable") {
		t.Error(e.Message)
	}
}

func TestStreamConnection(t *testing.T) {
	s := wiretest.New(t, wiretest.Answer{})
	d, req := newDriver(s)
	req.Endpoint.BaseURL = "http://127.0.0.1:1"
	_, err := d.Stream(t.Context(), req, func(llm.Delta) {})
	e := wiretest.Failure(t, err, llm.CodeUnavailable, true, key)
	if !strings.Contains(e.Message, "connection") {
		t.Error(e.Message)
	}
}

// The end of the context ends a call whose server says nothing more, and is not taken for a failure of the provider.
func TestStreamStall(t *testing.T) {
	events := wiretest.Events(t, "thinking.sse")
	for n := range events {
		s := wiretest.New(t, wiretest.Answer{Events: events[:n], End: wiretest.Stalled})
		d, req := newDriver(s)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-s.Stalled
			cancel()
		}()
		_, err := d.Stream(ctx, req, func(llm.Delta) {})
		if _, failed := errors.AsType[*llm.Error](err); failed || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want the context's own error", err)
		}
		cancel()
	}
}

// The idle timer of the engine hears of events without text, and of comments.
func TestStreamSignsOfLife(t *testing.T) {
	usage := "data: {\"usageMetadata\": {\"promptTokenCount\": 1}}\n\n"
	for name, quiet := range map[string]string{"usage": usage, "comment": ": keep-alive\n\n"} {
		t.Run(name, func(t *testing.T) {
			s := wiretest.New(t, wiretest.Answer{Events: []string{quiet}, End: wiretest.Stalled})
			d, req := newDriver(s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out told
			_, err := d.Stream(ctx, req, func(d llm.Delta) {
				out.emit(d)
				cancel()
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			out.spent = models.Usage{}
			wiretest.Same(t, "told", out, told{alive: 1})
		})
	}
}

// A server must not be able to fill the memory.
func TestStreamTooMuch(t *testing.T) {
	parts := func(parts ...string) string {
		return "data: {\"candidates\": [{\"content\": {\"parts\": [" + strings.Join(parts, ",") + "]}}]}\n\n"
	}
	long := strings.Repeat("x", 1<<20)
	repeat := func(e string, n int) (out []string) {
		for range n {
			out = append(out, e)
		}
		return out
	}
	for name, events := range map[string][]string{
		"text":      repeat(parts(fmt.Sprintf(`{"text":%q}`, long)), 9),
		"thinking":  repeat(parts(fmt.Sprintf(`{"text":%q,"thought":true}`, long)), 9),
		"signature": repeat(parts(fmt.Sprintf(`{"thoughtSignature":%q}`, long)), 9),
		"arguments": repeat(parts(fmt.Sprintf(`{"functionCall":{"name":"a","args":{"b":%q}}}`, long)), 5),
		"parts":     repeat(parts(repeat(`{"functionCall":{"name":"a"}}`, 100)...), wire.MaxParts/100+1),
		"event":     {"data: " + strings.Repeat("x", wire.MaxEvent+1)},
	} {
		t.Run(name, func(t *testing.T) {
			s := wiretest.New(t, wiretest.Answer{Events: events})
			d, req := newDriver(s)
			_, err := d.Stream(t.Context(), req, func(llm.Delta) {})
			wiretest.Failure(t, err, llm.CodeUnavailable, true, key)
		})
	}
}

// What breaks after the reason to finish takes nothing from the answer.
func TestStreamBrokenAfterEnd(t *testing.T) {
	for _, end := range []wiretest.End{wiretest.Whole, wiretest.Broken} {
		s := wiretest.New(t, wiretest.Answer{Events: append(wiretest.Events(t, "text.sse"), "data: {\"usa"), End: end})
		d, req := newDriver(s)
		got, err := d.Stream(t.Context(), req, func(llm.Delta) {})
		if err != nil {
			t.Fatal(err)
		}
		wiretest.Same(t, "finish reason", got.FinishReason, llm.FinishStop)
	}
}
