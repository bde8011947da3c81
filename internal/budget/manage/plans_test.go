package manage_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// statement is what was asked of the database.
type statement struct {
	sql  string
	vars []any
}

// heard gives the reading statements on budgets and their ledgers that a call makes.
type heard struct{ list []statement }

func (h *heard) listen(w *world) {
	w.t.Helper()
	note := func(tx *gorm.DB) {
		if s := tx.Statement.SQL.String(); !tx.DryRun && (strings.Contains(s, "budgets") || strings.Contains(s, "ledger_entries")) {
			h.list = append(h.list, statement{s, slices.Clone(tx.Statement.Vars)})
		}
	}
	register := func(tx *gorm.DB) {
		if err := tx.Callback().Query().After("gorm:query").Register("test:plans", note); err != nil {
			w.t.Fatal(err)
		}
		if err := tx.Callback().Row().After("gorm:row").Register("test:plans", note); err != nil {
			w.t.Fatal(err)
		}
	}
	register(w.db.Read(w.t.Context(), w.by.OrgID))
	err := w.db.Write(w.t.Context(), w.by.OrgID, func(tx *gorm.DB) error { register(tx); return nil })
	if err != nil {
		w.t.Fatal(err)
	}
}

// plan returns how the database would answer a statement.
func (w *world) plan(s statement) string {
	w.t.Helper()
	explain := "EXPLAIN QUERY PLAN "
	if w.db.Dialect == store.Postgres {
		explain = "EXPLAIN (COSTS OFF) "
	}
	db := w.db.Read(w.t.Context(), w.by.OrgID)
	rows, err := db.Statement.ConnPool.QueryContext(db.Statement.Context, explain+s.sql, s.vars...)
	if err != nil {
		w.t.Fatal(s.sql, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		w.t.Fatal(err)
	}
	var text strings.Builder
	for rows.Next() {
		line := make([]any, len(columns))
		for i := range line {
			line[i] = new(any)
		}
		if err := rows.Scan(line...); err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprintln(&text, *line[len(line)-1].(*any))
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return text.String()
}

var (
	wholeTable = regexp.MustCompile(`Seq Scan on|SCAN (budgets|ledger_entries)`)
	sorts      = regexp.MustCompile(`Sort Key|TEMP B-TREE`)
)

// No statement reads a table from end to end, and no list sorts more than its page.
func TestListsAreReadByTheirIndexes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		org := w.create(w.by, ofOrg(w.by, "100"))
		session := w.session(w.by, func(s *models.Session) { s.CustomerKey = new("7") })
		var rows []models.Budget
		for i := range 4000 {
			b := *org
			b.ID, b.CreatedAt, b.Subject, b.SubjectID, b.CustomerKey = models.NewID[models.BudgetEntity](), models.Millis(i), models.SubjectCustomer, nil, new(fmt.Sprint(i))
			if i%2 == 0 {
				b.Subject, b.CustomerKey, b.SubjectID = models.SubjectUser, nil, new(models.NewID[models.SubjectEntity]())
			}
			if i%10 > 1 { // most are out of force
				b.DisabledAt = new(models.Millis(1))
			}
			if rows = append(rows, b); len(rows) == 500 {
				w.write(w.by.OrgID, &rows)
				rows = rows[:0]
			}
		}
		fact := models.JournalEntry{OrgID: w.by.OrgID, ID: models.NewID[models.JournalEntity](), Kind: models.JournalTopUp, Measures: models.JSON("{}")}
		w.write(w.by.OrgID, &fact)
		all, err := w.List(t.Context(), w.by.OrgID, manage.Filter{}, nil, 4000)
		if err != nil {
			t.Fatal(err)
		}
		postings := make([]models.LedgerEntry, 0, 500)
		for i, b := range all {
			postings = append(postings, models.LedgerEntry{
				OrgID: w.by.OrgID, ID: models.PostingID(fact.ID, b.ID), BudgetID: b.ID, JournalID: fact.ID, Source: fact.Kind, Amount: -1, CreatedAt: models.Millis(i),
			})
			if len(postings) == cap(postings) {
				w.write(w.by.OrgID, &postings)
				postings = postings[:0]
			}
		}
		if _, err := storetest.Exec(t.Context(), w.db, "ANALYZE"); err != nil {
			t.Fatal(err)
		}
		var h heard
		h.listen(w)
		place := &manage.Place[models.BudgetEntity]{At: 2000, ID: all[10].ID}
		user := all[1]
		if user.Subject != models.SubjectUser {
			user = all[2]
		}
		for _, c := range []struct {
			name   string
			sorted bool // what it sorts is as long as a page
			call   func() error
		}{
			{"list", false, func() error { _, err := w.List(t.Context(), w.by.OrgID, manage.Filter{}, nil, 21); return err }},
			{"list after", false, func() error { _, err := w.List(t.Context(), w.by.OrgID, manage.Filter{}, place, 21); return err }},
			{"list of a subject", false, func() error {
				_, err := w.List(t.Context(), w.by.OrgID, manage.Filter{Subject: new(models.SubjectOrg)}, place, 21)
				return err
			}},
			{"list of a user", false, func() error {
				_, err := w.List(t.Context(), w.by.OrgID, manage.Filter{Subject: new(models.SubjectUser), SubjectID: new(manage.SubjectID(&user))}, place, 21)
				return err
			}},
			{"list of a customer", false, func() error {
				_, err := w.List(t.Context(), w.by.OrgID, manage.Filter{Subject: new(models.SubjectCustomer), SubjectID: new("7")}, nil, 21)
				return err
			}},
			{"ledger", false, func() error {
				_, err := w.Ledger(t.Context(), w.by.OrgID, all[3].ID, &manage.Place[models.LedgerEntity]{At: 5, ID: models.NewID[models.LedgerEntity]()}, 21)
				return err
			}},
			{"newest postings", true, func() error {
				_, err := w.NewestPostings(t.Context(), w.by.OrgID, []models.BudgetID{all[3].ID, all[4].ID}, 21)
				return err
			}},
			{"count of postings", false, func() error {
				_, err := w.CountPostings(t.Context(), w.by.OrgID, []models.BudgetID{all[3].ID, all[4].ID})
				return err
			}},
			{"check", true, func() error { _, err := w.Check(t.Context(), w.by.OrgID, session); return err }},
			{"create", false, func() error {
				_, err := w.Create(t.Context(), w.by, manage.NewBudget{Subject: models.SubjectCustomer, SubjectID: "7", Currency: "usd", Limit: d("1")})
				return err
			}},
		} {
			h.list = nil
			if err := c.call(); err != nil {
				t.Fatal(c.name, err)
			}
			if len(h.list) == 0 {
				t.Errorf("%s: no statement was heard", c.name)
			}
			for _, s := range slices.Clone(h.list) {
				if plan := w.plan(s); wholeTable.MatchString(plan) || !c.sorted && sorts.MatchString(plan) {
					t.Errorf("%s: %s\n%s", c.name, s.sql, plan)
				}
			}
		}
	})
}
