package commit

import (
	"context"
	"fmt"

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
