package catalog

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// checkAgentQuota refuses an agent that would be one too many. Those who add agents wait for each other at the row of the organization, and
// no more rows are counted than there may be. most is 0 for any number; it was read before the transaction.
func checkAgentQuota(tx *gorm.DB, org models.OrgID, most int) error {
	if most <= 0 {
		return nil
	}
	var locked []models.Org
	if err := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Select("id").Where("id = ?", org).Find(&locked).Error; err != nil {
		return fmt.Errorf("lock %s: %w", org, err)
	}
	var have int64
	// The condition is written as the index has it, so that it is used.
	kept := store.Of(tx.Model(&models.Agent{}), org).Select("1").Where("lifecycle <> 'DELETED'").Limit(most)
	if err := tx.Table("(?) AS kept", kept).Count(&have).Error; err != nil {
		return fmt.Errorf("count the agents of %s: %w", org, err)
	}
	if have >= int64(most) {
		return fault.New(fault.LimitReached, "Agent limit reached (%d). Ask the operator of this server to raise it.", most)
	}
	return nil
}
