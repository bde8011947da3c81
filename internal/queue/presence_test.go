package queue

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// openPostgres opens a database of its own, and returns its URL.
func openPostgres(t *testing.T) (*store.DB, string) {
	t.Helper()
	at := storetest.PostgresURL(t)
	db, err := store.Open(t.Context(), store.Config{URL: at})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, at
}

func newPresence(t *testing.T, db *store.DB, at string) *Presence {
	t.Helper()
	p := NewPresence(db, at)
	t.Cleanup(p.Drop)
	return p
}

// listed puts a runner on the list, with its lock.
func listed(t *testing.T, q *Queue, p *Presence) models.RunnerID {
	t.Helper()
	id := models.NewID[models.RunnerEntity]()
	key, err := p.Enter(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Register(t.Context(), models.Runner{ID: id, Host: "h", LockKey: &key}); err != nil {
		t.Fatal(err)
	}
	return id
}

func seen(t *testing.T, p *Presence, id models.RunnerID) Seen {
	t.Helper()
	s, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Runners {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("runner %s is not on the list", id)
	return Seen{}
}

// untilGone looks until the lock of a runner is not held any more: the server gives it back a moment after its connection ends.
func untilGone(t *testing.T, p *Presence, id models.RunnerID) {
	t.Helper()
	for seen(t, p, id).Held {
		if t.Context().Err() != nil {
			t.Fatal("the lock stays")
		}
	}
}

// terminate ends the connection that holds a runner's lock, on the server.
func terminate(t *testing.T, db *store.DB, id models.RunnerID) {
	t.Helper()
	var n int
	err := db.Pool.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND classid = $1 AND objid = $2
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, presenceClass, keyOf(id)).Scan(&n)
	if err != nil || n != 1 {
		t.Fatalf("%d connections were ended, %v", n, err)
	}
}

// The lock of a runner is seen as long as its connection lives, and by nobody any more when that has ended, from whichever side.
//
// Rules: Q7.
func TestALockTellsWhoLives(t *testing.T) {
	t.Parallel()
	db, at := openPostgres(t)
	q := New(db, Turns())
	mine, other := newPresence(t, db, at), newPresence(t, db, at)
	me, him := listed(t, q, mine), listed(t, q, other)
	old := models.Runner{ID: models.NewID[models.RunnerEntity](), Host: "an older version"}
	if err := q.Register(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if r := seen(t, mine, him); !r.Keyed || !r.Held {
		t.Errorf("a living runner is seen as %+v", r)
	}
	if r := seen(t, other, me); !r.Keyed || !r.Held {
		t.Errorf("a living runner is seen as %+v", r)
	}
	if r := seen(t, mine, old.ID); r.Keyed || r.Held {
		t.Errorf("one without a lock is seen as %+v", r)
	}
	// A process that dies closes its sockets without a word.
	other.mu.Lock()
	if err := other.conn.PgConn().Conn().Close(); err != nil {
		t.Fatal(err)
	}
	other.mu.Unlock()
	untilGone(t, mine, him)
	// Whoever looks without a lock of its own sees as much, but must not be sure.
	mine.Drop()
	mine.Drop()
	s, err := mine.Look(t.Context())
	if err != nil || s.Sure || s.ServerStart.IsZero() {
		t.Errorf("without a connection of its own it sees %+v, %v", s, err)
	}
	if key, err := mine.Enter(t.Context(), me); err != nil || key != keyOf(me) {
		t.Fatalf("the lock can't be taken again: %v", err)
	}
	if s, err = mine.Look(t.Context()); err != nil || !s.Sure || s.ServerAge <= 0 {
		t.Errorf("with a connection it sees %+v, %v", s, err)
	}
}

// Who waits hears at once that its connection has ended.
//
// Rules: Q9.
func TestALostConnectionEndsTheWait(t *testing.T) {
	t.Parallel()
	db, at := openPostgres(t)
	p := newPresence(t, db, at)
	id := listed(t, New(db), p)
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		p.Wait(t.Context(), time.Hour)
	}()
	terminate(t, db, id)
	<-waited
	if p.Holds() {
		t.Error("a lock is held without a connection")
	}
	// Waiting leaves the connection as it was.
	if _, err := p.Enter(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	p.Wait(t.Context(), time.Millisecond)
	if r := seen(t, p, id); !r.Held || !p.Holds() {
		t.Errorf("after a wait the runner is seen as %+v", r)
	}
}

// With a new id the old lock goes.
//
// Rules: Q9.
func TestANewIDHasANewLock(t *testing.T) {
	t.Parallel()
	db, at := openPostgres(t)
	q := New(db, Turns())
	p := newPresence(t, db, at)
	before, after := listed(t, q, p), listed(t, q, p)
	if seen(t, p, before).Held || !seen(t, p, after).Held {
		t.Errorf("the locks are %+v and %+v", seen(t, p, before), seen(t, p, after))
	}
}

// What would tell others nothing is not relied on: a lock in another database, and one that belongs to a pooler.
//
// Rules: Q9.
func TestALockMustProveSomething(t *testing.T) {
	t.Parallel()
	db, at := openPostgres(t)
	_, elsewhere := openPostgres(t)
	for name, url := range map[string]string{"another database": elsewhere, "a pooler": pooler(t, at)} {
		p := newPresence(t, db, url)
		if _, err := p.Enter(t.Context(), models.NewID[models.RunnerEntity]()); !errors.Is(err, ErrUnproven) {
			t.Errorf("%s: %v", name, err)
		}
		if p.Holds() {
			t.Errorf("%s: something is held", name)
		}
		if s, err := p.Look(t.Context()); err != nil || s.Sure {
			t.Errorf("%s: it sees %+v, %v", name, s, err)
		}
	}
	p := newPresence(t, db, "postgres://127.0.0.1:1/nothing")
	if _, err := p.Enter(t.Context(), models.NewID[models.RunnerEntity]()); err == nil || errors.Is(err, ErrUnproven) {
		t.Errorf("where nobody listens: %v", err)
	}
}

// pooler returns a way to a server on which, as poolers do, clients are told another process id than the server's.
func pooler(t *testing.T, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { relay(t, client, server) })
		}
	})
	u.Host = l.Addr().String()
	return u.String()
}

func relay(t *testing.T, client net.Conn, server string) {
	back, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", server)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = back.Close() }()
	go func() {
		_, _ = io.Copy(back, client)
		_ = back.Close()
	}()
	defer func() { _ = client.Close() }()
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(back, head); err != nil {
			return
		}
		body := make([]byte, int(head[1])<<24|int(head[2])<<16|int(head[3])<<8|int(head[4])-4)
		if _, err := io.ReadFull(back, body); err != nil {
			return
		}
		if head[0] == 'K' {
			body[3] ^= 1
		}
		if _, err := client.Write(slices.Concat(head, body)); err != nil {
			return
		}
	}
}

// Takeovers that follow from a restart of the database count as recoveries, and not towards giving it up.
//
// Rules: Q12.
func TestTakeoversAreForgiven(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 1)
		id := l.executions[0]
		r := l.runner()
		l.Forgive(time.Now().Add(time.Hour))
		queued := l.claim(r, 1)[0].Since
		if _, err := l.TakeOver(l.ctx, r); err != nil {
			t.Fatal(err)
		}
		l.free("forgiven", id, queued, 2, 0, 1)
		r = l.runner()
		if err := l.Retry(l.ctx, l.claim(r, 1)[0].Held); err != nil {
			t.Fatal(err)
		}
		l.free("forgiven, and tried again", id, queued, 4, 0, 1)
		l.Forgive(time.Now())
		l.claim(r, 1)
		if _, err := l.TakeOver(l.ctx, r); err != nil {
			t.Fatal(err)
		}
		l.free("afterwards", id, queued, 6, 1, 2)
	})
}
