package catalog

import (
	"fmt"

	"gorm.io/gorm"

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
	if err := store.LockOrg(tx, org); err != nil {
		return err
	}
	// The condition is written as the index has it, so that it is used.
	have, err := store.CountTo(tx, store.Of(tx.Model(&models.Agent{}), org).Where("lifecycle <> 'DELETED'"), most)
	if err != nil {
		return fmt.Errorf("count the agents of %s: %w", org, err)
	}
	if have >= most {
		return fault.New(fault.LimitReached, "Agent limit reached (%d). Ask the operator of this server to raise it.", most)
	}
	return nil
}
