package model

import (
	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/internal/models"
)

// Budget is a bound on what a subject may take.
type Budget struct {
	ID              string
	Subject         BudgetSubject
	SubjectID       string
	Currency        string
	Limit           decimal.Decimal
	SoftLimit       *decimal.Decimal
	Balance         decimal.Decimal
	Reserved        decimal.Decimal
	Spent           decimal.Decimal
	Credits         decimal.Decimal
	Period          *BudgetPeriod
	PeriodStartedAt *models.Millis
	PeriodEndsAt    *models.Millis
	Status          BudgetStatus
	CreatedAt       models.Millis
	UpdatedAt       models.Millis

	BudgetID models.BudgetID
}

// IsNode marks the type as a Node.
func (Budget) IsNode() {}

// GetID implements Node.
func (b Budget) GetID() string { return b.ID }

// BudgetConnection is a page of a list of budgets.
type BudgetConnection struct {
	Edges    []*BudgetEdge
	Nodes    []*Budget
	PageInfo *PageInfo
	Count    Count
}

// LedgerConnection is a page of what was posted to a budget.
type LedgerConnection struct {
	Edges    []*LedgerEdge
	Nodes    []*LedgerEntry
	PageInfo *PageInfo
	Count    Count
}
