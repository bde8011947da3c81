package crossorg

import (
	"context"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
)

// Held gives the turns that a runner holds by what the database says. A runner asks after the answer to a claim got lost.
func (q *Queue) Held(ctx context.Context, runner models.RunnerID) ([]models.Turn, error) {
	statement := "SELECT " + commit.TurnColumns("") + " FROM turns WHERE runner_id = "
	if q.db.Pool == nil {
		rows, err := q.db.Reader.QueryContext(ctx, statement+"?", runner[:])
		if err != nil {
			return nil, fmt.Errorf("list the turns of runner %s: %w", runner, err)
		}
		defer func() { _ = rows.Close() }()
		turns, err := scanTurns(rows)
		return turns, errors.Join(err, rows.Err())
	}
	rows, err := q.db.Pool.Query(ctx, statement+"$1", runner[:])
	if err != nil {
		return nil, fmt.Errorf("list the turns of runner %s: %w", runner, err)
	}
	defer rows.Close()
	turns, err := scanTurns(rows)
	return turns, errors.Join(err, rows.Err())
}
