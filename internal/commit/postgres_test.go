package commit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// line is how a committer is connected to PostgreSQL in a test: what goes over it is counted, and replies can get lost.
type line struct {
	db *store.DB
	// loseReply makes the next reply disappear, and the connection with it, after the server has done its work.
	loseReply atomic.Bool
	writes    atomic.Int64

	mu         sync.Mutex
	statements []string
	// onError hears of statements that fail.
	onError func(sql string, err error)
	// onQuery hears of all statements of batches.
	onQuery func(sql string)
}

// newLine connects to the database that w has, by connections of its own.
func newLine(t testing.TB, w *world) *line {
	t.Helper()
	l := &line{}
	cfg := w.db.Commits.Config()
	cfg.ConnConfig.Tracer = l
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &tapped{c, l}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	l.db = &store.DB{Dialect: store.Postgres, Pool: pool, Commits: pool}
	return l
}

// over returns a committer on the line.
func (w *world) over(l *line) *Committer {
	return w.committer(func(cfg *Config) { cfg.DB, cfg.Flushers = l.db, 1 })
}

type tapped struct {
	net.Conn

	l *line
}

func (c *tapped) Write(b []byte) (int, error) {
	c.l.writes.Add(1)
	return c.Conn.Write(b)
}

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil || !c.l.loseReply.CompareAndSwap(true, false) {
		return n, err
	}
	// The server is done when it is ready for the next query, outside of a transaction.
	for got := bytes.Clone(b[:n]); !bytes.HasSuffix(got, []byte{'Z', 0, 0, 0, 5, 'I'}); {
		if n, err = c.Conn.Read(b); err != nil {
			return n, err
		}
		got = append(got, b[:n]...)
	}
	_ = c.Close()
	return 0, io.ErrUnexpectedEOF
}

func (l *line) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	l.note(d.SQL, nil)
	return ctx
}

func (l *line) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (l *line) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (l *line) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	l.note(d.SQL, d.Err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onQuery != nil {
		l.onQuery(d.SQL)
	}
}

func (l *line) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (l *line) note(sql string, err error) {
	l.mu.Lock()
	l.statements = append(l.statements, sql)
	heard := l.onError
	l.mu.Unlock()
	if err != nil && heard != nil {
		heard(sql, err)
	}
}

// begin forgets what was counted.
func (l *line) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statements = nil
	l.writes.Store(0)
}

// seen returns the statements and the messages to the server since begin.
func (l *line) seen() (statements []string, writes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.statements, l.writes.Load()
}

// A pooler need not pass on what connections begin with: then the settings go with each transaction.
func TestAPoolerThatDropsTheSettings(t *testing.T) {
	w := onPostgres(t)
	l := newLine(t, w)
	cfg := l.db.Commits.Config()
	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		delete(c.RuntimeParams, "options")
		return nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	l.db.Commits = pool
	c := w.over(l)
	if err := c.Submit(t.Context(), w.create(newID())); err != nil {
		t.Fatal(err)
	}
	s := w.session()
	l.begin()
	if err := c.Submit(t.Context(), w.send(s, newMessage())); err != nil {
		t.Fatal(err)
	}
	if all, _ := l.seen(); !slices.Contains(all, setLocally) {
		t.Errorf("no settings in\n%s", strings.Join(all, "\n"))
	}
}

func onPostgres(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newWorld(t, storetest.Postgres(t))
}

// hold locks a row in a transaction of its own until the function that it gives is called.
func (w *world) hold(statement string, args ...any) (release func()) {
	w.t.Helper()
	tx, err := w.db.Pool.Begin(context.Background())
	if err == nil {
		_, err = tx.Exec(context.Background(), statement, args...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(context.Background()); err != nil {
			w.t.Error(err)
		}
	}
}

// What another process holds, be it the session or its turn, is waited for, and nothing else waits with it.
func TestALockedSessionStopsNobodyElse(t *testing.T) {
	for name, lock := range map[string]string{
		"the session": "SELECT 1 FROM sessions WHERE id = $1 FOR NO KEY UPDATE",
		"its turn":    "SELECT 1 FROM turns WHERE session_id = $1 FOR NO KEY UPDATE",
	} {
		t.Run(name, func(t *testing.T) {
			w := onPostgres(t)
			l := newLine(t, w)
			held, _ := w.working()
			free, _ := w.working()
			c := w.over(l)
			timedOut := make(chan string, 100)
			l.onError = func(sql string, err error) {
				if isLockTimeout(err) {
					timedOut <- sql
				}
			}
			release := w.hold(lock, held[:])
			one, two := newMessage(), newMessage()
			first := submit(t.Context(), c, w.send(held, one))
			// Alone it waits at once. Then the other one comes, and then both have turns.
			if sql := <-timedOut; strings.Contains(sql, "SKIP LOCKED") {
				t.Errorf("a statement that waits nowhere timed out: %s", sql)
			}
			second := submit(t.Context(), c, w.send(held, two))
			for range 3 {
				for range maxSkips + 1 {
					if err := c.Submit(t.Context(), w.send(free, newMessage())); err != nil {
						t.Fatal(err)
					}
				}
				<-timedOut
			}
			release()
			if err := errors.Join(<-first, <-second); err != nil {
				t.Fatal(err)
			}
			list := rows[models.Message](w, held, "sequence")
			if len(list) != 3 || list[1].ID != one.id || list[2].ID != two.id {
				t.Errorf("the messages are %v", list)
			}
		})
	}
}

// A connection that dies in the middle of a transaction, whenever that is.
func TestAKilledConnection(t *testing.T) {
	w := onPostgres(t)
	for _, point := range []string{"loaded", "written"} {
		s, l := w.working()
		killed := false
		w.faults.set(func(at string) error {
			if at != point || killed {
				return nil
			}
			killed = true
			n, err := storetest.Exec(context.Background(), w.db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()`)
			if err != nil || n != 1 {
				t.Errorf("killed %d connections, %v", n, err)
			}
			return nil
		})
		must(t, batch(w.c, w.step(s, l), w.send(s, newMessage()), w.end(s, l)))
		if kinds := w.kinds(s); !killed || len(kinds) != 5 {
			t.Errorf("killed when %s: the events are %v", point, kinds)
		}
		w.checkPublished(s)
	}
}

// The reply to a commit gets lost on the wire.
func TestALostReply(t *testing.T) {
	w := onPostgres(t)
	l := newLine(t, w)
	c := w.over(l)
	for name, prepare := range map[string]func() (models.SessionID, Command, int){
		"create": func() (models.SessionID, Command, int) {
			s := models.NewID[models.SessionEntity]()
			return s, w.create(s), 1
		},
		"end": func() (models.SessionID, Command, int) { s, l := w.working(); return s, w.end(s, l), 3 },
	} {
		for range 2 { // with statements that are prepared first, and with such that are
			s, cmd, want := prepare()
			w.faults.set(func(at string) error {
				if at == "written" {
					w.faults.at = nil
					l.loseReply.Store(true)
				}
				return nil
			})
			if err := c.Submit(t.Context(), cmd); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if l.loseReply.Load() {
				t.Errorf("%s: no reply was lost", name)
			}
			if n := len(w.kinds(s)); n != want {
				t.Errorf("%s: there are %d events, want %d", name, n, want)
			}
			w.checkPublished(s)
		}
	}
}

// A transaction whose client is gone may be about to commit still: until it has ended there is no answer.
func TestTheOutcomeOfATransactionThatGoesOn(t *testing.T) {
	w := onPostgres(t)
	b := newPostgresBackend(w.db.Commits)
	for _, commit := range []bool{true, false} {
		s := models.NewID[models.SessionEntity]()
		bt, err := b.begin(t.Context(), batchNeed{wait: true})
		if err != nil {
			t.Fatal(err)
		}
		tx := bt.(*postgresTx)
		st := newState(key{w.org, s}, &loaded{})
		draft := st.draft(1, nil)
		if err := w.create(s).apply(draft); err != nil {
			t.Fatal(err)
		}
		st.merge(draft)
		marker := &insertEvent.of(&st.w)[0]
		if _, err := b.committed(t.Context(), tx.ticket(), marker); !errors.Is(err, errInProgress) {
			t.Errorf("before the end: %v", err)
		}
		if commit {
			steps, err := gather([]*state{st}, nil, newBudgetRows(), 1)
			if err == nil {
				err = tx.write(t.Context(), steps, nil, func() error { return nil })
			}
			if err != nil {
				t.Fatal(err)
			}
		} else {
			tx.rollback()
		}
		for _, e := range []*models.Event{marker, nil} {
			if got, err := b.committed(t.Context(), tx.ticket(), e); err != nil || got != commit {
				t.Errorf("after the end: %v, %v, want %v", got, err, commit)
			}
		}
	}
	// A server that took over may not know the transaction; then its events tell.
	if got, err := b.committed(t.Context(), "99999999999", &models.Event{OrgID: w.org}); err != nil || got {
		t.Errorf("an unknown transaction: %v, %v", got, err)
	}
}

// A process that is frozen in the middle of a transaction lets go of its locks after a while.
func TestAFrozenProcessLetsGo(t *testing.T) {
	w := onPostgres(t)
	s, l := w.working()
	g := newGate()
	w.faults.set(g.at("loaded"))
	frozen := submit(t.Context(), w.c, w.step(s, l))
	<-g.reached
	other := w.committer(nil)
	must(t, batch(other, w.send(s, newMessage())))
	w.exec("UPDATE turns SET lease_epoch = lease_epoch + 1 WHERE id = ?", l.ID[:])
	close(g.open)
	if err := <-frozen; !errors.Is(err, ErrLeaseLost) {
		t.Errorf("the frozen process: %v", err)
	}
	if n := len(w.kinds(s)); n != 3 {
		t.Errorf("there are %d events", n)
	}
}

// Two processes get the same request at the same time: one of them does it, and both give the same answer.
//
// Rules: D9.
func TestARequestIsRacedByTwoProcesses(t *testing.T) {
	w := onPostgres(t)
	for _, stale := range []bool{false, true} {
		a, b := newMessage(), newMessage()
		one, two := w.session(), w.session()
		if stale {
			w.do(w.answered(one, "stale", newMessage(), models.MillisOf(w.clock.Now())))
		}
		var both sync.WaitGroup
		both.Add(2)
		meet := func(cfg *Config) {
			first := true
			cfg.Flushers = 1
			cfg.Faults = &faults{at: func(point string) error {
				if point == "loaded" && first {
					first = false
					both.Done()
					both.Wait()
				}
				return nil
			}}
		}
		k := map[bool]string{false: "fresh", true: "stale"}[stale]
		first := submit(t.Context(), w.committer(meet), w.answered(one, k, a, never))
		second := submit(t.Context(), w.committer(meet), w.answered(two, k, b, never))
		if err := errors.Join(<-first, <-second); err != nil {
			t.Fatal(err)
		}
		if a.id != b.id {
			t.Errorf("%s: the answers are %s and %s", k, a.id, b.id)
		}
	}
}
