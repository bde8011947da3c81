package manage

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// topUpOperation names top-ups among the operations that have idempotency keys.
const topUpOperation = "topUpBudget"

// TopUp adds to a budget, in its present period.
type TopUp struct {
	BudgetID    models.BudgetID
	Amount      decimal.Decimal
	Description *string
	// IdempotencyKey makes the same top-up count once within a day; nil for none.
	IdempotencyKey *string
}

func (in *TopUp) check() error {
	if err := text.CheckOptional(in.Description, maxDescription, "input", "description"); err != nil {
		return err
	}
	if in.IdempotencyKey != nil && *in.IdempotencyKey == "" {
		return fault.New(fault.Invalid, "The idempotency key must not be empty; leave it out instead.").At("input", "idempotencyKey")
	}
	if err := text.CheckOptional(in.IdempotencyKey, maxKey, "input", "idempotencyKey"); err != nil {
		return err
	}
	if in.Amount.Sign() <= 0 {
		return fault.New(fault.Invalid, "A top-up must be more than 0. To take from a budget, lower its limit.").At("input", "amount")
	}
	return nil
}

// hash tells inputs apart that come under the same key.
func (in *TopUp) hash() []byte {
	b, err := json.Marshal([]any{in.BudgetID.String(), in.Amount.String(), in.Description})
	if err != nil {
		panic(err) // texts can't fail to be written
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// TopUp adds to what may be spent in a budget's present period, and returns the budget.
func (s *Service) TopUp(ctx context.Context, by *auth.Principal, in TopUp) (*models.Budget, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	return s.change(ctx, by, in.BudgetID, []string{"input", "budgetId"}, func(tx *gorm.DB, b *models.Budget, now models.Millis) error {
		fact := models.NewID[models.JournalEntity]()
		if in.IdempotencyKey != nil {
			// A repetition succeeds whatever has become of the budget since.
			if done, err := claim(tx, by.OrgID, *in.IdempotencyKey, in.hash(), fact, now); err != nil || done {
				return err
			}
		}
		if b.DisabledAt != nil {
			return disabled(b).At("input", "budgetId")
		}
		return s.topUp(ctx, tx, by, b, in, fact, now)
	})
}

// topUp writes the fact, the posting of it, the budget, and who did it.
func (s *Service) topUp(
	ctx context.Context, tx *gorm.DB, by *auth.Principal, b *models.Budget, in TopUp, fact models.JournalID, now models.Millis,
) error {
	amount, err := budget.Parse(b.Currency, in.Amount)
	if err != nil {
		return fault.New(fault.Invalid, "%s", sentence(err)).At("input", "amount")
	}
	if err := holds(b, amount, "input", "amount"); err != nil {
		return err
	}
	before := budget.Balance(b)
	budget.Credit(b, amount, now)
	measures, err := json.Marshal(map[string]any{"budgetId": b.ID.String(), "currency": b.Currency, "amount": budget.Decimal(b.Currency, amount)})
	if err != nil {
		return fmt.Errorf("record a top-up: %w", err)
	}
	entry := models.JournalEntry{
		OrgID: b.OrgID, ID: fact, Kind: models.JournalTopUp, OccurredAt: now, UserID: by.UserID.Ptr(), Measures: measures,
	}
	if err := tx.Create(&entry).Error; err != nil {
		return fmt.Errorf("store the usage record of a top-up: %w", err)
	}
	posting := models.LedgerEntry{
		OrgID: b.OrgID, ID: models.PostingID(fact, b.ID), BudgetID: b.ID, JournalID: fact, Source: models.JournalTopUp, Amount: -amount,
		Description: in.Description, PeriodStartedAt: b.PeriodStartedAt, CreatedAt: now,
	}
	if err := tx.Create(&posting).Error; err != nil {
		return fmt.Errorf("post a top-up: %w", err)
	}
	if err := save(tx, b, now); err != nil {
		return err
	}
	details := map[string]any{
		"currency": b.Currency, "amount": budget.Decimal(b.Currency, amount),
		"before": map[string]any{"balance": budget.Decimal(b.Currency, before)},
		"after":  map[string]any{"balance": budget.Decimal(b.Currency, budget.Balance(b))},
	}
	if in.Description != nil {
		details["description"] = *in.Description
	}
	return audit.RecordBy(ctx, tx, now, by, "budget.topped_up", b.ID.String(), details)
}

// claim takes an idempotency key for a top-up. done reports that the same one came under it before. Keys are taken after the budget is
// locked, and nobody who holds a key waits for a budget.
func claim(tx *gorm.DB, org models.OrgID, key string, hash []byte, fact models.JournalID, now models.Millis) (done bool, err error) {
	result, err := json.Marshal(fact.String())
	if err != nil {
		return false, fmt.Errorf("store the answer under an idempotency key: %w", err)
	}
	row := models.IdempotencyKey{
		OrgID: org, Operation: topUpOperation, Key: key, InputHash: hash, Result: result, ExpiresAt: now + models.Millis(commit.RepeatableFor.Milliseconds()),
	}
	ofKey := func() *gorm.DB { return store.Of(tx, org).Where("operation = ? AND key = ?", topUpOperation, key) }
	// One that is too old to count may be removed by a sweep before it is read here; then it is free.
	for range 2 {
		// Of two who bring a key at once, the second waits here until the first is done.
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if res.Error != nil {
			return false, fmt.Errorf("take an idempotency key: %w", res.Error)
		}
		if res.RowsAffected == 1 {
			return false, nil
		}
		known, err := store.First[models.IdempotencyKey](ofKey().Clauses(clause.Locking{Strength: "NO KEY UPDATE"}))
		if err != nil {
			return false, fmt.Errorf("read an idempotency key: %w", err)
		}
		if known == nil {
			continue
		}
		if repeated, err := commit.RepeatOf(known, hash, now); repeated || err != nil {
			return repeated, err //nolint:wrapcheck // for the caller
		}
		if err := store.OneRow(ofKey().Model(&models.IdempotencyKey{}).Select("input_hash", "result", "expires_at").Updates(&row)); err != nil {
			return false, fmt.Errorf("take an idempotency key again: %w", err)
		}
		return false, nil
	}
	return false, fmt.Errorf("the idempotency key of a top-up in %s can't be taken", org)
}
