package queue

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Ask is what a runner asks of the queue.
type Ask struct {
	Runner models.RunnerID
	// Executions is how many it wants: from 1 to MaxClaim.
	Executions int
	// From is where it begins to look: Claimed.Next of the claim before.
	From Place
	// PerOrg is how many it takes of one organization at most, by default any number. Capacities has those of which it takes fewer,
	// or none.
	PerOrg     int
	Capacities map[models.OrgID]int
	// Caps reports whether there may be caps. Those of their own are read again.
	Caps Caps
}

// MaxClaim is how many executions one claim takes at most.
const MaxClaim = 16

// Claimed is what it got.
type Claimed struct {
	Executions []Taken
	// More is true when asking again may give more.
	More bool
	Next Place
}

// Taken is an execution that was claimed.
type Taken struct {
	Held

	// Since is when it had become ready.
	Since models.Millis
	// Row is what the Scan of its kind has made of the row.
	Row any
}

// Claim claims ready executions for a runner, and none to one that was declared dead: they would be taken from it again at once, and
// one that is taken over too often is given up. It walks the organizations that have something ready in a circle and gives each
// its fair share, the oldest first, whatever the kind. What it costs grows neither with their number nor with that of the executions. After
// an error some may have been claimed all the same: see Held.
func (q *Queue) Claim(ctx context.Context, ask Ask) (Claimed, error) {
	ask.Executions = min(ask.Executions, MaxClaim)
	if ask.PerOrg == 0 {
		ask.PerOrg = math.MaxInt32
	}
	if q.db.Pool != nil && !ask.Caps.Any() {
		return q.claimAtOnce(ctx, ask)
	}
	lines, err := q.walk(ctx, ask)
	if err != nil || len(lines) == 0 {
		return Claimed{Next: ask.From}, err
	}
	share(ask.Executions, lines)
	var list []Taken
	if q.db.Pool == nil {
		list, err = q.claimSQLite(ctx, ask, lines)
	} else {
		list, err = q.claimPostgres(ctx, ask, lines)
	}
	if err != nil {
		return Claimed{Next: ask.From}, err
	}
	return claimed(ask, lines, list), nil
}

func claimed(ask Ask, lines []orgLine, list []Taken) Claimed {
	got := map[models.OrgID]int{}
	for _, t := range list {
		got[t.OrgID]++
	}
	c := Claimed{Executions: list}
	c.Next, c.More = ask.From.next(ask.Executions, lines, got)
	return c
}

const (
	// The walk goes from one organization to the next by one look into an index each. Who is at its cap is told by what the
	// runners hold.
	walkStatement = `WITH RECURSIVE walk (org, place) AS (
SELECT (%s), 1
UNION ALL SELECT (%s), place + 1
FROM walk WHERE org IS NOT NULL AND place < ?),
loads (org, place, weight, cap) AS (SELECT org, place, coalesce((SELECT weight FROM org_loads WHERE org_id = org), 1),
coalesce((SELECT active_turns FROM org_loads WHERE org_id = org), ?) FROM walk WHERE org IS NOT NULL)
SELECT org, weight, cap, CASE WHEN cap > 0 THEN %s ELSE 0 END FROM loads ORDER BY place`
	// maxPage is how many organizations one statement passes at most.
	maxPage = 256
)

// walk finds organizations that have something ready and room for more at work, as many as executions are asked for. It takes no locks: what
// it finds of those with a cap must be looked at again under one.
func (q *Queue) walk(ctx context.Context, ask Ask) ([]orgLine, error) {
	start := ask.From.after()
	at, wrapped, page := start, false, 0
	var lines []orgLine
	for len(lines) < ask.Executions {
		page = min(max(2*page, ask.Executions-len(lines)), maxPage)
		passed, around := 0, false
		err := q.db.QueryAcross(ctx, func(r store.Row) error {
			var l orgLine
			var running int
			if err := r.Scan(&l.org, &l.weight, &l.cap, &running); err != nil {
				return err
			}
			passed, at = passed+1, l.org
			around = around || wrapped && bytes.Compare(l.org[:], start[:]) > 0
			l.capacity = ask.capacity(l, running)
			if !around && l.capacity > 0 && len(lines) < ask.Executions {
				lines = append(lines, l)
			}
			return nil
		}, q.statements.walk, append(q.kinds.args(at[:]), page, ask.Caps.Usual)...)
		if err != nil {
			return nil, fmt.Errorf("look for organizations with something ready: %w", err)
		}
		if wrapped && (around || passed < page) {
			break
		}
		if passed < page {
			wrapped, at = true, models.OrgID{}
		}
	}
	return lines, nil
}

// capacity is how many executions of an organization may be claimed that has some at work.
func (a *Ask) capacity(l orgLine, running int) int {
	capacity := a.PerOrg
	if r, ok := a.Capacities[l.org]; ok {
		capacity = min(capacity, r)
	}
	if l.cap > 0 {
		capacity = min(capacity, l.cap-running)
	}
	return capacity
}

// capped returns the organizations among the lines that have a cap, in the order of their ids.
func capped(lines []orgLine) (list []models.OrgID) {
	for _, l := range lines {
		if l.cap > 0 {
			list = append(list, l.org)
		}
	}
	slices.SortFunc(list, func(a, b models.OrgID) int { return bytes.Compare(a[:], b[:]) })
	return list
}

// recount sets the capacity that each line has now.
func (a *Ask) recount(lines []orgLine, running map[models.OrgID]int) {
	for i := range lines {
		if l := &lines[i]; l.cap > 0 {
			l.capacity = max(0, a.capacity(*l, running[l.org]))
		}
	}
	share(a.Executions, lines)
}

type rowsOf interface {
	Next() bool
	Scan(dest ...any) error
}
