package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// cancelGrace is how long running tools get after their context was cancelled.
const cancelGrace = 2 * time.Second

// finished is a call that has ended.
type finished struct {
	turns.Call
	result     tools.Result
	writes     turns.Writes
	durationMs int64
	// goesOn is true when the call was executed before, as far as nobody knows or until it waited.
	goesOn bool
	// runs are the hooks that have seen the result.
	runs []hooks.Ran
	// waits is what the call waits for; zero when it has ended.
	waits models.WaitID
	// payment is what people are to be asked about, when waits is the approval of a payment.
	payment *models.PaymentTerms
	// announced are waits that the tool has asked keys for.
	announced []models.WaitID
	// cut is true when the call failed after it was cancelled, or that the journal contradicts it: what it says is no result.
	cut bool
	// again is true when the call has failed without an effect and is tried again after the delay.
	again bool
	delay time.Duration
	// err is what kept an attempt from beginning that had to be waited for; nil when it has begun.
	err error
}

// others takes the calls that have ended meanwhile with a result, or end within moments: they settle together. Calls that begin together
// often end together, and a commit for the first one alone would take longer than that wait.
func (a *actRun) others() (list []finished) {
	if a.count == 0 {
		return nil
	}
	over := a.r.e.scheduling.moments()
	for a.count > 0 {
		f, ok := a.another(over)
		if !ok {
			return list
		}
		if f.cut {
			a.leave(f)
			continue
		}
		if f.again || !f.waits.IsZero() || f.err != nil {
			// It goes a way of its own, when it comes again.
			a.done <- f
			return list
		}
		a.leave(f)
		list = append(list, *f)
	}
	return list
}

// another takes the next call that ends before it is over.
func (a *actRun) another(over <-chan time.Time) (f *finished, ok bool) {
	if len(a.done) > 0 {
		return <-a.done, true
	}
	select {
	case f = <-a.done:
		return f, true
	case <-over:
		return nil, false
	}
}

// next waits for a call to end; nil means that the turn is to be looked at. When the step is cut short, calls that come to an end within
// the grace still count, as long as they bring a result: a tool that has done its work should not be said to be interrupted. Whoever goes
// on decides about the others by the journal.
func (a *actRun) next() (*finished, error) {
	var grace <-chan struct{}
	cut := a.ctx.Done()
	for a.count > 0 {
		a.r.e.scheduling.await(func() bool { return len(a.done) > 0 || len(a.r.attention) > 0 || (cut != nil && a.ctx.Err() != nil) })
		attention := a.r.attention
		if len(a.done) > 0 {
			attention = nil // what has ended comes first
		}
		select {
		case f := <-a.done:
			a.leave(f)
			if f.err != nil {
				return nil, f.err
			}
			if !f.cut {
				return f, nil
			}
		case <-attention:
			if a.ctx.Err() == nil {
				return nil, nil
			}
		case <-cut:
			cut, grace = nil, a.overtime()
		case <-grace:
			return nil, a.cutShort()
		}
	}
	return nil, a.cutShort()
}

// overtime returns what is closed when the grace is over, which begins with the first call.
func (a *actRun) overtime() <-chan struct{} {
	if a.grace == nil {
		over := make(chan struct{})
		a.grace = over
		time.AfterFunc(cancelGrace, func() { close(over) })
	}
	return a.grace
}

func (a *actRun) leave(f *finished) {
	a.running[f.Class()]--
	a.count--
}

func (a *actRun) cutShort() error {
	if a.ctx.Err() == nil {
		return fmt.Errorf("turn %s acts without a call", a.r.turn.ID)
	}
	return fmt.Errorf("the tools were cut short: %w", context.Cause(a.ctx))
}

// drain waits for the tools that still run, as long as the grace lasts, so that they don't outlive the turn's slot.
func (a *actRun) drain() {
	for a.count > 0 {
		a.r.e.scheduling.await(func() bool { return len(a.done) > 0 })
		select {
		case f := <-a.done:
			a.leave(f)
		case <-a.overtime():
			return
		}
	}
}
