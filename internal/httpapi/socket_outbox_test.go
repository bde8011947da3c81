package httpapi

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
)

// TestAnOutboxAsksForNothingThatHasNoRoom has many who make frames for one socket that is not read.
func TestAnOutboxAsksForNothingThatHasNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity, makers = 1000, 50
		o := newOutbox(capacity, func() {})
		o.put(bytes.NewBufferString(strings.Repeat("x", capacity/2+1)), nil)
		made, ended := make(chan struct{}, makers), make(chan struct{}, makers+1)
		for range makers {
			go func() {
				o.await()
				made <- struct{}{}
				o.put(bytes.NewBufferString("y"), nil)
				ended <- struct{}{}
			}()
		}
		synctest.Wait()
		if len(made) > 0 {
			t.Fatalf("%d frames were made though the outbox is full", len(made))
		}
		o.done(o.take(noLimit).Len())
		synctest.Wait()
		if len(ended) != makers {
			t.Fatalf("%d of %d went on when there was room", len(ended), makers)
		}
		o.put(bytes.NewBufferString(strings.Repeat("x", capacity-makers)), nil)
		go func() {
			o.await()
			ended <- struct{}{}
		}()
		synctest.Wait()
		o.close()
		synctest.Wait()
		if len(ended) != makers+1 {
			t.Error("somebody waits for a socket that is closed")
		}
	})
}
