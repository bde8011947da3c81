// Package rows reads the rows of budgets outside the commits of turns: one budget, with its lock or without, and those that bind a session.
// The committer reads and writes them in its own way (internal/commit/budgets.go).
package rows

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Get returns a budget as it was written last; fault.NotFound when the organization has none with this id.
func Get(db *gorm.DB, org models.OrgID, id models.BudgetID) (models.Budget, error) {
	found, err := store.First[models.Budget](store.Of(db, org).Where("id = ?", id))
	if err != nil {
		return models.Budget{}, fmt.Errorf("read budget %s of %s: %w", id, org, err)
	}
	if found == nil {
		return models.Budget{}, fault.New(fault.NotFound, "There is no budget with the id %s.", id)
	}
	return *found, nil
}

// Locked is Get for a budget that nobody else changes until the transaction ends.
func Locked(tx *gorm.DB, org models.OrgID, id models.BudgetID) (models.Budget, error) {
	return Get(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), org, id)
}

// Binding returns a session, as far as it was read, and the budgets in force that it draws on, oldest first: its root session's, its
// agent's, its customer's, its owner's and its organization's, as they were written last. A session that there is not is fault.NotFound.
func Binding(ctx context.Context, db *store.DB, org models.OrgID, session models.SessionID) (*models.Session, []models.Budget, error) {
	s, err := store.First[models.Session](store.Of(db.Read(ctx, org), org).
		Select("org_id", "id", "owner_id", "agent_id", "root_id", "customer_key", "resumed_at").Where("id = ?", session))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read session %s: %w", session, err)
	case s == nil:
		return nil, nil, fault.New(fault.NotFound, "Session %s does not exist in this organization.", session)
	}
	var list []models.Budget
	err = store.Of(db.Read(ctx, org), org).Where(ofSession(db, s)).Order("id").Find(&list).Error
	if err != nil {
		return nil, nil, fmt.Errorf("read the budgets of session %s: %w", session, err)
	}
	return s, list, nil
}

// ofSession is the condition on budgets to bind a session, which was read.
func ofSession(db *store.DB, s *models.Session) clause.Expr {
	row := "SELECT ? AS org_id, ? AS id, ? AS root_id, ? AS agent_id, ? AS owner_id, ? AS customer_key"
	if db.Dialect == store.Postgres {
		row = "SELECT ?::uuid AS org_id, ?::uuid AS id, ?::uuid AS root_id, ?::uuid AS agent_id, ?::uuid AS owner_id, ?::text AS customer_key"
	}
	return gorm.Expr("id IN (WITH s AS ("+row+") SELECT id FROM ("+budget.BindingSQL(db.Dialect == store.SQLite)+") bound)",
		s.OrgID, s.ID, s.RootID, s.AgentID, s.OwnerID, s.CustomerKey)
}
