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

// TestNoMoreAnswersAreMadeThanMayWait has many who have an event and make an answer of it, each as large as a third of what may wait.
func TestNoMoreAnswersAreMadeThanMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity, size, makers = 900, 300, 30
		o := newOutbox(capacity, func() {})
		made := make(chan struct{}, makers)
		for i := range makers {
			go func() {
				o.reserve(size)
				made <- struct{}{}
				o.putReserved(bytes.NewBuffer(make([]byte, size)), size, func() bool { return i%2 == 0 })
			}()
		}
		synctest.Wait()
		for sent := 0; sent < makers/2; {
			if o.bytes > capacity || len(o.frames) > capacity/size {
				t.Fatalf("%d bytes wait in %d frames, want at most %d", o.bytes, len(o.frames), capacity)
			}
			if most := sent + capacity/size + makers/2; len(made) > most {
				t.Fatalf("%d answers were made when %d are sent", len(made), sent)
			}
			o.done(o.take(noLimit).Len())
			sent++
			synctest.Wait()
		}
		if o.bytes != 0 || len(made) != makers {
			t.Errorf("%d bytes wait in the end, and %d of %d answers were made", o.bytes, len(made), makers)
		}
		o.reserve(2 * capacity) // one goes alone, however large
		go o.reserve(1)
		synctest.Wait()
		o.close() // nobody waits any more
	})
}
