package runtime

import (
	"errors"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// settleCall ends one call, with all that it wrote to the session, and starts calls that have waited for it. The last one ends
// the act, or parks the turn when what is left waits for somebody.
type settleCall struct {
	writer
	call       turns.Call
	result     tools.Result
	writes     *sessions.Changes
	durationMs int64
	// begin are the calls to start.
	begin []turns.Call
	// shown is the result as it was committed.
	shown tools.Result
}

func (c *settleCall) Needs() commit.Needs {
	n := c.needs(2048+3*(len(c.result.JSON)+len(c.result.ToolError)), true)
	if c.writes != nil && !c.result.Failed() {
		n.Files = c.writes.Needs()
		n.Bytes += c.writes.Bytes()
	}
	return n
}

func (c *settleCall) Apply(tx *commit.Tx) error {
	t := tx.Turn
	if t.PendingCalls == 0 {
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
	c.call.Settle(tx, c.shown, c.durationMs)
	t.PendingCalls--
	startAll(tx, c.begin)
	return c.goOn(tx)
}

// goOn ends the act when no call is pending, and parks the turn when all that are wait.
func (w *writer) goOn(tx *commit.Tx) error {
	t := tx.Turn
	t.Takeovers = 0
	t.Attention = false
	if t.PendingCalls == 0 {
		tx.Emit(&t.ID, events.ActCompleted{Iteration: t.Iteration})
		return w.follow(tx, Acted{})
	}
	w.plan = nil
	// A turn of which the end was asked for is not parked: its runner ends it.
	if t.Cancel == nil {
		turns.Rest(tx, w.clients)
	}
	w.done(tx, t)
	return nil
}

func startAll(tx *commit.Tx, calls []turns.Call) {
	for _, o := range calls {
		o.Start(tx)
		tx.SaveEffect(o.Effect)
	}
}

// startCalls starts claimed calls when none is running that could start them by settling. Without any it parks the turn if nothing else is
// left of it.
type startCalls struct {
	writer
	begin []turns.Call
}

func (c *startCalls) Needs() commit.Needs { return c.needs(1024*(1+len(c.begin)), true) }

func (c *startCalls) Apply(tx *commit.Tx) error {
	startAll(tx, c.begin)
	return c.goOn(tx)
}

// parkCall makes a call wait whose tool has said that its result comes from elsewhere.
type parkCall struct {
	writer
	call turns.Call
	// wait was announced before; its deadline and request are those that the tool has given.
	wait  models.WaitID
	until *models.Millis
	// failTurn tells what happens when nobody resolves it in time.
	failTurn bool
	// question is asked instead, when it isn't empty.
	question string
	options  []string
	begin    []turns.Call
	// settled is the result, when the wait was resolved before the call came to wait.
	settled *tools.Result
	// again tells that the tool is to run again, because what it waited for is there.
	again bool
}

func (c *parkCall) Needs() commit.Needs {
	n := c.needs(2048, true)
	if !c.wait.IsZero() {
		n.WaitIDs = []models.WaitID{c.wait}
	}
	n.Waits = true
	return n
}

func (c *parkCall) Apply(tx *commit.Tx) error {
	c.settled, c.again = nil, false
	call := c.call
	if c.question != "" {
		call.Ask(tx, c.question, c.options)
		tx.SaveEffect(call.Effect)
	} else if err := c.hold(tx, &call); err != nil {
		return err
	}
	startAll(tx, c.begin)
	return c.goOn(tx)
}

func (c *parkCall) hold(tx *commit.Tx, call *turns.Call) error {
	w, ok := tx.Wait(c.wait)
	switch {
	case !ok:
		return errors.New("a call waits for something that was never announced")
	case w.State == models.WaitOpen:
		if c.until != nil {
			w.Deadline = c.until
		}
		r := turns.ReadRequest(w)
		r.FailTurn = c.failTurn
		call.Hold(tx, w, r)
	case w.Kind == models.WaitCustom:
		c.again = true
		call.Effect.State = models.EffectClaimed
	default:
		r := turns.ResultOf(w, turns.ReadResolution(w))
		c.settled = &r
		call.Settle(tx, r, 0)
		tx.Turn.PendingCalls--
		return nil
	}
	tx.SaveEffect(call.Effect)
	return nil
}
