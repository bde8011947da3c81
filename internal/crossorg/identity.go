// Package crossorg holds the few readers and sweeps that cross organizations; all other code names the one it works for.
package crossorg

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// People belong to no organization, and signing in happens before one is known: these lookups start from a person.

// AnyUser reports whether there is a user at all.
func AnyUser(db *gorm.DB) (bool, error) {
	var found []models.User
	if err := db.Select("id").Limit(1).Find(&found).Error; err != nil {
		return false, fmt.Errorf("look for users: %w", err)
	}
	return len(found) > 0, nil
}

// UserByEmail gives the user with this e-mail in lower case; nil when there is none.
func UserByEmail(db *gorm.DB, emailKey string) (*models.User, error) {
	return oneUser(db.Where("email_key = ?", emailKey))
}

// UserByID gives a user; nil when there is none.
func UserByID(db *gorm.DB, id models.UserID) (*models.User, error) {
	return oneUser(db.Where("id = ?", id))
}

func oneUser(db *gorm.DB) (*models.User, error) {
	var found []models.User
	if err := db.Limit(1).Find(&found).Error; err != nil {
		return nil, fmt.Errorf("read a user: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}

// UsersByID gives those of the users that exist.
func UsersByID(db *gorm.DB, ids []models.UserID) ([]models.User, error) {
	var list []models.User
	if len(ids) == 0 {
		return list, nil
	}
	if err := db.Where("id IN ?", ids).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	return list, nil
}

// MembershipsOf gives all memberships of a user, the oldest first.
func MembershipsOf(db *gorm.DB, user models.UserID) ([]models.Membership, error) {
	var list []models.Membership
	err := store.CrossOrg(db).Where("user_id = ?", user).Order("created_at, id").Find(&list).Error
	if err != nil {
		return nil, fmt.Errorf("read the memberships of a user: %w", err)
	}
	return list, nil
}

// OrgsOf gives the organizations that a user is a member of, by name.
func OrgsOf(db *gorm.DB, user models.UserID) ([]models.Org, error) {
	var list []models.Org
	err := db.Where("id IN (SELECT org_id FROM memberships WHERE user_id = ?)", user).Order("name, id").Find(&list).Error
	if err != nil {
		return nil, fmt.Errorf("read the organizations of a user: %w", err)
	}
	return list, nil
}
