// Package storetest gives tests a fresh database of each kind.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/store"
)

// Each runs a test on SQLite and on PostgreSQL, each time with an empty, migrated database.
func Each(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, Postgres(t)) })
}

// EachOwner is Each, with PostgreSQL as the owner of the tables sees it.
func EachOwner(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, open(t, store.Config{URL: PostgresURL(t)})) })
}

// SQLite returns a fresh, migrated SQLite database.
func SQLite(t testing.TB) *store.DB {
	t.Helper()
	return sqliteBy(t, "")
}

// sqliteBy is SQLite through a driver.
func sqliteBy(t testing.TB, driver string) *store.DB {
	t.Helper()
	file, err := migratedFile()
	if err != nil {
		t.Fatalf("prepare the template database: %v", err)
	}
	path := filepath.Join(t.TempDir(), "ostler.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatalf("copy the template database: %v", err)
	}
	return open(t, store.Config{URL: "sqlite:" + path, SQLiteDriver: driver})
}

// Postgres returns a fresh database on the test server, with row-level security. The server's absence fails the test, as `make test`
// starts one, unless OSTLER_TEST_POSTGRES_URL is "none".
func Postgres(t testing.TB) *store.DB {
	t.Helper()
	return open(t, store.Config{URL: pooledURL(t), RowSecurity: true})
}

// Traced is Postgres with somebody who hears of all statements.
func Traced(t testing.TB, tracer pgx.QueryTracer) *store.DB {
	t.Helper()
	return open(t, store.Config{URL: pooledURL(t), RowSecurity: true, Tracer: tracer})
}

// PostgresURL makes a fresh, migrated database on the test server and returns its URL.
func PostgresURL(t testing.TB) string {
	t.Helper()
	server, template := testServer(t)
	name := create(t, server, template)
	t.Cleanup(func() { drop(t, server, name) })
	return withDatabase(server, name)
}

// pooledURL is PostgresURL with a database that may have been that of a test before, and is as good as new.
func pooledURL(t testing.TB) string {
	t.Helper()
	server, template := testServer(t)
	name := databases.take()
	if name == "" {
		name = create(t, server, template)
	}
	t.Cleanup(func() {
		clean, err := databases.give(context.Background(), server, template, name)
		if err != nil {
			t.Logf("the test database can't be used again: %v", err)
		}
		if !clean {
			drop(t, server, name)
		}
	})
	return withDatabase(server, name)
}

// databases are those of a test binary that wait for their next test.
var databases pool

// testServer returns the URL of the test server, and the name of the database that others are copied from.
func testServer(t testing.TB) (server, template string) {
	t.Helper()
	server = os.Getenv("OSTLER_TEST_POSTGRES_URL")
	switch server {
	case "":
		t.Fatal("OSTLER_TEST_POSTGRES_URL is not set: run the tests by `make test`, or by scripts/with-postgres")
	case "none":
		t.Skip("`make check` runs the tests on SQLite alone")
	}
	template, err := migratedTemplate(context.Background(), server)
	if err != nil {
		t.Fatalf("prepare the template database: %v", err)
	}
	return server, template
}

func create(t testing.TB, server, template string) (name string) {
	t.Helper()
	name = "ostler_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	// Copying files takes less than half the time of logging each page, the default.
	if err := admin(context.Background(), server, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY FILE_COPY"); err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	return name
}

func drop(t testing.TB, server, name string) {
	t.Helper()
	if err := admin(context.Background(), server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		t.Errorf("drop the test database: %v", err)
	}
}

func open(t testing.TB, cfg store.Config) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("open the test database: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the test database: %v", err)
		}
	})
	return db
}

// migratedFile returns the bytes of a migrated SQLite database, made once per test binary: under the race detector
// migrating takes thirty times as long as copying.
var migratedFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "ostler-template")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "ostler.db")
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{URL: "sqlite:" + path})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(db.Migrate(ctx), db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path) //nolint:gosec // G304: the path is ours; closing has moved the write-ahead log into it
})

// migratedTemplate makes, once per test binary, a database that others are copied from: copying takes a tenth of migrating.
var migratedTemplate = func() func(ctx context.Context, server string) (string, error) {
	var (
		once sync.Once
		err  error
		name = "ostler_template_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	)
	return func(ctx context.Context, server string) (string, error) {
		once.Do(func() {
			if err = admin(ctx, server, "CREATE DATABASE "+name); err != nil {
				return
			}
			var db *store.DB
			if db, err = store.Open(ctx, store.Config{URL: withDatabase(server, name)}); err != nil {
				return
			}
			if err = db.Migrate(ctx); err == nil {
				err = db.SecureRows(ctx, true)
			}
			if cerr := db.Close(); err == nil {
				err = cerr
			}
		})
		return name, err
	}
}()

func admin(ctx context.Context, server, statement string) error {
	return with(ctx, server, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err //nolint:wrapcheck // the caller says what
	})
}

// with connects for a moment.
func with(ctx context.Context, url string, do func(conn *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	return do(conn)
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}
