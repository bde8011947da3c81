package orgs

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// OrgChange is what to change of an organization. What isn't given stays; a given nil clears a default.
type OrgChange struct {
	Name             catalog.Opt[*string]
	DefaultHarnessID catalog.Opt[*models.HarnessID]
	DefaultModelID   catalog.Opt[*models.ModelID]
	// AllowUnpriced lets models without a price run under budgets in dollars.
	AllowUnpriced catalog.Opt[*bool]
}

// UpdateOrg changes the caller's organization. A default that it doesn't have is fault.NotFound, one that can't be used fault.Dependency.
func (s *Service) UpdateOrg(ctx context.Context, p *auth.Principal, in OrgChange) (models.Org, error) {
	var name string
	if in.Name.Given {
		if in.Name.Value == nil {
			return models.Org{}, fault.New(fault.Invalid, "An organization must have a name; leave it out to keep the current one.").At("input", "name")
		}
		var err error
		if name, err = cleanName(*in.Name.Value); err != nil {
			return models.Org{}, at(err, "input", "name")
		}
	}
	if in.AllowUnpriced.Given && in.AllowUnpriced.Value == nil {
		return models.Org{}, fault.New(fault.Invalid, "allowUnpricedModels must be true or false; leave it out to keep it as it is.").
			At("input", "allowUnpricedModels")
	}
	var org models.Org
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		var err error
		if org, err = lockOrg(tx, p.OrgID); err != nil {
			return err
		}
		before := org
		if in.Name.Given {
			org.Name = name
		}
		if in.DefaultHarnessID.Given {
			org.DefaultHarnessID = in.DefaultHarnessID.Value
		}
		if in.DefaultModelID.Given {
			org.DefaultModelID = in.DefaultModelID.Value
		}
		if in.AllowUnpriced.Given {
			org.AllowUnpriced = *in.AllowUnpriced.Value
		}
		details := orgDetails(before, org)
		if len(details) == 0 {
			return nil
		}
		if err := checkDefaults(tx, before, org); err != nil {
			return err
		}
		err = store.OneRow(tx.Model(&models.Org{}).Where("id = ?", org.ID).Updates(map[string]any{
			"name": org.Name, "default_harness_id": org.DefaultHarnessID, "default_model_id": org.DefaultModelID,
			"allow_unpriced": org.AllowUnpriced,
		}))
		if err != nil {
			return fmt.Errorf("change an organization: %w", err)
		}
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), p, "org.updated", org.ID.String(), details)
	})
	// Also after a failure: a commit whose answer was lost may have happened.
	s.seeder.DefaultsChanged(p.OrgID)
	return org, err
}

// checkDefaults checks what an organization newly refers to.
func checkDefaults(tx *gorm.DB, before, after models.Org) error {
	if id := after.DefaultHarnessID; id != nil && !same(before.DefaultHarnessID, id) {
		if err := catalog.CheckDefaultHarness(tx, after.ID, *id); err != nil {
			return err
		}
	}
	if id := after.DefaultModelID; id != nil && !same(before.DefaultModelID, id) {
		return catalog.CheckDefaultModel(tx, after.ID, *id)
	}
	return nil
}

// orgDetails returns what changed, for the audit; empty when nothing did.
func orgDetails(before, after models.Org) map[string]any {
	details := map[string]any{}
	if before.Name != after.Name {
		details["name"] = change(before.Name, after.Name)
	}
	if !same(before.DefaultHarnessID, after.DefaultHarnessID) {
		details["defaultHarnessId"] = change(before.DefaultHarnessID, after.DefaultHarnessID)
	}
	if !same(before.DefaultModelID, after.DefaultModelID) {
		details["defaultModelId"] = change(before.DefaultModelID, after.DefaultModelID)
	}
	if before.AllowUnpriced != after.AllowUnpriced {
		details["allowUnpricedModels"] = change(before.AllowUnpriced, after.AllowUnpriced)
	}
	return details
}

func change(before, after any) map[string]any {
	return map[string]any{"before": before, "after": after}
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// UpdateViewer changes the caller's own name, in all organizations. The audit tells it where the caller is signed in.
func (s *Service) UpdateViewer(ctx context.Context, p *auth.Principal, name string) (models.User, error) {
	if err := needPerson(p, "have a person's name"); err != nil {
		return models.User{}, err
	}
	name, err := cleanName(name)
	if err != nil {
		return models.User{}, at(err, "name")
	}
	var user models.User
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		found, err := userByID(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), p.UserID)
		if err != nil {
			return err
		}
		if found == nil {
			return fault.New(fault.Forbidden, "Only a person can change their name. Sign in as one.")
		}
		user = *found
		if user.Name == name {
			return nil
		}
		if err := store.OneRow(tx.Model(&models.User{}).Where("id = ?", user.ID).Update("name", name)); err != nil {
			return fmt.Errorf("change the name of a user: %w", err)
		}
		details := map[string]any{"name": change(user.Name, name)}
		user.Name = name
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), p, "user.updated", user.ID.String(), details)
	})
	return user, err
}
