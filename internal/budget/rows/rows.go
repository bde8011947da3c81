// Package rows reads the rows of budgets outside the commits of turns: one budget, with its lock or without, and those that bind a session.
// The committer reads and writes them in its own way (internal/commit/budgets.go).
package rows

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Get returns a budget as it was written last; fault.NotFound when the organization has none with this id.
func Get(db *gorm.DB, org models.OrgID, id models.BudgetID) (models.Budget, error) {
	return get(db, store.Of(db, org), org, id)
}

// Locked is Get for a budget that nobody else changes until the transaction ends.
func Locked(tx *gorm.DB, org models.OrgID, id models.BudgetID) (models.Budget, error) {
	return get(tx, store.Of(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), org), org, id)
}

// get reads the window behind the row: it is that of the row when there is a lock.
func get(db, from *gorm.DB, org models.OrgID, id models.BudgetID) (models.Budget, error) {
	found, err := store.First[models.Budget](from.Where("id = ?", id))
	if err != nil {
		return models.Budget{}, fmt.Errorf("read budget %s of %s: %w", id, org, err)
	}
	if found == nil {
		return models.Budget{}, fault.New(fault.NotFound, "There is no budget with the id %s.", id)
	}
	list := []models.Budget{*found}
	err = Slots(db, org, list)
	return list[0], err
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
	return s, list, Slots(db.Read(ctx, org), org, list)
}

// Slots reads the slots of those of some budgets that have a rolling window: without them nothing leaves it.
func Slots(db *gorm.DB, org models.OrgID, list []models.Budget) error {
	rolling := map[models.BudgetID]*models.Budget{}
	var which []string
	args := []any{}
	for i := range list {
		if b := &list[i]; budget.Rolls(b) {
			rolling[b.ID], b.Slots = b, []models.BudgetSlot{}
			which, args = append(which, "budget_id = ? AND slot >= ?"), append(args, b.ID, budget.OldestSlot(b))
		}
	}
	if len(rolling) == 0 {
		return nil
	}
	var slots []models.BudgetSlot
	if err := store.Of(db, org).Where(strings.Join(which, " OR "), args...).Order("slot").Find(&slots).Error; err != nil {
		return fmt.Errorf("read the windows of budgets of %s: %w", org, err)
	}
	for _, k := range slots {
		b := rolling[k.BudgetID]
		b.Slots = append(b.Slots, k)
	}
	return nil
}

// SaveSlots makes the slots of a budget, which is locked, those that it has.
func SaveSlots(tx *gorm.DB, b *models.Budget) error {
	if err := store.Of(tx, b.OrgID).Where("budget_id = ?", b.ID).Delete(&models.BudgetSlot{}).Error; err != nil {
		return fmt.Errorf("replace the window of %s: %w", b.ID, err)
	}
	if len(b.Slots) == 0 {
		return nil
	}
	if err := tx.Create(&b.Slots).Error; err != nil {
		return fmt.Errorf("replace the window of %s: %w", b.ID, err)
	}
	return nil
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
