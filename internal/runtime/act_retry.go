package runtime

import (
	"errors"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// decide finds out whether the call is tried again, and after which time. random is from 0 to less than 1.
func (f *finished) decide(idempotencyKey string, random float64) {
	f.delay, f.again = f.Record.Frozen.RetryAfter(f.result, idempotencyKey, f.Effect.Attempt, random)
}

// retry begins another attempt of a call that has failed without an effect.
func (a *actRun) retry(f finished) (*turns.Writer, error) {
	o := f.Call
	o.Effect.Attempt++
	if f.delay > 0 || a.ctx.Err() != nil {
		// Whoever takes the turn over meanwhile makes the attempt. It is running when that has come.
		o.Effect.State, o.Effect.DueAt = models.EffectClaimed, (a.r.e.nowMillis() + models.Millis(f.delay.Milliseconds())).Ptr()
	}
	c := &turns.RetryCall{Call: o}
	w, err := a.submit(c, &c.Writer, 0)
	if err != nil {
		return nil, err
	}
	if w.Turn.Cancel == nil && a.ctx.Err() == nil {
		a.launch(o)
	}
	return w, nil
}

// due returns for how long a claimed call has to wait for its next attempt; nothing when it may begin.
func (r *turnRun) due(o *turns.Call) time.Duration {
	if o.Effect.State != models.EffectClaimed || o.Effect.DueAt == nil {
		return 0
	}
	return o.Effect.DueAt.Time().Sub(r.e.cfg.Clock.Now())
}

// awaitAttempt waits until the next attempt of a call is due, and then has it begin. Others may have taken the turn over while it waited,
// and have made the attempt: that is found out by the commit, so that it is made by one of them.
func (a *actRun) awaitAttempt(f *finished, d *durable) {
	if wait := a.r.due(&f.Call); a.ctx.Err() != nil || wait > 0 && a.r.e.cfg.Sleep(a.ctx, wait) != nil {
		f.cut = true
		return
	}
	f.Effect.State, f.Effect.DueAt = models.EffectRunning, nil
	err := d.submit(a.ctx, &turns.BeginAttempt{Writer: d.writer(), Effect: f.Effect})
	if errors.Is(err, turns.ErrCancelled) {
		a.cut(turns.ErrCancelled)
	}
	if f.cut = a.ctx.Err() != nil; !f.cut {
		f.err = err
	}
}
