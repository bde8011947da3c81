package turns

import (
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// A turn holds of each budget what its next step takes, and nothing beside: who holds anew gives back what was held.
func TestATurnHoldsOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		subject := models.SubjectID(w.org)
		b := models.Budget{
			OrgID: w.org, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: &subject, Currency: models.CurrencyTokens,
			LimitAmount: 100, CreatedAt: 1, UpdatedAt: 1,
		}
		budget.Begin(&b, 1)
		s, _ := w.parked(t, approval(1))
		if err := w.db.Write(t.Context(), w.org, func(tx *gorm.DB) error { return tx.Create(&b).Error }); err != nil {
			t.Fatal(err)
		}
		err := s.try(func(tx *commit.Tx) error {
			if _, err := hold.Binding(tx); err != nil {
				return err
			}
			for _, amount := range []models.Amount{50, 7} {
				if err := hold.Hold(tx, []models.Held{{Budget: b.ID, Amount: amount}}, models.Reservation{}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		held := rows[models.Turn](s, "id = ?", s.turn)[0].Reservation
		if held == nil || len(held.Lines) != 1 || held.Lines[0] != (models.Held{Budget: b.ID, Amount: 7, Period: b.PeriodStartedAt}) {
			t.Errorf("the turn holds %+v", held)
		}
		var row models.Budget
		if err := store.Of(w.db.Read(t.Context(), w.org), w.org).Where("id = ?", b.ID).Take(&row).Error; err != nil || row.Reserved != 7 {
			t.Errorf("%d are held: %v", row.Reserved, err)
		}
	})
}
