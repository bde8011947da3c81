package queue

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Held returns what a runner holds by what the database says. A runner asks after the answer to a claim got lost.
func (q *Queue) Held(ctx context.Context, runner models.RunnerID) (list []Held, err error) {
	err = q.db.QueryAcross(ctx, func(r store.Row) error {
		var h Held
		var kind int
		err := r.Scan(&kind, &h.OrgID, &h.ID, &h.Epoch)
		h.Kind = q.kinds.list[kind].Name
		list = append(list, h)
		return err
	}, q.statements.held, q.kinds.args(runner[:])...)
	if err != nil {
		return nil, fmt.Errorf("list what runner %s holds: %w", runner, err)
	}
	return list, nil
}

// Marked returns those of a runner's executions that it is to look at: they were cancelled, or something that they waited for was resolved.
func (q *Queue) Marked(ctx context.Context, runner models.RunnerID) (list []models.Execution, err error) {
	err = q.db.QueryAcross(ctx, func(r store.Row) error {
		var x models.Execution
		var kind int
		err := r.Scan(&kind, &x.ID)
		x.Kind = q.kinds.list[kind].Name
		list = append(list, x)
		return err
	}, q.statements.marked, q.kinds.args(runner[:])...)
	if err != nil {
		return nil, fmt.Errorf("look for what is marked of runner %s: %w", runner, err)
	}
	return list, nil
}

// Cancelled reports whether somebody has asked for the end of an execution that a runner holds.
func (q *Queue) Cancelled(ctx context.Context, runner models.RunnerID, x models.Execution) (cancelled bool, err error) {
	table, err := q.kinds.tableOf(x.Kind)
	if err == nil {
		err = q.db.QueryAcross(ctx, func(r store.Row) error { return r.Scan(&cancelled) },
			"SELECT cancel IS NOT NULL FROM "+table+" WHERE runner_id = ? AND id = ?", runner[:], x.ID[:])
	}
	if err != nil {
		return false, fmt.Errorf("check whether %s was cancelled: %w", x, err)
	}
	return cancelled, nil
}
