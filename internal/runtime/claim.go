package runtime

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
)

// Wake tells this engine that there may be something to claim. It never waits.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// announce tells all runners that there is work.
func (e *Engine) announce() {
	if err := e.cfg.Bus.Publish(events.WakeSubject, nil); err != nil {
		e.cfg.Logger.Debug("a wake-up was lost", "error", err)
	}
	e.Wake()
}

// claimLoop fills free slots with executions whenever it hears of some, and at least once per poll interval.
func (e *Engine) claimLoop(ctx context.Context) {
	poll := time.NewTimer(0)
	defer poll.Stop()
	l := listener{e: e}
	defer l.stop()
	own := ear{e: e}
	defer own.stop()
	// unsure reports that something may have been claimed without this process having heard of it.
	unsure := false
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		case <-poll.C:
			e.attendAll(ctx)
		}
		if !e.gather(ctx, last) {
			return
		}
		own.listen()
		// One that listens is counted on by the others: it must have room. What is announced before it listens again is
		// found by the claim that follows.
		l.listen(len(e.slots) > 0)
		e.refreshCaps(ctx)
		if unsure {
			unsure = !e.releaseUnheard(ctx)
		}
		for {
			more, err := e.claimSome(ctx)
			unsure = unsure || err != nil
			if !more {
				break
			}
		}
		last = time.Now()
		if len(e.slots) == 0 {
			e.starved.Store(true)
		}
		l.listen(len(e.slots) > 0)
		poll.Reset(e.cfg.PollInterval)
	}
}

// claimPause is how long a runner that is busy waits after a claim for more that one claim can take.
const claimPause = 20 * time.Millisecond

// gather waits until the last claim is some time ago, when most slots are taken: executions end one by one then, and a claim for each would
// have the database do little else, at the cost of those that write beside it. A message that comes in here finds a slot by itself; what
// is ready without one waits that much longer. It reports whether the loop goes on.
func (e *Engine) gather(ctx context.Context, last time.Time) bool {
	left := claimPause - time.Since(last)
	if left <= 0 || len(e.slots) > cap(e.slots)/2 {
		return true
	}
	return pause(ctx, left)
}

// listener hears wake-ups of all processes, of which each reaches one.
type listener struct {
	e      *Engine
	cancel func()
}

func (l *listener) listen(on bool) {
	switch {
	case !on:
		l.stop()
	case l.cancel == nil:
		cancel, err := l.e.cfg.Bus.QueueSubscribe(events.WakeSubject, "runners", func([]byte) { l.e.Wake() })
		if err != nil {
			// Nothing is lost: the loop looks by itself, and tries again to listen.
			l.e.cfg.Logger.Warn("can't subscribe to wake-ups; turns are found by polling", "error", err)
			return
		}
		l.cancel = cancel
	}
}

func (l *listener) stop() {
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// claimSome claims as many executions as there are free slots. It reports whether there may be more.
func (e *Engine) claimSome(ctx context.Context) (more bool, err error) {
	var free []*slot
	for len(free) < queue.MaxClaim {
		s, ok := e.reserve(models.OrgID{}, models.Execution{})
		if !ok {
			break
		}
		free = append(free, s)
	}
	if len(free) == 0 {
		e.starved.Store(true)
		// One that was freed in between has announced nothing.
		return len(e.slots) > 0 && !e.stopping(), nil
	}
	// Were the claim cut off at a shutdown, the database might still grant it, to a runner that has left.
	asking, cancel := lingering(ctx, commitGrace)
	got, err := e.cfg.Queue.Claim(asking, e.ask(free[0].runner, len(free)))
	cancel()
	e.mu.Lock()
	e.place = got.Next
	e.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		e.cfg.Logger.Warn("nothing can be claimed; trying again", "error", err)
	}
	for i, x := range got.Executions {
		turn, known := x.Row.(*models.Turn)
		if !known || ctx.Err() != nil {
			e.giveUp(ctx, x.Held, nil)
			free[i].Free()
			continue
		}
		e.cfg.Meter.Waited(x.OrgID, e.heldBy(x.OrgID), e.cfg.Clock.Now().Sub(x.Since.Time()))
		free[i].Run(*turn, nil, nil)
	}
	for _, s := range free[len(got.Executions):] {
		s.Free()
	}
	return err == nil && got.More, err
}

// releaseUnheard puts executions back into the queue that this runner holds and knows nothing of: their claim was committed, but
// its answer got lost. As long as the runner lives nobody else would touch them. It reports whether that is settled.
func (e *Engine) releaseUnheard(ctx context.Context) bool {
	held, err := e.cfg.Queue.Held(ctx, e.runnerID())
	if err != nil {
		return false
	}
	settled := true
	for _, h := range held {
		e.mu.Lock()
		s := e.running[h.Execution]
		// An earlier claim of it may not have come to its end here yet.
		beginning := s != nil && s.lease.Epoch == 0
		known := beginning || s != nil && s.lease.Epoch == h.Epoch
		e.mu.Unlock()
		// Whether a message that is being accepted has claimed its turn is known soon: it is looked at again then.
		settled = settled && !beginning
		if known {
			continue
		}
		if err := e.cfg.Queue.Release(ctx, h); err != nil {
			return false
		}
		e.cfg.Logger.Warn("the answer to a claim was lost; what it had claimed returns to the queue", "execution", h.Execution)
	}
	return settled
}
