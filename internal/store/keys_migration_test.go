package store_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Sessions are created by users before there are keys, and by whoever since. Nothing of them is lost on the way, and the way back leaves
// out who is no user.
func TestSessionsOutliveTheMigrationToKeys(t *testing.T) {
	storetest.EachOwner(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		migrations, done, err := db.Migrations()
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		const before = 8
		if _, err := migrations.DownTo(ctx, before); err != nil {
			t.Fatalf("down: %v", err)
		}
		org, user, harness := models.NewID[models.OrgEntity](), models.NewID[models.UserEntity](), models.NewID[models.HarnessEntity]()
		exec := func(sql string, args ...any) error {
			return db.WriteAcross(ctx, func(tx *gorm.DB) error { return tx.Exec(sql, args...).Error })
		}
		session := func(id models.SessionID, kind models.ActorKind, by any, owner any) error {
			return exec(`INSERT INTO sessions (org_id, id, harness_id, tags, created_by_kind, created_by_id, owner_id, created_at, last_sequence, input_sequence, status,
queued_turns, file_bytes, updated_at) VALUES (?, ?, ?, '[]', ?, ?, ?, 1, 0, 0, 'IDLE', 0, 0, 1)`, org, id, harness, kind, by, owner)
		}
		for sql, args := range map[string][]any{
			`INSERT INTO users (id, email, email_key, name, password_hash, operator, created_at) VALUES (?, 'a', 'a', 'a', 'a', false, 1)`: {user},
			`INSERT INTO orgs (id, name, slug, created_at) VALUES (?, 'a', 'a', 1)`:                                                        {org},
		} {
			if err := exec(sql, args...); err != nil {
				t.Fatal(err)
			}
		}
		err = exec(`INSERT INTO harnesses (org_id, id, name, name_key, display_name, capabilities, lifecycle, built_in, revision, created_at, updated_at)
VALUES (?, ?, 'a', 'a', 'a', '[]', 'ACTIVE', false, 1, 1, 1)`, org, harness)
		if err != nil {
			t.Fatal(err)
		}
		old, keys, key := models.NewID[models.SessionEntity](), models.NewID[models.SessionEntity](), models.NewID[models.APIKeyEntity]()
		if err := session(old, models.ActorUser, user, user); err != nil {
			t.Fatal(err)
		}
		if err := session(keys, models.ActorAPIKey, key, nil); err == nil {
			t.Error("a session could be created by a key before")
		}
		if _, err := migrations.Up(ctx); err != nil {
			t.Fatalf("up: %v", err)
		}
		if err := session(keys, models.ActorAPIKey, key, nil); err != nil {
			t.Errorf("a session of a key: %v", err)
		}
		if err := session(models.NewID[models.SessionEntity](), models.ActorAPIKey, key, models.NewID[models.UserEntity]()); err == nil {
			t.Error("the owner of a session may be nobody")
		}
		actors := func() map[models.SessionID]*models.ActorID {
			var list []models.Session
			if err := store.Of(db.ReadAcross(ctx), org).Select("id", "created_by_id").Find(&list).Error; err != nil {
				t.Fatal(err)
			}
			by := map[models.SessionID]*models.ActorID{}
			for _, s := range list {
				by[s.ID] = s.CreatedByID
			}
			return by
		}
		by := actors()
		if len(by) != 2 || by[old] == nil || models.UserID(*by[old]) != user || by[keys] == nil || models.APIKeyID(*by[keys]) != key {
			t.Errorf("the sessions were created by %v", by)
		}
		if _, err := migrations.DownTo(ctx, before); err != nil {
			t.Fatalf("down again: %v", err)
		}
		by = actors()
		if len(by) != 2 || by[old] == nil || models.UserID(*by[old]) != user || by[keys] != nil {
			t.Errorf("after the way back the sessions were created by %v", by)
		}
		if err := session(models.NewID[models.SessionEntity](), models.ActorUser, models.NewID[models.UserEntity](), nil); err == nil {
			t.Error("after the way back a session may be created by nobody")
		}
	})
}
