package events

import "github.com/ostler-dev/ostler/internal/models"

// What budgets tell of themselves. Amounts are decimals of the budget's currency, as texts.
type (
	SessionPaused struct {
		BudgetID models.BudgetID `json:"budgetId"`
	}
	BudgetWarned struct {
		BudgetID models.BudgetID      `json:"budgetId"`
		Subject  models.BudgetSubject `json:"subject"`
		Currency string               `json:"currency"`
		Limit    string               `json:"limit"`
		Spent    string               `json:"spent"`
		Balance  string               `json:"balance"`
	}
	BudgetPaused struct {
		BudgetID  models.BudgetID      `json:"budgetId"`
		Subject   models.BudgetSubject `json:"subject"`
		Currency  string               `json:"currency"`
		Limit     string               `json:"limit"`
		SoftLimit string               `json:"softLimit"`
		Spent     string               `json:"spent"`
		Balance   string               `json:"balance"`
	}
	BudgetExhausted struct {
		BudgetID models.BudgetID      `json:"budgetId"`
		Subject  models.BudgetSubject `json:"subject"`
		Currency string               `json:"currency"`
		Limit    string               `json:"limit"`
		Spent    string               `json:"spent"`
		Balance  string               `json:"balance"`
		// Needed is the least that the next step would have taken.
		Needed string `json:"needed"`
	}
	BudgetResumed struct {
		BudgetID models.BudgetID `json:"budgetId"`
	}
)

// Kind of each implements Payload.
func (SessionPaused) Kind() models.EventKind   { return models.EventSessionPaused }
func (BudgetWarned) Kind() models.EventKind    { return models.EventBudgetWarned }
func (BudgetPaused) Kind() models.EventKind    { return models.EventBudgetPaused }
func (BudgetExhausted) Kind() models.EventKind { return models.EventBudgetExhausted }
func (BudgetResumed) Kind() models.EventKind   { return models.EventBudgetResumed }
