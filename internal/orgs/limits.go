package orgs

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// LimitsChange is what to change of an organization's limits, by their names in limits.Names. What isn't named stays; nil puts back what
// is configured for all organizations.
type LimitsChange map[string]catalog.Opt[*int]

// Limits returns what an organization may have and do.
func (s *Service) Limits(ctx context.Context, org models.OrgID) limits.Values {
	return s.limits.Of(ctx, org)
}

// SetLimits changes the limits of any organization: whoever calls it is an operator. It counts on this node at once, and on others within
// 2 s.
func (s *Service) SetLimits(ctx context.Context, p *auth.Principal, id models.OrgID, change LimitsChange) (models.Org, error) {
	if err := change.check(); err != nil {
		return models.Org{}, err
	}
	var org models.Org
	kind, actor := p.Actor()
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		var err error
		if org, err = lockOrg(tx, id); fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "There is no organization %s.", id).At("orgId")
		}
		if err != nil {
			return err
		}
		_, err = setLimits(ctx, tx, org.ID, change, clock.Millis(s.clock), kind, actor)
		return err
	})
	// Also after a failure: a commit whose answer was lost may have happened.
	s.limits.Forget()
	return org, err
}

// SetLimits changes the limits of an organization, which is named by its id or its slug.
func (a *Admin) SetLimits(ctx context.Context, name string, change LimitsChange) (models.Org, models.OrgLoad, error) {
	if err := change.check(); err != nil {
		return models.Org{}, models.OrgLoad{}, err
	}
	var org models.Org
	var row models.OrgLoad
	err := a.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		found, err := named(tx, name)
		if err != nil {
			return err
		}
		if found == nil {
			return fault.New(fault.NotFound, "There is no organization with the id or slug %q.", name)
		}
		if org, err = lockOrg(tx, found.ID); err != nil {
			return err
		}
		row, err = setLimits(ctx, tx, org.ID, change, clock.Millis(a.clock), models.ActorSystem, models.ActorID{})
		return err
	})
	return org, row, err
}

func (c LimitsChange) check() error {
	for _, n := range limits.Names() {
		if v := c[n.Name]; v.Given && v.Value != nil && (*v.Value < 0 || *v.Value > n.Most) {
			return fault.New(fault.Invalid, "The limit %s can't be %d: choose a number from 0 (unlimited) to %d, or null for the server's default.",
				n.Name, *v.Value, n.Most).At("input", n.Name)
		}
	}
	return nil
}

// setLimits writes what changes, under the lock of the organization, and returns what its limits are then.
func setLimits(
	ctx context.Context, tx *gorm.DB, org models.OrgID, change LimitsChange, now models.Millis, kind models.ActorKind, actor models.ActorID,
) (models.OrgLoad, error) {
	row, err := limits.LockLoad(tx, org)
	if err != nil {
		return row, err
	}
	columns, details := map[string]any{}, map[string]any{}
	for _, n := range limits.Names() {
		v := change[n.Name]
		var after *int64
		if v.Value != nil {
			after = new(int64(*v.Value))
		}
		if before := *n.Own(&row); v.Given && !same(before, after) {
			columns[n.Column], details[n.Name] = after, map[string]any{"before": before, "after": after}
			*n.Own(&row) = after
		}
	}
	if len(columns) == 0 {
		return row, nil
	}
	row.LimitsChangedAt = max(now, row.LimitsChangedAt+1)
	columns["limits_changed_at"] = row.LimitsChangedAt
	if err := store.OneRow(store.Of(tx.Model(&models.OrgLoad{}), org).Updates(columns)); err != nil {
		return row, fmt.Errorf("change the limits of %s: %w", org, err)
	}
	return row, audit.Record(ctx, tx, now, audit.Entry{
		Org: org, ActorKind: kind, Actor: actor, Action: "org.limits_changed", Target: org.String(), Details: details,
	})
}
