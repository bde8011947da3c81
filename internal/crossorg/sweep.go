package crossorg

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	sweepInterval = 10 * time.Minute
	// sweepBatch bounds one transaction, so that a sweep never stands in anybody's way.
	sweepBatch = 1000
)

// Sweep removes what nobody can ask for any more: idempotency keys and refresh tokens past their time. It gives how many rows
// went. Several processes may sweep at once.
func Sweep(ctx context.Context, db *store.DB, now models.Millis) (int64, error) {
	var total int64
	for _, statement := range []string{
		`DELETE FROM idempotency_keys WHERE (org_id, operation, key) IN
(SELECT org_id, operation, key FROM idempotency_keys WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`,
		`DELETE FROM refresh_tokens WHERE hash IN (SELECT hash FROM refresh_tokens WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`,
	} {
		for {
			var n int64
			err := db.WriteAcross(ctx, func(tx *gorm.DB) error {
				res := tx.Exec(statement, int64(now), sweepBatch)
				n = res.RowsAffected
				return res.Error
			})
			total += n
			if err != nil {
				return total, fmt.Errorf("sweep expired rows: %w", err)
			}
			if n < sweepBatch {
				break
			}
		}
	}
	return total, nil
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
