package resolvers

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestCursorsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seq := rapid.Int64Range(0, math.MaxInt64).Draw(t, "sequence")
		if got, err := decodeSequenceCursor(sequenceCursor(seq)); err != nil || got != seq {
			t.Fatalf("%d became %d, %v", seq, got, err)
		}
		var id models.AgentID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		if got, err := decodeIDCursor[models.AgentEntity](idCursor(id)); err != nil || got != id {
			t.Fatalf("%s became %s, %v", id, got, err)
		}
		if _, err := decodeIDCursor[models.HarnessEntity](idCursor(id)); err == nil {
			t.Fatal("a cursor of another list was taken")
		}
		if _, err := decodeSequenceCursor(idCursor(id)); err == nil {
			t.Fatal("a cursor of another kind was taken")
		}
	})
}

func TestForgedCursorsAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "cursor")
		if seq, err := decodeSequenceCursor(s); err == nil && sequenceCursor(seq) != s {
			t.Fatalf("%q was taken for %d", s, seq)
		}
	})
}

func TestWindows(t *testing.T) {
	n := func(i int) *int { return &i }
	c := func(i int64) *string { s := sequenceCursor(i); return &s }
	type page struct {
		rows       []int64
		next, prev bool
	}
	// read is what a database would give for a window of the list 1 … 10.
	read := func(w window[int64]) []int64 {
		var rows []int64
		for i := int64(1); i <= 10; i++ {
			if (w.After == nil || i > *w.After) && (w.Before == nil || i < *w.Before) {
				rows = append(rows, i)
			}
		}
		if w.Backward {
			slices.Reverse(rows)
		}
		return rows[:min(len(rows), w.Limit+1)]
	}
	for name, tc := range map[string]struct {
		args pageArgs
		want page
	}{
		"the beginning":      {pageArgs{First: n(3)}, page{[]int64{1, 2, 3}, true, false}},
		"by default":         {pageArgs{}, page{[]int64{1, 2, 3, 4}, true, false}},
		"after":              {pageArgs{First: n(3), After: c(8)}, page{[]int64{9, 10}, false, true}},
		"exactly the rest":   {pageArgs{First: n(2), After: c(8)}, page{[]int64{9, 10}, false, true}},
		"the end":            {pageArgs{First: n(50), Last: n(2)}, page{[]int64{9, 10}, false, true}},
		"before":             {pageArgs{Last: n(2), Before: c(5)}, page{[]int64{3, 4}, true, true}},
		"before, to the top": {pageArgs{Last: n(9), Before: c(3)}, page{[]int64{1, 2}, true, false}},
		"between":            {pageArgs{First: n(9), After: c(3), Before: c(6)}, page{[]int64{4, 5}, false, true}},
		"nothing":            {pageArgs{First: n(9), After: c(10)}, page{nil, false, true}},
	} {
		w, err := newWindow(tc.args, 4, decodeSequenceCursor)
		if err != nil {
			t.Fatal(err)
		}
		rows, info := trim(read(w), w, func(n *int64) string { return sequenceCursor(*n) })
		if !slices.Equal(rows, tc.want.rows) || info.HasNextPage != tc.want.next || info.HasPreviousPage != tc.want.prev {
			t.Errorf("%s: got %v %+v", name, rows, info)
		}
	}
	for name, args := range map[string]pageArgs{
		"first": {First: n(0)}, "last": {Last: n(101)}, "after": {After: new(string)}, "before": {Before: new(string)},
	} {
		if _, err := newWindow(args, 4, decodeSequenceCursor); err == nil {
			t.Errorf("a bad %s was taken", name)
		}
	}
}

func TestCountsEndAtTenThousand(t *testing.T) {
	total := func(n int) *int {
		shown, err := (&model.Connection[model.Wait]{Count: func() (int, error) { return n, nil }}).TotalCount(t.Context())
		if err != nil {
			t.Error(err)
		}
		return shown
	}
	if n := total(10_000); n == nil || *n != 10_000 {
		t.Error("10 000 are not shown")
	}
	if total(10_001) != nil {
		t.Error("more than 10 000 are shown")
	}
}

func TestTheWordsOfAFilter(t *testing.T) {
	if got := distinct[models.WaitKind]([]model.WaitKind{"B", "A", "B", "B", "A"}); !slices.Equal(got, []models.WaitKind{"B", "A"}) {
		t.Errorf("got %v", got)
	}
	// Asking for nothing is not the same as not asking.
	if got := distinct[models.WaitKind]([]model.WaitKind(nil)); got != nil {
		t.Errorf("no list became %v", got)
	}
	if got := distinct[models.WaitKind]([]model.WaitKind{}); got == nil || len(got) != 0 {
		t.Errorf("a list of nothing became %v", got)
	}
}
