package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

// Migrate brings the schema to the newest version. Several processes may call it at once: on PostgreSQL an advisory lock
// lets one of them work; SQLite has one process.
func (db *DB) Migrate(ctx context.Context) error {
	p, closeConn, err := db.provider()
	if err != nil {
		return err
	}
	defer closeConn()
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// Pending reports whether the schema is older than this program.
func (db *DB) Pending(ctx context.Context) (bool, error) {
	p, closeConn, err := db.provider()
	if err != nil {
		return false, err
	}
	defer closeConn()
	pending, err := p.HasPending(ctx)
	if err != nil {
		return false, fmt.Errorf("look for pending migrations: %w", err)
	}
	return pending, nil
}

// Migrated fails when the schema is older than this program, or can't be read. It is one statement. A newer schema is fine: the
// versions before it run on it, too, unless the changelog says to stop them first.
func (db *DB) Migrated(ctx context.Context) error {
	newest, err := newestMigration(db.Dialect)
	if err != nil {
		return err
	}
	var have sql.NullInt64
	scan := func(r Row) error { return r.Scan(&have) }
	if err := db.QueryAcross(ctx, scan, "SELECT max(version_id) FROM goose_db_version WHERE is_applied"); err != nil {
		return fmt.Errorf("read the version of the schema: %w", err)
	}
	if have.Int64 < newest {
		return fmt.Errorf("the schema has version %d and this program needs %d: run `ostler migrate`", have.Int64, newest)
	}
	return nil
}

// newestMigration returns the version that the newest migration of this program brings.
func newestMigration(dialect Dialect) (int64, error) {
	files, err := fs.Glob(migrations, "migrations/"+string(dialect)+"/*.sql")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("read the migrations: %w", errors.Join(err, fs.ErrNotExist))
	}
	version, err := goose.NumericComponent(path.Base(slices.Max(files)))
	if err != nil {
		return 0, fmt.Errorf("read the migrations: %w", err)
	}
	return version, nil
}

func (db *DB) provider() (*goose.Provider, func(), error) {
	files, err := fs.Sub(migrations, "migrations/"+string(db.Dialect))
	if err != nil {
		return nil, nil, fmt.Errorf("read the migrations: %w", err)
	}
	var (
		conn    *sql.DB
		dialect = goose.DialectSQLite3
		opts    = []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
		done    = func() {}
	)
	if db.Dialect == Postgres {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, nil, fmt.Errorf("prepare the migration lock: %w", err)
		}
		conn, dialect = stdlib.OpenDBFromPool(db.Pool), goose.DialectPostgres
		opts = append(opts, goose.WithSessionLocker(locker))
		done = func() { _ = conn.Close() }
	} else {
		conn = db.Writer
	}
	p, err := goose.NewProvider(dialect, conn, files, opts...)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("read the migrations: %w", err)
	}
	return p, done, nil
}
