package openai

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
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
		resp := &http.Response{Body: io.NopCloser(bytes.NewReader(body))}
		fail := wire.Failures{Read: readRefusal, Now: time.Now}
		chat := chatStream{answer: newAnswer(nil, emit, fail)}
		whole, err := chat.read(events(resp, emit))
		if err != nil {
			whole = chat.partial()
		}
		check(t, whole, err)
		got := ""
		for _, p := range whole.Parts {
			got += p.Text
		}
		if got != said {
			t.Errorf("%q is returned, %q was passed on", got, said)
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		r := responsesStream{answer: newAnswer(nil, emit, fail)}
		whole, err = r.read(events(resp, emit))
		if err != nil {
			whole = r.partial()
		}
		check(t, whole, err)
	})
}

func check(t *testing.T, whole llm.Response, err error) {
	t.Helper()
	if (err == nil) != (whole.FinishReason != "") {
		t.Errorf("finish %q with error %v", whole.FinishReason, err)
	}
	_, isRefused := errors.AsType[*llm.Error](err)
	_, isUnreadable := errors.AsType[*wire.Unreadable](err)
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
