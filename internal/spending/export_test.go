package spending

import (
	"context"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// BindingBudgets returns the budgets that a session draws on.
func BindingBudgets(ctx context.Context, db *store.DB, org models.OrgID, session models.SessionID) ([]models.Budget, error) {
	_, list, err := bindingBudgets(ctx, db, org, session)
	return list, err
}
