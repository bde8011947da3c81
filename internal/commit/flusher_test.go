package commit

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// gate stops a batch at a point until it is opened.
type gate struct{ reached, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

// at stops the first batch that comes to the point.
func (g *gate) at(point string) func(string) error {
	var passed atomic.Bool
	return func(at string) error {
		if at == point && !passed.Swap(true) {
			close(g.reached)
			<-g.open
		}
		return nil
	}
}

// queued waits until so many commands are in the queues.
func queued(c *Committer, n int) {
	for {
		have := 0
		for _, f := range c.flushers {
			f.mu.Lock()
			have += len(f.queue)
			f.mu.Unlock()
		}
		if have == n {
			return
		}
		runtime.Gosched()
	}
}

func submit(ctx context.Context, c *Committer, cmd Command) <-chan error {
	done := make(chan error, 1)
	go func() { done <- c.Submit(ctx, cmd) }()
	return done
}

func TestACommandIsWithdrawnWhileAnotherBatchIsStuck(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		g := newGate()
		w.faults.set(g.at("loaded"))
		ctx, cancel := context.WithCancel(t.Context())
		first := submit(ctx, w.c, w.step(s, l))
		<-g.reached
		second := submit(ctx, w.c, w.end(s, l))
		queued(w.c, 1)
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("the waiting command: %v", err)
		}
		close(g.open)
		if err := <-first; err != nil {
			t.Errorf("the command whose transaction had begun: %v", err)
		}
		if turn := w.readTurn(models.TurnID(l.ID)); turn.Status != models.TurnRunning {
			t.Errorf("the turn is %s", turn.Status)
		}
	})
}

func TestACommandIsWithdrawnBetweenAttempts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		ctx, cancel := context.WithCancel(t.Context())
		tries := 0
		w.faults.set(func(point string) error {
			if point != "written" {
				return nil
			}
			if tries++; tries == 2 {
				cancel()
			}
			return errors.New("injected")
		})
		if err := <-submit(ctx, w.c, w.send(s, newMessage())); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := w.c.Submit(ctx, w.send(s, newMessage())); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
		w.faults.set(nil)
		w.do(w.send(s, newMessage()))
		if n := len(rows[models.Message](w, s, "sequence")); n != 1 {
			t.Errorf("there are %d messages", n)
		}
	})
}

func TestStopCommitsWhatWasSubmittedAndRefusesTheRest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		g := newGate()
		w.faults.set(g.at("begin"))
		var answers []<-chan error
		answers = append(answers, submit(t.Context(), w.c, w.send(s, newMessage())))
		<-g.reached
		for range 5 {
			answers = append(answers, submit(t.Context(), w.c, w.send(s, newMessage())))
		}
		queued(w.c, 5)
		stopped := make(chan struct{})
		for range 2 {
			go func() {
				w.c.Stop()
				stopped <- struct{}{}
			}()
		}
		refused := func() bool {
			for _, f := range w.c.flushers {
				f.mu.Lock()
				stopped := f.stopped
				f.mu.Unlock()
				if !stopped {
					return false
				}
			}
			return true
		}
		for !refused() {
			runtime.Gosched()
		}
		if err := w.c.Submit(t.Context(), w.send(s, newMessage())); !errors.Is(err, ErrStopped) {
			t.Errorf("a late command: %v", err)
		}
		close(g.open)
		for i, a := range answers {
			if err := <-a; err != nil {
				t.Errorf("command %d: %v", i, err)
			}
		}
		<-stopped
		<-stopped
		if n := len(rows[models.Message](w, s, "sequence")); n != 6 {
			t.Errorf("there are %d messages", n)
		}
	})
}

func TestStopGivesUpOnADatabaseThatIsGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, point := range []string{"begin", "loaded", "written"} {
			w.faults.set(nil)
			s := w.session()
			c := w.committer(func(cfg *Config) { cfg.StopGrace = time.Millisecond })
			failed := make(chan struct{}, 100)
			w.faults.set(func(at string) error {
				if at != point {
					return nil
				}
				select {
				case failed <- struct{}{}:
				default:
				}
				return errors.New("the database is gone")
			})
			one, two := submit(t.Context(), c, w.send(s, newMessage())), submit(t.Context(), c, w.send(s, newMessage()))
			<-failed
			c.Stop()
			for _, a := range []<-chan error{one, two} {
				if err := <-a; !errors.Is(err, ErrStopped) {
					t.Errorf("at %s: %v", point, err)
				}
			}
			if n := len(rows[models.Message](w, s, "sequence")); n != 0 {
				t.Errorf("at %s: there are %d messages", point, n)
			}
		}
	})
}

// Not parallel: it looks at all goroutines.
func TestStopLeavesNothingBehind(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		s := w.session() // the database's own goroutines are there now
		before := goleak.IgnoreCurrent()
		for range 3 {
			c := w.committer(nil)
			must(t, batch(c, w.send(s, newMessage()), w.send(s, newMessage())))
			c.Stop()
			c.Stop()
		}
		goleak.VerifyNone(t, before)
	})
}

// bad are commands that only the database can refuse, or that don't get that far.
func (w *world) bad(s models.SessionID) map[string]*cmd {
	_, l := w.working()
	taken := rows[models.Message](w, w.readTurn(models.TurnID(l.ID)).SessionID, "sequence")[0].ID
	with := func(change func(m *models.Message)) *cmd {
		return w.command(s, func(tx *Tx) error {
			if tx.Session == nil {
				return errRefused
			}
			m := models.Message{ID: models.NewID[models.MessageEntity](), TurnID: models.TurnID(l.ID), Content: []models.Part{}, CreatedAt: tx.Now}
			m.Sequence = tx.Emit(nil, events.SessionActivated{})
			change(&m)
			tx.AddMessage(m)
			return nil
		})
	}
	list := map[string]*cmd{
		"a duplicate id":      with(func(m *models.Message) { m.ID = taken }),
		"a missing reference": with(func(m *models.Message) { m.TurnID = models.NewID[models.TurnEntity]() }),
		"broken JSON": with(func(m *models.Message) {
			m.Content = []models.Part{{Type: models.PartToolCall, Arguments: models.JSON("{")}}
		}),
		"a panic": w.command(s, func(*Tx) error { panic("oh") }),
	}
	if w.db.Pool != nil {
		list["a NUL"] = with(func(m *models.Message) { m.Role = "a\x00b" })
		list["invalid UTF-8"] = with(func(m *models.Message) { m.Role = "a\xffb" })
		list["a key that is too large"] = w.command(s, func(tx *Tx) error {
			var path strings.Builder
			for range 200 { // random, so that it can't be compressed
				path.WriteString(models.NewID[models.EventEntity]().String())
			}
			tx.PutFile(models.SessionFile{Path: path.String(), Directory: true}, nil)
			return nil
		})
	}
	return list
}

func TestABadCommandFailsAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		bad := w.bad(s)
		var cmds []Command
		var names []string
		for name, c := range bad {
			cmds = append(cmds, w.send(s, newMessage()), c)
			names = append(names, "", name)
		}
		cmds, names = append(cmds, w.send(s, newMessage())), append(names, "")
		for i, err := range batch(w.c, cmds...) {
			switch {
			case names[i] == "" && err != nil:
				t.Errorf("a good command: %v", err)
			case names[i] == "a panic" && err == nil:
				t.Error("a panic went unnoticed")
			case names[i] != "" && names[i] != "a panic" && !errors.Is(err, ErrRefused):
				t.Errorf("%s: %v", names[i], err)
			}
		}
		if n, want := len(w.kinds(s)), 1+len(bad)+1; n != want {
			t.Errorf("there are %d events, want %d", n, want)
		}
		if n := len(rows[models.Message](w, s, "sequence")); n != len(bad)+1 {
			t.Errorf("there are %d messages, want %d", n, len(bad)+1)
		}
		w.checkPublished(s)
	})
}

// checkPublished compares what was published of a session with its log.
func (w *world) checkPublished(s models.SessionID) {
	w.t.Helper()
	w.checkPublishedOf(w.org, s)
}

func (w *world) checkPublishedOf(org models.OrgID, s models.SessionID) {
	w.t.Helper()
	log := w.log(org, s)
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.published[s]
	if len(got) != len(log) {
		w.t.Fatalf("%d events of session %s were published, %d committed", len(got), s, len(log))
	}
	for i := range log {
		if got[i].ID != log[i].ID || got[i].Sequence != log[i].Sequence {
			w.t.Fatalf("event %d of session %s was published as %d", log[i].Sequence, s, got[i].Sequence)
		}
		if p, q := got[i].FeedPosition, log[i].FeedPosition; (p == nil) != (q == nil) || p != nil && *p != *q {
			w.t.Fatalf("%s %d of session %s was published with another position than it has", log[i].Kind, log[i].Sequence, s)
		}
	}
}

// Every kind of command, broken off at every point, is committed once.
//
// Rules: L1.
func TestWhatBreaksOffIsCommittedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		kinds := map[string]func() (models.SessionID, Command, int){
			"create": func() (models.SessionID, Command, int) {
				s := models.NewID[models.SessionEntity]()
				return s, w.create(s), 1
			},
			"send": func() (models.SessionID, Command, int) { s := w.session(); return s, w.send(s, newMessage()), 2 },
			"step": func() (models.SessionID, Command, int) { s, l := w.working(); return s, w.step(s, l), 3 },
			"end":  func() (models.SessionID, Command, int) { s, l := w.working(); return s, w.end(s, l), 3 },
			"no event": func() (models.SessionID, Command, int) {
				s, l := w.working()
				return s, w.command(s, func(tx *Tx) error { tx.Turn.Iteration = 4; return nil }).under(l), 2
			},
		}
		for name, prepare := range kinds {
			for _, point := range []string{"begin", "loaded", "written", "committed"} {
				w.faults.set(nil)
				s, c, want := prepare()
				w.faults.set(once(point))
				if err := w.c.Submit(t.Context(), c); err != nil {
					t.Errorf("%s at %s: %v", name, point, err)
				}
				if n := len(w.kinds(s)); n != want {
					t.Errorf("%s at %s: there are %d events, want %d", name, point, n, want)
				}
				w.checkPublished(s)
			}
		}
	})
}

// answered is a command under an idempotency key: it sends a message, or gives the one that was sent before.
func (w *world) answered(s models.SessionID, key string, m *message, until models.Millis) *cmd {
	c := w.send(s, m).key(key)
	c.apply = func(tx *Tx) error {
		if tx.Known != nil && tx.Known.ExpiresAt > tx.Now {
			return json.Unmarshal(tx.Known.Result, &m.id)
		}
		if err := m.accept(tx); err != nil {
			return err
		}
		tx.Remember(*c.needs.Idempotency, []byte("hash"), m.id, until)
		return nil
	}
	return c
}

const never = models.Millis(1 << 50)

// Rules: D9.
func TestARepeatedRequestIsAnsweredOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, other := w.session(), w.session()
		a, b, c := newMessage(), newMessage(), newMessage()
		must(t, batch(w.c, w.answered(s, "k", a, never), w.answered(s, "k", b, never)))
		w.do(w.answered(other, "k", c, never))
		if a.id != b.id || a.id != c.id {
			t.Errorf("the answers are %s, %s, %s", a.id, b.id, c.id)
		}
		if n := len(rows[models.Message](w, s, "sequence")) + len(rows[models.Message](w, other, "sequence")); n != 1 {
			t.Errorf("there are %d messages", n)
		}
	})
}

// Rules: D9.
func TestAKeyIsNewAgainAfterItsTime(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		a, b, c := newMessage(), newMessage(), newMessage()
		w.do(w.answered(s, "k", a, models.MillisOf(w.clock.Now())+10))
		w.clock.Advance(10 * time.Millisecond)
		must(t, batch(w.c, w.answered(s, "k", b, never), w.answered(s, "k", c, never)))
		if a.id == b.id || b.id != c.id {
			t.Errorf("the answers are %s, %s, %s", a.id, b.id, c.id)
		}
		if n := len(rows[models.Message](w, s, "sequence")); n != 2 {
			t.Errorf("there are %d messages", n)
		}
	})
}

// A command that names the session of another organization sees none, even in one batch with the owner's.
func TestForeignSessionsAreNotSeen(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		stranger, _ := seedOrg(t, w.db)
		send, step := w.send(s, newMessage()), w.step(s, l)
		send.needs.Org, step.needs.Org = stranger, stranger
		errs := batch(w.c, w.send(s, newMessage()), send, step, w.step(s, l))
		for i, want := range []error{nil, errRefused, ErrLeaseLost, nil} {
			if !errors.Is(errs[i], want) {
				t.Errorf("command %d: %v, want %v", i, errs[i], want)
			}
		}
	})
}

// A session that names a turn which doesn't exist is refused, and doesn't stop the others.
func TestABrokenSessionDoesNotStopTheOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, good := w.session(), w.session()
		ghost := models.NewID[models.TurnEntity]()
		w.exec("UPDATE sessions SET current_turn_id = ? WHERE id = ?", ghost[:], s[:])
		errs := batch(w.c, w.send(s, newMessage()), w.send(good, newMessage()))
		if !errors.Is(errs[0], ErrRefused) || errs[1] != nil {
			t.Errorf("got %v", errs)
		}
	})
}
