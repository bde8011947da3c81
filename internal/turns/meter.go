package turns

import (
	"maps"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/hold"
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
	return models.JournalID(WaitID(*c.turn(), c.Effect.ReplayKey))
}

// Meter adds the fact that the call has run to the journal, in the commit that settles it, and nothing about a call that has not.
// What it took is taken off the budgets that the turn holds something of for its calls, and the call's share is given back.
func (c Call) Meter(tx *commit.Tx, r tools.Result, durationMs int64) {
	turn := *c.turn()
	var took map[string]models.Amount // nothing, when it hasn't run
	f := hold.Fact{JournalEntry: models.JournalEntry{
		ID: c.JournalID(), Kind: models.JournalToolCall, TurnID: &turn, Tool: c.Record.Frozen.Name, DurationMs: durationMs,
	}}
	if c.Ran() {
		took, f.Estimated = c.Measured(r)
	}
	if t := tx.Turn; t != nil && t.ID == turn && t.Reservation != nil && t.Reservation.MaxTokens == 0 {
		shares := c.Meters()
		f.Share = func(currency string, held models.Amount) models.Amount { return min(shares[currency], held) }
		f.Costs = func(currency string) models.Amount { return took[currency] }
		_ = hold.Settle(tx, f) // without the budgets the command comes again, with them
	}
	if c.Ran() {
		delete(took, models.CurrencyToolCalls)
		f.Measures = measures(took)
		tx.Meter(f.JournalEntry, false)
	}
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
