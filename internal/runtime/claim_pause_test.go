package runtime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A runner most of whose slots are taken lets some time pass between two claims, and one that has many free claims at once.
func TestABusyRunnerGathersTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{slots: make(chan struct{}, 4)}
		ctx, cancel := context.WithCancel(t.Context())
		waited := func(last time.Time) time.Duration {
			t.Helper()
			begun := time.Now()
			if !e.gather(ctx, last) {
				t.Error("the loop is told to end")
			}
			return time.Since(begun)
		}
		if d := waited(time.Now().Add(-claimPause / 4)); d != claimPause*3/4 {
			t.Errorf("a quarter of the pause after the last claim it waits for %v", d)
		}
		if d := waited(time.Now().Add(-claimPause)); d != 0 {
			t.Errorf("after the pause it waits for %v", d)
		}
		if d := waited(time.Time{}); d != 0 {
			t.Errorf("before the first claim it waits for %v", d)
		}
		for range 3 {
			e.slots <- struct{}{}
		}
		if d := waited(time.Now()); d != 0 {
			t.Errorf("with three of four slots free it waits for %v", d)
		}
		<-e.slots
		cancel()
		if e.gather(ctx, time.Now()) {
			t.Error("the loop goes on after its end")
		}
	})
}
