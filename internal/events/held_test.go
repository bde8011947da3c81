package events_test

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// titled returns a payload of so many bytes and a few more.
func titled(size int) events.Payload {
	return events.SessionTitleChanged{Title: new(strings.Repeat("hay and oats ", size/13))}
}

// bearable checks what a reader holds: a bounded number of bytes, or one event.
func bearable(t *testing.T, sub *events.Subscription) {
	t.Helper()
	if count, bytes := sub.Held(); bytes > events.HeldBytes && count > 1 {
		t.Fatalf("a reader holds %d bytes of %d events, want at most %d, or one event", bytes, count, events.HeldBytes)
	}
}

// drain reads up to a sequence and returns how many events came.
func drain(t *testing.T, sub *events.Subscription, after, last int64) {
	t.Helper()
	for n := after + 1; n <= last; {
		item, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		bearable(t, sub)
		if item.Ephemeral {
			continue
		}
		if item.Event.Sequence != n {
			t.Fatalf("got %d, want %d", item.Event.Sequence, n)
		}
		n++
	}
}

// TestWhatAReaderHolds has readers that stop at any event of a log, and of what is live.
func TestWhatAReaderHolds(t *testing.T) {
	for name, sizes := range map[string][]int{
		"large events":       {100 << 10, 100 << 10, 10, 10, 100 << 10, 10},
		"larger ones":        {1 << 20, 10, 1 << 20, 1 << 20},
		"just what is bound": {events.HeldBytes, events.HeldBytes / 2, events.HeldBytes / 2, 1},
		"medium ones":        {4 << 10, 40 << 10, 8 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				var payloads []events.Payload
				for i := range 60 {
					payloads = append(payloads, titled(sizes[i%len(sizes)]))
				}
				s.m.commit(models.TurnID{}, payloads...)
				replayed := int64(s.m.length())
				sub, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{After: new(int64(0))})
				if err != nil {
					s.Fatal(err)
				}
				defer sub.Close()
				drain(s.T, sub, 0, replayed)
				if item, err := sub.Next(s.Context()); err != nil || item.Event.Kind != models.EventCaughtUp {
					s.Fatalf("got %v, %v", item, err)
				}
				// Live, in bursts and one by one, while it reads nothing.
				s.publish(payloads[:30]...)
				bearable(s.T, sub)
				for _, p := range payloads[30:] {
					s.publish(p)
					bearable(s.T, sub)
				}
				drain(s.T, sub, replayed, replayed+60)
				// It is live again.
				s.publish(titled(1))
				drain(s.T, sub, replayed+60, replayed+61)
			})
		})
	}
}

// TestSmallEventsAreReadManyAtOnce is the usual case, which must not pay for the bound.
func TestSmallEventsAreReadManyAtOnce(t *testing.T) {
	play(t, nil, func(s *scene) {
		var payloads []events.Payload
		for range 1500 {
			payloads = append(payloads, titled(150))
		}
		s.m.commit(models.TurnID{}, payloads...)
		last := int64(s.m.length())
		sub, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{After: new(int64(0))})
		if err != nil {
			s.Fatal(err)
		}
		defer sub.Close()
		before := s.m.count(&s.m.reads)
		drain(s.T, sub, 0, last)
		if n, want := s.m.count(&s.m.reads)-before, int(last+499)/500; n != want {
			s.Errorf("%d events took %d reads, want %d", last, n, want)
		}
	})
}

// TestReadsAreBoundedInBytes reads a log and its feed with a limit, on both databases, whose statements must not give more.
func TestReadsAreBoundedInBytes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := events.NewLog(db)
		key := seed(t, db, 0)
		const limit = 10_000
		var list []models.Event
		for i, size := range []int{10, 20, 9000, 2000, 50_000, 50_000, 10, 9984, 5000, 4000, 3000, 3000, 3000, 1} {
			text := strings.Repeat("x", max(size-8, 0)) // compressed to almost nothing
			list = append(list, models.Event{
				OrgID: key.Org, SessionID: key.Session, Sequence: int64(i + 1), ID: models.NewID[models.EventEntity](), OccurredAt: 1,
				Kind: models.EventSessionTitleChanged, Data: models.JSON(fmt.Sprintf(`{"t":%q}`, text)), FeedPosition: new(int64(i + 1)),
			})
		}
		insert(t, db, list...)
		if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return store.OneRow(store.Of(tx.Model(&models.Session{}), key.Org).Where("id = ?", key.Session).Update("last_sequence", len(list)))
		}); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(after int64) ([]models.Event, error){
			"session": func(after int64) ([]models.Event, error) {
				return log.Read(t.Context(), key.Org, key.Session, after, events.Limit{Events: 4, Bytes: limit})
			},
			"feed": func(after int64) ([]models.Event, error) {
				return log.ReadFeed(t.Context(), key.Org, after, events.Limit{Events: 4, Bytes: limit})
			},
		} {
			t.Run(name, func(t *testing.T) {
				at := 0
				for at < len(list) {
					page, err := read(int64(at))
					if err != nil || len(page) == 0 || len(page) > 4 {
						t.Fatalf("after %d: %d events, %v", at, len(page), err)
					}
					bytes := 0
					for i, e := range page {
						if bytes += len(e.Data); e.ID != list[at+i].ID || string(e.Data) != string(list[at+i].Data) {
							t.Fatalf("after %d: got %d", at, e.Sequence)
						}
					}
					if bytes > limit && len(page) > 1 {
						t.Errorf("after %d: %d events with %d bytes", at, len(page), bytes)
					}
					// It is no smaller than it has to be.
					if next := at + len(page); next < len(list) && len(page) < 4 && bytes+len(list[next].Data) <= limit {
						t.Errorf("after %d: %d events with %d bytes, and the next one has %d", at, len(page), bytes, len(list[next].Data))
					}
					at += len(page)
				}
				if page, err := read(int64(len(list))); err != nil || len(page) != 0 {
					t.Errorf("past the end: %d events, %v", len(page), err)
				}
			})
		}
	})
}
