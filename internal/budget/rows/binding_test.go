package rows_test

import (
	"slices"
	"testing"

	"gorm.io/gorm"
	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// locked reads the budgets of a session as commits do.
type locked struct {
	org     models.OrgID
	session models.SessionID
	ids     []models.BudgetID
}

func (c *locked) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Budgets: true}
}

func (c *locked) Apply(tx *commit.Tx) error {
	list, known := tx.Budgets()
	if !known {
		return commit.ErrMore
	}
	c.ids = idsOf(list)
	return nil
}

func idsOf(list []models.Budget) (ids []models.BudgetID) {
	for _, b := range list {
		ids = append(ids, b.ID)
	}
	return ids
}

// Which budgets bind a session is one rule: in Go, in what is read of a session, and in what commits lock, on both databases.
func TestBindingIsOneRule(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		committer := commit.New(commit.Config{DB: db, Clock: clock.NewManual(models.Millis(1_700_000_000_000).Time())})
		t.Cleanup(committer.Stop)
		owner := storetest.AsOwner(t, db)
		create := func(list ...any) {
			t.Helper()
			err := owner.WriteAcross(t.Context(), func(tx *gorm.DB) error {
				for _, row := range list {
					if err := tx.Create(row).Error; err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		user := models.User{ID: models.NewID[models.UserEntity](), Email: "a", EmailKey: "a"}
		create(&user)
		rapid.Check(t, func(t *rapid.T) {
			org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", CreatedAt: 1}
			org.Slug = org.ID.String()
			h := models.Harness{
				OrgID: org.ID, ID: models.NewID[models.HarnessEntity](), Name: "h", NameKey: "h", Capabilities: []models.CapabilityRef{}, Lifecycle: models.LifecycleActive,
			}
			a := models.Agent{
				OrgID: org.ID, ID: models.NewID[models.AgentEntity](), Name: "a", NameKey: "a", Capabilities: []models.CapabilityRef{}, Tags: []string{}, Lifecycle: models.LifecycleActive,
			}
			create(&org, &h, &a)
			subjects := []models.SubjectID{models.SubjectID(org.ID), models.SubjectID(a.ID), models.SubjectID(user.ID), models.NewID[models.SubjectEntity]()}
			customers := []*string{nil, new("acme"), new("Ärger")}
			var sessions []models.Session
			for range rapid.IntRange(1, 4).Draw(t, "sessions") {
				s := models.Session{
					OrgID: org.ID, ID: models.NewID[models.SessionEntity](), HarnessID: h.ID, Tags: []string{}, CreatedByKind: models.ActorSystem, Status: models.SessionIdle,
					OwnerID:     rapid.SampledFrom([]*models.UserID{nil, &user.ID}).Draw(t, "owner"),
					AgentID:     rapid.SampledFrom([]*models.AgentID{nil, &a.ID}).Draw(t, "agent"),
					CustomerKey: rapid.SampledFrom(customers).Draw(t, "customer"),
				}
				if len(sessions) > 0 && rapid.Bool().Draw(t, "of another one") {
					root := budget.RootOf(&sessions[len(sessions)-1])
					s.RootID, s.ParentID = &root, &root
				}
				create(&s)
				sessions, subjects = append(sessions, s), append(subjects, models.SubjectID(s.ID))
			}
			var all []models.Budget
			for range rapid.IntRange(0, 8).Draw(t, "budgets") {
				b := models.Budget{
					OrgID: org.ID, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, Currency: models.CurrencyTokens, CreatedAt: 1, PeriodStartedAt: 1, UpdatedAt: 1,
					CustomerKey: rapid.SampledFrom(customers).Draw(t, "of a customer"),
				}
				if b.CustomerKey == nil {
					b.SubjectID = new(rapid.SampledFrom(subjects).Draw(t, "subject"))
				}
				if rapid.IntRange(0, 3).Draw(t, "disabled") == 0 {
					b.DisabledAt = models.Millis(2).Ptr()
				}
				create(&b)
				all = append(all, b)
			}
			for i := range sessions {
				s := &sessions[i]
				want := idsOf(slices.DeleteFunc(slices.Clone(all), func(b models.Budget) bool { return !budget.Binds(&b, s) }))
				_, list, err := rows.Binding(t.Context(), db, org.ID, s.ID)
				if got := idsOf(list); err != nil || !slices.Equal(got, want) {
					t.Fatalf("read are %v, %v; want %v", got, err, want)
				}
				c := locked{org: org.ID, session: s.ID}
				if err := committer.Submit(t.Context(), &c); err != nil || !slices.Equal(c.ids, want) {
					t.Fatalf("locked are %v, %v; want %v", c.ids, err, want)
				}
			}
		})
	})
}
