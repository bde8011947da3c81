package runtime

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
)

// watch is what is known of the other runners, and how far what is seen of them can be trusted. All times are by this process's own
// clock: those of other machines are never compared.
type watch struct {
	seen map[models.RunnerID]observed
	// server is when the database says that it has started. It changes with a restart, and when another server takes its place.
	server time.Time
	// shaken is when the database started, or this process had lost its lock, last: others have lost theirs then, too, and
	// need time to take them again.
	shaken time.Time
	// lost is since when this runner has no lock.
	lost time.Time
	// swept is when executions without a runner were looked for last.
	swept time.Time
}

// observed is a runner's counter, and since when it has stood still at least.
type observed struct {
	beat  int64
	since time.Time
}

func newWatch() *watch { return &watch{seen: map[models.RunnerID]observed{}} }

func (w *watch) shake(at time.Time) {
	if at.After(w.shaken) {
		w.shaken = at
	}
}

// trusts reports whether a lock that is not there proves its runner dead.
func (w *watch) trusts(s queue.Sight, now time.Time, lease time.Duration) bool {
	return s.Sure && now.Sub(w.shaken) >= lease
}

// restarted notes when the server has started, and reports whether that is news.
func (w *watch) restarted(s queue.Sight, now time.Time, lease time.Duration) bool {
	if s.ServerStart.IsZero() || s.ServerStart.Equal(w.server) {
		return false
	}
	first := w.server.IsZero()
	w.server = s.ServerStart
	// The first one may be long ago. A later one is new to this process, whatever the server's clock says of it.
	if first && s.ServerAge >= lease {
		return false
	}
	if first {
		now = now.Add(-max(0, s.ServerAge))
	}
	w.shake(now)
	return true
}

// watchLoop watches the other runners.
func (e *Engine) watchLoop(ctx context.Context) {
	w := newWatch()
	for {
		if e.cfg.Presence != nil {
			e.cfg.Presence.Wait(ctx, e.cfg.Look)
		} else {
			// How often one looks is added to the lease before a death is noticed.
			pause(ctx, e.cfg.Heartbeat/4)
		}
		if ctx.Err() != nil {
			return
		}
		e.keepKey(ctx, w)
		e.observe(ctx, w)
	}
}

// look sees who is there.
func (e *Engine) look(ctx context.Context) (queue.Sight, error) {
	if e.cfg.Presence != nil {
		// A look that is cut off costs the connection, and with it the lock: it ends by itself, also when the runner goes down.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Lease)
		defer cancel()
		return e.cfg.Presence.Look(ctx)
	}
	list, err := e.cfg.Queue.Runners(ctx)
	var s queue.Sight
	for _, r := range list {
		s.Runners = append(s.Runners, queue.Seen{ID: r.ID, Host: r.Host, Beat: r.Beat})
	}
	return s, err
}

// observe declares runners dead whose lock is gone, or whose counter has not moved for one lease, and puts what they held back into
// the queue.
func (e *Engine) observe(ctx context.Context, w *watch) {
	// Should this process be frozen while it looks, what it sees is as old as this.
	asked := time.Now()
	sight, err := e.look(ctx)
	if err != nil {
		if ctx.Err() == nil {
			e.cfg.Logger.Warn("the other runners can't be observed", "error", err)
		}
		// Whoever could not be seen must not be taken for silent.
		clear(w.seen)
		return
	}
	answered := time.Now()
	if w.restarted(sight, answered, e.cfg.Lease) {
		// A death that follows from the restart is declared by the heartbeat, one lease after it began.
		e.cfg.Queue.Forgive(w.shaken.Add(2 * e.cfg.Lease))
	}
	trusted, me := w.trusts(sight, asked, e.cfg.Lease), e.runnerID()
	present := make(map[models.RunnerID]bool, len(sight.Runners))
	for _, r := range sight.Runners {
		present[r.ID] = true
		last, known := w.seen[r.ID]
		if !known || last.beat != r.Beat {
			last = observed{r.Beat, answered}
			w.seen[r.ID] = last
		}
		silent := asked.Sub(last.since) >= e.cfg.Lease
		gone := trusted && r.Keyed && !r.Held
		switch {
		case r.ID == me && sight.Sure && r.Keyed && !r.Held:
			// Whatever holds the connection, it isn't what holds the lock.
			e.cfg.Presence.Drop()
		case r.ID != me && (silent || gone):
			e.takeOver(ctx, w, r)
		}
	}
	if !present[me] {
		// Until it has another id it would claim nothing.
		e.beat(ctx)
	}
	// Somebody may have died between taking a runner off the list and taking over what it held. That is rare, and looking for it
	// reads all that is held.
	if answered.Sub(w.swept) >= e.cfg.Heartbeat/4 {
		w.swept = answered
		if n, err := e.cfg.Queue.TakeOverOrphans(ctx); err == nil && n > 0 {
			e.announce()
		}
	}
	for id := range w.seen {
		if !present[id] {
			delete(w.seen, id)
		}
	}
}

func (e *Engine) takeOver(ctx context.Context, w *watch, r queue.Seen) {
	n, err := e.cfg.Queue.TakeOver(ctx, r.ID)
	if err != nil {
		e.cfg.Logger.Warn("what a dead runner held can't be taken over yet", "runner", r.ID, "error", err)
		return
	}
	e.cfg.Logger.Warn("a runner has died; what it held is taken over", "runner", r.ID, "host", r.Host, "executions", n, "lock", r.Keyed && !r.Held)
	delete(w.seen, r.ID)
	if n > 0 {
		e.announce()
	}
}
