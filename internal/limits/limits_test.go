package limits_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// world is a database with two organizations, and a clock that stands 20 s before the end of a minute.
type world struct {
	t            *testing.T
	db           *store.DB
	clock        *clock.Manual
	mine, theirs models.OrgID
}

func newWorld(t *testing.T, db *store.DB) *world {
	w := &world{t: t, db: db, clock: clock.NewManual(time.Date(2026, 3, 1, 12, 0, 40, 500e6, time.UTC))}
	for i, id := range []*models.OrgID{&w.mine, &w.theirs} {
		*id = models.NewID[models.OrgEntity]()
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Create(&models.Org{ID: *id, Name: "o", Slug: fmt.Sprint("o", i), CreatedAt: 1}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newWorld(t, db)) })
}

func (w *world) node(v limits.Values) *limits.Limits {
	w.t.Helper()
	l := limits.New(limits.Config{DB: w.db, Clock: w.clock, Usual: v})
	w.t.Cleanup(l.Stop)
	return l
}

// nodes are two processes, or with SQLite the one that there is, twice.
func (w *world) nodes(v limits.Values) (a, b *limits.Limits) {
	w.t.Helper()
	a = w.node(v)
	if w.db.Dialect == store.SQLite {
		return a, a
	}
	return a, w.node(v)
}

// set gives an organization limits of its own.
func (w *world) set(org models.OrgID, columns map[string]any) {
	w.t.Helper()
	columns["limits_changed_at"] = w.clock.Now().UnixMilli()
	err := w.db.WriteAcross(w.t.Context(), func(tx *gorm.DB) error {
		if _, err := limits.LockLoad(tx, org); err != nil {
			return err
		}
		return store.Of(tx.Model(&models.OrgLoad{}), org).Updates(columns).Error
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// let counts how many of n requests are let in, and checks how long the others are told to wait.
func (w *world) let(l *limits.Limits, org models.OrgID, n, wait int) (in int) {
	w.t.Helper()
	return w.count(l.Request, org, n, wait)
}

// count is let for requests, or for outbound calls of tools.
func (w *world) count(ask func(context.Context, models.OrgID) (int, bool), org models.OrgID, n, wait int) (in int) {
	w.t.Helper()
	for range n {
		retry, ok := ask(w.t.Context(), org)
		if ok {
			in++
		} else if retry != wait {
			w.t.Fatalf("wait %d s, want %d", retry, wait)
		}
	}
	return in
}

func TestAnOwnLimitGoesBeforeTheUsualOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.nodes(limits.Values{Sessions: 10, Agents: 20})
		if v := a.Of(t.Context(), w.mine); v != (limits.Values{Sessions: 10, Agents: 20}) {
			t.Fatalf("%+v", v)
		}
		b.Of(t.Context(), w.mine)
		w.set(w.mine, map[string]any{"sessions": 3, "agents": 0, "sockets": 7})
		if v := b.Of(t.Context(), w.mine); v.Sessions != 10 {
			t.Errorf("what was just read is read again: %+v", v)
		}
		a.Forget()
		want := limits.Values{Sessions: 3, Sockets: 7}
		if v := a.Of(t.Context(), w.mine); v != want {
			t.Errorf("where it was changed: %+v", v)
		}
		w.clock.Advance(2 * time.Second)
		if v := b.Of(t.Context(), w.mine); v != want {
			t.Errorf("another process, after 2 s: %+v", v)
		}
		if v := b.Of(t.Context(), w.theirs); v.Sessions != 10 || v.Agents != 20 {
			t.Errorf("another organization: %+v", v)
		}
		w.clock.Advance(time.Hour)
		w.set(w.mine, map[string]any{"sessions": nil})
		w.clock.Advance(2 * time.Second)
		for _, l := range []*limits.Limits{a, b, w.node(limits.Values{Sessions: 10})} {
			if v := l.Of(t.Context(), w.mine); v.Sessions != 10 || v.Sockets != 7 {
				t.Errorf("with the usual one put back: %+v", v)
			}
		}
	})
}

// A database that hangs is asked once a second for an organization, however many want in, and nobody is refused meanwhile.
func TestADatabaseThatHangs(t *testing.T) {
	w := newWorld(t, storetest.Postgres(t))
	var logged bytes.Buffer
	l := limits.New(limits.Config{
		DB: w.db, Clock: w.clock, Usual: limits.Values{RequestsPerMinute: 3, Sockets: 3}, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	l.Of(t.Context(), w.mine)
	hold, err := w.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Rollback(context.WithoutCancel(t.Context())) }()
	for _, statement := range []string{
		"SELECT pg_advisory_xact_lock(1819501427, hashtext('" + w.mine.String() + "'))", "LOCK TABLE org_rates IN ACCESS EXCLUSIVE MODE",
	} {
		if _, err := hold.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if !l.Open(t.Context(), w.mine, limits.Socket) {
				t.Error("a socket was refused")
			}
			if _, ok := l.Request(t.Context(), w.mine); !ok {
				t.Error("a request was refused")
			}
		})
	}
	all.Wait()
	if asked := strings.Count(logged.String(), "can't be counted"); asked != 2 {
		t.Errorf("the database was asked in vain %d times, want once for sockets and once for requests:\n%s", asked, &logged)
	}
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second)
	if other := w.node(limits.Values{Sockets: 3, RequestsPerMinute: 3}); w.open(l, w.mine, limits.Socket, 1) != 0 || w.let(l, w.mine, 9, 19)+w.let(other, w.mine, 9, 19) != 3 {
		t.Error("it isn't counted when the database is back")
	}
}

// Without a way to the database what was known holds on, and nothing is refused that can't be counted.
func TestLimitsWithoutADatabase(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := limits.New(limits.Config{DB: w.db, Clock: w.clock, Usual: limits.Values{RequestsPerMinute: 100, ToolCallsPerMinute: 10, Subscriptions: 50, Sessions: 1}})
		w.set(w.mine, map[string]any{"sessions": 5})
		l.Of(t.Context(), w.mine)
		if w.db.Dialect == store.Postgres {
			w.db.Pool.Close()
		} else if err := w.db.Close(); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(time.Minute)
		if v := l.Of(t.Context(), w.mine); v.Sessions != 5 {
			t.Errorf("%+v", v)
		}
		if _, ok := l.ToolCall(t.Context(), w.mine); !ok {
			t.Error("a call of a tool was refused")
		}
		if _, ok := l.Request(t.Context(), w.mine); !ok || !l.Open(t.Context(), w.mine, limits.Subscription) {
			t.Error("it was refused")
		}
	})
}

func TestProcessesShareTheRequestsOfAMinute(t *testing.T) {
	for name, limit := range map[string]int{"a few": 7, "many": 1003} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				a, b := w.nodes(limits.Values{RequestsPerMinute: limit})
				var in atomic.Int64
				var all sync.WaitGroup
				for _, l := range []*limits.Limits{a, b, a, b} {
					all.Go(func() { in.Add(int64(w.let(l, w.mine, limit, 20))) })
				}
				all.Wait()
				if in.Load() != int64(limit) {
					t.Errorf("%d were let in, want %d", in.Load(), limit)
				}
				if w.let(a, w.theirs, 5, 0) != 5 {
					t.Error("another organization has to wait")
				}
				w.clock.Advance(19 * time.Second) // half a second is left
				if w.let(b, w.mine, 1, 1) != 0 {
					t.Error("it was let in before the minute was over")
				}
				w.clock.Advance(500 * time.Millisecond)
				if got := w.let(a, w.mine, 2*limit, 60) + w.let(b, w.mine, 2*limit, 60); got != limit {
					t.Errorf("%d got in, in the next minute, want %d", got, limit)
				}
			})
		})
	}
}

// Calls of tools are counted as requests are, and apart from them: neither takes anything from the other.
func TestProcessesShareTheCallsOfToolsOfAMinute(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.nodes(limits.Values{RequestsPerMinute: 6, ToolCallsPerMinute: 130})
		if got := w.let(a, w.mine, 10, 20); got != 6 {
			t.Fatalf("%d requests were let in, want 6", got)
		}
		var out atomic.Int64
		var all sync.WaitGroup
		for _, l := range []*limits.Limits{a, b, a, b} {
			all.Go(func() { out.Add(int64(w.count(l.ToolCall, w.mine, 130, 20))) })
		}
		all.Wait()
		if out.Load() != 130 {
			t.Errorf("%d calls went out, want 130", out.Load())
		}
		if w.count(b.ToolCall, w.theirs, 5, 0) != 5 {
			t.Error("another organization has to wait")
		}
		w.clock.Advance(20 * time.Second)
		if got := w.count(a.ToolCall, w.mine, 200, 60) + w.count(b.ToolCall, w.mine, 200, 60); got != 130 {
			t.Errorf("%d calls went out, in the next minute, want 130", got)
		}
		if got := w.let(b, w.mine, 10, 60); got != 6 {
			t.Errorf("%d requests were let in, in the next minute, want 6", got)
		}
		w.set(w.mine, map[string]any{"tool_calls_per_minute": 0})
		w.clock.Advance(2 * time.Second)
		if got := w.count(b.ToolCall, w.mine, 500, 0); got != 500 {
			t.Errorf("%d of any number went out", got)
		}
		w.set(w.mine, map[string]any{"tool_calls_per_minute": 3})
		w.clock.Advance(2*time.Second - time.Hour)
		if got := w.count(a.ToolCall, w.mine, 10, 56); got != 3 {
			t.Errorf("%d went out with a limit of 3 an hour earlier", got)
		}
	})
}

// A limit that is raised or lowered within a minute counts in it.
func TestTheLimitOfRequestsChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.nodes(limits.Values{RequestsPerMinute: 5})
		if got := w.let(a, w.mine, 10, 20); got != 5 {
			t.Fatalf("%d were let in", got)
		}
		w.set(w.mine, map[string]any{"requests_per_minute": 8})
		w.clock.Advance(2 * time.Second)
		if got := w.let(a, w.mine, 10, 18) + w.let(b, w.mine, 10, 18); got != 3 && got != 2 { // what a refusal had asked for is lost
			t.Errorf("%d more were let in, want 3", got)
		}
		w.set(w.mine, map[string]any{"requests_per_minute": 0})
		w.clock.Advance(2 * time.Second)
		if got := w.let(a, w.mine, 100, 0); got != 100 {
			t.Errorf("%d of any number were let in", got)
		}
		w.set(w.mine, map[string]any{"requests_per_minute": 2})
		w.clock.Advance(2 * time.Second)
		if got := w.let(b, w.mine, 10, 14); got > 2 {
			t.Errorf("%d were let in with a limit of 2", got)
		}
	})
}

// The clock is set back: what was let in of a minute that is to come again holds nobody up until then.
func TestTheClockIsSetBackBetweenRequests(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.nodes(limits.Values{RequestsPerMinute: 5})
		if got := w.let(a, w.mine, 10, 20); got != 5 {
			t.Fatalf("%d were let in", got)
		}
		w.clock.Advance(-time.Hour)
		if got := w.let(b, w.mine, 10, 20); got != 5 {
			t.Errorf("%d were let in an hour earlier, want 5", got)
		}
	})
}

// A database that hangs is asked for limits by one request at a time, and not by each of them.
func TestADatabaseThatHangsIsNotWaitedForAgain(t *testing.T) {
	c := &counter{table: "org_loads"}
	w := newWorld(t, storetest.Traced(t, c))
	l := w.node(limits.Values{Sessions: 3})
	err := w.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		if err := tx.Exec("LOCK TABLE org_loads IN ACCESS EXCLUSIVE MODE").Error; err != nil {
			return err
		}
		c.n.Store(0)
		for range 3 {
			if v := l.Of(t.Context(), w.mine); v.Sessions != 3 {
				t.Errorf("%+v", v)
			}
		}
		return nil
	})
	if n := c.n.Load(); err != nil || n != 1 {
		t.Errorf("%d statements, want 1: %v", n, err)
	}
}

// counter counts statements of a table.
type counter struct {
	table string
	n     atomic.Int64
}

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	if strings.Contains(d.SQL, c.table) {
		c.n.Add(1)
	}
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// What a limit costs doesn't grow with the requests.
func TestRequestsCostFiftyStatementsAMinute(t *testing.T) {
	c := &counter{table: "org_rates"}
	w := newWorld(t, storetest.Traced(t, c))
	l := w.node(limits.Values{RequestsPerMinute: 5000})
	if got := w.let(l, w.mine, 20_000, 20); got != 5000 {
		t.Errorf("%d were let in", got)
	}
	if n := c.n.Load(); n > 51 {
		t.Errorf("%d statements", n)
	}
}
