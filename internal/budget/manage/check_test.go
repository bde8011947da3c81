package manage_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
)

// bound is an organization with sessions, and budgets of all that they draw on.
type bound struct {
	t       *testing.T
	db      *store.DB
	org     models.OrgID
	owner   models.UserID
	agent   models.AgentID
	harness models.HarnessID
}

func newBound(t *testing.T, db *store.DB, slug string) *bound {
	t.Helper()
	b := &bound{
		t: t, db: db, org: models.NewID[models.OrgEntity](), owner: models.NewID[models.UserEntity](), agent: models.NewID[models.AgentEntity](),
		harness: models.NewID[models.HarnessEntity](),
	}
	b.write(
		&models.Org{ID: b.org, Name: slug, Slug: slug, CreatedAt: 1},
		&models.User{ID: b.owner, Email: slug + "@example.com", EmailKey: slug + "@example.com", Name: slug, CreatedAt: 1},
		&models.Harness{OrgID: b.org, ID: b.harness, Name: "h", NameKey: "h", Capabilities: []models.CapabilityRef{}, Lifecycle: models.LifecycleActive},
		&models.Agent{OrgID: b.org, ID: b.agent, Name: "a", NameKey: "a", Capabilities: []models.CapabilityRef{}, Lifecycle: models.LifecycleActive, Tags: []string{}},
	)
	return b
}

func (b *bound) write(rows ...any) {
	b.t.Helper()
	err := storetest.AsOwner(b.t, b.db).WriteAcross(b.t.Context(), func(tx *gorm.DB) error {
		for _, row := range rows {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bound) session(change func(*models.Session)) models.SessionID {
	b.t.Helper()
	s := models.Session{
		OrgID: b.org, ID: models.NewID[models.SessionEntity](), HarnessID: b.harness, Tags: []string{}, CreatedByKind: models.ActorUser,
		CreatedAt: 1, UpdatedAt: 1, Status: models.SessionStarted,
	}
	change(&s)
	b.write(&s)
	return s.ID
}

// budget makes a budget of a subject, or of a customer.
func (b *bound) budget(subject models.SubjectID, customer string, change func(*models.Budget)) models.BudgetID {
	b.t.Helper()
	row := models.Budget{
		OrgID: b.org, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, Currency: models.CurrencyTokens, LimitAmount: 100,
		CreatedAt: 1, PeriodStartedAt: 1, UpdatedAt: 1,
	}
	if customer != "" {
		row.Subject, row.CustomerKey = models.SubjectCustomer, &customer
	} else {
		row.SubjectID = &subject
	}
	if change != nil {
		change(&row)
	}
	b.write(&row)
	return row.ID
}

func TestBindingBudgets(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b, other := newBound(t, db, "mine"), newBound(t, db, "theirs")
		customer := "acme"
		root := b.session(func(*models.Session) {})
		bare := b.session(func(*models.Session) {})
		full := b.session(func(s *models.Session) {
			s.AgentID, s.OwnerID, s.RootID, s.ParentID, s.CustomerKey = &b.agent, &b.owner, &root, &root, &customer
		})
		ofOrg := b.budget(models.SubjectID(b.org), "", nil)
		ofRoot := b.budget(models.SubjectID(root), "", nil)
		ofAgent := b.budget(models.SubjectID(b.agent), "", nil)
		ofOwner := b.budget(models.SubjectID(b.owner), "", nil)
		ofCustomer := b.budget(models.SubjectID{}, customer, nil)
		second := b.budget(models.SubjectID(b.agent), "", func(r *models.Budget) { r.Currency = models.CurrencyUSD })
		// None of these binds.
		b.budget(models.SubjectID(b.org), "", func(r *models.Budget) { r.DisabledAt = models.Millis(2).Ptr() })
		b.budget(models.SubjectID{}, "other", nil)
		// A subagent draws on its root session, not on one of its own.
		b.budget(models.SubjectID(full), "", nil)
		// Another organization's customer may have the same key, and its budgets may name whom they like.
		other.budget(models.SubjectID{}, customer, nil)
		other.budget(models.SubjectID(b.owner), "", nil)
		other.budget(models.SubjectID(root), "", nil)
		for name, c := range map[string]struct {
			session models.SessionID
			want    []models.BudgetID
		}{
			"a subagent of a customer's": {full, []models.BudgetID{ofOrg, ofRoot, ofAgent, ofOwner, ofCustomer, second}},
			"a root":                     {root, []models.BudgetID{ofOrg, ofRoot}},
			"nothing but the session":    {bare, []models.BudgetID{ofOrg}},
		} {
			_, list, err := rows.Binding(t.Context(), db, b.org, c.session)
			var got []models.BudgetID
			for _, r := range list {
				got = append(got, r.ID)
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, %v; want %v", name, got, err, c.want)
			}
		}
		// A foreign session is like one that there is not.
		_, _, foreign := rows.Binding(t.Context(), db, other.org, full)
		_, _, unknown := rows.Binding(t.Context(), db, other.org, models.NewID[models.SessionEntity]())
		if !fault.Is(foreign, fault.NotFound) || !fault.Is(unknown, fault.NotFound) {
			t.Errorf("a foreign session: %v; an unknown one: %v", foreign, unknown)
		}
	})
}

// TestTheReportOfAgents has the same rows tell what agents may know: how much there is, and nothing of whom else it is for.
func TestTheReportOfAgents(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b := newBound(t, db, "mine")
		now := clock.NewManual(time.UnixMilli(1_800_000_000_000))
		checker := manage.NewChecker(db, now)
		s := b.session(func(*models.Session) {})
		got, err := checker.CheckBudget(t.Context(), b.org, s)
		if want := (tools.BudgetReport{Status: "no_budgets", Budgets: []tools.BudgetLine{}, Hint: "No budget applies to this session."}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("without budgets: %+v, %v", got, err)
		}
		soft, kind, seconds := models.Amount(9_000_000_000), models.PeriodFixed, int64(60)
		b.budget(models.SubjectID(b.org), "", func(r *models.Budget) {
			r.Currency, r.LimitAmount, r.SoftLimit, r.Spent = models.CurrencyUSD, 10_000_000_000, &soft, 8_500_000_000
		})
		b.budget(models.SubjectID(s), "", func(r *models.Budget) { r.LimitAmount, r.Spent, r.Credits = 3, 2, 1 })
		// Its period is over: nothing of it was spent yet, though the row still tells otherwise.
		b.budget(models.SubjectID(s), "", func(r *models.Budget) {
			r.Currency, r.Spent, r.PeriodKind, r.PeriodSeconds, r.PeriodEndsAt = "pages", 100, &kind, &seconds, models.Millis(60_001).Ptr()
		})
		got, err = checker.CheckBudget(t.Context(), b.org, s)
		nine := "9"
		want := []tools.BudgetLine{
			{Currency: "usd", Limit: "10", Balance: "1.5", SoftLimit: &nine, PercentRemaining: 15, Status: "warning"},
			{Currency: "tokens", Limit: "3", Balance: "2", PercentRemaining: 50, Status: "active"},
			{Currency: "pages", Limit: "0.0000001", Balance: "0.0000001", PercentRemaining: 100, Status: "active"},
		}
		if err != nil || got.Status != "warning" || !reflect.DeepEqual(got.Budgets, want) || !strings.Contains(got.Hint, "usd") {
			t.Errorf("got %+v, %v", got, err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := checker.CheckBudget(gone, b.org, s); !errors.Is(err, context.Canceled) {
			t.Errorf("when they can't be read: %v", err)
		}
	})
}
