package manage

import (
	"context"
	"strings"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Checker tells agents how their sessions stand with budgets.
type Checker struct {
	db    *store.DB
	clock clock.Clock
}

// NewChecker returns a Checker.
func NewChecker(db *store.DB, clk clock.Clock) *Checker { return &Checker{db: db, clock: clk} }

// CheckBudget returns the report of the tool check_budget. It names neither budgets nor whom they bind: a budget of the organization or of
// a customer is no business of an agent's.
func (c *Checker) CheckBudget(ctx context.Context, org models.OrgID, session models.SessionID) (tools.BudgetReport, error) {
	s, list, err := rows.Binding(ctx, c.db, org, session)
	if err != nil {
		return tools.BudgetReport{}, err
	}
	return report(budget.Check(list, s.ResumedAt, models.MillisOf(c.clock.Now()))), nil
}

func report(r budget.Report) tools.BudgetReport {
	out := tools.BudgetReport{Status: strings.ToLower(string(r.Status)), Budgets: []tools.BudgetLine{}, Hint: r.Hint}
	for i := range r.Lines {
		l := &r.Lines[i]
		b := &l.Budget
		line := tools.BudgetLine{
			Currency: b.Currency, Limit: budget.Decimal(b.Currency, b.LimitAmount).String(),
			Balance: budget.Decimal(b.Currency, budget.Balance(b)).String(), PercentRemaining: l.PercentRemaining,
			Status: strings.ToLower(string(l.Status)),
		}
		if b.SoftLimit != nil {
			soft := budget.Decimal(b.Currency, *b.SoftLimit).String()
			line.SoftLimit = &soft
		}
		out.Budgets = append(out.Budgets, line)
	}
	return out
}
