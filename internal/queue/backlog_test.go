package queue

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func TestBacklog(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 3, 1, 5)
		look := func(perOrg, orgs, all int) Backlog {
			t.Helper()
			b, err := l.backlog(l.ctx, perOrg, orgs, all)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		want := func(b Backlog, complete bool, counts ...int) {
			t.Helper()
			if b.Complete != complete {
				t.Errorf("complete: %v", b.Complete)
			}
			n := 0
			for i, count := range counts {
				if got, known := b.Waiting[l.orgs[i]]; got != count || known != (count > 0) {
					t.Errorf("organization %d has %d waiting, want %d", i, got, count)
				}
				n += min(count, 1)
			}
			if len(b.Waiting) != n {
				t.Errorf("%d organizations, want %d", len(b.Waiting), n)
			}
		}
		want(look(100, 100, 100), true, 3, 1, 5)
		want(look(6, 3, 10), true, 3, 1, 5)
		// One organization's line is too long, there are too many of them, or all together are.
		want(look(4, 100, 100), false, 3, 1, 4)
		want(look(100, 2, 100), false, 3, 1, 0)
		want(look(100, 100, 4), false, 3, 1, 0)

		// What runs doesn't wait.
		for r := l.runner(); len(l.claim(r, 16)) > 0; {
		}
		want(look(100, 100, 100), true, 0, 0, 0)
	})
}

// A look reads entries of the index of what is ready, never the table: most turns have ended long ago.
func TestBacklogReadsTheIndex(t *testing.T) {
	t.Parallel()
	db := storetest.AsOwner(t, storetest.Postgres(t))
	l := newLine(t, withTurns(db), 1)
	l.exec("ALTER TABLE turns DROP CONSTRAINT turns_org_id_session_id_fkey")
	l.exec(`INSERT INTO turns SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'session_id', gen_random_uuid(),
'ready_at', CASE WHEN i % 100 = 0 THEN i END))).* FROM turns t, generate_series(1, 8000) i`)
	l.exec("ANALYZE")
	var plan []string
	err := db.QueryAcross(l.ctx, func(row store.Row) error {
		var s string
		err := row.Scan(&s)
		plan = append(plan, s)
		return err
	}, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+l.statements.backlog, backlogPerOrg, backlogOrgs, backlogAll)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan on turns") || strings.Count(text, "using turns_ready") != 3 {
		t.Errorf("the plan is\n%s", text)
	}
}
