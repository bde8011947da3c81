package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Between the model's words and the run of a call stand hooks, which may ask other machines, and policies, which may not. Without
// hooks the policies decide before the answer is committed, so that the calls start with it. With hooks the answer is committed
// first: what a model has said must not get lost while somebody else thinks.

// hasHooks reports whether there are hooks for an event.
func (r *turnRun) hasHooks(event tools.HookEvent) bool {
	return slices.ContainsFunc(r.step.effective.Toolset.Hooks(), func(h tools.HookSpec) bool { return h.Event == event })
}

// event is what all hooks are told.
func (r *turnRun) event(name tools.HookEvent, delivery string) hooks.Event {
	id := r.turn.ID
	return hooks.Event{
		Name: name, OrgID: r.turn.OrgID, SessionID: r.turn.SessionID, TurnID: &id, AgentID: r.session.agent, Delivery: delivery,
	}
}

// runHooks runs the hooks of an event.
func (r *turnRun) runHooks(ctx context.Context, e hooks.Event) (hooks.Outcome, error) {
	out, err := r.e.cfg.Hooks.Run(ctx, e, r.step.effective.Toolset.Hooks())
	for _, ran := range out.Runs {
		if ran.Err != nil {
			r.e.cfg.Logger.Warn("a hook failed", "org", e.OrgID, "turn", e.TurnID, "hook", ran.HookID, "error", ran.Err)
		}
	}
	if err != nil && ctx.Err() != nil {
		return out, fmt.Errorf("the hooks were cut short: %w", context.Cause(ctx))
	}
	return out, err
}

// refusedError tells a policy why arguments can't be taken.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

// rule asks the policies about a call. They may rewrite it, refuse it, or want people to approve it.
func (r *turnRun) rule(ctx context.Context, id string, f *tools.Frozen) (refused *tools.Result, approval *turns.Approval, err error) {
	set := r.step.effective.Toolset
	gates := set.Gates()
	if len(gates) == 0 {
		return nil, nil, nil
	}
	recheck := func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		next, refusal := tools.Prepare(ctx, set, r.toolCall(id, f.Name, nil), f.Name, arguments)
		if refusal != nil {
			return nil, &refusedError{refusal.ToolError}
		}
		return next.Arguments, nil
	}
	ruling, err := hooks.Rule(ctx, gates, tools.GateCall{
		OrgID: r.turn.OrgID, SessionID: r.turn.SessionID, TurnID: r.turn.ID, AgentID: r.session.agent, CallID: id, ToolID: f.ToolID,
		ToolName: f.Name, Hints: f.Hints, Arguments: f.Arguments,
	}, recheck)
	if err != nil {
		return nil, nil, fmt.Errorf("the policies were cut short: %w", context.Cause(ctx))
	}
	if ruling.Err != nil {
		r.e.cfg.Logger.Warn("a policy failed", "org", r.turn.OrgID, "turn", r.turn.ID, "gate", ruling.GateID, "error", ruling.Err)
	}
	f.Arguments = ruling.Arguments
	switch ruling.Kind {
	case tools.VerdictRun:
		return nil, nil, nil
	case tools.VerdictAsk:
		return nil, &turns.Approval{
			Quorum: max(ruling.Ask.Quorum, 1), Role: ruling.Ask.Role, AllowSelf: ruling.Ask.AllowSelf, ExpiresIn: ruling.Ask.ExpiresIn(),
			FailTurn: ruling.Ask.OnExpiry == tools.OnExpiryFail, Reason: ruling.Reason,
		}, nil
	}
	result := tools.View(tools.Fail("not_allowed: " + ruling.Reason))
	return &result, nil, nil
}

// gate has hooks and policies decide about the calls that wait for that, and commits what they said, together with the start of those that
// may run.
func (a *actRun) gate(open []turns.Call) (*turns.Writer, []turns.Call, error) {
	var list []turns.Call
	for _, o := range open {
		if o.Record.Ungated && o.Effect.State == models.EffectClaimed {
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return nil, open, nil
	}
	done := make(chan error, len(list))
	results := make([]turns.Gated, len(list))
	places := make(chan struct{}, turns.MaxRunning)
	for i, o := range list {
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			var err error
			results[i], err = a.r.gateOne(a.ctx, o)
			done <- err
		}()
	}
	var failed error
	for range list {
		failed = errors.Join(failed, <-done)
	}
	if failed != nil {
		return nil, nil, failed
	}
	c := &turns.GateCalls{List: results}
	w, err := a.submit(c, &c.Writer, 0)
	if err != nil || w.Parked || w.Turn.PendingCalls == 0 {
		return w, nil, err
	}
	open, err = a.r.openCalls(a.ctx)
	return nil, open, err
}

// gateOne runs the hooks over a call, then the policies. A panic of the product's own must end the turn, not the process.
func (r *turnRun) gateOne(ctx context.Context, o turns.Call) (g turns.Gated, err error) {
	err = r.guarded(func() error {
		g, err = r.gateCall(ctx, o)
		return err
	})
	return g, err
}

func (r *turnRun) gateCall(ctx context.Context, o turns.Call) (g turns.Gated, err error) {
	g.Call = o
	if d := o.Record.Decided; d != nil {
		g.Approval = d.Approval
		return g, nil
	}
	f := &g.Call.Record.Frozen
	e := r.event(tools.HookPreToolUse, o.Record.CallID+":pre")
	e.Call = &hooks.Call{ID: o.Record.CallID, Tool: f.Name, ToolID: f.ToolID, Arguments: f.Arguments}
	out, err := r.runHooks(ctx, e)
	if err != nil {
		return g, err
	}
	g.Runs = out.Runs
	switch out.Decision {
	case hooks.Block:
		result := tools.View(tools.Fail(out.ToolError()))
		g.Refused = &result
		return g, nil
	case hooks.Mutate:
		next, refusal := tools.Prepare(ctx, r.step.effective.Toolset, r.toolCall(o.Record.CallID, f.Name, nil), f.Name, out.Arguments)
		if refusal != nil {
			g.Refused = refusal
			return g, nil
		}
		f.Arguments = next.Arguments
	case hooks.Allow:
	}
	g.Refused, g.Approval, err = r.rule(ctx, o.Record.CallID, f)
	g.Call.Record.Started, g.Call.Record.Ended = r.narrate(*f)
	return g, err
}

// review runs the hooks over the result of a call. The tool has run, whatever they say.
func (r *turnRun) review(ctx context.Context, f *finished, e hooks.Event) error {
	e.Call = &hooks.Call{ID: f.Record.CallID, Tool: f.Record.Frozen.Name, ToolID: f.Record.Frozen.ToolID, Arguments: f.Record.Frozen.Arguments}
	e.Result, e.Error = f.result.JSON, f.result.ToolError
	out, err := r.runHooks(ctx, e)
	if err != nil {
		return err
	}
	f.runs = out.Runs
	if out.Decision == hooks.Mutate {
		f.result.JSON, f.result.ToolError = out.Result, out.Error
	}
	if len(out.Context) > 0 {
		f.result = withContext(f.result, out.Context)
	}
	internal := f.result.Internal
	f.result.Internal = nil
	f.result = tools.View(f.result)
	f.result.Internal = internal
	return nil
}

// withContext adds what hooks want the model to see beside a result.
func withContext(r tools.Result, context []string) tools.Result {
	if r.ToolError != "" {
		for _, text := range context {
			r.ToolError += "\n" + text
		}
		return r
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(r.JSON, &object) != nil || object == nil {
		object = map[string]json.RawMessage{"result": r.JSON}
	}
	object["hook_context"] = json.RawMessage(jsonx.MustEncode(context))
	r.JSON = json.RawMessage(jsonx.MustEncode(object))
	return r
}
