package audit

import (
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func (w *world) remove(before models.Millis, limit int) Removed {
	w.t.Helper()
	done, err := w.Remove(w.t.Context(), w.mine, 1_000, before, limit)
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

func TestOldEntriesGo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		theirs := models.NewID[models.OrgEntity]()
		w.record(w.mine, 5, 10)
		w.record(theirs, 5, 10)
		if done := w.remove(10, 100); done.Entries != 0 || done.More || done.Refused != nil {
			t.Errorf("nothing is old: got %+v", done)
		}
		if done := w.remove(13, 2); done.Entries != 2 || !done.More {
			t.Errorf("the first step: got %+v", done)
		}
		w.whole(w.mine, 3, 5)
		if done := w.remove(13, 2); done.Entries != 1 || done.More {
			t.Errorf("the second step: got %+v", done)
		}
		w.whole(w.mine, 4, 5)
		// One that is not old keeps those after it, whatever their times are: only beginnings can be removed.
		w.record(w.mine, 1, 3)
		w.record(w.mine, 1, 20)
		if done := w.remove(15, 100); done.Entries != 3 || done.More {
			t.Errorf("with a clock that was set back: got %+v", done)
		}
		w.whole(w.mine, 7, 7)
		// Nothing is left, and the chain goes on.
		if done := w.remove(1_000, 1); done.Entries != 1 {
			t.Errorf("the last one: got %+v", done)
		}
		if c := w.verify(w.mine, 0); !c.OK() || c.From != 8 || c.Entries != 0 {
			t.Errorf("of an empty chain: got %+v", c)
		}
		w.record(w.mine, 2, 30)
		w.whole(w.mine, 8, 9)
		w.whole(theirs, 1, 5)
	})
}

// What shows that somebody edited the chain must not go, and nothing may vouch for it.
func TestBrokenChainsAreKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		w.record(w.mine, 5, 10)
		w.unguarded(func(tx *gorm.DB) error {
			return tx.Exec("UPDATE audit_entries SET action = 'x' WHERE org_id = ? AND position = 2", w.mine).Error
		})
		if done := w.remove(100, 100); done.Entries != 0 || done.Refused == nil || deref(done.Refused.BrokenAt) != 2 {
			t.Errorf("got %+v", done)
		}
		if n := len(w.entries(w.mine)); n != 5 {
			t.Errorf("%d entries are left, want all", n)
		}
		// As far as before it there is nothing wrong.
		if done := w.remove(11, 100); done.Entries != 1 || done.Refused != nil {
			t.Errorf("got %+v", done)
		}
		w.unguarded(func(tx *gorm.DB) error {
			return tx.Exec("UPDATE audit_anchors SET hash = ? WHERE org_id = ?", make([]byte, 32), w.mine).Error
		})
		if done := w.remove(100, 100); done.Refused == nil || deref(done.Refused.BrokenAt) != 1 {
			t.Errorf("with a forged anchor: got %+v", done)
		}
		if c := w.verify(w.mine, 0); deref(c.BrokenAt) != 1 {
			t.Errorf("with a forged anchor: got %+v", c)
		}
	})
}

// The master key is exchanged twice: an anchor that is signed again in between stays good.
func TestAnchorsAndMasterKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		w.record(w.mine, 3, 10)
		w.remove(11, 100)
		w.Log = newTestLog(t, db, 8, 7)
		w.whole(w.mine, 2, 3)
		w.Log = newTestLog(t, db, 8)
		if c := w.verify(w.mine, 0); deref(c.BrokenAt) != 1 {
			t.Errorf("without the key that it was signed under: got %+v", c)
		}
		if err := w.SignAgain(t.Context(), w.mine); err != nil {
			t.Fatal(err)
		}
		if c := w.verify(w.mine, 0); c.OK() {
			t.Error("an anchor was signed again whose signature couldn't be checked")
		}
		w.Log = newTestLog(t, db, 8, 7)
		if err := w.SignAgain(t.Context(), w.mine); err != nil {
			t.Fatal(err)
		}
		w.Log = newTestLog(t, db, 9, 8)
		w.whole(w.mine, 2, 3)
	})
}

// Writers, sweepers and verifiers work on the same chain: nobody is ever told that it is broken.
func TestShorteningWhileOthersWriteAndVerify(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		w.record(w.mine, 60, 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 20 {
				err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
					e := Entry{Org: w.mine, ActorKind: models.ActorSystem, Action: "thing.done"}
					return RecordAll(t.Context(), tx, 500, e, e)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		for range 2 {
			wg.Go(func() {
				for {
					done, err := w.Remove(t.Context(), w.mine, 1_000, 100, 3)
					if err != nil || done.Refused != nil {
						t.Errorf("got %+v, %v", done, err)
						return
					}
					if done.Entries == 0 {
						return
					}
				}
			})
			wg.Go(func() {
				for range 20 {
					if c, err := w.Verify(t.Context(), w.mine, 0); err != nil || !c.OK() {
						t.Errorf("got %+v at %d, %v", c, deref(c.BrokenAt), err)
					}
				}
			})
		}
		wg.Wait()
		w.whole(w.mine, 61, 100)
	})
}
