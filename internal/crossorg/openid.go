package crossorg

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// IdentityBySubject gives the identity of a subject of an issuer; nil when nobody here is that.
func IdentityBySubject(db *gorm.DB, issuer, subject string) (*models.Identity, error) {
	return oneIdentity(db.Where("issuer = ? AND subject = ?", issuer, subject))
}

// IdentityOf gives who a user is to an issuer; nil when they are nobody there.
func IdentityOf(db *gorm.DB, user models.UserID, issuer string) (*models.Identity, error) {
	return oneIdentity(db.Where("user_id = ? AND issuer = ?", user, issuer))
}

func oneIdentity(db *gorm.DB) (*models.Identity, error) {
	var found []models.Identity
	if err := db.Limit(1).Find(&found).Error; err != nil {
		return nil, fmt.Errorf("read an identity: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}
