// Package queue is the queue of turns and hook jobs over all organizations, and the list of runners that work on it. Claims (claim.go) give
// each organization its share (fair.go) within its cap (caps.go); runners show that they live by counters (turns.go) and, on PostgreSQL, by
// locks (presence.go), and the turns of those that died go back (turns.go).
package queue

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Queue is the queue as runners see it, over all organizations, and the list of runners. The claim (claim.go) and the
// takeover are, beside the committer, the only writers of turns; they lock turns alone, which the committer locks last. A claim
// for organizations with a cap locks rows of org_loads before, which nobody else locks.
type Queue struct {
	db *store.DB
	// forgiving is until when takeovers are nobody's fault; nil is never.
	forgiving atomic.Pointer[time.Time]
	// recoveries counts the turns that were taken over from dead runners.
	recoveries atomic.Int64
}

// New makes a Queue.
func New(db *store.DB) *Queue { return &Queue{db: db} }

// Recoveries returns how many turns were taken over from dead runners by this Queue.
func (q *Queue) Recoveries() int64 { return q.recoveries.Load() }

const (
	// Whoever lets go of a turn raises its epoch, so that nothing written under the old one can still be committed. The turn takes
	// the place in the queue that its age gives it: in front of what its organization has not begun.
	backToQueue = `UPDATE turns SET ready_at = queued_at, runner_id = NULL, lease_epoch = lease_epoch + 1`
	oneMoreTake = `, takeovers = takeovers + 1`
	recovered   = `, recoveries = recoveries + 1`
	heldBy      = `runner_id = ?`
	orphaned    = `runner_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runners r WHERE r.id = turns.runner_id)`
)

// Forgive lets takeovers until then not count towards giving a turn up: the database was away, and that says nothing about the turns
// that were running. They still count as recoveries.
func (q *Queue) Forgive(until time.Time) { q.forgiving.Store(&until) }

// oneMore returns what is counted of a takeover.
func (q *Queue) oneMore() string {
	if until := q.forgiving.Load(); until != nil && time.Now().Before(*until) {
		return ""
	}
	return oneMoreTake
}

// Release releases a turn in good order: it counts neither as a takeover nor as a recovery.
func (q *Queue) Release(ctx context.Context, t models.Turn) error { return q.letGo(ctx, t, "") }

// Retry releases a turn after a failure that is not the turn's own.
func (q *Queue) Retry(ctx context.Context, t models.Turn) error { return q.letGo(ctx, t, q.oneMore()) }

func (q *Queue) letGo(ctx context.Context, t models.Turn, count string) error {
	_, err := q.exec(ctx, backToQueue+count+` WHERE org_id = ? AND id = ? AND lease_epoch = ? AND status = 'RUNNING'`,
		t.OrgID[:], t.ID[:], t.LeaseEpoch)
	if err != nil {
		return fmt.Errorf("release turn %s: %w", t.ID, err)
	}
	return nil
}

// Register puts a runner on the list.
func (q *Queue) Register(ctx context.Context, r models.Runner) error {
	_, err := q.exec(ctx, "INSERT INTO runners (id, host, started_at, beat, lock_key) VALUES (?, ?, ?, 0, ?)", r.ID[:], r.Host, int64(r.StartedAt), r.LockKey)
	if err != nil {
		return fmt.Errorf("register the runner: %w", err)
	}
	return nil
}

// Beat raises a runner's counter. It reports whether the runner is still on the list.
func (q *Queue) Beat(ctx context.Context, id models.RunnerID) (bool, error) {
	n, err := q.exec(ctx, "UPDATE runners SET beat = beat + 1 WHERE id = ?", id[:])
	if err != nil {
		return false, fmt.Errorf("write the heartbeat: %w", err)
	}
	return n == 1, nil
}

// SetKey notes that a runner holds its lock from now on.
func (q *Queue) SetKey(ctx context.Context, id models.RunnerID, key int64) error {
	if _, err := q.exec(ctx, "UPDATE runners SET lock_key = ? WHERE id = ?", key, id[:]); err != nil {
		return fmt.Errorf("store the lock of this runner: %w", err)
	}
	return nil
}

// Runners returns the list.
func (q *Queue) Runners(ctx context.Context) ([]models.Runner, error) {
	var list []models.Runner
	if err := q.db.ReadAcross(ctx).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the runners: %w", err)
	}
	return list, nil
}

// TakeOver takes a dead runner off the list, puts its turns back into the queue and tells how many there were. Several observers may
// do it at once. The list comes first: a runner that lives after all and is still on it would claim the turns again at once. Turns
// of a runner that is off the list are found by TakeOverOrphans, should this be cut off in between.
func (q *Queue) TakeOver(ctx context.Context, dead models.RunnerID) (int64, error) {
	_, err := q.exec(ctx, "DELETE FROM runners WHERE id = ?", dead[:])
	if err != nil {
		return 0, fmt.Errorf("take runner %s off the list: %w", dead, err)
	}
	n, err := q.exec(ctx, q.takeFrom(q.oneMore()+recovered, heldBy), dead[:])
	q.recoveries.Add(n)
	if err != nil {
		return n, fmt.Errorf("take over from runner %s: %w", dead, err)
	}
	return n, nil
}

// TakeOverOrphans puts turns back into the queue whose runner is not on the list: it was declared dead while it claimed them.
func (q *Queue) TakeOverOrphans(ctx context.Context) (int64, error) {
	n, err := q.exec(ctx, q.takeFrom(q.oneMore()+recovered, orphaned))
	q.recoveries.Add(n)
	if err != nil {
		return n, fmt.Errorf("take over turns without a runner: %w", err)
	}
	return n, nil
}

// ReleaseAll takes every runner for dead: for a process that knows that it is the only one.
func (q *Queue) ReleaseAll(ctx context.Context) error {
	n, err := q.exec(ctx, q.takeFrom(q.oneMore()+recovered, "runner_id IS NOT NULL"))
	q.recoveries.Add(n)
	if err == nil {
		_, err = q.exec(ctx, "DELETE FROM runners")
	}
	if err != nil {
		return fmt.Errorf("take over from earlier runners: %w", err)
	}
	return nil
}

// Remove takes a runner off the list that goes down in good order. What it could not give back is put into the queue.
func (q *Queue) Remove(ctx context.Context, id models.RunnerID) error {
	_, err := q.exec(ctx, q.takeFrom("", heldBy), id[:])
	if err == nil {
		_, err = q.exec(ctx, "DELETE FROM runners WHERE id = ?", id[:])
	}
	if err != nil {
		return fmt.Errorf("take the runner off the list: %w", err)
	}
	return nil
}

// takeFrom puts all turns of a condition back into the queue. On PostgreSQL they are locked in the order of their keys, so that
// several observers, and committers, can't wait for each other in a circle. A turn that has ended or has been taken over
// while this waited for it isn't touched: the condition is checked again under the lock.
func (q *Queue) takeFrom(count, condition string) string {
	statement := backToQueue + count + " WHERE "
	if q.db.Pool == nil {
		return statement + condition
	}
	return statement + "(org_id, id) IN (SELECT org_id, id FROM turns WHERE " + condition + " ORDER BY org_id, id FOR NO KEY UPDATE)"
}

// exec runs a statement, written with question marks, on either database, and returns the number of rows.
func (q *Queue) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	if q.db.Pool == nil {
		res, err := q.db.Writer.ExecContext(ctx, statement, args...)
		if err != nil {
			return 0, err
		}
		return res.RowsAffected()
	}
	var b strings.Builder
	n := 0
	for _, c := range statement {
		if c == '?' {
			n++
			fmt.Fprintf(&b, "$%d", n)
			continue
		}
		b.WriteRune(c)
	}
	tag, err := q.db.Pool.Exec(ctx, b.String(), args...)
	return tag.RowsAffected(), err
}
