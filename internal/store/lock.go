package store

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/models"
)

// LockTable keeps all other writers out of a table until the transaction ends; readers go on. It is for the few
// "make it unless it exists" steps of a start, which several nodes may reach at once. With SQLite it does nothing:
// there a transaction that writes is alone from its beginning.
func LockTable(tx *gorm.DB, table string) error {
	if tx.Name() != string(Postgres) {
		return nil
	}
	if err := tx.Exec("LOCK TABLE ? IN SHARE ROW EXCLUSIVE MODE", clause.Table{Name: table}).Error; err != nil {
		return fmt.Errorf("lock table %s: %w", table, err)
	}
	return nil
}

// LockOrg holds the row of an organization until the transaction ends, so that what is decided about the organization as a whole, such as
// how many of something it may have, is decided one after the other.
func LockOrg(tx *gorm.DB, org models.OrgID) error {
	var found []models.OrgID
	err := tx.Model(&models.Org{}).Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Where("id = ?", org).Pluck("id", &found).Error
	if err != nil {
		return fmt.Errorf("lock an organization: %w", err)
	}
	return nil
}
