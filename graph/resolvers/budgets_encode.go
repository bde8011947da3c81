package resolvers

import (
	"context"
	"encoding/binary"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// placeCursor returns the cursor of a row in a list that is ordered by time and id.
func placeCursor[E models.Entity](at models.Millis, id models.ID[E]) string {
	var e E
	return encodeCursor(e.Prefix(), append(binary.BigEndian.AppendUint64(nil, uint64(at)), id[:]...)) //nolint:gosec // G115: the bits come back as they went
}

// decodePlaceCursor reads a cursor of placeCursor.
func decodePlaceCursor[E models.Entity](cursor string) (manage.Place[E], *fault.Error) {
	var e E
	key, err := decodeCursor(e.Prefix(), cursor, 8+16)
	if err != nil {
		return manage.Place[E]{}, err
	}
	return manage.Place[E]{
		At: models.Millis(binary.BigEndian.Uint64(key)), //nolint:gosec // G115: the bits come back as they went
		ID: models.ID[E](key[8:]),
	}, nil
}

// encodeBudget returns what encodes budgets, whose ledgers may be asked for.
func (r *Resolver) encodeBudget(ctx context.Context) func(b *models.Budget) *model.Budget {
	l := r.loadersOf(ctx)
	return func(b *models.Budget) *model.Budget {
		l.ledgers.expect(b.ID)
		amount := func(a models.Amount) decimal.Decimal { return budget.Decimal(b.Currency, a) }
		out := &model.Budget{
			ID: b.ID.String(), Subject: model.BudgetSubject(b.Subject), SubjectID: manage.SubjectID(b), Currency: b.Currency,
			Limit: amount(b.LimitAmount), Balance: amount(budget.Balance(b)), Reserved: amount(b.Reserved), Spent: amount(b.Spent),
			Credits: amount(b.Credits), PeriodStartedAt: &b.PeriodStartedAt, PeriodEndsAt: b.PeriodEndsAt,
			Status: model.BudgetStatus(budget.StatusOf(b)), CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt, BudgetID: b.ID,
		}
		if b.SoftLimit != nil {
			out.SoftLimit = new(amount(*b.SoftLimit))
		}
		if b.PeriodKind != nil {
			out.Period = &model.BudgetPeriod{
				Kind: model.PeriodKind(*b.PeriodKind), Unit: (*model.CalendarUnit)(b.PeriodUnit), Seconds: b.PeriodSeconds, Timezone: b.Timezone,
			}
		}
		return out
	}
}

func encodePosting(p *models.LedgerEntry, currency string) *model.LedgerEntry {
	out := &model.LedgerEntry{
		ID: p.ID.String(), Amount: budget.Decimal(currency, p.Amount), Currency: currency, Source: string(p.Source),
		Overrun: budget.Decimal(currency, p.Overrun), Description: p.Description, CreatedAt: p.CreatedAt,
	}
	if p.SessionID != nil {
		out.SessionID = new(p.SessionID.String())
	}
	if p.TurnID != nil {
		out.TurnID = new(p.TurnID.String())
	}
	return out
}

func decodePeriod(in *model.BudgetPeriodInput) *manage.Period {
	if in == nil {
		return nil
	}
	return &manage.Period{
		Kind: models.PeriodKind(in.Kind), Unit: (*models.CalendarUnit)(in.Unit), Seconds: in.Seconds, Timezone: in.Timezone,
	}
}

// budgetPayload answers a mutation of a budget.
func (r *Resolver) budgetPayload(ctx context.Context, b *models.Budget, err error) (*model.BudgetPayload, error) {
	out := &model.BudgetPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Budget = r.encodeBudget(ctx)(b)
	})
}

// nodeOfBudget finds a budget for node.
func (r *Resolver) nodeOfBudget(ctx context.Context, id models.BudgetID) (*model.Budget, error) {
	b, err := r.Spending.Get(ctx, auth.FromContext(ctx).OrgID, id)
	return encoded(b, err, r.encodeBudget(ctx))
}

// nodeOfPosting finds a posting for node.
func (r *Resolver) nodeOfPosting(ctx context.Context, id models.LedgerID) (*model.LedgerEntry, error) {
	p, currency, err := r.Spending.Posting(ctx, auth.FromContext(ctx).OrgID, id)
	return encoded(p, err, func(p *models.LedgerEntry) *model.LedgerEntry { return encodePosting(p, currency) })
}
