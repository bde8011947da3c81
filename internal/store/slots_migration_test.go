package store_test

import (
	"reflect"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// What rolling budgets had spent in their windows when these were in the budgets' rows is in slots afterwards, and back again before.
func TestTheMigrationToSlotsKeepsWhatWasSpent(t *testing.T) {
	storetest.EachOwner(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		migrations, done, err := db.Migrations()
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		down := func() {
			t.Helper()
			if _, err := migrations.DownTo(ctx, 29); err != nil {
				t.Fatalf("down: %v", err)
			}
		}
		down()
		org := models.NewID[models.OrgEntity]()
		rolling, fresh, fixed := models.NewID[models.BudgetEntity](), models.NewID[models.BudgetEntity](), models.NewID[models.BudgetEntity]()
		budget := func(tx *gorm.DB, id models.BudgetID, kind models.PeriodKind, buckets any) error {
			return tx.Exec("INSERT INTO budgets (org_id, id, subject, subject_id, currency, limit_amount, period_kind, period_seconds, created_at, "+
				"period_started_at, updated_at, buckets) VALUES (?, ?, 'ORG', ?, 'usd', 1000, ?, 600, 1, 1, 1, ?)", org, id, org, kind, buckets).Error
		}
		err = db.WriteAcross(ctx, func(tx *gorm.DB) error {
			if err := tx.Create(&models.Org{ID: org, Name: "o", Slug: org.String(), CreatedAt: 1}).Error; err != nil {
				return err
			}
			if err := budget(tx, rolling, models.PeriodRolling, `[{"slot":7,"newest":79,"spent":0},{"slot":8,"newest":85,"spent":3},{"slot":9,"newest":91,"spent":9007199254740993}]`); err != nil {
				return err
			}
			if err := budget(tx, fresh, models.PeriodRolling, nil); err != nil {
				return err
			}
			return budget(tx, fixed, models.PeriodFixed, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []models.BudgetSlot{
			{OrgID: org, BudgetID: rolling, Slot: 8, Newest: 85, Spent: 3},
			{OrgID: org, BudgetID: rolling, Slot: 9, Newest: 91, Spent: 9007199254740993},
		}
		for range 2 {
			if _, err := migrations.Up(ctx); err != nil {
				t.Fatalf("up: %v", err)
			}
			var got []models.BudgetSlot
			if err := store.Of(db.ReadAcross(ctx), org).Order("slot").Find(&got).Error; err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("the slots are %+v, want %+v", got, want)
			}
			down()
		}
	})
}
