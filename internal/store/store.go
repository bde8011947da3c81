// Package store opens the database: PostgreSQL, or SQLite in a file. It knows connections, transactions, migrations
// and the guard between organizations, and nothing of what the rows mean.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/ostler-dev/ostler/internal/models"
)

// Dialect is which database it is.
type Dialect string

// The databases.
const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

// Config tells which database to open and how.
type Config struct {
	// URL is "sqlite:/path/to/file" or "postgres://…".
	URL string
	// MaxConns bounds the connections to PostgreSQL, or the readers of SQLite. Defaults to 16 and to 4.
	MaxConns int
	// SQLiteSynchronous is FULL (the default: what was committed survives a power failure) or NORMAL (the last commits
	// before one may be lost).
	SQLiteSynchronous string
	// RowSecurity makes PostgreSQL itself keep organizations apart: see SecureRows, which must have put it up before.
	RowSecurity bool
	// Tracer hears of the statements that go to PostgreSQL; nil for nobody.
	Tracer pgx.QueryTracer
	// SQLiteDriver is the driver's name in database/sql, for one that counts; empty for SQLite's own.
	SQLiteDriver string
}

// DB is an open database. Hot paths use the pools directly; everything else goes through Read and Write.
type DB struct {
	Dialect Dialect
	// Pool is PostgreSQL's, of the role that crosses organizations; nil with SQLite.
	Pool *pgxpool.Pool
	// Commits is the committer's own pool, of the same role, whose connections begin with CommitOptions.
	Commits *pgxpool.Pool
	// Writer is SQLite's one writing connection, and Reader its pool of reading ones; nil with PostgreSQL.
	Writer, Reader *sql.DB

	// read and write see the rows of one organization where row-level security is on, the others those of all.
	read, write, across, writeAcross *gorm.DB

	// tenants is the pool of the role that sees one organization; Pool itself where nothing is secured.
	tenants *pgxpool.Pool
	secured bool
	known   statements
	// dir is where SQLite's file is; empty with PostgreSQL.
	dir     string
	release func() error
}

// Open connects. It changes nothing; see Migrate.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if path, ok := strings.CutPrefix(cfg.URL, "sqlite:"); ok {
		return openSQLite(ctx, path, cfg)
	}
	if strings.HasPrefix(cfg.URL, "postgres://") || strings.HasPrefix(cfg.URL, "postgresql://") {
		return openPostgres(ctx, cfg)
	}
	return nil, errors.New("open database: the URL must start with sqlite: or postgres://")
}

// Close closes all connections.
func (db *DB) Close() error { return db.release() }

// Ping reports whether the database answers, to the committer's connections too: they have settings of their own, which a pooler may refuse.
func (db *DB) Ping(ctx context.Context) error {
	if db.Pool != nil {
		return errors.Join(db.Pool.Ping(ctx), db.Commits.Ping(ctx))
	}
	return db.Reader.PingContext(ctx)
}

// PoolStats tells what a pool of connections does.
type PoolStats struct {
	// Name is engine, commit or tenant with PostgreSQL, writer or reader with SQLite.
	Name             string
	InUse, Idle, Max int
	// Waits counts who had to wait for a connection, and Waited is for how long together.
	Waits  int64
	Waited time.Duration
}

// Pools returns what the pools do. It asks the database nothing.
func (db *DB) Pools() []PoolStats {
	if db.Pool == nil {
		return []PoolStats{sqlPool("writer", db.Writer.Stats()), sqlPool("reader", db.Reader.Stats())}
	}
	list := []PoolStats{postgresPool("engine", db.Pool.Stat()), postgresPool("commit", db.Commits.Stat())}
	if db.tenants != db.Pool {
		list = append(list, postgresPool("tenant", db.tenants.Stat()))
	}
	return list
}

func sqlPool(name string, s sql.DBStats) PoolStats {
	return PoolStats{Name: name, InUse: s.InUse, Idle: s.Idle, Max: s.MaxOpenConnections, Waits: s.WaitCount, Waited: s.WaitDuration}
}

func postgresPool(name string, s *pgxpool.Stat) PoolStats {
	return PoolStats{
		Name: name, InUse: int(s.AcquiredConns()), Idle: int(s.IdleConns()), Max: int(s.MaxConns()),
		Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
	}
}

// Now returns the time that all processes of this database use: that of PostgreSQL's server, by one statement. SQLite has no clock
// of its own, and one process: it is this machine's.
func (db *DB) Now(ctx context.Context) (time.Time, error) {
	if db.Pool == nil {
		return time.Now().Round(0), nil
	}
	var now time.Time
	if err := db.Pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read PostgreSQL's clock: %w", err)
	}
	return now, nil
}

// Read returns a handle for reading rows of one organization outside of a transaction. What is read must name the organization as
// well: see Of.
func (db *DB) Read(ctx context.Context, org models.OrgID) *gorm.DB {
	return db.read.WithContext(withOrg(ctx, org))
}

// Write runs fn in one transaction on the rows of one organization, which commits when fn returns nil. fn must not use Read, nor wait
// for anybody else who writes: SQLite has one writer.
func (db *DB) Write(ctx context.Context, org models.OrgID, fn func(tx *gorm.DB) error) error {
	return db.write.WithContext(withOrg(ctx, org)).Transaction(fn)
}

// ReadAcross is Read for what belongs to no organization, or to several: people, keys, and sweeps. A test lists who uses it.
func (db *DB) ReadAcross(ctx context.Context) *gorm.DB { return db.across.WithContext(ctx) }

// WriteAcross is Write for what belongs to no organization, or to several. A test lists who uses it.
func (db *DB) WriteAcross(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return db.writeAcross.WithContext(ctx).Transaction(fn)
}

func gormConfig() *gorm.Config {
	return &gorm.Config{
		SkipDefaultTransaction: true,
		// Errors are given back, and many are expected, e.g. a name that is taken: whoever asked decides what is logged.
		Logger: logger.Discard,
	}
}

// IsDuplicate reports whether a write failed because a unique key is in use.
func IsDuplicate(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	return false
}

// IsMissingReference reports whether a write failed because a row that it refers to doesn't exist in its organization.
func IsMissingReference(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23503"
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return lite.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
	}
	return false
}

// IsData reports whether the database refused the data itself, so that trying again can't help.
func IsData(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		class := pg.Code[:2]
		return class == "22" || class == "23" || class == "42" || class == "54" || pg.Code == "P0001"
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		primary := lite.Code() & 0xff
		return primary == sqlite3.SQLITE_CONSTRAINT || primary == sqlite3.SQLITE_MISMATCH ||
			primary == sqlite3.SQLITE_TOOBIG || primary == sqlite3.SQLITE_ERROR
	}
	return false
}

// First returns the row that a query finds; nil when there is none.
func First[T any](q *gorm.DB) (*T, error) {
	var found []T
	if err := q.Limit(1).Find(&found).Error; err != nil || len(found) == 0 {
		return nil, err //nolint:wrapcheck // the caller says what was read
	}
	return &found[0], nil
}

// OneRow turns a count of affected rows into an error unless it is one.
func OneRow(res *gorm.DB) error {
	if res.Error != nil {
		return res.Error
	}
	if res.RowsAffected != 1 {
		return fmt.Errorf("expected to write one row, wrote %d: %w", res.RowsAffected, gorm.ErrRecordNotFound)
	}
	return nil
}
