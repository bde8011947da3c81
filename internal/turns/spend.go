package turns

import (
	"fmt"
	"math"
	"slices"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// JournalID returns the id of a fact about a turn, which follows from what it is about: whoever brings it again brings the same.
func JournalID(turn models.TurnID, what string) models.JournalID {
	return models.JournalID(WaitID(turn, "journal/"+what))
}

// Fact is something that was metered in a turn.
type Fact struct {
	models.JournalEntry

	// BeginsTurn is true when it is the turn's first model call.
	BeginsTurn bool
	// Costs returns what it took of a currency; 0 for nothing.
	Costs func(currency string) models.Amount
}

// ModelCall makes the fact of a model call. number counts those of the turn from 1.
func ModelCall(turn models.TurnID, number int, e models.JournalEntry) Fact {
	e.ID, e.Kind = JournalID(turn, fmt.Sprintf("model/%d", number)), models.JournalModelCall
	usage := e.Usage
	return Fact{JournalEntry: e, BeginsTurn: number == 1, Costs: func(currency string) models.Amount {
		cost, _ := budget.CostOf(currency, usage)
		return cost
	}}
}

// Meter journals a fact of the current turn, and takes what it cost off the budgets that the turn holds something of. What it had not
// reserved is posted all the same, and marked as an overrun. Its error must be returned by the command.
func Meter(tx *commit.Tx, f Fact) error {
	t := tx.Turn
	f.TurnID = &t.ID
	tx.Meter(f.JournalEntry, f.BeginsTurn)
	if t.Reservation == nil {
		return nil
	}
	held := *t.Reservation
	held.Lines = append([]models.Held(nil), held.Lines...)
	for i := range held.Lines {
		line := &held.Lines[i]
		b, ok := tx.Budget(line.Budget)
		if !ok {
			return commit.ErrBudgets
		}
		cost := f.Costs(b.Currency)
		if cost <= 0 {
			continue
		}
		budget.Roll(&b, tx.Now)
		overrun, posted := budget.Settle(&b, line, cost, cost, tx.Now)
		tx.SaveBudget(b)
		tx.Post(models.LedgerEntry{
			BudgetID: b.ID, JournalID: f.ID, Source: f.Kind, Amount: cost, Overrun: overrun, TurnID: &t.ID, PeriodStartedAt: line.Period,
		})
		if posted.Warned {
			tx.Emit(&t.ID, Warned(&b))
		}
	}
	t.Reservation = &held
	return nil
}

// Warned reports whether a budget has come near its limit.
func Warned(b *models.Budget) events.BudgetWarned {
	return events.BudgetWarned{
		BudgetID: b.ID, Subject: b.Subject, Currency: b.Currency, Limit: text(b, b.LimitAmount), Spent: text(b, b.Spent),
		Balance: text(b, budget.Balance(b)),
	}
}

func text(b *models.Budget, a models.Amount) string { return budget.Decimal(b.Currency, a).String() }

// Budgets returns the budgets that bind the session, in the period of now. Its error must be returned by the command.
func Budgets(tx *commit.Tx) ([]models.Budget, error) {
	list, known := tx.Budgets()
	if !known {
		return nil, commit.ErrBudgets
	}
	for i := range list {
		budget.Roll(&list[i], tx.Now)
	}
	return list, nil
}

// Hold holds what the gate has found that the current turn's next step takes at most, in the place of what it holds: a cost is posted once for
// each line, so that there is one of a budget.
func Hold(tx *commit.Tx, lines []models.Held, r models.Reservation) error {
	if err := tx.Release(); err != nil {
		return err
	}
	r.Lines = []models.Held{} // and not null: the databases read what is in it
	for _, line := range lines {
		b, ok := tx.Budget(line.Budget)
		if !ok {
			return commit.ErrBudgets
		}
		budget.Roll(&b, tx.Now)
		r.Lines = append(r.Lines, budget.Hold(&b, line.Amount))
		tx.SaveBudget(b)
	}
	tx.Turn.Reservation = &r
	return nil
}

// always lets a step go on past soft limits that were passed while it was under way.
const always = models.Millis(math.MaxInt64)

// ReserveCalls has the budgets that bind the session decide whether calls of an answer may run, and holds what they take at most if they may.
// waited is what they have waited for; the zero one for nothing.
func ReserveCalls(tx *commit.Tx, calls []Call, waited models.WaitID) (budget.Verdict, error) {
	take := map[string]models.Amount{}
	for _, c := range calls {
		for currency, amount := range c.Meters() {
			take[currency] += amount
		}
	}
	list, err := Budgets(tx)
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
	return v, Hold(tx, v.Held, models.Reservation{})
}

// Waited returns what the current turn has waited for last, if the step that it was for hasn't begun yet. The zero one stands for nothing.
func Waited(t *models.Turn) (id models.WaitID) {
	if t.Reservation != nil {
		id = t.Reservation.Waited
	}
	return id
}

// ParkForBudget parks the current turn until a budget has room for its next step, or for the calls of its present one, of which none has
// begun. waited is what it has waited for before: it keeps that one's place.
func ParkForBudget(tx *commit.Tx, v budget.Verdict, waited models.WaitID) error {
	if !tx.WaitsKnown() {
		return commit.ErrMore
	}
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
	if !paused {
		tx.Park(summaries(tx))
		return nil
	}
	tx.Emit(&tx.Turn.ID, events.BudgetPaused{
		BudgetID: b.ID, Subject: b.Subject, Currency: b.Currency, Limit: text(&b, b.LimitAmount), SoftLimit: text(&b, *b.SoftLimit),
		Spent: text(&b, b.Spent), Balance: text(&b, budget.Balance(&b)),
	})
	tx.Pause(summaries(tx), b.ID)
	return nil
}

// Exhaust reports whether a budget is used up, and returns why the turn ends with it.
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
	f := models.Failure{Code: "budget_exhausted", Message: fmt.Sprintf("The %s budget of this %s is used up: %s of %s spent.",
		b.Currency, subjectName(b.Subject), e.Spent, text(&b, b.LimitAmount+b.Credits))}
	if v.Need > 0 && budget.Balance(&b) > 0 {
		f.Message = fmt.Sprintf("Not enough is left of the %s budget of this %s for the next call: it may need up to %s, and %s is left.",
			b.Currency, subjectName(b.Subject), e.Needed, e.Balance)
	}
	f.Message += " Top up the budget or raise its limit, then send a message to continue."
	if b.PeriodEndsAt != nil {
		f.Message += fmt.Sprintf(" It resets at %s.", b.PeriodEndsAt.Time().Format("2006-01-02 15:04 UTC"))
	}
	f.Fields = jsonx.MustEncode(map[string]any{
		"budget": b.ID.String(), "subject": b.Subject, "currency": b.Currency, "limit": e.Limit, "spent": e.Spent, "balance": e.Balance,
		"needed": e.Needed, "nextPeriodAt": b.PeriodEndsAt,
	})
	return f
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

// WakeForBudget lets a turn go on that waits for a budget, if there is room for it now. Else it looks again later. It reports whether the turn
// goes on.
func WakeForBudget(tx *commit.Tx, w models.Wait) (bool, error) {
	need := ReadRequest(w).Budget
	if w.State != models.WaitOpen || need == nil || tx.Turn == nil || tx.Turn.ID != w.TurnID {
		return false, nil
	}
	if need.Calls {
		return wakeCalls(tx, w)
	}
	list, err := Budgets(tx)
	if err != nil {
		return false, err
	}
	lines, lacks, amount := budget.Headroom(list, *need, budget.Asker{Resumed: tx.Session.ResumedAt, Waited: w.ID})
	if lacks != nil {
		need.Budget, need.Need = lacks.ID, amount
		waitOn(tx, w, *lacks, need)
		return false, nil
	}
	if err := Hold(tx, lines, models.Reservation{}); err != nil {
		return false, err
	}
	return true, ResumeForBudget(tx, w, models.WaitResolution{ByKind: models.ActorSystem})
}

// waitOn lets a turn wait on, maybe for another budget than before.
func waitOn(tx *commit.Tx, w models.Wait, b models.Budget, need *models.BudgetWait) {
	if !b.Contended {
		// Only then: whoever waits for a budget that has changed is looked at, and this would be a change each time.
		b.Contended = true
		tx.SaveBudget(b)
	}
	w.Deadline = budget.LookAgain(&b, tx.Now)
	w.Request = jsonx.MustEncode(models.WaitRequest{Parked: true, Budget: need})
	tx.SaveWait(w)
}

// KeepHeadroom keeps what a turn needs that waits for budgets, from those that came later, until a time. It reports whether it does: what idle tells
// of a budget is held by turns that wait themselves, and comes back nobody knows when; where it is short without that, others had better go on. Its error must be returned by the command.
func KeepHeadroom(tx *commit.Tx, w models.Wait, until models.Millis, idle func(*models.Budget) models.Amount) (bool, error) {
	if w.State != models.WaitOpen || tx.Turn == nil || tx.Turn.ID != w.TurnID {
		return false, nil
	}
	list, err := Budgets(tx)
	if err != nil {
		return false, err
	}
	var kept []models.Budget
	for _, n := range ReadRequest(w).Budget.Needs {
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

// unkeep ends what is kept for a turn that waits no more.
func unkeep(tx *commit.Tx, w models.Wait) {
	need := ReadRequest(w).Budget
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

// wakeCalls lets the calls of an answer go on that wait for a budget, with what they take held for them. Where no budget can hold it any more
// the turn ends.
func wakeCalls(tx *commit.Tx, w models.Wait) (bool, error) {
	calls, err := openCalls(tx)
	if err != nil {
		return false, err
	}
	v, err := ReserveCalls(tx, calls, w.ID)
	if err != nil {
		return false, err
	}
	switch v.Kind {
	case budget.Exhausted:
		return true, Seal(tx, "", models.StopBudget, Exhaust(tx, v))
	case budget.Wait:
		waitOn(tx, w, *v.Budget, &models.BudgetWait{Budget: v.Budget.ID, Calls: true, Need: v.Need, Needs: v.Needs})
		return false, nil
	case budget.Go, budget.Paused, budget.Unpriced:
	}
	return true, ResumeForBudget(tx, w, models.WaitResolution{ByKind: models.ActorSystem})
}

// ResumeForBudget lets a turn go on that waits for a budget; r tells who does. The gate looks at its next step again.
func ResumeForBudget(tx *commit.Tx, w models.Wait, r models.WaitResolution) error {
	if w.State == models.WaitOpen {
		need := ReadRequest(w).Budget
		unkeep(tx, w)
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
