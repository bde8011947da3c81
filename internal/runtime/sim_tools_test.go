package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// The tools of the simulation that wait for somebody.

// simTokens gives tokens that need no secret.
type simTokens struct{}

func (simTokens) WaitToken(_ context.Context, _ models.OrgID, id models.WaitID) (string, error) {
	return id.String(), nil
}

// announced keeps that a tool has got a key.
func (w *simulation) announced(key string) {
	id, err := models.ParseID[models.WaitEntity](key)
	if err != nil {
		w.failf("a key that is none: %v", err)
	}
	w.told.announced[id] = true
}

// waitingTools are tools that wait, in each of the ways there are.
func waitingTools() []tools.Tool {
	define := func(name string, hints tools.Hints, run func(n *simNode, ctx context.Context, call *tools.Call) tools.Result) tools.Tool {
		return tools.Define(tools.Spec[struct{}]{
			Manifest: tools.Manifest{
				ID: "sim." + name, Name: name, DisplayName: name, Description: "A tool.", Hints: hints,
				InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
			},
			Execute: func(ctx context.Context, call *tools.Call, _ struct{}) tools.Result {
				n, ok := ctx.Value(simContext{}).(*simNode)
				if !ok {
					return tools.Fail("this context is of no simulated process")
				}
				return run(n, ctx, call)
			},
		})
	}
	return []tools.Tool{
		define("ask", tools.Hints{ReadOnly: true, LongRunning: true, Wait: tools.WaitQuestion}, nil),
		define("pend", tools.Hints{Destructive: true}, (*simNode).pend),
		define("await", tools.Hints{Idempotent: true}, (*simNode).await),
		define("flaky", tools.Hints{Destructive: true, Retry: &tools.Retry{Policy: tools.RetrySafe, Max: 3, BaseMs: 40_000}}, (*simNode).flaky),
		define("await_once", tools.Hints{Destructive: true}, (*simNode).await),
	}
}

// simGates want people to approve some tools.
func simGates(json.RawMessage) ([]tools.Gate, error) {
	return []tools.Gate{{Name: "people", Decide: func(_ context.Context, call tools.GateCall) (tools.Verdict, error) {
		switch call.ToolName {
		case "gated":
			return tools.Verdict{Kind: tools.VerdictAsk, Ask: tools.Ask{Quorum: 1, ExpiresInSeconds: 3, OnExpiry: tools.OnExpiryDeny}}, nil
		case "gated_twice":
			return tools.Verdict{Kind: tools.VerdictAsk, Ask: tools.Ask{Quorum: 2, ExpiresInSeconds: 5, OnExpiry: tools.OnExpiryFail}}, nil
		}
		return tools.Verdict{}, nil
	}}}, nil
}

func simClientTools(json.RawMessage) ([]models.ClientTool, error) {
	seconds := 4
	schema := models.JSON(`{"type":"object"}`)
	return []models.ClientTool{
		{Name: "client", DisplayName: "client", Description: "A tool.", InputSchema: schema},
		{Name: "client_hurried", DisplayName: "client_hurried", Description: "A tool.", InputSchema: schema, TimeoutSeconds: &seconds},
	}, nil
}

// pend hands its call to somebody outside, or thinks better of it.
func (n *simNode) pend(ctx context.Context, call *tools.Call) tools.Result {
	w := n.w
	n.pause(ctx)
	key, err := call.DurableCompletionKey(ctx)
	if err != nil {
		return tools.Fail(err.Error())
	}
	w.announced(key)
	n.pause(ctx)
	if ctx.Err() != nil {
		return tools.Fail("cancelled")
	}
	if w.ran[call.CallID]++; w.ran[call.CallID] > 1 {
		w.failf("law 8: call %s of an at-most-once tool ran %d times", call.CallID, w.ran[call.CallID])
	}
	p := &tools.Pending{}
	switch w.random.IntN(4) {
	case 0:
		return tools.Success("done at once")
	case 1:
		p.Deadline = w.clock.Now().Add(time.Duration(w.random.IntN(5000)) * time.Millisecond)
		p.OnTimeout = tools.OnTimeoutFailTurn
	case 2:
		p.Deadline = w.clock.Now().Add(time.Duration(w.random.IntN(5000)) * time.Millisecond)
	}
	return tools.Result{Pending: p}
}

// flaky fails now and then before it has done anything.
func (n *simNode) flaky(ctx context.Context, call *tools.Call) tools.Result {
	n.pause(ctx)
	if n.w.random.IntN(2) == 0 {
		n.w.saw["tool tried again"]++
		return tools.Result{ToolError: "not now", Retryable: true}
	}
	return n.work(ctx, call, false)
}

// await does a step, waits for something, and does another step.
func (n *simNode) await(ctx context.Context, call *tools.Call) tools.Result {
	failed := func(err error) tools.Result { return tools.Fail(err.Error()) }
	if _, err := n.durably(ctx, call, "before"); err != nil {
		return failed(err)
	}
	key, err := call.DurableEventKey(ctx, "go")
	if err != nil {
		return failed(err)
	}
	n.w.announced(key)
	n.pause(ctx)
	v, err := call.DurableAwait(ctx, key)
	if err != nil {
		return failed(err)
	}
	if _, err := n.durably(ctx, call, "after"); err != nil {
		return failed(err)
	}
	return tools.Success(v)
}

// durably is a step that must not be done again once it is in the journal.
func (n *simNode) durably(ctx context.Context, call *tools.Call, id string) (json.RawMessage, error) {
	w := n.w
	n.pause(ctx)
	return call.DurableStep(ctx, id, id, func(ctx context.Context) (any, error) {
		for _, e := range read[models.Effect](w, "replay_key = ?", turns.CallKey(call.CallID)+"/step/"+id) {
			var out turns.StepOutcome
			if json.Unmarshal(e.Outcome, &out) == nil && out.Error == "" {
				w.failf("step %s of call %s is done, and runs again", id, call.CallID)
			}
		}
		n.pause(ctx)
		if w.random.IntN(6) == 0 {
			return nil, errors.New("it did not work")
		}
		w.saw["steps"]++
		return map[string]string{"did": id}, nil
	})
}
