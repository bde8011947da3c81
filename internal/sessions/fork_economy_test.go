package sessions

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// counter keeps the statements that go to PostgreSQL, but for those around a transaction.
type counter struct {
	mu   sync.Mutex
	list []string
}

func (c *counter) add(sql string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains([]string{"begin", "commit", "rollback", "discard plans"}, strings.ToLower(sql)) && !strings.HasPrefix(sql, "SELECT set_config(") {
		c.list = append(c.list, sql)
	}
}

// during returns how many statements fn takes.
func (c *counter) during(fn func()) (int, string) {
	c.mu.Lock()
	c.list = nil
	c.mu.Unlock()
	fn()
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list), strings.Join(c.list, "\n")
}

// TraceQueryStart implements pgx.QueryTracer.
func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	c.add(q.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (*counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (c *counter) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	c.add(q.SQL)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (*counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// counted returns an env whose statements are counted.
func counted(t *testing.T) (*env, *counter) {
	t.Helper()
	c := &counter{}
	return newEnv(t, storetest.Traced(t, c)), c
}

// A fork costs the same however long the history is, in statements and in rows.
//
// Rules: K2.
func TestAForkCostsTheSameForAnyHistory(t *testing.T) {
	e, c := counted(t)
	type cost struct{ last, middle, again int }
	var costs []cost
	for _, turns := range []int{10, 1000} {
		s := e.create()
		var middle models.TurnID
		for i := range turns {
			middle = e.wholeTurn(s.ID, "m")
			if i == turns-4 {
				e.writeAs(s.ID, put("/workspace/a", "1"))
			}
		}
		var forks []*models.Session
		var at cost
		list, err := e.svc.Turns(t.Context(), e.by.OrgID, s.ID, 0, false, &middle, 1)
		if err != nil {
			t.Fatal(err)
		}
		middle = list[0].ID
		measure := func(n *int, fork func() *models.Session) {
			fork() // prepares the statements
			*n, _ = c.during(func() { forks = append(forks, fork()) })
		}
		measure(&at.last, func() *models.Session { return e.fork(s.ID) })
		measure(&at.middle, func() *models.Session { return e.fork(s.ID, middle) })
		measure(&at.again, func() *models.Session { return e.fork(forks[0].ID) })
		costs = append(costs, at)
		for i, f := range forks {
			for table, want := range map[string]int64{"events": 1, "messages": 0, "turns": 0, "session_lineage": 1 + int64(i/2), "session_files": 1} {
				var n int64
				if err := store.Of(e.db.ReadAcross(t.Context()), e.by.OrgID).Table(table).Where("session_id = ?", f.ID).Count(&n).Error; err != nil || n != want {
					t.Errorf("after %d turns, fork %d has %d rows of %s, want %d, %v", turns, i, n, table, want, err)
				}
			}
		}
	}
	if costs[0] != costs[1] || costs[0].last > 20 || costs[0].middle > 25 {
		t.Errorf("forks after 10 and 1000 turns take %+v statements", costs)
	}
	t.Logf("%+v statements", costs)
}

// Lists of sessions that are no forks take one statement, as if there were no forks; and so do those of forks that don't reach back.
func TestListsOfSessionsThatAreNoForksPayNothing(t *testing.T) {
	e, c := counted(t)
	s := e.create()
	for range 3 {
		e.wholeTurn(s.ID, "m")
	}
	first, fork := e.get(s.ID), e.fork(s.ID)
	for range 3 {
		e.wholeTurn(fork.ID, "m")
	}
	fork = e.get(fork.ID)
	ctx, org := t.Context(), e.by.OrgID
	failed := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []*models.Session{first, fork} {
		id, base := row.ID, row.BaseSequence
		for name, fn := range map[string]func(){
			"the newest messages": func() { failed(e.svc.Messages(ctx, org, id, base, nil, nil, true, 2)) },
			"later messages":      func() { failed(e.svc.Messages(ctx, org, id, base, new(base+3), nil, false, 100)) },
			"the newest turns":    func() { failed(e.svc.Turns(ctx, org, id, base, false, nil, 2)) },
			"the newest events": func() {
				failed(e.svc.log.Page(ctx, org, id, events.PageQuery{Base: base, Backward: true, Limit: 5}))
			},
			"later events": func() {
				failed(e.svc.log.Page(ctx, org, id, events.PageQuery{Base: base, After: new(base), Limit: 500}))
			},
			"events by kind": func() {
				failed(e.svc.log.Page(ctx, org, id, events.PageQuery{Base: base, After: new(base), Limit: 500, Kinds: kindsSince}))
			},
			"what is resumed": func() {
				failed(events.NewLog(e.db).Read(ctx, org, id, base, events.Limit{Events: 500, Bytes: 1 << 30}))
			},
		} {
			if n, statements := c.during(fn); n != 1 {
				t.Errorf("%s of %s take %d statements:\n%s", name, id, n, statements)
			}
		}
	}
	whole := map[string]func(){
		"all messages": func() { failed(e.svc.Messages(ctx, org, s.ID, 0, nil, nil, false, 100)) },
		"all turns":    func() { failed(e.svc.Turns(ctx, org, s.ID, 0, true, nil, 100)) },
		"all events":   func() { failed(e.svc.log.Page(ctx, org, s.ID, events.PageQuery{Limit: 500})) },
		"the replay":   func() { failed(events.NewLog(e.db).Read(ctx, org, s.ID, 0, events.Limit{Events: 500, Bytes: 1 << 30})) },
		"the count":    func() { failed(e.svc.CountMessages(ctx, org, s.ID, 0)) },
	}
	for name, fn := range whole {
		if n, statements := c.during(fn); n != 1 {
			t.Errorf("%s take %d statements:\n%s", name, n, statements)
		}
	}
	// What a fork has from others is one statement more, and its lineage once.
	read := func() { failed(e.svc.Messages(ctx, org, fork.ID, fork.BaseSequence, nil, nil, false, 100)) }
	read()
	if n, statements := c.during(read); n != 2 {
		t.Errorf("all messages of a fork take %d statements:\n%s", n, statements)
	}
}
