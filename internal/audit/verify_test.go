package audit

import (
	"bytes"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Somebody who has the database changes the chain of five entries in every way that there is.
func TestVerifyFindsWhatWasDone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		for name, test := range map[string]struct {
			do     func(tx *gorm.DB, org models.OrgID) error
			broken int64
			right  int64
		}{
			"nothing": {func(*gorm.DB, models.OrgID) error { return nil }, 0, 5},
			"an entry edited": {func(tx *gorm.DB, org models.OrgID) error {
				return tx.Exec("UPDATE audit_entries SET details = '{\"a\":1}' WHERE org_id = ? AND position = 3", org).Error
			}, 3, 2},
			"another time": {func(tx *gorm.DB, org models.OrgID) error {
				return tx.Exec("UPDATE audit_entries SET created_at = 9 WHERE org_id = ? AND position = 1", org).Error
			}, 1, 0},
			"edited, with a hash that fits": {func(tx *gorm.DB, org models.OrgID) error {
				var e models.AuditEntry
				if err := store.Of(tx, org).Where("position = 3").Take(&e).Error; err != nil {
					return err
				}
				e.Action = "thing.other"
				return tx.Exec("UPDATE audit_entries SET action = ?, hash = ? WHERE org_id = ? AND position = 3", e.Action, hashOf(e), org).Error
			}, 4, 3},
			"the last one edited, with a hash that fits": {func(tx *gorm.DB, org models.OrgID) error {
				var e models.AuditEntry
				if err := store.Of(tx, org).Where("position = 5").Take(&e).Error; err != nil {
					return err
				}
				e.Action = "thing.other"
				return tx.Exec("UPDATE audit_entries SET action = ?, hash = ? WHERE org_id = ? AND position = 5", e.Action, hashOf(e), org).Error
			}, 5, 5},
			"one removed": {func(tx *gorm.DB, org models.OrgID) error {
				return tx.Exec("DELETE FROM audit_entries WHERE org_id = ? AND position = 2", org).Error
			}, 2, 1},
			"the first removed": {func(tx *gorm.DB, org models.OrgID) error {
				return tx.Exec("DELETE FROM audit_entries WHERE org_id = ? AND position = 1", org).Error
			}, 1, 0},
			"the last removed": {func(tx *gorm.DB, org models.OrgID) error {
				return tx.Exec("DELETE FROM audit_entries WHERE org_id = ? AND position = 5", org).Error
			}, 5, 4},
			"all removed": {func(tx *gorm.DB, org models.OrgID) error {
				return tx.Exec("DELETE FROM audit_entries WHERE org_id = ?", org).Error
			}, 1, 0},
			"two exchanged": {func(tx *gorm.DB, org models.OrgID) error {
				for _, move := range [][2]int{{2, 99}, {3, 2}, {99, 3}} {
					if err := tx.Exec("UPDATE audit_entries SET position = ? WHERE org_id = ? AND position = ?", move[1], org, move[0]).Error; err != nil {
						return err
					}
				}
				return nil
			}, 2, 1},
			"the end moved back": {func(tx *gorm.DB, org models.OrgID) error {
				return tx.Exec("UPDATE audit_heads SET position = 4 WHERE org_id = ?", org).Error
			}, 5, 0},
			"another end": {func(tx *gorm.DB, org models.OrgID) error {
				return tx.Exec("UPDATE audit_heads SET hash = ? WHERE org_id = ?", make([]byte, 32), org).Error
			}, 5, 5},
			"no end": {func(tx *gorm.DB, org models.OrgID) error {
				return tx.Exec("DELETE FROM audit_heads WHERE org_id = ?", org).Error
			}, 1, 0},
			"a forged anchor": {func(tx *gorm.DB, org models.OrgID) error {
				var e models.AuditEntry
				if err := store.Of(tx, org).Where("position = 2").Take(&e).Error; err != nil {
					return err
				}
				forged := models.AuditAnchor{OrgID: org, Position: 2, Hash: e.Hash, KeyID: w.keys[0].id, Signature: bytes.Repeat([]byte{1}, 32)}
				if err := tx.Create(&forged).Error; err != nil {
					return err
				}
				return tx.Exec("DELETE FROM audit_entries WHERE org_id = ? AND position <= 2", org).Error
			}, 2, 0},
		} {
			org := models.NewID[models.OrgEntity]()
			w.record(org, 5, 1)
			w.unguarded(func(tx *gorm.DB) error { return test.do(tx, org) })
			c := w.verify(org, 0)
			if deref(c.BrokenAt) != test.broken || c.Entries != test.right || (c.Problem == "") != c.OK() {
				t.Errorf("%s: got %+v, broken at %d; want %d, after %d right ones", name, c, deref(c.BrokenAt), test.broken, test.right)
			}
		}
	})
}

// A chain is longer than what is read at once, and than what may be looked at.
func TestVerifyLongChains(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		if c := w.verify(w.mine, 0); !c.OK() || c.From != 1 || c.Entries != 0 {
			t.Errorf("of no entries: got %+v", c)
		}
		const n = verifyPage + 5
		w.record(w.mine, n, 1)
		w.whole(w.mine, 1, n)
		if c := w.verify(w.mine, n); !c.OK() || c.From != 1 || c.Entries != n {
			t.Errorf("of all: got %+v", c)
		}
		w.unguarded(func(tx *gorm.DB) error {
			return tx.Exec("DELETE FROM audit_entries WHERE org_id = ? AND position = ?", w.mine, verifyPage+2).Error
		})
		if c := w.verify(w.mine, 0); deref(c.BrokenAt) != verifyPage+2 || c.Entries != verifyPage+1 {
			t.Errorf("on the second page: got %+v", c)
		}
		if c := w.verify(w.mine, 3); !c.OK() || c.From != n-2 || c.Entries != 3 {
			t.Errorf("of the last three: got %+v", c)
		}
		if c := w.verify(w.mine, 5); c.OK() || c.From != n-4 || deref(c.BrokenAt) != verifyPage+2 {
			t.Errorf("of the last five: got %+v", c)
		}
	})
}
