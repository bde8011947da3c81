package commit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// fork forks a session through a sequence, 0 for all of it.
func (w *world) fork(s, child models.SessionID, through int64) *cmd {
	return w.command(s, func(tx *Tx) error {
		f := Fork{Through: through, TodosBefore: math.MaxInt64, Session: models.Session{
			ID: child, HarnessID: w.harness, Tags: []string{"t"}, CreatedByKind: models.ActorUser, Status: models.SessionIdle, FileBytes: tx.Session.FileBytes,
		}}
		if through == 0 {
			f.Through = tx.Session.LastSequence
		}
		c, err := tx.Fork(f)
		if err != nil {
			return err
		}
		c.TagSession(c.Session.Tags)
		c.Emit(nil, events.SessionStarted{HarnessID: w.harness, ForkedFromID: &s})
		return nil
	})
}

// put stores an empty directory, which is as good as a file here.
func (w *world) put(s models.SessionID, path string) *cmd {
	return w.command(s, func(tx *Tx) error {
		tx.PutFile(models.SessionFile{Path: path, Directory: true}, nil)
		tx.Emit(nil, events.FileWritten{Path: path})
		return nil
	}).file(FileNeed{Path: path})
}

func (w *world) paths(s models.SessionID) (list []string) {
	w.t.Helper()
	for _, f := range rows[models.SessionFile](w, s, "path") {
		list = append(list, f.Path)
	}
	return list
}

// lineage returns where the history of a fork comes from, in short.
func (w *world) lineage(s models.SessionID) (list []string) {
	w.t.Helper()
	for _, l := range rows[models.Lineage](w, s, "through_sequence") {
		list = append(list, fmt.Sprintf("%d-%d %s", l.AfterSequence, l.ThroughSequence, l.AncestorID))
	}
	return list
}

func newID() models.SessionID { return models.NewID[models.SessionEntity]() }

// Rules: K1.
func TestAForkIsTheSessionAtItsPlaceInTheBatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, one, two, three := w.session(), newID(), newID(), newID()
		must(t, batch(w.c, w.put(s, "/a"), w.fork(s, one, 0), w.fork(s, two, 0), w.put(s, "/b"), w.fork(s, three, 0), w.put(s, "/c")))
		for id, want := range map[models.SessionID][]string{one: {"/a"}, two: {"/a"}, three: {"/a", "/b"}, s: {"/a", "/b", "/c"}} {
			if got := w.paths(id); !slices.Equal(got, want) {
				t.Errorf("the files are %v, want %v", got, want)
			}
		}
		row := w.readSession(one)
		if row.BaseSequence != 2 || row.LastSequence != 3 || *row.ForkedFromID != s {
			t.Errorf("the fork is %+v", row)
		}
		w.mu.Lock()
		heard := w.published[three]
		w.mu.Unlock()
		if len(heard) != 1 || heard[0].Sequence != 4 || heard[0].FeedPosition == nil || heard[0].SessionID != three {
			t.Errorf("published of the fork is %+v", heard)
		}
	})
}

// Rules: K2.
func TestAForkLeavesTheOriginalAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, lost := w.session(), newID()
		before := w.readSession(s)
		w.clock.Advance(1_000_000_000)
		w.do(w.fork(s, newID(), 0))
		refused := w.fork(s, lost, 0)
		apply := refused.apply
		refused.apply = func(tx *Tx) error { return errors.Join(apply(tx), errRefused) }
		if err := batch(w.c, refused)[0]; !errors.Is(err, errRefused) {
			t.Errorf("the answer is %v", err)
		}
		if got := rows[models.Event](w, lost, "sequence"); len(got) != 0 {
			t.Errorf("a refused fork has %d events", len(got))
		}
		if after := w.readSession(s); after.UpdatedAt != before.UpdatedAt || after.LastSequence != before.LastSequence {
			t.Errorf("the original was %+v, and is %+v", before, after)
		}
		// What the database refuses leaves nothing, and the others of the batch go on.
		errs := batch(w.c, w.fork(s, s, 0), w.put(s, "/a"))
		if !errors.Is(errs[0], ErrRefused) || errs[1] != nil {
			t.Errorf("the answers are %v", errs)
		}
	})
}

func TestTheLineageOfForks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		for range 3 {
			w.do(w.put(s, "/a"))
		}
		a, b, c, d := newID(), newID(), newID(), newID()
		w.do(w.fork(s, a, 3))
		w.do(w.put(a, "/b"))
		w.do(w.fork(a, b, 0))
		w.do(w.fork(b, c, 4))
		w.do(w.fork(b, d, 2))
		for id, want := range map[models.SessionID][]string{
			a: {fmt.Sprint("0-3 ", s)},
			b: {fmt.Sprint("0-3 ", s), fmt.Sprint("3-5 ", a)},
			c: {fmt.Sprint("0-3 ", s), fmt.Sprint("3-4 ", a)},
			d: {fmt.Sprint("0-2 ", s)},
		} {
			if got := w.lineage(id); !slices.Equal(got, want) {
				t.Errorf("the lineage is %v, want %v", got, want)
			}
		}
	})
}

func TestCommandsSeeTheEventsThatTheyAskFor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		w.do(w.put(s, "/a"))
		w.do(w.put(s, "/b"))
		var seen []int64
		look := w.command(s, func(tx *Tx) error {
			seen = nil
			for _, e := range tx.Events() {
				seen = append(seen, e.Sequence)
			}
			return nil
		})
		look.needs.Events = &EventNeed{After: 2, Kinds: []models.EventKind{models.EventFileWritten}}
		w.do(look)
		if !slices.Equal(seen, []int64{3}) {
			t.Errorf("seen are %v", seen)
		}
		other := w.command(s, func(*Tx) error { return nil })
		other.needs.Events = &EventNeed{After: 0, Kinds: []models.EventKind{models.EventSessionStarted}}
		must(t, batch(w.c, look, other))
		if !slices.Equal(seen, []int64{1, 2, 3}) {
			t.Errorf("together, seen are %v", seen)
		}
	})
}
