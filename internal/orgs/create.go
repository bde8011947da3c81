package orgs

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

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

// Creators are those who may create organizations.
type Creators string

// The settings of Creators. Roles are those that people have in the organization that they are signed in to.
const (
	CreatedByNobody    Creators = "nobody"
	CreatedByOperators Creators = "operators"
	CreatedByOwners    Creators = "owners"
	CreatedByMembers   Creators = "members" // all roles but VIEWER
	CreatedByEverybody Creators = "everybody"
)

// include reports whether a principal is one of them. Operators are, unless it is nobody.
func (c Creators) include(p *auth.Principal) bool {
	switch {
	case p.IsKey() || c == CreatedByNobody:
		return false
	case p.Operator || c == CreatedByEverybody:
		return true
	case c == CreatedByOperators:
		return false
	case c == CreatedByMembers:
		return p.Role.AtLeast(models.RoleMember)
	}
	return p.Role == models.RoleOwner
}

// CanCreateOrg reports whether CreateOrg would let the caller create another organization.
func (s *Service) CanCreateOrg(ctx context.Context, p *auth.Principal) (bool, error) {
	if !s.creators.include(p) {
		return false, nil
	}
	db := s.db.ReadAcross(ctx)
	root, err := rootOf(db, p)
	if err == nil {
		err = s.checkOrgQuotas(db, p, root)
	}
	if fault.Is(err, fault.LimitReached) {
		return false, nil
	}
	return err == nil, err
}

// rootOf returns the organization from which those descend that the caller creates; nil for an operator, whose own descend from none.
func rootOf(db *gorm.DB, p *auth.Principal) (*models.OrgID, error) {
	if p.Operator {
		return nil, nil
	}
	org, err := orgByID(db, p.OrgID)
	if org.RootID == nil {
		org.RootID = &org.ID
	}
	return org.RootID, err
}

// checkOrgQuotas returns fault.LimitReached when the caller has created as many organizations as one person may, or when as many descend from
// the root as from one may: an owner who invites other accounts as owners gets no more by them. Without a root there is no limit.
func (s *Service) checkOrgQuotas(db *gorm.DB, p *auth.Principal, root *models.OrgID) error {
	if root == nil {
		return nil
	}
	for _, q := range []struct {
		most       int
		where, per string
		id         any
	}{
		{s.personOrgs, "created_by = ?", "per person", p.UserID},
		{s.descendants, "root_id = ?", "that come from one organization", *root},
	} {
		if q.most <= 0 {
			continue
		}
		have, err := store.CountTo(db, db.Model(&models.Org{}).Where(q.where, q.id), q.most)
		if err != nil {
			return fmt.Errorf("count organizations %s: %w", q.per, err)
		}
		if have >= q.most {
			return fault.New(fault.LimitReached, "The limit of %d organizations %s is reached. Ask the operator of this server to create one for you.", q.most, q.per)
		}
	}
	return nil
}

// CreateOrg makes an organization with the caller as its owner, and everything that an organization starts with. A slug
// that is in use is fault.Taken, and one organization too many fault.LimitReached. Somebody who may create none gets fault.Forbidden.
// Organizations that operators create may use the provider keys of the environment.
func (s *Service) CreateOrg(ctx context.Context, p *auth.Principal, in NewOrg) (models.Org, error) {
	if err := needPerson(p, "create an organization"); err != nil {
		return models.Org{}, err
	}
	if !s.creators.include(p) {
		return models.Org{}, fault.New(fault.Forbidden, "You may not create organizations on this server. Ask its operator to create one for you.")
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
			"The name has no letter from a to z and no digit to make a slug from. Enter a slug too.").At("input", "slug")
	}
	var org models.Org
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		root, err := rootOf(tx, p)
		if err != nil {
			return err
		}
		// Two requests that count the same organizations wait for each other. Rows are locked in the order organization, user.
		if root != nil {
			if _, err := lockOrg(tx, *root); err != nil {
				return err
			}
		}
		if err := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Where("id = ?", p.UserID).Take(&models.User{}).Error; err != nil {
			return fmt.Errorf("lock the user: %w", err)
		}
		if err := s.checkOrgQuotas(tx, p, root); err != nil {
			return err
		}
		if org, err = s.createOrg(ctx, tx, models.Org{Name: name, Slug: slug, CreatedBy: &p.UserID, RootID: root}, p.UserID, p.Operator); err != nil {
			return err
		}
		kind, actor := p.Actor()
		return recordCreated(ctx, tx, org, kind, actor)
	})
	if err != nil {
		return models.Org{}, err
	}
	s.limits.Forget()
	return org, nil
}

// createOrg inserts an organization and what it starts with; environmentKeys is whether it may use the provider keys of the environment.
func (s *Service) createOrg(ctx context.Context, tx *gorm.DB, org models.Org, owner models.UserID, environmentKeys bool) (models.Org, error) {
	now := clock.Millis(s.clock)
	org.ID, org.CreatedAt = models.NewID[models.OrgEntity](), now
	if err := tx.Create(&org).Error; err != nil {
		if store.IsDuplicate(err) {
			return org, fault.New(fault.Taken, "The slug %q is in use. Choose another one.", org.Slug).At("input", "slug")
		}
		return org, fmt.Errorf("create an organization: %w", err)
	}
	err := tx.Create(&models.Membership{
		OrgID: org.ID, ID: models.NewID[models.MembershipEntity](), UserID: owner, Role: models.RoleOwner, CreatedAt: now,
	}).Error
	if err != nil {
		return org, fmt.Errorf("create the membership of the owner: %w", err)
	}
	if environmentKeys {
		if err := tx.Create(&models.OrgLoad{OrgID: org.ID, Weight: 1, EnvironmentKeys: new(int64(1)), LimitsChangedAt: now}).Error; err != nil {
			return org, fmt.Errorf("allow an organization the environment's keys: %w", err)
		}
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

// at sets the path of the argument to blame on a failure; other errors stay as they are.
func at(err error, path ...string) error {
	if f := fault.As(err); f != nil {
		return f.At(path...)
	}
	return err
}
