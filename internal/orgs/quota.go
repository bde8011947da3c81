package orgs

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// checkKeyQuota refuses an API key that would be one too many. Those who add keys wait for each other at the row of the organization. most is 0 for any
// number; it was read before the transaction, which must not read anything else.
func checkKeyQuota(tx *gorm.DB, org models.OrgID, most int) error {
	if most <= 0 {
		return nil
	}
	if err := store.LockOrg(tx, org); err != nil {
		return err
	}
	have, err := store.CountTo(tx, store.Of(tx.Model(&models.APIKey{}), org).Where("revoked_at IS NULL"), most)
	if err != nil {
		return fmt.Errorf("count the API keys of %s: %w", org, err)
	}
	if have >= most {
		return fault.New(fault.LimitReached, "The organization has reached its limit of %d API keys, expired ones included. Revoke one, or ask the operator of this server to raise it.", most)
	}
	return nil
}

// checkInvitationQuota refuses an invitation that would be one too many. The row of the organization is locked.
func checkInvitationQuota(tx *gorm.DB, org models.OrgID, most int, now models.Millis) error {
	if most <= 0 {
		return nil
	}
	pending := store.Of(tx.Model(&models.Invitation{}), org).Where("accepted_at IS NULL AND revoked_at IS NULL AND expires_at > ?", now)
	have, err := store.CountTo(tx, pending, most)
	if err != nil {
		return fmt.Errorf("count the invitations of %s: %w", org, err)
	}
	if have >= most {
		return fault.New(fault.LimitReached, "The organization has reached its limit of %d pending invitations. Revoke one, or ask the operator of this server to raise it.", most)
	}
	return nil
}
