package queue

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// DueHookJobs returns up to limit jobs that are due, the most overdue first. Those of the organizations in without are left out.
func (q *Queue) DueHookJobs(ctx context.Context, now models.Millis, without []models.OrgID, limit int) ([]models.HookJob, error) {
	var list []models.HookJob
	if err := q.db.DueAcross(ctx, now, without, limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("look for hooks that are due: %w", err)
	}
	return list, nil
}

// ClaimHookJob claims a job that DueHookJobs returned until a time, and counts the attempt in j. It reports false when somebody else was
// first.
func (q *Queue) ClaimHookJob(ctx context.Context, j *models.HookJob, until models.Millis) (bool, error) {
	n, err := q.exec(ctx, "UPDATE hook_jobs SET due_at = ?, attempt = attempt + 1 WHERE org_id = ? AND id = ? AND attempt = ? AND due_at = ?",
		int64(until), j.OrgID[:], j.ID[:], j.Attempt, int64(j.DueAt))
	if err != nil {
		return false, fmt.Errorf("claim hook job %s: %w", j.ID, err)
	}
	j.Attempt++
	j.DueAt = until
	return n == 1, nil
}

// DeferHookJob lets others have a job that was claimed from a time on, and until then nobody. It reports false when the claim was lost:
// the job has ended, or others have it.
func (q *Queue) DeferHookJob(ctx context.Context, j models.HookJob, due models.Millis) (bool, error) {
	n, err := q.exec(ctx, "UPDATE hook_jobs SET due_at = ? WHERE org_id = ? AND id = ? AND attempt = ?", int64(due), j.OrgID[:], j.ID[:], j.Attempt)
	if err != nil {
		return false, fmt.Errorf("defer hook job %s: %w", j.ID, err)
	}
	return n == 1, nil
}
