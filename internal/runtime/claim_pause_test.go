package runtime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// A runner most of whose slots are taken lets some time pass between two claims, and one that has many free claims at once.
func TestABusyRunnerGathersTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{slots: make(chan struct{}, 4)}
		ctx, cancel := context.WithCancel(t.Context())
		waited := func(last time.Time) time.Duration {
			t.Helper()
			begun := time.Now()
			if !e.gather(ctx, last) {
				t.Error("the loop is told to end")
			}
			return time.Since(begun)
		}
		if d := waited(time.Now().Add(-claimPause / 4)); d != claimPause*3/4 {
			t.Errorf("a quarter of the pause after the last claim it waits for %v", d)
		}
		if d := waited(time.Now().Add(-claimPause)); d != 0 {
			t.Errorf("after the pause it waits for %v", d)
		}
		if d := waited(time.Time{}); d != 0 {
			t.Errorf("before the first claim it waits for %v", d)
		}
		for range 3 {
			e.slots <- struct{}{}
		}
		if d := waited(time.Now()); d != 0 {
			t.Errorf("with three of four slots free it waits for %v", d)
		}
		<-e.slots
		cancel()
		if e.gather(ctx, time.Now()) {
			t.Error("the loop goes on after its end")
		}
	})
}

// TestClaimedTurnsBeginOneAfterTheOther claims two with much time between them. The later one is held: it is cancelled at once all the
// same, and goes back into the queue when its runner stops.
//
// Rules: C1, Q15.
func TestClaimedTurnsBeginOneAfterTheOther(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		api, n := w.newNode(), w.start()
		n.puppet.on(echoing)
		n.engine.stopClaims()
		claim := func() (models.SessionID, models.TurnID) {
			t.Helper()
			s, later := w.newSession(api), w.newSession(api)
			turn, last := api.send(s, "hello"), api.send(later, "hello")
			if _, err := n.engine.claimSome(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
			ended := func(id models.TurnID) bool { return w.turn(id).Status == models.TurnCompleted }
			w.until("one of two turns has ended", func() bool { return ended(turn) || ended(last) })
			if ended(last) {
				later, last = s, turn
			}
			if row := w.turn(last); row.RunnerID == nil || row.StartedAt != nil {
				t.Fatalf("the later turn is held by %v and began at %v", row.RunnerID, row.StartedAt)
			}
			return later, last
		}
		s, turn := claim()
		api.cancel(turn, "no longer wanted")
		n.engine.attendAll(t.Context()) // as the loop does that was stopped
		w.cancelled(turn, w.idle(s))

		_, turn = claim()
		n.stop()
		if row := w.turn(turn); row.ReadyAt == nil || row.RunnerID != nil {
			t.Errorf("the turn is ready since %v and held by %v", row.ReadyAt, row.RunnerID)
		}
		n.vacant()
	})
}
