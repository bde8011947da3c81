package runtime

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// throng has a model that holds every call until it is let go, and counts how many are at work.
type throng struct {
	arrived chan struct{}
	release chan struct{}
	now     atomic.Int64
	most    atomic.Int64
}

func (n *node) throng() *throng {
	c := &throng{arrived: make(chan struct{}, 100), release: make(chan struct{}, 100)}
	n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		now := c.now.Add(1)
		defer c.now.Add(-1)
		for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
		}
		c.arrived <- struct{}{}
		select {
		case <-c.release:
		case <-ctx.Done():
		}
		return echoing(ctx, req, emit)
	})
	return c
}

// TestACapHolds lets an organization have two turns at work in two processes together, by configuration and by a row of its own. The
// others wait for them to end, and nobody polls for that.
//
// Rules: Q13.
func TestACapHolds(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, own := range []bool{false, true} {
			w := w.within(t)
			option := func(c *Config) { c.PollInterval, c.OrgActiveTurns = time.Hour, 2 }
			if own {
				if _, err := storetest.Exec(t.Context(), w.db, "DELETE FROM org_loads"); err != nil {
					t.Fatal(err)
				}
				if _, err := storetest.Exec(t.Context(), w.db, "INSERT INTO org_loads (org_id, active_turns) VALUES (?, 2)", w.org[:]); err != nil {
					t.Fatal(err)
				}
				option = func(c *Config) { c.PollInterval = time.Hour }
			}
			n, idle := w.start(option), w.start(option)
			c := n.throng()
			idle.puppet.on(*n.puppet.play.Load())
			var list []models.SessionID
			for range 6 {
				s := w.newSession(n)
				list = append(list, s)
				n.send(s, "hello")
			}
			for range list {
				<-c.arrived
				c.release <- struct{}{}
			}
			for _, s := range list {
				the[events.TurnCompleted](t, w.idle(s))
			}
			if most := c.most.Load(); most > 2 {
				t.Errorf("own cap %v: %d turns were at work at the same time", own, most)
			}
			n.stop()
			idle.stop()
		}
	})
}

// TestOneOrganizationLeavesRoom floods a runner with four slots: three of them work on the flood, and one is free for others. When one of
// the three is free the next turn begins, though nobody polls.
//
// Rules: Q14.
func TestOneOrganizationLeavesRoom(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(c *Config) { c.PollInterval, c.Slots = time.Hour, 4 })
		c := n.throng()
		var list []models.SessionID
		for range 7 {
			s := w.newSession(n)
			list = append(list, s)
			n.send(s, "hello")
		}
		for range 3 {
			<-c.arrived
		}
		// The claim has been made that finds no room.
		for range 3 {
			n.engine.wake <- struct{}{}
		}
		other := models.NewID[models.OrgEntity]()
		if _, ok := n.engine.Reserve(w.org, models.NewID[models.TurnEntity]()); ok {
			t.Error("the flood gets the last slot")
		}
		w.eventually("another organization gets it", func() bool {
			// A claim may have it for a moment.
			s, ok := n.engine.Reserve(other, models.NewID[models.TurnEntity]())
			if ok {
				s.Free()
			}
			return ok
		})
		for range list {
			c.release <- struct{}{}
		}
		for _, s := range list {
			the[events.TurnCompleted](t, w.idle(s))
		}
		if most := c.most.Load(); most != 3 {
			t.Errorf("%d turns of one organization were at work at the same time", most)
		}
		if err := n.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.vacant()
	})
}

// TestFewSlotsAreNotDivided tells how many slots one organization gets.
func TestFewSlotsAreNotDivided(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int]int{1: 1, 3: 3, 4: 3, 5: 3, 256: 192} {
		if got := orgSlots(slots); got != want {
			t.Errorf("of %d slots one organization gets %d, want %d", slots, got, want)
		}
	}
}
