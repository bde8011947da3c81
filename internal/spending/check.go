package spending

import (
	"context"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

// The budgets of a session by the indexes of their subjects and customers: no other budget of the organization is looked at.
const binding = `id IN (
SELECT id FROM budgets WHERE org_id = ? AND disabled_at IS NULL AND subject_id IN ?
UNION SELECT id FROM budgets WHERE org_id = ? AND disabled_at IS NULL AND customer_key = ?)`

// bindingBudgets returns a session, as far as it was read, and the budgets in force that it draws on, oldest first: its root session's, its
// agent's, its customer's, its owner's and its organization's, as they were written last. See budget.Check. A session that there is not is
// fault.NotFound.
func bindingBudgets(ctx context.Context, db *store.DB, org models.OrgID, session models.SessionID) (*models.Session, []models.Budget, error) {
	s, err := store.First[models.Session](store.Of(db.Read(ctx, org), org).
		Select("org_id", "id", "owner_id", "agent_id", "root_id", "customer_key", "resumed_at").Where("id = ?", session))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read session %s: %w", session, err)
	case s == nil:
		return nil, nil, fault.New(fault.NotFound, "Session %s does not exist in this organization.", session)
	}
	var list []models.Budget
	err = store.Of(db.Read(ctx, org), org).Where(binding, org, budget.SubjectsOf(s), org, s.CustomerKey).Order("id").Find(&list).Error
	if err != nil {
		return nil, nil, fmt.Errorf("read the budgets of session %s: %w", session, err)
	}
	return s, list, nil
}

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
	s, list, err := bindingBudgets(ctx, c.db, org, session)
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
