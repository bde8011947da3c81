package crossorg

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// APIKeyByHash gives the key with this SHA-256, revoked and expired ones too; nil when there is none. Which organization it is of is
// what the caller wants to know.
func APIKeyByHash(db *gorm.DB, hash []byte) (*models.APIKey, error) {
	var found []models.APIKey
	if err := store.CrossOrg(db).Where("hash = ?", hash).Limit(1).Find(&found).Error; err != nil {
		return nil, fmt.Errorf("look for an API key: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}
