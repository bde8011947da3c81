package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/ostler-dev/ostler/internal/models"
)

// Row is a row of either driver.
type Row interface{ Scan(dest ...any) error }

// statements are what Query and QueryRow have seen: the dollar form on PostgreSQL, prepared on SQLite's readers.
type statements struct {
	mu       sync.RWMutex
	dollars  map[string]string
	prepared map[string]*sql.Stmt
}

func newStatements() statements {
	return statements{dollars: map[string]string{}, prepared: map[string]*sql.Stmt{}}
}

// QueryRow reads one row of an organization by a constant statement that is written with question marks and names the organization
// itself, on the fastest way of either database. It is for hot paths; everything else goes through Read. Without a row Scan fails with
// sql.ErrNoRows.
func (db *DB) QueryRow(ctx context.Context, org models.OrgID, statement string, args ...any) Row {
	if db.Pool != nil {
		return db.PostgresRow(ctx, org, db.dollars(statement), args...)
	}
	s, err := db.prepare(ctx, statement) //nolint:sqlclosecheck // kept as long as the database is open
	if err != nil {
		return failedRow{err}
	}
	return s.QueryRowContext(ctx, args...)
}

// Query is QueryRow for any number of rows: scan is called for each, and ends the reading by an error.
func (db *DB) Query(ctx context.Context, org models.OrgID, scan func(Row) error, statement string, args ...any) error {
	if db.Pool != nil {
		return db.PostgresQuery(ctx, org, scan, db.dollars(statement), args...)
	}
	s, err := db.prepare(ctx, statement) //nolint:sqlclosecheck // kept as long as the database is open
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	return scanRows(rows, err, scan)
}

// QueryOnce is Query for a statement that is put together for the call: nothing of it is kept.
func (db *DB) QueryOnce(ctx context.Context, org models.OrgID, scan func(Row) error, statement string, args ...any) error {
	if db.Pool != nil {
		return db.PostgresQuery(ctx, org, scan, numbered(statement), args...)
	}
	rows, err := db.Reader.QueryContext(ctx, statement, args...)
	return scanRows(rows, err, scan)
}

func scanRows(rows *sql.Rows, err error, scan func(Row) error) error {
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err() //nolint:wrapcheck // the caller says what was read
}

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

func (db *DB) dollars(statement string) string {
	db.known.mu.RLock()
	text, ok := db.known.dollars[statement]
	db.known.mu.RUnlock()
	if ok {
		return text
	}
	text = numbered(statement)
	db.known.mu.Lock()
	defer db.known.mu.Unlock()
	db.known.dollars[statement] = text
	return text
}

// numbered returns a statement with PostgreSQL's parameters instead of question marks.
func numbered(statement string) string {
	var b strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

func (db *DB) prepare(ctx context.Context, statement string) (*sql.Stmt, error) {
	db.known.mu.RLock()
	s, ok := db.known.prepared[statement]
	db.known.mu.RUnlock()
	if ok {
		return s, nil
	}
	db.known.mu.Lock()
	defer db.known.mu.Unlock()
	if s, ok := db.known.prepared[statement]; ok {
		return s, nil
	}
	s, err := db.Reader.PrepareContext(ctx, statement) //nolint:sqlclosecheck // kept as long as the database is open
	if err != nil {
		return nil, fmt.Errorf("prepare a statement: %w", err)
	}
	db.known.prepared[statement] = s
	return s, nil
}

// OrderOfUnion returns the ORDER BY for rows that branches of a UNION ALL bring in order already, one branch after the other. SQLite keeps
// that order, and would hold whole rows in memory to sort them again; PostgreSQL doesn't promise it.
func (db *DB) OrderOfUnion(order string) string {
	if db.Pool != nil {
		return order
	}
	return ""
}

// QueryAcross is Query for statements that cross organizations. A test lists who uses it.
func (db *DB) QueryAcross(ctx context.Context, scan func(Row) error, statement string, args ...any) error {
	if db.Pool == nil {
		return db.Query(ctx, models.OrgID{}, scan, statement, args...)
	}
	rows, err := db.Pool.Query(ctx, db.dollars(statement), args...)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	return scanAll(rows, scan)
}

// Exec runs one constant statement that is written with question marks, in a transaction of its own, and returns how many rows it
// wrote. Who uses it names the organization in the statement as well.
func (db *DB) Exec(ctx context.Context, org models.OrgID, statement string, args ...any) (int64, error) {
	if db.Pool != nil {
		return db.tenantExec(ctx, org, db.dollars(statement), args)
	}
	res, err := db.Writer.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err //nolint:wrapcheck // the caller says what was tried
	}
	return res.RowsAffected() //nolint:wrapcheck // the driver always knows
}
