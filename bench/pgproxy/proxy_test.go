package pgproxy

import (
	"sync/atomic"
	"testing"
)

func TestMessagesAreCountedHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	startup := []byte{0, 0, 0, 8, 0, 3, 0, 0}
	parse := []byte{'P', 0, 0, 0, 7, 'S', 'S', 'S'}
	sync := []byte{'S', 0, 0, 0, 4}
	query := []byte{'Q', 0, 0, 0, 8, 'Q', 'Q', 'Q', 0}
	var all []byte
	for _, message := range [][]byte{startup, parse, sync, query, parse, parse, sync} {
		all = append(all, message...)
	}
	for size := 1; size <= len(all); size++ {
		var trips atomic.Int64
		c := &counter{trips: &trips}
		for rest := all; len(rest) > 0; {
			n := min(size, len(rest))
			c.see(rest[:n])
			rest = rest[n:]
		}
		if trips.Load() != 3 {
			t.Errorf("in pieces of %d bytes: %d round trips, expected 3", size, trips.Load())
		}
	}
}
