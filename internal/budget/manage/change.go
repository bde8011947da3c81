package manage

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Period is how long a budget's period lasts; see budget.CheckPeriod for what belongs to which kind.
type Period struct {
	Kind     models.PeriodKind
	Unit     *models.CalendarUnit
	Seconds  *int64
	Timezone *string
}

// NewBudget is what a budget is made from.
type NewBudget struct {
	Subject models.BudgetSubject
	// SubjectID is the outside form of the subject's id, or the key of a customer.
	SubjectID string
	Currency  string
	Limit     decimal.Decimal
	// SoftLimit and Period are nil for none.
	SoftLimit *decimal.Decimal
	Period    *Period
}

// Create makes a budget of the caller's organization. It binds what begins from now on.
func (s *Service) Create(ctx context.Context, by *auth.Principal, in NewBudget) (*models.Budget, error) {
	if err := budget.CheckCurrency(in.Currency); err != nil {
		return nil, fault.New(fault.Invalid, "%s", sentence(err)).At("input", "currency")
	}
	subject, err := parseSubject(in.Subject, in.SubjectID)
	if err != nil {
		return nil, fault.At(err, "input", "subjectId")
	}
	b := models.Budget{
		OrgID: by.OrgID, ID: models.NewID[models.BudgetEntity](), Subject: in.Subject, SubjectID: subject.id, CustomerKey: subject.key,
		Currency: in.Currency,
	}
	if err := setLimits(&b, &in.Limit, catalog.Give(in.SoftLimit)); err != nil {
		return nil, err
	}
	if err := setPeriod(&b, in.Period); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		// Of those who create one at once, each sees what those before it have made.
		if err := store.LockOrg(tx, by.OrgID); err != nil {
			return err
		}
		if err := subject.check(tx, by.OrgID); err != nil {
			return fault.At(err, "input", "subjectId")
		}
		if err := checkQuota(tx, by.OrgID, &subject); err != nil {
			return err
		}
		now := clock.Millis(s.clock)
		b.CreatedAt, b.UpdatedAt = now, now
		budget.Begin(&b, now)
		if err := tx.Create(&b).Error; err != nil {
			return fmt.Errorf("store a budget: %w", err)
		}
		return audit.RecordBy(ctx, tx, now, by, "budget.created", b.ID.String(), map[string]any{"after": describe(&b)})
	})
	s.wake(err, by.OrgID, b.ID)
	if err != nil {
		return nil, err
	}
	return &b, nil
}

// Change is what to change of a budget; what is not given stays.
type Change struct {
	Limit     *decimal.Decimal
	SoftLimit catalog.Opt[*decimal.Decimal]
	Period    catalog.Opt[*Period]
}

// Update changes a budget. With another period it begins anew, with nothing spent. A change that changes nothing is recorded nowhere.
func (s *Service) Update(ctx context.Context, by *auth.Principal, id models.BudgetID, in Change) (*models.Budget, error) {
	return s.change(ctx, by, id, []string{"id"}, func(tx *gorm.DB, b *models.Budget, now models.Millis) error {
		if b.DisabledAt != nil {
			return disabled(b).At("id")
		}
		before := *b
		if err := setLimits(b, in.Limit, in.SoftLimit); err != nil {
			return err
		}
		if in.Period.Given {
			if err := setPeriod(b, in.Period.Value); err != nil {
				return err
			}
		}
		if !samePeriod(&before, b) {
			budget.Begin(b, now)
		}
		if err := holds(b, 0, "input", "limit"); err != nil {
			return err
		}
		if b.LimitAmount == before.LimitAmount && models.Same(b.SoftLimit, before.SoftLimit) && samePeriod(&before, b) {
			return nil
		}
		budget.Reopen(b, now)
		if err := save(tx, b, now); err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, now, by, "budget.updated", b.ID.String(), map[string]any{"before": describe(&before), "after": describe(b)})
	})
}

// Disable takes a budget out of force for good. One that is out of force already stays as it is.
func (s *Service) Disable(ctx context.Context, by *auth.Principal, id models.BudgetID) (*models.Budget, error) {
	return s.change(ctx, by, id, []string{"id"}, func(tx *gorm.DB, b *models.Budget, now models.Millis) error {
		if b.DisabledAt != nil {
			return nil
		}
		b.DisabledAt = &now
		if err := save(tx, b, now); err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, now, by, "budget.disabled", b.ID.String(), map[string]any{"before": describe(b)})
	})
}

func disabled(b *models.Budget) *fault.Error {
	return fault.New(fault.Conflict, "The budget %s is disabled for good. Create another one.", b.ID)
}

// setLimits sets the limits of a budget; nil, and what is left out, stay.
func setLimits(b *models.Budget, limit *decimal.Decimal, soft catalog.Opt[*decimal.Decimal]) error {
	if limit != nil {
		var err error
		if b.LimitAmount, err = budget.Parse(b.Currency, *limit); err == nil {
			err = budget.CheckLimits(b.LimitAmount, nil)
		}
		if err != nil {
			return fault.New(fault.Invalid, "%s", sentence(err)).At("input", "limit")
		}
	}
	// A limit may be too low for a soft limit that stays.
	field := "limit"
	if soft.Given {
		field = "softLimit"
		b.SoftLimit = nil
		if soft.Value != nil {
			amount, err := budget.Parse(b.Currency, *soft.Value)
			if err != nil {
				return fault.New(fault.Invalid, "%s", sentence(err)).At("input", field)
			}
			b.SoftLimit = &amount
		}
	}
	if err := budget.CheckLimits(b.LimitAmount, b.SoftLimit); err != nil {
		return fault.New(fault.Invalid, "%s", sentence(err)).At("input", field)
	}
	return nil
}

// setPeriod sets the period of a budget; nil for none.
func setPeriod(b *models.Budget, p *Period) error {
	b.PeriodKind, b.PeriodUnit, b.PeriodSeconds, b.Timezone = nil, nil, nil, nil
	if p == nil {
		return nil
	}
	if err := budget.CheckPeriod(p.Kind, p.Unit, p.Seconds, p.Timezone); err != nil {
		return fault.New(fault.Invalid, "%s", sentence(err)).At("input", "period")
	}
	b.PeriodKind, b.PeriodUnit, b.PeriodSeconds = &p.Kind, p.Unit, p.Seconds
	if p.Kind == models.PeriodCalendar {
		// Without a zone it is UTC; the other kinds have none.
		if b.Timezone = p.Timezone; b.Timezone == nil {
			b.Timezone = new("UTC")
		}
	}
	return nil
}

// holds refuses what would let a budget hold more than amounts go to.
func holds(b *models.Budget, more models.Amount, path ...string) error {
	if b.LimitAmount > budget.MaxAmount-b.Credits || b.LimitAmount+b.Credits > budget.MaxAmount-more {
		return fault.New(fault.Invalid, "The limit and top-ups of a period may total at most %s %s.",
			budget.Decimal(b.Currency, budget.MaxAmount), b.Currency).At(path...)
	}
	return nil
}

// checkQuota refuses a budget that would be one too many. The organization is locked.
func checkQuota(tx *gorm.DB, org models.OrgID, s *subject) error {
	inForce := func() *gorm.DB { return store.Of(tx.Model(&models.Budget{}), org).Where("disabled_at IS NULL") }
	have, err := countTo(s.of(inForce()), MaxOfSubject)
	if err != nil {
		return err
	}
	if have >= MaxOfSubject {
		return fault.New(fault.LimitReached, "At most %d budgets may bind the same subject. Disable one that is no longer needed.", MaxOfSubject)
	}
	// Each half has an index of its own, of those that are in force.
	have = 0
	for _, half := range []string{"subject_id IS NOT NULL", "customer_key IS NOT NULL"} {
		n, err := countTo(inForce().Where(half), MaxBudgets)
		if err != nil {
			return err
		}
		have += n
	}
	if have >= MaxBudgets {
		return fault.New(fault.LimitReached, "The organization has reached the limit of %d active budgets. Disable one that is no longer needed.", MaxBudgets)
	}
	return nil
}

// countTo counts rows, and reads no more than most of them.
func countTo(q *gorm.DB, most int) (int, error) {
	var ids []models.BudgetID
	if err := q.Limit(most).Pluck("id", &ids).Error; err != nil {
		return 0, fmt.Errorf("count budgets: %w", err)
	}
	return len(ids), nil
}

// describe returns how a budget is set up, for the audit.
func describe(b *models.Budget) map[string]any {
	out := map[string]any{
		"subject": b.Subject, "subjectId": SubjectID(b), "currency": b.Currency, "limit": budget.Decimal(b.Currency, b.LimitAmount),
	}
	if b.SoftLimit != nil {
		out["softLimit"] = budget.Decimal(b.Currency, *b.SoftLimit)
	}
	if b.PeriodKind != nil {
		period := map[string]any{"kind": *b.PeriodKind}
		if b.PeriodUnit != nil {
			period["unit"] = *b.PeriodUnit
		}
		if b.PeriodSeconds != nil {
			period["seconds"] = *b.PeriodSeconds
		}
		if b.Timezone != nil {
			period["timezone"] = *b.Timezone
		}
		out["period"] = period
	}
	return out
}

func samePeriod(a, b *models.Budget) bool {
	return models.Same(a.PeriodKind, b.PeriodKind) && models.Same(a.PeriodUnit, b.PeriodUnit) && models.Same(a.PeriodSeconds, b.PeriodSeconds) && models.Same(a.Timezone, b.Timezone)
}
