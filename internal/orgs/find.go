package orgs

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Signing in happens before an organization is known: these lookups start from a person, or from what they present.

// anyUser reports whether there is a user at all.
func anyUser(db *gorm.DB) (bool, error) {
	var found []models.User
	if err := db.Select("id").Limit(1).Find(&found).Error; err != nil {
		return false, fmt.Errorf("look for users: %w", err)
	}
	return len(found) > 0, nil
}

// userByEmail returns the user with this e-mail in lower case; nil when there is none.
func userByEmail(db *gorm.DB, emailKey string) (*models.User, error) {
	return oneUser(db.Where("email_key = ?", emailKey))
}

// userByID returns a user; nil when there is none.
func userByID(db *gorm.DB, id models.UserID) (*models.User, error) {
	return oneUser(db.Where("id = ?", id))
}

func oneUser(db *gorm.DB) (*models.User, error) {
	found, err := store.First[models.User](db)
	if err != nil {
		return nil, fmt.Errorf("read a user: %w", err)
	}
	return found, nil
}

// usersByID returns those of the users that exist.
func usersByID(db *gorm.DB, ids []models.UserID) ([]models.User, error) {
	var list []models.User
	if len(ids) == 0 {
		return list, nil
	}
	if err := db.Where("id IN ?", ids).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	return list, nil
}

// membershipsOf returns all memberships of a user, the oldest first.
func membershipsOf(db *gorm.DB, user models.UserID) ([]models.Membership, error) {
	var list []models.Membership
	err := store.CrossOrg(db).Where("user_id = ?", user).Order("created_at, id").Find(&list).Error
	if err != nil {
		return nil, fmt.Errorf("read the memberships of a user: %w", err)
	}
	return list, nil
}

// orgsOf returns the organizations that a user is a member of, by name.
func orgsOf(db *gorm.DB, user models.UserID) ([]models.Org, error) {
	var list []models.Org
	err := db.Where("id IN (SELECT org_id FROM memberships WHERE user_id = ?)", user).Order("name, id").Find(&list).Error
	if err != nil {
		return nil, fmt.Errorf("read the organizations of a user: %w", err)
	}
	return list, nil
}

// invitationByToken returns the invitation whose token has this SHA-256; nil when there is none. Who holds a token has no organization
// yet: the invitation names it.
func invitationByToken(db *gorm.DB, hash []byte) (*models.Invitation, error) {
	found, err := store.First[models.Invitation](store.CrossOrg(db).Where("token_hash = ?", hash))
	if err != nil {
		return nil, fmt.Errorf("find an invitation by its token: %w", err)
	}
	return found, nil
}

// apiKeyByHash returns the key with this SHA-256, revoked and expired ones too; nil when there is none. Which organization it is of is
// what the caller wants to know.
func apiKeyByHash(db *gorm.DB, hash []byte) (*models.APIKey, error) {
	found, err := store.First[models.APIKey](store.CrossOrg(db).Where("hash = ?", hash))
	if err != nil {
		return nil, fmt.Errorf("look for an API key: %w", err)
	}
	return found, nil
}

// identityBySubject returns the identity of a subject of an issuer; nil when nobody here is that.
func identityBySubject(db *gorm.DB, issuer, subject string) (*models.Identity, error) {
	return oneIdentity(db.Where("issuer = ? AND subject = ?", issuer, subject))
}

// identityOf returns who a user is to an issuer; nil when they are nobody there.
func identityOf(db *gorm.DB, user models.UserID, issuer string) (*models.Identity, error) {
	return oneIdentity(db.Where("user_id = ? AND issuer = ?", user, issuer))
}

func oneIdentity(db *gorm.DB) (*models.Identity, error) {
	found, err := store.First[models.Identity](db)
	if err != nil {
		return nil, fmt.Errorf("read an identity: %w", err)
	}
	return found, nil
}

// Named returns the organization with an id or a slug, for operators; nil when there is none.
func Named(ctx context.Context, db *store.DB, name string) (*models.Org, error) {
	return named(db.ReadAcross(ctx), name)
}

func named(db *gorm.DB, name string) (*models.Org, error) {
	where, arg := "slug = ?", any(name)
	if id, err := models.ParseID[models.OrgEntity](name); err == nil {
		where, arg = "id = ?", id
	}
	found, err := store.First[models.Org](db.Where(where, arg))
	if err != nil {
		return nil, fmt.Errorf("look for the organization %q: %w", name, err)
	}
	return found, nil
}

// Page returns organizations in the order of their ids, at most limit of those after one, for operators.
func Page(ctx context.Context, db *store.DB, after models.OrgID, limit int) ([]models.Org, error) {
	q := db.ReadAcross(ctx).Select("id", "slug")
	if !after.IsZero() {
		q = q.Where("id > ?", after)
	}
	var list []models.Org
	if err := q.Order("id").Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the organizations: %w", err)
	}
	return list, nil
}
