package budget

import (
	"bytes"
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
)

// MinOutput is how far the output limit of a call is lowered at most, so that it fits into what is left.
const MinOutput = 256

// Balance is what is left of a budget in its present period, reservations not counted: limit − debits + credits. Limits and debits are
// not negative, so that their difference is exact, and so is the balance wherever it can be told.
func Balance(b *models.Budget) models.Amount {
	return add(b.LimitAmount-b.Spent, b.Credits)
}

// Available is what is left beside what turns hold.
func Available(b *models.Budget) models.Amount { return add(Balance(b), -b.Reserved) }

// OverSoft reports whether a budget has passed its soft limit.
func OverSoft(b *models.Budget) bool {
	return b.SoftLimit != nil && b.Spent > add(*b.SoftLimit, b.Credits)
}

// Kind tells what the gate says.
type Kind int

// What the gate says.
const (
	// Go: the step may begin, with what was reserved.
	Go Kind = iota
	// Wait: it would fit, but for what other turns hold.
	Wait
	// Paused: a budget is over its soft limit.
	Paused
	// Exhausted: what is left of a budget can't hold it.
	Exhausted
	// Unpriced: a budget in dollars can't tell what the model would cost.
	Unpriced
)

// Verdict is what the gate says of a step.
type Verdict struct {
	Kind Kind
	// Budget is the one that stands in the way; nil with Go.
	Budget *models.Budget
	// Need is the least amount of it that the step could begin with.
	Need models.Amount
	// Needs are the least amounts of all budgets that it draws on, with Wait.
	Needs []models.BudgetNeed
	// MaxTokens is the output limit that the call may be made with.
	MaxTokens int
	// Held is what to hold of each budget, in its present period.
	Held []models.Held
}

// Asker is who asks the gate.
type Asker struct {
	// Resumed is when somebody has let its session go on past soft limits; nil for never.
	Resumed *models.Millis
	// Waited is what it has waited for; the zero one for nothing. It tells its place among those that wait.
	Waited models.WaitID
	// Begun is true when its step has begun: those for whom something is kept wait for its end, too.
	Begun bool
}

// free is what is left of a budget for who asks: those that came later leave what is kept for one that waits.
func (a Asker) free(b *models.Budget) models.Amount {
	if b.KeptFor == nil || a.Begun || !a.Waited.IsZero() && bytes.Compare(a.Waited[:placeBytes], b.KeptFor[:placeBytes]) <= 0 {
		return Available(b)
	}
	return add(Available(b), -b.Kept)
}

// placeBytes are those of a wait's id that tell its place: its time, and what tells those of the same time apart (UUID version 7, RFC 9562).
const placeBytes = 8

// AtPlaceOf puts a wait in the place of an earlier one.
func AtPlaceOf(id, earlier models.WaitID) models.WaitID {
	copy(id[:placeBytes], earlier[:placeBytes])
	return id
}

// Reserve decides whether a call may be made under budgets, and what has to be held for it. The rows must be locked, and their periods
// those of now. Nothing is changed: see Hold.
//
// Only budgets that the call draws on have a say. One that is used up decides before one that is paused, that before a model without a
// price, that before one that what is left of can't hold the call, and that before one that has to be waited for.
func Reserve(list []models.Budget, c Call, who Asker, allowUnpriced bool) Verdict {
	c = c.sane()
	bound := metered(list, func(b *models.Budget) bool {
		_, ok := CostOf(b.Currency, models.Usage{})
		return ok
	})
	if v, stop := blocked(bound, who.Resumed); stop {
		return v
	}
	drawn := bound
	if !c.Priced() {
		inDollars := func(b *models.Budget) bool { return b.Currency == models.CurrencyUSD }
		if i := slices.IndexFunc(bound, inDollars); i >= 0 && !allowUnpriced {
			return Verdict{Kind: Unpriced, Budget: bound[i]}
		}
		bound = slices.DeleteFunc(slices.Clone(bound), inDollars)
	}
	output := int64(c.MaxTokens)
	least := min(int64(MinOutput), output)
	if v, stop := fits(bound, who, func(b *models.Budget) models.Amount { return c.worst(b.Currency, least) }); stop {
		return v
	}
	for _, b := range bound {
		output = min(output, c.mostOutput(b.Currency, who.free(b)))
	}
	// Of a budget in dollars nothing may be held, as a model has no price, or costs nothing. It is among those that are held all the same:
	// the provider may say what the call has cost, and that is taken off it.
	return hold(drawn, int(output), func(b *models.Budget) models.Amount { return c.worst(b.Currency, output) })
}

// ReserveMeters decides about tool calls that take so much of each currency, as Reserve does about a model call. take gives what they
// take of a currency at most; 0 for nothing.
func ReserveMeters(list []models.Budget, who Asker, take func(currency string) models.Amount) Verdict {
	bound := metered(list, func(b *models.Budget) bool { return take(b.Currency) > 0 })
	need := func(b *models.Budget) models.Amount { return take(b.Currency) }
	if v, stop := blocked(bound, who.Resumed); stop {
		return v
	}
	if v, stop := fits(bound, who, need); stop {
		return v
	}
	return hold(bound, 0, need)
}

// Pauses returns the verdict of budgets that are over their soft limits: those that a step doesn't draw on, too, so that a turn stops before
// its next step and not in the middle of one.
func Pauses(list []models.Budget, resumed *models.Millis) (Verdict, bool) {
	for i := range list {
		if b := &list[i]; b.DisabledAt == nil && OverSoft(b) && !passes(b, resumed) && Balance(b) > 0 {
			return Verdict{Kind: Paused, Budget: b}, true
		}
	}
	return Verdict{}, false
}

// fits returns the verdict of budgets that have no room for what is needed of them: those that have none at all before those that turns
// hold too much of.
func fits(bound []*models.Budget, who Asker, need func(*models.Budget) models.Amount) (Verdict, bool) {
	var needs []models.BudgetNeed
	waits := Verdict{Kind: Wait}
	for _, b := range bound {
		n := need(b)
		switch {
		case !covers(Balance(b), n):
			return Verdict{Kind: Exhausted, Budget: b, Need: n}, true
		case !covers(who.free(b), n) && waits.Budget == nil:
			waits.Budget, waits.Need = b, n
		}
		needs = append(needs, models.BudgetNeed{Budget: b.ID, Amount: n})
	}
	waits.Needs = needs
	return waits, waits.Budget != nil
}

func hold(bound []*models.Budget, maxTokens int, amount func(*models.Budget) models.Amount) Verdict {
	v := Verdict{Kind: Go, MaxTokens: maxTokens}
	for _, b := range bound {
		v.Held = append(v.Held, models.Held{Budget: b.ID, Amount: amount(b), Period: b.PeriodStartedAt})
	}
	return v
}

func metered(list []models.Budget, is func(*models.Budget) bool) []*models.Budget {
	var bound []*models.Budget
	for i := range list {
		if is(&list[i]) && list[i].DisabledAt == nil {
			bound = append(bound, &list[i])
		}
	}
	return bound
}

// blocked returns the verdict of budgets that let nothing through, whatever it costs: those that are used up before those that are paused.
func blocked(bound []*models.Budget, resumed *models.Millis) (Verdict, bool) {
	var paused *models.Budget
	for _, b := range bound {
		switch {
		case Balance(b) <= 0:
			return Verdict{Kind: Exhausted, Budget: b}, true
		case paused == nil && OverSoft(b) && !passes(b, resumed):
			paused = b
		}
	}
	return Verdict{Kind: Paused, Budget: paused}, paused != nil
}

// passes reports whether a session may go on past the soft limit of a budget: somebody has let it after the limit was passed.
func passes(b *models.Budget, resumed *models.Millis) bool {
	return resumed != nil && b.SoftPassedAt != nil && *resumed >= *b.SoftPassedAt
}

// Hold holds an amount of a budget, in its period of now, which the row must have been rolled to. It returns what is to stand where whoever
// holds it keeps it.
func Hold(b *models.Budget, amount models.Amount) models.Held {
	amount = max(amount, 0)
	b.Reserved = add(b.Reserved, amount)
	return models.Held{Budget: b.ID, Amount: amount, Period: b.PeriodStartedAt}
}

// Release takes a share off what is held of a budget, and gives it back if its period isn't over: a new one begins with nothing held.
// Whoever calls it saves the line in the same transaction, so that nothing is given back twice.
func Release(b *models.Budget, line *models.Held, share models.Amount) {
	share = min(max(share, 0), line.Amount)
	line.Amount -= share
	if line.Period == b.PeriodStartedAt {
		b.Reserved = max(b.Reserved-share, 0)
	}
}

// Settle puts a cost in the place of a share of what is held of a budget, which the row must have been rolled to now. The cost counts in the
// period that the share was granted in: what top-ups of a period have allowed, or a limit that was lowered since, isn't taken off the next
// one, whose own grants may already take all there is. So no period is charged more than was granted in it, but for the overrun: the part of
// the cost that the share doesn't cover.
func Settle(b *models.Budget, line *models.Held, share, cost models.Amount, now models.Millis) (overrun models.Amount, p Posted) {
	share, cost = min(max(share, 0), line.Amount), max(cost, 0)
	Release(b, line, share)
	if cost > 0 && line.Period == b.PeriodStartedAt {
		p = Debit(b, cost, now)
	}
	return max(cost-share, 0), p
}

// Posted is what a debit has brought about.
type Posted struct {
	// Warned and SoftPassed report that the budget has come near its limit, or past its soft limit, with this debit.
	Warned, SoftPassed bool
}

// nearLimit reports whether people should know that a budget comes to its end: a fifth of limit and credits is left, or less. Their sum may
// be more than an amount can be.
func nearLimit(b *models.Budget) bool {
	return Balance(b) <= b.LimitAmount/5+b.Credits/5+(b.LimitAmount%5+b.Credits%5)/5
}

// Debit takes an amount off a budget, in the period of now, which the row must have been rolled to. Nothing costs less than 0.
func Debit(b *models.Budget, amount models.Amount, now models.Millis) (p Posted) {
	post(b, max(amount, 0), now)
	if b.WarnedAt == nil && nearLimit(b) {
		b.WarnedAt, p.Warned = now.Ptr(), true
	}
	if b.SoftPassedAt == nil && OverSoft(b) {
		b.SoftPassedAt, p.SoftPassed = now.Ptr(), true
	}
	return p
}

// Credit adds an amount to a budget, in the period of now. What the budget was stopped by is looked at anew.
func Credit(b *models.Budget, amount models.Amount, now models.Millis) {
	b.Credits = add(b.Credits, amount)
	Reopen(b, now)
}

// Reopen forgets that a budget was used up, paused or near its limit where it isn't any more: after a top-up, and after its limits were
// changed. People are warned once in a period, and again when they have made room and it is used up, too.
func Reopen(b *models.Budget, now models.Millis) {
	if Balance(b) > 0 {
		b.ExhaustedAt = nil
	}
	if !OverSoft(b) {
		b.SoftPassedAt = nil
	} else if b.SoftPassedAt == nil {
		b.SoftPassedAt = now.Ptr()
	}
	if !nearLimit(b) {
		b.WarnedAt = nil
	}
}

// Status tells how a budget stands.
type Status string

// How budgets stand.
const (
	StatusActive    Status = "ACTIVE"
	StatusPaused    Status = "PAUSED"
	StatusExhausted Status = "EXHAUSTED"
	StatusDisabled  Status = "DISABLED"
)

// StatusOf returns how a budget stands in its present period.
func StatusOf(b *models.Budget) Status {
	switch {
	case b.DisabledAt != nil:
		return StatusDisabled
	case b.ExhaustedAt != nil || Balance(b) <= 0:
		return StatusExhausted
	case OverSoft(b):
		return StatusPaused
	}
	return StatusActive
}

// Headroom reports whether what a turn waits for may be there: then the gate decides again, and until its runner comes others would take what is
// to be held for it. Else lacks is what it waits for now, and need the least amount of that.
func Headroom(list []models.Budget, w models.BudgetWait, who Asker) (held []models.Held, lacks *models.Budget, need models.Amount) {
	of := func(id models.BudgetID) *models.Budget {
		if i := slices.IndexFunc(list, func(b models.Budget) bool { return b.ID == id }); i >= 0 {
			return &list[i]
		}
		return nil // it doesn't bind the session any more
	}
	if w.Paused {
		if b := of(w.Budget); b != nil && OverSoft(b) && !passes(b, who.Resumed) && Balance(b) > 0 {
			lacks = b
		}
		return nil, lacks, 0
	}
	for _, n := range w.Needs {
		b := of(n.Budget)
		switch {
		case b == nil:
		case !covers(Balance(b), n.Amount):
			return nil, nil, 0 // nobody can give that back: it waits for nothing
		case !covers(who.free(b), n.Amount) && lacks == nil:
			lacks, need = b, n.Amount
		default:
			held = append(held, models.Held{Budget: b.ID, Amount: n.Amount, Period: b.PeriodStartedAt})
		}
	}
	if lacks != nil {
		held = nil
	}
	return held, lacks, need
}

// Keep keeps an amount of a budget free for the turn whose wait has an id, from those that came later. Turns that go on settle, or give back
// what they hold: so what is kept comes together, however many others ask.
func Keep(b *models.Budget, amount models.Amount, id models.WaitID, until models.Millis) {
	b.Kept, b.KeptFor, b.KeptUntil = amount, &id, &until
}

// Unkeep is the end of Keep.
func Unkeep(b *models.Budget) { b.Kept, b.KeptFor, b.KeptUntil = 0, nil, nil }

// LookAgain returns when a turn that waits for a budget is to look whether there is room for it, if nothing has happened before: when the
// next period begins, or something leaves the window; nil for never.
func LookAgain(b *models.Budget, now models.Millis) *models.Millis {
	switch {
	case b.PeriodKind == nil:
		return nil
	case *b.PeriodKind == models.PeriodRolling:
		return (now + max(SlotLength(b), 1000)).Ptr()
	}
	return b.PeriodEndsAt
}
