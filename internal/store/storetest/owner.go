package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/store"
)

// Exec runs a statement that is written with question marks as the owner of the tables, who may do everything, and returns how many rows
// it wrote.
func Exec(ctx context.Context, db *store.DB, statement string, args ...any) (int64, error) {
	if db.Pool == nil {
		res, err := db.Writer.ExecContext(ctx, statement, args...)
		if err != nil {
			return 0, fmt.Errorf("as the owner: %w", err)
		}
		return res.RowsAffected() //nolint:wrapcheck // the driver always knows
	}
	conn, err := Owner(ctx, db)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	for i := 1; strings.Contains(statement, "?"); i++ {
		statement = strings.Replace(statement, "?", fmt.Sprintf("$%d", i), 1)
	}
	tag, err := conn.Exec(ctx, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("as the owner: %w", err)
	}
	return tag.RowsAffected(), nil
}

// AsOwner opens the database of db again as the owner of the tables; with SQLite it is the same.
func AsOwner(t testing.TB, db *store.DB) *store.DB {
	t.Helper()
	if db.Pool == nil {
		return db
	}
	return open(t, store.Config{URL: db.Pool.Config().ConnString()})
}

// Owner connects to PostgreSQL as the owner of the tables, who sees what others do, too.
func Owner(ctx context.Context, db *store.DB) (*pgx.Conn, error) {
	cfg := db.Pool.Config().ConnConfig
	delete(cfg.RuntimeParams, "role")
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect as the owner: %w", err)
	}
	return conn, nil
}
