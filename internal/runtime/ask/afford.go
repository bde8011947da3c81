package ask

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// budgetPause is between two looks whether other turns have given back what a call needs that is to be made again.
const budgetPause = 250 * time.Millisecond

const (
	// MostTokens is more than any call takes. Providers tell what they like, and sums of it must not overflow.
	MostTokens = 1_000_000_000_000
	// MostCost is the same in nano-dollars: a million dollars.
	MostCost models.Nanos = 1_000_000_000_000_000
)

// Rated returns what a provider has told that a call took, without what makes no sense, at the prices of the model.
func Rated(m *models.Model, u models.Usage) models.Usage {
	for _, n := range []*int64{&u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens} {
		*n = min(max(*n, 0), MostTokens)
	}
	u = catalog.Rate(m, u)
	u.CostNanos = min(u.CostNanos, MostCost)
	return u
}

// SpentError ends a step whose next call a budget can't hold.
type SpentError struct{ Failure models.Failure }

func (e *SpentError) Error() string { return e.Failure.Message }

// haltError is what keeps this process from asking on, and is no failure of the model's.
type haltError struct{ err error }

func (e *haltError) Error() string { return e.err.Error() }

// afford makes sure that what the next call takes at most is held, and returns its output limit; 0 for the model's own. What was held when the
// step began is enough for its first call; for those that follow, what the ones before took is settled, and held anew.
func (a *Step) afford(ctx context.Context) (limit int, err error) {
	need, held := a.turn.Demand(&a.model.Model), a.turn.Row().Reservation
	if need == nil || held == nil && !a.again {
		// Without budgets, or with some that are younger than the step.
		return 0, nil
	}
	if held != nil && !a.again && held.ModelID == a.model.Model.ID && need.InputTokens <= held.InputTokens {
		return held.MaxTokens, nil
	}
	for {
		c := &turns.ReserveAgain{Call: *need, Asked: turns.AskedOf(&a.model.Model), Uncounted: a.uncounted}
		c.Asked.Before = a.made
		if err := a.turn.Reserve(ctx, c); err != nil {
			return 0, &haltError{err}
		}
		a.uncounted.Counted()
		switch c.Verdict.Kind {
		case budget.Go:
			if len(c.Verdict.Held) == 0 {
				return 0, nil
			}
			return c.Verdict.MaxTokens, nil
		case budget.Exhausted:
			return 0, &SpentError{c.Failure}
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
