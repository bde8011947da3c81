package runtime

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
)

// journaledCall is the request of a tool call in the journal: all that is needed to run it, or to end it, later.
type journaledCall struct {
	CallID    string       `json:"callId"`
	Iteration int          `json:"iteration"`
	Position  int64        `json:"position"`
	Frozen    tools.Frozen `json:"frozen"`
	// Started and Ended are the lines for people.
	Started string `json:"started,omitempty"`
	Ended   string `json:"ended,omitempty"`
}

// journaledResult is its outcome.
type journaledResult struct {
	Success bool        `json:"success"`
	Result  models.JSON `json:"result,omitempty"`
	Error   string      `json:"error,omitempty"`
}

// openCall is a call in the journal that has no result.
type openCall struct {
	effect models.Effect
	call   journaledCall
}

func callKey(id string) string { return "call/" + id }

func readCall(e models.Effect) (openCall, error) {
	o := openCall{effect: e}
	if err := json.Unmarshal(e.Request, &o.call); err != nil {
		return o, fmt.Errorf("read call %s from the journal: %w", e.ReplayKey, err)
	}
	return o, nil
}

// class is the concurrency class.
func (o *openCall) class() string { return o.call.Frozen.Hints.ConcurrencyClass }

// interruptedResult is what the model gets for a call that ends without anybody knowing its outcome.
func interruptedResult(was models.EffectState) tools.Result {
	if was == models.EffectClaimed {
		return tools.Fail("interrupted: The turn was stopped before this call began. It had no effect.")
	}
	return tools.Fail("interrupted: The server stopped while this call was running. Whether it took effect is unknown; " +
		"check before you repeat it.")
}

// start marks a claimed call as running, before it executes.
func (o *openCall) start(tx *commit.Tx) {
	o.effect.State, o.effect.StartedAt = models.EffectRunning, tx.Now.Ptr()
	tx.Emit(&o.effect.ScopeID, events.ToolStarted{
		ToolCallID: o.call.CallID, ToolName: o.call.Frozen.Name, DisplayName: o.call.Frozen.DisplayName,
		Arguments: models.JSON(o.call.Frozen.Arguments), Narration: o.call.Started,
	})
}

// settle gives a call in the journal its outcome. It works on a copy: a command may be applied again.
func (o openCall) settle(tx *commit.Tx, r tools.Result, durationMs int64) {
	if o.effect.State == models.EffectClaimed {
		o.start(tx)
	}
	o.end(tx, r, durationMs)
	tx.SaveEffect(o.effect)
}

// end emits what a call brought and adds its message to the conversation.
func (o *openCall) end(tx *commit.Tx, r tools.Result, durationMs int64) {
	out := journaledResult{Success: !r.Failed(), Result: models.JSON(r.JSON), Error: r.ToolError}
	seq := tx.Emit(&o.effect.ScopeID, events.ToolCompleted{
		ToolCallID: o.call.CallID, ToolName: o.call.Frozen.Name, Success: out.Success, Result: out.Result, Error: out.Error,
		DurationMs: durationMs, Narration: o.call.Ended,
	})
	tx.AddMessage(models.Message{
		ID: models.NewID[models.MessageEntity](), TurnID: o.effect.ScopeID, Role: models.MessageTool, Content: o.parts(r),
		Sequence: seq, Position: &o.call.Position, Ordinal: o.effect.Ordinal, CreatedAt: tx.Now,
	})
	o.effect.State, o.effect.Outcome, o.effect.SettledAt = models.EffectSettled, encodeJSON(out), tx.Now.Ptr()
}

// parts gives the result as the model is shown it.
func (o *openCall) parts(r tools.Result) []models.Part {
	return []models.Part{{
		Type: models.PartToolResult, ToolCallID: o.call.CallID, ToolName: o.call.Frozen.Name, Success: !r.Failed(),
		Result: models.JSON(r.JSON), Error: r.ToolError,
	}}
}

// settleCall ends one call, with all that it wrote to the session, and starts calls that have waited for it. The last one ends
// the act.
type settleCall struct {
	writer
	call       openCall
	result     tools.Result
	writes     *sessions.Changes
	durationMs int64
	// begin are the calls to start.
	begin []openCall
	// last tells that no other call is pending.
	last bool
	// shown is the result as it was committed.
	shown tools.Result
}

func (c *settleCall) Needs() commit.Needs {
	n := c.needs(2048+3*(len(c.result.JSON)+len(c.result.ToolError)), c.last)
	if c.writes != nil && !c.result.Failed() {
		n.Files = c.writes.Needs()
		n.Bytes += c.writes.Bytes()
	}
	return n
}

func (c *settleCall) Apply(tx *commit.Tx) error {
	t := tx.Turn
	if (t.PendingCalls == 1) != c.last {
		return errors.New("a call settles that is not one of those that are pending")
	}
	c.shown = c.result
	if c.writes != nil && !c.result.Failed() {
		// Somebody else may have changed a file since the tool looked: then the call has failed, and wrote nothing.
		if err := c.writes.Apply(tx, &t.ID); err != nil {
			var refused *tools.PathError
			if !errors.As(err, &refused) {
				return err
			}
			c.shown = tools.Fail(refused.Code + ": " + refused.Message)
		}
	}
	c.call.settle(tx, c.shown, c.durationMs)
	t.Takeovers = 0
	t.PendingCalls--
	startAll(tx, c.begin)
	if t.PendingCalls > 0 {
		c.plan = nil
		c.done(tx, t)
		return nil
	}
	tx.Emit(&t.ID, events.ActCompleted{Iteration: t.Iteration})
	return c.follow(tx, Acted{})
}

func startAll(tx *commit.Tx, calls []openCall) {
	for _, o := range calls {
		o.start(tx)
		tx.SaveEffect(o.effect)
	}
}

// startCalls starts claimed calls when none is running that could start them by settling.
type startCalls struct {
	writer
	begin []openCall
}

func (c *startCalls) Needs() commit.Needs { return c.needs(1024*len(c.begin), false) }

func (c *startCalls) Apply(tx *commit.Tx) error {
	startAll(tx, c.begin)
	tx.Turn.Takeovers = 0
	c.plan = nil
	c.done(tx, tx.Turn)
	return nil
}
