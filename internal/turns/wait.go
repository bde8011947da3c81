package turns

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// ErrResolved means that a wait has ended already: the first resolution has won.
var ErrResolved = errors.New("the wait was resolved already")

// Needs adds what Resolve looks at to the needs of a command.
func Needs(n commit.Needs, ids ...models.WaitID) commit.Needs {
	n.Calls, n.Waits, n.Ends = true, true, true
	n.WaitIDs = append(n.WaitIDs, ids...)
	return n
}

// Park makes a call wait. The turn goes on with its other calls, until Rest finds that there is nothing else.
func (c *Call) Park(tx *commit.Tx, w models.Wait) models.Wait {
	w.ToolCallID, w.ToolName = &c.Record.CallID, &c.Record.Frozen.Name
	if w.ID.IsZero() {
		w.ID = models.NewID[models.WaitEntity]()
	}
	tx.AddWait(w)
	c.hold(tx)
	return w
}

// WaitID returns the id of a wait that follows from what is waited for: whoever announces it again gets the same.
func WaitID(turn models.TurnID, identity string) models.WaitID {
	return models.DerivedID[models.WaitEntity](turn, []byte(identity))
}

// Announce makes a wait that nobody waits for yet: it may be resolved before.
func (c *Call) Announce(tx *commit.Tx, id models.WaitID, kind models.WaitKind, identity string) {
	tx.Turn.Announced = true
	tx.AddWait(models.Wait{
		ID: id, Kind: kind, Identity: identity, ToolCallID: &c.Record.CallID, ToolName: &c.Record.Frozen.Name,
		Request: jsonx.MustEncode(models.WaitRequest{DisplayName: c.Record.Frozen.DisplayName, Arguments: models.JSON(c.Record.Frozen.Arguments)}),
	})
}

// Forget closes waits that a tool announced and nobody waits for: its call has ended another way.
func Forget(tx *commit.Tx, announced []models.WaitID) {
	for _, id := range announced {
		if w, ok := tx.Wait(id); ok && w.State == models.WaitOpen {
			w.State, w.ResolvedAt = models.WaitCancelled, tx.Now.Ptr()
			w.Resolution = jsonx.MustEncode(models.WaitResolution{ErrorMessage: "The call has ended without it."})
			tx.SaveWait(w)
		}
	}
}

// Hold makes a call wait for something that was announced before it.
func (c *Call) Hold(tx *commit.Tx, w models.Wait, r models.WaitRequest) {
	r.Parked = true
	w.Request = jsonx.MustEncode(r)
	tx.SaveWait(w)
	c.hold(tx)
}

func (c *Call) hold(tx *commit.Tx) {
	c.Effect.State = models.EffectWaiting
	tx.Turn.WaitingCalls++
}

// Request hands calls of client tools to the caller's own program.
func Request(tx *commit.Tx, calls []Call) {
	if len(calls) == 0 {
		return
	}
	// They are the command's own, which may be applied again.
	calls = slices.Clone(calls)
	var out events.ToolCallsRequested
	for i := range calls {
		c := &calls[i]
		c.Start(tx)
		w := c.Park(tx, models.Wait{
			Kind: models.WaitClientTool, Identity: CallKey(c.Record.CallID), Deadline: after(tx.Now, c.Record.TimeoutSeconds),
			Request: jsonx.MustEncode(models.WaitRequest{DisplayName: c.Record.Frozen.DisplayName, Arguments: models.JSON(c.Record.Frozen.Arguments), Parked: true}),
		})
		tx.SaveEffect(c.Effect)
		out.ToolCalls = append(out.ToolCalls, events.RequestedCall{
			WaitID: w.ID, ToolCallID: c.Record.CallID, ToolName: c.Record.Frozen.Name, DisplayName: c.Record.Frozen.DisplayName,
			Arguments: models.JSON(c.Record.Frozen.Arguments), Deadline: w.Deadline,
		})
	}
	tx.Emit(&tx.Turn.ID, out)
}

func after(now models.Millis, seconds *int) *models.Millis {
	if seconds == nil {
		return nil
	}
	return (now + models.Millis(*seconds)*1000).Ptr()
}

// AskUser parks a call that is a question until the user has answered it.
func (c *Call) AskUser(tx *commit.Tx) {
	var q struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	// The arguments have passed the tool's schema.
	_ = json.Unmarshal(c.Record.Frozen.Arguments, &q)
	c.Start(tx)
	c.Park(tx, models.Wait{
		Kind: models.WaitQuestion, Identity: CallKey(c.Record.CallID),
		Request: jsonx.MustEncode(models.WaitRequest{DisplayName: c.Record.Frozen.DisplayName, Question: q.Question, Options: q.Options, Parked: true}),
	})
}

// Rest parks the turn when all that is left of it waits. Calls of client tools are requested first: they come after all others. Its error
// must be returned by the command.
func Rest(tx *commit.Tx, clients []Call) error {
	t := tx.Turn
	if t.PendingCalls == 0 || t.PendingCalls-t.WaitingCalls != len(clients) {
		return nil
	}
	if !tx.WaitsKnown() {
		return commit.ErrMore
	}
	Request(tx, clients)
	tx.Park(summaries(tx))
	return nil
}

// summaries returns what a turn that is about to be parked waits for.
func summaries(tx *commit.Tx) []events.WaitSummary {
	list := []events.WaitSummary{}
	for _, w := range parked(tx) {
		r := ReadRequest(w)
		list = append(list, events.WaitSummary{
			ID: w.ID, Kind: w.Kind, ToolCallID: w.ToolCallID, ToolName: w.ToolName, Question: r.Question, Deadline: w.Deadline,
		})
	}
	return list
}

// parked returns the open waits that calls wait for. What was only announced holds nothing up: its call may have gone on without it.
func parked(tx *commit.Tx) []models.Wait {
	return slices.DeleteFunc(tx.OpenWaits(), func(w models.Wait) bool { return !ReadRequest(w).Parked })
}

// ReadRequest reads what a wait asks for. What can't be read asks for nothing.
func ReadRequest(w models.Wait) (r models.WaitRequest) {
	_ = json.Unmarshal(w.Request, &r)
	return r
}

// ReadResolution reads what became of a wait.
func ReadResolution(w models.Wait) (r models.WaitResolution) {
	_ = json.Unmarshal(w.Resolution, &r)
	return r
}

// Resolve ends a wait, with all that follows from it: the call that waits gets its result, or runs, and the turn goes on when something
// of it can. What no call waits for yet is kept until one does. It is ErrResolved when the wait has ended already. Needs must load what
// it looks at.
func Resolve(tx *commit.Tx, w models.Wait, state models.WaitState, r models.WaitResolution) error {
	pending := pendingCalls(tx)
	if err := conclude(tx, w, state, r); err != nil {
		return err
	}
	return goOn(tx, pending)
}

func pendingCalls(tx *commit.Tx) int {
	if tx.Turn == nil {
		return 0
	}
	return tx.Turn.PendingCalls
}

// conclude is Resolve without going on.
func conclude(tx *commit.Tx, w models.Wait, state models.WaitState, r models.WaitResolution) error {
	if w.State != models.WaitOpen {
		return ErrResolved
	}
	w.State, w.Resolution, w.ResolvedAt = state, jsonx.MustEncode(r), tx.Now.Ptr()
	tx.SaveWait(w)
	if tx.Turn == nil || tx.Turn.ID != w.TurnID || w.ToolCallID == nil {
		return nil
	}
	for _, e := range tx.Calls() {
		if e.ReplayKey != CallKey(*w.ToolCallID) || e.State != models.EffectWaiting {
			continue
		}
		c, err := ReadCall(e)
		if err != nil {
			return err
		}
		tx.Turn.WaitingCalls--
		return c.unpark(tx, w, r)
	}
	return nil
}

// unpark does what follows for the call.
func (c *Call) unpark(tx *commit.Tx, w models.Wait, r models.WaitResolution) error {
	switch {
	case runsAgain(w):
		// The tool runs again from its start; what it has done in steps is replayed, and this time the wait has an outcome.
		c.Effect.State = models.EffectClaimed
		tx.SaveEffect(c.Effect)
		return nil
	case w.Kind == models.WaitApproval && w.State == models.WaitOK:
		return c.approved(tx, r)
	case c.Record.Reviewed && w.Kind != models.WaitApproval && (w.State == models.WaitOK || w.State == models.WaitError):
		c.Bring(tx, resultOf(w, r))
		return nil
	}
	tx.Turn.PendingCalls--
	c.Settle(tx, resultOf(w, r), c.waited(tx.Now))
	return nil
}

// goOn resumes a parked turn of which something can go on, and makes the runner of one that runs look at it. Whoever takes the last of the
// calls that were pending ends the act with it: nobody else could tell that it is still open.
func goOn(tx *commit.Tx, pending int) error {
	t := tx.Turn
	if t == nil {
		return nil
	}
	switch {
	case t.Status != models.TurnWaiting:
		tx.Attend()
	case t.PendingCalls > 0 && t.PendingCalls == t.WaitingCalls:
		return nil
	case slices.ContainsFunc(tx.OpenWaits(), func(w models.Wait) bool { return w.Kind == models.WaitBudget }):
		// It was a key that nobody waits for any more: money has to come for the turn still.
		return nil
	default:
		tx.Resume()
	}
	if pending > 0 && t.PendingCalls == 0 {
		tx.Emit(&t.ID, events.ActCompleted{Iteration: t.Iteration})
	}
	return nil
}

// resultOf returns the result of a call whose wait has ended, as the model is shown it.
func resultOf(w models.Wait, r models.WaitResolution) tools.Result {
	switch w.State {
	case models.WaitOK:
		value := r.Value
		if len(value) == 0 {
			value = models.JSON("null")
		}
		return tools.View(tools.Result{JSON: json.RawMessage(value)})
	case models.WaitError:
		return tools.View(tools.Fail(fmt.Sprintf("%s: %s", r.ErrorCode, r.ErrorMessage)))
	case models.WaitTimeout:
		if w.Kind == models.WaitApproval {
			return tools.Fail("approval_expired: The approval of this call expired, so it did not run.")
		}
		return tools.Fail("timeout: No result arrived in time.")
	case models.WaitCancelled, models.WaitOpen:
	}
	if r.ErrorMessage != "" {
		return tools.Fail(r.ErrorMessage)
	}
	return tools.Fail("cancelled: The call was cancelled before it had a result.")
}

// interruptWaits ends what the current turn waits for, when it waits for nothing but its client's results and the user's answers: the
// user has said something else. It reports whether it did.
func interruptWaits(tx *commit.Tx) (bool, error) {
	open := parked(tx)
	if tx.Turn.Status != models.TurnWaiting || len(open) == 0 || slices.ContainsFunc(open, func(w models.Wait) bool {
		return w.Kind != models.WaitClientTool && w.Kind != models.WaitQuestion
	}) {
		return false, nil
	}
	pending := pendingCalls(tx)
	for _, w := range open {
		err := conclude(tx, w, models.WaitCancelled, models.WaitResolution{
			ErrorMessage: "interrupted: The user has sent another message instead. Whether the call took effect is unknown.",
		})
		if err != nil {
			return false, err
		}
	}
	return true, goOn(tx, pending)
}

// Expire ends a wait whose deadline has passed. It changes nothing when the wait has ended, or has more time.
func Expire(tx *commit.Tx, w models.Wait) error {
	if w.State != models.WaitOpen || w.Deadline == nil || *w.Deadline > tx.Now {
		return nil
	}
	if w.Kind == models.WaitBudget {
		_, err := WakeForBudget(tx, w)
		return err
	}
	current, fails := tx.Turn != nil && tx.Turn.ID == w.TurnID, ReadRequest(w).FailTurn
	if current && fails && tx.Turn.Status != models.TurnWaiting {
		// Other calls are at work. When they have ended, the turn is parked, and fails then.
		return nil
	}
	if w.Kind == models.WaitApproval && current {
		tx.Emit(&w.TurnID, decided(w, "EXPIRED", models.ApprovalDecision{ActorKind: models.ActorSystem}, nil))
	}
	if !fails || !current {
		return Resolve(tx, w, models.WaitTimeout, models.WaitResolution{ByKind: models.ActorSystem})
	}
	if err := conclude(tx, w, models.WaitTimeout, models.WaitResolution{ByKind: models.ActorSystem}); err != nil {
		return err
	}
	// It was the last one: the act is over before the turn fails, and has nothing left to close.
	if tx.Turn.PendingCalls == 0 {
		tx.Emit(&w.TurnID, events.ActCompleted{Iteration: tx.Turn.Iteration})
	}
	return Fail(tx, "", models.StopError, models.Failure{
		Code: "wait_timeout", Message: fmt.Sprintf("What the call of %s waited for did not arrive in time. Send a message to continue.", models.Value(w.ToolName)),
	})
}

// Deadline returns when a wait that begins now ends.
func Deadline(now models.Millis, d time.Duration) *models.Millis {
	if d <= 0 {
		return nil
	}
	return (now + models.Millis(d.Milliseconds())).Ptr()
}
