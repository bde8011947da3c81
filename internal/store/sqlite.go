package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	libtnb "github.com/libtnb/sqlite"
	"gorm.io/gorm"
)

const defaultSQLiteReaders = 4

// openSQLite opens one connection that writes and a pool that reads: with one pool for both, writers that meet wait for
// each other in steps of SQLite's busy timeout, up to 700 ms.
func openSQLite(ctx context.Context, path string, cfg Config) (*DB, error) {
	sync := cfg.SQLiteSynchronous
	if sync == "" {
		sync = "FULL"
	}
	if sync != "FULL" && sync != "NORMAL" {
		return nil, fmt.Errorf("open SQLite: synchronous is %q, want FULL or NORMAL", sync)
	}
	driver := cmp.Or(cfg.SQLiteDriver, "sqlite")
	pragmas := url.Values{"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(" + sync + ")", "foreign_keys(1)", "temp_store(2)",
	}}
	if err := keepPrivate(path); err != nil {
		return nil, fmt.Errorf("open SQLite at %s: %w", path, err)
	}
	file := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
	// Checkpoints are made beside the commits, unless those write faster than that: see checkpoints.
	writing := url.Values{"_pragma": append(slices.Clone(pragmas["_pragma"]), "cache_size(-16384)", "wal_autocheckpoint(16000)")}
	writer, err := sql.Open(driver, file+"?_txlock=immediate&"+writing.Encode())
	if err != nil {
		return nil, fmt.Errorf("open SQLite at %s: %w", path, err)
	}
	writer.SetMaxOpenConns(1)
	writer.SetMaxIdleConns(1)
	// The writer goes first: it makes the file and turns the write-ahead log on.
	if err := writer.PingContext(ctx); err != nil {
		_ = writer.Close()
		return nil, fmt.Errorf("open SQLite at %s: %w", path, err)
	}
	reading := url.Values{"_pragma": append(slices.Clone(pragmas["_pragma"]), "query_only(1)")}
	reader, err := sql.Open(driver, file+"?"+reading.Encode())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open SQLite at %s: %w", path, err), writer.Close())
	}
	readers := defaultSQLiteReaders
	if cfg.MaxConns > 0 {
		readers = cfg.MaxConns
	}
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	checkpointDB, err := sql.Open(driver, file+"?"+url.Values{"_pragma": append(slices.Clone(pragmas["_pragma"]), "wal_autocheckpoint(0)")}.Encode())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open SQLite at %s: %w", path, err), reader.Close(), writer.Close())
	}
	checkpoints := startCheckpoints(checkpointDB, nil)
	closeAll := func() error { return errors.Join(checkpoints.close(), reader.Close(), writer.Close()) }

	write, err := openGORM(writer)
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	read, err := openGORM(reader)
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return &DB{
		Dialect: SQLite, Writer: writer, Reader: reader, read: read, write: write, across: read, writeAcross: write,
		known: newStatements(), release: closeAll, dir: filepath.Dir(path),
	}, nil
}

// keepPrivate makes the file of a database readable and writable by its owner only, whether it is there already or not. SQLite makes the
// files beside it like it.
func keepPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // G304: the operator's own path
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(path+suffix, 0o600); err != nil {
			return fmt.Errorf("other users of this machine can read it: run `chmod 600 %s`: %w", path+suffix, err)
		}
	}
	return nil
}

func openGORM(conn *sql.DB) (*gorm.DB, error) {
	db, err := gorm.Open(libtnb.New(libtnb.Config{Conn: conn}), gormConfig())
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return db, errors.Join(installGuard(db), countQueries(db))
}
