package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

const defaultPostgresConns = 16

// commitConns bounds the committer's connections: one for each transaction that it runs at once, and some to ask what became of others.
const commitConns = 4

// CommitOptions are the settings that the connections of DB.Commits begin with, for a server that hears them.
//
// Locks of others are waited for much longer than they take when they are well. The transaction of a process that is frozen, or gone
// with its network, ends well before a runner's lease, so that its locks stand in nobody's way for long; one that was only slow tries again.
//
// All statements find rows by the keys that they are given, one by one, whatever the statistics say: with those of small tables, or of
// none, the planner would read tables from end to end, or take all rows of the organization for a start. Plans are made once, for any
// number of keys: left to itself, PostgreSQL plans statements with short arrays anew each time, which takes longer than to run them.
var CommitOptions = []string{ //nolint:gochecknoglobals // a constant
	"lock_timeout=200ms", "idle_in_transaction_session_timeout=2s", "enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off",
	"plan_cache_mode=force_generic_plan",
}

func openPostgres(ctx context.Context, cfg Config) (*DB, error) {
	role := ""
	if cfg.RowSecurity {
		role = engineRole
	}
	pool, err := newPool(ctx, cfg, role)
	if err != nil {
		return nil, err
	}
	own := cfg
	own.MaxConns = commitConns
	commits, err := newPool(ctx, own, role, CommitOptions...)
	if err != nil {
		pool.Close()
		return nil, err
	}
	across, tenants := stdlib.OpenDBFromPool(pool), pool
	within := across
	db := &DB{Dialect: Postgres, Pool: pool, Commits: commits, tenants: pool, known: newStatements()}
	db.release = func() error {
		err := errors.Join(within.Close(), across.Close())
		tenants.Close()
		commits.Close()
		pool.Close()
		return err
	}
	if cfg.RowSecurity {
		if tenants, err = newPool(ctx, cfg, appRole); err != nil {
			commits.Close()
			pool.Close()
			return nil, err
		}
		within, db.tenants, db.secured = openTenants(tenants), tenants, true
	}
	if db.across, err = openPostgresGORM(across); err == nil {
		db.read, err = openPostgresGORM(within)
	}
	if err != nil {
		return nil, errors.Join(err, db.release())
	}
	db.write, db.writeAcross = db.read, db.across
	return db, nil
}

// newPool connects as a role, as whoever the URL names without one, and with settings.
func newPool(ctx context.Context, cfg Config, role string, settings ...string) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	pc.MaxConns = defaultPostgresConns
	if cfg.MaxConns > 0 {
		pc.MaxConns = int32(min(cfg.MaxConns, 1000))
	}
	// Connections are made when they are needed: a start must not wait for them.
	pc.MinConns = 0
	pc.ConnConfig.Tracer = cfg.Tracer
	if role != "" {
		pc.ConnConfig.RuntimeParams["role"] = role
	}
	for _, s := range settings {
		pc.ConnConfig.RuntimeParams["options"] += " -c " + s
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL at %s: %w", pc.ConnConfig.Host, err)
	}
	return pool, nil
}

func openPostgresGORM(conn *sql.DB) (*gorm.DB, error) {
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: conn}), gormConfig())
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	return db, errors.Join(installGuard(db), countQueries(db))
}
