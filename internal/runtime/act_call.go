package runtime

import (
	"context"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

func (a *actRun) enter(o turns.Call) {
	a.known[o.Record.CallID] = true
	a.running[o.Class()]++
	a.count++
}

// launch executes a call that is running in the journal, or one whose next attempt is still to come, when that is due.
func (a *actRun) launch(o turns.Call) { a.start(o, false) }

// start is launch for a call that may have begun: goesOn reports that an earlier attempt may have done something already.
func (a *actRun) start(o turns.Call, goesOn bool) {
	a.enter(o)
	// The turn's row changes while the call runs, so it is not looked at from there.
	r := a.r
	writes := sessions.NewChanges()
	f := finished{Call: o, writes: writes, goesOn: goesOn}
	call := r.toolCall(o.Record.CallID, o.Record.Frozen.Name, &o.Record)
	call.Attempt, call.MaxAttempts = o.Effect.Attempt, o.Record.Frozen.Hints.Retry.Attempts(call.IdempotencyKey)
	call.Files = r.e.cfg.Workspace.Overlay(call.OrgID, call.SessionID, writes)
	call.SetTodos = writes.SetTodos
	d := &durable{r: r, call: o, org: r.turn.OrgID, session: r.turn.SessionID, turn: r.turn.ID, cut: a.cut}
	d.offer(call)
	r.payable(call, o, d)
	var review *hooks.Event
	if r.hasHooks(tools.HookPostToolUse) {
		review = new(r.event(tools.HookPostToolUse, o.Record.CallID+":post"))
	}
	r.e.scheduling.spawn(func() {
		a.execute(&f, call, d, review)
		a.done <- &f
	})
}

// execute runs one attempt of a call. Hooks see the result before it is committed, by the event review; nil when there are none.
func (a *actRun) execute(f *finished, call *tools.Call, d *durable, review *hooks.Event) {
	if f.Effect.State == models.EffectClaimed {
		if a.awaitAttempt(f, d); f.cut || f.err != nil {
			return
		}
	}
	if b := f.Record.Brought; b != nil {
		f.result, f.durationMs = b.Result(), b.DurationMs
	} else if done := a.attempt(f, call, d); !done {
		return
	}
	if review == nil {
		return
	}
	if err := a.r.guarded(func() error { return a.r.review(a.ctx, f, *review) }); err != nil {
		f.cut = a.ctx.Err() != nil
		f.result = tools.Result{
			ToolError: "internal_error: The result could not be shown to the hooks that must see it.", Internal: err, Measures: f.result.Measures,
		}
	}
}

// attempt has the tool run once. It reports whether there is a result: hooks see what comes of the call, and the next attempt may change it.
func (a *actRun) attempt(f *finished, call *tools.Call, d *durable) (done bool) {
	e := a.r.e
	ctx := e.traceTool(a.ctx, &f.Call)
	defer e.endToolTrace(ctx, f)
	started := e.cfg.Clock.Now()
	if refused := a.r.outbound(ctx, f, call.OrgID); refused != nil {
		f.result = *refused
	} else {
		f.result = tools.Run(ctx, e.cfg.Registry, call, f.Record.Frozen)
	}
	f.waits, f.payment, f.announced = d.pending(f.result), d.unapproved(), d.announced()
	f.cut = d.failed() || (f.waits.IsZero() && f.result.Failed() && a.ctx.Err() != nil)
	f.durationMs = max(e.cfg.Clock.Now().Sub(started).Milliseconds(), 0)
	if f.cut || !f.waits.IsZero() {
		return false
	}
	f.decide(call.IdempotencyKey, e.cfg.Random())
	return !f.again
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
		if a.count+len(begin) >= turns.MaxRunning || (class != "" && (a.running[class] > 0 || taken[class])) {
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

// launchAll executes calls that a command has just marked as running.
func (a *actRun) launchAll(begin []turns.Call) {
	for _, o := range begin {
		goesOn := o.Effect.StartedAt != nil
		o.Effect.State, o.Effect.StartedAt = models.EffectRunning, a.r.e.nowMillis().Ptr()
		a.start(o, goesOn)
	}
}

// toolCall is what a tool may use.
func (r *turnRun) toolCall(id, tool string, j *turns.Record) *tools.Call {
	org, session, turn := r.turn.OrgID, r.turn.SessionID, r.turn.ID
	c := &tools.Call{
		OrgID: org, SessionID: session, TurnID: turn, CallID: id, IdempotencyKey: turns.IdempotencyKey(session, id, tool),
		Attempt: 1, Locale: r.session.locale, Now: r.e.cfg.Clock.Now, SetTodos: func([]models.Todo) {},
		Files: r.e.cfg.Workspace.Open(org, session), Progress: func(string) {},
	}
	if budgets := r.e.cfg.Budgets; budgets != nil {
		c.CheckBudget = func(ctx context.Context) (tools.BudgetReport, error) { return budgets.CheckBudget(ctx, org, session) }
	}
	if j != nil {
		c.Progress = func(message string) {
			r.e.cfg.Hub.PublishProgress(org, session, turn, events.ToolProgress{
				ToolCallID: id, ToolName: j.Frozen.Name, DisplayName: j.Frozen.DisplayName, Message: texts.Clean(message),
			})
		}
	}
	return c
}
