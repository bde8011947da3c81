package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver for PostgreSQL
	_ "modernc.org/sqlite"             // the driver for SQLite
)

// check is a question to a database and the only right answer.
type check struct {
	what, query string
	want        int64
}

// verifyProduct compares the product's database with what the subscribers saw. The product must have ended.
func verifyProduct(ctx context.Context, at *place, seen effects, resumes int) error {
	checks := []check{
		{"turns", `SELECT count(*) FROM turns`, int64(seen.turns)},
		{"completed turns", `SELECT count(*) FROM turns WHERE status = 'COMPLETED'`, int64(seen.turns)},
		{"ends of turns in the log", `SELECT count(*) FROM events WHERE kind = 'TURN_COMPLETED'`, int64(seen.turns)},
		{"results of tools in the log", `SELECT count(*) FROM events WHERE kind = 'TOOL_COMPLETED'`, int64(seen.tools)},
		{"waits that have ended in the log", `SELECT count(*) FROM events WHERE kind = 'TURN_RESUMED'`, int64(resumes)},
		{"sessions that are not at rest", `SELECT count(*) FROM sessions WHERE status NOT IN ('STARTED', 'IDLE')`, 0},
		{"sessions whose log has a gap", `SELECT count(*) FROM sessions s WHERE s.last_sequence <> (SELECT count(*) FROM events e
			WHERE e.org_id = s.org_id AND e.session_id = s.id AND e.sequence BETWEEN 1 AND s.last_sequence)`, 0},
	}
	return verify(ctx, "product", at, "ostler.db", checks)
}

// verifyFloor compares the floor's database with what the subscribers saw.
func verifyFloor(ctx context.Context, at *place, seen effects) error {
	checks := []check{
		{"ends of turns", `SELECT count(*) FROM events WHERE kind = 'TURN_COMPLETED'`, int64(seen.turns)},
		{"results of tools", `SELECT count(*) FROM events WHERE kind = 'TOOL_COMPLETED'`, int64(seen.tools)},
		{"sessions whose log has a gap", `SELECT count(*) FROM sessions s WHERE s.last_sequence <> (SELECT count(*) FROM events e
			WHERE e.session_id = s.id AND e.sequence BETWEEN 1 AND s.last_sequence)`, 0},
	}
	return verify(ctx, "floor", at, "floor.db", checks)
}

func verify(ctx context.Context, program string, at *place, file string, checks []check) (err error) {
	driver, source := "pgx", at.url
	if source == "" {
		files, err := filepath.Glob(filepath.Join(at.dir, "*.db"))
		if err != nil || len(files) != 1 {
			return fmt.Errorf("%s: expected one database (%s) in %s, found %v (%w)", program, file, at.dir, files, err)
		}
		driver, source = "sqlite", "file:"+files[0]
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var wrong []error
	for _, c := range checks {
		var got int64
		if err := db.QueryRowContext(ctx, c.query).Scan(&got); err != nil {
			return fmt.Errorf("%s: count %s: %w", program, c.what, err)
		}
		if got != c.want {
			wrong = append(wrong, fmt.Errorf("%s: %d %s in the database, %d seen by subscribers", program, got, c.what, c.want))
		}
	}
	return errors.Join(wrong...)
}
