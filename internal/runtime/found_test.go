package runtime

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// What the simulation has found, as small as it gets.

// TestACancelBetweenTheClaimAndTheFirstStep comes when a runner holds the turn and has committed nothing yet. All that was sent to the turn
// is answered by its end: left in the inbox, it would begin another one.
//
// Rules: C1, L6.
func TestACancelBetweenTheClaimAndTheFirstStep(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.newNode() // its engine claims nothing
		s := w.newSession(n)
		turn := n.send(s, "one")
		n.send(s, "two")
		next := n.deliver(sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text("three")}, Delivery: turns.Queue})
		runner := models.Runner{ID: n.engine.runnerID(), Host: "h"}
		if err := w.queue.Register(t.Context(), runner); err != nil {
			t.Fatal(err)
		}
		got, err := w.queue.Claim(t.Context(), queue.Ask{Runner: runner.ID, Executions: 1, PerOrg: 1})
		if err != nil || len(got.Executions) != 1 {
			t.Fatalf("claimed are %+v, %v", got, err)
		}
		claimed, ok := got.Executions[0].Row.(*models.Turn)
		if !ok || claimed.ID != turn {
			t.Fatalf("claimed are %+v", got)
		}
		if row := n.cancel(turn, "enough"); row.Status != models.TurnRunning || row.Cancel == nil {
			t.Fatalf("the turn is %+v", row)
		}

		r := &turnRun{e: n.engine, turn: *claimed, conversation: &conversation{}}
		// It is not one that can't go on: what the first step would commit says so.
		if err := r.run(t.Context(), nil); !errors.Is(err, errEnded) {
			t.Errorf("the turn stopped with %v", err)
		}
		log := w.events(s)
		w.cancelled(turn, log)
		for _, m := range w.messages(s) {
			if m.TurnID == turn && m.Position == nil {
				t.Errorf("message %s is left in the inbox", m.ID)
			}
		}
		if count(log, models.EventReasonStarted) != 0 || *w.session(s).CurrentTurnID != next || len(w.turns(s)) != 2 {
			t.Errorf("%d steps have begun; of %d turns %s is at the head", count(log, models.EventReasonStarted), len(w.turns(s)), w.session(s).CurrentTurnID)
		}
	})
}

// TestTheReplyToAParkedCallIsLost has the committer try again what was committed: the call waits once, and the turn is parked when the other
// one has ended. It makes no event by which the committer could tell.
//
// Rules: L1.
func TestTheReplyToAParkedCallIsLost(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		other := newGate()
		defer other.open()
		w.probe.on("other", func(context.Context, *tools.Call) tools.Result {
			other.hold()
			return tools.Success(nil)
		})
		var lost atomic.Bool
		w.probe.on("later", func(ctx context.Context, c *tools.Call) tools.Result {
			<-other.arrived
			if _, err := c.DurableCompletionKey(ctx); err != nil {
				t.Error(err)
			}
			// The next commit is the one that parks the call.
			n.faults.on(func(point string) error {
				if point == "committed" && !lost.Swap(true) {
					return errFault
				}
				return nil
			})
			return tools.Result{Pending: &tools.Pending{}}
		})
		s := w.newSession(n)
		turn := n.send(s, script(t, says(callTool("again", "other"), callTool("once", "later")), says(text("done"))))
		w.until("the call waits", func() bool {
			w.news.spread()
			return lost.Load() && w.turn(turn).WaitingCalls > 0
		})
		other.open()
		waits := w.parked(s)
		if row := w.turn(turn); len(waits) != 1 || row.WaitingCalls != 1 || row.PendingCalls != 1 {
			t.Errorf("it waits for %d things; %d of %d calls wait", len(waits), row.WaitingCalls, row.PendingCalls)
		}
		n.answer(waits[0], `"came"`)
		w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnCompleted || w.probe.ran("later") != 1 {
			t.Errorf("the turn is %s after %d runs", row.Status, w.probe.ran("later"))
		}
	})
}
