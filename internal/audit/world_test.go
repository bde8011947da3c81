package audit

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// world is a database and a log on it.
type world struct {
	*Log

	t    *testing.T
	mine models.OrgID
}

func newWorld(t *testing.T, db *store.DB) *world {
	t.Helper()
	return &world{Log: newTestLog(t, db, 7), t: t, mine: models.NewID[models.OrgEntity]()}
}

// newTestLog returns a log as a process has it whose master keys are made of these bytes, the current one first.
func newTestLog(t *testing.T, db *store.DB, keys ...byte) *Log {
	t.Helper()
	var previous [][]byte
	for _, k := range keys[1:] {
		previous = append(previous, bytes.Repeat([]byte{k}, 32))
	}
	keeper, err := secrets.NewKeeper(bytes.Repeat(keys[:1], 32), previous...)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLog(db, keeper)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (w *world) write(fn func(tx *gorm.DB) error) {
	w.t.Helper()
	if err := w.db.WriteAcross(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// record writes n entries of an organization, at the times from at on, one millisecond after the other.
func (w *world) record(org models.OrgID, n int, at models.Millis) {
	w.t.Helper()
	w.write(func(tx *gorm.DB) error {
		for i := range n {
			e := Entry{Org: org, ActorKind: models.ActorSystem, Action: fmt.Sprintf("thing.done_%d", i%2), Target: fmt.Sprintf("thing_%d", i%3)}
			if err := Record(context.Background(), tx, at+models.Millis(i), e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) entries(org models.OrgID) []models.AuditEntry {
	w.t.Helper()
	var list []models.AuditEntry
	if err := store.Of(w.db.ReadAcross(w.t.Context()), org).Order("position").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) verify(org models.OrgID, newest int64) Check {
	w.t.Helper()
	c, err := w.Verify(w.t.Context(), org, newest)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// whole checks that a chain is in order and consists of the positions from first to last.
func (w *world) whole(org models.OrgID, first, last int64) {
	w.t.Helper()
	c := w.verify(org, 0)
	if !c.OK() || c.From != first || c.Entries != last-first+1 {
		w.t.Errorf("got %+v (broken at %v), want the positions %d to %d in order", c, deref(c.BrokenAt), first, last)
	}
	list := w.entries(org)
	for i, e := range list {
		if e.Position != first+int64(i) {
			w.t.Errorf("entry %d has the position %d, want %d", i, e.Position, first+int64(i))
		}
	}
	if int64(len(list)) != last-first+1 {
		w.t.Errorf("there are %d entries, want those from %d to %d", len(list), first, last)
	}
}

func deref(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// unguarded lets the database do what it refuses: tests play somebody who has taken it over.
func (w *world) unguarded(fn func(tx *gorm.DB) error) {
	w.t.Helper()
	err := storetest.AsOwner(w.t, w.db).WriteAcross(w.t.Context(), func(tx *gorm.DB) error {
		drop := []string{
			"DROP TRIGGER IF EXISTS audit_append_only ON audit_entries", "DROP TRIGGER IF EXISTS audit_removal ON audit_entries",
			"DROP TRIGGER IF EXISTS audit_anchor_moves_on ON audit_anchors",
		}
		if w.db.Dialect == store.SQLite {
			drop = []string{
				"DROP TRIGGER IF EXISTS audit_append_only", "DROP TRIGGER IF EXISTS audit_removal",
				"DROP TRIGGER IF EXISTS audit_anchor_moves_on", "DROP TRIGGER IF EXISTS audit_anchor_stays",
			}
		}
		for _, statement := range drop {
			if err := tx.Exec(statement).Error; err != nil {
				return err
			}
		}
		return fn(tx)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
