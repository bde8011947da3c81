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

// Membership returns a membership of the organization; fault.NotFound when it has none with this id.
func (s *Service) Membership(ctx context.Context, org models.OrgID, id models.MembershipID) (*models.Membership, error) {
	m, err := one[models.Membership](s.db.Read(ctx, org), org, id, "member")
	return &m, err
}

// ListMembers returns memberships, newest first: at most limit of those after a position.
func (s *Service) ListMembers(ctx context.Context, org models.OrgID, after *models.MembershipID, limit int) ([]models.Membership, error) {
	return store.Page[models.Membership](s.db.Read(ctx, org), org, after, limit)
}

// CountMembers counts what ListMembers lists, as far as store.MaxCount.
func (s *Service) CountMembers(ctx context.Context, org models.OrgID) (int, error) {
	return store.Count[models.Membership](s.db.Read(ctx, org), s.db.Read(ctx, org), org)
}

// SetMemberRole changes the role of a member. Nobody grants a role above their own nor changes somebody whose role is above it, and the
// last owner stays one: fault.Forbidden. The role that the member has already changes nothing. Pending invitations that the member may not
// make with the lower one of the two roles end.
func (s *Service) SetMemberRole(ctx context.Context, p *auth.Principal, id models.MembershipID, role models.Role) (*models.Membership, error) {
	var m models.Membership
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		own, err := s.lockMember(tx, p, id, &m)
		if err != nil {
			return err
		}
		if err := notAbove(role, own, "You can't make a member %s: that role is above your own.", role); err != nil {
			return at(err, "role")
		}
		if m.Role == role {
			return nil
		}
		if err := notTheLastOwner(tx, m); err != nil {
			return err
		}
		if err := store.OneRow(store.Of(tx.Model(&models.Membership{}), p.OrgID).Where("id = ?", id).Update("role", role)); err != nil {
			return fmt.Errorf("change the role of a member: %w", err)
		}
		before, lower := m.Role, m.Role
		if !role.AtLeast(lower) {
			lower = role
		}
		m.Role = role
		now := clock.Millis(s.clock)
		ended, err := endInvitations(tx, m, lower, now)
		if err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, now, p, "member.role_changed", id.String(),
			map[string]any{"userId": m.UserID.String(), "before": before, "after": role, "revokedInvitations": ended})
	})
	if err != nil {
		return nil, err
	}
	s.forgetMember(m)
	return &m, nil
}

// RemoveMember ends a membership, also the caller's own. The person's sign-ins stay: those that are bound to this organization give no
// access any more. Their pending invitations end. Nobody removes somebody whose role is above their own,
// and the last owner stays: fault.Forbidden.
func (s *Service) RemoveMember(ctx context.Context, p *auth.Principal, id models.MembershipID) (*models.Membership, error) {
	var m models.Membership
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if _, err := s.lockMember(tx, p, id, &m); err != nil {
			return err
		}
		if err := notTheLastOwner(tx, m); err != nil {
			return err
		}
		if err := store.OneRow(store.Of(tx, p.OrgID).Where("id = ?", id).Delete(&models.Membership{})); err != nil {
			return fmt.Errorf("remove a member: %w", err)
		}
		now := clock.Millis(s.clock)
		ended, err := endInvitations(tx, m, "", now)
		if err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, now, p, "member.removed", id.String(),
			map[string]any{"userId": m.UserID.String(), "role": m.Role, "revokedInvitations": ended})
	})
	if err != nil {
		return nil, err
	}
	s.forgetMember(m)
	return &m, nil
}

// lockMember locks the organization, reads the member who is to be changed, and returns the caller's own role.
func (s *Service) lockMember(tx *gorm.DB, p *auth.Principal, id models.MembershipID, m *models.Membership) (models.Role, error) {
	if _, err := lockOrg(tx, p.OrgID); err != nil {
		return "", err
	}
	own, err := authority(tx, p)
	if err != nil {
		return "", err
	}
	if *m, err = one[models.Membership](tx, p.OrgID, id, "member"); err != nil {
		return "", at(err, "membershipId")
	}
	return own, at(notAbove(m.Role, own, "This member's role, %s, is above your own.", m.Role), "membershipId")
}

func (s *Service) forgetMember(m models.Membership) {
	s.forget(func(p *auth.Principal) bool { return p.UserID == m.UserID && p.OrgID == m.OrgID })
}

// one reads a row of an organization; fault.NotFound when it has none with this id, whether or not another one has it.
func one[T any, E models.Entity](db *gorm.DB, org models.OrgID, id models.ID[E], noun string) (T, error) {
	var none T
	found, err := store.First[T](store.Of(db, org).Where("id = ?", id))
	if err != nil {
		return none, fmt.Errorf("read %s %s of %s: %w", noun, id, org, err)
	}
	if found == nil {
		return none, fault.New(fault.NotFound, "There is no %s with the id %s.", noun, id)
	}
	return *found, nil
}
