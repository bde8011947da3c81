package runtime

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// defaultOutput is the output limit of a call under a budget for which nothing else says one: without a limit nobody could tell what
	// it may cost.
	defaultOutput = 8192
	// toolBytes is what a tool takes of a prompt beside its texts.
	toolBytes = 64
	// inboxBytes is what is reserved for messages that join the conversation with the step: they aren't read before. If they take more,
	// it is reserved before the call.
	inboxBytes = 4096
	// budgetPause is between two looks whether other turns have given back what a call needs that is to be made again.
	budgetPause = 250 * time.Millisecond
)

const (
	// mostTokens and mostCost, a million dollars, are more than any call takes. Providers tell what they like, and sums of it must not
	// overflow.
	mostTokens              = 1_000_000_000_000
	mostCost   models.Nanos = 1_000_000_000_000_000
)

// plausible returns what a provider has told without what makes no sense.
func plausible(u models.Usage) models.Usage {
	for _, n := range []*int64{&u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens} {
		*n = min(max(*n, 0), mostTokens)
	}
	return u
}

// budgeted reports whether the present step may have to do with budgets.
func (r *turnRun) budgeted() bool {
	return r.turn.Reservation != nil || r.session != nil && r.session.budgeted
}

// demand bounds what a call of a model takes, with so many bytes that the conversation is still to get.
func (r *turnRun) demand(m *models.Model, grows int) *budget.Call {
	return r.callOf(m, r.conversation.size(contextBytes(r.step.effective, m))+grows)
}

// callOf bounds what a call of a model takes that is shown so many bytes of a conversation. A token is a byte at least.
func (r *turnRun) callOf(m *models.Model, shown int) *budget.Call {
	eff := r.step.effective
	input := len(eff.SystemPrompt) + shown
	for _, t := range eff.Toolset.Manifests() {
		input += len(t.Name) + len(t.Description) + len(t.InputSchema) + toolBytes
	}
	output := outputLimit(m, r.turn.MaxTokens)
	if output == 0 {
		output = defaultOutput
	}
	return &budget.Call{
		InputTokens: int64(input), MaxTokens: output,
		Input: m.PriceInput, Output: m.PriceOutput, CacheRead: m.PriceCacheRead, CacheWrite: m.PriceCacheWrite,
	}
}

// outputLimit is the smaller one of what a model can and what the message asks for; 0 for none.
func outputLimit(m *models.Model, asked *int) int {
	limit := models.Value(m.MaxOutputTokens)
	if asked != nil && (limit == 0 || *asked < limit) {
		limit = *asked
	}
	return limit
}

// reserve has the budgets decide whether a reason step may begin, and holds what its call takes at most. When it may not, the turn is
// parked, or ends.
func (w *writer) reserve(tx *commit.Tx) (begin bool, err error) {
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
	if w.call == nil {
		// There were none when the runner has looked. It works out what the call takes, and comes again.
		w.plan, t.Phase = nil, models.PhaseAct
		return false, nil
	}
	v, paused := budget.Pauses(list, tx.Session.ResumedAt)
	if !paused {
		v = budget.Reserve(list, *w.call, budget.Asker{Resumed: tx.Session.ResumedAt, Waited: waited}, list[0].AllowUnpriced)
	}
	switch v.Kind {
	case budget.Go:
		if len(v.Held) == 0 {
			return true, nil
		}
		return true, hold.Hold(tx, v.Held, models.Reservation{ModelID: w.cfg.model.ID, MaxTokens: v.MaxTokens, InputTokens: w.call.InputTokens})
	case budget.Wait, budget.Paused:
		// It is between two steps: whoever goes on begins the next one.
		w.plan, t.Phase = nil, models.PhaseAct
		return false, turns.ParkForBudget(tx, v, waited)
	case budget.Exhausted:
		w.plan = Spent{Failure: hold.Exhaust(tx, v)}.end()
	case budget.Unpriced:
		w.plan = Failed{Stop: models.StopError, Failure: unpriced(&w.cfg.model)}.end()
	}
	p := w.plan.(End) //nolint:forcetypeassert // as it was made above
	if t.Iteration == 0 {
		// This is the answer to what the turn was to begin with.
		tx.ConsumeInbox()
	}
	turns.Explain(tx, w.cfg.model.Name, p.Failure)
	return false, w.end(tx, p)
}

// reserveCalls holds what the calls of an answer take at most of what they are metered by. Where other turns hold it none of them runs before
// that comes back; where a budget can't hold it none of them runs, and the turn ends.
func (c *finishReason) reserveCalls(tx *commit.Tx) error {
	c.spent, c.waits = nil, nil
	if c.blocked != nil || c.cancelled || cutOff(c.response.FinishReason) {
		return nil
	}
	var calls []turns.Call
	for _, call := range c.calls {
		if call.refused == nil {
			calls = append(calls, turns.Call{Record: turns.Record{Frozen: call.frozen}})
		}
	}
	v, err := turns.ReserveCalls(tx, calls, models.WaitID{})
	switch v.Kind {
	case budget.Exhausted:
		c.spent = new(hold.Exhaust(tx, v))
	case budget.Wait:
		c.waits = &v
	case budget.Go, budget.Paused, budget.Unpriced:
	}
	return err
}

func unpriced(m *models.Model) models.Failure {
	return models.Failure{
		Code: string(llm.CodeMisconfigured), Fields: encodeJSON(failureFields{Model: m.Name}),
		Message: "The model " + m.Name + " has no price, so its cost can't be counted against a budget in dollars. Set its price, " +
			"choose another model, or allow models without a price in the organization's settings.",
	}
}

// spentError ends a step whose next call a budget can't hold.
type spentError struct{ failure models.Failure }

func (e *spentError) Error() string { return e.failure.Message }

// haltError is what keeps this process from asking on, and is no failure of the model's.
type haltError struct{ err error }

func (e *haltError) Error() string { return e.err.Error() }

// afford makes sure that what the next call takes at most is held, and returns its output limit; 0 for the model's own. What was held when the
// step began is enough for its first call; for those that follow, what the ones before took is settled, and held anew.
func (a *asking) afford(ctx context.Context) (limit int, err error) {
	r := a.r
	if !r.budgeted() {
		return 0, nil
	}
	held := r.turn.Reservation
	if held == nil && !a.again {
		// The budgets are younger than the step.
		return 0, nil
	}
	need := r.demand(&a.model.Model, 0)
	if held != nil && !a.again && held.ModelID == a.model.Model.ID && need.InputTokens <= held.InputTokens {
		return held.MaxTokens, nil
	}
	for {
		c := &reserveAgain{writer: r.writer(), call: *need, asked: askedOf(&a.model.Model), uncounted: r.uncounted}
		c.asked.Before = a.made
		if _, err := r.submit(ctx, c, &c.writer); err != nil {
			return 0, &haltError{err}
		}
		r.uncounted.counted()
		switch c.verdict.Kind {
		case budget.Go:
			if len(c.verdict.Held) == 0 {
				return 0, nil
			}
			return c.verdict.MaxTokens, nil
		case budget.Exhausted:
			return 0, &spentError{c.failure}
		case budget.Unpriced:
			return 0, &llm.Error{Code: llm.CodeMisconfigured, Message: unpriced(&a.model.Model).Message}
		case budget.Wait, budget.Paused:
		}
		// Others hold it, and will give it back. The step has begun, so that it isn't parked.
		if err := a.wait(ctx, budgetPause); err != nil {
			return 0, &haltError{err}
		}
	}
}

// reserveAgain settles what the calls of a reason step took so far, and holds what the next one takes at most.
type reserveAgain struct {
	writer
	call  budget.Call
	asked askedModel
	// uncounted is what the calls took.
	uncounted *uncounted

	// verdict and failure are set anew by each Apply.
	verdict budget.Verdict
	failure models.Failure
}

func (c *reserveAgain) Needs() commit.Needs { return c.needs(2048, false) }

func (c *reserveAgain) Apply(tx *commit.Tx) error {
	t := tx.Turn
	if err := c.uncounted.countSoFar(tx); err != nil {
		return err
	}
	if err := tx.Release(); err != nil {
		return err
	}
	list, err := hold.Binding(tx)
	if err != nil {
		return err
	}
	c.verdict = budget.Verdict{}
	if len(list) > 0 {
		// It is the same step, which soft limits have let through.
		c.verdict = budget.Reserve(list, c.call, budget.Asker{Resumed: tx.Now.Ptr(), Begun: true}, list[0].AllowUnpriced)
	}
	switch {
	case c.verdict.Kind == budget.Go && len(c.verdict.Held) > 0:
		err = hold.Hold(tx, c.verdict.Held, models.Reservation{ModelID: c.asked.ID, MaxTokens: c.verdict.MaxTokens, InputTokens: c.call.InputTokens})
	case c.verdict.Kind == budget.Exhausted:
		c.failure = hold.Exhaust(tx, c.verdict)
	}
	// What was counted now must not be found again, should this runner die: neither in the checkpoint nor as a call of the earlier model.
	// While budgets have no room there is no call that could be lost.
	asked := c.asked
	asked.Waiting = c.verdict.Kind != budget.Go
	e := models.Effect{
		ScopeID: t.ID, ReplayKey: reasonKey(t.Iteration), State: models.EffectRunning, InputHash: modelInputHash(c.cfg, t.ConsumedThrough),
		Request: encodeJSON(asked), Epoch: c.lease.Epoch, Attempt: t.ModelCalls, StartedAt: tx.Now.Ptr(),
	}
	tx.AmendEffect(e)
	tx.SaveEffect(e)
	tx.DropCheckpoint()
	c.done(tx, t)
	return err
}

// meteredCall is a model call that has ended.
type meteredCall struct {
	// n counts the calls since the last commit that counted some, from 1.
	n          int
	model      *catalog.RunModel
	usage      models.Usage
	durationMs int64
	// retries counts the calls of the step that failed before it.
	retries int
}

func (c *meteredCall) fact(turn models.TurnID, number int) hold.Fact {
	return hold.ModelCall(turn, number, models.JournalEntry{
		ModelID: c.model.Model.ID.Ptr(), Model: c.model.Model.Name, Usage: c.usage, DurationMs: c.durationMs, ProviderCost: c.usage.ProviderCost,
	})
}

// meter journals and records the calls, and takes what they cost off what the turn holds; see count. The command that began the step has
// counted the first call.
func (u *uncounted) meter(tx *commit.Tx, answered bool) error {
	t := tx.Turn
	for i, c := range u.calls {
		if err := hold.Meter(tx, c.fact(t.ID, t.ModelCalls+c.n-1)); err != nil {
			return err
		}
		if answered && i == len(u.calls)-1 {
			break
		}
		tx.Emit(&t.ID, events.GenerationRecorded{
			MessageID: *t.OutputMessageID, Model: c.model.Model.Name, ModelID: c.model.Model.ID, Usage: c.usage, DurationMs: c.durationMs,
			FinishReason: finishInterrupted, PromptThrough: u.through, Retries: c.retries,
		})
	}
	t.Usage, tx.Session.Usage = t.Usage.Add(u.usage), tx.Session.Usage.Add(u.usage)
	return nil
}

// countSoFar is count while another call is to follow.
func (u *uncounted) countSoFar(tx *commit.Tx) error {
	if err := u.meter(tx, false); err != nil {
		return err
	}
	tx.Turn.ModelCalls += u.made
	return nil
}

// counted forgets what a commit has counted.
func (u *uncounted) counted() { u.made, u.calls, u.usage = 0, nil, models.Usage{} }
