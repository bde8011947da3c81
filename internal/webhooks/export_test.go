package webhooks

import (
	"context"
	"sync"

	"github.com/ostler-dev/ostler/internal/clock"
)

// NextPause is nextPause.
var NextPause = nextPause

// Feed makes the deliveries of all feeds, as the background does.
func (d *Dispatcher) Feed(ctx context.Context) error {
	var last webhookKey
	for {
		var err error
		if last, err = d.look(ctx, last); err != nil {
			return err
		}
		if last == (webhookKey{}) {
			break
		}
	}
	for d.advanceNext(ctx) {
	}
	return ctx.Err()
}

// Send sends what is due now, as the background does, until nothing is.
func (d *Dispatcher) Send(ctx context.Context) error {
	for {
		list, err := due(ctx, d.cfg.DB, clock.Millis(d.cfg.Clock), nil, lookPage)
		if err != nil || len(list) == 0 {
			return err
		}
		var wg sync.WaitGroup
		for _, key := range list {
			wg.Go(func() { d.try(ctx, key) })
		}
		wg.Wait()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// WakeSender makes it look for what is due.
func (d *Dispatcher) WakeSender() { signal(d.send) }
