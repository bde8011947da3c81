package sessions

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

func (e *env) deadlines() *deadlines {
	return &deadlines{cfg: DeadlinesConfig{DB: e.db, Committer: e.commit, Clock: e.clock, Logger: slog.New(slog.DiscardHandler)}}
}

// Rules: Q2, Q17, W3.
func TestADeadlineIsEnforcedWhoeverWaits(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		early := waitingCall{id: "a", tool: "call_back", arguments: `{}`, kind: models.WaitCompletion, deadline: e.later(time.Second)}
		late := waitingCall{id: "b", tool: "call_back", arguments: `{}`, kind: models.WaitCompletion, deadline: e.later(time.Minute)}
		turn, waits := e.parked(e.by, early, late)
		foreign, _ := e.parked(e.theirs, early)
		sweep := func(after time.Duration) {
			t.Helper()
			e.clock.Advance(after)
			if err := e.deadlines().sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sweep(999 * time.Millisecond)
		if n := len(e.waits(e.by, turn.ID)); n != 2 {
			t.Fatalf("%d are open before any deadline", n)
		}
		sweep(time.Millisecond)
		if got := e.wait(e.by, waits[0].ID); got.State != models.WaitTimeout || len(e.waits(e.by, turn.ID)) != 1 {
			t.Fatalf("the first one is %s", got.State)
		}
		if got := e.turn(e.theirs, foreign.ID); got.Status != models.TurnRunning || got.ReadyAt == nil {
			t.Fatalf("the turn of the other organization is %s", got.Status)
		}
		if got := e.turn(e.by, turn.ID); got.Status != models.TurnWaiting {
			t.Fatalf("the turn is %s", got.Status)
		}
		sweep(time.Minute)
		if got := e.turn(e.by, turn.ID); got.Status != models.TurnRunning || got.ReadyAt == nil {
			t.Fatalf("the turn is %s", got.Status)
		}
		for _, r := range e.results(turn.SessionID) {
			if r.Success || !strings.HasPrefix(r.Error, "timeout: ") {
				t.Fatalf("the result is %+v", r)
			}
		}
		before := e.kinds(turn.SessionID)
		sweep(time.Hour)
		if after := e.kinds(turn.SessionID); after != before {
			t.Fatalf("another sweep made %s of %s", after, before)
		}
	})
}

func TestAnApprovalThatNobodyDecidesExpires(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		call := waitingCall{id: "a", tool: "pay", arguments: `{}`, kind: models.WaitApproval, approval: turns.Approval{Quorum: 1}, deadline: e.later(time.Second)}
		turn, waits := e.parked(e.by, call)
		call.failTurn, call.deadline = true, e.later(time.Second)
		failing, _ := e.parked(e.by, call)
		e.clock.Advance(time.Second)
		if err := e.deadlines().sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if kinds := e.kinds(turn.SessionID); !strings.Contains(kinds, "APPROVAL_DECIDED") {
			t.Fatalf("the log is %s", kinds)
		}
		_, _, err := e.svc.DecideApproval(t.Context(), e.person(models.RoleOwner), Decision{WaitID: waits[0].ID, Approve: true})
		wantFault(t, err, fault.Conflict, "input.waitId")
		if got := e.turn(e.by, failing.ID); got.Status != models.TurnFailed || got.Error == nil || got.Error.Code != "wait_timeout" {
			t.Fatalf("the turn that was to fail is %s: %+v", got.Status, got.Error)
		}
		e.log(failing.SessionID)
	})
}

// Rules: Q17.
func TestDeadlinesAreLookedForUntilStop(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		var turn []models.TurnID
		for range deadlineBatch/50 + 1 { // more than one page, over several turns
			var calls []waitingCall
			for i := range 50 {
				calls = append(calls, waitingCall{id: string(rune('A' + i)), tool: "x", arguments: `{}`, kind: models.WaitCompletion, deadline: e.later(time.Second)})
			}
			parked, _ := e.parked(e.by, calls...)
			turn = append(turn, parked.ID)
		}
		e.clock.Advance(time.Second)
		ticks := make(chan time.Time)
		cfg := e.deadlines().cfg
		cfg.Ticks = ticks
		d := NewDeadlines(cfg)
		if err := d.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ticks <- time.Time{}
		ticks <- time.Time{} // taken only after the first sweep
		d.Stop()
		for _, id := range turn {
			if got := e.turn(e.by, id); got.Status != models.TurnRunning || got.PendingCalls != 0 {
				t.Fatalf("a turn is %s with %d pending calls", got.Status, got.PendingCalls)
			}
		}
	})
}

// A deadline means the same to two processes on machines whose clocks are two hours apart: both follow the database's. The one that is
// behind ends what the other has written when its time is over, and the one that is ahead ends nothing before.
//
// Rules: Q2.
func TestADeadlineIsTheSameOnAllMachines(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		machine := func(wrongBy time.Duration) (*clock.Manual, *clock.Following) {
			t.Helper()
			m := clock.NewManual(time.Now().Add(wrongBy))
			f, err := clock.Follow(t.Context(), clock.FollowConfig{Source: e.db.Now, Machine: m, Logger: slog.New(slog.DiscardHandler), Ticks: make(chan time.Time)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(f.Stop)
			return m, f
		}
		_, fast := machine(time.Hour)
		behind, slow := machine(-time.Hour)
		sweep := func(by clock.Clock) {
			t.Helper()
			d := e.deadlines()
			d.cfg.Clock = by
			if err := d.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		in := func(by clock.Clock) *models.Millis { return (clock.Millis(by) + 30*60_000).Ptr() }
		call := waitingCall{id: "a", tool: "call_back", arguments: `{}`, kind: models.WaitCompletion, deadline: in(fast)}
		turn, _ := e.parked(e.by, call)
		call.deadline = in(slow)
		other, _ := e.parked(e.theirs, call)
		sweep(fast)
		sweep(slow)
		if mine, theirs := e.turn(e.by, turn.ID), e.turn(e.theirs, other.ID); mine.Status != models.TurnWaiting || theirs.Status != models.TurnWaiting {
			t.Fatalf("half an hour before their deadlines the turns are %s and %s", mine.Status, theirs.Status)
		}
		behind.Advance(30 * time.Minute)
		sweep(slow)
		if mine, theirs := e.turn(e.by, turn.ID), e.turn(e.theirs, other.ID); mine.Status != models.TurnRunning || theirs.Status != models.TurnRunning {
			t.Errorf("after their deadlines the turns are %s and %s", mine.Status, theirs.Status)
		}
	})
}
