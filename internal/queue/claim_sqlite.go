package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
)

type sqlite interface {
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
}

// claimSQLite claims the shares of lines. With caps it counts again in the transaction that claims: while that is open nobody
// else writes.
func (q *Queue) claimSQLite(ctx context.Context, ask Ask, lines []orgLine) (turns taken, err error) {
	list := capped(lines)
	if len(list) == 0 {
		return claimLite(ctx, q.db.Writer, ask.Runner, lines)
	}
	tx, err := q.db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return taken{}, fmt.Errorf("claim turns: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	running, err := countLite(ctx, tx, list)
	if err != nil {
		return taken{}, err
	}
	ask.recount(lines, running)
	if turns, err = claimLite(ctx, tx, ask.Runner, lines); err != nil {
		return taken{}, err
	}
	if err := tx.Commit(); err != nil {
		return taken{}, fmt.Errorf("claim turns: %w", err)
	}
	return turns, nil
}

func countLite(ctx context.Context, tx *sql.Tx, list []models.OrgID) (map[models.OrgID]int, error) {
	args := make([]any, len(list))
	for i, id := range list {
		args[i] = id[:]
	}
	rows, err := tx.QueryContext(ctx, "WITH k (org) AS (VALUES (?)"+strings.Repeat(", (?)", len(list)-1)+") SELECT org, ("+fmt.Sprintf(atWork, heldIndex)+") FROM k", args...)
	if err != nil {
		return nil, fmt.Errorf("count the turns at work: %w", err)
	}
	defer func() { _ = rows.Close() }()
	counts, err := scanCounts(rows)
	return counts, errors.Join(err, rows.Err())
}

func claimLite(ctx context.Context, db sqlite, runner models.RunnerID, lines []orgLine) (got taken, err error) {
	var picks []string
	args := []any{runner[:], runner[:]}
	for _, l := range lines {
		if l.share > 0 {
			picks = append(picks, "SELECT id FROM (SELECT rowid AS id FROM turns "+readyIndex+" WHERE org_id = ? AND ready_at IS NOT NULL ORDER BY ready_at LIMIT ?)")
			args = append(args, l.org[:], l.share)
		}
	}
	if len(picks) == 0 {
		return got, nil
	}
	// What was written over can't be returned by the statement that does, and nobody else writes it.
	if got.since, err = readySince(ctx, db, lines); err != nil {
		return got, err
	}
	rows, err := db.QueryContext(ctx, `UPDATE turns SET ready_at = NULL, runner_id = ?, lease_epoch = lease_epoch + 1, status = 'RUNNING'
WHERE EXISTS (SELECT 1 FROM runners WHERE id = ?) AND rowid IN (`+strings.Join(picks, " UNION ALL ")+`) RETURNING `+commit.TurnColumns(""), args...)
	if err != nil {
		return got, fmt.Errorf("claim turns: %w", err)
	}
	defer func() { _ = rows.Close() }()
	got.turns, err = scanTurns(rows)
	return got, errors.Join(err, rows.Err())
}

// readySince tells since when the turns are ready that come first.
func readySince(ctx context.Context, db sqlite, lines []orgLine) (map[models.TurnID]models.Millis, error) {
	var picks []string
	var args []any
	for _, l := range lines {
		if l.share > 0 {
			picks = append(picks, "SELECT id, ready_at FROM (SELECT id, ready_at FROM turns "+readyIndex+" WHERE org_id = ? AND ready_at IS NOT NULL ORDER BY ready_at LIMIT ?)")
			args = append(args, l.org[:], l.share)
		}
	}
	rows, err := db.QueryContext(ctx, strings.Join(picks, " UNION ALL "), args...)
	if err != nil {
		return nil, fmt.Errorf("read since when turns are ready: %w", err)
	}
	defer func() { _ = rows.Close() }()
	since := map[models.TurnID]models.Millis{}
	for rows.Next() {
		var id models.TurnID
		var at models.Millis
		if err := rows.Scan(&id, &at); err != nil {
			return nil, fmt.Errorf("read since when turns are ready: %w", err)
		}
		since[id] = at
	}
	return since, rows.Err() //nolint:wrapcheck // the driver's own
}
