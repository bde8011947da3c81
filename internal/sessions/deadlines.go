package sessions

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// deadlineInterval is how often overdue waits are looked for.
	deadlineInterval = 500 * time.Millisecond
	// deadlineBatch is how many are read at once, deadlineWorkers how many are ended at once: enough that they share transactions.
	deadlineBatch   = 256
	deadlineWorkers = 16
)

// DeadlinesConfig is what NewDeadlines needs. All fields but Ticks are required.
type DeadlinesConfig struct {
	DB        *store.DB
	Committer *commit.Committer
	Clock     clock.Clock
	Logger    *slog.Logger
	// Ticks tells when to look; a ticker of half a second when it is nil.
	Ticks <-chan time.Time
}

// deadlines ends waits whose time is over.
type deadlines struct{ cfg DeadlinesConfig }

// NewDeadlines returns the job that ends waits whose time is over, whether or not a runner lives that knows of them. Several may be at work
// at once, in any process: each wait is looked at again under the lock of its session.
func NewDeadlines(cfg DeadlinesConfig) *background.Job {
	d := &deadlines{cfg}
	return background.Every(cfg.Logger, "end overdue waits", deadlineInterval, d.sweep, background.Ticks(cfg.Ticks))
}

// sweep ends all waits that are overdue now. One that can't be ended doesn't keep those behind it waiting.
func (d *deadlines) sweep(ctx context.Context) error {
	now := clock.Millis(d.cfg.Clock)
	var last models.Wait
	for {
		list, err := overdue(ctx, d.cfg.DB, now, last, deadlineBatch)
		if err != nil {
			return err
		}
		d.expire(ctx, list)
		if len(list) < deadlineBatch {
			return nil
		}
		last = list[len(list)-1]
	}
}

func (d *deadlines) expire(ctx context.Context, list []models.Wait) {
	var wg sync.WaitGroup
	places := make(chan struct{}, deadlineWorkers)
	for _, w := range list {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			err := d.cfg.Committer.Submit(ctx, &turns.ExpireWait{Org: w.OrgID, Session: w.SessionID, Wait: w.ID})
			if err != nil && ctx.Err() == nil {
				d.cfg.Logger.Warn("an overdue wait could not be ended; trying again", "wait", w.ID, "org", w.OrgID, "error", err)
			}
		})
	}
	wg.Wait()
}
