package sessions

import (
	"errors"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

func client(id string) waitingCall {
	return waitingCall{id: id, tool: "measure", arguments: `{"what":"` + id + `"}`, kind: models.WaitClientTool}
}

func brought(call, value string) ToolResult {
	return ToolResult{ToolCallID: call, Result: models.JSON(value)}
}

// Rules: E3, W4, W7.
func TestResultsOfClientToolsResumeTheTurnWhenAllAreThere(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		turn, waits := e.parked(e.by, client("a"), client("b"))
		if turn.Status != models.TurnWaiting || len(waits) != 2 {
			t.Fatalf("the turn is %s with %d waits", turn.Status, len(waits))
		}
		got, err := e.svc.SubmitToolResults(t.Context(), e.by, turn.ID, []ToolResult{brought("b", `{"z":1,"a":2}`)})
		if err != nil || got.Status != models.TurnWaiting {
			t.Fatalf("after one of two: %v, %v", got, err)
		}
		if left := e.waits(e.by, turn.ID); len(left) != 1 || *left[0].ToolCallID != "a" {
			t.Fatalf("left are %v", left)
		}
		got, err = e.svc.SubmitToolResults(t.Context(), e.by, turn.ID, []ToolResult{
			brought("b", ` {"a": 2.0, "z": 1} `), {ToolCallID: "a", Error: ptr("no scale at hand")},
		})
		if err != nil || got.Status != models.TurnRunning || got.ReadyAt == nil || got.PendingCalls != 0 {
			t.Fatalf("after both: %+v, %v", got, err)
		}
		results := e.results(turn.SessionID)
		if len(results) != 2 || string(results[0].Result) != `{"a":2,"z":1}` || !results[0].Success ||
			results[1].Success || results[1].Error != "client_error: no scale at hand" {
			t.Fatalf("the results are %+v", results)
		}
		want := "TOOL_COMPLETED,SESSION_RESUMED,TURN_RESUMED,ACT_COMPLETED"
		if kinds := e.kinds(turn.SessionID); !strings.HasSuffix(kinds, want) {
			t.Fatalf("the log is %s", kinds)
		}
	})
}

// Rules: W8.
func TestRepeatedResultsChangeNothing(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		turn, _ := e.parked(e.by, client("a"))
		send := func(r ToolResult) error {
			_, err := e.svc.SubmitToolResults(t.Context(), e.by, turn.ID, []ToolResult{r})
			return err
		}
		if err := send(brought("a", `{"n":12}`)); err != nil {
			t.Fatal(err)
		}
		before := e.kinds(turn.SessionID)
		if err := send(brought("a", `{"n":1.2e1}`)); err != nil {
			t.Fatalf("the same again: %v", err)
		}
		wantFault(t, send(brought("a", `{"n":13}`)), fault.Conflict, "input.results.0")
		wantFault(t, send(ToolResult{ToolCallID: "a", Error: ptr("x")}), fault.Conflict, "input.results.0")
		if after := e.kinds(turn.SessionID); after != before {
			t.Fatalf("the log has grown from %s to %s", before, after)
		}
	})
}

// Rules: W7.
func TestResultsThatAreRefusedChangeNothing(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		turn, _ := e.parked(e.by, client("a"), client("b"))
		other, _ := e.parked(e.by, client("theirs"))
		before := e.kinds(turn.SessionID)
		long := `"` + strings.Repeat("x", MaxResultBytes) + `"`
		ok := brought("a", `1`)
		tests := map[string]struct {
			results []ToolResult
			code    fault.Code
			path    string
		}{
			"none":                {nil, fault.Invalid, "input.results"},
			"too many":            {make([]ToolResult, 65), fault.Invalid, "input.results"},
			"twice":               {[]ToolResult{ok, brought("a", `2`)}, fault.Invalid, "input.results.1.toolCallId"},
			"neither":             {[]ToolResult{ok, {ToolCallID: "b"}}, fault.Invalid, "input.results.1"},
			"both":                {[]ToolResult{ok, {ToolCallID: "b", Result: models.JSON(`1`), Error: ptr("x")}}, fault.Invalid, "input.results.1"},
			"empty error":         {[]ToolResult{ok, {ToolCallID: "b", Error: ptr("")}}, fault.Invalid, "input.results.1.error"},
			"large":               {[]ToolResult{ok, brought("b", long)}, fault.LimitReached, "input.results.1.result"},
			"large error":         {[]ToolResult{ok, {ToolCallID: "b", Error: &long}}, fault.LimitReached, "input.results.1.error"},
			"not JSON":            {[]ToolResult{ok, brought("b", `{`)}, fault.Invalid, "input.results.1.result"},
			"a NUL":               {[]ToolResult{ok, brought("b", `["\\","\u0000"]`)}, fault.Invalid, "input.results.1.result"},
			"unknown":             {[]ToolResult{ok, brought("c", `1`)}, fault.Invalid, "input.results.1.toolCallId"},
			"a NUL in an id":      {[]ToolResult{ok, brought("b\x00", `1`)}, fault.Invalid, "input.results.1.toolCallId"},
			"bytes for an id":     {[]ToolResult{ok, brought("b\xff", `1`)}, fault.Invalid, "input.results.1.toolCallId"},
			"that of another one": {[]ToolResult{ok, brought("theirs", `1`)}, fault.Invalid, "input.results.1.toolCallId"},
		}
		for name, tt := range tests {
			_, err := e.svc.SubmitToolResults(t.Context(), e.by, turn.ID, tt.results)
			t.Log(name)
			wantFault(t, err, tt.code, tt.path)
		}
		_, err := e.svc.SubmitToolResults(t.Context(), e.theirs, turn.ID, []ToolResult{ok})
		wantFault(t, err, fault.NotFound, "input.turnId")
		if after := e.kinds(turn.SessionID); after != before || len(e.waits(e.by, turn.ID)) != 2 || len(e.waits(e.by, other.ID)) != 1 {
			t.Fatalf("the log has grown from %s to %s", before, after)
		}
		// A backslash before it makes it a text about NUL.
		if _, err := e.svc.SubmitToolResults(t.Context(), e.by, turn.ID, []ToolResult{brought("a", `"\\u0000"`)}); err != nil {
			t.Fatal(err)
		}
	})
}

// Rules: W8.
func TestResultsForATurnThatWaitsNoMoreAreConflicts(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		turn, _ := e.parked(e.by, client("a"))
		if _, err := e.svc.CancelTurn(t.Context(), e.by, turn.ID, nil); err != nil {
			t.Fatal(err)
		}
		_, err := e.svc.SubmitToolResults(t.Context(), e.by, turn.ID, []ToolResult{brought("a", `1`)})
		wantFault(t, err, fault.Conflict, "input.results.0")
	})
}

// Rules: W1.
func TestOneOfSeveralResultsWins(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		turn, _ := e.parked(e.by, client("a"))
		send := func(value string) func() error {
			return func() error {
				_, err := e.svc.SubmitToolResults(t.Context(), e.by, turn.ID, []ToolResult{brought("a", value)})
				return err
			}
		}
		won := 0
		for _, err := range race(send(`1`), send(`2`), send(`3`), send(`4`)) {
			if err == nil {
				won++
				continue
			}
			wantFault(t, err, fault.Conflict, "input.results.0")
		}
		if results := e.results(turn.SessionID); won != 1 || len(results) != 1 {
			t.Fatalf("%d have won, with %+v", won, results)
		}
	})
}

// Rules: W1, C5.
func TestAResultOrACancelWins(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		for range 5 {
			turn, waits := e.parked(e.by, client("a"))
			errs := race(func() error {
				_, err := e.svc.SubmitToolResults(t.Context(), e.by, turn.ID, []ToolResult{brought("a", `1`)})
				return err
			}, func() error {
				_, err := e.svc.CancelTurn(t.Context(), e.by, turn.ID, nil)
				return err
			})
			// The turn is cancelled in either case: after a result it goes on until it is.
			if errs[1] != nil {
				t.Fatal(errs[1])
			}
			state := e.wait(e.by, waits[0].ID).State
			if (errs[0] == nil) != (state == models.WaitOK) || (errs[0] != nil) != (state == models.WaitCancelled) {
				t.Fatalf("the result had %v, the wait is %s", errs[0], state)
			}
			if got := e.turn(e.by, turn.ID); got.Status != models.TurnCancelled || len(e.results(turn.SessionID)) != 1 {
				t.Fatalf("the turn is %s", got.Status)
			}
		}
	})
}

// Rules: W1.
func TestAResultOrItsDeadlineWins(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		for range 5 {
			call := waitingCall{id: "a", tool: "call_back", arguments: `{}`, kind: models.WaitCompletion, deadline: e.later(1000)}
			turn, waits := e.parked(e.by, call)
			e.clock.Advance(2_000_000_000)
			errs := race(func() error {
				return e.commit.Submit(t.Context(), &turns.ResolveWait{
					Org: e.by.OrgID, Session: turn.SessionID, Wait: waits[0].ID, State: models.WaitOK,
					Resolution: models.WaitResolution{Value: models.JSON(`1`)},
				})
			}, func() error {
				return errors.Join(e.deadlines().sweep(t.Context()))
			}, func() error {
				return e.deadlines().sweep(t.Context())
			})
			state := e.wait(e.by, waits[0].ID).State
			if errs[1] != nil || errs[2] != nil || (errs[0] == nil) != (state == models.WaitOK) || (errs[0] != nil) != (state == models.WaitTimeout) {
				t.Fatalf("%v, the wait is %s", errs, state)
			}
			if results := e.results(turn.SessionID); len(results) != 1 {
				t.Fatalf("the results are %+v", results)
			}
		}
	})
}
