package crossorg

import (
	"context"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Queue is the queue of turns as runners see it, over all organizations, and the list of runners. The claim and the takeover are,
// beside the committer, the only writers of turns; they lock turns alone, which the committer locks last.
type Queue struct{ db *store.DB }

// NewQueue makes a Queue.
func NewQueue(db *store.DB) *Queue { return &Queue{db} }

const (
	// The pick is materialized so that it is made once: as a subquery it may run for every row of a plan, and then claims more
	// than it was asked for.
	claim = `WITH picked (org, turn) AS MATERIALIZED (SELECT org_id, id FROM turns WHERE ready_at IS NOT NULL
AND EXISTS (SELECT 1 FROM runners WHERE id = %s) ORDER BY ready_at LIMIT %s)
UPDATE turns SET ready_at = NULL, runner_id = %s, lease_epoch = lease_epoch + 1, status = 'RUNNING'
FROM picked WHERE org_id = org AND id = turn RETURNING `
	// Whoever lets go of a turn raises its epoch, so that nothing written under the old one can still be committed.
	backToQueue = `UPDATE turns SET ready_at = %s, runner_id = NULL, lease_epoch = lease_epoch + 1`
	oneMoreTake = `, takeovers = takeovers + 1`
	recovered   = `, takeovers = takeovers + 1, recoveries = recoveries + 1`
	heldBy      = `runner_id = ?`
	orphaned    = `runner_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runners r WHERE r.id = turns.runner_id)`
)

// Claim gives up to n ready turns to a runner, and none to one that was declared dead: they would be taken from it again at once,
// and a turn that is taken over too often is given up. After an error turns may have been claimed all the same: see Held.
func (q *Queue) Claim(ctx context.Context, runner models.RunnerID, n int) ([]models.Turn, error) {
	if q.db.Pool == nil {
		rows, err := q.db.Writer.QueryContext(ctx, fmt.Sprintf(claim, "?", "?", "?")+commit.TurnColumns(""), runner[:], n, runner[:])
		if err != nil {
			return nil, fmt.Errorf("claim turns: %w", err)
		}
		defer func() { _ = rows.Close() }()
		return scanTurns(rows, rows.Err)
	}
	rows, err := q.db.Pool.Query(ctx, fmt.Sprintf(claim, "$2", "$1 FOR NO KEY UPDATE OF turns SKIP LOCKED", "$2")+commit.TurnColumns(""), n, runner[:])
	if err != nil {
		return nil, fmt.Errorf("claim turns: %w", err)
	}
	defer rows.Close()
	return scanTurns(rows, rows.Err)
}

type rowsOf interface {
	Next() bool
	Scan(dest ...any) error
}

func scanTurns(rows rowsOf, failed func() error) ([]models.Turn, error) {
	var list []models.Turn
	for rows.Next() {
		t, err := commit.ScanTurn(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, *t)
	}
	if err := failed(); err != nil {
		return nil, fmt.Errorf("claim turns: %w", err)
	}
	return list, nil
}

// Release gives a turn back in good order: it counts neither as a takeover nor as a recovery.
func (q *Queue) Release(ctx context.Context, t models.Turn) error { return q.letGo(ctx, t, "") }

// Retry gives a turn back after a failure that is not the turn's own.
func (q *Queue) Retry(ctx context.Context, t models.Turn) error { return q.letGo(ctx, t, oneMoreTake) }

func (q *Queue) letGo(ctx context.Context, t models.Turn, count string) error {
	_, err := q.exec(ctx, fmt.Sprintf(backToQueue, "?")+count+` WHERE org_id = ? AND id = ? AND lease_epoch = ? AND status = 'RUNNING'`,
		int64(t.QueuedAt), t.OrgID[:], t.ID[:], t.LeaseEpoch)
	if err != nil {
		return fmt.Errorf("give turn %s back: %w", t.ID, err)
	}
	return nil
}

// Register puts a runner on the list.
func (q *Queue) Register(ctx context.Context, r models.Runner) error {
	_, err := q.exec(ctx, "INSERT INTO runners (id, host, started_at, beat) VALUES (?, ?, ?, 0)", r.ID[:], r.Host, int64(r.StartedAt))
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

// Runners gives the list.
func (q *Queue) Runners(ctx context.Context) ([]models.Runner, error) {
	var list []models.Runner
	if err := q.db.Read(ctx).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the runners: %w", err)
	}
	return list, nil
}

// TakeOver takes a dead runner off the list, puts its turns back into the queue and tells how many there were. Several observers may
// do it at once. The list comes first: a runner that lives after all and is still on it would claim the turns again at once. Turns
// of a runner that is off the list are found by TakeOverOrphans, should this be cut off in between.
func (q *Queue) TakeOver(ctx context.Context, dead models.RunnerID, now models.Millis) (int64, error) {
	_, err := q.exec(ctx, "DELETE FROM runners WHERE id = ?", dead[:])
	if err != nil {
		return 0, fmt.Errorf("take runner %s off the list: %w", dead, err)
	}
	n, err := q.exec(ctx, q.takeFrom(recovered, heldBy), int64(now), dead[:])
	if err != nil {
		return n, fmt.Errorf("take over from runner %s: %w", dead, err)
	}
	return n, nil
}

// TakeOverOrphans puts turns back into the queue whose runner is not on the list: it was declared dead while it claimed them.
func (q *Queue) TakeOverOrphans(ctx context.Context, now models.Millis) (int64, error) {
	n, err := q.exec(ctx, q.takeFrom(recovered, orphaned), int64(now))
	if err != nil {
		return n, fmt.Errorf("take over turns without a runner: %w", err)
	}
	return n, nil
}

// ReleaseAll takes every runner for dead: for a process that knows that it is the only one.
func (q *Queue) ReleaseAll(ctx context.Context, now models.Millis) error {
	_, err := q.exec(ctx, q.takeFrom(recovered, "runner_id IS NOT NULL"), int64(now))
	if err == nil {
		_, err = q.exec(ctx, "DELETE FROM runners")
	}
	if err != nil {
		return fmt.Errorf("take over from earlier runners: %w", err)
	}
	return nil
}

// Remove takes a runner off the list that goes down in good order. What it could not give back is put into the queue.
func (q *Queue) Remove(ctx context.Context, id models.RunnerID, now models.Millis) error {
	_, err := q.exec(ctx, q.takeFrom("", heldBy), int64(now), id[:])
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
	statement := fmt.Sprintf(backToQueue, "?") + count + " WHERE "
	if q.db.Pool == nil {
		return statement + condition
	}
	return statement + "(org_id, id) IN (SELECT org_id, id FROM turns WHERE " + condition + " ORDER BY org_id, id FOR NO KEY UPDATE)"
}

// exec runs a statement, written with question marks, on either database, and gives the number of rows.
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
