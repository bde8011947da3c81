package audit

import (
	"errors"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Many write at once, and some of them fail after they have recorded: positions have no gaps, and no entry is there of what
// didn't happen.
func TestPositionsHaveNoGaps(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		theirs := models.NewID[models.OrgEntity]()
		w.record(theirs, 2, 1)
		before := w.entries(theirs)
		changed := errors.New("changed its mind")
		var wg sync.WaitGroup
		for writer := range 6 {
			wg.Go(func() {
				for i := range 10 {
					err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
						action := "thing.done"
						if i%3 == 2 {
							action = "thing.undone"
						}
						err := Record(t.Context(), tx, models.Millis(100*writer+i), Entry{Org: w.mine, ActorKind: models.ActorSystem, Action: action})
						if err == nil && i%3 == 2 {
							err = changed
						}
						return err
					})
					if err != nil && !errors.Is(err, changed) {
						t.Errorf("writer %d: %v", writer, err)
					}
				}
			})
		}
		wg.Wait()
		w.whole(w.mine, 1, 6*7)
		for _, e := range w.entries(w.mine) {
			if e.Action != "thing.done" {
				t.Errorf("%d tells of %s, which was rolled back", e.Position, e.Action)
			}
		}
		after := w.entries(theirs)
		if len(after) != 2 || string(after[1].Hash) != string(before[1].Hash) {
			t.Errorf("another organization's chain is %+v now", after)
		}
		w.whole(theirs, 1, 2)
	})
}

// Transactions that record in the same organizations, named in opposite orders, never wait for each other in a circle.
func TestSeveralChainsAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		orgs := []models.OrgID{w.mine, models.NewID[models.OrgEntity](), Platform}
		var wg sync.WaitGroup
		for writer := range 4 {
			wg.Go(func() {
				for range 15 {
					err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
						var list []Entry
						for i := range orgs {
							list = append(list, Entry{Org: orgs[(writer+2*i)%3], ActorKind: models.ActorSystem, Action: "thing.done"})
						}
						return RecordAll(t.Context(), tx, 1, list...)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, org := range orgs {
			w.whole(org, 1, 60)
		}
	})
}

func TestWhatAnEntryHolds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		ctx := auth.WithRequest(t.Context(), &auth.RequestInfo{ID: "req-1", Address: "192.0.2.1"})
		actor := models.NewID[models.ActorEntity]()
		w.write(func(tx *gorm.DB) error {
			return Record(ctx, tx, 5, Entry{
				Org: w.mine, ActorKind: models.ActorUser, Actor: actor, Action: "thing.done", Target: "thing_1", Details: map[string]any{"é": 1},
			})
		})
		w.record(w.mine, 1, 6)
		list := w.entries(w.mine)
		e := list[0]
		if e.ActorKind != models.ActorUser || e.ActorID == nil || *e.ActorID != actor || e.Action != "thing.done" || e.TargetID != "thing_1" ||
			e.Address != "192.0.2.1" || e.RequestID != "req-1" || e.Details != `{"é":1}` || e.CreatedAt != 5 {
			t.Errorf("got %+v", e)
		}
		if s := list[1]; s.ActorID != nil || s.Details != "{}" || s.Address != "" || string(s.PrevHash) != string(e.Hash) {
			t.Errorf("got %+v", s)
		}
		found, err := w.Entry(t.Context(), w.mine, e.ID)
		if err != nil || found.Position != 1 {
			t.Errorf("got %+v, %v", found, err)
		}
		if _, err := w.Entry(t.Context(), models.NewID[models.OrgEntity](), e.ID); err == nil {
			t.Error("another organization finds the entry")
		}
	})
}

func TestTheDatabaseRefusesChanges(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		w.record(w.mine, 4, 1)
		if done, err := w.Remove(t.Context(), w.mine, 100, 2, 10); err != nil || done.Entries != 1 {
			t.Fatalf("got %+v, %v", done, err)
		}
		statements := []string{
			"UPDATE audit_entries SET action = 'x' WHERE position = 3",
			"DELETE FROM audit_entries WHERE position = 2",
			"DELETE FROM audit_entries",
			"DELETE FROM audit_anchors",
			"UPDATE audit_anchors SET position = 0",
		}
		if db.Dialect == store.Postgres {
			statements = append(statements, "TRUNCATE audit_entries")
		}
		for _, statement := range statements {
			err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Exec(statement).Error })
			if !store.IsData(err) {
				t.Errorf("%s: got %v, want the database to refuse it", statement, err)
			}
		}
		w.whole(w.mine, 2, 4)
	})
}
