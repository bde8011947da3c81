package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/tools"
)

const editSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "maxLength": 5},
		"mode": {"enum": ["fast", "slow"]},
		"count": {"type": "integer", "minimum": 1, "maximum": 3},
		"edits": {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": true, "items": {
			"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"], "additionalProperties": false
		}},
		"hash": {"type": "string", "pattern": "^[0-9]+$"},
		"one": {"oneOf": [{"type": "string"}, {"type": "integer"}]}
	},
	"required": ["path"],
	"additionalProperties": false
}`

// world is a registry with its toolset.
type world struct {
	registry *tools.Registry
	set      tools.Toolset
}

func newWorld(t *testing.T, with ...tools.Tool) world {
	t.Helper()
	r, err := tools.NewRegistry(capability("c", with...))
	if err != nil {
		t.Fatal(err)
	}
	set, err := r.Resolve(refs("c"))
	if err != nil {
		t.Fatal(err)
	}
	return world{r, set}
}

func (w world) prepare(t *testing.T, name, arguments string) (tools.Frozen, *tools.Result) {
	t.Helper()
	return tools.Prepare(t.Context(), w.set, &tools.Call{}, name, json.RawMessage(arguments))
}

func TestPrepareFreezes(t *testing.T) {
	e := tool("c.edit", "edit", editSchema)
	e.manifest.Hints = tools.Hints{Destructive: true, ConcurrencyClass: "files"}
	w := newWorld(t, e, tool("c.ping", "ping", anyObject))
	f, ended := w.prepare(t, "edit", ` { "path" : "a", "count": 2.0, "mode":"fast" } `)
	if ended != nil {
		t.Fatalf("it ended: %+v", ended)
	}
	want := tools.Frozen{
		ToolID: "c.edit", Name: "edit", DisplayName: "Display edit",
		Arguments: json.RawMessage(`{"count":2,"mode":"fast","path":"a"}`), Hints: e.manifest.Hints,
	}
	if fmt.Sprintf("%+v", f) != fmt.Sprintf("%+v", want) {
		t.Errorf("frozen is %+v, want %+v", f, want)
	}
	for _, nothing := range []string{"", "  \n", "{}"} {
		f, ended := w.prepare(t, "ping", nothing)
		if ended != nil || string(f.Arguments) != `{}` {
			t.Errorf("arguments %q became %s, %+v", nothing, f.Arguments, ended)
		}
	}
}

func TestPrepareRefusesArguments(t *testing.T) {
	w := newWorld(t, tool("c.edit", "edit", editSchema))
	cases := []struct {
		arguments string
		want      []string
	}{
		{`{`, []string{"not a JSON object", "ends too early"}},
		{`{"path":"a"`, []string{"not a JSON object"}},
		{`{"path":"a"} trailing`, []string{"not a JSON object"}},
		{`not json`, []string{"not a JSON object"}},
		{`null`, []string{"must be a JSON object"}},
		{`["a"]`, []string{"must be a JSON object"}},
		{"{\"path\":\"\xff\"}", []string{"UTF-8"}},
		{`{"path":"a\u0000b"}`, []string{"path has a NUL character"}},
		{`{"path":"a","edits":[{"old":"\u0000"}]}`, []string{"edits[0].old has a NUL character"}},
		{`{"path":"a","count":1e999}`, []string{"out of range"}},
		{`{}`, []string{"path is required"}},
		{`{"path":1}`, []string{"path must be of type string, not number"}},
		{`{"path":""}`, []string{"path must have at least 1 characters, it has 0"}},
		{`{"path":"toolong"}`, []string{"path must have at most 5 characters, it has 7"}},
		{`{"path":"a","mode":"x"}`, []string{`mode must be one of "fast", "slow"`}},
		{`{"path":"a","count":0}`, []string{"count must be at least 1"}},
		{`{"path":"a","count":4}`, []string{"count must be at most 3"}},
		{`{"path":"a","count":1.5}`, []string{"count must be of type integer"}},
		{`{"path":"a","edits":[]}`, []string{"edits must have at least 1 items, it has 0"}},
		{`{"path":"a","edits":[{"old":"1"},{"old":"2"},{"old":"3"}]}`, []string{"edits must have at most 2 items, it has 3"}},
		{`{"path":"a","edits":[{"old":"1"},{"old":"1"}]}`, []string{"edits must not repeat items", "0 and 1"}},
		{`{"path":"a","edits":[{"old":"1"},{"new":"2"}]}`, []string{"edits[1].old is required", "edits[1].new is not known"}},
		{`{"path":"a","hash":"xyz"}`, []string{"hash must match the pattern ^[0-9]+$"}},
		{`{"path":"a","one":true}`, []string{"one must have one of the forms"}},
		{`{"zzz":1,"mode":"x"}`, []string{"path is required", "zzz is not known", "mode must be one of"}},
		{`{"path":"` + strings.Repeat("x", tools.MaxArgumentsBytes) + `"}`, []string{"at most 1048576", "several calls"}},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%.40s", c.arguments), func(t *testing.T) {
			f, ended := w.prepare(t, "edit", c.arguments)
			if ended == nil {
				t.Fatalf("it is taken: %+v", f)
			}
			if f.ToolID != "c.edit" || !json.Valid(f.Arguments) {
				t.Errorf("frozen is %+v, want it to name the tool", f)
			}
			for _, part := range append(c.want, "invalid_arguments: ", "edit") {
				if !strings.Contains(ended.ToolError, part) {
					t.Errorf("the error %q doesn't say %q", ended.ToolError, part)
				}
			}
			if len(ended.ToolError) > 2000 || ended.Internal != nil {
				t.Errorf("the error is %d bytes long, internal %v", len(ended.ToolError), ended.Internal)
			}
		})
	}
}

func TestPrepareRefusesTools(t *testing.T) {
	w := newWorld(t, tool("c.one", "one", anyObject), tool("c.two", "two", anyObject))
	for _, name := range []string{"three", "", "c.one", "ONE", strings.Repeat("x", 100_000), "bad\xff\x00\nname"} {
		f, ended := w.prepare(t, name, `{}`)
		if ended == nil || !strings.HasPrefix(ended.ToolError, "unknown_tool: ") || !strings.Contains(ended.ToolError, "one, two") {
			t.Errorf("%.20q gives %+v", name, ended)
			continue
		}
		if len(ended.ToolError) > 400 || !utf8.ValidString(ended.ToolError) || f.ToolID != "" || len(f.Name) > 70 {
			t.Errorf("%.20q gives %q", name, ended.ToolError)
		}
	}
	_, ended := tools.Prepare(t.Context(), tools.Toolset{}, &tools.Call{}, "one", nil)
	if ended == nil || !strings.Contains(ended.ToolError, "No tools are available") {
		t.Errorf("without tools: %+v", ended)
	}
}

type args struct {
	Path string `json:"path"`
}

// prepared makes a tool with a Prepare function.
func prepared(prepare func(*args) *tools.Result) tools.Tool {
	return tools.Define(tools.Spec[args]{
		Manifest: tools.Manifest{
			ID: "c.p", Name: "p", DisplayName: "P", Description: "P",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","minLength":1}},"required":["path"]}`),
		},
		Prepare: func(_ context.Context, _ *tools.Call, a *args) *tools.Result { return prepare(a) },
		Execute: func(_ context.Context, _ *tools.Call, a args) tools.Result { return tools.Success(a) },
	})
}

func TestPreparer(t *testing.T) {
	run := func(prepare func(*args) *tools.Result) (tools.Frozen, *tools.Result) {
		return newWorld(t, prepared(prepare)).prepare(t, "p", `{"path":"x"}`)
	}
	if f, ended := run(func(a *args) *tools.Result { a.Path = "<y>"; return nil }); ended != nil || string(f.Arguments) != `{"path":"<y>"}` {
		t.Errorf("it prepared %s, %+v", f.Arguments, ended)
	}
	refusal := tools.Fail("no")
	if _, ended := run(func(*args) *tools.Result { return &refusal }); ended == nil || ended.ToolError != "no" {
		t.Errorf("a refusal gives %+v", ended)
	}
	answer := tools.Success(1)
	if _, ended := run(func(*args) *tools.Result { return &answer }); ended == nil || string(ended.JSON) != "1" {
		t.Errorf("an answer gives %+v", ended)
	}
	for name, prepare := range map[string]func(*args) *tools.Result{
		"panic":             func(*args) *tools.Result { panic("secret") },
		"internal error":    func(*args) *tools.Result { return &tools.Result{Internal: errors.New("secret")} },
		"invalid arguments": func(a *args) *tools.Result { a.Path = ""; return nil },
	} {
		_, ended := run(prepare)
		if ended == nil || ended.Internal == nil || !strings.HasPrefix(ended.ToolError, "internal_error") || strings.Contains(ended.ToolError, "secret") {
			t.Errorf("%s gives %+v", name, ended)
		}
	}
}

// run executes a tool that does what the test says.
func run(ctx context.Context, t *testing.T, execute func(ctx context.Context) tools.Result) tools.Result {
	t.Helper()
	f := tool("c.x", "x", anyObject)
	f.execute = func(ctx context.Context, _ *tools.Call, _ json.RawMessage) tools.Result { return execute(ctx) }
	w := newWorld(t, f)
	frozen, ended := w.prepare(t, "x", `{}`)
	if ended != nil {
		t.Fatal(ended)
	}
	return tools.Run(ctx, w.registry, &tools.Call{}, frozen)
}

func gives(r tools.Result) func(context.Context) tools.Result {
	return func(context.Context) tools.Result { return r }
}

func TestRun(t *testing.T) {
	ctx := t.Context()
	if r := run(ctx, t, gives(tools.Success(map[string]any{"html": "<a&b>"}))); string(r.JSON) != `{"html":"<a&b>"}` || r.Failed() {
		t.Errorf("success is %+v", r)
	}
	if r := run(ctx, t, gives(tools.Result{})); string(r.JSON) != `{}` || r.Failed() {
		t.Errorf("nothing is %+v", r)
	}
	if r := run(ctx, t, gives(tools.Fail("no\x00\xff"))); r.ToolError != "no\uFFFD\uFFFD" || r.JSON != nil {
		t.Errorf("a failure is %+v", r)
	}
	if r := run(ctx, t, gives(tools.Fail(strings.Repeat("é", 100_000)))); len(r.ToolError) > tools.MaxResultBytes || !utf8.ValidString(r.ToolError) {
		t.Errorf("a long failure has %d bytes", len(r.ToolError))
	}
	nul := tools.Result{JSON: json.RawMessage("{\"a\":\"x\\u0000\\\\u0000\\\\\\u0000\xff\"}")}
	if r := run(ctx, t, gives(nul)); string(r.JSON) != "{\"a\":\"x\\ufffd\\\\u0000\\\\\\ufffd\uFFFD\"}" {
		t.Errorf("NUL and bad UTF-8 are %s", r.JSON)
	}
	internal := map[string]func(context.Context) tools.Result{
		"internal error": gives(tools.Result{Internal: errors.New("secret")}),
		"both":           gives(tools.Result{Internal: errors.New("secret"), ToolError: "secret", JSON: json.RawMessage(`"secret"`)}),
		"panic":          func(context.Context) tools.Result { panic("secret") },
		"nil pointer":    func(context.Context) tools.Result { var none *tools.Result; return *none }, //nolint:govet // the panic is the point
		"broken JSON":    gives(tools.Result{JSON: json.RawMessage(`{"secret`)}),
		"not encodable":  gives(tools.Success(func() {})),
	}
	for name, execute := range internal {
		r := run(ctx, t, execute)
		if r.Internal == nil || r.JSON != nil || !strings.HasPrefix(r.ToolError, "internal_error: ") || strings.Contains(r.ToolError, "secret") {
			t.Errorf("%s is %+v", name, r)
		}
	}
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := run(ctx, t, func(ctx context.Context) tools.Result {
		cancel()
		<-ctx.Done()
		return tools.Result{Internal: fmt.Errorf("read: %w", ctx.Err())}
	})
	if !strings.HasPrefix(r.ToolError, "cancelled: ") || !errors.Is(r.Internal, context.Canceled) {
		t.Errorf("it is %+v", r)
	}
	// A timeout of the tool's own is not the call's.
	r = run(t.Context(), t, gives(tools.Result{Internal: context.DeadlineExceeded}))
	if !strings.HasPrefix(r.ToolError, "internal_error: ") {
		t.Errorf("a timeout inside is %+v", r)
	}
}

func TestRunWithoutTheTool(t *testing.T) {
	w := newWorld(t, tool("c.x", "x", anyObject))
	r := tools.Run(t.Context(), w.registry, &tools.Call{}, tools.Frozen{ToolID: "c.gone", Name: "x", Arguments: json.RawMessage(`{}`)})
	if !strings.HasPrefix(r.ToolError, `Unknown tool id "c.gone"`) {
		t.Errorf("it is %+v", r)
	}
	// A renamed tool still runs, even with arguments that its schema wouldn't take today.
	strict := newWorld(t, tool("c.x", "renamed", editSchema))
	r = tools.Run(t.Context(), strict.registry, &tools.Call{}, tools.Frozen{ToolID: "c.x", Name: "x", Arguments: json.RawMessage(`{"old":1}`)})
	if string(r.JSON) != `{"old":1}` {
		t.Errorf("a frozen call of a renamed tool is %+v", r)
	}
}

func TestLargeResults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "é", "🗝️", `"`, "\n", "\x01", "\u2028", "<&>"}).Draw(rt, "piece")
		size := rapid.IntRange(tools.MaxResultBytes/2, 2*tools.MaxResultBytes).Draw(rt, "size")
		whole := tools.Success(map[string]string{"text": strings.Repeat(piece, size/len(piece))})
		r := run(context.Background(), t, gives(whole))
		if !json.Valid(r.JSON) || !utf8.Valid(r.JSON) || len(r.JSON) > tools.MaxResultBytes || r.Failed() {
			rt.Fatalf("%d bytes, valid %v", len(r.JSON), json.Valid(r.JSON))
		}
		var cut struct {
			tools.Cut
			Content string `json:"content"`
		}
		if err := json.Unmarshal(r.JSON, &cut); err != nil {
			rt.Fatal(err)
		}
		if len(whole.JSON) <= tools.MaxResultBytes {
			if cut.Truncated || !bytes.Equal(r.JSON, whole.JSON) {
				rt.Fatal("it is cut, although it is small enough")
			}
			return
		}
		if !cut.Truncated || cut.Reason != tools.ReasonSize || cut.ResumeHint == "" || cut.BytesTotal != len(whole.JSON) ||
			cut.BytesReturned != len(cut.Content) || cut.NextOffset != cut.BytesReturned || !strings.HasPrefix(string(whole.JSON), cut.Content) {
			rt.Fatalf("the envelope is %+v", cut.Cut)
		}
		if len(r.JSON) < tools.MaxResultBytes-2048 {
			rt.Fatalf("%d of %d bytes are shown", len(r.JSON), len(whole.JSON))
		}
	})
}

func TestTheLineOfAFailureIsItsMessage(t *testing.T) {
	for failure, want := range map[string]string{
		"not_found: There is no file /a.": "There is no file /a.",
		"denied: No.\nThe reason: later":  "No.",
		"Something: went wrong":           "Something: went wrong",
		"":                                "",
	} {
		if got := tools.FailureLine(failure); got != want {
			t.Errorf("%q is told as %q, want %q", failure, got, want)
		}
	}
}

func TestNarration(t *testing.T) {
	line := ""
	narrated := tools.Define(tools.Spec[args]{
		Manifest: tools.Manifest{ID: "c.n", Name: "n", DisplayName: "N", Description: "N", InputSchema: json.RawMessage(anyObject)},
		Execute:  func(context.Context, *tools.Call, args) tools.Result { return tools.Result{} },
		Narrate: func(a args, done bool, locale string) string {
			if a.Path == "panic" {
				panic("x")
			}
			return fmt.Sprint(line, a.Path, done, locale)
		},
	})
	r := newWorld(t, narrated, tool("c.x", "x", anyObject)).registry
	frozen := func(id, arguments string) tools.Frozen {
		return tools.Frozen{ToolID: id, Arguments: json.RawMessage(arguments)}
	}
	if got := r.Narration(frozen("c.n", `{"path":"a"}`), true, "de"); got != "atruede" {
		t.Errorf("it is %q", got)
	}
	line = "two\nlines\x00 " + strings.Repeat("long ", 100)
	if got := r.Narration(frozen("c.n", `{}`), false, ""); !strings.HasPrefix(got, "two lines long") || len(got) > 210 {
		t.Errorf("it is %q", got)
	}
	for _, f := range []tools.Frozen{frozen("c.n", `{"path":"panic"}`), frozen("c.n", `{"path":1}`), frozen("c.x", `{}`), frozen("gone", `{}`)} {
		if got := r.Narration(f, true, ""); got != "" {
			t.Errorf("%+v: it is %q", f, got)
		}
	}
}

func FuzzPrepare(f *testing.F) {
	r, err := tools.NewRegistry(capability("c", tool("c.edit", "edit", editSchema)))
	if err != nil {
		f.Fatal(err)
	}
	set, err := r.Resolve(refs("c"))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"path":"a"}`, `{"path":"a","count":1e400}`, `[`, `{"path":"\ud800"}`, `{"edits":[{"old":1}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		frozen, ended := tools.Prepare(t.Context(), set, &tools.Call{}, "edit", in)
		if ended != nil {
			if ended.ToolError == "" || ended.Internal != nil || !utf8.ValidString(ended.ToolError) {
				t.Fatalf("%q ends with %+v", in, ended)
			}
			return
		}
		again, ended := tools.Prepare(t.Context(), set, &tools.Call{}, "edit", frozen.Arguments)
		if ended != nil || string(again.Arguments) != string(frozen.Arguments) {
			t.Fatalf("%q is frozen as %q, which is frozen as %q, %+v", in, frozen.Arguments, again.Arguments, ended)
		}
	})
}
