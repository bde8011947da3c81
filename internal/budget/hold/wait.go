package hold

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// Waited returns what the current turn has waited for last, if the step that it was for hasn't begun yet. The zero one stands for nothing.
func Waited(t *models.Turn) (id models.WaitID) {
	if t.Reservation != nil {
		id = t.Reservation.Waited
	}
	return id
}

// Awaited returns what a wait needs of budgets; nil when it is for something else.
func Awaited(w models.Wait) *models.BudgetWait {
	var r models.WaitRequest
	_ = json.Unmarshal(w.Request, &r) // what can't be read asks for nothing
	return r.Budget
}

// Wait makes the current turn wait until a budget has room for its next step, or for the calls of its present one, of which none has begun; whoever
// calls it parks the turn. waited is what it has waited for before: it keeps that one's place.
func Wait(tx *commit.Tx, v budget.Verdict, waited models.WaitID) {
	b, paused := *v.Budget, v.Kind == budget.Paused
	w := models.Wait{ID: models.NewID[models.WaitEntity](), Kind: models.WaitBudget, Request: jsonx.MustEncode(models.WaitRequest{
		Parked: true, Budget: &models.BudgetWait{Budget: b.ID, Paused: paused, Calls: tx.Turn.PendingCalls > 0, Need: v.Need, Needs: v.Needs},
	})}
	if !waited.IsZero() {
		w.ID = budget.AtPlaceOf(w.ID, waited)
	}
	w.Identity = "budget/" + w.ID.String()
	w.Deadline = budget.LookAgain(&b, tx.Now)
	if paused && b.SoftPassedAt == nil {
		b.SoftPassedAt = tx.Now.Ptr() // by a limit that was lowered
	}
	b.Contended = true
	tx.SaveBudget(b)
	tx.AddWait(w)
	if paused {
		tx.Emit(&tx.Turn.ID, events.BudgetPaused{
			BudgetID: b.ID, Subject: b.Subject, Currency: b.Currency, Limit: text(&b, b.LimitAmount), SoftLimit: text(&b, *b.SoftLimit),
			Spent: text(&b, b.Spent), Balance: text(&b, budget.Balance(&b)),
		})
	}
}

// WaitOn lets a turn wait on, maybe for another budget than before.
func WaitOn(tx *commit.Tx, w models.Wait, b models.Budget, need *models.BudgetWait) {
	if !b.Contended {
		// Only then: whoever waits for a budget that has changed is looked at, and this would be a change each time.
		b.Contended = true
		tx.SaveBudget(b)
	}
	if !slices.Equal(need.Needs, Awaited(w).Needs) {
		Unkeep(tx, w) // it was for what the turn has needed before
	}
	w.Deadline = budget.LookAgain(&b, tx.Now)
	w.Request = jsonx.MustEncode(models.WaitRequest{Parked: true, Budget: need})
	tx.SaveWait(w)
}

// KeptFor is how long something is kept at most, in milliseconds, unless it is kept again.
const KeptFor = models.Millis(10_000)

// Keep keeps what a turn that waits for budgets needs from those that came later, until a time, and reports whether it does. idle is how much of
// a budget is held by turns that wait themselves. That may come back in days, so where the turn would need it, nothing is kept and the others go
// on. Its error must be returned by the command.
func Keep(tx *commit.Tx, w models.Wait, until models.Millis, idle func(*models.Budget) models.Amount) (bool, error) {
	if w.State != models.WaitOpen || tx.Turn == nil || tx.Turn.ID != w.TurnID {
		return false, nil
	}
	list, err := Binding(tx)
	if err != nil {
		return false, err
	}
	var kept []models.Budget
	for _, n := range Awaited(w).Needs {
		i := slices.IndexFunc(list, func(b models.Budget) bool { return b.ID == n.Budget })
		if i < 0 {
			continue // it doesn't bind the session any more
		}
		b := list[i]
		if n.Amount > budget.Balance(&b)-idle(&b) {
			return false, nil
		}
		budget.Keep(&b, n.Amount, w.ID, until)
		b.Contended = true
		kept = append(kept, b)
	}
	for _, b := range kept {
		tx.SaveBudget(b)
	}
	return len(kept) > 0, nil
}

// Unkeep ends what is kept for a turn that waits no more.
func Unkeep(tx *commit.Tx, w models.Wait) {
	need := Awaited(w)
	if need == nil {
		return
	}
	for _, n := range need.Needs {
		if b, ok := tx.Budget(n.Budget); ok && b.KeptFor != nil && *b.KeptFor == w.ID {
			budget.Unkeep(&b)
			tx.SaveBudget(b)
		}
	}
}

// Exhaust marks a budget as used up, with its event the first time, and returns why the turn ends.
func Exhaust(tx *commit.Tx, v budget.Verdict) models.Failure {
	b := *v.Budget
	if b.ExhaustedAt == nil {
		b.ExhaustedAt = tx.Now.Ptr()
	}
	tx.SaveBudget(b)
	e := events.BudgetExhausted{
		BudgetID: b.ID, Subject: b.Subject, Currency: b.Currency, Limit: text(&b, b.LimitAmount), Spent: text(&b, b.Spent),
		Balance: text(&b, budget.Balance(&b)), Needed: text(&b, v.Need),
	}
	tx.Emit(&tx.Turn.ID, e)
	f := models.Failure{Code: "budget_exhausted", Message: whyExhausted(&b, v.Need)}
	f.Message += " Top up the budget or raise its limit, then send a message to continue."
	if b.PeriodEndsAt != nil {
		f.Message += fmt.Sprintf(" It resets at %s.", b.PeriodEndsAt.Time().Format(budget.PeriodEndFormat))
	}
	f.Fields = jsonx.MustEncode(map[string]any{
		"budget": b.ID.String(), "subject": b.Subject, "currency": b.Currency, "limit": e.Limit, "spent": e.Spent, "balance": e.Balance,
		"needed": e.Needed, "nextPeriodAt": b.PeriodEndsAt,
	})
	return f
}

// whyExhausted says what a budget had, and how much more the next call needs, which is not to say that it was spent.
func whyExhausted(b *models.Budget, need models.Amount) string {
	left, words := budget.Balance(b), func(a models.Amount) string { return budget.Words(b.Currency, a) }
	if left <= 0 || need <= 0 {
		return fmt.Sprintf("The %s budget of this %s is used up: %s of %s is spent.", b.Currency, subjectName(b.Subject), words(b.Spent), words(b.LimitAmount+b.Credits))
	}
	text := fmt.Sprintf("Too little is left of the %s budget of this %s for the next call: %s of %s.", b.Currency, subjectName(b.Subject), words(left), words(b.LimitAmount+b.Credits))
	if need > left && need < budget.MaxAmount {
		text += fmt.Sprintf(" The call needs about %s more.", words(need-left))
	}
	return text
}

func subjectName(s models.BudgetSubject) string {
	switch s {
	case models.SubjectOrg:
		return "organization"
	case models.SubjectUser:
		return "member"
	case models.SubjectAgent:
		return "agent"
	case models.SubjectCustomer:
		return "customer"
	case models.SubjectSession:
	}
	return "session"
}
