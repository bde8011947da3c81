package turns

import (
	"math"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// always lets a step go on past soft limits that were passed while it was under way.
const always = models.Millis(math.MaxInt64)

// reserveCalls has the budgets that bind the session decide whether calls of an answer may run, and holds what they take at most if they may.
// waited is what they have waited for; the zero one for nothing.
func reserveCalls(tx *commit.Tx, calls []Call, waited models.WaitID) (budget.Verdict, error) {
	take := map[string]models.Amount{}
	for _, c := range calls {
		for currency, amount := range c.Meters() {
			take[currency] += amount
		}
	}
	list, err := hold.Binding(tx)
	if err != nil || len(list) == 0 || len(take) == 0 {
		return budget.Verdict{}, err
	}
	v := budget.ReserveMeters(list, budget.Asker{Resumed: new(always), Waited: waited}, func(currency string) models.Amount { return take[currency] })
	if v.Kind != budget.Go {
		return v, nil
	}
	// Tools may measure units that they have not declared: whatever they take is taken off the budgets, too, with nothing held.
	for i := range list {
		b := &list[i]
		_, ofModels := budget.CostOf(b.Currency, models.Usage{})
		if _, declared := take[b.Currency]; !declared && !ofModels {
			v.Held = append(v.Held, models.Held{Budget: b.ID})
		}
	}
	if len(v.Held) == 0 {
		return v, nil
	}
	return v, hold.Hold(tx, v.Held, models.Reservation{})
}

// parkForBudget parks the current turn until a budget has room for it; see hold.Wait.
func parkForBudget(tx *commit.Tx, v budget.Verdict, waited models.WaitID) error {
	if !tx.WaitsKnown() {
		return commit.ErrMore
	}
	hold.Wait(tx, v, waited)
	if v.Kind == budget.Paused {
		tx.Pause(summaries(tx), v.Budget.ID)
	} else {
		tx.Park(summaries(tx))
	}
	return nil
}

// WakeForBudget lets a turn go on that waits for a budget, if there is room for it now. Else it looks again later. It reports whether the turn
// goes on.
func WakeForBudget(tx *commit.Tx, w models.Wait) (bool, error) {
	need := hold.Awaited(w)
	if w.State != models.WaitOpen || need == nil || tx.Turn == nil || tx.Turn.ID != w.TurnID {
		return false, nil
	}
	if need.Calls {
		return wakeCalls(tx, w)
	}
	list, err := hold.Binding(tx)
	if err != nil {
		return false, err
	}
	lines, lacks, amount := budget.Headroom(list, *need, budget.Asker{Resumed: tx.Session.ResumedAt, Waited: w.ID})
	if lacks != nil {
		need.Budget, need.Need = lacks.ID, amount
		hold.WaitOn(tx, w, *lacks, need)
		return false, nil
	}
	if err := hold.Hold(tx, lines, models.Reservation{}); err != nil {
		return false, err
	}
	return true, ResumeForBudget(tx, w, models.WaitResolution{ByKind: models.ActorSystem})
}

// wakeCalls lets the calls of an answer go on that wait for a budget, with what they take held for them. Where no budget can hold it any more
// the turn ends.
func wakeCalls(tx *commit.Tx, w models.Wait) (bool, error) {
	calls, err := openCalls(tx)
	if err != nil {
		return false, err
	}
	v, err := reserveCalls(tx, calls, w.ID)
	if err != nil {
		return false, err
	}
	switch v.Kind {
	case budget.Exhausted:
		return true, Seal(tx, "", models.StopBudget, hold.Exhaust(tx, v))
	case budget.Wait:
		hold.WaitOn(tx, w, *v.Budget, &models.BudgetWait{Budget: v.Budget.ID, Calls: true, Need: v.Need, Needs: v.Needs})
		return false, nil
	case budget.Go, budget.Paused, budget.Unpriced:
	}
	return true, ResumeForBudget(tx, w, models.WaitResolution{ByKind: models.ActorSystem})
}

// ResumeForBudget lets a turn go on that waits for a budget; r tells who does. The gate looks at its next step again.
func ResumeForBudget(tx *commit.Tx, w models.Wait, r models.WaitResolution) error {
	if w.State == models.WaitOpen {
		need := hold.Awaited(w)
		hold.Unkeep(tx, w)
		tx.Emit(&w.TurnID, events.BudgetResumed{BudgetID: need.Budget})
		if !need.Calls && tx.Turn != nil && tx.Turn.ID == w.TurnID {
			held := models.Reservation{Lines: []models.Held{}}
			if tx.Turn.Reservation != nil {
				held = *tx.Turn.Reservation
			}
			held.Waited = w.ID
			tx.Turn.Reservation = &held
		}
	}
	return Resolve(tx, w, models.WaitOK, r)
}
