package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// fairShares begins a claim in one statement, for an installation without caps: the walk around the circle and the shares.
	// Organizations with no capacity are passed, not counted.
	fairShares = `WITH RECURSIVE capacities (org, capacity) AS (SELECT * FROM unnest($4::uuid[], $5::bigint[])),
pages (page) AS (SELECT $1 + count(*) FROM capacities WHERE capacity <= 0),
ahead (org, place) AS (
SELECT (%s), 1
UNION ALL SELECT (%s), place + 1
FROM ahead, pages WHERE org IS NOT NULL AND place < page),
passed (n) AS (SELECT count(*)::int FROM ahead WHERE org IS NOT NULL),
behind (org, place) AS (
SELECT (%s), n + 1 FROM passed, pages WHERE n < page
UNION ALL SELECT (%s), place + 1
FROM behind, pages WHERE org IS NOT NULL AND place < page),
lines (org, place, weight, capacity) AS (
SELECT w.org, place, coalesce((SELECT weight FROM org_loads WHERE org_id = w.org), 1), least(capacity, $6)
FROM (SELECT * FROM ahead UNION ALL SELECT * FROM behind) w LEFT JOIN capacities ON capacities.org = w.org
WHERE w.org IS NOT NULL AND coalesce(capacity, $6) > 0 ORDER BY place LIMIT $1),
wanted AS (SELECT org, place, weight, capacity, least(capacity, ($1 * weight + sum(weight) OVER () - 1)::bigint / (sum(weight) OVER ())::bigint) AS want FROM lines),
shares (org, weight, capacity, share) AS (
SELECT org, weight, capacity, least(want, $1 - (sum(want) OVER (ORDER BY place) - want))::bigint FROM wanted), `

	// givenShares begins a claim of what was worked out before.
	givenShares = `WITH shares (org, weight, capacity, share) AS (SELECT * FROM unnest($1::uuid[], $3::bigint[], $4::bigint[], $5::bigint[])), `

	// The pick is materialized so that it is made once: as a subquery it may run for every row of a plan, and then claims more
	// than it was asked for. The limit, MaxClaim, is for the planner, which without it expects so many that it reads all rows. With several
	// kinds more may be locked than is picked: another claim passes that until this one has ended.
	pickShares = `picked (org, execution, execution_kind, since, weight, capacity, share) AS MATERIALIZED (
SELECT s.org, t.id, t.kind, t.ready_at, s.weight, s.capacity, s.share FROM shares s CROSS JOIN LATERAL (%s) t
WHERE s.share > 0 AND EXISTS (SELECT 1 FROM runners WHERE id = $2) LIMIT %d)`
	claimOne  = `UPDATE @ SET ` + toRunner + ` FROM picked WHERE org_id = org AND id = execution`
	ofTheLine = `execution_kind, since, weight, capacity, share`

	ensureLoads = `INSERT INTO org_loads (org_id) SELECT org FROM unnest($1::uuid[]) AS k(org)
WHERE NOT EXISTS (SELECT 1 FROM org_loads WHERE org_id = org) ON CONFLICT DO NOTHING`
	// In the order of the ids, so that two claims can't wait for each other in a circle.
	lockLoads = `SELECT org_id FROM org_loads WHERE org_id = ANY($1::uuid[]) ORDER BY org_id FOR UPDATE`
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

// claimedRow reads a row of one kind behind what is said of its line.
type claimedRow struct {
	pgx.Rows

	since models.Millis
	line  orgLine
	// before is how many columns kinds before this one have.
	before int
}

// scan reads a row by its kind.
func (r *claimedRow) scan(list []Kind) (t Taken, err error) {
	kind := list[0]
	if len(list) > 1 {
		var number int
		skip := make([]any, len(r.FieldDescriptions()))
		skip[0] = &number
		if err := r.Rows.Scan(skip...); err != nil {
			return t, fmt.Errorf("claim executions: %w", err)
		}
		r.before = 0
		for _, k := range list[:number] {
			r.before += 1 + strings.Count(k.Columns, ",")
		}
		kind = list[number]
	}
	t.Held, t.Row, err = kind.Scan(r)
	t.Since = r.since
	return t, err
}

// Scan implements Row.
func (r *claimedRow) Scan(dest ...any) error {
	all := make([]any, len(r.FieldDescriptions()))
	copy(all, []any{nil, &r.since, &r.line.weight, &r.line.capacity, &r.line.share})
	copy(all[5+r.before:], dest)
	return r.Rows.Scan(all...)
}

// claimPicked ends a claim: it gives what the lines are, and the columns of each kind beside each other.
func (k kinds) claimPicked() string {
	if len(k.list) == 1 {
		return k.each("", "", " "+claimOne+" RETURNING "+ofTheLine+", "+k.list[0].Columns)
	}
	s := ""
	for i, kind := range k.list {
		s += fmt.Sprintf(", claimed_%d AS ("+strings.ReplaceAll(claimOne, "@", kind.Table)+" AND execution_kind = %d RETURNING %s)", i, i, kind.Columns)
	}
	return s + " SELECT " + ofTheLine + k.each("", "", ", claimed_#.*") + " FROM picked" +
		k.each("", "", " LEFT JOIN claimed_# ON claimed_#.org_id = org AND claimed_#.id = execution")
}

// claimAtOnce is Claim without caps: one statement.
func (q *Queue) claimAtOnce(ctx context.Context, ask Ask) (Claimed, error) {
	var orgs []models.OrgID
	var capacities []int64
	for org, capacity := range ask.Capacities {
		orgs, capacities = append(orgs, org), append(capacities, int64(capacity))
	}
	start := ask.From.after()
	list, lines, err := q.claimBy(ctx, q.db.Pool, q.statements.fair, ask.Executions, ask.Runner[:], start[:], uuids(orgs), capacities, ask.PerOrg)
	if err != nil {
		return Claimed{Next: ask.From}, err
	}
	return claimed(ask, lines, list), nil
}

func (q *Queue) claimBy(ctx context.Context, db postgres, statement string, args ...any) (list []Taken, lines []orgLine, err error) {
	rows, err := db.Query(ctx, statement, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("claim executions: %w", err)
	}
	defer rows.Close()
	known := map[models.OrgID]bool{}
	row := &claimedRow{Rows: rows}
	for rows.Next() {
		t, err := row.scan(q.kinds.list)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, t)
		if !known[t.OrgID] {
			known[t.OrgID], row.line.org = true, t.OrgID
			lines = append(lines, row.line)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("claim executions: %w", err)
	}
	return list, lines, nil
}

// claimPostgres claims the shares of lines. Claims of an organization that has a cap come one after the other, each with a count
// of its own: only then is what the one before has claimed among what is counted.
func (q *Queue) claimPostgres(ctx context.Context, ask Ask, lines []orgLine) (claimed []Taken, err error) {
	list := capped(lines)
	if len(list) == 0 {
		return q.claimShares(ctx, q.db.Pool, ask.Runner, lines)
	}
	if _, err := q.db.Pool.Exec(ctx, ensureLoads, uuids(list)); err != nil {
		return nil, fmt.Errorf("make the loads of organizations that have a cap: %w", err)
	}
	err = pgx.BeginFunc(ctx, q.db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockLoads, uuids(list)); err != nil {
			return fmt.Errorf("lock the loads of organizations that have a cap: %w", err)
		}
		rows, err := tx.Query(ctx, q.statements.running+"unnest($1::uuid[]) AS k(org)", uuids(list))
		if err != nil {
			return fmt.Errorf("count the executions at work: %w", err)
		}
		running, err := scanCounts(rows)
		rows.Close()
		if err := errors.Join(err, rows.Err()); err != nil {
			return err
		}
		ask.recount(lines, running)
		claimed, err = q.claimShares(ctx, tx, ask.Runner, lines)
		return err
	})
	return claimed, err
}

func (q *Queue) claimShares(ctx context.Context, db postgres, runner models.RunnerID, lines []orgLine) ([]Taken, error) {
	orgs := make([]models.OrgID, len(lines))
	weights, capacities, shares := make([]int64, len(lines)), make([]int64, len(lines)), make([]int64, len(lines))
	for i, l := range lines {
		orgs[i], weights[i], capacities[i], shares[i] = l.org, int64(l.weight), int64(l.capacity), int64(l.share)
	}
	list, _, err := q.claimBy(ctx, db, q.statements.shared, uuids(orgs), runner[:], weights, capacities, shares)
	return list, err
}

func scanCounts(rows rowsOf) (map[models.OrgID]int, error) {
	counts := map[models.OrgID]int{}
	for rows.Next() {
		var org models.OrgID
		var n int
		if err := rows.Scan(&org, &n); err != nil {
			return nil, fmt.Errorf("count the executions at work: %w", err)
		}
		counts[org] = n
	}
	return counts, nil
}
