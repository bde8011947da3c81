package store_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// TestOutagesAreToldFromAnswers has PostgreSQL fail in the ways that pass, and in those that would come again.
func TestOutagesAreToldFromAnswers(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	ctx := context.Background()
	owner, err := storetest.Owner(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(ctx) }()
	exec := func(statement string) error {
		_, err := owner.Exec(ctx, statement)
		return err
	}
	for name, c := range map[string]struct {
		fail   func() error
		outage bool
	}{
		"nobody listens": {func() error {
			_, err := store.Open(ctx, store.Config{URL: "postgres://127.0.0.1:1/ostler"})
			return err
		}, true},
		"the backend is ended": {func() error {
			conn, err := storetest.Owner(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(ctx) }()
			if _, err := owner.Exec(ctx, "SELECT pg_terminate_backend($1)", conn.PgConn().PID()); err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exec(ctx, "SELECT 1")
			return err
		}, true},
		"the connection is gone": {func() error {
			conn, err := storetest.Owner(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(ctx); err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exec(ctx, "SELECT 1")
			return err
		}, true},
		"there is no connection left": {func() error { return exec("DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53300'; END $$") }, true},
		"the statement is wrong":      {func() error { return exec("SELECT nothing") }, false},
		"the data is wrong":           {func() error { return exec("SELECT 1 / 0") }, false},
		"there is no row":             {func() error { return gorm.ErrRecordNotFound }, false},
		"there is no file":            {func() error { return fs.ErrNotExist }, false},
		"something else":              {func() error { return errors.New("something else") }, false},
	} {
		err := c.fail()
		if err == nil {
			t.Errorf("%s: it did not fail", name)
		} else if store.IsOutage(err) != c.outage {
			t.Errorf("%s: an outage: %t: %v", name, !c.outage, err)
		}
	}
}
