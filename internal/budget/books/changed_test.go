package books

import (
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func TestBudgetsOfAllOrganizations(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		var orgs []models.Org
		var rows []models.Budget
		want := map[models.OrgID]int{}
		for i, n := range []int{3, 501, 2} { // more than are read at once
			org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", Slug: fmt.Sprintf("org-%d", i)}
			orgs = append(orgs, org)
			subject := models.SubjectID(org.ID)
			for k := range n {
				rows = append(rows, models.Budget{
					OrgID: org.ID, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: &subject, Currency: "usd",
					LimitAmount: 1, UpdatedAt: models.Millis(10 + k%2),
				})
				if k%2 == 1 {
					want[org.ID]++
				}
			}
		}
		err := db.WriteAcross(ctx, func(tx *gorm.DB) error {
			return errors.Join(tx.Create(&orgs).Error, tx.CreateInBatches(&rows, 100).Error)
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[models.BudgetID]models.OrgID{}
		visit := func(org models.OrgID, ids []models.BudgetID) error {
			for _, id := range ids {
				if _, ok := seen[id]; ok {
					t.Errorf("%s comes twice", id)
				}
				seen[id] = org
			}
			return nil
		}
		if err := changedSince(ctx, db, 0, visit); err != nil || len(seen) != 506 {
			t.Errorf("of all times: got %d, %v", len(seen), err)
		}
		for _, row := range rows {
			if seen[row.ID] != row.OrgID {
				t.Errorf("%s is shown as one of %s", row.ID, seen[row.ID])
			}
		}
		clear(seen)
		if err := changedSince(ctx, db, 11, visit); err != nil {
			t.Fatal(err)
		}
		got := map[models.OrgID]int{}
		for _, org := range seen {
			got[org]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		stop := errors.New("enough")
		if err := changedSince(ctx, db, 0, func(models.OrgID, []models.BudgetID) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("got %v", err)
		}
	})
}
