package commit

import (
	"errors"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// budget makes a budget of an organization, and gives its id.
func (w *world) budget(org models.OrgID) models.BudgetID {
	w.t.Helper()
	id := models.NewID[models.BudgetEntity]()
	w.exec("INSERT INTO budgets (org_id, id, subject, subject_id, currency, limit_amount, created_at, period_started_at, updated_at) "+
		"VALUES (?, ?, 'ORG', ?, 'usd', 1000, 1, 1, 1)", org, id, org)
	return id
}

var errRefuses = errors.New("the command refuses")

// one reads a row from outside.
func (w *world) one(into any, statement string, args ...any) {
	w.t.Helper()
	if err := store.CrossOrg(w.db.ReadAcross(w.t.Context())).Raw(statement, args...).Scan(into).Error; err != nil {
		w.t.Fatal(err)
	}
}

// What a command does to a budget is seen by those behind it in the batch, whatever their session; a refused one leaves no trace, and all
// is written once.
func TestBudgetsAreSharedWithinABatch(t *testing.T) {
	eachDatabase(t, func(t *testing.T, w *world) {
		id := w.budget(w.org)
		spend := func(amount models.Amount, fails error) Command {
			s, _ := w.working()
			fact := models.NewID[models.JournalEntity]()
			return w.command(s, func(tx *Tx) error {
				list, known := tx.Budgets()
				if !known {
					return ErrBudgets
				}
				b := list[0]
				b.Spent += amount
				tx.SaveBudget(b)
				if b, _ := tx.Budget(id); b.Spent < amount {
					t.Errorf("what the command has spent is not seen by itself: %d", b.Spent)
				}
				tx.Meter(models.JournalEntry{ID: fact, Kind: models.JournalModelCall, Usage: models.Usage{InputTokens: int64(amount)}}, true)
				tx.Post(models.LedgerEntry{BudgetID: id, JournalID: fact, Source: models.JournalModelCall, Amount: amount})
				return fails
			})
		}
		errs := batch(w.c, spend(1, nil), spend(10, errRefuses), spend(100, nil))
		if errs[0] != nil || !errors.Is(errs[1], errRefuses) || errs[2] != nil {
			t.Errorf("got %v", errs)
		}
		var b models.Budget
		w.one(&b, "SELECT * FROM budgets WHERE org_id = ? AND id = ?", w.org, id)
		if b.Spent != 101 {
			t.Errorf("%d was spent", b.Spent)
		}
		var sums models.UsageHour
		w.one(&sums, "SELECT sum(input_tokens) AS input_tokens, sum(turns) AS turns, sum(model_calls) AS model_calls FROM usage_hours WHERE org_id = ?", w.org)
		if sums.InputTokens != 101 || sums.Turns != 2 || sums.ModelCalls != 2 {
			t.Errorf("the sums are %+v", sums)
		}
	})
}
