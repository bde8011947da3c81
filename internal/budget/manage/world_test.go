package manage_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// start is a Sunday at noon.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is the service over a fresh database with two organizations. Turns are never run.
type world struct {
	*manage.Service

	t      *testing.T
	db     *store.DB
	clock  *clock.Manual
	commit *commit.Committer
	woken  wakes
	by     *auth.Principal
	theirs *auth.Principal
}

// wakes notes what the engine was told.
type wakes struct {
	mu   sync.Mutex
	list []models.BudgetID
}

func (w *wakes) Wake(_ models.OrgID, ids ...models.BudgetID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, ids...)
}

// take returns what was woken since it was asked last.
func (w *wakes) take() []models.BudgetID {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}

func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newWorld(t, db)) })
}

func newWorld(t *testing.T, db *store.DB) *world {
	t.Helper()
	w := &world{t: t, db: db, clock: clock.NewManual(start)}
	w.commit = commit.New(commit.Config{
		DB: db, Clock: w.clock,
	})
	t.Cleanup(w.commit.Stop)
	var err error
	if w.Service, err = manage.New(manage.Config{DB: db, Committer: w.commit, Clock: w.clock, Waker: &w.woken}); err != nil {
		t.Fatal(err)
	}
	w.by, w.theirs = w.org("mine"), w.org("theirs")
	return w
}

func (w *world) write(org models.OrgID, rows ...any) {
	w.t.Helper()
	err := w.db.Write(w.t.Context(), org, func(tx *gorm.DB) error {
		for _, row := range rows {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// org makes an organization with a member, who is given.
func (w *world) org(slug string) *auth.Principal {
	w.t.Helper()
	org := models.Org{ID: models.NewID[models.OrgEntity](), Name: slug, Slug: slug, CreatedAt: 1}
	user := models.User{ID: models.NewID[models.UserEntity](), Email: slug, EmailKey: slug, Name: slug, CreatedAt: 1}
	err := w.db.WriteAcross(w.t.Context(), func(tx *gorm.DB) error {
		if err := tx.Create(&org).Error; err != nil {
			return err
		}
		if err := tx.Create(&user).Error; err != nil {
			return err
		}
		return tx.Create(&models.Membership{
			OrgID: org.ID, ID: models.NewID[models.MembershipEntity](), UserID: user.ID, Role: models.RoleAdmin, CreatedAt: 1,
		}).Error
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return &auth.Principal{OrgID: org.ID, UserID: user.ID, Role: models.RoleAdmin, Permissions: auth.RolePermissions(models.RoleAdmin, false)}
}

func (w *world) agent(by *auth.Principal, lifecycle models.Lifecycle) models.AgentID {
	w.t.Helper()
	id := models.NewID[models.AgentEntity]()
	w.write(by.OrgID, &models.Agent{
		OrgID: by.OrgID, ID: id, Name: id.String(), NameKey: id.String(), Capabilities: []models.CapabilityRef{}, Tags: []string{},
		Lifecycle: lifecycle, CreatedAt: 1, UpdatedAt: 1,
	})
	return id
}

// on does something to a session under its lock.
type on struct {
	org     models.OrgID
	session models.SessionID
	create  bool
	waits   bool
	apply   func(tx *commit.Tx) error
}

func (c *on) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Create: c.create, Budgets: !c.create, Waits: c.waits, Calls: c.waits, Ends: c.waits, Bytes: 4096}
}

func (c *on) Apply(tx *commit.Tx) error { return c.apply(tx) }

func (w *world) submit(c *on) {
	w.t.Helper()
	if err := w.commit.Submit(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// session makes a session of the caller's.
func (w *world) session(by *auth.Principal, change ...func(*models.Session)) models.SessionID {
	w.t.Helper()
	h := models.Harness{
		OrgID: by.OrgID, ID: models.NewID[models.HarnessEntity](), Capabilities: []models.CapabilityRef{}, Lifecycle: models.LifecycleActive,
		CreatedAt: 1, UpdatedAt: 1,
	}
	h.Name, h.NameKey = h.ID.String(), h.ID.String()
	w.write(by.OrgID, &h)
	kind, actor := by.Actor()
	s := models.Session{
		OrgID: by.OrgID, ID: models.NewID[models.SessionEntity](), HarnessID: h.ID, Tags: []string{}, CreatedByKind: kind, CreatedByID: &actor,
		OwnerID: by.UserID.Ptr(), CreatedAt: 1, Status: models.SessionStarted,
	}
	for _, fn := range change {
		fn(&s)
	}
	w.submit(&on{org: by.OrgID, session: s.ID, create: true, apply: func(tx *commit.Tx) error {
		tx.CreateSession(s)
		tx.Emit(nil, events.SessionStarted{HarnessID: h.ID})
		return nil
	}})
	return s.ID
}

// spend takes an amount off all budgets that bind a session, as the engine does.
func (w *world) spend(by *auth.Principal, session models.SessionID, amount models.Amount) {
	w.t.Helper()
	w.submit(&on{org: by.OrgID, session: session, apply: func(tx *commit.Tx) error {
		list, known := tx.Budgets()
		if !known {
			return commit.ErrMore
		}
		fact := models.NewID[models.JournalEntity]()
		tx.Meter(models.JournalEntry{ID: fact, Kind: models.JournalAdjustment, Measures: models.JSON("{}")}, false)
		for _, b := range list {
			budget.Roll(&b, tx.Now)
			budget.Debit(&b, amount, tx.Now)
			tx.SaveBudget(b)
			tx.Post(models.LedgerEntry{
				BudgetID: b.ID, JournalID: fact, Source: models.JournalAdjustment, Amount: amount, PeriodStartedAt: b.PeriodStartedAt,
			})
		}
		return nil
	}})
}

// hold holds an amount of all budgets that bind a session.
func (w *world) hold(by *auth.Principal, session models.SessionID, amount models.Amount) {
	w.t.Helper()
	w.submit(&on{org: by.OrgID, session: session, apply: func(tx *commit.Tx) error {
		list, known := tx.Budgets()
		if !known {
			return commit.ErrMore
		}
		for _, b := range list {
			budget.Roll(&b, tx.Now)
			budget.Hold(&b, amount)
			tx.SaveBudget(b)
		}
		return nil
	}})
}

func d(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func dp(s string) *decimal.Decimal { return new(d(s)) }

// ofOrg is a budget of tokens for the caller's organization.
func ofOrg(by *auth.Principal, limit string) manage.NewBudget {
	return manage.NewBudget{Subject: models.SubjectOrg, SubjectID: by.OrgID.String(), Currency: "tokens", Limit: d(limit)}
}

func (w *world) create(by *auth.Principal, in manage.NewBudget) *models.Budget {
	w.t.Helper()
	b, err := w.Create(w.t.Context(), by, in)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w *world) get(by *auth.Principal, id models.BudgetID) *models.Budget {
	w.t.Helper()
	b, err := w.Get(w.t.Context(), by.OrgID, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w *world) topUp(by *auth.Principal, id models.BudgetID, amount string) *models.Budget {
	w.t.Helper()
	b, err := w.TopUp(w.t.Context(), by, manage.TopUp{BudgetID: id, Amount: d(amount)})
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// stored returns a budget's row as it is stored.
func (w *world) stored(by *auth.Principal, id models.BudgetID) models.Budget {
	w.t.Helper()
	var b models.Budget
	if err := store.Of(w.db.Read(w.t.Context(), by.OrgID), by.OrgID).Where("id = ?", id).Take(&b).Error; err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w *world) ledger(by *auth.Principal, id models.BudgetID) []models.LedgerEntry {
	w.t.Helper()
	list, err := w.Ledger(w.t.Context(), by.OrgID, id, nil, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// addsUp checks that what is stored of a budget that doesn't roll is what its ledger says of the period.
func (w *world) addsUp(by *auth.Principal, id models.BudgetID) {
	w.t.Helper()
	b := w.stored(by, id)
	var spent, credits models.Amount
	for _, e := range w.ledger(by, id) {
		switch {
		case e.PeriodStartedAt != b.PeriodStartedAt:
		case e.Amount < 0:
			credits -= e.Amount
		default:
			spent += e.Amount
		}
	}
	if spent != b.Spent || credits != b.Credits {
		w.t.Errorf("the ledger of %s tells of %d spent and %d topped up in the period, its row of %d and %d", id, spent, credits, b.Spent, b.Credits)
	}
}

// recorded returns the actions in the audit log of an organization, and the details of the last.
func (w *world) recorded(by *auth.Principal) (actions string, last map[string]any) {
	w.t.Helper()
	var rows []models.AuditEntry
	if err := store.Of(w.db.Read(w.t.Context(), by.OrgID), by.OrgID).Order("position").Find(&rows).Error; err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, r := range rows {
		list = append(list, r.Action)
	}
	if len(rows) > 0 {
		if err := json.Unmarshal([]byte(rows[len(rows)-1].Details), &last); err != nil {
			w.t.Fatal(err)
		}
	}
	return strings.Join(list, " "), last
}

func wantFault(t *testing.T, what string, err error, code fault.Code, path ...string) {
	t.Helper()
	f := fault.As(err)
	if f == nil || f.Code != code || !slices.Equal(f.Path, path) || f.Message == "" {
		t.Errorf("%s: got %v, want %s at %v", what, err, code, path)
		if f != nil {
			t.Errorf("its path is %v", f.Path)
		}
	}
}

func background(t *testing.T) context.Context {
	t.Helper()
	return auth.WithRequest(t.Context(), &auth.RequestInfo{Address: "192.0.2.1", ID: "req"})
}
