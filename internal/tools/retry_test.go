package tools_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/tools"
)

// Retries of a tool: "policy never | safe | idempotent"; "without a key an idempotent policy means one attempt".
//
// Rules: J7, J8.
func TestAttemptsOfAPolicy(t *testing.T) {
	for _, c := range []struct {
		retry *tools.Retry
		key   string
		want  int
	}{
		{nil, "k", 1},
		{&tools.Retry{}, "k", 1},
		{&tools.Retry{Policy: tools.RetryNever, Max: 5}, "k", 1},
		{&tools.Retry{Policy: tools.RetrySafe, Max: 3}, "", 3},
		{&tools.Retry{Policy: tools.RetrySafe}, "", 1},
		{&tools.Retry{Policy: tools.RetryIdempotent, Max: 3}, "k", 3},
		{&tools.Retry{Policy: tools.RetryIdempotent, Max: 3}, "", 1},
		{&tools.Retry{Policy: tools.RetrySafe, Max: 1000}, "", 10},
	} {
		if got := c.retry.Attempts(c.key); got != c.want {
			t.Errorf("%+v with key %q: %d attempts, want %d", c.retry, c.key, got, c.want)
		}
	}
}

// Rules: J7.
func TestOnlyFailuresDeclaredSafeAreRetried(t *testing.T) {
	f := tools.Frozen{Hints: tools.Hints{Retry: &tools.Retry{Policy: tools.RetrySafe, Max: 3, BaseMs: 100}}}
	failed := tools.Result{ToolError: "busy", Retryable: true}
	for name, c := range map[string]struct {
		result  tools.Result
		attempt int
		want    bool
	}{
		"first":     {failed, 1, true},
		"second":    {failed, 2, true},
		"last":      {failed, 3, false},
		"beyond":    {failed, 4, false},
		"internal":  {tools.Result{Internal: errors.New("x"), Retryable: true}, 1, true},
		"not safe":  {tools.Result{ToolError: "busy"}, 1, false},
		"succeeded": {tools.Result{JSON: json.RawMessage(`{}`), Retryable: true}, 1, false},
		"pending":   {tools.Result{ToolError: "x", Retryable: true, Pending: &tools.Pending{}}, 1, false},
	} {
		if _, again := f.RetryAfter(c.result, "", c.attempt, 0); again != c.want {
			t.Errorf("%s: another attempt: %v", name, again)
		}
	}
	if d, _ := f.RetryAfter(failed, "", 2, 0.5); d != 150*time.Millisecond {
		t.Errorf("the delay is %v, want half of 200 ms and half of the other half", d)
	}
	if _, again := (tools.Frozen{}).RetryAfter(failed, "k", 1, 0); again {
		t.Error("a tool without a policy is retried")
	}
}

// Rules: J7.
func TestDelaysGrowUpToTheirCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &tools.Retry{
			Policy: tools.RetrySafe, Max: 10,
			BaseMs:     rapid.OneOf(rapid.Int64Range(1, 10_000), rapid.Just[int64](math.MaxInt64)).Draw(t, "base"),
			MaxDelayMs: rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.Just[int64](math.MaxInt64)).Draw(t, "max"),
		}
		attempt, random := rapid.IntRange(1, 100).Draw(t, "attempt"), rapid.Float64Range(0, 1).Draw(t, "random")
		limit := 10 * time.Minute
		if r.MaxDelayMs > 0 && r.MaxDelayMs < limit.Milliseconds() {
			limit = time.Duration(r.MaxDelayMs) * time.Millisecond
		}
		d := r.Delay(attempt, random)
		if d <= 0 || d > limit || d != r.Delay(attempt, random) {
			t.Fatalf("the delay is %v, at most %v", d, limit)
		}
		if next := r.Delay(attempt+1, random); next < d {
			t.Fatalf("the delay falls from %v to %v", d, next)
		}
		if r.Delay(attempt, 0) > d || d > r.Delay(attempt, 1) {
			t.Fatalf("%v isn't between its ends", d)
		}
	})
	if d := (&tools.Retry{Policy: tools.RetrySafe}).Delay(3, 0.5); d != 0 {
		t.Errorf("without a base the delay is %v", d)
	}
}

// Rules: J7.
func TestPoliciesAreCheckedWhenToolsAreRegistered(t *testing.T) {
	for want, bad := range map[string]tools.Retry{
		"unknown":     {Policy: "often"},
		"10 attempts": {Policy: tools.RetrySafe, Max: 11},
		"negative":    {Policy: tools.RetrySafe, BaseMs: -1},
	} {
		x := tool("c.x", "x", anyObject)
		x.manifest.Hints.Retry = &bad
		if _, err := tools.NewRegistry(capability("c", x)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

// Hints are stored with frozen calls: what an older version wrote must read as before.
func TestHintsOfOldCallsAreRead(t *testing.T) {
	var f tools.Frozen
	if err := json.Unmarshal([]byte(`{"toolId":"a","name":"a","displayName":"A","arguments":{},"hints":{"readOnly":true}}`), &f); err != nil {
		t.Fatal(err)
	}
	if f.Hints != (tools.Hints{ReadOnly: true}) || f.Repaired {
		t.Errorf("got %+v", f)
	}
	if b, err := json.Marshal(f); err != nil || string(b) != `{"toolId":"a","name":"a","displayName":"A","arguments":{},"hints":{"readOnly":true}}` {
		t.Errorf("it is written as %s, %v", b, err)
	}
}
