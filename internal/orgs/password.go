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
)

// ChangePassword sets a new password and ends all other sign-ins of the caller. A wrong current password is
// fault.InvalidCredentials, and counts as an attempt to sign in.
func (s *Service) ChangePassword(ctx context.Context, p *auth.Principal, current, next string) error {
	if err := needPerson(p, "change a password"); err != nil {
		return err
	}
	if err := auth.CheckPassword(next); err != nil {
		return at(err, "new")
	}
	user, err := s.User(ctx, p.UserID)
	if err != nil {
		return err
	}
	ctx, attempt, err := s.begin(ctx, user.EmailKey)
	if err != nil {
		return err
	}
	ok, err := s.isPassword(ctx, user, current)
	if err != nil {
		attempt.undo()
		return err
	}
	if !ok {
		return fault.New(fault.InvalidCredentials, "The current password is wrong.").At("current")
	}
	attempt.succeeded()
	hash, err := s.passwords.Hash(ctx, next)
	if err != nil {
		return err
	}
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		res := tx.Model(&models.User{}).Where("id = ? AND password_hash = ?", user.ID, user.PasswordHash).
			Update("password_hash", hash)
		if res.Error != nil {
			return fmt.Errorf("change a password: %w", res.Error)
		}
		if res.RowsAffected == 0 {
			return fault.New(fault.Conflict, "The password was changed by another request just now. Try again.")
		}
		// Who could read a link that is still open must not be able to take the new password away.
		if err := tx.Where("user_id = ?", user.ID).Delete(&models.PasswordReset{}).Error; err != nil {
			return fmt.Errorf("end an open link for a new password: %w", err)
		}
		err := tx.Model(&models.SignIn{}).Where("user_id = ? AND id <> ? AND revoked_at IS NULL", user.ID, p.SignInID).
			Update("revoked_at", clock.Millis(s.clock)).Error
		if err != nil {
			return fmt.Errorf("end the other sign-ins: %w", err)
		}
		kind, actor := p.Actor()
		return s.recordOf(ctx, tx, user.ID, audit.Entry{
			ActorKind: kind, Actor: actor, Action: "password.changed", Target: user.ID.String(),
		})
	})
	if err != nil {
		return err
	}
	s.forget(func(other *auth.Principal) bool { return other.UserID == p.UserID && other.SignInID != p.SignInID })
	return nil
}
