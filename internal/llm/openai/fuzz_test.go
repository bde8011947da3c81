package openai

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// FuzzStreams reads whatever a server sends. It must end, and what is returned must be what was passed on, unless the server itself
// corrected it.
func FuzzStreams(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.sse")
	if err != nil || len(files) == 0 {
		f.Fatal("no fixtures")
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]"))
	f.Add([]byte("error: {\"message\":\"no\"}\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		said := ""
		emit := func(d llm.Delta) { said += d.Text + d.Thinking }
		chat := chatStream{answer: answer{emit: emit}}
		whole, err := chat.read(newEvents(strings.NewReader(string(body))))
		if err != nil {
			whole = chat.response(false)
		}
		check(t, whole, err)
		got := ""
		for _, p := range whole.Parts {
			got += p.Text
		}
		if got != said {
			t.Errorf("%q is returned, %q was passed on", got, said)
		}
		r := responsesStream{answer: answer{emit: emit}}
		whole, err = r.read(newEvents(strings.NewReader(string(body))))
		if err != nil {
			whole = r.response(false)
		}
		check(t, whole, err)
	})
}

func check(t *testing.T, whole llm.Response, err error) {
	t.Helper()
	if (err == nil) != (whole.FinishReason != "") {
		t.Errorf("finish %q with error %v", whole.FinishReason, err)
	}
	_, isRefused := errors.AsType[*refused](err)
	_, isUnreadable := errors.AsType[*unreadableError](err)
	if err != nil && !isRefused && !isUnreadable && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an error of no kind: %v", err)
	}
	u := whole.Usage
	if min(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens) < 0 || u.ReasoningTokens > u.OutputTokens {
		t.Errorf("usage %+v", u)
	}
	for _, p := range whole.Parts {
		if p.Type == models.PartToolCall && p.ToolCallID == "" {
			t.Errorf("a call without an id: %+v", p)
		}
		if whole.FinishReason == llm.FinishToolCalls && p.Type == models.PartToolCall && len(p.Arguments) == 0 {
			t.Errorf("a call without arguments: %+v", p)
		}
	}
}
