package payments

import (
	"context"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/shares"
	"github.com/ostler-dev/ostler/internal/tools"
)

const (
	// sweepInterval is how often payments are looked for that somebody has to look after.
	sweepInterval = 2 * time.Second
	// sweepBatch is how many are read at once, sweepAtOnce how many are looked after at once, and orgSweepAtOnce how many of one
	// organization: a rail that hangs keeps nobody else's payments waiting.
	sweepBatch     = 256
	sweepAtOnce    = 32
	orgSweepAtOnce = 8
)

// pause returns how long to wait after a number of requests had no answer.
func pause(attempts int64) models.Millis {
	const shortest, longest = 10 * 1000, 60 * 60 * 1000
	return models.Millis(min(longest, shortest<<min(max(attempts-1, 0), 20)))
}

// later schedules another request for a payment after a pause, and returns the payment as it is then: somebody else may have settled it.
func (s *Service) later(ctx context.Context, p models.Payment, problem string) (models.Payment, error) {
	due := clock.Millis(s.cfg.Clock) + pause(p.Attempts)
	// Also when whoever asked has gone: what he has found out is worth keeping.
	ctx = context.WithoutCancel(ctx)
	_, err := s.cfg.DB.Exec(ctx, p.OrgID, "UPDATE payments SET due_at = ?, error = ? WHERE org_id = ? AND id = ? AND status = 'PENDING'",
		int64(due), problem, p.OrgID[:], p.ID[:])
	if err != nil {
		return p, fmt.Errorf("postpone payment %s: %w", p.ID, err)
	}
	now, err := s.Payment(ctx, p.OrgID, p.ID)
	if err != nil {
		return p, err
	}
	return *now, nil
}

// newWork looks after the payments that are due: those of processes that have died, and those whose rail had no answer. Several processes may
// do so at once: each payment is taken by one of them.
func (s *Service) newWork() *shares.Work[models.OrgID, models.Payment] {
	return shares.NewWork(shares.WorkConfig[models.OrgID, models.Payment]{
		Places: sweepAtOnce, Each: orgSweepAtOnce,
		Due: func(ctx context.Context, without []models.OrgID) ([]models.Payment, error) {
			return duePayments(ctx, s.cfg.DB, clock.Millis(s.cfg.Clock), without, sweepBatch)
		},
		Key:   func(p *models.Payment) models.OrgID { return p.OrgID },
		Claim: s.claim,
		Do:    s.lookAfter,
		Failed: func(err error) {
			s.cfg.Logger.Warn("due payments could not be processed; trying again", "error", err)
		},
	})
}

// claim takes a payment that is due.
func (s *Service) claim(ctx context.Context, p *models.Payment) (bool, error) {
	now := clock.Millis(s.cfg.Clock)
	n, err := s.cfg.DB.Exec(ctx, p.OrgID, "UPDATE payments SET due_at = ?, attempts = attempts + 1 WHERE org_id = ? AND id = ? AND due_at <= ?",
		int64(now+lease), p.OrgID[:], p.ID[:], int64(now))
	if err != nil {
		return false, fmt.Errorf("claim payment %s: %w", p.ID, err)
	}
	p.Attempts++
	return n == 1, nil // else somebody else took it, or it has ended
}

// lookAfter does what is left to do of a payment.
func (s *Service) lookAfter(ctx context.Context, p models.Payment) error {
	if p.Status == models.PaymentPending {
		_, err := s.conclude(ctx, p, false)
		return err
	}
	// Nothing was held, and the rail knows nothing of it.
	c := &settlePayment{seen: p, problem: refusal(tools.PaymentRefused, "The server was stopped before the payment was requested. Nothing was paid; you may try again.").Error()}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return fmt.Errorf("abandon payment %s: %w", p.ID, err)
	}
	return nil
}

// NewSweeper returns the service that looks after payments every other second, or at ticks when there are some.
func (s *Service) NewSweeper(ticks <-chan time.Time) background.Service {
	return background.Loop(func(ctx context.Context) {
		if ticks == nil {
			t := time.NewTicker(sweepInterval)
			defer t.Stop()
			ticks = t.C
		}
		s.newWork().Run(ctx, ticks)
	})
}
