package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/tools"
)

// engine returns a call whose durable effects are in memory.
func engine(callID string) *tools.Call {
	return &tools.Call{
		CallID: callID,
		Step: func(ctx context.Context, id string, _ any, fn func(context.Context) (any, error)) (json.RawMessage, error) {
			v, err := fn(ctx)
			if err != nil {
				return nil, err
			}
			b, err := json.Marshal(map[string]any{id: v})
			return b, err
		},
		CompletionKey: func(context.Context) (string, error) { return "key of " + callID, nil },
		EventKey:      func(_ context.Context, name string) (string, error) { return "event " + name, nil },
		Await: func(_ context.Context, key string) (json.RawMessage, error) {
			return json.RawMessage(`"` + key + `"`), nil
		},
	}
}

func code(err error) string {
	if e, ok := errors.AsType[*tools.EffectError](err); ok && strings.HasPrefix(e.Error(), e.Code+": ") {
		return e.Code
	}
	return ""
}

// Durable steps: "an empty or repeated id is refused before fn runs"; "blank counts as missing".
//
// Rules: J9.
func TestDurableEffectsAreRefusedBeforeTheyRun(t *testing.T) {
	never := func(context.Context) (any, error) { t.Error("the step ran"); return nil, nil }
	step := func(c *tools.Call, id string) error {
		_, err := c.DurableStep(t.Context(), id, nil, never)
		return err
	}
	event := func(c *tools.Call, name string) error { _, err := c.DurableEventKey(t.Context(), name); return err }
	await := func(c *tools.Call, key string) error { _, err := c.DurableAwait(t.Context(), key); return err }
	completion := func(c *tools.Call, _ string) error { _, err := c.DurableCompletionKey(t.Context()); return err }
	for _, c := range []struct {
		name string
		ask  func(*tools.Call, string) error
		call *tools.Call
		arg  string
		want string
	}{
		{"step, no call id", step, engine(""), "a", tools.CodeMissingCallID},
		{"step, blank call id", step, engine(" \t"), "a", tools.CodeMissingCallID},
		{"step, nothing there", step, &tools.Call{CallID: "c"}, "a", tools.CodeUnavailable},
		{"step, missing id comes first", step, &tools.Call{}, "", tools.CodeMissingCallID},
		{"step, unavailable before empty", step, &tools.Call{CallID: "c"}, "", tools.CodeUnavailable},
		{"step, empty", step, engine("c"), "", tools.CodeEmptyStepID},
		{"step, blank", step, engine("c"), " ", tools.CodeEmptyStepID},
		{"event, no call id", event, engine(""), "a", tools.CodeMissingCallID},
		{"event, nothing there", event, &tools.Call{CallID: "c"}, "a", tools.CodeUnavailable},
		{"event, empty", event, engine("c"), " ", tools.CodeEmptyEventKey},
		{"await, no call id", await, engine(""), "k", tools.CodeMissingCallID},
		{"await, nothing there", await, &tools.Call{CallID: "c"}, "k", tools.CodeUnavailable},
		{"await, empty", await, engine("c"), "", tools.CodeEmptyEventKey},
		{"completion, no call id", completion, engine(" "), "", tools.CodeCompletionMissingCallID},
		{"completion, nothing there", completion, &tools.Call{CallID: "c"}, "", tools.CodeUnavailable},
	} {
		if got := code(c.ask(c.call, c.arg)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Rules: J9.
func TestAStepIDIsUsedOnceInAnAttempt(t *testing.T) {
	call := engine("c")
	ran := 0
	boom := errors.New("boom")
	step := func(id string, fail error) (json.RawMessage, error) {
		return call.DurableStep(t.Context(), id, nil, func(context.Context) (any, error) { ran++; return ran, fail })
	}
	if v, err := step("a", nil); err != nil || string(v) != `{"a":1}` {
		t.Fatalf("got %s, %v", v, err)
	}
	if _, err := step("b", boom); !errors.Is(err, boom) || code(err) != "" {
		t.Errorf("the step's own error became %v", err)
	}
	// Also the one that failed is taken: a later attempt runs it again, this one doesn't.
	for _, id := range []string{"a", "b"} {
		if _, err := step(id, nil); code(err) != tools.CodeDuplicateStepID {
			t.Errorf("%s again: got %v", id, err)
		}
	}
	if ran != 2 {
		t.Errorf("%d steps ran, want 2", ran)
	}
	// The next attempt has another Call, and so another set of ids.
	call = engine("c")
	if _, err := step("a", nil); err != nil {
		t.Errorf("a later attempt: %v", err)
	}
}

// Rules: J9.
func TestOfStepsWithOneIDAtOnceOneRuns(t *testing.T) {
	call := engine("c")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = call.DurableStep(t.Context(), "same", nil, func(context.Context) (any, error) { return nil, nil })
		})
	}
	wg.Wait()
	ran := 0
	for _, err := range errs {
		if err == nil {
			ran++
		} else if code(err) != tools.CodeDuplicateStepID {
			t.Errorf("got %v", err)
		}
	}
	if ran != 1 {
		t.Errorf("%d ran, want 1", ran)
	}
}

// Completion key: "asking for the key twice gives the same one".
func TestTheCompletionKeyIsAskedForOnce(t *testing.T) {
	call := engine("c")
	asked := 0
	give := call.CompletionKey
	call.CompletionKey = func(ctx context.Context) (string, error) {
		if asked++; asked == 1 {
			return "", errors.New("no database")
		}
		return give(ctx)
	}
	if _, err := call.DurableCompletionKey(t.Context()); code(err) != tools.CodeCompletionKeyFailed {
		t.Errorf("got %v", err)
	}
	for range 3 {
		if key, err := call.DurableCompletionKey(t.Context()); key != "key of c" || err != nil {
			t.Errorf("got %q, %v", key, err)
		}
	}
	if asked != 2 {
		t.Errorf("the engine was asked %d times, want 2: once in vain", asked)
	}
	call.CompletionKey = func(context.Context) (string, error) { return "", nil }
	if key, err := call.DurableCompletionKey(t.Context()); key != "key of c" || err != nil {
		t.Errorf("got %q, %v", key, err)
	}
	empty := engine("c")
	empty.CompletionKey = func(context.Context) (string, error) { return "", nil }
	if _, err := empty.DurableCompletionKey(t.Context()); code(err) != tools.CodeCompletionKeyFailed {
		t.Errorf("an empty key: %v", err)
	}
}

// Completion key: "pending without a key is pending_tool_missing_completion_key".
func TestAPendingResultNeedsItsKey(t *testing.T) {
	deadline := time.Unix(1_800_000_000, 0)
	run := func(ask bool, p tools.Pending, change func(*tools.Result)) tools.Result {
		x := tool("c.wait", "wait", anyObject)
		x.execute = func(ctx context.Context, call *tools.Call, _ json.RawMessage) tools.Result {
			if ask {
				if _, err := call.DurableCompletionKey(ctx); err != nil {
					return tools.Result{Internal: err}
				}
			}
			r := tools.Result{Pending: &p}
			if change != nil {
				change(&r)
			}
			return r
		}
		r := registry(t, capability("c", x))
		return tools.Run(t.Context(), r, engine("c1"), tools.Frozen{ToolID: "c.wait", Name: "wait", Arguments: json.RawMessage(`{}`)})
	}
	got := run(true, tools.Pending{Deadline: deadline}, nil)
	if got.Failed() || got.Pending == nil || !got.Pending.Deadline.Equal(deadline) || got.Pending.OnTimeout != tools.OnTimeoutError {
		t.Errorf("with its key: %+v", got)
	}
	if got = run(true, tools.Pending{OnTimeout: tools.OnTimeoutFailTurn}, nil); got.Pending == nil || got.Pending.OnTimeout != tools.OnTimeoutFailTurn {
		t.Errorf("failing the turn: %+v", got)
	}
	if got = run(false, tools.Pending{}, nil); got.Pending != nil || code(got.Internal) != tools.CodePendingWithoutKey || !strings.HasPrefix(got.ToolError, tools.CodePendingWithoutKey) {
		t.Errorf("without its key: %+v", got)
	}
	if got = run(true, tools.Pending{OnTimeout: "explode"}, nil); got.Pending != nil || got.Internal == nil || got.ToolError == "" {
		t.Errorf("an unknown policy: %+v", got)
	}
	if got = run(true, tools.Pending{}, func(r *tools.Result) { r.ToolError = "no" }); got.Pending != nil || got.ToolError != "no" {
		t.Errorf("a failure isn't pending: %+v", got)
	}
}

func TestResultsKeepWhatTheEngineNeeds(t *testing.T) {
	for name, r := range map[string]tools.Result{
		"tool error": {ToolError: "busy", Retryable: true},
		"internal":   {Internal: errors.New("no connection"), Retryable: true},
		"connection": {ToolError: "connection_required: Connect github first.", ConnectionRequired: "github"},
	} {
		x := tool("c.x", "x", anyObject)
		x.execute = func(context.Context, *tools.Call, json.RawMessage) tools.Result { return r }
		got := tools.Run(t.Context(), registry(t, capability("c", x)), &tools.Call{}, tools.Frozen{ToolID: "c.x", Arguments: json.RawMessage(`{}`)})
		if !got.Failed() || got.ToolError == "" || got.Retryable != r.Retryable || got.ConnectionRequired != r.ConnectionRequired {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
