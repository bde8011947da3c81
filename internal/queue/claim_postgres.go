package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// claimFair is a claim in one statement, for an installation without caps: the walk around the circle, the shares and
	// the claim itself. Organizations with no capacity for a turn are passed, not counted.
	claimFair = `WITH RECURSIVE capacities (org, capacity) AS (SELECT * FROM unnest($4::uuid[], $5::bigint[])),
pages (page) AS (SELECT $1 + count(*) FROM capacities WHERE capacity <= 0),
ahead (org, place) AS (
SELECT (SELECT org_id FROM turns WHERE ready_at IS NOT NULL AND org_id > $3 ORDER BY org_id, ready_at LIMIT 1), 1
UNION ALL SELECT (SELECT org_id FROM turns WHERE ready_at IS NOT NULL AND org_id > org ORDER BY org_id, ready_at LIMIT 1), place + 1
FROM ahead, pages WHERE org IS NOT NULL AND place < page),
passed (n) AS (SELECT count(*)::int FROM ahead WHERE org IS NOT NULL),
behind (org, place) AS (
SELECT (SELECT org_id FROM turns WHERE ready_at IS NOT NULL AND org_id <= $3 ORDER BY org_id, ready_at LIMIT 1), n + 1 FROM passed, pages WHERE n < page
UNION ALL SELECT (SELECT org_id FROM turns WHERE ready_at IS NOT NULL AND org_id > org AND org_id <= $3 ORDER BY org_id, ready_at LIMIT 1), place + 1
FROM behind, pages WHERE org IS NOT NULL AND place < page),
lines (org, place, weight, capacity) AS (
SELECT w.org, place, coalesce((SELECT weight FROM org_loads WHERE org_id = w.org), 1), least(capacity, $6)
FROM (SELECT * FROM ahead UNION ALL SELECT * FROM behind) w LEFT JOIN capacities ON capacities.org = w.org
WHERE w.org IS NOT NULL AND coalesce(capacity, $6) > 0 ORDER BY place LIMIT $1),
wanted AS (SELECT org, place, weight, capacity, least(capacity, ($1 * weight + sum(weight) OVER () - 1)::bigint / (sum(weight) OVER ())::bigint) AS want FROM lines),
shares (org, weight, capacity, share) AS (
SELECT org, weight, capacity, least(want, $1 - (sum(want) OVER (ORDER BY place) - want))::bigint FROM wanted), ` + claimTail

	// claimShared is a claim of what was worked out before.
	claimShared = `WITH shares (org, weight, capacity, share) AS (SELECT * FROM unnest($1::uuid[], $3::bigint[], $4::bigint[], $5::bigint[])), ` + claimTail

	// The pick is materialized so that it is made once: as a subquery it may run for every row of a plan, and then claims more
	// than it was asked for. The limit, MaxClaim, is for the planner, which without it expects so many that it reads all turns.
	claimTail = `picked (org, turn, since, weight, capacity, share) AS MATERIALIZED (
SELECT s.org, t.id, t.ready_at, s.weight, s.capacity, s.share FROM shares s CROSS JOIN LATERAL (SELECT id, ready_at FROM turns WHERE org_id = s.org AND ready_at IS NOT NULL
ORDER BY ready_at LIMIT s.share FOR NO KEY UPDATE SKIP LOCKED) t WHERE s.share > 0 AND EXISTS (SELECT 1 FROM runners WHERE id = $2) LIMIT 16)
UPDATE turns SET ready_at = NULL, runner_id = $2, lease_epoch = lease_epoch + 1, status = 'RUNNING'
FROM picked WHERE org_id = org AND id = turn RETURNING since, weight, capacity, share, `

	ensureLoads = `INSERT INTO org_loads (org_id) SELECT org FROM unnest($1::uuid[]) AS k(org)
WHERE NOT EXISTS (SELECT 1 FROM org_loads WHERE org_id = org) ON CONFLICT DO NOTHING`
	// In the order of the ids, so that two claims can't wait for each other in a circle.
	lockLoads    = `SELECT org_id FROM org_loads WHERE org_id = ANY($1::uuid[]) ORDER BY org_id FOR UPDATE`
	countRunning = `SELECT org, (%s) FROM unnest($1::uuid[]) AS k(org)`
)

// uuids is how ids go to PostgreSQL as an array.
func uuids(list []models.OrgID) [][16]byte {
	out := make([][16]byte, len(list))
	for i, id := range list {
		out[i] = id
	}
	return out
}

type postgres interface {
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
}

// withLine reads a turn behind what is said of its line.
type withLine struct {
	rowsOf

	since models.Millis
	line  orgLine
}

func (w *withLine) Scan(dest ...any) error {
	return w.rowsOf.Scan(append([]any{&w.since, &w.line.weight, &w.line.capacity, &w.line.share}, dest...)...)
}

// claimAtOnce is Claim without caps: one statement.
func (q *Queue) claimAtOnce(ctx context.Context, ask Ask) (Claimed, error) {
	var orgs []models.OrgID
	var capacities []int64
	for org, capacity := range ask.Capacities {
		orgs, capacities = append(orgs, org), append(capacities, int64(capacity))
	}
	start := ask.From.after()
	turns, lines, err := claimBy(ctx, q.db.Pool, claimFair, ask.Turns, ask.Runner[:], start[:], uuids(orgs), capacities, ask.PerOrg)
	if err != nil {
		return Claimed{Next: ask.From}, err
	}
	return claimed(ask, lines, turns), nil
}

func claimBy(ctx context.Context, db postgres, statement string, args ...any) (got taken, lines []orgLine, err error) {
	rows, err := db.Query(ctx, statement+commit.TurnColumns(""), args...)
	if err != nil {
		return got, nil, fmt.Errorf("claim turns: %w", err)
	}
	defer rows.Close()
	known := map[models.OrgID]bool{}
	got.since = map[models.TurnID]models.Millis{}
	with := &withLine{rowsOf: rows}
	for rows.Next() {
		t, err := commit.ScanTurn(with)
		if err != nil {
			return taken{}, nil, err
		}
		got.turns = append(got.turns, *t)
		got.since[t.ID] = with.since
		if !known[t.OrgID] {
			known[t.OrgID], with.line.org = true, t.OrgID
			lines = append(lines, with.line)
		}
	}
	if err := rows.Err(); err != nil {
		return taken{}, nil, fmt.Errorf("claim turns: %w", err)
	}
	return got, lines, nil
}

// claimPostgres claims the shares of lines. Claims of an organization that has a cap come one after the other, each with a count
// of its own: only then are the turns that the one before has claimed among those that are counted.
func (q *Queue) claimPostgres(ctx context.Context, ask Ask, lines []orgLine) (turns taken, err error) {
	list := capped(lines)
	if len(list) == 0 {
		return claimShares(ctx, q.db.Pool, ask.Runner, lines)
	}
	if _, err := q.db.Pool.Exec(ctx, ensureLoads, uuids(list)); err != nil {
		return turns, fmt.Errorf("make the loads of organizations that have a cap: %w", err)
	}
	err = pgx.BeginFunc(ctx, q.db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockLoads, uuids(list)); err != nil {
			return fmt.Errorf("lock the loads of organizations that have a cap: %w", err)
		}
		rows, err := tx.Query(ctx, fmt.Sprintf(countRunning, fmt.Sprintf(atWork, "")), uuids(list))
		if err != nil {
			return fmt.Errorf("count the turns at work: %w", err)
		}
		running, err := scanCounts(rows)
		rows.Close()
		if err := errors.Join(err, rows.Err()); err != nil {
			return err
		}
		ask.recount(lines, running)
		turns, err = claimShares(ctx, tx, ask.Runner, lines)
		return err
	})
	return turns, err
}

func claimShares(ctx context.Context, db postgres, runner models.RunnerID, lines []orgLine) (taken, error) {
	orgs := make([]models.OrgID, len(lines))
	weights, capacities, shares := make([]int64, len(lines)), make([]int64, len(lines)), make([]int64, len(lines))
	for i, l := range lines {
		orgs[i], weights[i], capacities[i], shares[i] = l.org, int64(l.weight), int64(l.capacity), int64(l.share)
	}
	turns, _, err := claimBy(ctx, db, claimShared, uuids(orgs), runner[:], weights, capacities, shares)
	return turns, err
}

func scanCounts(rows rowsOf) (map[models.OrgID]int, error) {
	counts := map[models.OrgID]int{}
	for rows.Next() {
		var org models.OrgID
		var n int
		if err := rows.Scan(&org, &n); err != nil {
			return nil, fmt.Errorf("count the turns at work: %w", err)
		}
		counts[org] = n
	}
	return counts, nil
}
