package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// cancelGrace is how long running tools get after their context was cancelled.
const cancelGrace = 2 * time.Second

// act runs the open calls of the present step and settles each when it ends. The journal says how far each has come, so that a
// step that was begun by a runner that died, or that was parked, goes on in the same way.
func (r *turnRun) act(ctx context.Context, open []turns.Call) (*writer, error) {
	if err := r.readConversation(ctx, false); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &actRun{r: r, ctx: ctx, cut: cancel, running: map[string]int{}, known: map[string]bool{}, done: make(chan finished, maxCalls)}
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
	done    chan finished
	// grace is closed when tools that were cancelled have had their time; nil as long as none was.
	grace <-chan struct{}
	// outside tells that some results come from outside of this run.
	outside bool
}

// finished is a call that has ended.
type finished struct {
	turns.Call
	result     tools.Result
	writes     *sessions.Changes
	durationMs int64
	// runs are the hooks that have seen the result.
	runs []hooks.Ran
	// waits is what the call waits for; zero when it has ended.
	waits models.WaitID
	// announced are waits that the tool has asked keys for.
	announced []models.WaitID
	// cut tells that the call failed after it was cancelled, or that the journal contradicts it: what it says is no result.
	cut bool
	// again tells that the call has failed without an effect and is tried again after the delay.
	again bool
	delay time.Duration
	// err is what kept an attempt from beginning that had to be waited for; nil when it has begun.
	err error
}

func (a *actRun) run(open []turns.Call) (*writer, error) {
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
		if err != nil || w.parked || w.turn.PendingCalls == 0 {
			return w, err
		}
		// A commit may tell of a cancel before any signal does, and what it has done to the row may have taken the signal's mark away.
		if w.turn.Cancel != nil {
			if a.count == 0 {
				return w, nil
			}
			a.cut(errCancelled)
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
func (a *actRun) advance(fresh bool) (*writer, error) {
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

// others takes the calls that have ended meanwhile with a result, or end within moments: they settle together. Calls that begin together
// often end together, and a commit for the first one alone would take longer than that wait.
func (a *actRun) others() (list []finished) {
	if a.count == 0 {
		return nil
	}
	over := a.r.e.scheduling.moments()
	for a.count > 0 {
		f, ok := a.another(over)
		if !ok {
			return list
		}
		if f.cut {
			a.leave(f)
			continue
		}
		if f.again || !f.waits.IsZero() || f.err != nil {
			// It goes a way of its own, when it comes again.
			a.done <- f
			return list
		}
		a.leave(f)
		list = append(list, f)
	}
	return list
}

// another takes the next call that ends before it is over.
func (a *actRun) another(over <-chan time.Time) (f finished, ok bool) {
	if len(a.done) > 0 {
		return <-a.done, true
	}
	select {
	case f = <-a.done:
		return f, true
	case <-over:
		return f, false
	}
}

func (a *actRun) startFresh(err error) (*writer, error) {
	if err != nil {
		return nil, err
	}
	return a.startWaiting()
}

// unchanged gives the turn as the newest commit has left it.
func (a *actRun) unchanged() *writer {
	w := a.r.writer()
	w.turn = a.r.turn
	return &w
}

// lookAgain reads the journal when calls may run by now that had to wait for somebody. It reports whether there are some.
func (a *actRun) lookAgain(w *writer) (fresh bool, err error) {
	if w.turn.PendingCalls-w.turn.WaitingCalls > a.count+len(a.waiting)+len(a.clients) {
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
	if o.Record.Frozen.Hints.Client {
		a.outside = true
		a.clients = append(a.clients, o)
		return
	}
	a.waiting = append(a.waiting, o)
}

// admit decides what becomes of the calls that the journal holds open: of all of them, before anything runs.
func (a *actRun) admit(open []turns.Call) error {
	decisions := make([]Decision, len(open))
	for i, o := range open {
		var err error
		decisions[i], err = DecideClaim(&o.Effect, ClaimRequest{
			InputHash: o.Record.Frozen.InputHash(), Epoch: a.r.turn.LeaseEpoch, Repeatable: o.Record.Frozen.Hints.Repeatable(),
		})
		if err != nil {
			return err
		}
		if o.Effect.Epoch > a.r.turn.LeaseEpoch {
			// A successor is at work: what it has begun, and what it knows, is none of this runner's business.
			decisions[i] = DecideLost
		}
		switch decisions[i] {
		case DecideReplay:
			return fmt.Errorf("call %s is settled and open at once", o.Effect.ReplayKey)
		case DecideLost:
			// Whoever has begun it is at work on it. Nothing is committed before a call that has begun goes on, so that the
			// fence would come too late.
			return fmt.Errorf("call %s was begun under lease %d: %w", o.Effect.ReplayKey, o.Effect.Epoch, commit.ErrLeaseLost)
		}
	}
	for i, o := range open {
		switch decisions[i] {
		case DecideRun:
			if a.r.due(&o) > 0 {
				o.Effect.Epoch = a.r.turn.LeaseEpoch
				a.launch(o)
				continue
			}
			a.take(o)
		case DecideRunAgain:
			o.Effect.Attempt++
			o.Effect.Epoch = a.r.turn.LeaseEpoch
			a.launch(o)
		case DecideInterrupted:
			a.enter(o)
			a.done <- finished{Call: o, result: turns.Interrupted(o.Effect.State)}
		case DecideBusy:
			// Begun by this lease, in the commit that started the act.
			a.launch(o)
		case DecideWait:
			a.outside = true
		case DecideReplay, DecideLost:
		}
	}
	return nil
}

func (a *actRun) enter(o turns.Call) {
	a.known[o.Record.CallID] = true
	a.running[o.Class()]++
	a.count++
}

// launch executes a call that is running in the journal, or one whose next attempt is still to come, when that is due.
func (a *actRun) launch(o turns.Call) {
	a.enter(o)
	// The turn's row changes while the call runs, so it is not looked at from there.
	r := a.r
	f := finished{Call: o, writes: sessions.NewChanges()}
	call := r.toolCall(o.Record.CallID, o.Record.Frozen.Name, &o.Record)
	call.Attempt, call.MaxAttempts = o.Effect.Attempt, o.Record.Frozen.Hints.Retry.Attempts(call.IdempotencyKey)
	call.Files = r.e.cfg.Workspace.Overlay(call.OrgID, call.SessionID, f.writes)
	call.SetTodos = f.writes.SetTodos
	d := &durable{r: r, call: o, org: r.turn.OrgID, session: r.turn.SessionID, turn: r.turn.ID, cut: a.cut}
	d.offer(call)
	reviewed := r.hasHooks(tools.HookPostToolUse)
	r.e.scheduling.spawn(func() {
		a.execute(&f, call, d, reviewed)
		a.done <- f
	})
}

// execute runs one attempt of a call. Hooks see the result before it is committed.
func (a *actRun) execute(f *finished, call *tools.Call, d *durable, reviewed bool) {
	e := a.r.e
	if f.Effect.State == models.EffectClaimed {
		if a.awaitAttempt(f, d); f.cut || f.err != nil {
			return
		}
	}
	started := e.cfg.Clock.Now()
	f.result = tools.Run(a.ctx, e.cfg.Registry, call, f.Record.Frozen)
	f.waits, f.announced = d.pending(f.result), d.announced()
	f.cut = d.failed() || (f.waits.IsZero() && f.result.Failed() && a.ctx.Err() != nil)
	f.durationMs = max(e.cfg.Clock.Now().Sub(started).Milliseconds(), 0)
	if f.cut || !f.waits.IsZero() {
		return
	}
	// Hooks see what comes of the call: the next attempt may change it.
	if f.decide(a.r); f.again || !reviewed {
		return
	}
	if err := a.r.guarded(func() error { return a.r.review(a.ctx, f) }); err != nil {
		f.cut = a.ctx.Err() != nil
		f.result = tools.Result{ToolError: "internal_error: The result could not be shown to the hooks that must see it.", Internal: err}
	}
}

// next waits for a call to end; nil means that the turn is to be looked at. When the step is cut short, calls that come to an end within
// the grace still count, as long as they bring a result: a tool that has done its work should not be said to be interrupted. Whoever goes
// on decides about the others by the journal.
func (a *actRun) next() (*finished, error) {
	var grace <-chan struct{}
	cut := a.ctx.Done()
	for a.count > 0 {
		a.r.e.scheduling.await(func() bool { return len(a.done) > 0 || len(a.r.attention) > 0 || (cut != nil && a.ctx.Err() != nil) })
		attention := a.r.attention
		if len(a.done) > 0 {
			attention = nil // what has ended comes first
		}
		select {
		case f := <-a.done:
			a.leave(f)
			if f.err != nil {
				return nil, f.err
			}
			if !f.cut {
				return &f, nil
			}
		case <-attention:
			if a.ctx.Err() == nil {
				return nil, nil
			}
		case <-cut:
			cut, grace = nil, a.overtime()
		case <-grace:
			return nil, a.cutShort()
		}
	}
	return nil, a.cutShort()
}

// overtime gives what is closed when the grace is over, which begins with the first call.
func (a *actRun) overtime() <-chan struct{} {
	if a.grace == nil {
		over := make(chan struct{})
		a.grace = over
		time.AfterFunc(cancelGrace, func() { close(over) })
	}
	return a.grace
}

func (a *actRun) leave(f finished) {
	a.running[f.Class()]--
	a.count--
}

func (a *actRun) cutShort() error {
	if a.ctx.Err() == nil {
		return fmt.Errorf("turn %s acts without a call", a.r.turn.ID)
	}
	return fmt.Errorf("the tools were cut short: %w", context.Cause(a.ctx))
}

// settle commits results, with the start of the calls that have waited for them.
func (a *actRun) settle(list []finished) (*writer, error) {
	r := a.r
	c := &settleCalls{begin: a.ready()}
	for _, f := range list {
		if f.result.Internal != nil {
			r.e.cfg.Logger.Error("a tool failed", "org", r.turn.OrgID, "turn", r.turn.ID, "tool", f.Record.Frozen.ToolID, "error", f.result.Internal)
		}
		c.list = append(c.list, settled{call: f.Call, result: f.result, writes: f.writes, durationMs: f.durationMs, runs: f.runs, announced: f.announced})
	}
	w, err := a.submit(c, &c.writer)
	if err != nil {
		return nil, err
	}
	for i, f := range list {
		r.conversation.add(f.Record.Position, f.Effect.Ordinal, models.MessageTool, f.Parts(c.list[i].shown))
	}
	a.launchAll(c.begun)
	return w, nil
}

// park commits that a call waits, with the start of the calls that have waited for it.
func (a *actRun) park(f finished) (*writer, error) {
	a.outside = true
	// When it goes on, the journal says so.
	delete(a.known, f.Record.CallID)
	c := &parkCall{call: f.Call, wait: f.waits, begin: a.ready()}
	if p := f.result.Pending; p != nil {
		if !p.Deadline.IsZero() {
			c.until = models.MillisOf(p.Deadline).Ptr()
		}
		c.failTurn = p.OnTimeout == tools.OnTimeoutFailTurn
	}
	w, err := a.submit(c, &c.writer)
	if err != nil {
		return nil, err
	}
	if c.again {
		// What it waits for has come meanwhile.
		f.Effect.State = models.EffectClaimed
		a.take(f.Call)
	}
	a.launchAll(c.begun)
	return w, nil
}

// submit commits a command of the act, which may begin the next step or park the turn.
func (a *actRun) submit(c commit.Command, w *writer) (*writer, error) {
	blocked, err := a.r.refresh(a.ctx)
	if err != nil {
		return nil, err
	}
	*w = a.r.writer()
	w.blocked, w.clients = blocked, a.clients
	return a.r.submit(a.ctx, c, w)
}

// ready takes the waiting calls that may run now. Nothing is begun when the step was cut short.
func (a *actRun) ready() []turns.Call {
	if a.ctx.Err() != nil {
		return nil
	}
	var begin, rest []turns.Call
	taken := map[string]bool{}
	for _, o := range a.waiting {
		class := o.Class()
		if a.count+len(begin) >= maxRunning || (class != "" && (a.running[class] > 0 || taken[class])) {
			rest = append(rest, o)
		} else {
			o.Effect.Epoch = a.r.turn.LeaseEpoch
			begin = append(begin, o)
		}
		// Later ones of the class must not overtake.
		taken[class] = true
	}
	a.waiting = rest
	return begin
}

// startWaiting starts calls when none is running: after a takeover that found only claimed ones, or when one may run that had to wait for
// somebody. Without any the turn is parked, or goes on.
func (a *actRun) startWaiting() (*writer, error) {
	if a.ctx.Err() != nil {
		return nil, a.cutShort()
	}
	c := &startCalls{begin: a.ready()}
	if len(c.begin) == 0 && a.count > 0 {
		// They wait for their class.
		return a.unchanged(), nil
	}
	w, err := a.submit(c, &c.writer)
	if err != nil {
		return nil, err
	}
	a.launchAll(c.begun)
	if a.count == 0 && !w.parked && w.turn.PendingCalls > 0 && w.turn.Cancel == nil {
		if _, err := a.lookAgain(w); err != nil {
			return nil, err
		}
		if len(a.waiting) == 0 {
			return nil, a.cutShort()
		}
	}
	return w, nil
}

// launchAll executes calls that a command has just marked as running.
func (a *actRun) launchAll(begin []turns.Call) {
	for _, o := range begin {
		o.Effect.State, o.Effect.StartedAt = models.EffectRunning, a.r.e.nowMillis().Ptr()
		a.launch(o)
	}
}

// drain waits for the tools that still run, as long as the grace lasts, so that they don't outlive the turn's slot.
func (a *actRun) drain() {
	for a.count > 0 {
		a.r.e.scheduling.await(func() bool { return len(a.done) > 0 })
		select {
		case f := <-a.done:
			a.leave(f)
		case <-a.overtime():
			return
		}
	}
}

// idempotencyKey is the same for every attempt at a call.
func (r *turnRun) idempotencyKey(call, tool string) string {
	return fmt.Sprintf("%s:%s:%s", r.turn.SessionID, call, tool)
}

// toolCall is what a tool may use.
func (r *turnRun) toolCall(id, tool string, j *turns.Record) *tools.Call {
	org, session, turn := r.turn.OrgID, r.turn.SessionID, r.turn.ID
	c := &tools.Call{
		OrgID: org, SessionID: session, TurnID: turn, CallID: id, IdempotencyKey: r.idempotencyKey(id, tool),
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
