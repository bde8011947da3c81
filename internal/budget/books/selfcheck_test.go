package books_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

type checkMeter struct{ checked, differences int }

func (m *checkMeter) BudgetsChecked(n int)    { m.checked += n }
func (m *checkMeter) BudgetDifferences(n int) { m.differences = n }

// node is a process that checks budgets.
type node struct {
	*books.SelfCheck

	cfg    books.SelfCheckConfig
	meter  *checkMeter
	logged *bytes.Buffer
}

func (w *reconcileWorld) node() *node {
	n := &node{meter: &checkMeter{}, logged: &bytes.Buffer{}}
	n.cfg = books.SelfCheckConfig{
		Reconciler: w.Reconciler, Clock: w.clock, Logger: slog.New(slog.NewTextHandler(n.logged, nil)), Meter: n.meter,
	}
	n.SelfCheck = books.NewSelfCheck(n.cfg)
	return n
}

// pass checks, and returns how many budgets were checked, how many differences there are, and how many errors were logged.
func (n *node) pass(t *testing.T) string {
	t.Helper()
	n.meter.checked = 0
	n.logged.Reset()
	if err := n.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d checked, %d wrong, %d logged", n.meter.checked, n.meter.differences, strings.Count(n.logged.String(), "level=ERROR"))
}

func TestSelfCheck(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		s, other := w.scene(), w.scene()
		one, two := w.node(), w.node()
		expect := func(what string, n *node, want string, recorded int) {
			t.Helper()
			w.advance(time.Hour)
			if got := n.pass(t); got != want {
				t.Errorf("%s: got %s, want %s", what, got, want)
			}
			if list := w.recorded(s.org); len(list) != recorded {
				t.Errorf("%s: recorded %+v", what, list)
			}
		}
		expect("all is well", one, "6 checked, 0 wrong, 0 logged", 0)
		expect("nothing has changed", one, "0 checked, 0 wrong, 0 logged", 0)

		w.set(s.dollars, "spent", 211)
		w.set(s.dollars, "updated_at", w.now())
		expect("found", one, "1 checked, 1 wrong, 1 logged", 1)
		expect("still there", one, "1 checked, 1 wrong, 1 logged", 1)
		expect("another node", two, "6 checked, 1 wrong, 1 logged", 1)

		// It goes on being used, and stays as wrong as it was.
		j, l := s.testBooks.call(s.dollars, w.now(), models.Usage{CostNanos: 1}, 1)
		w.create(j, l)
		w.set(s.dollars, "spent", 212)
		w.set(s.dollars, "updated_at", w.now())
		expect("in use", one, "1 checked, 1 wrong, 1 logged", 1)

		w.set(s.dollars, "credits", 0)
		expect("another difference", one, "1 checked, 2 wrong, 2 logged", 2)
		expect("the same to another node", two, "1 checked, 2 wrong, 2 logged", 2)

		if _, err := w.Repair(t.Context(), s.org, s.dollars.ID); err != nil {
			t.Fatal(err)
		}
		expect("repaired", one, "1 checked, 0 wrong, 0 logged", 3)
		expect("repaired, to another node", two, "1 checked, 0 wrong, 0 logged", 3)
		w.set(s.dollars, "spent", 212+1)
		w.set(s.dollars, "credits", 0)
		w.set(s.dollars, "updated_at", w.now())
		expect("again", one, "1 checked, 2 wrong, 2 logged", 4)

		var actions []string
		for _, e := range w.recorded(s.org) {
			actions = append(actions, e.Action+" "+e.TargetID)
		}
		id := s.dollars.ID.String()
		want := []string{"budget.mismatch " + id, "budget.mismatch " + id, "budget.reconciled " + id, "budget.mismatch " + id}
		if fmt.Sprint(actions) != fmt.Sprint(want) {
			t.Errorf("recorded %v, want %v", actions, want)
		}
		if list := w.recorded(other.org); len(list) > 0 {
			t.Errorf("recorded in another organization: %+v", list)
		}
	})
}

// Postings that a process has summed up are not read again, however many there are; and what comes late nevertheless is no false alarm.
func TestOldPostingsAreReadOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		s := w.scene()
		n := w.node()
		touch := func() {
			w.advance(time.Hour)
			w.set(s.dollars, "updated_at", w.now())
		}
		touch()
		if got := n.pass(t); got != "3 checked, 0 wrong, 0 logged" {
			t.Fatalf("got %s", got)
		}
		w.unguarded("DELETE FROM ledger_entries WHERE id = ?", [16]byte(s.call.ID))
		touch()
		if got := n.pass(t); got != "1 checked, 0 wrong, 0 logged" {
			t.Errorf("with a posting gone that is known: got %s", got)
		}
		w.create(s.call)
		j, l := s.testBooks.call(s.dollars, reconcileStart+7, models.Usage{CostNanos: 4}, 4)
		w.create(j, l)
		w.set(s.dollars, "spent", 214)
		for range 2 {
			touch()
			if got := n.pass(t); got != "1 checked, 0 wrong, 0 logged" {
				t.Errorf("with a posting that came late: got %s", got)
			}
		}
		w.unguarded("DELETE FROM ledger_entries WHERE id = ?", [16]byte(s.call.ID))
		if got := w.node().pass(t); got != "3 checked, 1 wrong, 1 logged" {
			t.Errorf("a process that knows nothing: got %s", got)
		}
	})
}

func TestSelfCheckRunsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	w := newReconcileWorld(t, storetest.SQLite(t))
	s := w.scene()
	w.set(s.dollars, "spent", 1)
	n := w.node()
	ticks := make(chan time.Time)
	n.cfg.Ticks = ticks
	check := books.NewSelfCheck(n.cfg).Job()
	if err := check.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The second one is taken only after what the first one began.
	ticks <- time.Time{}
	ticks <- time.Time{}
	check.Stop()
	if n.meter.differences != 1 {
		t.Errorf("%d differences", n.meter.differences)
	}
}
