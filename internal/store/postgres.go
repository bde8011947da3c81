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

func openPostgres(ctx context.Context, cfg Config) (*DB, error) {
	role := ""
	if cfg.RowSecurity {
		role = engineRole
	}
	pool, err := newPool(ctx, cfg, role)
	if err != nil {
		return nil, err
	}
	across, tenants := stdlib.OpenDBFromPool(pool), pool
	within := across
	db := &DB{Dialect: Postgres, Pool: pool, tenants: pool, known: newStatements()}
	db.release = func() error {
		err := errors.Join(within.Close(), across.Close())
		tenants.Close()
		pool.Close()
		return err
	}
	if cfg.RowSecurity {
		if tenants, err = newPool(ctx, cfg, appRole); err != nil {
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

// newPool connects as a role; as whoever the URL names without one.
func newPool(ctx context.Context, cfg Config, role string) (*pgxpool.Pool, error) {
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
