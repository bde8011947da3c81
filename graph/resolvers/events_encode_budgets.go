package resolvers

import (
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
)

// encodeBudgetEvent encodes what budgets tell of themselves.
func encodeBudgetEvent(base model.EventBase, payload events.Payload) model.Event {
	switch p := payload.(type) {
	case events.SessionPaused:
		return &model.SessionPaused{EventBase: base, BudgetID: p.BudgetID.String()}
	case events.BudgetWarned:
		return &model.BudgetWarned{
			EventBase: base, BudgetID: p.BudgetID.String(), Subject: model.BudgetSubject(p.Subject), Currency: p.Currency,
			Limit: p.Limit, Spent: p.Spent, Balance: p.Balance,
		}
	case events.BudgetPaused:
		return &model.BudgetPaused{
			EventBase: base, BudgetID: p.BudgetID.String(), Subject: model.BudgetSubject(p.Subject), Currency: p.Currency,
			Limit: p.Limit, SoftLimit: p.SoftLimit, Spent: p.Spent, Balance: p.Balance,
		}
	case events.BudgetExhausted:
		return &model.BudgetExhausted{
			EventBase: base, BudgetID: p.BudgetID.String(), Subject: model.BudgetSubject(p.Subject), Currency: p.Currency,
			Limit: p.Limit, Spent: p.Spent, Balance: p.Balance, Needed: p.Needed,
		}
	case events.BudgetResumed:
		return &model.BudgetResumed{EventBase: base, BudgetID: p.BudgetID.String()}
	}
	return nil
}
