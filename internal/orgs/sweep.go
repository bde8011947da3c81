package orgs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const sweepInterval = 10 * time.Minute

// Sweep deletes what nobody can ask for any more, idempotency keys and refresh tokens past their time and what has left the windows of budgets, and
// returns how many rows.
// Several processes may sweep at once.
func Sweep(ctx context.Context, db *store.DB, now models.Millis) (int64, error) {
	keys, err := commit.DeleteExpiredKeys(ctx, db, now)
	if err != nil {
		return keys, err
	}
	tokens, err := db.DeleteAcross(ctx,
		"DELETE FROM refresh_tokens WHERE hash IN (SELECT hash FROM refresh_tokens WHERE expires_at < ? ORDER BY expires_at LIMIT ?)", int64(now))
	if err != nil {
		return keys + tokens, fmt.Errorf("delete expired refresh tokens: %w", err)
	}
	slots, err := commit.DeleteLeftSlots(ctx, db, now)
	return keys + tokens + slots, err
}

// NewSweeper returns the job that sweeps every ten minutes.
func NewSweeper(db *store.DB, clk clock.Clock, log *slog.Logger) *background.Job {
	return background.Every(log, "delete expired rows", sweepInterval, func(ctx context.Context) error {
		_, err := Sweep(ctx, db, clock.Millis(clk))
		return err
	})
}
