package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// A server that starts while the one before it is still ending waits for it. One that finds another one at work is refused.
func TestARestartWaitsForTheOneBefore(t *testing.T) {
	url := storetest.PostgresURL(t)
	release, err := store.LockPostgres(t.Context(), url, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.LockPostgres(t.Context(), url, true); !errors.Is(err, store.ErrInUse) {
		t.Errorf("beside one that is alone: %v", err)
	}
	started := make(chan error)
	go func() {
		again, err := store.LockPostgres(t.Context(), url, false)
		if err == nil {
			again()
		}
		started <- err
	}()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for waits := false; !waits; {
		err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database())`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-started:
			t.Fatalf("it didn't wait: %v", err)
		default:
		}
	}
	release()
	if err := <-started; err != nil {
		t.Errorf("after the one before has ended: %v", err)
	}
}

// The same holds for a data directory.
func TestARestartWaitsForTheDirectoryOfTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	release, err := store.LockDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := store.LockDir(t.Context(), dir); !errors.Is(err, store.ErrInUse) {
			t.Errorf("beside one that is alone: %v", err)
		}
		type lock struct {
			release func()
			err     error
		}
		taken := make(chan lock, 1)
		go func() {
			again, err := store.LockDir(t.Context(), dir)
			taken <- lock{again, err}
		}()
		synctest.Wait()
		select {
		case l := <-taken:
			t.Fatalf("it didn't wait: %v", l.err)
		default:
		}
		release()
		l := <-taken
		if l.err != nil {
			t.Fatalf("after the one before has ended: %v", l.err)
		}
		l.release()
	})
}

// The database holds everybody's messages: no file of it can be read by other users of the machine, whoever made the directory, and a
// database that they could read is closed to them.
func TestSQLiteFilesAreForTheirOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ostler.db")
	for range 2 {
		db, err := store.Open(t.Context(), store.Config{URL: "sqlite:" + path})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) < 3 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, f := range files {
			if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
