package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

const defaultPostgresConns = 16

func openPostgres(ctx context.Context, cfg Config) (*DB, error) {
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
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL at %s: %w", pc.ConnConfig.Host, err)
	}
	conn := stdlib.OpenDBFromPool(pool)
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: conn}), gormConfig())
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open PostgreSQL at %s: %w", pc.ConnConfig.Host, err)
	}
	if err := installGuard(db); err != nil {
		pool.Close()
		return nil, err
	}
	return &DB{
		Dialect: Postgres, Pool: pool, read: db, write: db, known: newStatements(),
		release: func() error {
			err := conn.Close()
			pool.Close()
			return errors.Join(err)
		},
	}, nil
}
