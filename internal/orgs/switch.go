package orgs

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
)

// SwitchOrg moves a sign-in to another organization of the caller and returns new tokens; those that the sign-in had are
// spent. An organization that the caller doesn't belong to is fault.NotFound, whether it exists or not.
func (s *Service) SwitchOrg(ctx context.Context, p *auth.Principal, to models.OrgID) (*SignedIn, error) {
	if err := needPerson(p, "switch to another organization"); err != nil {
		return nil, err
	}
	if err := canCarry(auth.RequestFrom(ctx), p.Transport); err != nil {
		return nil, err
	}
	var (
		f       family
		refresh string
		expires models.Millis
	)
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if _, err := membership(tx, to, p.UserID); err != nil {
			return at(err, "orgId")
		}
		now := clock.Millis(s.clock)
		// The user goes before the sign-in, as in ChangePassword: the other way round the two could wait for each other.
		if err := setLastOrg(tx, p.UserID, to); err != nil {
			return err
		}
		if err := holdSignIn(tx, p.SignInID, now); err != nil {
			return err
		}
		if err := tx.Model(&models.SignIn{}).Where("id = ?", p.SignInID).Update("org_id", to).Error; err != nil {
			return fmt.Errorf("move a sign-in: %w", err)
		}
		if err := spendAll(tx, p.SignInID, now); err != nil {
			return err
		}
		var err error
		if f, err = s.familyOf(ctx, tx, p.SignInID); err != nil {
			return err
		}
		refresh, expires, err = newRefreshToken(tx, p.SignInID, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.signedIn(ctx, f, refresh, expires)
}

// ViewerData is who is asking, as the viewer shows it: a person, or a key.
type ViewerData struct {
	User *models.User
	Key  *models.APIKey
	Org  models.Org
}

// Viewer returns the person or the key, and the organization, behind a principal.
func (s *Service) Viewer(ctx context.Context, p *auth.Principal) (ViewerData, error) {
	org, err := s.Org(ctx, p.OrgID)
	if err != nil {
		return ViewerData{}, err
	}
	v := ViewerData{Org: org}
	if p.IsKey() {
		v.Key, err = s.APIKey(ctx, p.OrgID, p.KeyID)
		return v, err
	}
	if v.User, err = userByID(s.db.ReadAcross(ctx), p.UserID); err != nil {
		return ViewerData{}, err
	}
	if v.User == nil {
		return ViewerData{}, fmt.Errorf("read the user of a principal: %s is gone", p.UserID)
	}
	return v, nil
}
