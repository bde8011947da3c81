package memtest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/store"
)

// library is a store with two tables, one of which has all that there is.
func library() *Store {
	s := New()
	s.Define("shelves", []string{"id", "room"}, []string{"id"})
	s.Define("books", []string{"id", "shelf", "title", "lent"}, []string{"id"})
	s.Unique("books_titles", "books", []string{"shelf", "title"}, nil)
	s.Unique("books_one_lent", "books", []string{"shelf"}, func(row []any) bool { return row[3] == true })
	s.Refer("books", []string{"shelf"}, "shelves")
	return s
}

func (s *Store) must(t testing.TB, do func() error) {
	t.Helper()
	s.Begin()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	s := library()
	s.must(t, func() error { return s.Insert("shelves", []any{int64(1), "hall"}, "") })
	s.must(t, func() error { return s.Insert("books", []any{int64(1), int64(1), "A", true}, "") })
	for name, tc := range map[string]struct {
		row       []any
		duplicate bool
		missing   bool
	}{
		"the same key":                     {row: []any{int64(1), int64(1), "B", false}, duplicate: true},
		"the same title":                   {row: []any{int64(2), int64(1), "A", false}, duplicate: true},
		"a second one lent":                {row: []any{int64(2), int64(1), "B", true}, duplicate: true},
		"no such shelf":                    {row: []any{int64(2), int64(7), "B", false}, missing: true},
		"another one":                      {row: []any{int64(2), int64(1), "B", false}},
		"no shelf, which refers to no one": {row: []any{int64(2), nil, "A", true}},
	} {
		s.Begin()
		err := s.Insert("books", tc.row, "")
		if store.IsDuplicate(err) != tc.duplicate || store.IsMissingReference(err) != tc.missing || (err != nil) != (tc.duplicate || tc.missing) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			// What is refused to an insert is refused to an update.
			if _, err := s.Update("books", []any{int64(2)}, nil, func(row []any) { row[0] = int64(1) }); !store.IsDuplicate(err) {
				t.Errorf("%s, then the key of another: %v", name, err)
			}
		}
		s.Rollback()
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	s := library()
	s.must(t, func() error { return s.Insert("shelves", []any{int64(1), "hall"}, "") })
	for conflict, want := range map[string]string{"DO NOTHING": "hall", "UPDATE": "attic"} {
		s.must(t, func() error { return s.Insert("shelves", []any{int64(1), "hall"}, "UPDATE") })
		s.must(t, func() error { return s.Insert("shelves", []any{int64(1), "attic"}, conflict) })
		s.Begin()
		if got := s.Select("shelves", []any{int64(1)}, nil)[0][1]; got != want {
			t.Errorf("%s: the room is %v", conflict, got)
		}
		s.Rollback()
	}
}

func TestACommitThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	s := library()
	gone := errors.New("gone")
	s.OnCommit = func() error { return gone }
	s.Begin()
	if err := s.Insert("shelves", []any{int64(1), "hall"}, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(); !errors.Is(err, gone) {
		t.Errorf("the commit: %v", err)
	}
	s.Begin()
	defer s.Rollback()
	if n := len(s.Select("shelves", nil, nil)); n != 0 {
		t.Errorf("there are %d rows", n)
	}
}

// Whatever a transaction does, Rollback brings everything back, the order of the rows and the constraints included.
func TestRollbackBringsEverythingBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := library()
		change := func() {
			id, shelf := any(int64(rapid.IntRange(1, 6).Draw(rt, "id"))), any(int64(rapid.IntRange(1, 3).Draw(rt, "shelf")))
			title, lent := any(fmt.Sprint(rapid.IntRange(1, 3).Draw(rt, "title"))), any(rapid.Bool().Draw(rt, "lent"))
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				_ = s.Insert("shelves", []any{shelf, title}, rapid.SampledFrom([]string{"", "UPDATE", "DO NOTHING"}).Draw(rt, "conflict"))
			case 1:
				_ = s.Insert("books", []any{id, shelf, title, lent}, "UPDATE")
			case 2:
				_, _ = s.Update("books", nil, func(row []any) bool { return row[1] == shelf }, func(row []any) { row[2], row[3] = title, lent })
			case 3:
				s.Delete("books", []any{id}, nil)
			}
		}
		s.Begin()
		for range rapid.IntRange(0, 20).Draw(rt, "before") {
			change()
		}
		if err := s.Commit(); err != nil {
			rt.Fatal(err)
		}
		before := s.dump()
		s.Begin()
		for range rapid.IntRange(1, 20).Draw(rt, "within") {
			change()
		}
		s.Rollback()
		if after := s.dump(); !reflect.DeepEqual(before, after) {
			rt.Fatalf("before:\n%v\nafter:\n%v", before, after)
		}
	})
}

// dump returns all that the store holds: rows and indexes.
func (s *Store) dump() map[string]any {
	all := map[string]any{}
	for name, t := range s.tables {
		var rows [][]any
		for _, r := range t.rows {
			rows = append(rows, r.values)
		}
		all[name] = rows
		for _, u := range t.uniques {
			index := map[key][]any{}
			for k, r := range u.rows {
				index[k] = r.values
			}
			all[u.name] = index
		}
	}
	return all
}
