package runtime

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/llm"
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
		commits, statements, trips int64
	}{
		// quality.md, P9, allows 60 statements, and wants 24 and 12 round trips.
		{"a text turn", nil, 2, 17, 5},
		{"a turn with one tool", []llm.Response{answer(llm.FinishToolCalls, callPart("", "once", `{"tag":"economy"}`))}, 4, 34, 9},
	} {
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
