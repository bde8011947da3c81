package queue

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func (l *line) exec(statement string, args ...any) {
	l.t.Helper()
	if _, err := storetest.Exec(l.ctx, l.db, statement, args...); err != nil {
		l.t.Fatal(err)
	}
}

// deal makes some executions of each organization ready, the oldest ones, and gives it a weight and perhaps a cap.
func (l *line) deal(t *rapid.T, caps Caps) (ready []int, weights []int, limits []int) {
	l.reset()
	l.exec("DELETE FROM org_loads")
	for _, org := range l.orgs {
		n, w, own := rapid.IntRange(0, 8).Draw(t, "ready"), rapid.IntRange(1, 4).Draw(t, "weight"), rapid.IntRange(-1, 5).Draw(t, "cap")
		l.update("ready_at = NULL WHERE org_id = ? AND queued_at > ?", org[:], n)
		var active *int64
		limit := caps.Usual
		if own >= 0 {
			v := int64(own)
			active, limit = &v, own
		}
		if active != nil || w > 1 {
			l.exec("INSERT INTO org_loads (org_id, weight, active_turns) VALUES (?, ?, ?)", org[:], w, active)
		} else {
			w = 1
		}
		ready, weights, limits = append(ready, n), append(weights, w), append(limits, limit)
	}
	return ready, weights, limits
}

// claimedOf returns for each organization which of its executions are held, by their age.
func (l *line) claimedOf() map[models.OrgID][]models.Millis {
	got := map[models.OrgID][]models.Millis{}
	for _, x := range l.readAll() {
		if x.runner != nil {
			got[x.OrgID] = append(got[x.OrgID], x.queued)
		}
	}
	return got
}

// Several runners claim at the same time, until there is nothing more: nothing is claimed twice, no organization has more at work than its
// cap, all that may be claimed is, and in each organization the oldest first.
//
// Rules: Q13.
func TestClaimsKeepCaps(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 8, 8, 8, 8)
		rapid.Check(t, func(rt *rapid.T) {
			usual := rapid.SampledFrom([]int{0, 0, 3}).Draw(rt, "usual")
			ready, _, limits := l.deal(rt, Caps{Usual: usual})
			caps, err := l.Caps(l.ctx, usual)
			if err != nil {
				rt.Fatal(err)
			}
			var all sync.WaitGroup
			var mu sync.Mutex
			seen := map[models.Execution]int{}
			for i := range 3 {
				r, n := l.runner(), rapid.IntRange(1, 9).Draw(rt, "n")
				from := Place{Org: l.orgs[i]}
				all.Go(func() {
					for more := true; more; {
						c, err := l.Claim(l.ctx, Ask{Runner: r, Executions: n, From: from, Caps: caps})
						if err != nil || len(c.Executions) > n {
							t.Errorf("asked for %d, got %d, %v", n, len(c.Executions), err)
							return
						}
						mu.Lock()
						for _, x := range c.Executions {
							seen[x.Execution]++
						}
						mu.Unlock()
						from, more = c.Next, c.More
					}
				})
			}
			all.Wait()
			// Whoever met the locks of another may have stopped before that one let go.
			last := l.runner()
			for c := (Claimed{More: true}); c.More; {
				if c, err = l.Claim(l.ctx, Ask{Runner: last, Executions: MaxClaim, From: c.Next, Caps: caps}); err != nil {
					rt.Fatal(err)
				}
				for _, x := range c.Executions {
					seen[x.Execution]++
				}
			}
			for id, n := range seen {
				if n != 1 {
					rt.Fatalf("%s was claimed %d times", id, n)
				}
			}
			got := l.claimedOf()
			for i, org := range l.orgs {
				want := ready[i]
				if limits[i] > 0 {
					want = min(want, limits[i])
				}
				slices.Sort(got[org])
				if len(got[org]) != want || (want > 0 && got[org][want-1] != models.Millis(want)) {
					rt.Fatalf("of %d under cap %d these are at work: %v", ready[i], limits[i], got[org])
				}
			}
		})
	})
}

// One claim gives each organization what a model of it says: its share of the slots, in the order of the circle, no more than it has,
// may have at work and the runner takes.
//
// Rules: Q14.
func TestAClaimIsFair(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 8, 8, 8, 8)
		rapid.Check(t, func(rt *rapid.T) {
			usual := rapid.SampledFrom([]int{0, 4}).Draw(rt, "usual")
			ready, weights, limits := l.deal(rt, Caps{Usual: usual})
			capped := rapid.Bool().Draw(rt, "caps")
			ask := Ask{
				Runner: l.runner(), Executions: rapid.IntRange(1, 10).Draw(rt, "n"), From: Place{Org: rapid.SampledFrom(l.orgs).Draw(rt, "from")},
				PerOrg: rapid.IntRange(1, 10).Draw(rt, "per org"), Capacities: map[models.OrgID]int{l.orgs[1]: rapid.IntRange(0, 2).Draw(rt, "room")},
			}
			if !capped {
				l.exec("UPDATE org_loads SET active_turns = NULL")
			} else {
				ask.Caps = Caps{Usual: usual, Own: map[models.OrgID]int{l.orgs[0]: 1}}
			}
			// The circle from there on.
			var lines []orgLine
			order := make([]int, len(l.orgs))
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(a, b int) int { return compareFrom(ask.From.Org, l.orgs[a], l.orgs[b]) })
			for _, i := range order {
				at := orgLine{org: l.orgs[i], weight: weights[i], capacity: ask.PerOrg}
				if i == 1 {
					at.capacity = min(at.capacity, ask.Capacities[at.org])
				}
				if capped && limits[i] > 0 {
					at.capacity = min(at.capacity, limits[i])
				}
				if ready[i] > 0 && at.capacity > 0 && len(lines) < ask.Executions {
					lines = append(lines, at)
				}
			}
			share(ask.Executions, lines)
			c, err := l.Claim(l.ctx, ask)
			if err != nil {
				rt.Fatal(err)
			}
			got := l.claimedOf()
			more, total := false, 0
			for i, org := range l.orgs {
				want := 0
				if at := slices.IndexFunc(lines, func(o orgLine) bool { return o.org == org }); at >= 0 {
					want = min(lines[at].share, ready[i])
					more = more || want > 0 && want == lines[at].share && want < lines[at].capacity
				}
				total += want
				if len(got[org]) != want {
					rt.Fatalf("organization %d got %d, want %d; the lines are %+v", i, len(got[org]), want, lines)
				}
			}
			if len(c.Executions) != total || c.More != (more || total == ask.Executions) {
				rt.Fatalf("claimed are %d, more %v; want %d, more %v", len(c.Executions), c.More, total, more)
			}
		})
	})
}

// However many organizations are at their caps, the one behind them is found.
//
// Rules: Q13.
func TestCapsDoNotHideOthers(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		numbers := slices.Repeat([]int{2}, 20)
		l := newLine(t, on, numbers...)
		r, caps := l.runner(), Caps{Usual: 1}
		from := Place{Org: l.orgs[7]}
		for want := 20; want > 0; {
			c, err := l.Claim(l.ctx, Ask{Runner: r, Executions: 3, From: from, Caps: caps})
			if err != nil || len(c.Executions) == 0 {
				t.Fatalf("%d are left, claimed %d, %v", want, len(c.Executions), err)
			}
			want -= len(c.Executions)
			from = c.Next
		}
		if c, err := l.Claim(l.ctx, Ask{Runner: r, Executions: 3, From: from, Caps: caps}); err != nil || len(c.Executions) != 0 || c.More {
			t.Fatalf("above all caps %d were claimed, more %v, %v", len(c.Executions), c.More, err)
		}
		free := l.read(l.executions[5])
		if free.runner == nil {
			free = l.read(l.executions[4])
		}
		l.update("status = 'COMPLETED', runner_id = NULL WHERE id = ?", free.ID[:])
		c, err := l.Claim(l.ctx, Ask{Runner: r, Executions: 3, From: from, Caps: caps})
		if err != nil || len(c.Executions) != 1 || c.Executions[0].OrgID != free.OrgID {
			t.Fatalf("where one has ended %d were claimed, %v", len(c.Executions), err)
		}
	})
}

// What a claim reads doesn't grow with what is there: each table is entered by an index.
//
// Rules: Q14.
func TestAClaimReadsWhatItTakes(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	l := newLine(t, withTurns(db), 1)
	l.exec("ALTER TABLE turns DROP CONSTRAINT turns_org_id_session_id_fkey")
	l.exec(`INSERT INTO turns SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'session_id', gen_random_uuid(), 'ready_at', i))).*
FROM turns t, generate_series(1, 8000) i`)
	l.exec("ANALYZE")
	r := l.runner()
	start := models.OrgID{}
	var plan []string
	err := db.QueryAcross(l.ctx, func(row store.Row) error {
		var s string
		err := row.Scan(&s)
		plan = append(plan, s)
		return err
	}, "EXPLAIN (COSTS OFF) "+explained(l.statements.fair, r, start))
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan on turns") || !strings.Contains(text, "using turns_ready") {
		t.Errorf("the plan is\n%s", text)
	}
}

func explained(s string, r models.RunnerID, start models.OrgID) string {
	literal := func(id [16]byte) string { return fmt.Sprintf("'%x'::uuid", id[:]) }
	return strings.NewReplacer("$1", "16::bigint", "$2", literal(r), "$3", literal(start), "$4", "'{}'", "$5", "'{}'", "$6", "100::bigint").Replace(s)
}
