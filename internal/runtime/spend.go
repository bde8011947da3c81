package runtime

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/catalog"
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

// rated returns what a provider has told that a call took, without what makes no sense, at the prices of the model.
func rated(m *models.Model, u models.Usage) models.Usage {
	for _, n := range []*int64{&u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens} {
		*n = min(max(*n, 0), mostTokens)
	}
	u = catalog.Rate(m, u)
	u.CostNanos = min(u.CostNanos, mostCost)
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
		c := &turns.ReserveAgain{Writer: r.writer(), Call: *need, Asked: turns.AskedOf(&a.model.Model), Uncounted: r.uncounted}
		c.Asked.Before = a.made
		if _, err := r.submit(ctx, c, &c.Writer); err != nil {
			return 0, &haltError{err}
		}
		r.uncounted.Counted()
		switch c.Verdict.Kind {
		case budget.Go:
			if len(c.Verdict.Held) == 0 {
				return 0, nil
			}
			return c.Verdict.MaxTokens, nil
		case budget.Exhausted:
			return 0, &spentError{c.Failure}
		case budget.Unpriced:
			return 0, &llm.Error{Code: llm.CodeMisconfigured, Message: turns.Unpriced(&a.model.Model).Message}
		case budget.Wait, budget.Paused:
		}
		// Others hold it, and will give it back. The step has begun, so that it isn't parked.
		if err := a.wait(ctx, budgetPause); err != nil {
			return 0, &haltError{err}
		}
	}
}
