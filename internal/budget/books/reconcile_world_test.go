package books_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// reconcileStart is in the middle of an hour, a minute and a second.
const reconcileStart = models.Millis(1_700_001_030_500)

// reconcileWorld is a database with the books of organizations, written by hand.
type reconcileWorld struct {
	*books.Reconciler

	t     testing.TB
	db    *store.DB
	clock *clock.Manual
}

func newReconcileWorld(t testing.TB, db *store.DB) *reconcileWorld {
	t.Helper()
	clk := clock.NewManual(reconcileStart.Time())
	return &reconcileWorld{Reconciler: books.NewReconciler(db, clk), t: t, db: db, clock: clk}
}

func (w *reconcileWorld) now() models.Millis { return clock.Millis(w.clock) }

func (w *reconcileWorld) write(fn func(tx *gorm.DB) error) {
	w.t.Helper()
	if err := w.db.WriteAcross(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

func (w *reconcileWorld) create(list ...any) {
	w.t.Helper()
	w.write(func(tx *gorm.DB) error {
		for _, row := range list {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
			if b, ok := row.(*models.Budget); ok {
				if err := rows.SaveSlots(tx, b); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// setSlot changes a slot of a budget's window, and no sum.
func (w *reconcileWorld) setSlot(k models.BudgetSlot) {
	w.t.Helper()
	w.write(func(tx *gorm.DB) error {
		q := store.Of(tx.Model(&models.BudgetSlot{}), k.OrgID).Where("budget_id = ? AND slot = ?", k.BudgetID, k.Slot)
		return store.OneRow(q.Updates(map[string]any{"newest": k.Newest, "spent": k.Spent}))
	})
}

// testBooks is an organization with one session.
type testBooks struct {
	org     models.OrgID
	slug    string
	session models.Session
}

func (w *reconcileWorld) org() testBooks {
	w.t.Helper()
	o := testBooks{org: models.NewID[models.OrgEntity]()}
	o.slug = strings.TrimPrefix(o.org.String(), "org_")
	h := models.Harness{OrgID: o.org, ID: models.NewID[models.HarnessEntity](), Lifecycle: models.LifecycleActive, Capabilities: []models.CapabilityRef{}}
	h.Name, h.NameKey = h.ID.String(), h.ID.String()
	o.session = models.Session{
		OrgID: o.org, ID: models.NewID[models.SessionEntity](), HarnessID: h.ID, Tags: []string{}, CreatedByKind: models.ActorSystem, Status: models.SessionIdle,
	}
	w.create(&models.Org{ID: o.org, Name: "o", Slug: o.slug, CreatedAt: 1}, &h, &o.session)
	return o
}

// budget returns a row of an organization; change may set what it likes.
func (o testBooks) budget(currency string, change func(b *models.Budget)) *models.Budget {
	subject := models.SubjectID(o.org)
	b := &models.Budget{
		OrgID: o.org, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: &subject, Currency: currency,
		LimitAmount: 1_000_000, CreatedAt: reconcileStart, PeriodStartedAt: reconcileStart, UpdatedAt: reconcileStart,
	}
	if change != nil {
		change(b)
	}
	return b
}

func rolling(seconds int64) func(b *models.Budget) {
	return func(b *models.Budget) {
		kind := models.PeriodRolling
		b.PeriodKind, b.PeriodSeconds = &kind, &seconds
	}
}

// call returns a model call and its posting.
func (o testBooks) call(b *models.Budget, at models.Millis, usage models.Usage, amount models.Amount) (*models.JournalEntry, *models.LedgerEntry) {
	j := &models.JournalEntry{
		OrgID: o.org, ID: models.NewID[models.JournalEntity](), Kind: models.JournalModelCall, OccurredAt: at, SessionID: &o.session.ID, Model: "m", Usage: usage,
	}
	return j, posting(b, j, amount)
}

func posting(b *models.Budget, j *models.JournalEntry, amount models.Amount) *models.LedgerEntry {
	return &models.LedgerEntry{
		OrgID: b.OrgID, ID: models.PostingID(j.ID, b.ID), BudgetID: b.ID, JournalID: j.ID, Source: j.Kind, Amount: amount,
		SessionID: j.SessionID, PeriodStartedAt: b.PeriodStartedAt, CreatedAt: j.OccurredAt,
	}
}

func (o testBooks) topUp(b *models.Budget, at models.Millis, amount models.Amount) (*models.JournalEntry, *models.LedgerEntry) {
	j := &models.JournalEntry{OrgID: o.org, ID: models.NewID[models.JournalEntity](), Kind: models.JournalTopUp, OccurredAt: at}
	return j, posting(b, j, -amount)
}

// turn returns a turn that holds something.
func (o testBooks) turn(lines ...models.Held) *models.Turn {
	t := &models.Turn{
		OrgID: o.org, ID: models.NewID[models.TurnEntity](), SessionID: o.session.ID, InputMessageID: models.NewID[models.MessageEntity](),
		Status: models.TurnQueued, Phase: models.PhaseInput, StartedByKind: models.ActorSystem,
	}
	if len(lines) > 0 {
		t.Reservation = &models.Reservation{Lines: lines}
	}
	return t
}

// differences checks an organization, and returns what is wrong as "budget column stored computed".
func (w *reconcileWorld) differences(org models.OrgID) []string {
	w.t.Helper()
	list := []string{}
	err := w.Org(w.t.Context(), org, func(c books.Checked) error {
		for _, d := range c.Differences {
			list = append(list, fmt.Sprintf("%s %s", c.Budget, d))
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *reconcileWorld) right(org models.OrgID) {
	w.t.Helper()
	if got := w.differences(org); len(got) > 0 {
		w.t.Errorf("differences: %v", got)
	}
}

func (w *reconcileWorld) set(b *models.Budget, column string, value any) {
	w.t.Helper()
	w.write(func(tx *gorm.DB) error {
		return store.OneRow(store.Of(tx.Model(&models.Budget{}), b.OrgID).Where("id = ?", b.ID).Update(column, value))
	})
}

// unguard lets the database do what it refuses: tests play somebody who has taken it over, or a mistake of the server.
func (w *reconcileWorld) unguard() {
	w.t.Helper()
	drop := []string{
		"DROP TRIGGER IF EXISTS usage_journal_append_only ON usage_journal", "DROP TRIGGER IF EXISTS ledger_append_only ON ledger_entries",
		"ALTER TABLE ledger_entries DROP CONSTRAINT IF EXISTS ledger_entries_org_id_journal_id_fkey",
	}
	if w.db.Dialect == store.SQLite {
		drop = []string{"PRAGMA foreign_keys = OFF"}
		var triggers []string
		err := w.db.ReadAcross(w.t.Context()).Raw("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ('usage_journal', 'ledger_entries')").
			Scan(&triggers).Error
		if err != nil {
			w.t.Fatal(err)
		}
		for _, name := range triggers {
			drop = append(drop, "DROP TRIGGER "+name)
		}
	}
	for _, s := range drop {
		if _, err := storetest.Exec(w.t.Context(), w.db, s); err != nil {
			w.t.Fatal(err)
		}
	}
}

// unguarded changes one row as nobody may.
func (w *reconcileWorld) unguarded(statement string, args ...any) {
	w.t.Helper()
	w.unguard()
	for i, a := range args {
		// As either driver takes an id.
		if id, ok := a.([16]byte); ok && w.db.Dialect == store.SQLite {
			args[i] = slices.Clone(id[:])
		} else if ok {
			args[i] = uuid.UUID(id)
		}
	}
	if n, err := storetest.Exec(w.t.Context(), w.db, statement, args...); err != nil || n != 1 {
		w.t.Fatalf("wrote %d rows: %v", n, err)
	}
}

func (w *reconcileWorld) advance(d time.Duration) { w.clock.Advance(d) }
