package rows

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// TestBindingBudgetsAreFoundByTheirSubjects has an organization with many budgets: those of a session are found without looking at the others.
func TestBindingBudgetsAreFoundByTheirSubjects(t *testing.T) {
	storetest.EachOwner(t, func(t *testing.T, db *store.DB) {
		org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", Slug: "o", CreatedAt: 1}
		h := models.Harness{
			OrgID: org.ID, ID: models.NewID[models.HarnessEntity](), Name: "h", NameKey: "h", Capabilities: []models.CapabilityRef{}, Lifecycle: models.LifecycleActive,
		}
		session := models.Session{
			OrgID: org.ID, ID: models.NewID[models.SessionEntity](), HarnessID: h.ID, Tags: []string{}, CreatedByKind: models.ActorSystem,
			Status: models.SessionIdle, CustomerKey: new("customer"),
		}
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			if err := errors.Join(tx.Create(&org).Error, tx.Create(&h).Error, tx.Create(&session).Error); err != nil {
				return err
			}
			var list []models.Budget
			for i := range 2000 {
				b := models.Budget{
					OrgID: org.ID, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectSession, Currency: "usd", CreatedAt: 1,
					PeriodStartedAt: 1, UpdatedAt: 1,
				}
				if i%2 == 0 {
					key := models.NewID[models.SessionEntity]().String()
					b.CustomerKey = &key
				} else {
					subject := models.NewID[models.SubjectEntity]()
					b.SubjectID = &subject
				}
				list = append(list, b)
			}
			return tx.CreateInBatches(list, 500).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		explain, planned := "EXPLAIN QUERY PLAN ", "(org_id=? AND subject_id=?)"
		if db.Dialect == store.Postgres {
			explain, planned = "EXPLAIN ", "Index Cond: ((org_id = "
		}
		var lines []string
		err = db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			if err := tx.Exec("ANALYZE").Error; err != nil {
				return err
			}
			rows, err := tx.Raw(explain+"SELECT id, limit_amount FROM budgets WHERE org_id = ? AND ?", org.ID, ofSession(db, &session)).Rows()
			if err != nil {
				return err
			}
			defer func() { _ = rows.Close() }()
			for rows.Next() {
				var a, b, c any
				var line string
				dest := []any{&a, &b, &c, &line}
				if db.Dialect == store.Postgres {
					dest = dest[3:]
				}
				if err := rows.Scan(dest...); err != nil {
					return err
				}
				lines = append(lines, line)
			}
			return rows.Err()
		})
		plan := strings.Join(lines, "\n")
		if err != nil || strings.Contains(plan, "SCAN budgets") || strings.Contains(plan, "Seq Scan on budgets") || !strings.Contains(plan, planned) ||
			!strings.Contains(plan, "budgets_by_customer") && !strings.Contains(plan, "budgets_list_customer") {
			t.Errorf("the plan is\n%s\n%v", plan, err)
		}
	})
}
