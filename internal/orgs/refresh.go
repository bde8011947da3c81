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

// Refresh exchanges a refresh token for a new pair. A token is good for one use; within 30 s it gives the same successor
// again, later its use means that somebody has a copy, and ends the sign-in. All refusals are fault.InvalidCredentials,
// but for an unused token whose time is over: fault.Expired.
func (s *Service) Refresh(ctx context.Context, token string) (*SignedIn, error) {
	if !isRefreshToken(token) {
		return nil, signInEnded()
	}
	var (
		f       family
		next    string
		expires models.Millis
		stolen  models.SignInID
	)
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		row, err := refreshTokenRow(tx, token)
		if err != nil {
			return err
		}
		now := clock.Millis(s.clock)
		// Whoever holds the sign-in's row decides alone about its tokens: read the token again.
		if err := holdSignIn(tx, row.SignInID, now); err != nil {
			return err
		}
		if row, err = refreshTokenRow(tx, token); err != nil {
			return err
		}
		if row.SpentAt != nil && now.Time().Sub(row.SpentAt.Time()) > refreshGrace {
			stolen = row.SignInID
			return s.endStolen(ctx, tx, stolen, now)
		}
		if f, err = s.familyOf(ctx, tx, row.SignInID); err != nil {
			return err
		}
		if row.SpentAt != nil {
			next, expires, err = s.sameSuccessor(tx, token, row.SignInID, now)
			return err
		}
		if row.ExpiresAt <= now {
			return fault.New(fault.Expired, "The refresh token has expired: sign in again.")
		}
		next, expires, err = s.spend(tx, row, token, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !stolen.IsZero() {
		s.forget(func(p *auth.Principal) bool { return p.SignInID == stolen })
		return nil, signInEnded()
	}
	return s.signedIn(ctx, f, next, expires)
}

// endStolen ends a sign-in of which somebody has a copy of a token.
func (s *Service) endStolen(ctx context.Context, tx *gorm.DB, id models.SignInID, now models.Millis) error {
	ended, err := endSignIn(tx, id, now)
	if err != nil || ended == nil {
		return err
	}
	// Who used the token is not known: it may have been the thief, or the person after the thief.
	return s.recordOf(ctx, tx, ended.UserID, audit.Entry{
		ActorKind: models.ActorSystem, Action: "signin.token_reused", Target: id.String(),
		Details: map[string]any{"user": ended.UserID.String()},
	})
}

// spend marks a token as used and stores its successor.
func (s *Service) spend(tx *gorm.DB, row models.RefreshToken, token string, now models.Millis) (string, models.Millis, error) {
	err := tx.Model(&models.RefreshToken{}).Where("hash = ?", row.Hash).Update("spent_at", now).Error
	if err != nil {
		return "", 0, fmt.Errorf("spend a refresh token: %w", err)
	}
	next := successor(s.successors[0], token)
	stored, err := storeRefreshToken(tx, next, row.SignInID, now)
	return next, stored.ExpiresAt, err
}

// sameSuccessor finds what a spent token was exchanged for. It was derived under the current master key or the one
// before. A token that was spent otherwise, by switching the organization, gets its successor now.
func (s *Service) sameSuccessor(tx *gorm.DB, token string, signIn models.SignInID, now models.Millis) (string, models.Millis, error) {
	for _, secret := range s.successors {
		next := successor(secret, token)
		var found []models.RefreshToken
		if err := tx.Where("hash = ?", hashRefreshToken(next)).Limit(1).Find(&found).Error; err != nil {
			return "", 0, fmt.Errorf("find the successor of a refresh token: %w", err)
		}
		if len(found) > 0 {
			return next, found[0].ExpiresAt, nil
		}
	}
	next := successor(s.successors[0], token)
	stored, err := storeRefreshToken(tx, next, signIn, now)
	return next, stored.ExpiresAt, err
}

// familyOf reads a sign-in with its user, its organization and the role there; refused when the membership is gone.
func (s *Service) familyOf(ctx context.Context, tx *gorm.DB, id models.SignInID) (family, error) {
	var f family
	if err := tx.Where("id = ?", id).Take(&f.signIn).Error; err != nil {
		return f, fmt.Errorf("read a sign-in: %w", err)
	}
	if err := canCarry(auth.RequestFrom(ctx), f.signIn.Transport); err != nil {
		return f, err
	}
	m, err := membership(tx, f.signIn.OrgID, f.signIn.UserID)
	if fault.Is(err, fault.NotFound) {
		return f, signInEnded()
	}
	if err != nil {
		return f, err
	}
	f.role = m.Role
	if f.org, err = orgByID(tx, m.OrgID); err != nil {
		return f, err
	}
	user, err := userByID(tx, m.UserID)
	if err != nil {
		return f, err
	}
	if user == nil {
		return f, signInEnded()
	}
	f.user = *user
	return f, nil
}

func refreshTokenRow(tx *gorm.DB, token string) (models.RefreshToken, error) {
	found, err := store.First[models.RefreshToken](tx.Where("hash = ?", hashRefreshToken(token)))
	if err != nil {
		return models.RefreshToken{}, fmt.Errorf("find a refresh token: %w", err)
	}
	if found == nil {
		return models.RefreshToken{}, signInEnded()
	}
	return *found, nil
}

// holdSignIn marks a sign-in as used and keeps others away from its tokens until the transaction ends.
func holdSignIn(tx *gorm.DB, id models.SignInID, now models.Millis) error {
	res := tx.Model(&models.SignIn{}).Where("id = ? AND revoked_at IS NULL", id).Update("last_used_at", now)
	if res.Error != nil {
		return fmt.Errorf("lock a sign-in: %w", res.Error)
	}
	if res.RowsAffected == 0 {
		return signInEnded()
	}
	return nil
}

// spendAll makes every unused token of a sign-in spent.
func spendAll(tx *gorm.DB, id models.SignInID, now models.Millis) error {
	err := tx.Model(&models.RefreshToken{}).Where("sign_in_id = ? AND spent_at IS NULL", id).Update("spent_at", now).Error
	if err != nil {
		return fmt.Errorf("spend the refresh tokens of a sign-in: %w", err)
	}
	return nil
}
