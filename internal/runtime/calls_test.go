package runtime

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
)

// TestBadCalls has calls of every wrong kind beside a good one, which runs all the same.
//
// Rules: J4.
func TestBadCalls(t *testing.T) {
	deep := `{"tag":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`
	bad := []struct {
		name, tool, arguments, want string
		kept                        bool
	}{
		{"unknown tool", "nothing", `{"a":1}`, "unknown_tool: ", true},
		{"unknown tool with a bad name", "no\x00\xffthing\n" + strings.Repeat("x", 200), `{}`, "unknown_tool: ", true},
		{"no tool at all", "", ``, "unknown_tool: ", false},
		{"wrong type", "once", `{"tag":1}`, "invalid_arguments: The arguments of once are not valid: tag must be", true},
		{"missing field", "once", `{}`, "invalid_arguments: The arguments of once are not valid: tag is required", true},
		{"not JSON", "once", `{"tag":`, "invalid_arguments: ", false},
		{"not an object", "once", `["a"]`, "invalid_arguments: ", false},
		{"a NUL", "once", `{"tag":"a\u0000b"}`, "invalid_arguments: ", true},
		{"a raw NUL", "once", "{\"tag\":\"a\x00b\"}", "invalid_arguments: ", false},
		{"invalid UTF-8", "once", "{\"tag\":\"\xff\"}", "invalid_arguments: ", false},
		{"too deep", "once", deep, "invalid_arguments: ", false},
		{"too large", "once", `{"tag":"` + strings.Repeat("x", tools.MaxArgumentsBytes) + `"}`, "invalid_arguments: ", false},
	}
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		parts := []models.Part{callPart("a", "once", `{"tag":"good"}`)}
		for _, b := range bad {
			// Providers reuse ids.
			parts = append(parts, callPart("a", b.tool, b.arguments))
		}
		n.puppet.on(answers(answer(llm.FinishToolCalls, parts...)))
		n.send(s, "go")
		log := w.idle(s)
		the[events.TurnCompleted](t, log)
		if w.probe.ran("good") != 1 {
			t.Error("the good call did not run")
		}
		shown := resultsShown(n)
		if len(shown) != len(bad)+1 || !shown[0].Success {
			t.Fatalf("the model was shown %+v", shown)
		}
		message := payloads[events.OutputCompleted](t, log)[0].Message
		for i, b := range bad {
			if r := shown[i+1]; r.Success || !strings.HasPrefix(r.Error, b.want) {
				t.Errorf("%s: the model was told %.200q, want %q", b.name, r.Error, b.want)
			}
			kept := string(message.Content[i+1].Arguments)
			if !json.Valid([]byte(kept)) || !strings.HasPrefix(kept, "{") || (kept == "{}") == b.kept && b.arguments != "{}" {
				t.Errorf("%s: the conversation keeps the arguments %.100q", b.name, kept)
			}
		}
		for _, started := range payloads[events.ToolStarted](t, log) {
			if len(started.Arguments) == 0 || string(started.Arguments) == "null" || len(started.ToolName) > 80 {
				t.Errorf("started is %+v", started)
			}
		}
	})
}

// Rules: P2.
func TestTooManyCalls(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		var parts []models.Part
		for range maxCalls + 6 {
			parts = append(parts, callPart("", "look", `{"tag":"many"}`))
		}
		n.puppet.on(answers(answer(llm.FinishToolCalls, parts...)))
		n.send(s, "go")
		w.idle(s)
		if got := w.probe.ran("many"); got != maxCalls {
			t.Errorf("%d calls ran", got)
		}
		refused := 0
		for _, r := range resultsShown(n) {
			if strings.HasPrefix(r.Error, "too_many_calls: At most 64 ") {
				refused++
			}
		}
		if refused != 6 {
			t.Errorf("%d calls were refused", refused)
		}
	})
}

// TestDirtyText has model and tools say what databases refuse.
func TestDirtyText(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		w.probe.on("json", func(context.Context, *tools.Call) tools.Result {
			return tools.Result{JSON: json.RawMessage("{\"a\":\"x\\u0000y\xff\",\"b\":\"\\\\u0000\"}")}
		})
		w.probe.on("error", func(context.Context, *tools.Call) tools.Result { return tools.Fail("a\x00b\xff") })
		w.probe.on("broken", func(context.Context, *tools.Call) tools.Result { return tools.Result{JSON: json.RawMessage(`{"a":`)} })
		n.puppet.on(answers(answer(llm.FinishToolCalls,
			models.Part{Type: models.PartThinking, Text: "t\x00\xff", Metadata: models.JSON("\xff")}, textPart("m\x00\xffm"),
			callPart("", "look", `{"tag":"json"}`), callPart("", "look", `{"tag":"error"}`), callPart("", "look", `{"tag":"broken"}`))))
		n.send(s, "go")
		log := w.idle(s)
		the[events.TurnCompleted](t, log)
		content := payloads[events.OutputCompleted](t, log)[0].Message.Content
		if content[0].Text != "t\uFFFD\uFFFD" || content[1].Text != "m\uFFFD\uFFFDm" || content[0].Metadata != nil {
			t.Errorf("kept is %+v", content[:2])
		}
		shown := resultsShown(n)
		var got struct {
			A string `json:"a"`
			B string `json:"b"`
		}
		if err := json.Unmarshal(shown[0].Result, &got); err != nil || got.A != "x\uFFFDy\uFFFD" || got.B != `\u0000` {
			t.Errorf("the result is %s, %v", shown[0].Result, err)
		}
		if shown[1].Error != "a\uFFFDb\uFFFD" || !strings.HasPrefix(shown[2].Error, "internal_error: ") {
			t.Errorf("the errors are %q and %q", shown[1].Error, shown[2].Error)
		}
	})
}

// TestWritesOfTools has somebody else change a file between a tool's look and its commit.
//
// Rules: P16, Q6.
func TestWritesOfTools(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		write := func(content string) {
			_, _, err := n.sessions.WriteFile(t.Context(), w.by, sessions.NewFile{
				SessionID: s, Path: "/workspace/f", Content: content, Encoding: "text",
			})
			if err != nil {
				t.Error(err)
			}
		}
		write("one")
		edit := func(interfere bool) func(ctx context.Context, call *tools.Call) tools.Result {
			return func(ctx context.Context, call *tools.Call) tools.Result {
				f, _, err := call.Files.Read(ctx, "/workspace/f")
				if err == nil {
					_, err = call.Files.Write(ctx, "/workspace/f", []byte("mine"), &f.Hash)
				}
				if err == nil {
					_, err = call.Files.Write(ctx, "/workspace/other", []byte("mine too"), nil)
				}
				if err != nil {
					return tools.Result{Internal: err}
				}
				if interfere {
					write("theirs")
				}
				return tools.Success("edited")
			}
		}
		w.probe.on("lost", edit(true))
		w.probe.on("won", edit(false))
		n.send(s, script(t, says(callTool("ordered", "lost")), says(callTool("ordered", "won")), says(text("done"))))
		log := w.idle(s)
		done := payloads[events.ToolCompleted](t, log)
		if done[0].Success || !strings.HasPrefix(done[0].Error, "conflict: ") || !done[1].Success {
			t.Errorf("they ended as %+v", done)
		}
		_, content, err := n.sessions.File(t.Context(), w.org, s, "/workspace/f")
		if err != nil || string(content) != "mine" {
			t.Errorf("the file has %q, %v", content, err)
		}
		// Of the call that failed nothing was written.
		var written []string
		for _, e := range payloads[events.FileWritten](t, log) {
			written = append(written, e.Path)
		}
		if want := []string{"/workspace/f", "/workspace/f", "/workspace/f", "/workspace/other"}; !slices.Equal(written, want) {
			t.Errorf("written was %v", written)
		}
	})
}

// TestBuiltInTools goes through the tools that everybody has.
func TestBuiltInTools(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		sub, err := n.hub.Subscribe(t.Context(), w.org, s, events.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		n.send(s, script(t, says(
			callWith("report_progress", part{"message": "half way"}),
			callWith("write_todos", part{"todos": []part{{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}}}),
			callWith("write_file", part{"path": "notes.txt", "content": "hello"}),
			callWith("read_file", part{"path": "notes.txt"}),
		), says(text("done"))))
		w.idle(s)
		progress := 0
		for {
			item, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if item.Event.Kind == models.EventToolProgress {
				p, err := item.Payload()
				if err != nil || p.(events.ToolProgress).Message != "half way" || p.(events.ToolProgress).ToolName != "report_progress" {
					t.Errorf("progress is %+v, %v", p, err)
				}
				progress++
			}
			if item.Event.Kind == models.EventSessionIdled {
				break
			}
		}
		if progress != 1 {
			t.Errorf("progress was seen %d times", progress)
		}
		todos, err := n.sessions.Todos(t.Context(), w.org, s)
		if err != nil || len(todos) != 2 || todos[1] != (models.Todo{Content: "b", Status: "IN_PROGRESS"}) {
			t.Errorf("the plan is %+v, %v", todos, err)
		}
		for _, r := range resultsShown(n) {
			if !r.Success {
				t.Errorf("%s failed: %s", r.ToolName, r.Error)
			}
		}
		if last := resultsShown(n)[3]; !strings.Contains(string(last.Result), "hello") {
			t.Errorf("calls of one class see what those before them wrote; read is %s", last.Result)
		}
	})
}
