// Package queue is the queue of executions and hook jobs over all organizations, and the list of runners that work on it. What can be
// executed is declared (kinds.go). Claims (claim.go) give each organization its share (fair.go) within its cap (caps.go); runners show that
// they live by counters (runners.go) and, on PostgreSQL, by locks (presence.go), and what those that died had goes back (runners.go).
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
// takeover are, beside the committer, the only writers of executions; they lock nothing else, and the committer locks executions after their sessions. A claim
// for organizations with a cap locks rows of org_loads before, which nobody else locks.
type Queue struct {
	db         *store.DB
	kinds      kinds
	statements statements
	// forgiving is until when takeovers are nobody's fault; nil is never.
	forgiving atomic.Pointer[time.Time]
	// recoveries counts the executions that were taken over from dead runners.
	recoveries atomic.Int64
}

// New makes a Queue of some kinds of executions, at least one.
func New(db *store.DB, list ...Kind) *Queue {
	k := kinds{list: list, sqlite: db.Pool == nil}
	return &Queue{db: db, kinds: k, statements: k.statements()}
}

// Recoveries returns how many executions were taken over from dead runners by this Queue.
func (q *Queue) Recoveries() int64 { return q.recoveries.Load() }

const (
	toRunner = `ready_at = NULL, runner_id = $2, lease_epoch = lease_epoch + 1, status = 'RUNNING'`
	// Whoever lets go of an execution raises its epoch, so that nothing written under the old one can still be committed. It takes
	// the place in the queue that its age gives it: in front of what its organization has not begun.
	toQueue     = ` SET ready_at = queued_at, runner_id = NULL, lease_epoch = lease_epoch + 1`
	oneMoreTake = `, takeovers = takeovers + 1`
	recovered   = `, recoveries = recoveries + 1`
	heldBy      = `runner_id = ?`
	orphaned    = `runner_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runners r WHERE r.id = runner_id)`
)

// Forgive lets takeovers until then not count towards giving an execution up: the database was away, and that says nothing about what
// was running. They still count as recoveries.
func (q *Queue) Forgive(until time.Time) { q.forgiving.Store(&until) }

// oneMore returns what is counted of a takeover.
func (q *Queue) oneMore() string {
	if until := q.forgiving.Load(); until != nil && time.Now().Before(*until) {
		return ""
	}
	return oneMoreTake
}

// Release releases an execution in good order: it counts neither as a takeover nor as a recovery.
func (q *Queue) Release(ctx context.Context, h Held) error { return q.letGo(ctx, h, "") }

// Retry releases an execution after a failure that is not its own.
func (q *Queue) Retry(ctx context.Context, h Held) error { return q.letGo(ctx, h, q.oneMore()) }

func (q *Queue) letGo(ctx context.Context, h Held, count string) error {
	table, err := q.kinds.tableOf(h.Kind)
	if err == nil {
		_, err = q.exec(ctx, "UPDATE "+table+toQueue+count+` WHERE org_id = ? AND id = ? AND lease_epoch = ? AND status = 'RUNNING'`,
			h.OrgID[:], h.ID[:], h.Epoch)
	}
	if err != nil {
		return fmt.Errorf("release %s: %w", h.Execution, err)
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

// TakeOver takes a dead runner off the list, puts what it held back into the queue and tells how much that was. Several observers may
// do it at once. The list comes first: a runner that lives after all and is still on it would claim it all again at once. What a
// runner holds that is off the list is found by TakeOverOrphans, should this be cut off in between.
func (q *Queue) TakeOver(ctx context.Context, dead models.RunnerID) (int64, error) {
	_, err := q.exec(ctx, "DELETE FROM runners WHERE id = ?", dead[:])
	if err != nil {
		return 0, fmt.Errorf("take runner %s off the list: %w", dead, err)
	}
	n, err := q.recoverFrom(ctx, heldBy, dead[:])
	if err != nil {
		return n, fmt.Errorf("take over from runner %s: %w", dead, err)
	}
	return n, nil
}

// TakeOverOrphans puts back into the queue what is held by runners that are not on the list: they were declared dead while they claimed it.
func (q *Queue) TakeOverOrphans(ctx context.Context) (int64, error) {
	n, err := q.recoverFrom(ctx, orphaned)
	if err != nil {
		return n, fmt.Errorf("take over what has no runner: %w", err)
	}
	return n, nil
}

// ReleaseAll takes every runner for dead: for a process that knows that it is the only one.
func (q *Queue) ReleaseAll(ctx context.Context) error {
	_, err := q.recoverFrom(ctx, "runner_id IS NOT NULL")
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
	_, err := q.takeFrom(ctx, "", heldBy, id[:])
	if err == nil {
		_, err = q.exec(ctx, "DELETE FROM runners WHERE id = ?", id[:])
	}
	if err != nil {
		return fmt.Errorf("take the runner off the list: %w", err)
	}
	return nil
}

// recoverFrom puts what dead runners held back into the queue.
func (q *Queue) recoverFrom(ctx context.Context, condition string, args ...any) (int64, error) {
	n, err := q.takeFrom(ctx, q.oneMore()+recovered, condition, args...)
	q.recoveries.Add(n)
	return n, err
}

// takeFrom puts all executions of a condition back into the queue. On PostgreSQL they are locked in the order of their keys, so that
// several observers, and committers, can't wait for each other in a circle. What has ended or has been taken over
// while this waited for it isn't touched: the condition is checked again under the lock.
func (q *Queue) takeFrom(ctx context.Context, count, condition string, args ...any) (sum int64, err error) {
	for _, kind := range q.kinds.list {
		which := condition
		if q.db.Pool != nil {
			which = "(org_id, id) IN (SELECT org_id, id FROM " + kind.Table + " WHERE " + condition + " ORDER BY org_id, id FOR NO KEY UPDATE)"
		}
		n, err := q.exec(ctx, "UPDATE "+kind.Table+toQueue+count+" WHERE "+which, args...)
		sum += n
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
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
