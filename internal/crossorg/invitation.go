package crossorg

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// InvitationByToken gives the invitation whose token has this SHA-256; nil when there is none. Who holds a token has no organization
// yet: the invitation names it.
func InvitationByToken(db *gorm.DB, hash []byte) (*models.Invitation, error) {
	var found []models.Invitation
	if err := store.CrossOrg(db).Where("token_hash = ?", hash).Limit(1).Find(&found).Error; err != nil {
		return nil, fmt.Errorf("find an invitation by its token: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}
