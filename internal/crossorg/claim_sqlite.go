package crossorg

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
func (q *Queue) claimSQLite(ctx context.Context, ask Ask, lines []orgLine) (turns []models.Turn, err error) {
	list := capped(lines)
	if len(list) == 0 {
		return claimLite(ctx, q.db.Writer, ask.Runner, lines)
	}
	tx, err := q.db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("claim turns: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	running, err := countLite(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	ask.recount(lines, running)
	if turns, err = claimLite(ctx, tx, ask.Runner, lines); err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("claim turns: %w", err)
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

func claimLite(ctx context.Context, db sqlite, runner models.RunnerID, lines []orgLine) ([]models.Turn, error) {
	var picks []string
	args := []any{runner[:], runner[:]}
	for _, l := range lines {
		if l.share > 0 {
			picks = append(picks, "SELECT id FROM (SELECT rowid AS id FROM turns "+readyIndex+" WHERE org_id = ? AND ready_at IS NOT NULL ORDER BY ready_at LIMIT ?)")
			args = append(args, l.org[:], l.share)
		}
	}
	if len(picks) == 0 {
		return nil, nil
	}
	rows, err := db.QueryContext(ctx, `UPDATE turns SET ready_at = NULL, runner_id = ?, lease_epoch = lease_epoch + 1, status = 'RUNNING'
WHERE EXISTS (SELECT 1 FROM runners WHERE id = ?) AND rowid IN (`+strings.Join(picks, " UNION ALL ")+`) RETURNING `+commit.TurnColumns(""), args...)
	if err != nil {
		return nil, fmt.Errorf("claim turns: %w", err)
	}
	defer func() { _ = rows.Close() }()
	turns, err := scanTurns(rows)
	return turns, errors.Join(err, rows.Err())
}
