package queue

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Held returns the turns that a runner holds by what the database says. A runner asks after the answer to a claim got lost.
func (q *Queue) Held(ctx context.Context, runner models.RunnerID) (turns []models.Turn, err error) {
	err = q.db.QueryAcross(ctx, func(r store.Row) error {
		t, err := commit.ScanTurn(r)
		if err == nil {
			turns = append(turns, *t)
		}
		return err //nolint:wrapcheck // below
	}, "SELECT "+commit.TurnColumns("")+" FROM turns WHERE runner_id = ?", runner[:])
	if err != nil {
		return nil, fmt.Errorf("list the turns of runner %s: %w", runner, err)
	}
	return turns, nil
}

// Marked returns those of a runner's turns that it is to look at: they were cancelled, or something that they waited for was resolved.
func (q *Queue) Marked(ctx context.Context, runner models.RunnerID) (ids []models.TurnID, err error) {
	err = q.db.QueryAcross(ctx, func(r store.Row) error {
		var id models.TurnID
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT id FROM turns WHERE runner_id = ? AND attention", runner[:])
	if err != nil {
		return nil, fmt.Errorf("look for marked turns of runner %s: %w", runner, err)
	}
	return ids, nil
}

// Cancelled reports whether somebody has asked for the end of a turn that a runner holds.
func (q *Queue) Cancelled(ctx context.Context, runner models.RunnerID, turn models.TurnID) (cancelled bool, err error) {
	err = q.db.QueryAcross(ctx, func(r store.Row) error { return r.Scan(&cancelled) },
		"SELECT cancel IS NOT NULL FROM turns WHERE runner_id = ? AND id = ?", runner[:], turn[:])
	if err != nil {
		return false, fmt.Errorf("check whether turn %s was cancelled: %w", turn, err)
	}
	return cancelled, nil
}
