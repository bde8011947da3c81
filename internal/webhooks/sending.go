package webhooks

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/shares"
)

// claimed is a webhook that this process has for itself until a time.
type claimed struct {
	webhookKey

	at, until models.Millis
}

// newWork sends what is due, for as many webhooks at once as may be.
func (d *Dispatcher) newWork() *shares.Work[models.OrgID, claimed] {
	return shares.NewWork(shares.WorkConfig[models.OrgID, claimed]{
		Places: d.cfg.AtOnce, Each: d.cfg.OrgAtOnce,
		Due:   d.due,
		Key:   func(c *claimed) models.OrgID { return c.OrgID },
		Claim: d.claim,
		Do:    d.round,
		Failed: func(err error) {
			d.cfg.Logger.Warn("webhooks that are due could not be sent; trying again", "error", err)
		},
	})
}

// due returns webhooks with deliveries that are due. An organization has few, so that one that is full leaves room for others in a list of
// this length.
func (d *Dispatcher) due(ctx context.Context, without []models.OrgID) ([]claimed, error) {
	keys, err := due(ctx, d.cfg.DB, clock.Millis(d.cfg.Clock), without, d.cfg.AtOnce+MaxWebhooks)
	list := make([]claimed, len(keys))
	for i, key := range keys {
		list[i].webhookKey = key
	}
	return list, err
}

// claim claims a webhook for a round.
func (d *Dispatcher) claim(ctx context.Context, c *claimed) (bool, error) {
	c.at = clock.Millis(d.cfg.Clock)
	c.until = millis(c.at, lease)
	n, err := d.cfg.DB.Exec(ctx, c.OrgID, `UPDATE webhooks SET leased_until = ? WHERE org_id = ? AND id = ? AND enabled AND due_at <= ?
AND (leased_until IS NULL OR leased_until <= ?)`, int64(c.until), c.OrgID[:], c.ID[:], int64(c.at), int64(c.at))
	if err != nil {
		return false, fmt.Errorf("claim webhook %s: %w", c.ID, err)
	}
	return n == 1, nil
}
