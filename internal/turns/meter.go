package turns

import (
	"maps"
	"slices"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Meters returns what the call takes of currencies at most. Every call takes one of tool_calls.
func (c Call) Meters() map[string]models.Amount {
	most := make(map[string]models.Amount, len(c.Record.Frozen.Meters)+1)
	maps.Copy(most, c.Record.Frozen.Meters)
	most[models.CurrencyToolCalls] = 1
	return most
}

// Measured returns what the call has taken of currencies when it has run with a result. What the tool has not measured is taken to be the
// most that it may be: estimated reports that there is such a currency. It may be more than Meters says.
func (c Call) Measured(r tools.Result) (took map[string]models.Amount, estimated bool) {
	took = c.Meters()
	for currency := range c.Record.Frozen.Meters {
		_, measured := r.Measures[currency]
		switch {
		case measured:
		case c.betweenAttempts():
			took[currency] = 0
		default:
			estimated = true
		}
	}
	maps.Copy(took, r.Measures)
	return took, estimated
}

// Ran reports whether the call has begun, here or where it waits: with its tool, its client or the user. One that was refused before
// has not, nor has one that nobody came to start. A call whose outcome nobody knows has run: whether it took effect or not, it was paid for.
func (c Call) Ran() bool { return c.Effect.StartedAt != nil }

// betweenAttempts reports whether the call ends while it waits for its next attempt: the last one has failed without an effect.
func (c Call) betweenAttempts() bool {
	return c.Effect.State == models.EffectClaimed && c.Effect.DueAt != nil
}

// JournalID returns the id of the fact that the call has run. It follows from the call, so that there is one at most.
func (c Call) JournalID() models.JournalID {
	return models.JournalID(WaitID(c.Effect.ScopeID, c.Effect.ReplayKey))
}

// Meter adds the fact that the call has run to the journal, in the commit that settles it, and nothing about a call that has not.
// What it took is taken off the budgets that the turn holds something of for its calls, and the call's share is given back.
func (c Call) Meter(tx *commit.Tx, r tools.Result, durationMs int64) {
	if !c.Ran() {
		c.settleShare(tx, nil)
		return
	}
	took, estimated := c.Measured(r)
	c.settleShare(tx, took)
	delete(took, models.CurrencyToolCalls)
	turn := c.Effect.ScopeID
	tx.Meter(models.JournalEntry{
		ID: c.JournalID(), Kind: models.JournalToolCall, TurnID: &turn, Tool: c.Record.Frozen.Name, Estimated: estimated, DurationMs: durationMs,
		Measures: measures(took),
	}, false)
}

// settleShare puts what the call took in the place of what the turn holds for it. A call that hasn't run took nothing.
func (c Call) settleShare(tx *commit.Tx, took map[string]models.Amount) {
	t := tx.Turn
	if t == nil || t.ID != c.Effect.ScopeID || t.Reservation == nil || t.Reservation.MaxTokens > 0 {
		return
	}
	held, shares := *t.Reservation, c.Meters()
	held.Lines = slices.Clone(held.Lines)
	for i := range held.Lines {
		line := &held.Lines[i]
		b, ok := tx.Budget(line.Budget)
		if !ok {
			return // the command comes again, with it
		}
		share := min(shares[b.Currency], line.Amount)
		if share == 0 && took[b.Currency] == 0 {
			continue
		}
		budget.Roll(&b, tx.Now)
		cost := took[b.Currency]
		overrun, posted := budget.Settle(&b, line, share, cost, tx.Now)
		if posted.Warned {
			tx.Emit(&t.ID, Warned(&b))
		}
		if cost > 0 {
			tx.Post(models.LedgerEntry{
				BudgetID: b.ID, JournalID: c.JournalID(), Source: models.JournalToolCall, Amount: cost, Overrun: overrun, TurnID: &t.ID,
				PeriodStartedAt: line.Period,
			})
		}
		tx.SaveBudget(b)
	}
	t.Reservation = &held
}

// measures returns what was taken of currencies as the journal keeps it: decimals as text. It is nil for nothing measured.
func measures(took map[string]models.Amount) models.JSON {
	if len(took) == 0 {
		return nil
	}
	list := make(map[string]string, len(took))
	for currency, amount := range took {
		list[currency] = budget.Decimal(currency, amount).String()
	}
	return jsonx.MustEncode(list)
}
