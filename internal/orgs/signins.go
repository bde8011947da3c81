package orgs

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// maxSignIns bounds the list of one's own sign-ins.
const maxSignIns = 100

// SignIns returns the caller's own sign-ins that still stand, the one used last first, and at most 100. One that was not used for as
// long as its refresh token is good has ended by itself.
func (s *Service) SignIns(ctx context.Context, p *auth.Principal) ([]models.SignIn, error) {
	if err := needPerson(p, "see sign-ins"); err != nil {
		return nil, err
	}
	var list []models.SignIn
	ended := models.MillisOf(s.clock.Now().Add(-RefreshTokenLifetime))
	err := s.db.ReadAcross(ctx).Where("user_id = ? AND revoked_at IS NULL AND last_used_at > ?", p.UserID, ended).
		Order("last_used_at DESC, id DESC").Limit(maxSignIns).Find(&list).Error
	if err != nil {
		return nil, fmt.Errorf("read the sign-ins of a user: %w", err)
	}
	return list, nil
}

// RevokeSignIn ends one of the caller's own sign-ins: its refresh token at once, its access token within seconds. Somebody else's is
// fault.NotFound, as one that nobody has. Ending one that has already ended is not an error.
func (s *Service) RevokeSignIn(ctx context.Context, p *auth.Principal, id models.SignInID) error {
	if err := needPerson(p, "end a sign-in"); err != nil {
		return err
	}
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		now := clock.Millis(s.clock)
		res := tx.Model(&models.SignIn{}).Where("id = ? AND user_id = ? AND revoked_at IS NULL", id, p.UserID).Update("revoked_at", now)
		if res.Error != nil {
			return fmt.Errorf("end a sign-in: %w", res.Error)
		}
		if res.RowsAffected == 1 {
			kind, actor := p.Actor()
			return recordOfUser(ctx, tx, now, p.UserID, audit.Entry{
				ActorKind: kind, Actor: actor, Action: "signin.revoked", Target: id.String(),
			})
		}
		var found []models.SignIn
		if err := tx.Select("id").Where("id = ? AND user_id = ?", id, p.UserID).Limit(1).Find(&found).Error; err != nil {
			return fmt.Errorf("read a sign-in: %w", err)
		}
		if len(found) == 0 {
			return fault.New(fault.NotFound, "You have no sign-in with this id.").At("id")
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.forget(func(other *auth.Principal) bool { return other.SignInID == id })
	return nil
}

// recordOfUser records what was done to a user, who belongs to no organization, in each organization of theirs; in the platform's chain
// when there is none. It must come last in the transaction. The chains are taken in the order of their ids, as everywhere.
func recordOfUser(ctx context.Context, tx *gorm.DB, now models.Millis, user models.UserID, e audit.Entry) error {
	memberships, err := membershipsOf(tx, user)
	if err != nil {
		return err
	}
	chains := []models.OrgID{audit.Platform}
	if len(memberships) > 0 {
		chains = chains[:0]
		for _, m := range memberships {
			chains = append(chains, m.OrgID)
		}
		slices.SortFunc(chains, func(a, b models.OrgID) int { return bytes.Compare(a[:], b[:]) })
	}
	for _, e.Org = range chains {
		if err := audit.Record(ctx, tx, now, e); err != nil {
			return err
		}
	}
	return nil
}
