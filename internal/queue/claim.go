package queue

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Ask is what a runner asks of the queue.
type Ask struct {
	Runner models.RunnerID
	// Turns is how many it wants: from 1 to MaxClaim.
	Turns int
	// From is where it begins to look: Claimed.Next of the claim before.
	From Place
	// PerOrg is how many it takes of one organization at most, by default any number. Rooms has those of which it takes fewer,
	// or none.
	PerOrg     int
	Capacities map[models.OrgID]int
	// Caps reports whether there may be caps. Those of their own are read again.
	Caps Caps
}

// MaxClaim is how many turns one claim takes at most.
const MaxClaim = 16

// Claimed is what it got.
type Claimed struct {
	Turns []models.Turn
	// Since is when each of them had become ready, as far as that is known.
	Since map[models.TurnID]models.Millis
	// More is true when asking again may give more.
	More bool
	Next Place
}

// Claim claims ready turns for a runner, and none to one that was declared dead: they would be taken from it again at once, and a
// turn that is taken over too often is given up. It walks the organizations that have ready turns in a circle and gives each
// its fair share, the oldest first. What it costs grows neither with their number nor with that of the turns. After an error
// turns may have been claimed all the same: see Held.
func (q *Queue) Claim(ctx context.Context, ask Ask) (Claimed, error) {
	ask.Turns = min(ask.Turns, MaxClaim)
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
	share(ask.Turns, lines)
	var turns taken
	if q.db.Pool == nil {
		turns, err = q.claimSQLite(ctx, ask, lines)
	} else {
		turns, err = q.claimPostgres(ctx, ask, lines)
	}
	if err != nil {
		return Claimed{Next: ask.From}, err
	}
	return claimed(ask, lines, turns), nil
}

// taken are turns that were claimed, and since when they had been ready.
type taken struct {
	turns []models.Turn
	since map[models.TurnID]models.Millis
}

func claimed(ask Ask, lines []orgLine, t taken) Claimed {
	got := map[models.OrgID]int{}
	for _, t := range t.turns {
		got[t.OrgID]++
	}
	c := Claimed{Turns: t.turns, Since: t.since}
	c.Next, c.More = ask.From.next(ask.Turns, lines, got)
	return c
}

const (
	// The walk goes from one organization to the next by one look into an index each. Who is at its cap is told by what the
	// runners hold, which is bounded by their slots; turns that wait for something are not looked at.
	walkStatement = `WITH RECURSIVE walk (org, place) AS (
SELECT (SELECT org_id FROM turns %[1]s WHERE ready_at IS NOT NULL AND org_id > ? ORDER BY org_id, ready_at LIMIT 1), 1
UNION ALL SELECT (SELECT org_id FROM turns %[1]s WHERE ready_at IS NOT NULL AND org_id > org ORDER BY org_id, ready_at LIMIT 1), place + 1
FROM walk WHERE org IS NOT NULL AND place < ?),
loads (org, place, weight, cap) AS (SELECT org, place, coalesce((SELECT weight FROM org_loads WHERE org_id = org), 1),
coalesce((SELECT active_turns FROM org_loads WHERE org_id = org), ?) FROM walk WHERE org IS NOT NULL)
SELECT org, weight, cap, CASE WHEN cap > 0 THEN (%[2]s) ELSE 0 END FROM loads ORDER BY place`
	atWork = `SELECT count(*) FROM runners r CROSS JOIN turns t %s WHERE t.runner_id = r.id AND t.org_id = org`
	// Left to itself SQLite takes other indexes, and reads turns that aren't ready or not at work.
	readyIndex, heldIndex = "INDEXED BY turns_ready", "INDEXED BY turns_held"
	// maxPage is how many organizations one statement passes at most.
	maxPage = 256
)

// walk finds organizations that have ready turns and room for more at work, as many as turns are asked for. It takes no locks: what
// it finds of those with a cap must be looked at again under one.
func (q *Queue) walk(ctx context.Context, ask Ask) ([]orgLine, error) {
	ready, held := "", ""
	if q.db.Pool == nil {
		ready, held = readyIndex, heldIndex
	}
	statement := fmt.Sprintf(walkStatement, ready, fmt.Sprintf(atWork, held))
	start := ask.From.after()
	at, wrapped, page := start, false, 0
	var lines []orgLine
	for len(lines) < ask.Turns {
		page = min(max(2*page, ask.Turns-len(lines)), maxPage)
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
			if !around && l.capacity > 0 && len(lines) < ask.Turns {
				lines = append(lines, l)
			}
			return nil
		}, statement, at[:], page, ask.Caps.Usual)
		if err != nil {
			return nil, fmt.Errorf("look for organizations with ready turns: %w", err)
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

// capacity is how many turns of an organization may be claimed that has some at work.
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
	share(a.Turns, lines)
}

type rowsOf interface {
	Next() bool
	Scan(dest ...any) error
}

// scanTurns reads what is left of rows. Whether that was all, the rows' Err tells.
func scanTurns(rows rowsOf) (list []models.Turn, err error) {
	for rows.Next() {
		t, err := commit.ScanTurn(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, *t)
	}
	return list, nil
}
