// Package turns is what can happen to a turn: commands, and the pure functions on the locked state of its session that they are made of.
// Those who steer turns from outside (internal/sessions) submit them, and so do the runners (internal/runtime), so that a turn goes the same
// way whoever moves it. Nothing here runs anything.
//
// What people do: send.go (a message comes, and may begin a turn), queue.go (turns are cancelled, edited and moved), answer.go and decide.go
// (waits get their answers). What runners do: plan.go (what comes next), writer.go (what their commands share), turn.go (a turn begins, and ends
// before its time), reason.go, act.go, recover.go and repair.go (what a step commits), model_calls.go and reserve.go (what it costs). What
// both are made of: call.go (a tool call in the journal), journal.go (whether it may run), meter.go (what it takes), wait.go (what a call
// waits for, and what follows when it is resolved), budget.go (turns that wait for budgets), approval.go (how people decide), payment.go (about
// payments), end.go (how turns begin and end), cancel.go.
package turns

import (
	"encoding/json"
	"fmt"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Record is the request of a tool call in the journal: all that is needed to run it, or to end it, later.
type Record struct {
	CallID    string       `json:"callId"`
	Iteration int          `json:"iteration"`
	Position  int64        `json:"position"`
	Frozen    tools.Frozen `json:"frozen"`
	// Started and Ended are the lines for people.
	Started string `json:"started,omitempty"`
	Ended   string `json:"ended,omitempty"`
	// Ungated is true when hooks and policies have not decided about the call yet.
	Ungated bool `json:"ungated,omitempty"`
	// Decided is what policies have decided about the call, where that couldn't follow at once as the call had to wait for a budget first: then it
	// is ungated, too. nil when they have not.
	Decided *Decided `json:"decided,omitempty"`
	// Reviewed is true when hooks have to see the result before the model does, whoever brings it.
	Reviewed bool `json:"reviewed,omitempty"`
	// Brought is what a call that waited was answered from outside, until hooks have seen it; nil for all others.
	Brought *Brought `json:"brought,omitempty"`
	// TimeoutSeconds is how long a client tool has for its result; nil for ever.
	TimeoutSeconds *int `json:"timeoutSeconds,omitempty"`
}

// Decided lets a call run: at once, or when people have approved it.
type Decided struct {
	Approval *Approval `json:"approval,omitempty"`
}

// Brought is a result that came from outside.
type Brought struct {
	JSON  models.JSON `json:"json,omitempty"`
	Error string      `json:"error,omitempty"`
	// DurationMs is how long it was waited for.
	DurationMs int64 `json:"durationMs,omitempty"`
}

// Result returns it as a tool would have brought it.
func (b Brought) Result() tools.Result {
	return tools.Result{JSON: json.RawMessage(b.JSON), ToolError: b.Error}
}

// Bring keeps the result of a call that waited until its runner has shown it to hooks.
func (c *Call) Bring(tx *commit.Tx, r tools.Result) {
	c.Record.Brought = &Brought{JSON: models.JSON(r.JSON), Error: r.ToolError, DurationMs: c.waited(tx.Now)}
	c.Effect.State, c.Effect.Request = models.EffectClaimed, jsonx.MustEncode(c.Record)
	tx.AmendEffect(c.Effect)
}

// CallOutcome is what came of a call, as the journal keeps it.
type CallOutcome struct {
	Success            bool        `json:"success"`
	Result             models.JSON `json:"result,omitempty"`
	Error              string      `json:"error,omitempty"`
	ConnectionRequired string      `json:"connectionRequired,omitempty"`
}

// Call is a tool call in the journal that has no result.
type Call struct {
	Effect models.Effect
	Record Record
}

// CallKey is the replay key of a call.
func CallKey(id string) string { return "call/" + id }

// IdempotencyKey is what a tool gets to tell repeated attempts at a call by; it is the same for each.
func IdempotencyKey(session models.SessionID, call, tool string) string {
	return session.String() + ":" + call + ":" + tool
}

// ReadCall reads a call from the journal.
func ReadCall(e models.Effect) (Call, error) {
	c := Call{Effect: e}
	if err := json.Unmarshal(e.Request, &c.Record); err != nil {
		return c, fmt.Errorf("read call %s from the effect log: %w", e.ReplayKey, err)
	}
	return c, nil
}

// openCalls returns the calls of the current turn that have no result, in the model's order.
func openCalls(tx *commit.Tx) ([]Call, error) {
	var list []Call
	for _, e := range tx.Calls() {
		c, err := ReadCall(e)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// turn is the execution that the call belongs to.
func (c *Call) turn() *models.TurnID { return (*models.TurnID)(&c.Effect.ScopeID) }

// Class is the concurrency class.
func (c *Call) Class() string { return c.Record.Frozen.Hints.ConcurrencyClass }

// Start marks a call as running, before it executes, or before its client does. One that starts again after it waited has been heard of.
func (c *Call) Start(tx *commit.Tx) {
	c.Effect.State = models.EffectRunning
	if c.Effect.StartedAt != nil {
		return
	}
	c.Effect.StartedAt = tx.Now.Ptr()
	tx.Emit(c.turn(), events.ToolStarted{
		ToolCallID: c.Record.CallID, ToolName: c.Record.Frozen.Name, DisplayName: c.Record.Frozen.DisplayName,
		Arguments: models.JSON(c.Record.Frozen.Arguments), Narration: c.Record.Started,
	})
}

// Settle stores the outcome of a call in the effect log, and meters it when it has run. It works on a copy: a command may be applied again.
// Counting what is still pending is up to the caller.
func (c Call) Settle(tx *commit.Tx, r tools.Result, durationMs int64) {
	c.Meter(tx, r, durationMs)
	if c.Effect.StartedAt == nil {
		c.Start(tx)
	}
	c.End(tx, r, durationMs)
	tx.SaveEffect(c.Effect)
}

// End emits what a call brought and adds its message to the conversation.
func (c *Call) End(tx *commit.Tx, r tools.Result, durationMs int64) {
	out := CallOutcome{Success: !r.Failed(), Result: models.JSON(r.JSON), Error: r.ToolError, ConnectionRequired: r.ConnectionRequired}
	narration := c.Record.Ended
	if !out.Success {
		narration = tools.FailureLine(r.ToolError)
	}
	seq := tx.Emit(c.turn(), events.ToolCompleted{
		ToolCallID: c.Record.CallID, ToolName: c.Record.Frozen.Name, Success: out.Success, Result: out.Result, Error: out.Error,
		DurationMs: durationMs, Narration: narration, ConnectionRequired: out.ConnectionRequired,
	})
	tx.AddMessage(models.Message{
		ID: models.NewID[models.MessageEntity](), TurnID: *c.turn(), Role: models.MessageTool, Content: c.Parts(r),
		Sequence: seq, Position: &c.Record.Position, Ordinal: c.Effect.Ordinal, CreatedAt: tx.Now,
	})
	c.Effect.State, c.Effect.Outcome, c.Effect.SettledAt = models.EffectSettled, jsonx.MustEncode(out), tx.Now.Ptr()
}

// Parts returns the result as the model is shown it.
func (c *Call) Parts(r tools.Result) []models.Part {
	return []models.Part{{
		Type: models.PartToolResult, ToolCallID: c.Record.CallID, ToolName: c.Record.Frozen.Name, Success: !r.Failed(),
		Result: models.JSON(r.JSON), Error: r.ToolError, ConnectionRequired: r.ConnectionRequired,
	}}
}

// Interrupted is what the model gets for a call that ends before its tool has come to an end. A call that waited has begun, whether or not it
// runs again.
func (c *Call) Interrupted() tools.Result {
	switch {
	case !c.Ran():
		return tools.Fail("interrupted: The turn was stopped before this call began. It had no effect.")
	case c.betweenAttempts():
		return tools.Fail("interrupted: The turn was stopped before the next attempt of this call. The attempts before it had no effect.")
	}
	return UnknownOutcome()
}

// UnknownOutcome is what the model gets for a call of which nobody knows what it did.
func UnknownOutcome() tools.Result {
	return tools.Fail("interrupted: The server stopped while this call was running. Whether it took effect is unknown; " +
		"check before you repeat it.")
}

// waited is how long a call has waited, in milliseconds.
func (c *Call) waited(now models.Millis) int64 {
	if c.Effect.StartedAt == nil {
		return 0
	}
	return max(int64(now-*c.Effect.StartedAt), 0)
}
