package runtime

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// counting counts what goes to PostgreSQL, but for the BEGIN of statements that are alone in their transaction.
type counting struct {
	on         atomic.Bool
	statements atomic.Int64
	trips      atomic.Int64
}

func (c *counting) statement(sql string) {
	sql = strings.TrimSpace(sql)
	for _, frame := range []string{"begin", "commit", "rollback", "SELECT set_config("} {
		if strings.HasPrefix(strings.ToLower(sql), strings.ToLower(frame)) {
			return
		}
	}
	if c.on.Load() {
		c.statements.Add(1)
	}
}

func (c *counting) trip() {
	if c.on.Load() {
		c.trips.Add(1)
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (c *counting) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	c.trip()
	c.statement(q.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*counting) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (c *counting) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.trip()
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (c *counting) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	c.statement(q.SQL)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (*counting) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TestEconomy counts what a turn costs that is alone. These are upper bounds: what makes a turn cheaper may lower them, and nothing
// may raise them by accident.
//
// Rules: Q5.
func TestEconomy(t *testing.T) {
	c := &counting{}
	db := storetest.Traced(t, c)
	w := newWorld(t, db)
	n := w.start(func(cfg *Config) { cfg.PollInterval = patience })
	for _, turn := range []struct {
		name                       string
		answers                    []llm.Response
		prepare                    func()
		commits, statements, trips int64
	}{
		// quality.md, P9, allows 60 statements, and wants 24 and 12 round trips.
		{"a text turn", nil, nil, 2, 17, 5},
		{"a turn with one tool", []llm.Response{answer(llm.FinishToolCalls, callPart("", "once", `{"tag":"economy"}`))}, nil, 4, 34, 9},
		{"a text turn under budgets", nil, func() { w.ampleBudgets() }, 2, 25, 5},
	} {
		if turn.prepare != nil {
			turn.prepare()
		}
		// Twice, so that statements are prepared and caches are warm.
		for range 2 {
			n.puppet.on(answers(turn.answers...))
			s := w.newSession(n)
			n.commits.Store(0)
			c.statements.Store(0)
			c.trips.Store(0)
			c.on.Store(true)
			n.send(s, "go")
			w.until("it has ended", func() bool { return n.commits.Load() >= turn.commits })
			c.on.Store(false)
			w.idle(s)
		}
		t.Logf("%s: %d commits, %d statements, %d round trips", turn.name, n.commits.Load(), c.statements.Load(), c.trips.Load())
		if n.commits.Load() != turn.commits || c.statements.Load() > turn.statements || c.trips.Load() > turn.trips {
			t.Errorf("%s takes %d commits, %d statements and %d round trips; at most %d, %d and %d are allowed", turn.name,
				n.commits.Load(), c.statements.Load(), c.trips.Load(), turn.commits, turn.statements, turn.trips)
		}
	}
}

// ampleBudgets makes budgets that bind every session and are never used up.
func (w *world) ampleBudgets() {
	w.t.Helper()
	for _, currency := range []string{"usd", "tokens", "credits", "tool_calls"} {
		w.budget(currency, 1_000_000_000_000_000)
	}
}

// counted counts what an engine reads by itself.
type counted struct {
	rows
	sessions, conversations *atomic.Int64
}

func (c counted) session(ctx context.Context, org models.OrgID, id models.SessionID) (*sessionInfo, error) {
	c.sessions.Add(1)
	return c.rows.session(ctx, org, id)
}

func (c counted) messages(
	ctx context.Context, org models.OrgID, session models.SessionID, base, after int64, maxBytes int,
) ([]models.Message, bool, error) {
	c.conversations.Add(1)
	return c.rows.messages(ctx, org, session, base, after, maxBytes)
}

// A turn under budgets takes no commit more than one without, and reads no conversation that is known: neither in a new session nor in one whose
// last turn has ended here, however long the message is. One whose conversation isn't known, as another process has gone on with the session, takes one commit more, and
// reads it once.
//
// Rules: Q5, P20.
func TestEconomyUnderBudgets(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.ampleBudgets()
		n := w.start(priced())
		reads := counted{n.engine.rows, new(atomic.Int64), new(atomic.Int64)}
		n.engine.rows = reads
		other := w.start(priced())
		s := w.newSession(n)
		for i, turn := range []struct {
			on                              *node
			said                            string
			commits, sessions, conversation int64
		}{{n, "go", 2, 1, 0}, {n, strings.Repeat("on and on ", 1000), 2, 0, 0}, {other, "go", 3, 0, 0}, {n, "go", 3, 0, 1}, {n, "go", 2, 0, 0}} {
			turn.on.puppet.on(replies(took(10, 10, "done")))
			turn.on.commits.Store(0)
			reads.sessions.Store(0)
			reads.conversations.Store(0)
			id := turn.on.send(s, turn.said)
			turn.on.settled(s)
			if row := w.turn(id); row.Status != models.TurnCompleted {
				t.Fatalf("turn %d is %+v", i, row)
			}
			if turn.on.commits.Load() != turn.commits || reads.sessions.Load() != turn.sessions || reads.conversations.Load() != turn.conversation {
				t.Errorf("turn %d took %d commits, and read %d sessions and %d conversations; want %d, %d and %d", i, turn.on.commits.Load(),
					reads.sessions.Load(), reads.conversations.Load(), turn.commits, turn.sessions, turn.conversation)
			}
		}
	})
}
