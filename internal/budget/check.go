package budget

import (
	"fmt"
	"math/big"

	"github.com/ostler-dev/ostler/internal/models"
)

// CheckStatus tells how a session stands with a budget, or with all of them.
type CheckStatus string

// How a session stands, from the best to the worst.
const (
	CheckNoBudgets CheckStatus = "NO_BUDGETS"
	CheckActive    CheckStatus = "ACTIVE"
	// CheckWarning is when a fifth or less is left.
	CheckWarning   CheckStatus = "WARNING"
	CheckPaused    CheckStatus = "PAUSED"
	CheckExhausted CheckStatus = "EXHAUSTED"
)

// severity orders how sessions stand.
var severity = map[CheckStatus]int{CheckActive: 1, CheckWarning: 2, CheckPaused: 3, CheckExhausted: 4}

// Line is how it stands with one budget.
type Line struct {
	// Budget is the row as it is in the period of now.
	Budget models.Budget
	Status CheckStatus
	// PercentRemaining is how much is left, from 0 to 100, with at most one digit behind the point. It is rounded down: 0.1 says that
	// there is something.
	PercentRemaining float64
}

// Report is how a session stands with the budgets that bind it.
type Report struct {
	// Status is that of the worst line.
	Status CheckStatus
	// Lines are the budgets that are in force, in the order that they were given in.
	Lines []Line
	// Hint is a sentence for people and models: what the state means, and what helps.
	Hint string
}

// Check returns how it stands with budgets that bind a session. The rows are not changed: those whose period is over are looked at as they
// are in the next one. resumed is when somebody has let the session go on past soft limits, nil when nobody has: what it may pass doesn't
// pause it.
func Check(list []models.Budget, resumed *models.Millis, now models.Millis) Report {
	r := Report{Status: CheckNoBudgets}
	var worst Line
	for _, b := range list {
		if b.DisabledAt != nil {
			continue
		}
		Roll(&b, now)
		l := Line{Budget: b, Status: check(&b, resumed), PercentRemaining: percent(&b)}
		r.Lines = append(r.Lines, l)
		if s, w := severity[l.Status], severity[worst.Status]; s > w || s == w && l.PercentRemaining < worst.PercentRemaining {
			worst, r.Status = l, l.Status
		}
	}
	r.Hint = hint(worst)
	return r
}

func check(b *models.Budget, resumed *models.Millis) CheckStatus {
	switch status := StatusOf(b); {
	case status == StatusExhausted:
		return CheckExhausted
	case status == StatusPaused && !passes(b, resumed):
		return CheckPaused
	}
	if nearLimit(b) {
		return CheckWarning
	}
	return CheckActive
}

// percent returns how much of limit and credits is left.
func percent(b *models.Budget) float64 {
	whole, left := add(b.LimitAmount, b.Credits), Balance(b)
	if whole <= 0 || left <= 0 {
		return 0
	}
	tenths := new(big.Int).Mul(big.NewInt(int64(min(left, whole))), big.NewInt(1000))
	return float64(tenths.Quo(tenths, big.NewInt(int64(whole))).Int64()) / 10
}

// hint says what the worst line means.
func hint(l Line) string {
	b := &l.Budget
	amount := func(a models.Amount) string { return Words(b.Currency, a) }
	switch l.Status {
	case CheckActive:
		return "More than 20% is left."
	case CheckWarning:
		return fmt.Sprintf("20%% or less of the %s budget is left. Finish what matters most, or ask for a top-up before longer work.%s", b.Currency, renewal(b))
	case CheckPaused:
		return fmt.Sprintf("The %s budget is past its soft limit. Turns wait, and nothing is lost, until someone resumes the session, tops up the budget "+
			"or raises its limit.%s", b.Currency, renewal(b))
	case CheckExhausted:
		stands := fmt.Sprintf("is used up: %s of %s spent", amount(b.Spent), amount(add(b.LimitAmount, b.Credits)))
		if left := Balance(b); left > 0 {
			stands = fmt.Sprintf("has too little left for the next call: %s", amount(left))
		}
		return fmt.Sprintf("The %s budget %s. Turns stop until someone tops it up or raises its limit.%s", b.Currency, stands, renewal(b))
	case CheckNoBudgets:
	}
	return "No budget applies to this session."
}

// PeriodEndFormat is how people are told when a period ends.
const PeriodEndFormat = "2006-01-02 15:04 UTC"

// renewal returns when there is more by itself.
func renewal(b *models.Budget) string {
	switch {
	case b.PeriodKind == nil:
		return ""
	case *b.PeriodKind == models.PeriodRolling:
		return " Spending becomes available again as it leaves the rolling window."
	case b.PeriodEndsAt == nil:
		return ""
	}
	return fmt.Sprintf(" It resets at %s.", b.PeriodEndsAt.Time().Format(PeriodEndFormat))
}
