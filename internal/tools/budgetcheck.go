package tools

import (
	"context"
	"errors"
)

// ErrBudgetUnavailable is what CheckBudget returns where nobody can tell of budgets.
var ErrBudgetUnavailable = errors.New("budget_unavailable: Budgets can't be checked where this call runs. Continue without")

// BudgetReport tells an agent how its session stands with the budgets that bind it. Amounts are decimals, as text. Whom a budget binds
// besides is not told.
type BudgetReport struct {
	// Status is no_budgets, active, warning, paused or exhausted: that of the worst of the budgets.
	Status  string       `json:"status"`
	Budgets []BudgetLine `json:"budgets"`
	// Hint is a sentence: what the status means, and what helps.
	Hint string `json:"hint"`
}

// BudgetLine is how it stands with one budget.
type BudgetLine struct {
	Currency string `json:"currency"`
	Limit    string `json:"limit"`
	Balance  string `json:"balance"`
	// SoftLimit is nil for none.
	SoftLimit *string `json:"soft_limit"`
	// PercentRemaining is from 0 to 100, with at most one digit behind the point.
	PercentRemaining float64 `json:"percent_remaining"`
	Status           string  `json:"status"`
}

// Budget returns how the call's session stands with its budgets; ErrBudgetUnavailable where nobody can tell.
func (c *Call) Budget(ctx context.Context) (BudgetReport, error) {
	if c.CheckBudget == nil {
		return BudgetReport{}, ErrBudgetUnavailable
	}
	return c.CheckBudget(ctx)
}
