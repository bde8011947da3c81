package orgs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const sweepInterval = 10 * time.Minute

// Sweep deletes what nobody can ask for any more, the idempotency keys and refresh tokens past their time, and returns how many rows.
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
	return keys + tokens, nil
}

// Sweeper sweeps in the background.
type Sweeper struct {
	db    *store.DB
	clock clock.Clock
	log   *slog.Logger
	once  sync.Once
	stop  context.CancelFunc
	done  chan struct{}
}

// StartSweeper sweeps now and then, until Stop.
func StartSweeper(db *store.DB, clk clock.Clock, log *slog.Logger) *Sweeper {
	ctx, stop := context.WithCancel(context.Background()) //nolint:gosec // G118: Stop calls it
	s := &Sweeper{db: db, clock: clk, log: log, stop: stop, done: make(chan struct{})}
	go s.run(ctx)
	return s
}

// Stop ends the sweeper. It may be called more than once.
func (s *Sweeper) Stop() {
	s.once.Do(s.stop)
	<-s.done
}

func (s *Sweeper) run(ctx context.Context) {
	defer close(s.done)
	clock.Every(ctx, sweepInterval, nil, func() {
		if _, err := Sweep(ctx, s.db, clock.Millis(s.clock)); err != nil && ctx.Err() == nil {
			s.log.Warn("expired rows could not be removed; trying again later", "error", err)
		}
	})
}
