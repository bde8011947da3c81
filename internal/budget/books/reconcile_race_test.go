package books_test

import (
	"sync/atomic"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// spend does what the engine does in the commit that ends a step: it locks the budget, and changes the row, the ledger and what turns hold.
func (w *reconcileWorld) spend(o testBooks, id models.BudgetID) error {
	return w.db.Write(w.t.Context(), o.org, func(tx *gorm.DB) error {
		var b models.Budget
		if err := store.Of(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), o.org).Where("id = ?", id).Take(&b).Error; err != nil {
			return err
		}
		j, l := o.call(&b, w.now(), models.Usage{OutputTokens: 7}, 7)
		turn := o.turn(budget.Hold(&b, 3))
		budget.Debit(&b, 7, w.now())
		for _, row := range []any{turn, j, l} {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
		}
		return store.OneRow(store.Of(tx.Model(&models.Budget{}), o.org).Where("id = ?", id).
			Updates(map[string]any{"spent": b.Spent, "reserved": b.Reserved}))
	})
}

// While a budget is in use, neither a check nor a repair sees a part of a step.
func TestBudgetsAreCheckedWhileTheyAreUsed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		o := w.org()
		b := o.budget(models.CurrencyTokens, nil)
		w.create(b)
		const steps = 60
		var ended atomic.Bool
		failed := make(chan error, 1)
		go func() {
			defer ended.Store(true)
			for range steps {
				if err := w.spend(o, b.ID); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
		for !ended.Load() {
			w.right(o.org)
			c, err := w.Repair(t.Context(), o.org, b.ID)
			if err != nil {
				t.Error(err)
			}
			if c.Repaired || c.Count() > 0 {
				t.Errorf("repaired what was right: %+v", c)
			}
		}
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
		w.right(o.org)
		var got models.Budget
		if err := store.Of(db.Read(t.Context(), o.org), o.org).Take(&got).Error; err != nil {
			t.Fatal(err)
		}
		if got.Spent != 7*steps || got.Reserved != 3*steps {
			t.Errorf("got %d spent and %d reserved", got.Spent, got.Reserved)
		}
	})
}
