package main

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// What the command prints, what it ends with, and that it mends nothing unless it is told to, and then nothing of others.
func TestReconcile(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := models.Millis(1_700_001_030_500)
		budgets := map[string]models.BudgetID{}
		ids := map[string]models.OrgID{}
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			for _, slug := range []string{"one", "two"} {
				org := models.Org{ID: models.NewID[models.OrgEntity](), Name: slug, Slug: slug}
				subject := models.SubjectID(org.ID)
				b := models.Budget{
					OrgID: org.ID, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: &subject, Currency: "tokens",
					LimitAmount: 100, CreatedAt: now, PeriodStartedAt: now, UpdatedAt: now, Spent: 5, Reserved: 2,
				}
				budgets[slug], ids[slug] = b.ID, org.ID
				for _, row := range []any{&org, &b} {
					if err := tx.Create(row).Error; err != nil {
						return err
					}
				}
			}
			return tx.Create(&models.UsageHour{
				OrgID: ids["two"], Hour: now - now%3_600_000, ModelID: models.ModelID{15: 1}, AgentID: models.AgentID{15: 2}, UserID: models.UserID{15: 3},
				UsageSums: models.UsageSums{Turns: 1, ToolCalls: 1},
			}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		run := func(want, wantErr string, args ...string) {
			t.Helper()
			out.Reset()
			err := reconcile(t.Context(), place{db: db, clock: clock.NewManual(now.Time().Add(time.Hour)), out: &out}, args)
			if out.String() != want {
				t.Errorf("reconcile %v printed\n%swant\n%s", args, &out, want)
			}
			if got := fmt.Sprint(err); got != wantErr {
				t.Errorf("reconcile %v: got %s, want %s", args, got, wantErr)
			}
		}
		lines := func(slug, end string) string {
			return fmt.Sprintf("%s %s spent: stored 5, computed 0%s\n%s %s reserved: stored 2, computed 0%s\n",
				slug, budgets[slug], end, slug, budgets[slug], end)
		}
		row := fmt.Sprintf("two usage_hours 2023-11-14T22Z model=%s agent=%s user=%s: ", models.ModelID{15: 1}, models.AgentID{15: 2}, models.UserID{15: 3})
		usage := row + "tool_calls: stored 1, computed 0\n" + row + "turns: stored 1, computed 0\n"
		for range 2 { // it only reads
			run(lines("one", "")+lines("two", "")+usage+"checked 2 budgets of 2 organizations: 4 differences\nchecked 1 hours of usage of 2 organizations: 2 differences\n",
				"4 differences of budgets and 2 of usage")
		}
		run(lines("two", "")+"checked 1 budgets of 1 organizations: 2 differences\n", "2 differences of budgets", "--org", "two", "--days=0")
		run(lines("one", " (repaired)")+"checked 1 budgets of 1 organizations: 2 differences\nchecked 0 hours of usage of 1 organizations: 0 differences\n",
			"<nil>", "--org="+ids["one"].String(), "--repair")
		run("checked 1 budgets of 1 organizations: 0 differences\nchecked 0 hours of usage of 1 organizations: 0 differences\n", "<nil>", "--org=one")
		run(lines("two", "")+"checked 2 budgets of 2 organizations: 2 differences\n", "2 differences of budgets", "--days=0")
		run("", `there is no organization with the slug or id "three"`, "--org=three")
		for _, args := range [][]string{{"--days=-1"}, {"--days=x"}, {"one"}, {"--mend"}} {
			run("", errAdminUsage.Error(), args...)
		}
	})
}
