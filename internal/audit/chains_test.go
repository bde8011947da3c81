package audit_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// auditWorld is a deployment that keeps audit entries for a day.
type auditWorld struct {
	audit.RetentionConfig

	t      *testing.T
	now    time.Time
	logged *bytes.Buffer
}

func newAuditWorld(t *testing.T, db *store.DB) *auditWorld {
	t.Helper()
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.NewLog(db, keeper)
	if err != nil {
		t.Fatal(err)
	}
	w := &auditWorld{t: t, now: time.UnixMilli(1_700_000_000_000), logged: &bytes.Buffer{}}
	w.RetentionConfig = audit.RetentionConfig{
		DB: db, Log: log, Clock: clock.NewManual(w.now), Logger: slog.New(slog.NewTextHandler(w.logged, nil)), Keep: 24 * time.Hour,
	}
	return w
}

func (w *auditWorld) record(org models.OrgID, n int, ago time.Duration) {
	w.t.Helper()
	err := w.DB.WriteAcross(w.t.Context(), func(tx *gorm.DB) error {
		for range n {
			e := audit.Entry{Org: org, ActorKind: models.ActorSystem, Action: "thing.done"}
			if err := audit.Record(w.t.Context(), tx, models.MillisOf(w.now.Add(-ago)), e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *auditWorld) verify(org models.OrgID) string {
	w.t.Helper()
	c, err := w.Log.Verify(w.t.Context(), org, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("%d from %d: %v", c.Entries, c.From, c.OK())
}

func TestRetentionShortensEveryChain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newAuditWorld(t, db)
		one, two, young := models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity]()
		w.record(one, 1001, 25*time.Hour) // more than go in one transaction
		w.record(one, 2, 23*time.Hour)
		w.record(two, 1, 48*time.Hour)
		w.record(audit.Platform, 3, 48*time.Hour)
		w.record(young, 2, 0)
		forever := w.RetentionConfig
		forever.Keep = 0
		if n, err := audit.Sweep(t.Context(), forever); err != nil || n != 0 {
			t.Errorf("without an end: got %d, %v", n, err)
		}
		if n, err := audit.Sweep(t.Context(), w.RetentionConfig); err != nil || n != 1005 {
			t.Errorf("got %d, %v", n, err)
		}
		if n, err := audit.Sweep(t.Context(), w.RetentionConfig); err != nil || n != 0 {
			t.Errorf("again: got %d, %v", n, err)
		}
		for org, want := range map[models.OrgID]string{
			one: "2 from 1002: true", two: "0 from 2: true", audit.Platform: "0 from 4: true", young: "2 from 1: true",
		} {
			if got := w.verify(org); got != want {
				t.Errorf("%s: got %s, want %s", org, got, want)
			}
		}
		if w.logged.Len() > 0 {
			t.Errorf("logged %s", w.logged)
		}
	})
}

func TestABrokenChainStopsNoOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newAuditWorld(t, db)
		broken, sound := models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity]()
		w.record(broken, 2, 25*time.Hour)
		w.record(sound, 2, 25*time.Hour)
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			// As if entry 1 had been removed, and the others moved up.
			return tx.Exec("INSERT INTO audit_anchors (org_id, position, hash, key_id, signature, created_at) VALUES (?, 1, ?, '', ?, 1)",
				broken, make([]byte, 32), make([]byte, 32)).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := audit.Sweep(t.Context(), w.RetentionConfig); err != nil || n != 2 {
			t.Errorf("got %d, %v", n, err)
		}
		if got := w.logged.String(); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, broken.String()) {
			t.Errorf("logged %q", got)
		}
	})
}

// What was signed under the master key before is signed again, so that the key can go.
func TestAnchorsFollowTheMasterKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newAuditWorld(t, db)
		org := models.NewID[models.OrgEntity]()
		w.record(org, 2, 25*time.Hour)
		if _, err := audit.Sweep(t.Context(), w.RetentionConfig); err != nil {
			t.Fatal(err)
		}
		use := func(current byte, previous ...byte) {
			var old [][]byte
			for _, b := range previous {
				old = append(old, bytes.Repeat([]byte{b}, 32))
			}
			keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{current}, 32), old...)
			if err != nil {
				t.Fatal(err)
			}
			if w.Log, err = audit.NewLog(db, keeper); err != nil {
				t.Fatal(err)
			}
		}
		use(8, 7)
		w.Keep = 0 // retention may be off by now
		if _, err := audit.Sweep(t.Context(), w.RetentionConfig); err != nil {
			t.Fatal(err)
		}
		use(8)
		if got := w.verify(org); got != "0 from 3: true" {
			t.Errorf("got %s", got)
		}
	})
}

func TestAuditChains(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newAuditWorld(t, db)
		org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", Slug: "one"}
		if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Create(&org).Error }); err != nil {
			t.Fatal(err)
		}
		gone := models.NewID[models.OrgEntity]()
		w.record(gone, 1, 0)
		w.record(audit.Platform, 1, 0)
		want := []audit.Chain{{OrgID: audit.Platform}, {OrgID: org.ID, Slug: "one"}, {OrgID: gone}}
		var got []audit.Chain
		var after models.OrgID
		for range 4 {
			page, err := audit.Chains(t.Context(), db, after, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			after = page[0].OrgID
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for name, id := range map[string]models.OrgID{"one": org.ID, org.ID.String(): org.ID, gone.String(): gone, "two": {}, "": {}} {
			c, err := audit.ChainOf(t.Context(), db, name)
			if err != nil || (c == nil) != id.IsZero() || (c != nil && c.OrgID != id) {
				t.Errorf("%q: got %v, %v", name, c, err)
			}
		}
	})
}

func TestRetentionRunsUntilItIsStopped(t *testing.T) {
	w := newAuditWorld(t, storetest.SQLite(t))
	org := models.NewID[models.OrgEntity]()
	w.record(org, 2, 25*time.Hour)
	ticks := make(chan time.Time)
	w.Ticks = ticks
	r := audit.NewRetention(w.RetentionConfig)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The second one is taken only after what the first one began.
	ticks <- time.Time{}
	ticks <- time.Time{}
	if got := w.verify(org); got != "0 from 3: true" {
		t.Errorf("got %s", got)
	}
	r.Stop()
}
