package orgs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// InvitationLifetime is how long an invitation can be accepted.
	InvitationLifetime = 7 * 24 * time.Hour

	invitationTokenBytes = 32
)

// Invitation returns an invitation of the organization; fault.NotFound when it has none with this id.
func (s *Service) Invitation(ctx context.Context, org models.OrgID, id models.InvitationID) (*models.Invitation, error) {
	inv, err := one[models.Invitation](s.db.Read(ctx, org), org, id, "invitation")
	return &inv, err
}

// ListInvitations returns all invitations, whatever became of them, newest first: at most limit of those after a position.
func (s *Service) ListInvitations(ctx context.Context, org models.OrgID, after *models.InvitationID, limit int) ([]models.Invitation, error) {
	return store.Page[models.Invitation](s.db.Read(ctx, org), org, after, limit)
}

// CountInvitations counts what ListInvitations lists, as far as store.MaxCount.
func (s *Service) CountInvitations(ctx context.Context, org models.OrgID) (int, error) {
	return store.Count[models.Invitation](s.db.Read(ctx, org), s.db.Read(ctx, org), org)
}

// Invite invites whoever has an e-mail, and returns the token that proves it, which is stored nowhere. An e-mail that belongs to a member,
// or that has a pending invitation, is fault.Taken; a role above the caller's own is fault.Forbidden. An invitation that has
// expired is replaced.
func (s *Service) Invite(ctx context.Context, p *auth.Principal, email string, role models.Role) (*models.Invitation, string, error) {
	email, key, err := cleanEmail(email)
	if err == nil && mail.CheckAddress(email) != nil {
		err = errNoEmail() // mail could never be sent there
	}
	if err != nil {
		return nil, "", at(err, "input", "email")
	}
	token, err := newInvitationToken()
	if err != nil {
		return nil, "", err
	}
	most := s.limits.Of(ctx, p.OrgID).PendingInvitations
	var inv models.Invitation
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if _, err := lockOrg(tx, p.OrgID); err != nil {
			return err
		}
		own, err := authority(tx, p)
		if err != nil {
			return err
		}
		if err := notAbove(role, own, "You can't invite a person as %s: that role is above your own.", role); err != nil {
			return at(err, "input", "role")
		}
		now := clock.Millis(s.clock)
		replaced, err := replaceExpired(tx, p.OrgID, key, now)
		if err != nil {
			return at(err, "input", "email")
		}
		// One that has expired, and is replaced, did not count.
		if err := checkInvitationQuota(tx, p.OrgID, most, now); err != nil {
			return err
		}
		kind, by := p.Actor()
		inv = models.Invitation{
			OrgID: p.OrgID, ID: models.NewID[models.InvitationEntity](), Email: email, EmailKey: key, Role: role,
			TokenHash: hashInvitationToken(token), InvitedByKind: &kind, InvitedBy: &by, CreatedAt: now, ExpiresAt: models.MillisOf(now.Time().Add(InvitationLifetime)),
		}
		if err := tx.Create(&inv).Error; err != nil {
			return fmt.Errorf("create an invitation: %w", err)
		}
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), p, "invitation.created", inv.ID.String(),
			map[string]any{"email": email, "role": role, "expiresAt": inv.ExpiresAt.Time(), "replaces": replaced})
	})
	if err != nil {
		return nil, "", err
	}
	return &inv, token, nil
}

// replaceExpired refuses a second invitation of somebody and one of a member, and revokes one that has expired, whose id it gives.
func replaceExpired(tx *gorm.DB, org models.OrgID, emailKey string, now models.Millis) (replaced *models.InvitationID, err error) {
	var members int64
	err = tx.Table("memberships AS m").Joins("JOIN users u ON u.id = m.user_id").
		Where("m.org_id = ? AND u.email_key = ?", org, emailKey).Count(&members).Error
	if err != nil {
		return nil, fmt.Errorf("look for a member by e-mail: %w", err)
	}
	if members > 0 {
		return nil, fault.New(fault.Taken, "The person with this e-mail is already a member.")
	}
	var pending []models.Invitation
	err = store.Of(tx, org).Where("email_key = ? AND accepted_at IS NULL AND revoked_at IS NULL", emailKey).Limit(1).Find(&pending).Error
	if err != nil {
		return nil, fmt.Errorf("look for a pending invitation: %w", err)
	}
	if len(pending) == 0 {
		return nil, nil
	}
	if pending[0].ExpiresAt > now {
		return nil, fault.New(fault.Taken, "This email already has a pending invitation. Revoke it first to send a new one.")
	}
	return &pending[0].ID, setRevoked(tx, pending[0], now)
}

// RevokeInvitation ends an invitation that was not accepted; one that was is fault.Conflict. Revoking it again changes nothing. One
// for a role above the caller's own is fault.Forbidden.
func (s *Service) RevokeInvitation(ctx context.Context, p *auth.Principal, id models.InvitationID) (*models.Invitation, error) {
	var inv models.Invitation
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if _, err := lockOrg(tx, p.OrgID); err != nil {
			return err
		}
		own, err := authority(tx, p)
		if err != nil {
			return err
		}
		if inv, err = one[models.Invitation](tx, p.OrgID, id, "invitation"); err != nil {
			return at(err, "id")
		}
		if err := notAbove(inv.Role, own, "This invitation is for the role %s, which is above your own.", inv.Role); err != nil {
			return at(err, "id")
		}
		if inv.AcceptedAt != nil {
			return fault.New(fault.Conflict, "The invitation was accepted already: remove the member instead.").At("id")
		}
		if inv.RevokedAt != nil {
			return nil
		}
		now := clock.Millis(s.clock)
		if err := setRevoked(tx, inv, now); err != nil {
			return err
		}
		inv.RevokedAt = &now
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), p, "invitation.revoked", id.String(), map[string]any{"email": inv.Email, "role": inv.Role})
	})
	if err != nil {
		return nil, err
	}
	return &inv, nil
}

// endInvitations revokes the pending invitations of a member that somebody with the given role may not make, and returns their ids. So they
// stay ended when the member gets the right again. The organization is locked.
func endInvitations(tx *gorm.DB, m models.Membership, role models.Role, now models.Millis) ([]models.InvitationID, error) {
	var pending []models.Invitation
	err := store.Of(tx, m.OrgID).Where("accepted_at IS NULL AND revoked_at IS NULL AND invited_by_kind = ? AND invited_by = ?", models.ActorUser, m.UserID).
		Find(&pending).Error
	if err != nil {
		return nil, fmt.Errorf("read the invitations of a member: %w", err)
	}
	invites := auth.RolePermissions(role, false).Has(auth.MembersManage)
	ended := []models.InvitationID{}
	for _, inv := range pending {
		if invites && role.AtLeast(inv.Role) {
			continue
		}
		ended = append(ended, inv.ID)
	}
	if len(ended) == 0 {
		return ended, nil
	}
	if err := store.Of(tx.Model(&models.Invitation{}), m.OrgID).Where("id IN ?", ended).Update("revoked_at", now).Error; err != nil {
		return nil, fmt.Errorf("revoke the invitations of a member: %w", err)
	}
	return ended, nil
}

func setRevoked(tx *gorm.DB, inv models.Invitation, now models.Millis) error {
	err := store.OneRow(store.Of(tx.Model(&models.Invitation{}), inv.OrgID).Where("id = ?", inv.ID).Update("revoked_at", now))
	if err != nil {
		return fmt.Errorf("revoke an invitation: %w", err)
	}
	return nil
}

func newInvitationToken() (string, error) {
	raw := make([]byte, invitationTokenBytes)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("make the token of an invitation: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

func hashInvitationToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
