package store_test

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// A node is not ready on a schema that is older than it is, and is on a newer one.
func TestMigrated(t *testing.T) {
	test := func(t *testing.T, db *store.DB) {
		if err := db.Migrated(t.Context()); err != nil {
			t.Fatalf("on a new schema: %v", err)
		}
		exec(t, db, "UPDATE goose_db_version SET version_id = version_id + 1000 WHERE version_id = (SELECT max(version_id) FROM goose_db_version)")
		if err := db.Migrated(t.Context()); err != nil {
			t.Errorf("on a newer schema: %v", err)
		}
		exec(t, db, "DELETE FROM goose_db_version WHERE version_id > 1000")
		if err := db.Migrated(t.Context()); err == nil || !strings.Contains(err.Error(), "ostler migrate") {
			t.Errorf("on an older schema: %v", err)
		}
	}
	t.Run("sqlite", func(t *testing.T) { test(t, storetest.SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, storetest.Postgres(t)) })
}

func exec(t *testing.T, db *store.DB, statement string) {
	t.Helper()
	if _, err := storetest.Exec(t.Context(), db, statement); err != nil {
		t.Fatal(err)
	}
}
