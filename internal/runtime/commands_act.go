package runtime

import (
	"errors"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Writes is what a call writes to the session, in the commit that settles it.
type Writes interface {
	Needs() []commit.FileNeed
	// Bytes is about how much is written.
	Bytes() int
	// Apply writes everything, or nothing: the error is a *tools.PathError when somebody else has changed a file meanwhile.
	Apply(tx *commit.Tx, turn *models.TurnID) error
}

// settled is a call that has ended.
type settled struct {
	call       turns.Call
	result     tools.Result
	writes     Writes
	durationMs int64
	// runs are the hooks that have seen the result.
	runs []hooks.Ran
	// announced are waits that the tool has asked keys for, and that nobody waits for now.
	announced []models.WaitID
	// shown is the result as it was committed.
	shown tools.Result
}

// settleCalls ends calls, each with all that it wrote to the session, and starts others that have waited for them. The last one ends
// the act, or parks the turn when what is left waits for somebody.
type settleCalls struct {
	writer
	list []settled
	// begin are the calls to start, begun those that were started.
	begin, begun []turns.Call
}

func (c *settleCalls) Needs() commit.Needs {
	n := c.needs(0, true)
	for _, s := range c.list {
		n.Bytes += 2048 + 3*(len(s.result.JSON)+len(s.result.ToolError))
		n.WaitIDs = append(n.WaitIDs, s.announced...)
		if s.writes != nil && !s.result.Failed() {
			n.Files = append(n.Files, s.writes.Needs()...)
			n.Bytes += s.writes.Bytes()
		}
	}
	return n
}

func (c *settleCalls) Apply(tx *commit.Tx) error {
	t := tx.Turn
	if t.PendingCalls < len(c.list) {
		return errors.New("calls settle that are not those that are pending")
	}
	for i := range c.list {
		if err := c.list[i].settle(tx); err != nil {
			return err
		}
	}
	c.begun = startAll(tx, c.begin)
	return c.goOn(tx)
}

func (s *settled) settle(tx *commit.Tx) error {
	t := tx.Turn
	s.shown = s.result
	if s.writes != nil && !s.result.Failed() {
		// Somebody else may have changed a file since the tool looked: then the call has failed, and wrote nothing.
		if err := s.writes.Apply(tx, &t.ID); err != nil {
			var refused *tools.PathError
			if !errors.As(err, &refused) {
				return err
			}
			s.shown = tools.Fail(refused.Code + ": " + refused.Message)
			s.shown.Measures = s.result.Measures
		}
	}
	ranEvents(tx, &t.ID, s.call.Record.CallID, s.runs)
	turns.Forget(tx, s.announced)
	s.call.Settle(tx, s.shown, s.durationMs)
	t.PendingCalls--
	return nil
}

// goOn ends the act when no call is pending, and parks the turn when all that are wait.
func (w *writer) goOn(tx *commit.Tx) error {
	t := tx.Turn
	t.Takeovers = 0
	t.Attention = false
	if t.PendingCalls == 0 {
		tx.Emit(&t.ID, events.ActCompleted{Iteration: t.Iteration})
		if err := tx.Release(); err != nil {
			return err
		}
		return w.follow(tx, Acted{})
	}
	w.plan = nil
	// A turn of which the end was asked for is not parked: its runner ends it.
	var err error
	if t.Cancel == nil {
		err = turns.Rest(tx, w.clients)
	}
	w.done(tx, t)
	return err
}

// startAll marks calls as running and returns those that are: none when the end of the turn was asked for.
func startAll(tx *commit.Tx, calls []turns.Call) (begun []turns.Call) {
	if tx.Turn.Cancel != nil {
		return nil
	}
	for _, o := range calls {
		o.Start(tx)
		tx.SaveEffect(o.Effect)
	}
	return calls
}

// startCalls starts claimed calls when none is running that could start them by settling. Without any it parks the turn if nothing else is
// left of it.
type startCalls struct {
	writer
	// begin and begun are as in settleCalls.
	begin, begun []turns.Call
}

func (c *startCalls) Needs() commit.Needs { return c.needs(1024*(1+len(c.begin)), true) }

func (c *startCalls) Apply(tx *commit.Tx) error {
	if tx.Turn.PendingCalls == 0 {
		// Whoever has resolved the last one has ended the act.
		c.begun = nil
		return c.follow(tx, Acted{})
	}
	c.begun = startAll(tx, c.begin)
	return c.goOn(tx)
}

// parkCall makes a call wait whose tool has said that its result comes from elsewhere.
type parkCall struct {
	writer
	call turns.Call
	// wait was announced before; its deadline and request are those that the tool has given. Or it is the approval of the payment, about
	// which people are asked now.
	wait    models.WaitID
	payment *models.PaymentTerms
	until   *models.Millis
	// failTurn tells what happens when nobody resolves it in time.
	failTurn bool
	// begin and begun are as in settleCalls.
	begin, begun []turns.Call
	// again is true when what it waited for is there: the call goes on, as next.
	again bool
	next  turns.Call
}

func (c *parkCall) Needs() commit.Needs {
	n := c.needs(4096, true)
	n.Waits, n.WaitIDs = true, []models.WaitID{c.wait}
	return n
}

func (c *parkCall) Apply(tx *commit.Tx) error {
	c.again = false
	call := c.call
	if err := c.hold(tx, &call); err != nil {
		return err
	}
	c.begun = startAll(tx, c.begin)
	return c.goOn(tx)
}

func (c *parkCall) hold(tx *commit.Tx, call *turns.Call) error {
	w, ok := tx.Wait(c.wait)
	switch {
	case !ok && c.payment != nil:
		call.RequestPayment(tx, *c.payment)
	case !ok:
		return errors.New("a call waits for something that was never announced")
	case w.State == models.WaitOpen && turns.ReadRequest(w).Parked:
		// An earlier try was committed, without an event that could have told it, and its reply got lost.
		return nil
	case w.State == models.WaitOpen:
		if c.until != nil {
			w.Deadline = c.until
		}
		r := turns.ReadRequest(w)
		r.FailTurn = c.failTurn
		call.Hold(tx, w, r)
	case turns.RunsAgain(w):
		c.again = true
		call.Effect.State = models.EffectClaimed
		c.next = *call
	case call.Record.Reviewed && (w.State == models.WaitOK || w.State == models.WaitError):
		c.again = true
		call.Bring(tx, turns.ResultOf(w, turns.ReadResolution(w)))
		c.next = *call
		return nil
	default:
		call.Settle(tx, turns.ResultOf(w, turns.ReadResolution(w)), 0)
		tx.Turn.PendingCalls--
		return nil
	}
	tx.SaveEffect(call.Effect)
	return nil
}

// retryCall begins another attempt of a call whose last one has failed without an effect.
type retryCall struct {
	writer
	call turns.Call
}

func (c *retryCall) Needs() commit.Needs { return c.needs(512, true) }

func (c *retryCall) Apply(tx *commit.Tx) error {
	tx.SaveEffect(c.call.Effect)
	return c.goOn(tx)
}

// beginAttempt marks another attempt of a call as running, when it was waited for.
type beginAttempt struct {
	writer
	effect models.Effect
}

func (c *beginAttempt) Needs() commit.Needs { return c.needs(512, false) }

func (c *beginAttempt) Apply(tx *commit.Tx) error {
	if tx.Turn.Cancel != nil {
		return errCancelled
	}
	tx.SaveEffect(c.effect)
	return nil
}

// gated is what hooks and policies have made of a call.
type gated struct {
	call     turns.Call
	refused  *tools.Result
	approval *turns.Approval
	runs     []hooks.Ran
}

// gateCalls commits what hooks and policies have decided about calls.
type gateCalls struct {
	writer
	list []gated
}

func (c *gateCalls) Needs() commit.Needs {
	n := 1024
	for _, g := range c.list {
		n += 1024 + 2*len(g.call.Record.Frozen.Arguments)
	}
	return c.needs(n, true)
}

func (c *gateCalls) Apply(tx *commit.Tx) error {
	t := tx.Turn
	for _, g := range c.list {
		call := g.call
		ranEvents(tx, &t.ID, call.Record.CallID, g.runs)
		call.Record.Ungated, call.Record.Decided = false, nil
		call.Effect.InputHash, call.Effect.Request = call.Record.Frozen.InputHash(), jsonx.MustEncode(call.Record)
		if g.refused == nil && g.approval != nil {
			call.RequestApproval(tx, *g.approval)
		}
		tx.AmendEffect(call.Effect)
		switch {
		case g.refused != nil:
			call.Settle(tx, *g.refused, 0)
			t.PendingCalls--
		case g.approval == nil && call.Record.Frozen.Hints.Wait == tools.WaitQuestion:
			call.AskUser(tx)
			tx.SaveEffect(call.Effect)
		}
	}
	return c.goOn(tx)
}

// ranEvents tells of hooks that ran.
func ranEvents(tx *commit.Tx, turn *models.TurnID, callID string, runs []hooks.Ran) {
	for _, ran := range runs {
		tx.Emit(turn, events.HookRan{
			HookID: ran.HookID, Event: string(ran.Event), Decision: string(ran.Decision), Reason: ran.Reason, ToolCallID: callID,
			DurationMs: ran.DurationMs, Error: ran.Failure,
		})
	}
}

type announceWait struct {
	writer
	call     turns.Call
	id       models.WaitID
	kind     models.WaitKind
	identity string
}

func (c *announceWait) Needs() commit.Needs {
	n := c.needs(512, false)
	n.WaitIDs = []models.WaitID{c.id}
	return n
}

func (c *announceWait) Apply(tx *commit.Tx) error {
	if _, known := tx.Wait(c.id); known {
		return nil
	}
	c.call.Announce(tx, c.id, c.kind, c.identity)
	return nil
}
