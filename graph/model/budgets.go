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
