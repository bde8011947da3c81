package runtime

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// act runs the open calls of the present step and settles each when it ends. The journal says how far each has come, so that a
// step that was begun by a runner that died, or that was parked, goes on in the same way.
func (r *turnRun) act(ctx context.Context, open []turns.Call) (*turns.Writer, error) {
	if err := r.readConversation(ctx, false); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &actRun{r: r, ctx: ctx, cut: cancel, running: map[string]int{}, known: map[string]bool{}, done: make(chan *finished, maxCalls)}
	w, err := a.run(open)
	cancel(nil)
	a.drain()
	if a.outside {
		// Others have added results, which are in the database alone.
		*r.conversation = conversation{}
	}
	return w, err
}

// actRun is the calls of one step at work.
type actRun struct {
	r *turnRun
	// The step's, for the calls that it starts; cut ends it before its time.
	ctx context.Context
	cut context.CancelCauseFunc
	// waiting are claimed calls that have not begun, in the model's order; clients those that the caller's own program runs, after
	// all others.
	waiting, clients []turns.Call
	// known are the calls that were looked at, by their ids.
	known map[string]bool
	// running counts the calls at work by their class, and count all of them.
	running map[string]int
	count   int
	done    chan *finished
	// grace is closed when tools that were cancelled have had their time; nil as long as none was.
	grace <-chan struct{}
	// outside is true when some results come from outside of this run.
	outside bool
}

func (a *actRun) run(open []turns.Call) (*turns.Writer, error) {
	w, open, err := a.gate(open)
	if err != nil || w != nil {
		return w, err
	}
	if err := a.admit(open); err != nil {
		return nil, err
	}
	fresh := false
	for {
		w, err := a.advance(fresh)
		if err != nil || w.Parked || w.Turn.PendingCalls == 0 {
			return w, err
		}
		// A commit may tell of a cancel before any signal does, and what it has done to the row may have taken the signal's mark away.
		if w.Turn.Cancel != nil {
			if a.count == 0 {
				return w, nil
			}
			a.cut(turns.ErrCancelled)
		}
		if fresh = false; a.ctx.Err() != nil {
			continue
		}
		if fresh, err = a.lookAgain(w); err != nil {
			return nil, err
		}
	}
}

// advance settles the next call that ends, or starts calls when none is running, or fresh ones have come.
func (a *actRun) advance(fresh bool) (*turns.Writer, error) {
	if a.count == 0 || fresh {
		return a.startWaiting()
	}
	f, err := a.next()
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		// Something has happened to the turn meanwhile.
		if fresh, err := a.reload(); err != nil || fresh {
			return a.startFresh(err)
		}
		return a.unchanged(), nil
	case !f.waits.IsZero():
		return a.park(*f)
	}
	if f.again {
		return a.retry(*f)
	}
	return a.settle(append([]finished{*f}, a.others()...))
}

func (a *actRun) startFresh(err error) (*turns.Writer, error) {
	if err != nil {
		return nil, err
	}
	return a.startWaiting()
}

// unchanged returns the turn as the newest commit has left it.
func (a *actRun) unchanged() *turns.Writer {
	w := a.r.writer()
	w.Turn = a.r.turn
	return &w
}

// lookAgain reads the journal when calls may run by now that had to wait for somebody. It reports whether there are some.
func (a *actRun) lookAgain(w *turns.Writer) (fresh bool, err error) {
	if w.Turn.PendingCalls-w.Turn.WaitingCalls > a.count+len(a.waiting)+len(a.clients) {
		return a.reload()
	}
	return false, nil
}

// reload takes calls in that could not run when the journal was read last. It reports whether there are some.
func (a *actRun) reload() (fresh bool, err error) {
	open, err := a.r.openCalls(a.ctx)
	if err != nil {
		return false, err
	}
	a.outside = true
	for _, o := range open {
		if a.known[o.Record.CallID] || o.Effect.State != models.EffectClaimed {
			continue
		}
		a.take(o)
		fresh = true
	}
	return fresh, nil
}

// take puts a claimed call where it waits for its turn.
func (a *actRun) take(o turns.Call) {
	a.known[o.Record.CallID] = true
	if o.Record.Frozen.Hints.Client && o.Record.Brought == nil {
		a.outside = true
		a.clients = append(a.clients, o)
		return
	}
	a.waiting = append(a.waiting, o)
}

// admit decides what becomes of the calls that the journal holds open: of all of them, before anything runs.
func (a *actRun) admit(open []turns.Call) error {
	decisions := make([]turns.Decision, len(open))
	for i, o := range open {
		var err error
		decisions[i], err = turns.DecideClaim(&o.Effect, turns.ClaimRequest{
			InputHash: o.Record.Frozen.InputHash(), Epoch: a.r.turn.LeaseEpoch, Repeatable: o.Record.Brought != nil || o.Record.Frozen.Hints.Repeatable(),
		})
		if err != nil {
			return err
		}
		if o.Effect.Epoch > a.r.turn.LeaseEpoch {
			// A successor is at work: what it has begun, and what it knows, is none of this runner's business.
			decisions[i] = turns.DecideLost
		}
		switch decisions[i] {
		case turns.DecideReplay:
			return fmt.Errorf("call %s is settled and open at once", o.Effect.ReplayKey)
		case turns.DecideLost:
			// Whoever has begun it is at work on it. Nothing is committed before a call that has begun goes on, so that the
			// fence would come too late.
			return fmt.Errorf("call %s was begun under lease %d: %w", o.Effect.ReplayKey, o.Effect.Epoch, commit.ErrLeaseLost)
		}
	}
	for i, o := range open {
		switch decisions[i] {
		case turns.DecideRun:
			if a.r.due(&o) > 0 {
				o.Effect.Epoch = a.r.turn.LeaseEpoch
				a.launch(o)
				continue
			}
			a.take(o)
		case turns.DecideRunAgain:
			o.Effect.Attempt++
			o.Effect.Epoch = a.r.turn.LeaseEpoch
			a.start(o, true)
		case turns.DecideInterrupted:
			a.enter(o)
			a.done <- &finished{Call: o, result: o.Interrupted()}
		case turns.DecideBusy:
			// Begun by this lease, in the commit that started the act.
			a.launch(o)
		case turns.DecideWait:
			a.outside = true
		case turns.DecideReplay, turns.DecideLost:
		}
	}
	return nil
}

// settle commits results, with the start of the calls that have waited for them.
func (a *actRun) settle(list []finished) (*turns.Writer, error) {
	r := a.r
	c, grows := &turns.SettleCalls{Begin: a.ready()}, 0
	for _, f := range list {
		if f.result.Internal != nil {
			r.e.cfg.Logger.Error("a tool failed", "org", r.turn.OrgID, "turn", r.turn.ID, "tool", f.Record.Frozen.ToolID, "error", f.result.Internal)
		}
		c.List = append(c.List, turns.Settled{Call: f.Call, Result: f.result, Writes: f.writes, DurationMs: f.durationMs, Runs: f.runs, Announced: f.announced})
		grows += partBytes(f.Parts(f.result))
	}
	w, err := a.submit(c, &c.Writer, grows)
	if err != nil {
		return nil, err
	}
	for i, f := range list {
		r.conversation.add(f.Record.Position, f.Effect.Ordinal, models.MessageTool, f.Parts(c.List[i].Shown))
	}
	a.launchAll(c.Begun)
	return w, nil
}

// park commits that a call waits, with the start of the calls that have waited for it.
func (a *actRun) park(f finished) (*turns.Writer, error) {
	a.outside = true
	// When it goes on, the journal says so.
	delete(a.known, f.Record.CallID)
	c := &turns.ParkCall{Call: f.Call, Wait: f.waits, Payment: f.payment, Begin: a.ready()}
	if p := f.result.Pending; p != nil {
		if !p.Deadline.IsZero() {
			c.Until = models.MillisOf(p.Deadline).Ptr()
		}
		c.FailTurn = p.OnTimeout == tools.OnTimeoutFailTurn
	}
	w, err := a.submit(c, &c.Writer, 0)
	if err != nil {
		return nil, err
	}
	if c.Again {
		// What it waits for has come meanwhile.
		a.take(c.Next)
	}
	a.launchAll(c.Begun)
	return w, nil
}

// submit commits a command of the act, which may begin the next step or park the turn. grows is what it adds to the conversation, in bytes.
func (a *actRun) submit(c commit.Command, w *turns.Writer, grows int) (*turns.Writer, error) {
	blocked, err := a.r.refresh(a.ctx)
	if err != nil {
		return nil, err
	}
	*w = a.r.writer()
	w.Blocked, w.Clients = blocked, a.clients
	w.Grow(grows)
	return a.r.submit(a.ctx, c, w)
}

// startWaiting starts calls when none is running: after a takeover that found only claimed ones, or when one may run that had to wait for
// somebody. Without any the turn is parked, or goes on.
func (a *actRun) startWaiting() (*turns.Writer, error) {
	if a.ctx.Err() != nil {
		return nil, a.cutShort()
	}
	c := &turns.StartCalls{Begin: a.ready()}
	if len(c.Begin) == 0 && a.count > 0 {
		// They wait for their class.
		return a.unchanged(), nil
	}
	w, err := a.submit(c, &c.Writer, 0)
	if err != nil {
		return nil, err
	}
	a.launchAll(c.Begun)
	if a.count == 0 && !w.Parked && w.Turn.PendingCalls > 0 && w.Turn.Cancel == nil {
		if _, err := a.lookAgain(w); err != nil {
			return nil, err
		}
		if len(a.waiting) == 0 {
			return nil, a.cutShort()
		}
	}
	return w, nil
}
