package e2e

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestTheDatabasesClockCounts has a PostgreSQL whose clock is two hours ahead of this machine's. All that an API node and a runner write
// has the database's time, and what must compare with it – here a sign-in, which ends after an hour – works.
//
// Rules: Q2.
func TestTheDatabasesClockCounts(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	conn, err := pgx.Connect(t.Context(), cluster.env["OSTLER_DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), `CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
		RETURN pg_catalog.clock_timestamp() + interval '2 hours'`); err != nil {
		t.Fatal(err)
	}
	// Who names the system's own schema last gets what others define instead of it.
	cluster.env["OSTLER_DATABASE_URL"] += "&search_path=public%2Cpg_catalog"
	cluster.env["OSTLER_DATABASE_DIRECT_URL"] = cluster.env["OSTLER_DATABASE_URL"]

	api := cluster.api(t)
	cluster.runner(t)
	c := signIn(t, api)
	session := c.session(t, c.agent(t, "echo", "sim-echo"))
	c.message(t, session, "What time is it?")
	c.subscribe(t, session, 0).untilKind(t, "SESSION_IDLED", 1)
	var out struct {
		Session struct {
			Events struct {
				Nodes []struct {
					Kind       string
					OccurredAt time.Time
				}
			}
		}
	}
	c.do(t, `query($id: ID!) { session(id: $id) { events(first: 100) { nodes { kind occurredAt } } } }`, map[string]any{"id": session}, &out)
	if len(out.Session.Events.Nodes) < 8 {
		t.Errorf("the log is %v", out)
	}
	for _, e := range out.Session.Events.Nodes {
		// It is one clock or the other; how exactly it is followed is tested where it is.
		if ahead := time.Until(e.OccurredAt); ahead < time.Hour {
			t.Errorf("%s is of %v, by this machine's clock", e.Kind, e.OccurredAt)
		}
	}
}
