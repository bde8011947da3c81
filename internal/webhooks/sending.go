package webhooks

import (
	"context"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
)

// sendLoop sends what is due, for as many webhooks at once as may be.
func (d *Dispatcher) sendLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.send:
		}
		for d.take(ctx) {
		}
	}
}

// take begins as many rounds as there is room for. It tells whether there may be more to begin.
func (d *Dispatcher) take(ctx context.Context) (more bool) {
	free, full := d.room()
	if free == 0 || ctx.Err() != nil {
		return false
	}
	// An organization has few webhooks, so that one which is full leaves room for others in a list of this length.
	list, err := due(ctx, d.cfg.DB, clock.Millis(d.cfg.Clock), full, free+MaxWebhooks)
	if err != nil {
		if ctx.Err() == nil {
			d.cfg.Logger.Warn("webhooks that are due can't be looked for; trying again", "error", err)
		}
		return false
	}
	begun := 0
	for _, key := range list {
		if !d.enter(key) {
			continue
		}
		begun++
		d.life.work.Go(func() {
			defer signal(d.send) // after the place is free
			defer d.leave(key)
			d.try(ctx, key)
		})
	}
	return begun > 0
}

// try is a round whose failure is logged.
func (d *Dispatcher) try(ctx context.Context, key webhookKey) {
	if err := d.round(ctx, key); err != nil && ctx.Err() == nil {
		d.cfg.Logger.Warn("deliveries of a webhook could not be sent; trying again", "org", key.OrgID, "webhook", key.ID, "error", err)
	}
}

// room gives how many more webhooks may be sent for, and the organizations for which no more may.
func (d *Dispatcher) room() (free int, full []models.OrgID) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for org, n := range d.perOrg {
		if n >= d.cfg.OrgAtOnce {
			full = append(full, org)
		}
	}
	return d.cfg.AtOnce - len(d.active), full
}

// enter takes a place; false when there is none, and when the webhook has one already.
func (d *Dispatcher) enter(key webhookKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.active[key]; ok || len(d.active) >= d.cfg.AtOnce || d.perOrg[key.OrgID] >= d.cfg.OrgAtOnce {
		return false
	}
	d.active[key] = struct{}{}
	d.perOrg[key.OrgID]++
	return true
}

func (d *Dispatcher) leave(key webhookKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.active, key)
	if d.perOrg[key.OrgID]--; d.perOrg[key.OrgID] == 0 {
		delete(d.perOrg, key.OrgID)
	}
}
