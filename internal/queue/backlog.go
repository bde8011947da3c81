package queue

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Backlog is a bounded look at the executions that are ready and wait for a runner.
type Backlog struct {
	// Waiting is how many each organization has; those that have none aren't in it.
	Waiting map[models.OrgID]int
	// Complete is true when there are no others.
	Complete bool
}

// The bounds of a look at the queue: so many executions of one organization are counted, of so many organizations, and no further one once so
// many turns have been. What is looked at are entries of one index.
const (
	backlogPerOrg = 1000
	backlogOrgs   = 500
	backlogAll    = 20_000
)

// backlogStatement goes from one organization to the next, as walkStatement does. Each row tells how much the organizations before
// it have.
const backlogStatement = `WITH RECURSIVE walk (org, place, counted) AS (
SELECT (%s), 1, CAST(0 AS bigint)
UNION ALL SELECT (%s), place + 1,
counted + (SELECT count(*) FROM (%s LIMIT ?) n)
FROM walk WHERE org IS NOT NULL AND place <= ? AND counted < ?)
SELECT org, counted FROM walk ORDER BY place`

// Backlog looks at the queue by one statement, whose cost has a bound however many executions and organizations there are.
func (q *Queue) Backlog(ctx context.Context) (Backlog, error) {
	return q.backlog(ctx, backlogPerOrg, backlogOrgs, backlogAll)
}

func (q *Queue) backlog(ctx context.Context, perOrg, orgs, all int) (Backlog, error) {
	b := Backlog{Waiting: map[models.OrgID]int{}}
	var last *models.OrgID
	before, cut := 0, false
	err := q.db.QueryAcross(ctx, func(r store.Row) error {
		var org *models.OrgID
		var counted int
		if err := r.Scan(&org, &counted); err != nil {
			return err //nolint:wrapcheck // below
		}
		if last != nil {
			b.Waiting[*last] = counted - before
			cut = cut || counted-before == perOrg
		}
		last, before = org, counted
		return nil
	}, q.statements.backlog, perOrg, orgs, all)
	if err != nil {
		return Backlog{}, fmt.Errorf("look at the queue: %w", err)
	}
	// An organization in the last row is one that was not counted.
	b.Complete = last == nil && !cut
	return b, nil
}
