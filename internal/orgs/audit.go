package orgs

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
)

// recordPatience is how long it may take to write down that a sign-in failed, after whoever tried may have hung up.
const recordPatience = 5 * time.Second

// entriesOf returns the entries about a person: one for each of their organizations, or one for the platform's chain when they are in none,
// or when nobody (the zero id) is known. The entry must say nothing of one organization that the others must not know.
func entriesOf(tx *gorm.DB, user models.UserID, e audit.Entry) ([]audit.Entry, error) {
	memberships, err := membershipsOf(tx, user)
	if err != nil {
		return nil, err
	}
	if len(memberships) == 0 {
		e.Org = audit.Platform
		return []audit.Entry{e}, nil
	}
	entries := make([]audit.Entry, len(memberships))
	for i, m := range memberships {
		entries[i] = e
		entries[i].Org = m.OrgID
	}
	return entries, nil
}

// recordOf records what concerns a person in all of their organizations. It must be the last thing that the transaction does.
func (s *Service) recordOf(ctx context.Context, tx *gorm.DB, user models.UserID, e audit.Entry) error {
	entries, err := entriesOf(tx, user, e)
	if err != nil {
		return err
	}
	return audit.RecordAll(ctx, tx, clock.Millis(s.clock), entries...)
}

// recordFailure records a sign-in that failed. A known person and an unknown e-mail take the same statements, as often as the person has
// organizations. It is recorded also when the caller has hung up meanwhile: nobody gets a try that doesn't show.
func (s *Service) recordFailure(ctx context.Context, emailKey string, user *models.User) error {
	return s.recordRefusal(ctx, user, map[string]any{"email": clip(emailKey)})
}

func (s *Service) recordRefusal(ctx context.Context, user *models.User, details map[string]any) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordPatience)
	defer cancel()
	e := audit.Entry{ActorKind: models.ActorSystem, Action: "signin.failed", Details: details}
	var id models.UserID
	if user != nil {
		id, e.Target = user.ID, user.ID.String()
	}
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error { return s.recordOf(ctx, tx, id, e) })
	if err != nil {
		return fmt.Errorf("record a failed sign-in: %w", err)
	}
	return nil
}

// endSignIn ends a sign-in and returns it; nil when it has ended already.
func endSignIn(tx *gorm.DB, id models.SignInID, now models.Millis) (*models.SignIn, error) {
	res := tx.Model(&models.SignIn{}).Where("id = ? AND revoked_at IS NULL", id).Update("revoked_at", now)
	if res.Error != nil {
		return nil, fmt.Errorf("end a sign-in: %w", res.Error)
	}
	if res.RowsAffected == 0 {
		return nil, nil
	}
	var row models.SignIn
	if err := tx.Where("id = ?", id).Take(&row).Error; err != nil {
		return nil, fmt.Errorf("read a sign-in: %w", err)
	}
	return &row, nil
}
