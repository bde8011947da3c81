package resolvers

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// Whatever is given as a cursor: it is refused with a message, or it is exactly how that place is written, in one kind of list alone.
func FuzzCursor(f *testing.F) {
	position := int64(9)
	for _, s := range []string{
		"", "AQ", "start", sequenceCursor(7), eventCursor(&models.Event{Sequence: 7}, events.Mark{}),
		eventCursor(&models.Event{Sequence: 7, FeedPosition: &position}, events.Mark{}), eventCursor(&models.Event{Sequence: 7, FeedPosition: &position}, events.Mark{1, 2}),
		encodeCursor(eventKind, make([]byte, markedCursor)),
		idCursor(models.NewID[models.AgentEntity]()), encodeCursor(sequenceKind, []byte("\xff\xff\xff\xff\xff\xff\xff\xff")), encodeCursor("agent", nil),
		usageCursor([]books.UsageGroup{books.ByDay, books.ByCustomer}, &books.UsageKey{Day: 20_000, CustomerKey: "Ärger"}),
		usageCursor([]books.UsageGroup{books.ByModel, books.BySession, books.ByTool}, &books.UsageKey{Tool: "read"}),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		kinds := 0
		check := func(written string) {
			t.Helper()
			if kinds++; written != s {
				t.Fatalf("%q was read as %q", s, written)
			}
		}
		if sequence, err := decodeSequenceCursor(s); err == nil {
			check(sequenceCursor(sequence))
			if sequence < 0 {
				t.Fatalf("%q is at %d", s, sequence)
			}
		}
		if sequence, position, m, err := decodeEventCursor(s); err == nil {
			check(eventCursor(&models.Event{Sequence: sequence, FeedPosition: &position}, m))
			if sequence < 0 || position < 0 {
				t.Fatalf("%q is at %d, %d", s, sequence, position)
			}
		}
		if id, err := decodeIDCursor[models.AgentEntity](s); err == nil {
			check(idCursor(id))
		}
		for _, groups := range [][]books.UsageGroup{{books.ByDay, books.ByCustomer}, {books.ByModel, books.BySession, books.ByTool}, {books.ByAgent, books.ByUser}} {
			if k, err := decodeUsageCursor(groups, s); err == nil {
				check(usageCursor(groups, &k))
			}
		}
		if kinds > 1 {
			t.Fatalf("%q is a cursor of %d kinds of lists", s, kinds)
		}
		if _, err := idWindow[models.SessionEntity](nil, &s, 20); err == nil && kinds > 0 {
			t.Fatalf("%q is a cursor of another list, too", s)
		}
	})
}
