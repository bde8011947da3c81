package orgs

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// NewOrg is what an organization is created from.
type NewOrg struct {
	Name string
	// Slug is made from the name when it is nil.
	Slug *string
}

// CreateOrg makes an organization with the caller as its owner, and everything that an organization starts with. A slug
// that is in use is fault.Taken.
func (s *Service) CreateOrg(ctx context.Context, p *auth.Principal, in NewOrg) (models.Org, error) {
	if err := needPerson(p, "create an organization"); err != nil {
		return models.Org{}, err
	}
	name, err := cleanName(in.Name)
	if err != nil {
		return models.Org{}, at(err, "input", "name")
	}
	var slug string
	if in.Slug != nil {
		slug = *in.Slug
		if err := checkSlug(slug); err != nil {
			return models.Org{}, at(err, "input", "slug")
		}
	} else if slug = slugOf(name); slug == "" {
		return models.Org{}, fault.New(fault.Invalid,
			"The name has no letter from a to z and no digit to make a slug from: give a slug as well.").At("input", "slug")
	}
	var org models.Org
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		var err error
		if org, err = s.createOrg(ctx, tx, name, slug, p.UserID); err != nil {
			return err
		}
		kind, actor := p.Actor()
		return recordCreated(ctx, tx, org, kind, actor)
	})
	if err != nil {
		return models.Org{}, err
	}
	return org, nil
}

func (s *Service) createOrg(ctx context.Context, tx *gorm.DB, name, slug string, owner models.UserID) (models.Org, error) {
	now := clock.Millis(s.clock)
	org := models.Org{ID: models.NewID[models.OrgEntity](), Name: name, Slug: slug, CreatedAt: now}
	if err := tx.Create(&org).Error; err != nil {
		if store.IsDuplicate(err) {
			return org, fault.New(fault.Taken, "The slug %q is in use: give another one.", slug).At("input", "slug")
		}
		return org, fmt.Errorf("create an organization: %w", err)
	}
	err := tx.Create(&models.Membership{
		OrgID: org.ID, ID: models.NewID[models.MembershipEntity](), UserID: owner, Role: models.RoleOwner, CreatedAt: now,
	}).Error
	if err != nil {
		return org, fmt.Errorf("create the membership of the owner: %w", err)
	}
	harness, model, err := s.seeder.SeedOrg(ctx, tx, org.ID, now)
	if err != nil {
		return org, fmt.Errorf("fill a new organization: %w", err)
	}
	org.DefaultHarnessID, org.DefaultModelID = harness.Ptr(), model.Ptr()
	err = store.OneRow(tx.Model(&models.Org{}).Where("id = ?", org.ID).
		Updates(map[string]any{"default_harness_id": org.DefaultHarnessID, "default_model_id": org.DefaultModelID}))
	if err != nil {
		return org, fmt.Errorf("set the defaults of an organization: %w", err)
	}
	return org, nil
}

// recordCreated begins the audit log of an organization. It must be the last thing that the transaction does.
func recordCreated(ctx context.Context, tx *gorm.DB, org models.Org, kind models.ActorKind, actor models.ActorID) error {
	return audit.Record(ctx, tx, org.CreatedAt, audit.Entry{
		Org: org.ID, ActorKind: kind, Actor: actor, Action: "org.created", Target: org.ID.String(),
		Details: map[string]any{"name": org.Name, "slug": org.Slug},
	})
}

func setLastOrg(tx *gorm.DB, user models.UserID, org models.OrgID) error {
	err := store.OneRow(tx.Model(&models.User{}).Where("id = ?", user).Update("last_org_id", org))
	if err != nil {
		return fmt.Errorf("remember the organization of a user: %w", err)
	}
	return nil
}

// at gives a failure the path of the argument to blame; other errors stay as they are.
func at(err error, path ...string) error {
	if f := fault.As(err); f != nil {
		return f.At(path...)
	}
	return err
}
