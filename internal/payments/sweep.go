package payments

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

const (
	// sweepInterval is how often payments are looked for that somebody has to look after.
	sweepInterval = 2 * time.Second
	// sweepBatch is how many are read at once, sweepWorkers how many are looked after at once.
	sweepBatch   = 256
	sweepWorkers = 32
)

// pause gives how long to wait after a number of requests had no answer.
func pause(attempts int64) models.Millis {
	const shortest, longest = 10 * 1000, 60 * 60 * 1000
	return models.Millis(min(longest, shortest<<min(max(attempts-1, 0), 20)))
}

// later has a payment asked for again after a pause, and gives it as it then stands: somebody else may have settled it.
func (s *Service) later(ctx context.Context, p models.Payment, problem string) (models.Payment, error) {
	due := clock.Millis(s.cfg.Clock) + pause(p.Attempts)
	// Also when whoever asked has gone: what he has found out is worth keeping.
	ctx = context.WithoutCancel(ctx)
	_, err := s.cfg.DB.Exec(ctx, p.OrgID, "UPDATE payments SET due_at = ?, error = ? WHERE org_id = ? AND id = ? AND status = 'PENDING'",
		int64(due), problem, p.OrgID[:], p.ID[:])
	if err != nil {
		return p, fmt.Errorf("put payment %s off: %w", p.ID, err)
	}
	now, err := s.Payment(ctx, p.OrgID, p.ID)
	if err != nil {
		return p, err
	}
	return *now, nil
}

// Sweep looks after the payments that are due: those of processes that have died, and those whose rail had no answer. Several processes may
// do so at once: each payment is taken by one of them.
func (s *Service) Sweep(ctx context.Context) error {
	list, err := duePayments(ctx, s.cfg.DB, clock.Millis(s.cfg.Clock), sweepBatch)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	places := make(chan struct{}, sweepWorkers)
	for _, p := range list {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if one := s.lookAfter(ctx, p); one != nil {
				mu.Lock()
				defer mu.Unlock()
				err = errors.Join(err, one)
			}
		})
	}
	all.Wait()
	return err
}

// lookAfter takes a payment that is due, and does what is left to do.
func (s *Service) lookAfter(ctx context.Context, p models.Payment) error {
	now := clock.Millis(s.cfg.Clock)
	n, err := s.cfg.DB.Exec(ctx, p.OrgID, "UPDATE payments SET due_at = ?, attempts = attempts + 1 WHERE org_id = ? AND id = ? AND due_at <= ?",
		int64(now+lease), p.OrgID[:], p.ID[:], int64(now))
	if err != nil {
		return fmt.Errorf("take payment %s: %w", p.ID, err)
	}
	if n == 0 {
		return nil // by somebody else, or it has ended
	}
	p.Attempts++
	if p.Status == models.PaymentPending {
		_, err = s.conclude(ctx, p, false)
		return err
	}
	// Nothing was held, and the rail knows nothing of it.
	c := &settle{seen: p, problem: refusal(tools.PaymentRefused, "The server was stopped before it was asked for. Nothing was paid; you may ask again.").Error()}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return fmt.Errorf("give payment %s up: %w", p.ID, err)
	}
	return nil
}

// Sweeper looks after payments until it is stopped.
type Sweeper struct {
	once sync.Once
	stop context.CancelFunc
	done chan struct{}
}

// StartSweeper looks after payments every other second, or at ticks when there are some, until Stop.
func (s *Service) StartSweeper(ticks <-chan time.Time) *Sweeper {
	ctx, stop := context.WithCancel(context.Background()) //nolint:gosec // G118: Stop calls it
	w := &Sweeper{stop: stop, done: make(chan struct{})}
	go w.run(ctx, s, ticks)
	return w
}

func (w *Sweeper) run(ctx context.Context, s *Service, ticks <-chan time.Time) {
	defer close(w.done)
	clock.Every(ctx, sweepInterval, ticks, func() {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Logger.Warn("payments could not be looked after; trying again", "error", err)
		}
	})
}

// Stop ends it and waits until nothing of it runs. It may be called more than once.
func (w *Sweeper) Stop() {
	w.once.Do(w.stop)
	<-w.done
}
