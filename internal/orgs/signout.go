package orgs

import (
	"context"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
)

// SignOut ends the sign-in of a principal and the one that a refresh token belongs to; either may be absent (nil, "").
// A sign-in that has ended already, and a token that is none of ours, are no failures: nobody is signed in afterwards.
func (s *Service) SignOut(ctx context.Context, p *auth.Principal, refreshToken string) error {
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		now := clock.Millis(s.clock)
		if p != nil {
			if err := revoke(tx, p.SignInID, now); err != nil {
				return err
			}
		}
		if !isRefreshToken(refreshToken) {
			return nil
		}
		row, err := refreshTokenRow(tx, refreshToken)
		if fault.Is(err, fault.InvalidCredentials) {
			return nil
		}
		if err != nil {
			return err
		}
		return revoke(tx, row.SignInID, now)
	})
	if err != nil {
		return err
	}
	if p != nil {
		s.forget(func(other *auth.Principal) bool { return other.SignInID == p.SignInID })
	}
	return nil
}
