package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// feedPlan is what a round does; everything else follows from the seed.
type feedPlan struct {
	seed                             uint64
	nodes, writers, commits, readers int
	lose, repeat, swap, stall        int
	buffer                           int
	// outages is how often the bus goes away; -1 takes it away for the whole round.
	outages int
}

func drawFeedPlan(t *rapid.T) feedPlan {
	percent := rapid.SampledFrom([]int{0, 0, 10, 40, 100})
	return feedPlan{
		seed:  rapid.Uint64().Draw(t, "seed"),
		nodes: rapid.IntRange(1, 3).Draw(t, "nodes"), writers: rapid.IntRange(1, 5).Draw(t, "writers"),
		commits: rapid.IntRange(1, 40).Draw(t, "commits"), readers: rapid.IntRange(1, 6).Draw(t, "readers"),
		lose: percent.Draw(t, "lose"), repeat: percent.Draw(t, "repeat"), swap: percent.Draw(t, "swap"), stall: percent.Draw(t, "stall"),
		buffer: rapid.SampledFrom([]int{4, 16, 256}).Draw(t, "buffer"), outages: rapid.IntRange(-1, 3).Draw(t, "outages"),
	}
}

// TestEveryReaderOfAFeedSeesEverythingOnce: whatever the bus does, whoever commits, and whenever readers join, leave and stall,
// each sees the events of its organization past its place, in the feed's order, each once, and nothing of others.
func TestEveryReaderOfAFeedSeesEverythingOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawFeedPlan(rt)
		var found []error
		synctest.Test(t, func(t *testing.T) { found = playFeed(t, p) })
		if len(found) > 0 {
			rt.Fatalf("%+v:\n%v", p, errors.Join(found...))
		}
	})
}

type feedRound struct {
	feedPlan
	db   *feeds
	hubs []*events.Hub

	mu     sync.Mutex
	random *rand.Rand
	found  []error
}

func (r *feedRound) pick(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(n)
}

func (r *feedRound) chance(percent int) bool { return r.pick(100) < percent }

func (r *feedRound) rest(most time.Duration) { pass(time.Duration(r.pick(int(most)))) }

func (r *feedRound) failf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, fmt.Errorf(format, args...))
}

func (r *feedRound) fate() []time.Duration {
	if r.chance(r.lose) {
		return nil
	}
	copies := []time.Duration{0}
	if r.chance(r.swap) {
		copies[0] = time.Duration(r.pick(int(60 * time.Millisecond)))
	}
	if r.chance(r.repeat) {
		copies = append(copies, time.Duration(r.pick(int(2*time.Second))))
	}
	return copies
}

func playFeed(t *testing.T, p feedPlan) []error {
	orgs := []models.OrgID{models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity]()}
	r := &feedRound{feedPlan: p, db: newFeeds(orgs...), random: rand.New(rand.NewPCG(p.seed, 1))}
	r.db.latency = func() { r.rest(5 * time.Millisecond) }
	net := &network{fate: r.fate, down: p.outages < 0}
	for range p.nodes {
		r.hubs = append(r.hubs, startHub(t, r.db, net.join(), func(c *events.Config) { c.Buffer = p.buffer }))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work, writers sync.WaitGroup
	var readers []*feedReader
	for i := range p.readers {
		f := &feedReader{feedRound: r, org: orgs[i%2]}
		readers = append(readers, f)
		work.Go(func() { f.follow(ctx) })
	}
	for range p.outages {
		work.Go(func() {
			r.rest(3 * time.Second)
			net.set(true)
			r.rest(2 * time.Second)
			net.set(false)
		})
	}
	for range p.writers {
		writers.Go(func() { r.write(orgs[r.pick(2)]) })
	}
	writers.Wait()
	// Whatever was lost is found within the time of a sweep over all.
	pass(40 * time.Second)
	synctest.Wait()
	cancel()
	work.Wait()
	for i, f := range readers {
		if n := len(r.db.feed(f.org)); f.last != int64(n) {
			r.failf("reader %d has %d of %d", i, f.last, n)
		}
	}
	for _, org := range orgs {
		if err := events.CheckFeed(r.db.feed(org)); err != nil {
			r.failf("the feed itself: %w", err)
		}
	}
	return r.found
}

// write commits for a session of its own, and tells of it from some node, sometimes late: other commits may overtake it.
func (r *feedRound) write(org models.OrgID) {
	session := models.NewID[models.SessionEntity]()
	for range r.commits {
		rows := r.db.commit(org, session, 1+r.pick(4))
		hub := r.hubs[r.pick(len(r.hubs))]
		say := func() { hub.Publish(org, session, rows) }
		if r.chance(r.swap) {
			time.AfterFunc(time.Duration(r.pick(int(30*time.Millisecond))), say)
		} else {
			say()
		}
		r.rest(100 * time.Millisecond)
	}
}

// feedReader is a client: it subscribes, reads at its own pace, and resumes when it is thrown out or moves on.
type feedReader struct {
	*feedRound
	org  models.OrgID
	last int64
}

func (f *feedReader) follow(ctx context.Context) {
	f.rest(3 * time.Second)
	f.last = int64(f.pick(len(f.db.feed(f.org)) + 1))
	for ctx.Err() == nil {
		f.visit(ctx)
	}
}

// visit is one subscription.
func (f *feedReader) visit(ctx context.Context) {
	if f.chance(30) {
		// A client that loses its connection after a while.
		var leave func()
		ctx, leave = context.WithTimeout(ctx, time.Duration(f.pick(int(3*time.Second))))
		defer leave()
	}
	after := f.last
	sub, err := f.hubs[f.pick(len(f.hubs))].SubscribeOrg(ctx, f.org, events.Options{After: &after})
	if err != nil {
		if ctx.Err() == nil {
			f.failf("subscribe: %w", err)
		}
		return
	}
	defer sub.Close()
	for caughtUp := false; ; {
		item, err := sub.Next(ctx)
		if lagged, ok := errors.AsType[*events.LaggedError](err); ok {
			if lagged.LastSequence != f.last {
				f.failf("lagged after %d, but %d was delivered last", lagged.LastSequence, f.last)
			}
			return
		}
		if err != nil {
			if ctx.Err() == nil {
				f.failf("next: %w", err)
			}
			return
		}
		if item.Ephemeral {
			e := item.Event
			if caughtUp || e.Kind != models.EventCaughtUp || *e.FeedPosition != f.last || !e.SessionID.IsZero() || e.Sequence != 0 {
				f.failf("%+v came at %d, caught up %v", e, f.last, caughtUp)
			}
			caughtUp = true
		} else {
			f.last++
			if err := sameEvent(item.Event, f.db.feed(f.org)[f.last-1]); err != nil {
				f.failf("no. %d: %w", f.last, err)
			}
		}
		if f.chance(f.stall / 4) {
			f.rest(300 * time.Millisecond)
		}
	}
}
