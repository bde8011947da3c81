package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Hooks: which decisions an event takes. What it doesn't take is a failed hook, and follows onError.
//
// Rules: H1, H11.
func TestDecisionsOfEvents(t *testing.T) {
	r := runner(t, nil)
	answers := map[string]string{
		"allow":  `{"decision": "allow"}`,
		"mutate": "",
		"block":  `{"decision": "block", "reason": "no", "userMessage": "Not today."}`,
	}
	patches := map[tools.HookEvent]string{
		tools.HookUserPromptSubmit: `{"message": "Hello!"}`,
		tools.HookPreToolUse:       `{"arguments": {"mode": "y"}}`,
		tools.HookPostToolUse:      `{"result": {"secret": null}}`,
	}
	takes := map[tools.HookEvent]string{
		tools.HookSessionStart:     "allow",
		tools.HookUserPromptSubmit: "allow mutate block",
		tools.HookPreToolUse:       "allow mutate block",
		tools.HookPostToolUse:      "allow mutate",
		tools.HookTurnEnd:          "allow",
	}
	for _, event := range tools.HookEvents() {
		for decision, answer := range answers {
			if decision == "mutate" {
				patch := patches[event]
				if patch == "" {
					patch = `{"message": "x"}`
				}
				answer = `{"decision": "mutate", "patch": ` + patch + `}`
			}
			out := run(t, r, happens(event), cel("c:h", event, answer))
			if len(out.Runs) != 1 {
				t.Fatalf("%s, %s: %d runs", event, decision, len(out.Runs))
			}
			ran := out.Runs[0]
			if strings.Contains(takes[event], decision) {
				if string(out.Decision) != decision || ran.Failure != "" || string(ran.Decision) != decision {
					t.Errorf("%s, %s: got %s, %+v", event, decision, out.Decision, ran)
				}
				continue
			}
			if out.Decision != hooks.Allow || ran.Failure == "" || ran.OnError != tools.OnErrorWarn {
				t.Errorf("%s must not take %s: got %s, %+v", event, decision, out.Decision, ran)
			}
		}
	}
}

// Rules: H1.
func TestMutations(t *testing.T) {
	r := runner(t, nil)
	out := run(t, r, happens(tools.HookUserPromptSubmit), cel("c:h", tools.HookUserPromptSubmit, `{"decision": "mutate", "patch": {"message": message + ", world"}}`))
	if out.Decision != hooks.Mutate || out.Message != "Hello, world" {
		t.Errorf("message: got %+v", out)
	}
	before := happens(tools.HookPreToolUse)
	out = run(t, r, before, cel("c:h", tools.HookPreToolUse, `{"decision": "mutate", "patch": {"arguments": {"mode": null, "deep": {"a": 1, "b": null}}}}`))
	if string(out.Arguments) != `{"deep":{"a":1},"path":"/workspace/a"}` {
		t.Errorf("arguments: got %s", out.Arguments)
	}
	if string(before.Call.Arguments) != `{"path":"/workspace/a","mode":"x"}` {
		t.Errorf("the caller's event changed: %s", before.Call.Arguments)
	}
	post := func(patch string) hooks.Outcome {
		return run(t, r, happens(tools.HookPostToolUse), cel("c:h", tools.HookPostToolUse, `{"decision": "mutate", "patch": `+patch+`}`))
	}
	if out = post(`{"result": {"secret": null}, "additionalContext": "mind the size"}`); string(out.Result) != `{"size":3}` || out.Error != "" || fmt.Sprint(out.Context) != "[mind the size]" {
		t.Errorf("result: got %+v", out)
	}
	if out = post(`{"error": "denied"}`); out.Result != nil || out.Error != "denied" {
		t.Errorf("error: got %+v", out)
	}
	if out = post(`{"result": null, "error": "denied"}`); out.Result != nil || out.Error != "denied" {
		t.Errorf("error instead of a result: got %+v", out)
	}
	if out = post(`{"additionalContext": "x"}`); string(out.Result) != `{"size":3,"secret":"abc"}` || len(out.Context) != 1 {
		t.Errorf("only context: got %+v", out)
	}
	broken := happens(tools.HookPostToolUse)
	broken.Result, broken.Error = nil, "no such file"
	out = run(t, r, broken, cel("c:h", tools.HookPostToolUse, `{"decision": "mutate", "patch": {"result": {"found": error == "no such file" && result == null}}}`))
	if string(out.Result) != `{"found":true}` || out.Error != "" {
		t.Errorf("a result instead of an error: got %+v", out)
	}
}

// Rules: H4.
func TestAnswersThatCanNotBeUsed(t *testing.T) {
	r := runner(t, nil)
	for event, answers := range map[tools.HookEvent][]string{
		tools.HookUserPromptSubmit: {
			`{"decision": "deny"}`, `{}`, `{"reason": "x"}`, `{"decision": "mutate"}`, `{"decision": "mutate", "patch": {}}`, `{"decision": "mutate", "patch": null}`,
			`{"decision": "mutate", "patch": {"message": ""}}`, `{"decision": "mutate", "patch": {"message": null}}`, `{"decision": "mutate", "patch": {"message": 1}}`,
			`{"decision": "mutate", "patch": {"message": "a\u0000"}}`, `{"decision": "mutate", "patch": {"message": "x", "arguments": {}}}`,
			`{"decision": "allow", "patch": {"message": "x"}}`, `{"decision": "block", "patch": {"message": "x"}}`, `{"decision": ["mutate"]}`, `dyn(1)`, `message.other`,
			`{"decision": "mutate", "patch": "x"}`,
		},
		tools.HookPreToolUse: {
			`{"decision": "mutate", "patch": {"arguments": null}}`, `{"decision": "mutate", "patch": {"arguments": [1]}}`, `{"decision": "mutate", "patch": {"tool": "other"}}`,
			`{"decision": "mutate", "patch": {"arguments": {"a": "\u0000"}}}`,
		},
		tools.HookPostToolUse: {
			`{"decision": "mutate", "patch": {"result": null}}`, `{"decision": "mutate", "patch": {"error": null, "result": null}}`, `{"decision": "mutate", "patch": {"error": ""}}`,
			`{"decision": "mutate", "patch": {"error": "x", "result": {"a": 1}}}`, `{"decision": "mutate", "patch": {"error": 1}}`, `{"decision": "mutate", "patch": {"additionalContext": 1}}`,
			`false`,
		},
		tools.HookTurnEnd: {`false`},
	} {
		for _, answer := range answers {
			e := happens(event)
			out := run(t, r, e, cel("c:h", event, answer))
			if out.Decision != hooks.Allow || len(out.Runs) != 1 || out.Runs[0].Failure == "" || out.Runs[0].Err == nil {
				t.Errorf("%s, %s: got %+v", event, answer, out)
				continue
			}
			if out.Message != e.Message || string(out.Result) != string(e.Result) || e.Call != nil && string(out.Arguments) != string(e.Call.Arguments) {
				t.Errorf("%s, %s: it changed something", event, answer)
			}
		}
	}
}

// Hooks: "a failed hook follows its onError: allow|block|warn (default warn)".
//
// Rules: H5.
func TestFailedHooksFollowTheirPolicy(t *testing.T) {
	r := runner(t, nil)
	fails := func(event tools.HookEvent, onError tools.OnError) hooks.Outcome {
		spec := cel("c:h", event, `1 / (message == "" ? 0 : 0) == 1`)
		spec.OnError = onError
		return run(t, r, happens(event), spec)
	}
	for _, event := range []tools.HookEvent{tools.HookUserPromptSubmit, tools.HookPreToolUse} {
		for _, onError := range []tools.OnError{"", tools.OnErrorWarn, tools.OnErrorAllow} {
			if out := fails(event, onError); out.Decision != hooks.Allow || !strings.Contains(out.Runs[0].Failure, "division by zero") {
				t.Errorf("%s, %s: got %+v", event, onError, out)
			}
		}
		out := fails(event, tools.OnErrorBlock)
		if out.Decision != hooks.Block || out.HookID != "c:h" || !strings.Contains(out.Reason, "division by zero") || out.Runs[0].Decision != hooks.Block || out.Shown() != out.Reason {
			t.Errorf("%s, block: got %+v", event, out)
		}
	}
	// The tool has run: its result is withheld.
	out := fails(tools.HookPostToolUse, tools.OnErrorBlock)
	if out.Decision != hooks.Mutate || out.Result != nil || !strings.HasPrefix(out.Error, "result_withheld: ") {
		t.Errorf("post_tool_use, block: got %+v", out)
	}
}

// Hooks: "the first block wins"; earlier mutations survive.
//
// Rules: H7.
func TestTheFirstBlockWins(t *testing.T) {
	event := tools.HookPreToolUse
	out := run(t, runner(t, nil), happens(event),
		cel("a:0", event, `{"decision": "mutate", "patch": {"arguments": {"mode": "y"}}}`),
		cel("a:1", event, `arguments.mode == "y" ? dyn({"decision": "block", "reason": "mode y", "userMessage": "No."}) : dyn(true)`),
		cel("a:2", event, `{"decision": "block", "reason": "later"}`),
	)
	if out.Decision != hooks.Block || out.HookID != "a:1" || out.Reason != "mode y" || out.Shown() != "No." || len(out.Runs) != 2 {
		t.Errorf("got %+v", out)
	}
	if string(out.Arguments) != `{"mode":"y","path":"/workspace/a"}` {
		t.Errorf("the earlier change is lost: %s", out.Arguments)
	}
	if !strings.Contains(out.ToolError(), "a:1") || !strings.Contains(out.ToolError(), "mode y") {
		t.Errorf("the model is told %q", out.ToolError())
	}
}

// Rules: H9.
func TestMatchers(t *testing.T) {
	r := runner(t, nil)
	event := tools.HookPreToolUse
	for _, c := range []struct {
		tools []string
		when  string
		want  string
	}{
		{nil, "", "runs"},
		{[]string{"write_*"}, "", "runs"},
		{[]string{"read_file|write_file"}, "", "runs"},
		{[]string{"read_file", "write_file"}, "", "runs"},
		{[]string{"read_*"}, "", "doesn't"},
		{nil, `arguments.path.startsWith("/workspace/")`, "runs"},
		{nil, `arguments.path.startsWith("/etc/")`, "doesn't"},
		{[]string{"read_*"}, `arguments.other == 1`, "doesn't"},
		{[]string{"*"}, `arguments.other == 1`, "fails"},
		{nil, `arguments.path`, "fails"},
		{nil, `((`, "fails"},
		{[]string{"a b"}, "", "fails"},
	} {
		spec := cel("c:h", event, `true`)
		spec.Matcher = tools.HookMatcher{Tools: c.tools, When: c.when}
		out := run(t, r, happens(event), spec)
		got := "doesn't"
		if len(out.Runs) > 0 {
			got = "runs"
			if out.Runs[0].Failure != "" {
				got = "fails"
			}
		}
		if got != c.want {
			t.Errorf("%q when %q: it %s, want %s: %+v", c.tools, c.when, got, c.want, out.Runs)
		}
	}
	other := cel("c:h", tools.HookPostToolUse, `true`)
	if out := run(t, r, happens(event), other); len(out.Runs) != 0 {
		t.Errorf("a hook of another event ran: %+v", out.Runs)
	}
}

// Rules: H3, H11.
func TestHooksSeeTheEvent(t *testing.T) {
	r := runner(t, nil)
	for event, expression := range map[tools.HookEvent]string{
		tools.HookSessionStart:     `session.id == "` + sessionID.String() + `" && !has(turn.id)`,
		tools.HookUserPromptSubmit: `message == "Hello" && turn.id == "` + turnID.String() + `" && agent.id == "` + agentID.String() + `"`,
		tools.HookPreToolUse:       `tool == "write_file" && arguments.mode == "x" && result == null`,
		tools.HookPostToolUse:      `result.size == 3 && error == ""`,
		tools.HookTurnEnd:          `turn.success && turn.stopReason == "END_TURN"`,
	} {
		out := run(t, r, happens(event), cel("c:h", event, expression))
		if out.Decision != hooks.Allow || out.Runs[0].Failure != "" {
			t.Errorf("%s: %+v", event, out.Runs)
		}
	}
}

func TestContextOfAllHooksIsBounded(t *testing.T) {
	e := happens(tools.HookPostToolUse)
	e.Result = json.RawMessage(`{"x":"` + strings.Repeat("x", 30<<10) + `"}`)
	add := `{"decision": "mutate", "patch": {"additionalContext": result.x}}`
	var specs []tools.HookSpec
	for range 3 {
		specs = append(specs, cel("c:h", tools.HookPostToolUse, add))
	}
	out := run(t, runner(t, nil), e, specs...)
	if len(out.Context) != 2 || !strings.Contains(out.Runs[2].Failure, "context") {
		t.Errorf("%d texts were added, %+v", len(out.Context), out.Runs[2])
	}
}

func TestACancelledRunIsNoDecision(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spec := cel("c:h", tools.HookPreToolUse, `true`)
	spec.OnError = tools.OnErrorAllow
	if _, err := runner(t, nil).Run(ctx, happens(tools.HookPreToolUse), []tools.HookSpec{spec}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Whatever hooks there are: they run in order, up to the first block, and each sees what the ones before it did.
//
// Rules: H7.
func TestOrderOfHooks(t *testing.T) {
	r := runner(t, nil)
	event := tools.HookPreToolUse
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"allow", "mutate", "block", "fail", "other"}), 0, 6).Draw(t, "hooks")
		var specs []tools.HookSpec
		want, steps, blocked := []string{}, 0, ""
		for i, kind := range kinds {
			id := fmt.Sprintf("c:%d", i)
			spec := cel(id, event, map[string]string{
				"allow": `true`, "block": `false`, "fail": `arguments.none == 1`, "other": `false`,
				"mutate": `{"decision": "mutate", "patch": {"arguments": {"steps": arguments.steps + 1}}}`,
			}[kind])
			if kind == "other" {
				spec.Matcher.When = `false`
			}
			specs = append(specs, spec)
			if blocked != "" || kind == "other" {
				continue
			}
			want = append(want, id)
			switch kind {
			case "mutate":
				steps++
			case "block":
				blocked = id
			}
		}
		e := happens(event)
		e.Call.Arguments = json.RawMessage(`{"steps":0}`)
		out, err := r.Run(context.Background(), e, specs)
		if err != nil {
			t.Fatal(err)
		}
		ran := []string{}
		for _, x := range out.Runs {
			ran = append(ran, x.HookID)
		}
		if fmt.Sprint(ran) != fmt.Sprint(want) || out.HookID != blocked || (out.Decision == hooks.Block) != (blocked != "") {
			t.Fatalf("%v: %v ran and %q blocked, want %v and %q", kinds, ran, out.HookID, want, blocked)
		}
		if got := fmt.Sprintf(`{"steps":%d}`, steps); string(out.Arguments) != got {
			t.Fatalf("%v: the arguments are %s, want %s", kinds, out.Arguments, got)
		}
	})
}
