package limits_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// open opens as many as it may, n at most, and tells how many.
func (w *world) open(l *limits.Limits, org models.OrgID, kind limits.Stream, n int) (in int) {
	w.t.Helper()
	for range n {
		if l.Open(w.t.Context(), org, kind) {
			in++
		}
	}
	return in
}

func (w *world) beat(l *limits.Limits) {
	w.t.Helper()
	if w.db.Dialect == store.SQLite {
		return // it has nobody to tell
	}
	if err := l.Beat(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func TestProcessesShareWhatMayBeOpen(t *testing.T) {
	for name, most := range map[string]int{"a few": 5, "many": 407} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				for _, kind := range []limits.Stream{limits.Socket, limits.Subscription} {
					v := limits.Values{Sockets: most, Subscriptions: most}
					a, b := w.nodes(v)
					var ofA, ofB atomic.Int64
					var all sync.WaitGroup
					for range 2 {
						all.Go(func() { ofA.Add(int64(w.open(a, w.mine, kind, most))) })
						all.Go(func() { ofB.Add(int64(w.open(b, w.mine, kind, most))) })
					}
					all.Wait()
					in := ofA.Load() + ofB.Load()
					// A process may hold a chunk that it does not use, a fiftieth, until it tells that it lives the next time.
					if got := in; got > int64(most) || got < int64(most-most/50-1) {
						t.Errorf("%d are open, want %d", got, most)
					}
					w.beat(a)
					w.beat(b)
					w.clock.Advance(time.Second)
					ofA.Add(int64(w.open(a, w.mine, kind, most)))
					if got := ofA.Load() + ofB.Load(); got != int64(most) {
						t.Errorf("%d are open in the end, want %d", got, most)
					}
					if w.open(b, w.mine, kind, 10) != 0 {
						t.Error("one more was let in")
					}
					if w.open(b, w.theirs, kind, 3) != 3 {
						t.Error("another organization has no room")
					}
					// What one closes another may open.
					closes, opens := a, b
					if ofA.Load() < 3 {
						closes, opens = b, a
					}
					for range 3 {
						closes.Close(w.mine, kind)
					}
					w.beat(closes)
					w.clock.Advance(time.Second)
					if got := w.open(opens, w.mine, kind, 10); got != 3 {
						t.Errorf("%d were let in where three had ended", got)
					}
					a.Stop()
					b.Stop()
				}
			})
		})
	}
}

// The two kinds don't take each other's room.
func TestSocketsAreNoSubscriptions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.nodes(limits.Values{Sockets: 2, Subscriptions: 4})
		got := []int{w.open(a, w.mine, limits.Socket, 9), w.open(a, w.mine, limits.Subscription, 9), w.open(b, w.mine, limits.Socket, 9), w.open(b, w.mine, limits.Subscription, 9)}
		if got[0] != 2 || got[1] != 4 || got[2] != 0 || got[3] != 0 {
			t.Errorf("%v", got)
		}
	})
}

// A process that stops gives back what it had; one that dies does when it was not seen for long. One that was only cut off counts again.
func TestWhatAProcessHadComesBack(t *testing.T) {
	w := newWorld(t, storetest.Postgres(t))
	v := limits.Values{Sockets: 4}
	stops, dies, last := w.node(v), w.node(v), w.node(v)
	if w.open(stops, w.mine, limits.Socket, 2) != 2 || w.open(dies, w.mine, limits.Socket, 2) != 2 || w.open(last, w.mine, limits.Socket, 1) != 0 {
		t.Fatal("the four are not shared")
	}
	stops.Stop()
	w.clock.Advance(time.Second)
	if got := w.open(last, w.mine, limits.Socket, 9); got != 2 {
		t.Errorf("%d were let in where a process with two has stopped", got)
	}
	w.clock.Advance(29 * time.Second)
	w.beat(last)
	if got := w.open(last, w.mine, limits.Socket, 9); got != 2 {
		t.Errorf("%d were let in where a process with two has died", got)
	}
	// It was only slow, and its two are still open.
	w.beat(dies)
	last.Close(w.mine, limits.Socket)
	w.beat(last)
	w.clock.Advance(time.Second)
	if w.open(last, w.mine, limits.Socket, 1) != 0 {
		t.Error("one was let in with five open already")
	}
	// After ten minutes nothing is left of the dead, and what comes back is written down anew.
	w.clock.Advance(11 * time.Minute)
	w.beat(last)
	var nodes int64
	if err := w.db.ReadAcross(t.Context()).Model(&models.APINode{}).Count(&nodes).Error; err != nil || nodes != 1 {
		t.Errorf("%d processes are remembered, %v", nodes, err)
	}
	w.beat(dies)
	var leases []models.OrgLease
	if err := store.CrossOrg(w.db.ReadAcross(t.Context())).Order("sockets").Find(&leases).Error; err != nil || len(leases) != 2 || leases[0].Sockets != 2 || leases[1].Sockets != 3 {
		t.Errorf("%+v, %v", leases, err)
	}
}

// A limit that is set later counts what is open already, everywhere; what is beyond it stays.
func TestALimitThatComesLater(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.nodes(limits.Values{})
		if w.open(a, w.mine, limits.Subscription, 6) != 6 || w.open(b, w.mine, limits.Subscription, 4) != 4 {
			t.Fatal("any number is not any number")
		}
		w.set(w.mine, map[string]any{"subscriptions": 9})
		w.clock.Advance(2 * time.Second)
		w.beat(a)
		w.beat(b)
		if w.open(a, w.mine, limits.Subscription, 1)+w.open(b, w.mine, limits.Subscription, 1) != 0 {
			t.Error("an eleventh was let in where nine may be")
		}
		a.Close(w.mine, limits.Subscription)
		a.Close(w.mine, limits.Subscription)
		w.beat(a)
		w.clock.Advance(time.Second)
		if got := w.open(b, w.mine, limits.Subscription, 5); got != 1 {
			t.Errorf("%d were let in beside eight, where nine may be", got)
		}
	})
}
