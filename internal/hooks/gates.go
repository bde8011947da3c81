package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/tools"
)

// maxRounds is how often the gates decide about one call. One that still changes after that is refused.
const maxRounds = 2

// Recheck validates and prepares arguments that a gate rewrote, and returns them as they would run; the error is for the model.
// The engine passes tools.Prepare.
type Recheck func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)

// Ruling is what the gates say about a call together.
type Ruling struct {
	// Kind is the strongest verdict.
	Kind tools.VerdictKind
	// GateID is what refused, or the first one that asks; Reason is its reason.
	GateID, Reason string
	// Ask is set for VerdictAsk: the strictest of all questions.
	Ask tools.Ask
	// Arguments are what the ruling is about, with all that gates rewrote. Whatever is asked or run must have these.
	Arguments json.RawMessage
	// Rewritten is true when a gate changed the arguments.
	Rewritten bool
	// Err is why a gate could not decide; for the log only.
	Err error
}

// Rule asks the gates about a call, in order; it has to run after every hook that may change the call, and again after
// anybody changed it. A refusal ends it. When a gate rewrites the arguments, all gates decide again about the new ones; a
// call that still changes in the second round is refused, and so is one that a gate can't judge. The only error is that
// of the context.
func Rule(ctx context.Context, gates []tools.Gate, call tools.GateCall, recheck Recheck) (Ruling, error) {
	rewritten := false
	for range maxRounds {
		ruling := Ruling{Kind: tools.VerdictRun}
		changed := false
		for _, gate := range gates {
			verdict := decide(ctx, gate, call)
			if ctx.Err() != nil {
				return refuse(gate.ID, "The call was cancelled.", call, rewritten), ctx.Err()
			}
			if refusal, failed := verdict.failed(gate.ID, call, rewritten); failed {
				return refusal, nil
			}
			if verdict.Arguments != nil {
				next, reason := recheckWith(ctx, recheck, call.Arguments, verdict.Arguments)
				if reason != "" {
					return refuse(gate.ID, "The policy "+gate.ID+" changed the arguments to something that the tool doesn't accept: "+reason, call, rewritten), nil
				}
				if next != nil {
					call.Arguments = next
					changed, rewritten = true, true
				}
			}
			switch verdict.Kind {
			case tools.VerdictRun:
			case tools.VerdictAsk:
				ruling = ruling.ask(gate.ID, verdict.Verdict)
			case tools.VerdictRefuse:
				return refuse(gate.ID, verdict.Reason, call, rewritten), nil
			default:
				return refuse(gate.ID, "The policy "+gate.ID+" returned an unknown verdict, so the call is not allowed.", call, rewritten), nil
			}
		}
		if !changed {
			ruling.Arguments, ruling.Rewritten = call.Arguments, rewritten
			return ruling, nil
		}
	}
	return refuse("", "The policies keep changing the arguments of the call and come to no decision, so it is not allowed.", call, rewritten), nil
}

// recheckWith returns arguments that a gate rewrote as they would run, nil when they are the same as before, or why the tool
// doesn't take them.
func recheckWith(ctx context.Context, recheck Recheck, before, after json.RawMessage) (json.RawMessage, string) {
	same := func(a, b json.RawMessage) bool {
		x, errX := jsonx.Canonical(a)
		y, errY := jsonx.Canonical(b)
		return errX == nil && errY == nil && string(x) == string(y)
	}
	if same(before, after) {
		return nil, ""
	}
	checked, err := recheck(ctx, after)
	if err != nil {
		return nil, err.Error()
	}
	if same(before, checked) {
		return nil, ""
	}
	return checked, ""
}

// ask adds a gate's question to those before it.
func (r Ruling) ask(gateID string, verdict tools.Verdict) Ruling {
	question := verdict.Ask
	question.GateID = gateID
	if r.Kind == tools.VerdictAsk {
		r.Ask = r.Ask.Strictest(question)
		return r
	}
	return Ruling{Kind: tools.VerdictAsk, GateID: gateID, Reason: clean(verdict.Reason, maxReasonBytes), Ask: question}
}

func refuse(gateID, reason string, call tools.GateCall, rewritten bool) Ruling {
	if reason == "" {
		reason = "The policy " + gateID + " does not allow the call."
	}
	return Ruling{Kind: tools.VerdictRefuse, GateID: gateID, Reason: clean(reason, maxReasonBytes), Arguments: call.Arguments, Rewritten: rewritten}
}

// opinion is what one gate says, or why it can't.
type opinion struct {
	tools.Verdict
	err error
}

// failed returns the refusal that follows from a gate that couldn't decide.
func (o opinion) failed(gateID string, call tools.GateCall, rewritten bool) (Ruling, bool) {
	if o.err == nil {
		return Ruling{}, false
	}
	r := refuse(gateID, "The policy "+gateID+" could not decide about the call, so it is not allowed.", call, rewritten)
	r.Err = o.err
	return r, true
}

func decide(ctx context.Context, gate tools.Gate, call tools.GateCall) (o opinion) {
	defer func() {
		if p := recover(); p != nil {
			o = opinion{err: fmt.Errorf("the policy %s panicked: %v\n%s", gate.ID, p, debug.Stack())}
		}
	}()
	// A gate that writes into what it is given must not change the call.
	call.Arguments = append(json.RawMessage(nil), call.Arguments...)
	v, err := gate.Decide(ctx, call)
	return opinion{Verdict: v, err: err}
}
