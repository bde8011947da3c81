package clock

import (
	"context"
	"time"
)

// Every calls do until ctx is done: at each of the ticks, or once per interval when ticks is nil. A call that takes longer makes the next
// one come later.
func Every(ctx context.Context, interval time.Duration, ticks <-chan time.Time, do func()) {
	if ticks == nil {
		t := time.NewTicker(interval)
		defer t.Stop()
		ticks = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			do()
		}
	}
}
