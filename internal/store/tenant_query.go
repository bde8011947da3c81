package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/models"
)

// Statements of hot paths travel together with the organization that they may see, as one pipeline, which PostgreSQL runs as one
// transaction: row-level security costs them no round trip.

// PostgresRow is QueryRow for a statement in PostgreSQL's own form.
func (db *DB) PostgresRow(ctx context.Context, org models.OrgID, statement string, args ...any) Row {
	if !db.secured {
		return pgRow{db.Pool.QueryRow(ctx, statement, args...)}
	}
	results := db.pipeline(ctx, org, statement, args)
	if _, err := results.Exec(); err != nil {
		return failedRow{errors.Join(err, results.Close())}
	}
	return pipelinedRow{pgRow{results.QueryRow()}, results}
}

// PostgresQuery is Query for a statement in PostgreSQL's own form.
func (db *DB) PostgresQuery(ctx context.Context, org models.OrgID, scan func(Row) error, statement string, args ...any) error {
	if !db.secured {
		rows, err := db.Pool.Query(ctx, statement, args...)
		if err != nil {
			return fmt.Errorf("query: %w", err)
		}
		return scanAll(rows, scan)
	}
	results := db.pipeline(ctx, org, statement, args)
	if _, err := results.Exec(); err != nil {
		return errors.Join(err, results.Close())
	}
	rows, err := results.Query()
	if err != nil {
		return errors.Join(fmt.Errorf("query: %w", err), results.Close())
	}
	if err := scanAll(rows, scan); err != nil {
		_ = results.Close() // tells the same
		return err
	}
	return results.Close() //nolint:wrapcheck // the caller says what was read
}

func (db *DB) tenantExec(ctx context.Context, org models.OrgID, statement string, args []any) (int64, error) {
	if !db.secured {
		tag, err := db.Pool.Exec(ctx, statement, args...)
		return tag.RowsAffected(), err //nolint:wrapcheck // the caller says what was tried
	}
	results := db.pipeline(ctx, org, statement, args)
	if _, err := results.Exec(); err != nil {
		return 0, errors.Join(err, results.Close())
	}
	tag, err := results.Exec()
	if err != nil {
		_ = results.Close() // tells the same
		return 0, err       //nolint:wrapcheck // the caller says what was tried
	}
	return tag.RowsAffected(), results.Close() //nolint:wrapcheck // the caller says what was tried
}

func (db *DB) pipeline(ctx context.Context, org models.OrgID, statement string, args []any) pgx.BatchResults {
	var b pgx.Batch
	b.Queue(setOrg, uuidText(org))
	b.Queue(statement, args...)
	return db.tenants.SendBatch(ctx, &b)
}

func scanAll(rows pgx.Rows, scan func(Row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err() //nolint:wrapcheck // the caller says what was read
}

// pgRow tells the absence of a row as database/sql does.
type pgRow struct{ row pgx.Row }

func (r pgRow) Scan(dest ...any) error {
	err := r.row.Scan(dest...)
	if errors.Is(err, pgx.ErrNoRows) {
		return sql.ErrNoRows
	}
	return err //nolint:wrapcheck // the caller says what was read
}

// pipelinedRow ends its pipeline when it is read.
type pipelinedRow struct {
	pgRow

	results pgx.BatchResults
}

func (r pipelinedRow) Scan(dest ...any) error {
	err := r.pgRow.Scan(dest...)
	if closed := r.results.Close(); err == nil {
		err = closed
	}
	return err
}
