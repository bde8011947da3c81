package commit

import (
	"context"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// DeleteExpiredKeys deletes the idempotency keys of all organizations that expired before now, and returns how many.
func DeleteExpiredKeys(ctx context.Context, db *store.DB, now models.Millis) (int64, error) {
	n, err := db.DeleteAcross(ctx, `DELETE FROM idempotency_keys WHERE (org_id, operation, key) IN
(SELECT org_id, operation, key FROM idempotency_keys WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`, int64(now))
	if err != nil {
		return n, fmt.Errorf("delete expired idempotency keys: %w", err)
	}
	return n, nil
}

// slotSlack is how much longer slots are kept than the windows that they were in: nodes tell the time a little differently.
const slotSlack = models.Millis(10 * time.Minute / time.Millisecond)

// DeleteLeftSlots deletes the slots of all budgets that have left their windows before now, and returns how many. Those that were in the window
// when the row was written last stay until it is written again: its sum is theirs, and is checked against them.
func DeleteLeftSlots(ctx context.Context, db *store.DB, now models.Millis) (int64, error) {
	n, err := db.DeleteAcross(ctx, `DELETE FROM budget_slots WHERE (org_id, budget_id, slot) IN (SELECT s.org_id, s.budget_id, s.slot
FROM budget_slots s JOIN budgets b ON b.org_id = s.org_id AND b.id = s.budget_id
WHERE s.newest < ? - coalesce(b.period_seconds, 0) * 1000 AND s.newest < b.updated_at - coalesce(b.period_seconds, 0) * 1000 LIMIT ?)`,
		int64(now-slotSlack))
	if err != nil {
		return n, fmt.Errorf("delete old slots of budgets: %w", err)
	}
	return n, nil
}
