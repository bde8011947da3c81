package runtime

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
)

// orgSlots is how many of a runner's slots one organization gets: three quarters. So a flood of one leaves a quarter in which the
// turns of others begin at once, instead of when the flood's next one ends; and a single organization loses little, since
// slots bound memory and not throughput. Fewer than four slots can't be divided like that.
func orgSlots(slots int) int {
	if slots < 4 {
		return slots
	}
	return slots * 3 / 4
}

// fits reports whether an organization may get one more slot without a claim. While a claim is under way, its slots may all
// become this organization's. The lock is held.
func (e *Engine) fits(org models.OrgID) bool {
	if org.IsZero() {
		return true
	}
	return e.caps.Of(org) == 0 && e.held[org]+e.held[models.OrgID{}] < e.cfg.OrgSlots
}

// heldBy returns how many slots an organization has.
func (e *Engine) heldBy(org models.OrgID) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held[org]
}

// letGo takes a slot from an organization. The lock is held.
func (e *Engine) letGo(org models.OrgID) {
	if e.held[org]--; e.held[org] <= 0 {
		delete(e.held, org)
	}
}

// ask says what a claim for n slots, which were reserved for it, may take.
func (e *Engine) ask(runner models.RunnerID, n int) queue.Ask {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := queue.Ask{Runner: runner, Executions: n, From: e.place, PerOrg: e.cfg.OrgSlots, Caps: e.caps}
	for org, held := range e.held {
		capacity := e.cfg.OrgSlots - held
		if org.IsZero() || capacity >= n {
			continue
		}
		if a.Capacities == nil {
			a.Capacities = map[models.OrgID]int{}
		}
		a.Capacities[org] = capacity
	}
	// Whoever frees a slot from now on wakes the claims.
	e.limited = len(a.Capacities) > 0 || a.PerOrg < n
	return a
}

// refreshCaps brings what is known of caps up to date, at most once per poll interval. What it does not know yet may let a turn
// begin with its message that should have waited; the claims after it count that one.
func (e *Engine) refreshCaps(ctx context.Context) {
	e.mu.Lock()
	due := time.Since(e.capsRead) >= e.cfg.PollInterval
	e.mu.Unlock()
	if !due {
		return
	}
	caps, err := e.cfg.Queue.Caps(ctx, e.cfg.OrgActiveTurns)
	if err != nil {
		if ctx.Err() == nil {
			e.cfg.Logger.Warn("the limits of organizations can't be read; the last known ones still apply", "error", err)
		}
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.caps, e.capsRead = caps, time.Now()
}
