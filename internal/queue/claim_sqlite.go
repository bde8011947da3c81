package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

type sqlite interface {
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
}

// claimSQLite claims the shares of lines. With caps it counts again in the transaction that claims: while that is open nobody
// else writes.
func (q *Queue) claimSQLite(ctx context.Context, ask Ask, lines []orgLine) (claimed []Taken, err error) {
	list := capped(lines)
	if len(list) == 0 {
		return q.claimLite(ctx, q.db.Writer, ask.Runner, lines)
	}
	tx, err := q.db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("claim executions: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	running, err := q.countLite(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	ask.recount(lines, running)
	if claimed, err = q.claimLite(ctx, tx, ask.Runner, lines); err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("claim executions: %w", err)
	}
	return claimed, nil
}

func (q *Queue) countLite(ctx context.Context, tx *sql.Tx, list []models.OrgID) (map[models.OrgID]int, error) {
	args := make([]any, len(list))
	for i, id := range list {
		args[i] = id[:]
	}
	rows, err := tx.QueryContext(ctx, "WITH k (org) AS (VALUES (?)"+strings.Repeat(", (?)", len(list)-1)+") "+q.statements.running+"k", args...)
	if err != nil {
		return nil, fmt.Errorf("count the executions at work: %w", err)
	}
	defer func() { _ = rows.Close() }()
	counts, err := scanCounts(rows)
	return counts, errors.Join(err, rows.Err())
}

// pick is what is ready and to be claimed: the kind's number, and the row's.
type pick struct {
	kind  int
	place int64
	id    models.ExecutionID
	since models.Millis
}

// picks reads what a claim takes of each line. SQLite can't update two tables at once, nor return what it has written over.
func (q *Queue) picks(ctx context.Context, db sqlite, lines []orgLine) (list []pick, err error) {
	var parts []string
	var args []any
	for _, l := range lines {
		if l.share > 0 {
			parts = append(parts, q.statements.pick)
			for range q.kinds.list {
				args = append(args, l.org[:], l.share)
			}
			if len(q.kinds.list) > 1 {
				args = append(args, l.share)
			}
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	rows, err := db.QueryContext(ctx, strings.Join(parts, " UNION ALL "), args...)
	if err != nil {
		return nil, fmt.Errorf("look for what is ready: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var p pick
		if err := rows.Scan(&p.kind, &p.place, &p.id, &p.since); err != nil {
			return nil, fmt.Errorf("look for what is ready: %w", err)
		}
		list = append(list, p)
	}
	return list, rows.Err() //nolint:wrapcheck // the driver's own
}

// claimLite claims the shares of lines. What was claimed by others since it was picked is left to them.
func (q *Queue) claimLite(ctx context.Context, db sqlite, runner models.RunnerID, lines []orgLine) (list []Taken, err error) {
	picks, err := q.picks(ctx, db, lines)
	for i := 0; i < len(q.kinds.list) && err == nil; i++ {
		list, err = q.claimKind(ctx, db, runner, i, picks, list)
	}
	return list, err
}

func (q *Queue) claimKind(ctx context.Context, db sqlite, runner models.RunnerID, number int, picks []pick, list []Taken) ([]Taken, error) {
	kind, since, args := q.kinds.list[number], map[models.ExecutionID]models.Millis{}, []any{runner[:], runner[:]}
	for _, p := range picks {
		if p.kind == number {
			since[p.id] = p.since
			args = append(args, p.place)
		}
	}
	if len(since) == 0 {
		return list, nil
	}
	rows, err := db.QueryContext(ctx, "UPDATE "+kind.Table+" SET "+strings.ReplaceAll(toRunner, "$2", "?")+
		" WHERE EXISTS (SELECT 1 FROM runners WHERE id = ?) AND +ready_at IS NOT NULL AND rowid IN (?"+strings.Repeat(", ?", len(since)-1)+") RETURNING "+kind.Columns, args...)
	if err != nil {
		return list, fmt.Errorf("claim executions: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		held, row, err := kind.Scan(rows)
		if err != nil {
			return list, err
		}
		list = append(list, Taken{held, since[held.ID], row})
	}
	return list, rows.Err() //nolint:wrapcheck // the driver's own
}
