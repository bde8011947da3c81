package events_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// connection has several readers that don't wait, as a socket has them.
type connection struct {
	*scene
	allowance events.Allowance
	subs      []*events.Subscription
	// woken counts for each reader how often it was.
	woken []int
	got   []int64
	// hand is how many bytes the event has that each was given last.
	hand []int
}

func (s *scene) connection(readers int, after *int64) *connection {
	c := &connection{scene: s, woken: make([]int, readers), got: make([]int64, readers), hand: make([]int, readers)}
	for i := range readers {
		sub, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{
			After: after, Allowance: &c.allowance, Wake: func() { c.woken[i]++ },
		})
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(sub.Close)
		c.subs = append(c.subs, sub)
	}
	return c
}

// poll asks a reader for an event, and checks what all hold then.
func (c *connection) poll(i int) *events.Item {
	c.Helper()
	item, err := c.subs[i].Poll(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	c.hand[i] = 0
	if item != nil && !item.Ephemeral {
		c.hand[i] = len(item.Event.Data)
		if item.Event.Sequence != c.got[i]+1 {
			c.Fatalf("reader %d got %d after %d", i, item.Event.Sequence, c.got[i])
		}
		c.got[i]++
	}
	c.check()
	return item
}

// check sees that the page is bounded, or one event, and what is live, too, with what is in the readers' hands.
func (c *connection) check() {
	c.Helper()
	count, bytes := 0, 0
	for i, sub := range c.subs {
		n, size := sub.Held()
		if c.hand[i] > 0 {
			n++
		}
		count, bytes = count+n, bytes+size+c.hand[i]
	}
	if most := events.HeldBytes + events.LiveBytes; bytes > most && count > 2 {
		c.Fatalf("%d readers hold %d bytes of %d events, want at most %d, or two events", len(c.subs), bytes, count, most)
	}
}

// drain asks all readers in turn until none has anything.
func (c *connection) drain() {
	c.Helper()
	for more := true; more; {
		more = false
		for i := range c.subs {
			for c.poll(i) != nil {
				more = true
			}
		}
		synctest.Wait()
	}
}

// TestReadersOfOneConnectionHoldOnePage has twenty that read a log of fat events side by side: each gets all of it.
func TestReadersOfOneConnectionHoldOnePage(t *testing.T) {
	for name, size := range map[string]int{"pages of one": 64 << 10, "pages of some": 20 << 10, "larger than a page": 200 << 10} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				for range 12 {
					s.m.commit(models.TurnID{}, titled(size))
				}
				last := int64(s.m.length())
				c := s.connection(20, new(int64(0)))
				// One event of each in turn, so that as many as possible are in the midst of a page.
				for rounds := 0; ; rounds++ {
					least, most := last, int64(0)
					for i := range c.subs {
						c.poll(i)
						least, most = min(least, c.got[i]), max(most, c.got[i])
					}
					if least == last {
						break
					}
					if page := max(1, int64(events.HeldBytes/size)); most-least > 2*page+1 {
						t.Fatalf("one reader has %d events and another %d, with pages of %d", most, least, page)
					}
					if rounds > 10_000 {
						t.Fatalf("the readers got %v of %d", c.got, last)
					}
				}
			})
		})
	}
}

// TestAPageIsPassedOn has a reader leave, or fail, that holds a page or waits for one.
func TestAPageIsPassedOn(t *testing.T) {
	play(t, nil, func(s *scene) {
		for range 12 {
			s.m.commit(models.TurnID{}, titled(20<<10))
		}
		c := s.connection(5, new(int64(0)))
		for i := range c.subs {
			if item := c.poll(i); (item != nil) != (i == 0) {
				t.Fatalf("reader %d got %v", i, item)
			}
		}
		c.subs[1].Close() // who is next
		c.subs[0].Close() // who holds the page
		if c.woken[2] != 1 || c.woken[3] != 0 || c.woken[4] != 0 {
			t.Fatalf("the readers were woken %v times, want the next of those that are there", c.woken)
		}
		if c.poll(3) != nil || c.poll(2) == nil {
			t.Fatal("somebody else has the page")
		}
		c.subs[2].Close()
		c.subs[2].Close()
		if c.woken[3] != 1 || c.woken[4] != 0 {
			t.Fatalf("the readers were woken %v times", c.woken)
		}
		s.b.Stop() // fails those that are left
		for i := range 2 {
			if _, err := c.subs[3+i].Poll(t.Context()); !errors.Is(err, events.ErrStopped) {
				t.Errorf("reader %d got %v, want that the hub has stopped", 3+i, err)
			}
			c.subs[3+i].Close()
		}
		if !c.allowance.AtRest() {
			t.Error("a page is held, and all have left")
		}
	})
}

// TestWhatIsLiveIsBoundedForAConnection has twenty readers that stop while events come, each holding what it was given last. All get
// everything once they go on.
func TestWhatIsLiveIsBoundedForAConnection(t *testing.T) {
	play(t, nil, func(s *scene) {
		c := s.connection(20, new(int64(0)))
		c.drain()
		for range 10 {
			s.publish(titled(12 << 10))
			for i := range c.subs {
				c.poll(i)
			}
		}
		c.drain()
		for n := range 30 {
			s.publish(titled(4 << 10))
			if n%3 == 0 {
				c.poll(n % len(c.subs))
			}
			c.check()
			if live := c.allowance.Live(); live > events.LiveBytes || live == 0 {
				t.Fatalf("%d bytes of live events are held, want some and at most %d", live, events.LiveBytes)
			}
		}
		s.publish(titled(events.LiveBytes * 2))
		c.drain()
		for i, n := range c.got {
			if last := int64(s.m.length()); n != last {
				t.Errorf("reader %d has %d of %d", i, n, last)
			}
		}
		if live := c.allowance.Live(); live != 0 || !c.allowance.AtRest() {
			t.Errorf("%d bytes are held when all was read", live)
		}
		// All are live again, and one with a large event is no reason to leave the others without.
		woken := c.woken[0]
		s.publish(titled(events.LiveBytes * 2))
		if c.woken[0] != woken+1 {
			t.Error("a reader at rest was not woken")
		}
		c.drain()
		for _, sub := range c.subs {
			sub.Close()
		}
		if live := c.allowance.Live(); live != 0 {
			t.Errorf("%d bytes are held, and all have left", live)
		}
	})
}
