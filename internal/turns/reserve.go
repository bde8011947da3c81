package turns

import (
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// reserve has the budgets decide whether a reason step may begin, and holds what its call takes at most. When it may not, the turn is
// parked, or ends.
func (w *Writer) reserve(tx *commit.Tx) (begin bool, err error) {
	waited := hold.Waited(tx.Turn)
	// Calls that others have ended may have left something, and what was held for this step since it waited is weighed anew.
	if err := tx.Release(); err != nil {
		return false, err
	}
	list, err := hold.Binding(tx)
	if err != nil || len(list) == 0 {
		return err == nil, err
	}
	t := tx.Turn
	if w.Demand == nil {
		// There were none when the runner has looked. It works out what the call takes, and comes again.
		w.Plan, t.Phase = nil, models.PhaseAct
		return false, nil
	}
	v, paused := budget.Pauses(list, tx.Session.ResumedAt)
	if !paused {
		v = budget.Reserve(list, *w.Demand, budget.Asker{Resumed: tx.Session.ResumedAt, Waited: waited}, list[0].AllowUnpriced)
	}
	switch v.Kind {
	case budget.Go:
		if len(v.Held) == 0 {
			return true, nil
		}
		return true, hold.Hold(tx, v.Held, models.Reservation{ModelID: w.Config.Model.ID, MaxTokens: v.MaxTokens, InputTokens: w.Demand.InputTokens})
	case budget.Wait, budget.Paused:
		// It is between two steps: whoever goes on begins the next one.
		w.Plan, t.Phase = nil, models.PhaseAct
		return false, parkForBudget(tx, v, waited)
	case budget.Exhausted:
		w.Plan = Spent{Failure: hold.Exhaust(tx, v)}.end()
	case budget.Unpriced:
		w.Plan = Failed{Stop: models.StopError, Failure: Unpriced(&w.Config.Model)}.end()
	}
	p := w.Plan.(End) //nolint:forcetypeassert // as it was made above
	if t.Iteration == 0 {
		// This is the answer to what the turn was to begin with.
		tx.ConsumeInbox()
	}
	explain(tx, w.Config.Model.Name, p.Failure)
	return false, w.end(tx, p)
}

// reserveCalls holds what the calls of an answer take at most of what they are metered by. Where other turns hold it none of them runs before
// that comes back; where a budget can't hold it none of them runs, and the turn ends.
func (c *FinishReason) reserveCalls(tx *commit.Tx) error {
	c.spent, c.waits = nil, nil
	if c.Blocked != nil || c.cancelled || CutOff(c.Response.FinishReason) {
		return nil
	}
	var calls []Call
	for _, call := range c.Calls {
		if call.Refused == nil {
			calls = append(calls, Call{Record: Record{Frozen: call.Frozen}})
		}
	}
	v, err := reserveCalls(tx, calls, models.WaitID{})
	switch v.Kind {
	case budget.Exhausted:
		c.spent = new(hold.Exhaust(tx, v))
	case budget.Wait:
		c.waits = &v
	case budget.Go, budget.Paused, budget.Unpriced:
	}
	return err
}

// Unpriced is the failure of a model without a price under a budget in dollars.
func Unpriced(m *models.Model) models.Failure {
	return models.Failure{
		Code: string(llm.CodeMisconfigured), Fields: jsonx.MustEncode(FailureFields{Model: m.Name}),
		Message: "The model " + m.Name + " has no price, so its cost can't be counted against a budget in dollars. Set its price, " +
			"choose another model, or allow models without a price in the organization's settings.",
	}
}

// ReserveAgain settles what the calls of a reason step took so far, and holds what the next one takes at most.
type ReserveAgain struct {
	Writer
	Call  budget.Call
	Asked AskedModel
	// Uncounted is what the calls took.
	Uncounted *Uncounted

	// Verdict and Failure are set anew by each Apply.
	Verdict budget.Verdict
	Failure models.Failure
}

// Needs implements commit.Command.
func (c *ReserveAgain) Needs() commit.Needs { return c.needs(2048, false) }

// Apply implements commit.Command.
func (c *ReserveAgain) Apply(tx *commit.Tx) error {
	t := tx.Turn
	if err := c.Uncounted.countSoFar(tx); err != nil {
		return err
	}
	if err := tx.Release(); err != nil {
		return err
	}
	list, err := hold.Binding(tx)
	if err != nil {
		return err
	}
	c.Verdict = budget.Verdict{}
	if len(list) > 0 {
		// It is the same step, which soft limits have let through.
		c.Verdict = budget.Reserve(list, c.Call, budget.Asker{Resumed: tx.Now.Ptr(), Begun: true}, list[0].AllowUnpriced)
	}
	switch {
	case c.Verdict.Kind == budget.Go && len(c.Verdict.Held) > 0:
		err = hold.Hold(tx, c.Verdict.Held, models.Reservation{ModelID: c.Asked.ID, MaxTokens: c.Verdict.MaxTokens, InputTokens: c.Call.InputTokens})
	case c.Verdict.Kind == budget.Exhausted:
		c.Failure = hold.Exhaust(tx, c.Verdict)
	}
	// What was counted now must not be found again, should this runner die: neither in the checkpoint nor as a call of the earlier model.
	// While budgets have no room there is no call that could be lost.
	asked := c.Asked
	asked.Waiting = c.Verdict.Kind != budget.Go
	e := models.Effect{
		ScopeID: models.ExecutionID(t.ID), ReplayKey: ReasonKey(t.Iteration), State: models.EffectRunning, InputHash: modelInputHash(c.Config, t.ConsumedThrough),
		Request: jsonx.MustEncode(asked), Epoch: c.Lease.Epoch, Attempt: t.ModelCalls, StartedAt: tx.Now.Ptr(),
	}
	tx.AmendEffect(e)
	tx.SaveEffect(e)
	tx.DropCheckpoint()
	c.done(tx, t)
	return err
}
