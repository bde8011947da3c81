package commit

import (
	"cmp"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/commit/memtest"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// eachStore runs a test on both databases, and on the store in memory, with nil.
func eachStore(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	storetest.Each(t, test)
	t.Run("memory", func(t *testing.T) { test(t, nil) })
}

// inMemory is a Committer, goroutine and all, on the store of simulations.
func inMemory(cfg Config, m *Memory) *Committer {
	cfg.Logger = slog.New(slog.DiscardHandler)
	if cfg.StopGrace == 0 {
		cfg.StopGrace = 5 * time.Second
	}
	return &Committer{cfg: cfg, flushers: []*flusher{newFlusher(cfg, m, newLedger(cfg.Clock))}, assignment: newAssignment(1)}
}

// memoryRows reads all rows of a session, in an order.
func memoryRows[T any](w *world, org models.OrgID, s models.SessionID, order string) []T {
	w.t.Helper()
	sch := schemaOf[T](w.memory)
	field := func(row *T, column string) reflect.Value {
		return sch.LookUpField(column).ReflectValueOf(w.t.Context(), reflect.ValueOf(row).Elem())
	}
	list := Read[T](w.memory, Is{"org_id", org}, Is{"session_id", s})
	slices.SortStableFunc(list, func(a, b T) int {
		x, y := field(&a, order), field(&b, order)
		switch {
		case x.CanInt():
			return cmp.Compare(x.Int(), y.Int())
		case x.Kind() == reflect.String:
			return cmp.Compare(x.String(), y.String())
		}
		return 0
	})
	return list
}

// only reads a row that must be there.
func only[T any](w *world, conds ...Is) T {
	w.t.Helper()
	list := Read[T](w.memory, conds...)
	if len(list) != 1 {
		w.t.Fatalf("there are %d rows of %T that are meant, want 1", len(list), list)
	}
	return list[0]
}

// memoryFeed is feed on the store in memory.
func (w *world) memoryFeed(org models.OrgID) []models.Event {
	w.t.Helper()
	all := Read[models.Event](w.memory, Is{"org_id", org})
	list := slices.DeleteFunc(slices.Clone(all), func(e models.Event) bool { return e.FeedPosition == nil })
	slices.SortFunc(list, func(a, b models.Event) int { return cmp.Compare(*a.FeedPosition, *b.FeedPosition) })
	if err := events.CheckFeed(list); err != nil {
		w.t.Fatalf("the feed of %s: %v", org, err)
	}
	for _, e := range all {
		if e.FeedPosition == nil && events.InOrgFeed(e.Kind) {
			w.t.Fatalf("%s %d has no place in the feed", e.Kind, e.Sequence)
		}
	}
	row := Read[models.OrgFeed](w.memory, Is{"org_id", org})
	if len(row) == 0 && len(list) > 0 || len(row) > 0 && row[0].Position != int64(len(list)) {
		w.t.Fatalf("the feed of %s has %d events, and its row says %v", org, len(list), row)
	}
	w.checkTotals(org, row)
	return list
}

// claimed is what the claim does to a turn that is ready.
func (w *world) claimed(id models.TurnID, runner models.RunnerID) {
	w.t.Helper()
	if w.memory == nil {
		w.exec("UPDATE turns SET ready_at = NULL, runner_id = ?, lease_epoch = lease_epoch + 1, status = 'RUNNING' WHERE id = ?", runner[:], id[:])
		return
	}
	w.change(id, func(t *models.Turn) {
		t.ReadyAt, t.RunnerID, t.Status = nil, &runner, models.TurnRunning
		t.LeaseEpoch++
	})
}

// taken is what the takeover does to a turn of a dead runner.
func (w *world) taken(id models.TurnID) {
	w.t.Helper()
	if w.memory == nil {
		w.exec("UPDATE turns SET ready_at = 1, runner_id = NULL, lease_epoch = lease_epoch + 1 WHERE id = ?", id[:])
		return
	}
	w.change(id, func(t *models.Turn) {
		t.ReadyAt, t.RunnerID = new(models.Millis(1)), nil
		t.LeaseEpoch++
	})
}

// misled makes a session name a turn that doesn't exist.
func (w *world) misled(s models.SessionID, ghost models.TurnID) {
	w.t.Helper()
	if w.memory == nil {
		w.exec("UPDATE sessions SET current_turn_id = ? WHERE id = ?", ghost[:], s[:])
		return
	}
	row := w.readSession(s)
	row.CurrentTurnID = &ghost
	w.memory.rows.Begin()
	if err := w.memory.plans[tables.updateSession].write(w.memory.rows, sessionUpdateRow(&row)); err != nil {
		w.t.Fatal(err)
	}
	if err := w.memory.rows.Commit(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) change(id models.TurnID, set func(*models.Turn)) {
	w.t.Helper()
	list, err := w.memory.ChangeTurns(func(t *models.Turn) bool {
		if t.ID == id {
			set(t)
		}
		return t.ID == id
	})
	if err != nil || len(list) != 1 {
		w.t.Fatalf("change turn %s: %d turns, %v", id, len(list), err)
	}
}

// The memory keeps the rules of the schema that the databases have: what it is not told of a table that the committer writes,
// it doesn't keep.
func TestTheMemoryHasTheConstraintsOfTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.SQLite(t))
	m := &recorder{Rows: memtest.New()}
	NewMemory(m)
	written := map[string]bool{}
	for _, s := range allShapes() {
		written[s.table] = true
	}
	// Who exists is beyond the memory.
	beyond := []string{"orgs", "users", "harnesses", "agents", "models", "payment_policies"}
	for table := range written {
		if got, want := m.uniques[table], w.uniquesOf(table); !slices.Equal(got, want) {
			t.Errorf("%s: the memory has the unique constraints %v, the database %v", table, got, want)
		}
		want := slices.DeleteFunc(w.referencesOf(table), func(to string) bool { return slices.Contains(beyond, to) })
		if got := m.refs[table]; !slices.Equal(got, want) {
			t.Errorf("%s: the memory has references to %v, the database to %v", table, got, want)
		}
	}
}

// recorder notes what is defined.
type recorder struct {
	Rows

	uniques, refs map[string][]string
}

func (r *recorder) note(m *map[string][]string, table, what string) {
	if *m == nil {
		*m = map[string][]string{}
	}
	(*m)[table] = append((*m)[table], what)
	slices.Sort((*m)[table])
}

func (r *recorder) Define(table string, columns, key []string) {
	r.note(&r.uniques, table, joined(key))
	r.Rows.Define(table, columns, key)
}

func (r *recorder) Unique(name, table string, columns []string, where func([]any) bool) {
	r.note(&r.uniques, table, joined(columns))
	r.Rows.Unique(name, table, columns, where)
}

func (r *recorder) Refer(table string, columns []string, to string) {
	r.note(&r.refs, table, to)
	r.Rows.Refer(table, columns, to)
}

func joined(columns []string) string { return strings.Join(columns, ",") }

// pragma reads a table-valued pragma of SQLite as text.
func (w *world) pragma(columns, pragma, of string) [][]string {
	w.t.Helper()
	rows, err := w.db.Reader.QueryContext(w.t.Context(), fmt.Sprintf("SELECT %s FROM %s('%s')", columns, pragma, of))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var list [][]string
	for rows.Next() {
		values := make([]string, strings.Count(columns, ",")+1)
		dest := make([]any, len(values))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			w.t.Fatal(err)
		}
		list = append(list, values)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) uniquesOf(table string) []string {
	var list []string
	for _, index := range w.pragma("name, \"unique\"", "pragma_index_list", table) {
		if index[1] != "1" {
			continue
		}
		var columns []string
		for _, c := range w.pragma("name", "pragma_index_info", index[0]) {
			columns = append(columns, c[0])
		}
		list = append(list, joined(columns))
	}
	slices.Sort(list)
	return list
}

func (w *world) referencesOf(table string) []string {
	seen := map[string]bool{}
	var list []string
	for _, ref := range w.pragma("id, \"table\"", "pragma_foreign_key_list", table) {
		if !seen[ref[0]] {
			seen[ref[0]] = true
			list = append(list, ref[1])
		}
	}
	slices.Sort(list)
	return list
}
