package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// fill is what a database is filled with: copies of one session with one turn, spread over organizations as loads are in practice, the
// first of which has the session.
type fill struct {
	orgs, sessions int
}

// share returns how many of the sessions an organization has, by its rank from 1 on: Zipf's law.
func (f fill) share(rank int) int {
	var sum float64
	for r := 1; r <= f.orgs; r++ {
		sum += 1 / float64(r)
	}
	return max(1, int(math.Round(float64(f.sessions)/float64(rank)/sum)))
}

// filler writes rows past the product, which must have ended: a million sessions can't be had through the API in reasonable time.
type filler struct {
	tx       *sql.Tx
	postgres bool
	columns  map[string][]string
	// session, home and harness are the template, its organization and its harness, as expressions.
	session, home, harness string
}

// every is that each so manieth session has a tag, waits, or belongs to a customer of its own.
const every = 5

// fillPlace multiplies a session of the place's only organization with sessions, and returns how many events there are then.
func fillPlace(ctx context.Context, at *place, template string, f fill) (events int64, err error) {
	db, err := openPlace(at)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	// References are right by construction; to look each of them up takes longer than to write the rows. A fill that fails is thrown away.
	hurry := "PRAGMA foreign_keys = off; PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -2000000"
	if at.url != "" {
		hurry = "SET session_replication_role = replica; SET synchronous_commit = off"
	}
	if _, err := conn.ExecContext(ctx, hurry); err != nil {
		return 0, err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	w := &filler{tx: tx, postgres: at.url != "", columns: map[string][]string{}}
	if err := w.find(ctx, template); err != nil {
		return 0, err
	}
	for rank := 1; rank <= f.orgs; rank++ {
		if err := w.org(ctx, rank, f.share(rank)); err != nil {
			return 0, fmt.Errorf("organization %d: %w", rank, err)
		}
	}
	if err := w.feeds(ctx); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM events").Scan(&events); err != nil {
		return 0, err
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	// As the database does by itself when it has the time.
	tidy := "ANALYZE"
	if at.url != "" {
		tidy = "VACUUM ANALYZE"
		if _, err := conn.ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements"); err != nil {
			return 0, err
		}
	}
	_, err = conn.ExecContext(ctx, tidy)
	return events, err
}

func openPlace(at *place) (*sql.DB, error) {
	if at.url != "" {
		return sql.Open("pgx", at.url)
	}
	files, err := filepath.Glob(filepath.Join(at.dir, "*.db"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("expected one database in %s, found %v (%w)", at.dir, files, err)
	}
	return sql.Open("sqlite", "file:"+files[0])
}

// find looks up what belongs to the template, as long as the table is small.
func (w *filler) find(ctx context.Context, template string) error {
	_, digits, _ := strings.Cut(template, "_")
	w.session = w.literal(digits)
	text := "hex(org_id), hex(harness_id)"
	if w.postgres {
		text = "replace(org_id::text, '-', ''), replace(harness_id::text, '-', '')"
	}
	var home, harness string
	if err := w.tx.QueryRowContext(ctx, "SELECT "+text+" FROM sessions WHERE id = "+w.session).Scan(&home, &harness); err != nil {
		return fmt.Errorf("find the session to copy: %w", err)
	}
	w.home, w.harness = w.literal(home), w.literal(harness)
	return nil
}

// org makes an organization, unless it is the first one, and its sessions.
func (w *filler) org(ctx context.Context, rank, sessions int) error {
	session, home := w.session, w.home
	org, harness := home, "t.harness_id"
	if rank > 1 {
		org, harness = w.id("0", fmt.Sprint(rank)), w.id("1", fmt.Sprint(rank))
		if err := w.copy(ctx, "orgs", "t.id = "+home, "", map[string]string{
			"id": org, "slug": fmt.Sprintf("'filled-%d'", rank), "default_harness_id": "NULL", "default_model_id": "NULL",
		}); err != nil {
			return err
		}
		err := w.copy(ctx, "harnesses", "t.org_id = "+home+" AND t.id = "+w.harness, "", map[string]string{
			"org_id": org, "id": harness, "default_model_id": "NULL", "parent_id": "NULL",
		})
		if err != nil {
			return err
		}
	}
	// Times and ids go on where those of the template end, so that their order is the same.
	series := fmt.Sprintf("WITH RECURSIVE k(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM k WHERE g < %d)", sessions)
	if w.postgres {
		series = fmt.Sprintf("WITH k(g) AS (SELECT generate_series(1, %d))", sessions)
	}
	const base = "1700000000000"
	at := base + " + k.g * 1000"
	of := func(offset string) string { return w.id(at+" + "+offset, fmt.Sprint(rank)) }
	agent, model := "t.agent_id", "t.model_id"
	if rank > 1 {
		agent, model = "NULL", "NULL"
	}
	own := "t.org_id = " + home + " AND t.session_id = " + session
	pick := func(place int, then, otherwise string) string {
		return fmt.Sprintf("CASE WHEN k.g %% %d = %d THEN %s ELSE %s END", every, place, then, otherwise)
	}
	steps := []struct {
		table, where string
		set          map[string]string
	}{
		{"sessions", "t.org_id = " + home + " AND t.id = " + session, map[string]string{
			"org_id": org, "id": of("0"), "harness_id": harness, "agent_id": agent, "model_id": model, "created_at": at, "updated_at": at,
			"status": pick(1, "'WAITING'", "'IDLE'"), "customer_key": pick(2, "'customer'", "NULL"),
			"tags": pick(3, w.json(`["tag"]`), w.json("[]")), "current_turn_id": "NULL",
		}},
		{"turns", own, map[string]string{
			"org_id": org, "session_id": of("0"), "id": of("1"), "input_message_id": of("3"), "output_message_id": "NULL", "final_message_id": "NULL", "model_id": model,
			"queued_at": at, "started_at": at, "finished_at": at,
		}},
		{"messages", own, map[string]string{
			"org_id": org, "session_id": of("0"), "turn_id": of("1"), "id": of("2 + t.sequence"), "created_at": at,
		}},
		{"events", own, map[string]string{
			"org_id": org, "session_id": of("0"), "id": of("200 + t.sequence"), "occurred_at": at,
			"turn_id":       "CASE WHEN t.turn_id IS NULL THEN NULL ELSE " + of("1") + " END",
			"feed_position": "t.feed_position + k.g * (SELECT position FROM org_feeds WHERE org_id = " + home + ")",
		}},
	}
	for _, s := range steps {
		if err := w.copy(ctx, s.table, s.where, series, s.set); err != nil {
			return err
		}
	}
	tags := "INSERT INTO session_tags (org_id, tag, session_id) " + series + " SELECT " + org + ", 'tag', " + of("0") + fmt.Sprintf(" FROM k WHERE k.g %% %d = 3", every)
	if _, err := w.tx.ExecContext(ctx, tags); err != nil {
		return fmt.Errorf("%s: %w", tags, err)
	}
	return nil
}

// feeds moves the ends of the organizations' feeds behind what is in them.
func (w *filler) feeds(ctx context.Context) error {
	_, err := w.tx.ExecContext(ctx, `INSERT INTO org_feeds (org_id, position) SELECT org_id, max(feed_position) FROM events
		WHERE feed_position IS NOT NULL GROUP BY org_id ON CONFLICT (org_id) DO UPDATE SET position = excluded.position`)
	return err
}

// copy copies rows of a table, once for each number of a series, with some columns set to expressions.
func (w *filler) copy(ctx context.Context, table, where, series string, set map[string]string) error {
	columns, err := w.columnsOf(ctx, table)
	if err != nil {
		return err
	}
	values := slices.Clone(columns)
	for i, c := range columns {
		if v, ok := set[c]; ok {
			values[i] = v
		} else {
			values[i] = "t." + c
		}
	}
	from := table + " t"
	if series != "" {
		from = "k CROSS JOIN " + from
	}
	statement := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") " + series + " SELECT " + strings.Join(values, ", ") + " FROM " + from + " WHERE " + where
	if _, err := w.tx.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func (w *filler) columnsOf(ctx context.Context, table string) ([]string, error) {
	if known := w.columns[table]; known != nil {
		return known, nil
	}
	rows, err := w.tx.QueryContext(ctx, "SELECT t.* FROM "+table+" t LIMIT 0") //nolint:unqueryvet // all columns, whatever they are
	if err != nil {
		return nil, err
	}
	columns, err := rows.Columns()
	w.columns[table] = columns
	return columns, errors.Join(err, rows.Close(), rows.Err())
}

// id is an expression for an id of version 7 whose time is that of an expression, in milliseconds.
func (w *filler) id(millis, rest string) string {
	if w.postgres {
		return "(lpad(to_hex((" + millis + ")::bigint), 12, '0') || '70008' || lpad(to_hex((" + rest + ")::bigint), 15, '0'))::uuid"
	}
	return "unhex(printf('%012x70008%015x', " + millis + ", " + rest + "))"
}

// literal is an expression for an id of these hexadecimal digits.
func (w *filler) literal(digits string) string {
	if w.postgres {
		return "'" + digits + "'::uuid"
	}
	return "x'" + digits + "'"
}

func (w *filler) json(text string) string {
	if w.postgres {
		return "'" + text + "'::json"
	}
	return "'" + text + "'"
}
