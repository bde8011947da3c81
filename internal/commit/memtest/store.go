// Package memtest is a store of rows in memory, for tests and simulations: tables with unique constraints and references,
// and transactions that are undone as a whole. It knows nothing of what the rows mean. All that it does is deterministic:
// rows come in the order in which they were inserted.
package memtest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// The codes of PostgreSQL for what a constraint refuses, so that callers know the errors.
const (
	codeDuplicate = "23505"
	codeReference = "23503"
)

// maxKey is how many columns a constraint may have.
const maxKey = 8

// key is the values of a constraint's columns.
type key [maxKey]any

// Store is the tables. A transaction has it to itself, from Begin to Commit or Rollback; between them the other methods may be
// called, and at no other time, but for the definitions, which come first.
type Store struct {
	mu     sync.Mutex
	tables map[string]*table
	// undo takes back what the present transaction has done, the newest last.
	undo []func()
	// OnCommit is called before a transaction commits; nil for nothing. With an error the transaction is undone, and Commit gives
	// the error.
	OnCommit func() error
}

// New makes an empty store.
func New() *Store { return &Store{tables: map[string]*table{}} }

type table struct {
	name    string
	columns []string
	rows    []*row
	// uniques are the unique constraints; the first is the primary key.
	uniques []*unique
	refs    []reference
}

// row is replaced as a whole, and never changed, so that what a reader has got stays as it is.
type row struct{ values []any }

type unique struct {
	name    string
	columns []int
	// where returns which rows the constraint is about; nil for all.
	where func(row []any) bool
	rows  map[key]*row
}

type reference struct {
	columns []int
	to      *table
}

// Define adds a table. Rows have their values in the order of the columns; key names those of the primary key, in its order. The
// values must be comparable.
func (s *Store) Define(name string, columns, key []string) {
	if s.tables[name] != nil {
		panic("memtest: table " + name + " is defined twice")
	}
	t := &table{name: name, columns: columns}
	s.tables[name] = t
	s.Unique(name+"_pkey", name, key, nil)
}

// Unique adds a unique constraint about the rows for which where holds; about all when it is nil.
func (s *Store) Unique(name, of string, columns []string, where func(row []any) bool) {
	t := s.table(of)
	t.uniques = append(t.uniques, &unique{name: name, columns: t.positions(columns), where: where, rows: map[key]*row{}})
}

// Refer adds a reference to the primary key of another table. It is met when one of the columns is nil.
func (s *Store) Refer(from string, columns []string, to string) {
	t := s.table(from)
	t.refs = append(t.refs, reference{t.positions(columns), s.table(to)})
}

// Begin starts a transaction. It waits until no other one is open.
func (s *Store) Begin() { s.mu.Lock() }

// Commit ends the transaction. With an error nothing of it is left.
func (s *Store) Commit() error {
	if s.OnCommit != nil {
		if err := s.OnCommit(); err != nil {
			s.Rollback()
			return err
		}
	}
	s.undo = s.undo[:0]
	s.mu.Unlock()
	return nil
}

// Rollback ends the transaction and takes back what it has done.
func (s *Store) Rollback() {
	for _, undo := range slices.Backward(s.undo) {
		undo()
	}
	s.undo = s.undo[:0]
	s.mu.Unlock()
}

// Select returns the rows with a primary key, or all when it is nil, for which where holds; nil is for all. They must not be changed.
func (s *Store) Select(from string, primary []any, where func(row []any) bool) [][]any {
	var list [][]any
	for _, r := range s.table(from).find(primary, where) {
		list = append(list, r.values)
	}
	return list
}

// Insert adds a row. When there is one with its primary key, conflict decides: it is an error when conflict is empty, the row is left
// alone with "DO NOTHING", replaced with "UPDATE", and its numbers are added up with "ADD".
func (s *Store) Insert(into string, values []any, conflict string) error {
	t := s.table(into)
	if len(values) != len(t.columns) {
		panic(fmt.Sprintf("memtest: a row of %s has %d values for %d columns", into, len(values), len(t.columns)))
	}
	if old := t.uniques[0].rows[t.uniques[0].key(values)]; old != nil {
		switch conflict {
		case "":
		case "DO NOTHING":
			return nil
		case "UPDATE":
			return s.replace(t, old, values)
		case "ADD":
			return s.replace(t, old, t.plus(old.values, values))
		default:
			panic("memtest: an unknown conflict clause: " + conflict)
		}
	}
	if err := t.check(nil, values); err != nil {
		return err
	}
	r := &row{slices.Clone(values)}
	t.index(r)
	t.rows = append(t.rows, r)
	s.undo = append(s.undo, func() {
		t.unindex(r)
		t.rows = slices.Delete(t.rows, len(t.rows)-1, len(t.rows))
	})
	return nil
}

// Update changes the rows that Select would give, each by set on a copy, and tells how many there were.
func (s *Store) Update(in string, primary []any, where func(row []any) bool, set func(row []any)) (int, error) {
	t := s.table(in)
	list := t.find(primary, where)
	for _, r := range list {
		values := slices.Clone(r.values)
		set(values)
		if err := s.replace(t, r, values); err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

// Delete removes the rows that Select would give and tells how many there were.
func (s *Store) Delete(from string, primary []any, where func(row []any) bool) int {
	t := s.table(from)
	list := t.find(primary, where)
	for _, r := range list {
		at := slices.Index(t.rows, r)
		t.unindex(r)
		t.rows = slices.Delete(t.rows, at, at+1)
		s.undo = append(s.undo, func() {
			t.rows = slices.Insert(t.rows, at, r)
			t.index(r)
		})
	}
	return len(list)
}

// replace changes the values of a row.
func (s *Store) replace(t *table, r *row, values []any) error {
	if err := t.check(r, values); err != nil {
		return err
	}
	old := r.values
	t.unindex(r)
	r.values = slices.Clone(values)
	t.index(r)
	s.undo = append(s.undo, func() {
		t.unindex(r)
		r.values = old
		t.index(r)
	})
	return nil
}

func (s *Store) table(name string) *table {
	t := s.tables[name]
	if t == nil {
		panic("memtest: there is no table " + name)
	}
	return t
}

func (t *table) positions(columns []string) []int {
	if len(columns) > maxKey {
		panic(fmt.Sprintf("memtest: a constraint of %s has more than %d columns", t.name, maxKey))
	}
	list := make([]int, len(columns))
	for i, c := range columns {
		if list[i] = slices.Index(t.columns, c); list[i] < 0 {
			panic(fmt.Sprintf("memtest: table %s has no column %s", t.name, c))
		}
	}
	return list
}

func (t *table) find(primary []any, where func(row []any) bool) []*row {
	if primary == nil {
		var list []*row
		for _, r := range t.rows {
			if where == nil || where(r.values) {
				list = append(list, r)
			}
		}
		return list
	}
	var k key
	copy(k[:], primary)
	r := t.uniques[0].rows[k]
	if r == nil || where != nil && !where(r.values) {
		return nil
	}
	return []*row{r}
}

// check tells what keeps the values from being those of the row, which is nil when it is new.
func (t *table) check(r *row, values []any) error {
	for _, u := range t.uniques {
		if !u.covers(values) {
			continue
		}
		if other := u.rows[u.key(values)]; other != nil && other != r {
			return &pgconn.PgError{
				Severity: "ERROR", Code: codeDuplicate, TableName: t.name, ConstraintName: u.name,
				Message: "duplicate key value violates unique constraint " + u.name,
			}
		}
	}
	for _, ref := range t.refs {
		k, there := keyOf(ref.columns, values)
		if there && ref.to.uniques[0].rows[k] == nil {
			return &pgconn.PgError{
				Severity: "ERROR", Code: codeReference, TableName: t.name,
				Message: fmt.Sprintf("a row of %s refers to one of %s that doesn't exist", t.name, ref.to.name),
			}
		}
	}
	return nil
}

func (t *table) index(r *row) {
	for _, u := range t.uniques {
		if u.covers(r.values) {
			u.rows[u.key(r.values)] = r
		}
	}
}

func (t *table) unindex(r *row) {
	for _, u := range t.uniques {
		if u.covers(r.values) {
			delete(u.rows, u.key(r.values))
		}
	}
}

// covers reports whether the constraint is about a row: like in SQL, not about those where one of its columns is nil.
func (u *unique) covers(values []any) bool {
	_, there := keyOf(u.columns, values)
	return there && (u.where == nil || u.where(values))
}

func (u *unique) key(values []any) key {
	k, _ := keyOf(u.columns, values)
	return k
}

// keyOf returns the values of some columns, and whether none of them is nil.
func keyOf(columns []int, values []any) (k key, there bool) {
	there = true
	for i, c := range columns {
		k[i] = values[c]
		there = there && values[c] != nil
	}
	return k, there
}

// plus returns a row whose numbers are the sums of two; the primary key is theirs.
func (t *table) plus(a, b []any) []any {
	sum := slices.Clone(a)
	for i := range sum {
		if n, ok := sum[i].(int64); ok && !slices.Contains(t.uniques[0].columns, i) {
			sum[i] = n + b[i].(int64) //nolint:forcetypeassert // of the same column
		}
	}
	return sum
}
