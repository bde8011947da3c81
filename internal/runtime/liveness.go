package runtime

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// observed is what is known of another runner: its counter, and since when it has stood still by this process's own clock. Clocks of
// other machines are never compared.
type observed struct {
	beat  int64
	since time.Time
}

// liveLoop says that this runner is alive and watches the others.
func (e *Engine) liveLoop(ctx context.Context) {
	beat := time.NewTicker(e.cfg.Heartbeat)
	defer beat.Stop()
	// Looking is cheap, and how often one looks is added to the lease before a dead runner is noticed.
	look := time.NewTicker(e.cfg.Heartbeat / 4)
	defer look.Stop()
	seen := map[models.RunnerID]observed{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			e.beat(ctx)
		case <-look.C:
			e.observe(ctx, seen)
		}
	}
}

// beat raises this runner's counter. When its row is gone, others have taken it for dead: it gives up its turns, which run elsewhere
// by now, and goes on under a new id.
func (e *Engine) beat(ctx context.Context) {
	alive, err := e.cfg.Queue.Beat(ctx, e.runnerID())
	if err != nil || alive {
		if err != nil && ctx.Err() == nil {
			e.cfg.Logger.Warn("the heartbeat failed", "error", err)
		}
		return
	}
	e.cfg.Logger.Error("this runner was declared dead by another one; it starts over")
	id := models.NewID[models.RunnerEntity]()
	err = e.register(ctx, id)
	e.mu.Lock()
	cancel := e.cancelTurns
	e.turnsCtx, e.cancelTurns = context.WithCancelCause(context.Background())
	if err == nil {
		e.id = id
	}
	e.mu.Unlock()
	cancel(errDeclaredDead)
	if err != nil {
		// What is claimed under the old id is taken over by others; the next beat tries again.
		e.cfg.Logger.Error("the runner could not register again", "error", err)
	}
}

// observe declares runners dead whose counter has not moved for one lease, and puts their turns back into the queue.
func (e *Engine) observe(ctx context.Context, seen map[models.RunnerID]observed) {
	list, err := e.cfg.Queue.Runners(ctx)
	if err != nil {
		if ctx.Err() == nil {
			e.cfg.Logger.Warn("the other runners can't be observed", "error", err)
		}
		// Whoever could not be seen must not be taken for silent.
		clear(seen)
		return
	}
	now, me := time.Now(), e.runnerID()
	present := make(map[models.RunnerID]bool, len(list))
	for _, r := range list {
		present[r.ID] = true
		last, known := seen[r.ID]
		if !known || last.beat != r.Beat {
			seen[r.ID] = observed{r.Beat, now}
			continue
		}
		if r.ID == me || now.Sub(last.since) < e.cfg.Lease {
			continue
		}
		n, err := e.cfg.Queue.TakeOver(ctx, r.ID)
		if err != nil {
			e.cfg.Logger.Warn("the turns of a dead runner can't be taken over yet", "runner", r.ID, "error", err)
			continue
		}
		e.cfg.Logger.Warn("a runner has died; its turns go on", "runner", r.ID, "host", r.Host, "turns", n)
		delete(seen, r.ID)
		if n > 0 {
			e.announce()
		}
	}
	if !present[me] {
		// Until it has another id it would claim nothing.
		e.beat(ctx)
	}
	if n, err := e.cfg.Queue.TakeOverOrphans(ctx); err == nil && n > 0 {
		e.announce()
	}
	for id := range seen {
		if !present[id] {
			delete(seen, id)
		}
	}
}
