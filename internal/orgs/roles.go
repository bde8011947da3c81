package orgs

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// lockOrg returns an organization and holds its row until the transaction ends. Whatever changes who belongs to an organization takes this
// lock first, so that each of two changes at once sees what the other one did.
func lockOrg(tx *gorm.DB, id models.OrgID) (models.Org, error) {
	return orgByID(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), id)
}

// authority returns the role up to which a principal may manage members. It is read again under the lock of the organization, because
// what the principal says may be a few seconds old. A principal that is no person counts as the highest role that may do no more than it.
func authority(tx *gorm.DB, p *auth.Principal) (models.Role, error) {
	if p.UserID.IsZero() {
		for _, r := range []models.Role{models.RoleOwner, models.RoleAdmin, models.RoleMember, models.RoleViewer} {
			if all := auth.RolePermissions(r, false); p.Permissions&all == all {
				return r, nil
			}
		}
		return "", nil
	}
	m, err := membership(tx, p.OrgID, p.UserID)
	if fault.Is(err, fault.NotFound) || err == nil && !auth.RolePermissions(m.Role, false).Has(auth.MembersManage) {
		return "", fault.New(fault.Forbidden, "Your role was changed just now. You may no longer manage members.")
	}
	return m.Role, err
}

// notAbove refuses what concerns a role above one's own.
func notAbove(r, own models.Role, format string, args ...any) error {
	if !own.AtLeast(r) {
		return fault.New(fault.Forbidden, format, args...)
	}
	return nil
}

// notTheLastOwner refuses to take the only owner away from an organization, which the caller has locked.
func notTheLastOwner(tx *gorm.DB, m models.Membership) error {
	if m.Role != models.RoleOwner {
		return nil
	}
	var owners []models.Membership
	// The value stands in the text, because there is an index for just this.
	if err := store.Of(tx, m.OrgID).Where("role = 'OWNER'").Select("id").Limit(2).Find(&owners).Error; err != nil {
		return fmt.Errorf("look for owners: %w", err)
	}
	if len(owners) < 2 {
		return fault.New(fault.Forbidden, "This is the last owner, and the organization needs one. Make another member an owner first.").
			At("membershipId")
	}
	return nil
}
