package simulated_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/simulated"
	"github.com/ostler-dev/ostler/internal/models"
)

// recorder runs a driver without real time and keeps what happened.
type recorder struct {
	waits  []time.Duration
	deltas []llm.Delta
	// onWait, when set, is called before each wait.
	onWait func(n int)
}

func (r *recorder) driver() *simulated.Driver {
	return simulated.New(simulated.Options{Sleep: func(ctx context.Context, d time.Duration) error {
		r.waits = append(r.waits, d)
		if r.onWait != nil {
			r.onWait(len(r.waits))
		}
		return ctx.Err()
	}})
}

func (r *recorder) stream(ctx context.Context, req llm.Request) (llm.Response, error) {
	return r.driver().Stream(ctx, req, func(d llm.Delta) { r.deltas = append(r.deltas, d) })
}

func (r *recorder) text() string {
	var b strings.Builder
	for _, d := range r.deltas {
		b.WriteString(d.Text)
	}
	return b.String()
}

func text(role models.MessageRole, s string) llm.Message {
	return llm.Message{Role: role, Parts: []models.Part{{Type: models.PartText, Text: s}}}
}

func user(s string) llm.Message  { return text(models.MessageUser, s) }
func agent(s string) llm.Message { return text(models.MessageAgent, s) }

func tools(names ...string) []llm.Tool {
	list := make([]llm.Tool, 0, len(names))
	for _, n := range names {
		list = append(list, llm.Tool{Name: n, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return list
}

func allTools() []llm.Tool {
	return tools("get_current_time", "echo", "report_progress", "write_todos", "read_file", "read_many_files", "write_file",
		"edit_file", "list_directory", "grep_files", "delete_file", "stat_file")
}

func textParts(res llm.Response) string {
	var b strings.Builder
	for _, p := range res.Parts {
		if p.Type == models.PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func calls(res llm.Response) []string {
	var list []string
	for _, p := range res.Parts {
		if p.Type == models.PartToolCall {
			list = append(list, p.ToolName+string(p.Arguments))
		}
	}
	return list
}

// fakeTools answers calls as the real tools would, on files in memory.
type fakeTools map[string]string

func (f fakeTools) run(p models.Part) models.Part {
	res := models.Part{Type: models.PartToolResult, ToolCallID: p.ToolCallID, ToolName: p.ToolName}
	var args struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Text    string `json:"text"`
	}
	if err := json.Unmarshal(p.Arguments, &args); err != nil {
		res.Error = "the arguments are not valid JSON"
		return res
	}
	var v any = map[string]any{}
	switch p.ToolName {
	case "get_current_time":
		v = map[string]any{"time": "2026-03-01T12:00:00Z"}
	case "echo":
		v = map[string]any{"echoed": args.Text, "length": len(args.Text)}
	case "write_file":
		f[args.Path] = args.Content
	case "read_file":
		content, ok := f[args.Path]
		if !ok {
			res.Error = fmt.Sprintf("there is no file %s", args.Path)
			return res
		}
		v = map[string]any{"path": args.Path, "content": content}
	case "list_directory":
		entries := []any{}
		for path := range f {
			entries = append(entries, map[string]any{"path": path})
		}
		v = map[string]any{"entries": entries}
	case "delete_file":
		delete(f, args.Path)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	res.Success, res.Result = true, b
	return res
}

// turn runs a turn to its end: it calls the model and the tools by turns. steer, when set, gives messages that arrive
// after the n-th step.
func turn(t *testing.T, f fakeTools, req *llm.Request, steer func(step int) []llm.Message) (steps [][]string, answer string) {
	t.Helper()
	for step := range 20 {
		var r recorder
		res, err := r.stream(context.Background(), *req)
		noError(t, err)
		req.Messages = append(req.Messages, llm.Message{Role: models.MessageAgent, Parts: res.Parts})
		if res.FinishReason != llm.FinishToolCalls {
			return steps, textParts(res)
		}
		steps = append(steps, calls(res))
		for _, p := range slices.Clone(res.Parts) {
			if p.Type == models.PartToolCall {
				req.Messages = append(req.Messages, llm.Message{Role: models.MessageTool, Parts: []models.Part{f.run(p)}})
			}
		}
		if steer != nil {
			req.Messages = append(req.Messages, steer(step)...)
		}
	}
	t.Fatal("the turn doesn't end")
	return nil, ""
}

func asError(tb tester, err error) *llm.Error {
	tb.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		tb.Fatalf("%v is not an *llm.Error", err)
	}
	return e
}

// tester is testing.TB as far as rapid has it too.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func noError(tb tester, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("unexpected error: %v", err)
	}
}

func equal[T any](tb tester, want, got T) {
	tb.Helper()
	if !reflect.DeepEqual(want, got) {
		tb.Errorf("want %#v\n got %#v", want, got)
	}
}

func contains(tb tester, s, part string) {
	tb.Helper()
	if !strings.Contains(s, part) {
		tb.Errorf("%q does not contain %q", s, part)
	}
}
