// Package hold is what commits do to budgets, on rows that the committer has locked. The rules decide (Reserve and ReserveMeters of package
// budget) whether a step may begin. This package carries it out: Hold holds what they grant, Settle puts what was used in the place of what was
// held, and Release, which is of commit.Tx as every end of a turn does it, gives back the rest. usage.go makes the facts that are settled;
// wait.go is for turns that have to wait for a budget, and for those that none can hold.
package hold

import (
	"slices"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// Binding returns the budgets that bind the session, in the period of now. Its error must be returned by the command.
func Binding(tx *commit.Tx) ([]models.Budget, error) {
	list, known := tx.Budgets()
	if !known {
		return nil, commit.ErrMore
	}
	for i := range list {
		budget.Roll(&list[i], tx.Now)
	}
	return list, nil
}

// locked returns a budget that something is held of, in the period of now.
func locked(tx *commit.Tx, id models.BudgetID) (models.Budget, error) {
	b, ok := tx.Budget(id)
	if !ok {
		return b, commit.ErrMore
	}
	budget.Roll(&b, tx.Now)
	return b, nil
}

// Hold holds what the rules have granted the current turn's next step, in the place of what it holds: a cost is posted once for each line, so that
// there is one of a budget. Its error must be returned by the command.
func Hold(tx *commit.Tx, granted []models.Held, r models.Reservation) error {
	if err := tx.Release(); err != nil {
		return err
	}
	lines, err := Lines(tx, granted)
	if err != nil {
		return err
	}
	r.Lines = lines
	tx.Turn.Reservation = &r
	return nil
}

// Lines holds what was granted, and returns what stands where whoever holds it keeps it. It is empty and never nil: the databases read what is
// in it.
func Lines(tx *commit.Tx, granted []models.Held) ([]models.Held, error) {
	lines := []models.Held{}
	for _, line := range granted {
		b, err := locked(tx, line.Budget)
		if err != nil {
			return nil, err
		}
		lines = append(lines, budget.Hold(&b, line.Amount))
		tx.SaveBudget(b)
	}
	return lines, nil
}

// Settle takes what a fact about the current turn cost off the budgets that the turn holds something of, and its shares off what is held. What
// was not held is posted all the same, and marked as an overrun. Its error must be returned by the command.
func Settle(tx *commit.Tx, f Fact) error {
	t := tx.Turn
	if t.Reservation == nil {
		return nil
	}
	held := *t.Reservation
	held.Lines = slices.Clone(held.Lines)
	for i := range held.Lines {
		if err := SettleLine(tx, &held.Lines[i], f, &t.ID); err != nil {
			return err
		}
	}
	t.Reservation = &held
	return nil
}

// SettleLine is Settle for one line of what is held; whoever holds it saves the line in the same transaction. turn is the one whose events tell
// that a budget comes to its end, nil for none.
func SettleLine(tx *commit.Tx, line *models.Held, f Fact, turn *models.TurnID) error {
	b, err := locked(tx, line.Budget)
	if err != nil {
		return err
	}
	share, cost := f.Share(b.Currency, line.Amount), f.Costs(b.Currency)
	if share <= 0 && cost <= 0 {
		return nil
	}
	overrun, posted := budget.Settle(&b, line, share, cost, tx.Now)
	tx.SaveBudget(b)
	if cost > 0 {
		tx.Post(models.LedgerEntry{
			BudgetID: b.ID, JournalID: f.ID, Source: f.Kind, Amount: cost, Overrun: overrun, TurnID: f.TurnID, PeriodStartedAt: line.Period,
			Description: f.Description,
		})
	}
	if posted.Warned {
		tx.Emit(turn, events.BudgetWarned{
			BudgetID: b.ID, Subject: b.Subject, Currency: b.Currency, Limit: text(&b, b.LimitAmount), Spent: text(&b, b.Spent),
			Balance: text(&b, budget.Balance(&b)),
		})
	}
	return nil
}

func text(b *models.Budget, a models.Amount) string { return budget.Decimal(b.Currency, a).String() }
