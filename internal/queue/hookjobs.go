package queue

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const claimJobs = `UPDATE hook_jobs SET due_at = %s, attempt = attempt + 1 WHERE (org_id, id) IN
(SELECT org_id, id FROM hook_jobs WHERE due_at <= %s ORDER BY due_at LIMIT %s%s)
RETURNING org_id, id, session_id, turn_id, event, payload, attempt, due_at`

// ClaimHookJobs gives up to n jobs that are due, of all organizations, and puts them off until a time: until then nobody else gets them.
func (q *Queue) ClaimHookJobs(ctx context.Context, now, until models.Millis, n int) (list []models.HookJob, err error) {
	scan := func(r store.Row) error {
		var j models.HookJob
		err := r.Scan(&j.OrgID, &j.ID, &j.SessionID, &j.TurnID, &j.Event, &j.Payload, &j.Attempt, &j.DueAt)
		list = append(list, j)
		return err
	}
	if q.db.Pool == nil {
		rows, err := q.db.Writer.QueryContext(ctx, fmt.Sprintf(claimJobs, "?", "?", "?", ""), int64(until), int64(now), n)
		if err != nil {
			return nil, fmt.Errorf("claim hooks that are due: %w", err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return nil, err
			}
		}
		return list, rows.Err()
	}
	rows, err := q.db.Pool.Query(ctx, fmt.Sprintf(claimJobs, "$1", "$2", "$3", " FOR NO KEY UPDATE SKIP LOCKED"), int64(until), int64(now), n)
	if err != nil {
		return nil, fmt.Errorf("claim hooks that are due: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

// PutOffHookJob lets others have a job that was claimed, from a time on.
func (q *Queue) PutOffHookJob(ctx context.Context, j models.HookJob, due models.Millis) error {
	_, err := q.exec(ctx, "UPDATE hook_jobs SET due_at = ? WHERE org_id = ? AND id = ? AND attempt = ?", int64(due), j.OrgID[:], j.ID[:], j.Attempt)
	if err != nil {
		return fmt.Errorf("put hook job %s off: %w", j.ID, err)
	}
	return nil
}
