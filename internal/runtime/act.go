package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
)

// cancelGrace is how long running tools get after their context was cancelled.
const cancelGrace = 2 * time.Second

// act runs the open calls of the present step and settles each when it ends. The journal says how far each has come, so that a
// step that was begun by a runner that died goes on in the same way.
func (r *turnRun) act(ctx context.Context, open []openCall) (*writer, error) {
	if err := r.readConversation(ctx, false); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &actRun{r: r, ctx: ctx, running: map[string]int{}, done: make(chan finished, len(open))}
	w, err := a.run(open)
	cancel()
	a.drain()
	return w, err
}

// actRun is the calls of one step at work.
type actRun struct {
	r *turnRun
	// The step's, for the calls that it starts
	ctx context.Context
	// waiting are claimed calls that have not begun, in the model's order.
	waiting []openCall
	// running counts the calls at work by their class, and count all of them.
	running map[string]int
	count   int
	done    chan finished
}

// finished is a call that has ended.
type finished struct {
	openCall
	result     tools.Result
	writes     *sessions.Changes
	durationMs int64
	// cut tells that the call failed after it was cancelled: what it says is no result.
	cut bool
}

func (a *actRun) run(open []openCall) (*writer, error) {
	if err := a.admit(open); err != nil {
		return nil, err
	}
	if a.count == 0 {
		if err := a.startWaiting(); err != nil {
			return nil, err
		}
	}
	for {
		f, err := a.next()
		if err != nil {
			return nil, err
		}
		w, err := a.settle(f)
		if err != nil || a.r.turn.PendingCalls == 0 {
			return w, err
		}
	}
}

// admit decides what becomes of the calls that the journal holds open: of all of them, before anything runs.
func (a *actRun) admit(open []openCall) error {
	decisions := make([]Decision, len(open))
	for i, o := range open {
		var err error
		decisions[i], err = DecideClaim(o.effect, o.call.Frozen.InputHash(), a.r.turn.LeaseEpoch, o.call.Frozen.Hints.Repeatable())
		if err != nil {
			return err
		}
		if o.effect.Epoch > a.r.turn.LeaseEpoch {
			// A successor is at work: what it has begun, and what it knows, is none of this runner's business.
			return commit.ErrLeaseLost
		}
		if decisions[i] == DecideReplay {
			return fmt.Errorf("call %s is settled and open at once", o.effect.ReplayKey)
		}
	}
	for i, o := range open {
		switch decisions[i] {
		case DecideRun:
			a.waiting = append(a.waiting, o)
		case DecideRunAgain:
			o.effect.Attempt++
			o.effect.Epoch = a.r.turn.LeaseEpoch
			a.launch(o)
		case DecideInterrupted:
			a.enter(o)
			a.done <- finished{openCall: o, result: interruptedResult(o.effect.State)}
		case DecideBusy:
			// Begun by this lease, in the commit that started the act.
			a.launch(o)
		case DecideReplay:
		}
	}
	return nil
}

func (a *actRun) enter(o openCall) {
	a.running[o.class()]++
	a.count++
}

// launch executes a call that is running in the journal.
func (a *actRun) launch(o openCall) {
	a.enter(o)
	// The turn's row changes while the call runs, so it is not looked at from there.
	e := a.r.e
	f := finished{openCall: o, writes: sessions.NewChanges()}
	call := a.r.toolCall(o.call.CallID, o.call.Frozen.Name, &o.call)
	call.Attempt = o.effect.Attempt
	call.Files = e.cfg.Workspace.Overlay(call.OrgID, call.SessionID, f.writes)
	call.SetTodos = f.writes.SetTodos
	e.scheduling.spawn(func() {
		started := e.cfg.Clock.Now()
		f.result = tools.Run(a.ctx, e.cfg.Registry, call, o.call.Frozen)
		f.cut = f.result.Failed() && a.ctx.Err() != nil
		f.durationMs = max(e.cfg.Clock.Now().Sub(started).Milliseconds(), 0)
		a.done <- f
	})
}

// next waits for a call to end. When the step is cut short, calls that come to an end within the grace still count, as long as
// they bring a result: a tool that has done its work should not be said to be interrupted. Whoever goes on decides about
// the others by the journal.
func (a *actRun) next() (finished, error) {
	var grace <-chan time.Time
	cut := a.ctx.Done()
	for a.count > 0 {
		a.r.e.scheduling.await(func() bool { return len(a.done) > 0 || (cut != nil && a.ctx.Err() != nil) })
		select {
		case f := <-a.done:
			a.leave(f)
			if !f.cut {
				return f, nil
			}
		case <-cut:
			t := time.NewTimer(cancelGrace)
			defer t.Stop()
			cut, grace = nil, t.C
		case <-grace:
			return finished{}, a.cutShort()
		}
	}
	return finished{}, a.cutShort()
}

func (a *actRun) leave(f finished) {
	a.running[f.class()]--
	a.count--
}

func (a *actRun) cutShort() error {
	if a.ctx.Err() == nil {
		return fmt.Errorf("turn %s acts without a call", a.r.turn.ID)
	}
	return fmt.Errorf("the tools were cut short: %w", context.Cause(a.ctx))
}

// settle commits a result, with the start of the calls that have waited for it.
func (a *actRun) settle(f finished) (*writer, error) {
	r := a.r
	if f.result.Internal != nil {
		r.e.cfg.Logger.Error("a tool failed", "org", r.turn.OrgID, "turn", r.turn.ID, "tool", f.call.Frozen.ToolID, "error", f.result.Internal)
	}
	c := &settleCall{
		call: f.openCall, result: f.result, writes: f.writes, durationMs: f.durationMs, begin: a.ready(), last: r.turn.PendingCalls == 1,
	}
	var blocked *Failed
	if c.last {
		// The commit may begin the next step.
		var err error
		if blocked, err = r.refresh(a.ctx); err != nil {
			return nil, err
		}
	}
	c.writer = r.writer()
	c.blocked = blocked
	w, err := r.submit(a.ctx, c, &c.writer)
	if err != nil {
		return nil, err
	}
	r.conversation.add(f.call.Position, f.effect.Ordinal, models.MessageTool, f.parts(c.shown))
	a.launchAll(c.begin)
	return w, nil
}

// ready takes the waiting calls that may run now. Nothing is begun when the step was cut short.
func (a *actRun) ready() []openCall {
	if a.ctx.Err() != nil {
		return nil
	}
	var begin, rest []openCall
	taken := map[string]bool{}
	for _, o := range a.waiting {
		class := o.class()
		if a.count+len(begin) >= maxRunning || (class != "" && (a.running[class] > 0 || taken[class])) {
			rest = append(rest, o)
		} else {
			o.effect.Epoch = a.r.turn.LeaseEpoch
			begin = append(begin, o)
		}
		// Later ones of the class must not overtake.
		taken[class] = true
	}
	a.waiting = rest
	return begin
}

// startWaiting starts calls when none is running: after a takeover that found only claimed ones.
func (a *actRun) startWaiting() error {
	begin := a.ready()
	if len(begin) == 0 {
		return a.cutShort()
	}
	c := &startCalls{writer: a.r.writer(), begin: begin}
	if _, err := a.r.submit(a.ctx, c, &c.writer); err != nil {
		return err
	}
	a.launchAll(begin)
	return nil
}

// launchAll executes calls that a command has just marked as running.
func (a *actRun) launchAll(begin []openCall) {
	for _, o := range begin {
		o.effect.State, o.effect.StartedAt = models.EffectRunning, a.r.e.nowMillis().Ptr()
		a.launch(o)
	}
}

// drain waits for the tools that still run, as long as the grace lasts, so that they don't outlive the turn's slot.
func (a *actRun) drain() {
	if a.count == 0 {
		return
	}
	t := time.NewTimer(cancelGrace)
	defer t.Stop()
	for a.count > 0 {
		a.r.e.scheduling.await(func() bool { return len(a.done) > 0 })
		select {
		case f := <-a.done:
			a.leave(f)
		case <-t.C:
			return
		}
	}
}

// toolCall is what a tool may use.
func (r *turnRun) toolCall(id, tool string, j *journaledCall) *tools.Call {
	org, session, turn := r.turn.OrgID, r.turn.SessionID, r.turn.ID
	c := &tools.Call{
		OrgID: org, SessionID: session, TurnID: turn, CallID: id, IdempotencyKey: fmt.Sprintf("%s:%s:%s", session, id, tool),
		Attempt: 1, Locale: r.session.locale, Now: r.e.cfg.Clock.Now, SetTodos: func([]models.Todo) {},
		Files: r.e.cfg.Workspace.Open(org, session), Progress: func(string) {},
	}
	if j != nil {
		c.Progress = func(message string) {
			r.e.cfg.Hub.PublishProgress(org, session, turn, events.ToolProgress{
				ToolCallID: id, ToolName: j.Frozen.Name, DisplayName: j.Frozen.DisplayName, Message: cleanText(message),
			})
		}
	}
	return c
}
