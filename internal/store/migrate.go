package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

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
