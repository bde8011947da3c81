package webhooks

import (
	"context"
	"errors"
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
	return errors.Join(d.send.All(ctx), ctx.Err())
}

// WakeSender makes it look for what is due.
func (d *Dispatcher) WakeSender() { d.send.Wake() }
