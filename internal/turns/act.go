package turns

import (
	"errors"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Writes is what a call writes to the session, in the commit that settles it.
type Writes interface {
	Needs() []commit.FileNeed
	// Bytes is about how much is written.
	Bytes() int
	// Apply writes everything, or nothing: the error is a *tools.PathError when somebody else has changed a file meanwhile.
	Apply(tx *commit.Tx, turn *models.TurnID) error
}

// Settled is a call that has ended.
type Settled struct {
	Call       Call
	Result     tools.Result
	Writes     Writes
	DurationMs int64
	// Runs are the hooks that have seen the result.
	Runs []hooks.Ran
	// Announced are waits that the tool has asked keys for, and that nobody waits for now.
	Announced []models.WaitID
	// Shown is the result as it was committed.
	Shown tools.Result
}

// SettleCalls ends calls, each with all that it wrote to the session, and starts others that have waited for them. The last one ends
// the act, or parks the turn when what is left waits for somebody.
type SettleCalls struct {
	Writer
	List []Settled
	// Begin are the calls to start, Begun those that were started.
	Begin, Begun []Call
}

// Needs implements commit.Command.
func (c *SettleCalls) Needs() commit.Needs {
	n := c.needs(0, true)
	for _, s := range c.List {
		n.Bytes += 2048 + 3*(len(s.Result.JSON)+len(s.Result.ToolError))
		n.WaitIDs = append(n.WaitIDs, s.Announced...)
		if s.Writes != nil && !s.Result.Failed() {
			n.Files = append(n.Files, s.Writes.Needs()...)
			n.Bytes += s.Writes.Bytes()
		}
	}
	return n
}

// Apply implements commit.Command.
func (c *SettleCalls) Apply(tx *commit.Tx) error {
	t := tx.Turn
	if t.PendingCalls < len(c.List) {
		return errors.New("calls settle that are not those that are pending")
	}
	for i := range c.List {
		if err := c.List[i].settle(tx); err != nil {
			return err
		}
	}
	c.Begun = startAll(tx, c.Begin)
	return c.goOn(tx)
}

func (s *Settled) settle(tx *commit.Tx) error {
	t := tx.Turn
	s.Shown = s.Result
	if s.Writes != nil && !s.Result.Failed() {
		// Somebody else may have changed a file since the tool looked: then the call has failed, and wrote nothing.
		if err := s.Writes.Apply(tx, &t.ID); err != nil {
			var refused *tools.PathError
			if !errors.As(err, &refused) {
				return err
			}
			s.Shown = tools.Fail(refused.Code + ": " + refused.Message)
			s.Shown.Measures = s.Result.Measures
		}
	}
	ranEvents(tx, &t.ID, s.Call.Record.CallID, s.Runs)
	Forget(tx, s.Announced)
	s.Call.Settle(tx, s.Shown, s.DurationMs)
	t.PendingCalls--
	return nil
}

// goOn ends the act when no call is pending, and parks the turn when all that are wait.
func (w *Writer) goOn(tx *commit.Tx) error {
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
	w.Plan = nil
	// A turn of which the end was asked for is not parked: its runner ends it.
	var err error
	if t.Cancel == nil {
		err = Rest(tx, w.Clients)
	}
	w.done(tx, t)
	return err
}

// startAll marks calls as running and returns those that are: none when the end of the turn was asked for.
func startAll(tx *commit.Tx, calls []Call) (begun []Call) {
	if tx.Turn.Cancel != nil {
		return nil
	}
	for _, o := range calls {
		o.Start(tx)
		tx.SaveEffect(o.Effect)
	}
	return calls
}

// StartCalls starts claimed calls when none is running that could start them by settling. Without any it parks the turn if nothing else is
// left of it.
type StartCalls struct {
	Writer
	// Begin and Begun are as in SettleCalls.
	Begin, Begun []Call
}

// Needs implements commit.Command.
func (c *StartCalls) Needs() commit.Needs { return c.needs(1024*(1+len(c.Begin)), true) }

// Apply implements commit.Command.
func (c *StartCalls) Apply(tx *commit.Tx) error {
	if tx.Turn.PendingCalls == 0 {
		// Whoever has resolved the last one has ended the act.
		c.Begun = nil
		return c.follow(tx, Acted{})
	}
	c.Begun = startAll(tx, c.Begin)
	return c.goOn(tx)
}

// ParkCall makes a call wait whose tool has said that its result comes from elsewhere.
type ParkCall struct {
	Writer
	Call Call
	// Wait was announced before; its deadline and request are those that the tool has given. Or it is the approval of the payment, about
	// which people are asked now.
	Wait    models.WaitID
	Payment *models.PaymentTerms
	Until   *models.Millis
	// FailTurn tells what happens when nobody resolves it in time.
	FailTurn bool
	// Begin and Begun are as in SettleCalls.
	Begin, Begun []Call
	// Again is true when what it waited for is there: the call goes on, as Next.
	Again bool
	Next  Call
}

// Needs implements commit.Command.
func (c *ParkCall) Needs() commit.Needs {
	n := c.needs(4096, true)
	n.Waits, n.WaitIDs = true, []models.WaitID{c.Wait}
	return n
}

// Apply implements commit.Command.
func (c *ParkCall) Apply(tx *commit.Tx) error {
	c.Again = false
	call := c.Call
	if err := c.hold(tx, &call); err != nil {
		return err
	}
	c.Begun = startAll(tx, c.Begin)
	return c.goOn(tx)
}

func (c *ParkCall) hold(tx *commit.Tx, call *Call) error {
	w, ok := tx.Wait(c.Wait)
	switch {
	case !ok && c.Payment != nil:
		call.RequestPayment(tx, *c.Payment)
	case !ok:
		return errors.New("a call waits for something that was never announced")
	case w.State == models.WaitOpen && ReadRequest(w).Parked:
		// An earlier try was committed, without an event that could have told it, and its reply got lost.
		return nil
	case w.State == models.WaitOpen:
		if c.Until != nil {
			w.Deadline = c.Until
		}
		r := ReadRequest(w)
		r.FailTurn = c.FailTurn
		call.Hold(tx, w, r)
	case runsAgain(w):
		c.Again = true
		call.Effect.State = models.EffectClaimed
		c.Next = *call
	case call.Record.Reviewed && (w.State == models.WaitOK || w.State == models.WaitError):
		c.Again = true
		call.Bring(tx, resultOf(w, ReadResolution(w)))
		c.Next = *call
		return nil
	default:
		call.Settle(tx, resultOf(w, ReadResolution(w)), 0)
		tx.Turn.PendingCalls--
		return nil
	}
	tx.SaveEffect(call.Effect)
	return nil
}

// RetryCall begins another attempt of a call whose last one has failed without an effect.
type RetryCall struct {
	Writer
	Call Call
}

// Needs implements commit.Command.
func (c *RetryCall) Needs() commit.Needs { return c.needs(512, true) }

// Apply implements commit.Command.
func (c *RetryCall) Apply(tx *commit.Tx) error {
	tx.SaveEffect(c.Call.Effect)
	return c.goOn(tx)
}

// BeginAttempt marks another attempt of a call as running, when it was waited for.
type BeginAttempt struct {
	Writer
	Effect models.Effect
}

// Needs implements commit.Command.
func (c *BeginAttempt) Needs() commit.Needs { return c.needs(512, false) }

// Apply implements commit.Command.
func (c *BeginAttempt) Apply(tx *commit.Tx) error {
	if tx.Turn.Cancel != nil {
		return ErrCancelled
	}
	tx.SaveEffect(c.Effect)
	return nil
}

// Gated is what hooks and policies have made of a call.
type Gated struct {
	Call     Call
	Refused  *tools.Result
	Approval *Approval
	Runs     []hooks.Ran
}

// GateCalls commits what hooks and policies have decided about calls.
type GateCalls struct {
	Writer
	List []Gated
}

// Needs implements commit.Command.
func (c *GateCalls) Needs() commit.Needs {
	n := 1024
	for _, g := range c.List {
		n += 1024 + 2*len(g.Call.Record.Frozen.Arguments)
	}
	return c.needs(n, true)
}

// Apply implements commit.Command.
func (c *GateCalls) Apply(tx *commit.Tx) error {
	t := tx.Turn
	for _, g := range c.List {
		call := g.Call
		ranEvents(tx, &t.ID, call.Record.CallID, g.Runs)
		call.Record.Ungated, call.Record.Decided = false, nil
		call.Effect.InputHash, call.Effect.Request = call.Record.Frozen.InputHash(), jsonx.MustEncode(call.Record)
		if g.Refused == nil && g.Approval != nil {
			call.RequestApproval(tx, *g.Approval)
		}
		tx.AmendEffect(call.Effect)
		switch {
		case g.Refused != nil:
			call.Settle(tx, *g.Refused, 0)
			t.PendingCalls--
		case g.Approval == nil && call.Record.Frozen.Hints.Wait == tools.WaitQuestion:
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

// AnnounceWait makes a wait that a tool has asked a key for.
type AnnounceWait struct {
	Writer
	Call     Call
	ID       models.WaitID
	Kind     models.WaitKind
	Identity string
}

// Needs implements commit.Command.
func (c *AnnounceWait) Needs() commit.Needs {
	n := c.needs(512, false)
	n.WaitIDs = []models.WaitID{c.ID}
	return n
}

// Apply implements commit.Command.
func (c *AnnounceWait) Apply(tx *commit.Tx) error {
	if _, known := tx.Wait(c.ID); known {
		return nil
	}
	c.Call.Announce(tx, c.ID, c.Kind, c.Identity)
	return nil
}
