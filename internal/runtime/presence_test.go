package runtime

import (
	"context"
	"io"
	"net"
	"net/url"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// lockWorld is a world on PostgreSQL, and its database's URL.
func lockWorld(t *testing.T) (*world, string) {
	t.Helper()
	at := storetest.PostgresURL(t)
	db, err := store.Open(t.Context(), store.Config{URL: at})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return newWorld(t, db), at
}

// watcher returns a runner that does nothing but look, when it is told to, and what it knows: a server that was there all the time.
func (w *world) watcher(at string) (*node, *watch) {
	w.t.Helper()
	n := w.newNode(w.locked(at))
	if err := n.engine.register(w.t.Context(), n.engine.runnerID()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(n.engine.cfg.Presence.Drop)
	return n, w.calm(n)
}

func (w *world) calm(n *node) *watch {
	w.t.Helper()
	sight, err := n.engine.cfg.Presence.Look(w.t.Context())
	if err != nil || !sight.Sure {
		w.t.Fatalf("it sees %+v, %v", sight, err)
	}
	known := newWatch()
	known.server = sight.ServerStart
	return known
}

// locked adds a lock to a node, which others look at all the time. Nothing is found out by its heartbeat.
func (w *world) locked(at string) nodeOption {
	return func(c *Config) {
		c.Presence, c.Look = queue.NewPresence(w.db, at), time.Millisecond
	}
}

// eventually waits for a condition that no commit announces.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for begun := time.Now(); !holds(); runtime.Gosched() {
		if time.Since(begun) > patience {
			w.t.Fatalf("waited in vain: %s\n%s", what, w.state())
		}
	}
}

// crash is what others see of a process that is killed: it does nothing any more, and the kernel closes its connections.
func (n *node) crash() {
	n.engine.stopClaims()
	n.engine.stopLive()
	n.engine.loops.Wait()
	n.engine.cfg.Presence.Drop()
}

// seen is what another process sees of the runners.
func (w *world) seen() []queue.Seen {
	w.t.Helper()
	s, err := queue.NewPresence(w.db, "").Look(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Runners
}

// TestADeathIsSeenByItsLock kills a runner amid a turn, whose heartbeat is good for an hour yet. Nobody polls: the turn is announced.
//
// Rules: Q7.
func TestADeathIsSeenByItsLock(t *testing.T) {
	t.Parallel()
	w, at := lockWorld(t)
	hourly := func(c *Config) { c.PollInterval = time.Hour }
	first := w.start(w.locked(at), hourly)
	s := w.newSession(first)
	g := first.puppet.add()
	first.asking(map[int]*gate{1: g})
	turn := first.send(s, "hello")
	<-g.arrived
	second := w.start(hourly)
	second.puppet.on(echoing)
	observer, known := w.watcher(at)
	observer.engine.observe(t.Context(), known)
	if got := w.runners(); len(got) != 3 {
		t.Fatalf("of three living runners %v are on the list", got)
	}
	first.crash()
	w.eventually("the dead one is off the list", func() bool {
		observer.engine.observe(t.Context(), known)
		return len(w.runners()) == 2
	})
	log := w.idle(s)
	the[events.TurnCompleted](t, log)
	if row := w.turn(turn); row.Recoveries != 1 || count(log, models.EventReasonRecovered) != 1 {
		t.Errorf("the turn was done as %+v", row)
	}
}

// TestALostLockIsTakenAgain ends the connection of a runner's lock. Nobody was there to see it: the runner goes on as if nothing had been,
// and its turn isn't disturbed.
//
// Rules: Q9.
func TestALostLockIsTakenAgain(t *testing.T) {
	t.Parallel()
	w, at := lockWorld(t)
	n := w.start(w.locked(at))
	s := w.newSession(n)
	g := n.puppet.add()
	n.asking(map[int]*gate{1: g})
	turn := n.send(s, script(t, says(text("one"))))
	<-g.arrived
	id := n.engine.runnerID()
	pids := `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	var pid int
	if err := w.db.Pool.QueryRow(t.Context(), pids).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.Exec(t.Context(), w.db, "SELECT pg_terminate_backend(?)", pid); err != nil {
		t.Fatal(err)
	}
	w.eventually("another connection has the lock", func() bool {
		var now int
		err := w.db.Pool.QueryRow(t.Context(), pids).Scan(&now)
		return err == nil && now != pid
	})
	g.open()
	the[events.TurnCompleted](t, w.idle(s))
	if row := w.turn(turn); row.Takeovers != 0 || row.Recoveries != 0 || len(n.puppet.requests()) != 1 || n.engine.runnerID() != id {
		t.Errorf("the turn was done as %+v, by %s, which was %s", row, n.engine.runnerID(), id)
	}
}

// TestWithoutItsLockARunnerStartsOver cuts the way to the lock, while the one of all else is open. After a lease the runner gives its turn
// up, which counts as nothing, and goes on under a new id without a lock; when the way is free it takes one again.
//
// Rules: Q9.
func TestWithoutItsLockARunnerStartsOver(t *testing.T) {
	t.Parallel()
	w, at := lockWorld(t)
	way := newWay(t, at)
	n := w.start(w.locked(way.url), func(c *Config) { c.Lease = 300 * time.Millisecond })
	s := w.newSession(n)
	g := n.puppet.add()
	n.asking(map[int]*gate{1: g})
	turn := n.send(s, script(t, says(text("one"))))
	<-g.arrived
	held := func() bool {
		got := w.seen()
		return len(got) == 1 && got[0].Keyed && got[0].Held
	}
	// On a slow machine it may have given up the first time.
	w.eventually("the runner has a lock", held)
	id := n.engine.runnerID()
	way.shut(true)
	w.eventually("the runner has a new id", func() bool { return n.engine.runnerID() != id })
	the[events.TurnCompleted](t, w.idle(s))
	if row := w.turn(turn); row.Takeovers != 0 || row.Recoveries != 0 {
		t.Errorf("the turn was done as %+v", row)
	}
	if got := w.seen(); len(got) != 1 || got[0].Keyed || got[0].ID != n.engine.runnerID() {
		t.Errorf("without a lock the runner is seen as %+v", got)
	}
	way.shut(false)
	w.eventually("the runner has a lock again", held)
}

// TestALockThatIsNotThereProvesLittleAfterARestart has an observer see a runner without its lock: one that has just lost its own lock,
// or found the server restarted, leaves it to the heartbeat; so does one that looks without a lock; any other declares it dead.
//
// Rules: Q8.
func TestALockThatIsNotThereProvesLittleAfterARestart(t *testing.T) {
	t.Parallel()
	w, at := lockWorld(t)
	n, calm := w.watcher(at)
	key := int64(7)
	dead := models.Runner{ID: models.NewID[models.RunnerEntity](), LockKey: &key}
	if err := w.queue.Register(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	listed := func() bool { return len(w.runners()) == 2 }
	shaken := w.calm(n)
	shaken.shake(time.Now())
	n.engine.observe(t.Context(), shaken)
	restarted := newWatch()
	restarted.server = time.Now()
	n.engine.observe(t.Context(), restarted)
	if restarted.shaken.IsZero() {
		t.Error("another start of the server went unnoticed")
	}
	n.engine.cfg.Presence.Drop()
	n.engine.observe(t.Context(), newWatch())
	if !listed() {
		t.Fatal("the runner was declared dead for a lock that proved nothing")
	}
	if _, err := n.engine.enter(t.Context(), n.engine.runnerID()); err != nil {
		t.Fatal(err)
	}
	n.engine.observe(t.Context(), calm)
	if listed() {
		t.Error("the runner lives on without its lock")
	}
}

// TestTheWatchKnowsRestarts tells a server that has just started from one that was there all the time, and from another one in its place.
//
// Rules: Q8.
func TestTheWatchKnowsRestarts(t *testing.T) {
	t.Parallel()
	now, lease := time.Unix(1000, 0), 6*time.Second
	old, young := time.Unix(1, 0), time.Unix(2, 0)
	for _, c := range []struct {
		name   string
		before time.Time
		sight  queue.Sight
		news   bool
		shaken time.Time
	}{
		{"SQLite", time.Time{}, queue.Sight{}, false, time.Time{}},
		{"first seen, long up", time.Time{}, queue.Sight{ServerStart: old, ServerAge: lease}, false, time.Time{}},
		{"first seen, just up", time.Time{}, queue.Sight{ServerStart: old, ServerAge: 2 * time.Second}, true, now.Add(-2 * time.Second)},
		{"first seen, its clock was set back", time.Time{}, queue.Sight{ServerStart: old, ServerAge: -time.Hour}, true, now},
		{"the same", old, queue.Sight{ServerStart: old, ServerAge: time.Second}, false, time.Time{}},
		{"restarted", old, queue.Sight{ServerStart: young, ServerAge: time.Second}, true, now},
		{"another one, long up", young, queue.Sight{ServerStart: old, ServerAge: time.Hour}, true, now},
	} {
		w := newWatch()
		w.server = c.before
		if news := w.restarted(c.sight, now, lease); news != c.news || !w.shaken.Equal(c.shaken) {
			t.Errorf("%s: news %v, shaken at %v; want %v, %v", c.name, news, w.shaken, c.news, c.shaken)
		}
		c.sight.Sure = true
		if trusted := w.trusts(c.sight, now, lease); trusted != !c.news {
			t.Errorf("%s: a lock that is not there is trusted: %v", c.name, trusted)
		}
		if !w.trusts(c.sight, now.Add(lease), lease) {
			t.Errorf("%s: after a lease it is not trusted yet", c.name)
		}
	}
}

// way is a way to a server that can be shut.
type way struct {
	url string

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func newWay(t *testing.T, at string) *way {
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
	u.Host = l.Addr().String()
	w := &way{url: u.String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			back, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", server)
			if err != nil || !w.add(client, back) {
				_ = client.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{client, back}, {back, client}} {
				all.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.shut(true)
		all.Wait()
	})
	return w
}

func (w *way) add(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		_ = conns[1].Close()
		return false
	}
	w.conns = append(w.conns, conns...)
	return true
}

// shut ends all connections and lets no new ones through; or does again.
func (w *way) shut(closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = closed
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}
