package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/expr"
)

// Run runs those of the hooks that are for the event, one after the other: each sees what the ones before it made of it, and
// the first one that blocks ends the list. A hook that fails follows its onError. The only errors are that of the
// context, and an event that can't be handed to hooks; then the outcome tells what had been done and must not be used.
func (r *Runner) Run(ctx context.Context, event Event, specs []tools.HookSpec) (Outcome, error) {
	s := &state{event: event, out: Outcome{Decision: Allow}}
	for _, spec := range specs {
		if spec.Event != event.Name {
			continue
		}
		ran, matched, err := r.one(ctx, s, spec)
		if err != nil {
			return s.outcome(), err
		}
		if !matched {
			continue
		}
		s.out.Runs = append(s.out.Runs, ran)
		if s.out.Decision == Block {
			break
		}
	}
	return s.outcome(), nil
}

// state is the event as the hooks so far left it.
type state struct {
	event Event
	out   Outcome
}

func (s *state) outcome() Outcome {
	o := s.out
	o.Message, o.Result, o.Error = s.event.Message, s.event.Result, s.event.Error
	if s.event.Call != nil {
		o.Arguments = s.event.Call.Arguments
	}
	return o
}

// failure is a hook that gave no answer that can be used. Shown is for people, err for the log.
type failure struct {
	shown string
	err   error
}

func failed(err error, format string, args ...any) *failure {
	f := &failure{shown: fmt.Sprintf(format, args...), err: err}
	if err == nil {
		f.err = errors.New(f.shown)
	}
	return f
}

// one runs a hook if it matches, and applies what it says.
func (r *Runner) one(ctx context.Context, s *state, spec tools.HookSpec) (ran Ran, matched bool, err error) {
	began := r.cfg.Clock.Now()
	ran = Ran{HookID: spec.ID, Event: spec.Event, Executor: spec.Executor()}
	if spec.Webhook != nil {
		ran.Delivery = s.event.Delivery + ":" + spec.ID
	}
	spec, fault := spec.Check()
	var a *answer
	var problem *failure
	if fault != nil {
		problem = failed(nil, "the hook can't be read: %s", fault.Message)
	} else {
		a, problem = r.ask(ctx, s, spec, ran.Delivery)
	}
	// A caller that gave up says nothing about the hook.
	if ctx.Err() != nil {
		return ran, true, ctx.Err()
	}
	if a == nil && problem == nil {
		return ran, false, nil
	}
	ran.DurationMs = max(r.cfg.Clock.Now().Sub(began), 0).Milliseconds()
	if problem == nil {
		problem = s.apply(spec, *a, &ran)
	}
	if problem != nil {
		s.fail(spec, problem, &ran)
	}
	return ran, true, nil
}

// ask returns the hook's answer; neither an answer nor a failure when it doesn't match.
func (r *Runner) ask(ctx context.Context, s *state, spec tools.HookSpec, delivery string) (a *answer, f *failure) {
	defer func() {
		if v := recover(); v != nil {
			a, f = nil, failed(fmt.Errorf("the hook panicked: %v\n%s", v, debug.Stack()), "the hook failed because of an error in the server")
		}
	}()
	globs, bad := tools.ParseNameGlobs(spec.Matcher.Tools)
	if bad != nil {
		return nil, failed(bad, "its tool patterns can't be read")
	}
	if len(globs) > 0 && (s.event.Call == nil || !globs.Match(s.event.Call.Tool)) {
		return nil, nil
	}
	var in expr.Input
	if spec.Matcher.When != "" || spec.CEL != nil {
		var err error
		if in, err = expr.Bind(s.event.vars()); err != nil {
			return nil, failed(err, "the event can't be shown to an expression")
		}
	}
	if spec.Matcher.When != "" {
		program, err := r.cfg.Expressions.Compile(spec.Matcher.When, expr.Condition)
		if err != nil {
			return nil, failed(err, "its condition can't be compiled: %v", err)
		}
		matches, err := program.Condition(ctx, in)
		if err != nil {
			return nil, failed(err, "its condition can't be evaluated: %v", err)
		}
		if !matches {
			return nil, nil
		}
	}
	if spec.CEL != nil {
		return r.evaluate(ctx, spec, in)
	}
	return r.deliver(ctx, s.event, spec, delivery)
}

// fail does what the hook's onError asks for.
func (s *state) fail(spec tools.HookSpec, problem *failure, ran *Ran) {
	ran.Decision, ran.Failure, ran.Err, ran.OnError = Allow, clean(problem.shown, maxReasonBytes), problem.err, spec.OnError
	if spec.OnError != tools.OnErrorBlock {
		return
	}
	reason := "The hook " + spec.ID + " failed, and its decision is required: " + ran.Failure
	switch {
	case spec.Event.MayBlock():
		ran.Decision = Block
		s.block(spec.ID, reason, "")
	case spec.Event == tools.HookPostToolUse:
		// The tool has run. What the hook was to look at must not reach the model unseen.
		ran.Decision = Mutate
		s.out.Decision = Mutate
		s.event.Result, s.event.Error = nil, "result_withheld: The tool has run, but its result can't be shown. "+reason
	}
}

func (s *state) block(hookID, reason, userMessage string) {
	s.out.Decision, s.out.HookID, s.out.Reason, s.out.UserMessage = Block, hookID, reason, userMessage
}

// vars are the event as expressions see it.
func (e Event) vars() expr.Vars {
	v := expr.Vars{Event: string(e.Name), Message: e.Message, Result: e.Result, Error: e.Error, Session: map[string]any{"id": e.SessionID.String()}}
	if e.Call != nil {
		v.Tool, v.Arguments = e.Call.Tool, e.Call.Arguments
	}
	if e.TurnID != nil {
		v.Turn = map[string]any{"id": e.TurnID.String()}
		if e.Name == tools.HookTurnEnd {
			v.Turn["success"], v.Turn["stopReason"] = e.Success, string(e.StopReason)
		}
	}
	if e.AgentID != nil {
		v.Agent = map[string]any{"id": e.AgentID.String()}
	}
	return v
}

// data is the event as webhooks see it. The documents in it are what the API shows.
func (e Event) data() map[string]any {
	d := map[string]any{}
	switch e.Name {
	case tools.HookUserPromptSubmit:
		d["message"] = e.Message
		if e.MessageID != nil {
			d["messageId"] = e.MessageID.String()
		}
	case tools.HookPreToolUse, tools.HookPostToolUse:
		if e.Call != nil {
			d["toolCallId"], d["tool"], d["toolId"], d["arguments"] = e.Call.ID, e.Call.Tool, e.Call.ToolID, e.Call.Arguments
		}
		if e.Name == tools.HookPostToolUse && e.Error != "" {
			d["error"] = e.Error
		} else if e.Name == tools.HookPostToolUse {
			d["result"] = e.Result
		}
	case tools.HookTurnEnd:
		d["success"], d["stopReason"] = e.Success, string(e.StopReason)
	case tools.HookSessionStart:
	}
	return d
}

// envelope is the body of a webhook's request.
type envelope struct {
	Event     tools.HookEvent `json:"event"`
	HookID    string          `json:"hookId"`
	OrgID     string          `json:"orgId"`
	SessionID string          `json:"sessionId"`
	TurnID    string          `json:"turnId,omitempty"`
	AgentID   string          `json:"agentId,omitempty"`
	// TS is the time of sending, RFC 3339 in UTC with milliseconds.
	TS   string         `json:"ts"`
	Data map[string]any `json:"data"`
}

func (e Event) envelope(hookID string, now time.Time) ([]byte, error) {
	env := envelope{
		Event: e.Name, HookID: hookID, OrgID: e.OrgID.String(), SessionID: e.SessionID.String(),
		TS: now.UTC().Format("2006-01-02T15:04:05.000Z"), Data: e.data(),
	}
	if e.TurnID != nil {
		env.TurnID = e.TurnID.String()
	}
	if e.AgentID != nil {
		env.AgentID = e.AgentID.String()
	}
	return json.Marshal(env)
}
