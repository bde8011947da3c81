// Package manage is what people do with budgets: they set them up, change them, top them up, see how they stand, and let sessions go on
// that were paused. service.go begins, with a file for each thing that people do.
package manage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Limits of what an organization may have.
const (
	// MaxBudgets is how many budgets of an organization may be in force.
	MaxBudgets = 10_000
	// MaxOfSubject is how many of them may bind the same subject: a step locks all those that bind its session.
	MaxOfSubject = 20
	// maxDescription and maxKey bound what is said about a top-up, and its idempotency key, in characters.
	maxDescription = 500
	maxKey         = 200
)

// Waker looks at the turns that wait for budgets.
type Waker interface {
	// Wake is called after budgets of an organization have changed in a way that may let turns go on. It must not block.
	Wake(org models.OrgID, budgets ...models.BudgetID)
}

// Config is what a Service works with. All fields are required but Waker.
type Config struct {
	DB        *store.DB
	Committer *commit.Committer
	Clock     clock.Clock
	// Waker is nil where no turns run.
	Waker Waker
}

// Service is the one place where budgets are made and changed by people. It is safe for concurrent use.
//
// Whoever changes a budget locks its row first and brings it into the period of now before anything is read from it. In the order of
// locks, budgets come after sessions and turns, and before the feed and the audit's chain.
type Service struct {
	db        *store.DB
	committer *commit.Committer
	clock     clock.Clock
	waker     Waker
}

// New fails when the configuration is incomplete.
func New(cfg Config) (*Service, error) {
	if cfg.DB == nil || cfg.Committer == nil || cfg.Clock == nil {
		return nil, errors.New("the service of budgets needs a database, a committer and a clock")
	}
	return &Service{db: cfg.DB, committer: cfg.Committer, clock: cfg.Clock, waker: cfg.Waker}, nil
}

// wake has the turns looked at that wait for budgets. It is called also after a failure that is not the caller's: a commit whose answer
// was lost may have happened.
func (s *Service) wake(err error, org models.OrgID, ids ...models.BudgetID) {
	if s.waker != nil && fault.As(err) == nil && len(ids) > 0 {
		s.waker.Wake(org, ids...)
	}
}

// change has fn change a budget, which nobody else changes until that is done, as it is in the period of now. Then the turns are looked at
// that wait for it. path names the budget in the caller's input.
func (s *Service) change(
	ctx context.Context, by *auth.Principal, id models.BudgetID, path []string, fn func(tx *gorm.DB, b *models.Budget, now models.Millis) error,
) (*models.Budget, error) {
	var b models.Budget
	err := s.db.Write(ctx, by.OrgID, func(tx *gorm.DB) (err error) {
		if b, err = rows.Locked(tx, by.OrgID, id); err != nil {
			return fault.At(err, path...)
		}
		// The time is read under the lock, so that the one who comes second is not the one from before.
		now := clock.Millis(s.clock)
		budget.Roll(&b, now)
		return fn(tx, &b, now)
	})
	s.wake(err, by.OrgID, id)
	if err != nil {
		return nil, err
	}
	return &b, nil
}

// save writes what people change of a budget, and the period that it is in by now.
func save(tx *gorm.DB, b *models.Budget, now models.Millis) error {
	b.UpdatedAt = now
	err := store.OneRow(store.Of(tx.Model(&models.Budget{}), b.OrgID).Where("id = ?", b.ID).
		Select("limit_amount", "soft_limit", "period_kind", "period_unit", "period_seconds", "timezone", "disabled_at",
			"period_started_at", "period_ends_at", "spent", "credits", "reserved", "warned_at", "soft_passed_at", "exhausted_at", "updated_at").
		Updates(b))
	if err != nil {
		return fmt.Errorf("change budget %s: %w", b.ID, err)
	}
	return rows.SaveSlots(tx, b)
}

// sentence makes a sentence of an error's text.
func sentence(err error) string {
	s := err.Error()
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
