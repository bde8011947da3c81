package commit

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// hasty makes the hub's waits short: what the bus loses is found by the sweep, and a test needn't wait a second for it.
type hasty struct{}

func (hasty) AfterFunc(d time.Duration, fn func()) func() bool { return time.AfterFunc(d/50, fn).Stop }

// unreliable joins several nodes. It loses, repeats and delays messages at random.
type unreliable struct {
	mu   sync.Mutex
	next int
	fns  map[int]subscriber
}

type subscriber struct {
	subject string
	fn      func([]byte)
}

var _ events.Bus = (*unreliable)(nil)

func (b *unreliable) Publish(subject string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.fns {
		if s.subject != subject {
			continue
		}
		for range []int{0, 1, 1, 2}[rand.IntN(4)] {
			go s.fn(data) // in any order
		}
	}
	return nil
}

func (b *unreliable) Subscribe(subject string, fn func([]byte)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.next
	b.next++
	b.fns[id] = subscriber{subject, fn}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.fns, id)
	}, nil
}

func (b *unreliable) QueueSubscribe(subject, _ string, fn func([]byte)) (func(), error) {
	return b.Subscribe(subject, fn)
}

func (b *unreliable) OnReconnect(func()) func() { return func() {} }
func (b *unreliable) Connected() bool           { return true }
func (b *unreliable) Shared() bool              { return true }
func (b *unreliable) Close() error              { return nil }

// Three nodes commit on one database and tell of it over a bad bus; readers come, leave and resume on any of them. Each sees its
// organization's feed from 1 to the end, as the database has it.
func TestReadersOfAFeedWhileManyCommit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		bus := &unreliable{fns: map[int]subscriber{}}
		log := events.NewLog(w.db)
		var nodes []*Committer
		var hubs []*events.Hub
		for range 3 {
			h := events.NewHub(events.Config{Log: log, Bus: bus, Timers: hasty{}, Buffer: 16})
			h.Start()
			t.Cleanup(h.Stop)
			hubs = append(hubs, h)
			if w.db.Pool != nil || len(nodes) == 0 { // a file has one process that writes
				c := w.committer(nil)
				c.Observe(func(c *Committed) {
					for _, s := range c.Sessions {
						h.Publish(s.Org, s.Session, s.Events)
					}
				})
				nodes = append(nodes, c)
			}
		}
		w.faults.set(func(point string) error {
			if rand.IntN(30) == 0 {
				return errors.New("injected at " + point)
			}
			return nil
		})
		orgs := w.members(3)
		total := make([]int, len(orgs))
		var writers, readers sync.WaitGroup
		const sessions, commits = 3, 12
		for i, m := range orgs {
			for s := range sessions {
				id := models.NewID[models.SessionEntity]()
				n := 1 + (i+s)%3
				total[i] += 1 + n*commits
				writers.Go(func() {
					if err := nodes[s%len(nodes)].Submit(context.Background(), m.opened(id)); err != nil {
						t.Errorf("open: %v", err)
					}
					for k := range commits {
						if err := nodes[(s+k)%len(nodes)].Submit(context.Background(), m.happens(id, n)); err != nil {
							t.Errorf("commit: %v", err)
						}
					}
				})
			}
		}
		seen := make([][]models.Event, 9)
		for r := range seen {
			readers.Go(func() {
				for len(seen[r]) < total[r%len(orgs)] && !t.Failed() {
					seen[r] = visitFeed(t, hubs[rand.IntN(len(hubs))], orgs[r%len(orgs)].org, seen[r], total[r%len(orgs)])
				}
			})
		}
		writers.Wait()
		readers.Wait()
		w.faults.set(nil)
		for r, got := range seen {
			want := w.feed(orgs[r%len(orgs)].org)
			same := slices.EqualFunc(got, want, func(a, b models.Event) bool {
				return a.ID == b.ID && a.SessionID == b.SessionID && a.Sequence == b.Sequence && *a.FeedPosition == *b.FeedPosition
			})
			if !same {
				t.Errorf("reader %d has %d events, the feed %d, or they differ", r, len(got), len(want))
			}
		}
	})
}

// visitFeed is one subscription of a reader that has seen some of a feed; it leaves after a few events, or with the last.
func visitFeed(t *testing.T, h *events.Hub, org models.OrgID, seen []models.Event, total int) []models.Event {
	sub, err := h.SubscribeOrg(t.Context(), org, events.Options{After: new(int64(len(seen)))})
	if err != nil {
		t.Errorf("subscribe: %v", err)
		return seen
	}
	defer sub.Close()
	for left := 1 + rand.IntN(40); left > 0 && len(seen) < total; {
		item, err := sub.Next(t.Context())
		if _, lagged := errors.AsType[*events.LaggedError](err); lagged {
			return seen
		}
		if err != nil {
			t.Errorf("next: %v", err)
			return seen
		}
		if item.Ephemeral {
			continue
		}
		seen = append(seen, item.Event)
		left--
		if n := int64(len(seen)); *item.Event.FeedPosition != n {
			t.Errorf("%d came where %d is due", *item.Event.FeedPosition, n)
			return seen
		}
	}
	return seen
}
