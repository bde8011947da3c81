package commit

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

var errFull = errors.New("there is no room")

// within makes a command ask for room before it does anything.
func (c *cmd) within(sessions, turns int) *cmd {
	do := c.apply
	c.apply = func(tx *Tx) error {
		if tx.SessionsFull(sessions) || tx.TurnsFull(turns) {
			return errFull
		}
		return do(tx)
	}
	return c
}

// behind is a message that makes a turn of its own.
func (w *world) behind(s models.SessionID) *cmd {
	m := newMessage()
	m.queue = true
	return w.send(s, m)
}

// keepWaiting makes a batch fail that is tried again and again.
func (w *world) keepWaiting() {
	var transactions atomic.Int64
	w.faults.set(func(point string) error {
		if point != "begin" || transactions.Add(1) < 30 {
			return nil
		}
		w.c.refuse()
		return errors.New("a batch is tried for the 30th time")
	})
}

// refuse ends all patience with what is being tried.
func (c *Committer) refuse() {
	for _, f := range c.flushers {
		f.cancel()
	}
}

// Commands that ask for different room share a batch: what stops a turn may use more than what waits behind it, and limits change.
func TestCommandsWithDifferentLimitsShareABatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.session(), w.session()
		w.keepWaiting()
		errs := batch(w.c, w.behind(a).within(0, 1), w.behind(b).within(0, 2), w.behind(a).within(0, 2), w.behind(b).within(0, 1))
		for i, want := range []error{nil, nil, errFull, errFull} {
			if !errors.Is(errs[i], want) {
				t.Errorf("command %d: %v, want %v", i, errs[i], want)
			}
		}
		if errs := batch(w.c, w.create(models.NewID[models.SessionEntity]()).within(3, 0), w.create(models.NewID[models.SessionEntity]()).within(4, 0)); errs[0] != nil || errs[1] != nil {
			t.Errorf("sessions: %v", errs)
		}
	})
}

// A fork asks in the name of the session that it comes from, which it leaves alone. What another process, or this one long ago, has made
// counts nevertheless.
func TestAForkIsWithinTheCap(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		origin := w.session()
		w.session()
		w.clock.Advance(time.Minute)
		for range 3 {
			if err := w.c.Submit(t.Context(), w.fork(origin, models.NewID[models.SessionEntity](), 0).within(2, 0)); !errors.Is(err, errFull) {
				t.Errorf("the fork that is one too many: %v", err)
			}
			w.clock.Advance(time.Minute)
		}
		if err := w.c.Submit(t.Context(), w.fork(origin, models.NewID[models.SessionEntity](), 0).within(3, 0)); err != nil {
			t.Errorf("with room: %v", err)
		}
	})
}

// The clock is set back: what was read before is not believed until it comes again.
func TestTheClockIsSetBackBetweenCommands(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.session()
		w.do(w.behind(a).within(0, 1))
		err := w.committer(nil).Submit(t.Context(), w.command(a, func(tx *Tx) error {
			tx.Turn.StartedAt = tx.Now.Ptr()
			tx.Emit(&tx.Turn.ID, events.ReasonStarted{Iteration: 1})
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(-time.Hour)
		w.do(w.behind(a).within(0, 1))
	})
}

// capTrial counts as somebody would who sees one command after the other.
type capTrial struct {
	*world

	rt       *rapid.T
	sessions []models.SessionID
	have     int
	// line are the turns that have not ended, the first one of each session being the current one, and tells of each whether it has begun.
	line map[models.SessionID][]bool
	cmds []*capCommand
}

// capCommand notes when it was decided, in the end: commands are put off and tried again. tell gives what the answer must be then.
type capCommand struct {
	*cmd

	decided *int
	at      int
	tell    func() error
}

func (c *capCommand) Apply(tx *Tx) error {
	*c.decided++
	c.at = *c.decided
	return c.cmd.Apply(tx)
}

func (tr *capTrial) waiting() (n int) {
	for _, line := range tr.line {
		for _, begun := range line {
			if !begun {
				n++
			}
		}
	}
	return n
}

// command draws a command and what it must do.
func (tr *capTrial) command() (*cmd, func() error) {
	limit := rapid.IntRange(0, 6).Draw(tr.rt, "limit")
	full := func(have int) bool { return limit > 0 && have >= limit }
	s := rapid.SampledFrom(tr.sessions).Draw(tr.rt, "session")
	switch kind := rapid.SampledFrom([]string{"create", "fork", "queue", "queue", "start", "end", "unqueue", "refused"}).Draw(tr.rt, "command"); kind {
	case "create", "fork":
		c := tr.create(models.NewID[models.SessionEntity]())
		if kind == "fork" {
			c = tr.fork(s, models.NewID[models.SessionEntity](), 0)
		}
		return c.within(limit, 0), func() error {
			if full(tr.have) {
				return errFull
			}
			tr.have++
			return nil
		}
	case "queue":
		return tr.behind(s).within(0, limit), func() error {
			if full(tr.waiting()) {
				return errFull
			}
			tr.line[s] = append(tr.line[s], false)
			return nil
		}
	case "start":
		return tr.world.command(s, func(tx *Tx) error {
				if tx.Turn == nil || tx.Turn.StartedAt != nil {
					return errRefused
				}
				tx.Turn.StartedAt = tx.Now.Ptr()
				tx.ConsumeInbox()
				tx.Emit(&tx.Turn.ID, events.ReasonStarted{Iteration: 1})
				return nil
			}), func() error {
				if line := tr.line[s]; len(line) > 0 && !line[0] {
					line[0] = true
					return nil
				}
				return errRefused
			}
	case "end":
		return tr.cancel(s), func() error {
			line := tr.line[s]
			if len(line) == 0 {
				return errRefused
			}
			// A message that the turn was not shown gets a turn of its own.
			if tr.line[s] = line[1:]; !line[0] {
				tr.line[s] = append([]bool{false}, line[1:]...)
			}
			return nil
		}
	case "unqueue":
		c := tr.world.command(s, func(tx *Tx) error {
			queue := tx.Queue()
			if len(queue) == 0 {
				return errRefused
			}
			_, err := tx.Unqueue(queue[len(queue)-1].ID, events.TurnCancelled{})
			return err
		})
		c.needs.Queue = true
		return c, func() error {
			line := tr.line[s]
			if len(line) < 2 {
				return errRefused
			}
			tr.line[s] = line[:len(line)-1]
			return nil
		}
	default:
		c := tr.behind(s)
		send := c.apply
		c.apply = func(tx *Tx) error { return errors.Join(send(tx), errRefused) }
		return c, func() error { return errRefused }
	}
}

// commit submits what was drawn as a batch, and compares what came of it.
func (tr *capTrial) commit(nodes []*Committer) {
	tried, decided := 0, 0
	fail := once(rapid.SampledFrom([]string{"", "", "begin", "loaded", "written", "committed"}).Draw(tr.rt, "fault"))
	tr.faults.set(func(at string) error {
		if at == "begin" {
			if tried++; tried > 60 {
				nodes[0].refuse()
				nodes[1].refuse()
				return errors.New("a batch is tried for the 60th time")
			}
		}
		return fail(at)
	})
	defer tr.faults.set(nil)
	var list []Command
	for range rapid.IntRange(0, 10).Draw(tr.rt, "commands") {
		c, tell := tr.command()
		one := &capCommand{cmd: c, decided: &decided, tell: tell}
		tr.cmds, list = append(tr.cmds, one), append(list, one)
	}
	errs := map[*capCommand]error{}
	for i, err := range batch(nodes[rapid.IntRange(0, 1).Draw(tr.rt, "node")], list...) {
		errs[tr.cmds[i]] = err
	}
	slices.SortFunc(tr.cmds, func(a, b *capCommand) int { return a.at - b.at })
	for i, c := range tr.cmds {
		if want := c.tell(); !errors.Is(errs[c], want) {
			tr.rt.Fatalf("command %d: %v, want %v", i, errs[c], want)
		}
	}
	tr.cmds = nil
	tr.feed(tr.org)
	total, err := nodes[0].flushers[0].b.totals(context.Background(), tr.org)
	if want := (Totals{int64(tr.have), int64(tr.waiting())}); err != nil || total != want {
		tr.rt.Fatalf("counted are %+v, want %+v: %v", total, want, err)
	}
}

// Whatever is made, begun, ended and broken off, by whichever process: what is counted is what there is, and every command that asks gets
// the answer that is true when its turn has come.
func TestTheTotalsAgreeWithTheRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		nodes := []*Committer{w.c, w.committer(nil)}
		rapid.Check(t, func(rt *rapid.T) {
			w.org, w.harness = seedOrg(t, db)
			tr := &capTrial{world: w, rt: rt, line: map[models.SessionID][]bool{}}
			for range rapid.IntRange(1, 3).Draw(rt, "sessions") {
				tr.sessions = append(tr.sessions, w.session())
				tr.have++
			}
			for range rapid.IntRange(1, 5).Draw(rt, "batches") {
				w.clock.Advance(2 * time.Second) // what was read long ago is not believed
				tr.commit(nodes)
			}
		})
	})
}

// After a commit whose reply was lost, what was known before it is not believed: there may be room by now.
func TestWhatALostReplyHasChangedIsLookedAtAnew(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		for range 3 {
			w.do(w.behind(s).within(0, 9))
		}
		w.faults.set(once("committed"))
		unqueue := w.command(s, func(tx *Tx) error {
			queue := tx.Queue()
			_, err := tx.Unqueue(queue[len(queue)-1].ID, events.TurnCancelled{})
			return err
		})
		unqueue.needs.Queue = true
		w.do(unqueue)
		w.faults.set(nil)
		w.do(w.behind(s).within(0, 3))
		if err := w.c.Submit(t.Context(), w.behind(s).within(0, 3)); !errors.Is(err, errFull) {
			t.Errorf("a turn too many: %v", err)
		}
	})
}
