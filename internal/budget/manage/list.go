package manage

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// maxCount is how far lists are counted.
const maxCount = 10_000

// Place is where a row is in a list that is ordered by time and id.
type Place[E models.Entity] struct {
	At models.Millis
	ID models.ID[E]
}

// Filter tells which budgets to list. Without a subject it is all of them.
type Filter struct {
	Subject *models.BudgetSubject
	// SubjectID is the outside form of the subject's id, or the key of a customer; it takes a subject.
	SubjectID *string
}

// Get returns a budget as it is in the period of now; fault.NotFound when the organization has none with this id.
func (s *Service) Get(ctx context.Context, org models.OrgID, id models.BudgetID) (*models.Budget, error) {
	b, err := rows.Get(s.db.Read(ctx, org), org, id)
	if err != nil {
		return nil, fault.At(err, "id")
	}
	budget.Roll(&b, clock.Millis(s.clock))
	return &b, nil
}

// ByID returns those of the budgets that the organization has, as they are in the period of now.
func (s *Service) ByID(ctx context.Context, org models.OrgID, ids []models.BudgetID) ([]models.Budget, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.read(ctx, org, store.Of(s.db.Read(ctx, org), org).Where("id IN ?", ids))
}

// List returns up to limit budgets, newest first, that come after a place, as they are in the period of now.
func (s *Service) List(ctx context.Context, org models.OrgID, f Filter, after *Place[models.BudgetEntity], limit int) ([]models.Budget, error) {
	q, err := s.filtered(ctx, org, f)
	if err != nil || q == nil {
		return nil, err
	}
	return s.read(ctx, org, newest(q, after, limit))
}

// Count counts budgets, as far as one more than 10 000.
func (s *Service) Count(ctx context.Context, org models.OrgID, f Filter) (int, error) {
	q, err := s.filtered(ctx, org, f)
	if err != nil || q == nil {
		return 0, err
	}
	return countTo(q.Model(&models.Budget{}), maxCount+1)
}

// filtered returns the statement of a filter; nil for one that nothing can pass.
func (s *Service) filtered(ctx context.Context, org models.OrgID, f Filter) (*gorm.DB, error) {
	q := store.Of(s.db.Read(ctx, org), org)
	switch {
	case f.Subject == nil && f.SubjectID != nil:
		return nil, fault.New(fault.Invalid, "subjectId needs subject: set what it is the id of.").At("subject")
	case f.Subject == nil:
		return q, nil
	case f.SubjectID == nil:
		return q.Where("subject = ?", *f.Subject), nil
	}
	subject, err := parseSubject(*f.Subject, *f.SubjectID)
	if fault.Is(err, fault.NotFound) {
		return nil, nil // what is no id of its kind has no budgets
	}
	if err == nil {
		// Nobody has such a key, and PostgreSQL could not even compare it.
		if err := text.CheckOptional(subject.key, len(*f.SubjectID)); err != nil {
			return nil, nil //nolint:nilerr // see above
		}
	}
	return subject.of(q), err
}

func newest[E models.Entity](q *gorm.DB, after *Place[E], limit int) *gorm.DB {
	if after != nil {
		q = q.Where("(created_at, id) < (?, ?)", after.At, after.ID)
	}
	return q.Order("created_at DESC, id DESC").Limit(limit)
}

func (s *Service) read(ctx context.Context, org models.OrgID, q *gorm.DB) ([]models.Budget, error) {
	var list []models.Budget
	if err := q.Find(&list).Error; err != nil {
		return nil, fmt.Errorf("read budgets: %w", err)
	}
	if err := rows.Slots(s.db.Read(ctx, org), org, list); err != nil {
		return nil, err
	}
	now := clock.Millis(s.clock)
	for i := range list {
		budget.Roll(&list[i], now)
	}
	return list, nil
}

// Posting returns a posting and the currency of its budget; fault.NotFound when the organization has none with this id.
func (s *Service) Posting(ctx context.Context, org models.OrgID, id models.LedgerID) (*models.LedgerEntry, string, error) {
	found, err := store.First[models.LedgerEntry](store.Of(s.db.Read(ctx, org), org).Where("id = ?", id))
	if err != nil {
		return nil, "", fmt.Errorf("read posting %s of %s: %w", id, org, err)
	}
	if found == nil {
		return nil, "", fault.New(fault.NotFound, "There is no posting with the id %s.", id).At("id")
	}
	b, err := rows.Get(s.db.Read(ctx, org), org, found.BudgetID)
	return found, b.Currency, err
}

// Ledger returns up to limit postings of a budget, newest first, that come after a place.
func (s *Service) Ledger(
	ctx context.Context, org models.OrgID, id models.BudgetID, after *Place[models.LedgerEntity], limit int,
) ([]models.LedgerEntry, error) {
	var list []models.LedgerEntry
	if err := newest(store.Of(s.db.Read(ctx, org), org).Where("budget_id = ?", id), after, limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the postings of %s: %w", id, err)
	}
	return list, nil
}

// NewestPostings returns the newest postings of several budgets, up to limit of each, in one statement. It has an entry for every budget.
func (s *Service) NewestPostings(
	ctx context.Context, org models.OrgID, budgets []models.BudgetID, limit int,
) (map[models.BudgetID][]models.LedgerEntry, error) {
	which := store.Owned{Table: "ledger_entries", Owner: "budget_id", Order: "created_at DESC, id DESC", Limit: limit}
	return store.ListOf(ctx, s.db, org, budgets, which, func(e *models.LedgerEntry) models.BudgetID { return e.BudgetID })
}

// CountPostings counts the postings of several budgets in one statement, each as far as one more than 10 000.
func (s *Service) CountPostings(ctx context.Context, org models.OrgID, budgets []models.BudgetID) (map[models.BudgetID]int, error) {
	return store.CountOf(ctx, s.db, org, budgets, store.Owned{Table: "ledger_entries", Owner: "budget_id", Limit: maxCount + 1})
}
