package orgs

import (
	"context"
	"crypto/rand"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	defaultAdminEmail = "admin@localhost"
	adminName         = "Administrator"
	firstOrgName      = "Default"
	firstOrgSlug      = "default"
)

// FirstOwner is who FirstStart made.
type FirstOwner struct {
	Email string
	// Password was made up and must be printed, once; empty when the configuration gave it.
	Password string
}

// FirstStart makes an organization and its owner, who is also an operator, if there is no user yet. It may use the provider keys of the
// environment. Otherwise it does
// nothing and returns nil. Of several nodes that start at once, one does it.
func (s *Service) FirstStart(ctx context.Context) (*FirstOwner, error) {
	found, err := anyUser(s.db.ReadAcross(ctx))
	if err != nil || found {
		return nil, err
	}
	given := s.admin
	if given.email == "" {
		given.email = defaultAdminEmail
	}
	email, key, err := cleanEmail(given.email)
	if err != nil {
		return nil, fmt.Errorf("make the first owner: OSTLER_ADMIN_EMAIL: %w", err)
	}
	owner := &FirstOwner{Email: email}
	password := given.password
	if password == "" {
		password = rand.Text()
		owner.Password = password
	} else if err := auth.CheckPassword(password); err != nil {
		return nil, fmt.Errorf("make the first owner: OSTLER_ADMIN_PASSWORD: %w", err)
	}
	hash, err := s.passwords.Hash(ctx, password)
	if err != nil {
		return nil, fmt.Errorf("make the first owner: %w", err)
	}
	made := false
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if err := store.LockTable(tx, "users"); err != nil {
			return err
		}
		if found, err := anyUser(tx); err != nil || found {
			return err
		}
		user := models.User{
			ID: models.NewID[models.UserEntity](), Email: email, EmailKey: key, Name: adminName,
			PasswordHash: hash, Operator: true, CreatedAt: clock.Millis(s.clock),
		}
		if err := tx.Create(&user).Error; err != nil {
			return fmt.Errorf("create the user: %w", err)
		}
		org, err := s.createOrg(ctx, tx, models.Org{Name: firstOrgName, Slug: firstOrgSlug}, user.ID, true)
		if err != nil {
			return err
		}
		made = true
		if err := setLastOrg(tx, user.ID, org.ID); err != nil {
			return err
		}
		return recordCreated(ctx, tx, org, models.ActorSystem, models.ActorID{})
	})
	if err != nil {
		return nil, fmt.Errorf("make the first owner: %w", err)
	}
	if !made {
		return nil, nil
	}
	s.limits.Forget()
	return owner, nil
}
