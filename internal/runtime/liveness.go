package runtime

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
)

// beatLoop says that this runner is alive.
func (e *Engine) beatLoop(ctx context.Context) {
	beat := time.NewTicker(e.cfg.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			e.beat(ctx)
		}
	}
}

// beat raises this runner's counter. When its row is gone, others have taken it for dead: then it starts over.
func (e *Engine) beat(ctx context.Context) {
	id := e.runnerID()
	alive, err := e.cfg.Queue.Beat(ctx, id)
	switch {
	case err != nil && ctx.Err() == nil:
		e.cfg.Logger.Warn("the heartbeat failed", "error", err)
	case err == nil && !alive:
		e.startOver(ctx, id, "this runner was declared dead by another one")
	}
}

// startOver releases what this runner holds and goes on under a new id. It does nothing when the runner has another id than old
// by now. After an error it is tried again: the row of the old id is gone then, or could not be removed and all goes on.
func (e *Engine) startOver(ctx context.Context, old models.RunnerID, why string) {
	e.rebirth.Lock()
	defer e.rebirth.Unlock()
	if e.runnerID() != old {
		return
	}
	e.cfg.Logger.Error("the runner releases what it runs and registers again", "runner", old, "why", why)
	// From here on nothing can be committed under the old id. What it still holds goes on elsewhere.
	if err := e.cfg.Queue.Remove(ctx, old); err != nil {
		e.cfg.Logger.Error("the runner could not release what it runs", "error", err)
		return
	}
	id := models.NewID[models.RunnerEntity]()
	err := e.register(ctx, id)
	e.mu.Lock()
	cancel := e.cancelWork
	e.workCtx, e.cancelWork = context.WithCancelCause(context.Background())
	if err == nil {
		e.id = id
	}
	e.mu.Unlock()
	cancel(errDeclaredDead)
	if err != nil {
		// What is claimed under the old id is taken over by others; the next beat tries again.
		e.cfg.Logger.Error("the runner could not register again", "error", err)
	}
	e.announce()
}

// register takes the lock of a runner, where there is one, and then puts it on the list.
func (e *Engine) register(ctx context.Context, id models.RunnerID) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	r := models.Runner{ID: id, Host: host, StartedAt: clock.Millis(e.cfg.Clock)}
	keyed := false
	if e.cfg.Presence != nil {
		key, err := e.enter(ctx, id)
		if keyed = err == nil; keyed {
			r.LockKey = &key
		} else {
			e.cfg.Logger.Warn("the death of this runner will be detected only when its lease ends: set OSTLER_DATABASE_DIRECT_URL to an address of the database without a pooler", "error", err)
		}
	}
	if err := e.cfg.Queue.Register(ctx, r); err != nil {
		return err
	}
	e.keyed.Store(keyed)
	return nil
}

// enter takes the lock of a runner. It gives up early enough that others can still be watched.
func (e *Engine) enter(ctx context.Context, id models.RunnerID) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Lease/3)
	defer cancel()
	return e.cfg.Presence.Enter(ctx, id)
}

// keepKey takes this runner's lock again when its connection was lost. It is a race with those who look: when one of them was faster,
// the runner's row is gone, and it starts over; so it does when it can't get the lock back for a lease. One that had no
// lock at all tries to get one, once a lease.
func (e *Engine) keepKey(ctx context.Context, w *watch) {
	if e.cfg.Presence == nil || (e.keyed.Load() && e.cfg.Presence.Holds()) {
		w.lost = time.Time{}
		return
	}
	keyed, now, id := e.keyed.Load(), time.Now(), e.runnerID()
	if w.lost.IsZero() {
		w.lost = now
	}
	long := now.Sub(w.lost) >= e.cfg.Lease
	if !keyed && !long {
		return
	}
	key, err := e.enter(ctx, id)
	if keyed {
		w.shake(time.Now())
	}
	switch {
	case err == nil && keyed:
		w.lost = time.Time{}
		e.cfg.Logger.Info("the lock of this runner was lost and taken again")
		e.beat(ctx)
	case err == nil:
		if e.cfg.Queue.SetKey(ctx, id, key) == nil {
			e.keyed.Store(true)
		}
	case !keyed:
		w.lost = now
		if !errors.Is(err, queue.ErrUnproven) {
			e.cfg.Logger.Warn("the lock of this runner can't be taken", "error", err)
		}
	case long && ctx.Err() == nil:
		w.lost = now
		e.startOver(ctx, id, "this runner can't take its lock again: "+err.Error())
	}
}
