package orgs

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Admin is what those may do who have the database itself: it asks for nobody's permission.
type Admin struct {
	db        *store.DB
	clock     clock.Clock
	publicURL string
}

// NewAdmin works on a database; publicURL is what links begin with.
func NewAdmin(db *store.DB, clk clock.Clock, publicURL string) *Admin {
	return &Admin{db: db, clock: clk, publicURL: publicURL}
}

// ResetLink makes a link that sets a new password for a user; it takes the place of an earlier one.
func (a *Admin) ResetLink(ctx context.Context, email string) (string, error) {
	var token string
	err := a.withUser(ctx, email, func(tx *gorm.DB, user models.User) error {
		var err error
		now := clock.Millis(a.clock)
		if token, err = newReset(tx, user.ID, now); err != nil {
			return err
		}
		return recordOfUser(ctx, tx, now, user.ID, audit.Entry{
			ActorKind: models.ActorSystem, Action: "password.reset_requested", Target: user.ID.String(), Details: map[string]any{"by": "ostler admin"},
		})
	})
	if err != nil {
		return "", err
	}
	return resetLink(a.publicURL, token), nil
}

// SetOperator makes a user an operator of the platform, or takes that away. It reports false when that was so already.
func (a *Admin) SetOperator(ctx context.Context, email string, operator bool) (bool, error) {
	changed := false
	err := a.withUser(ctx, email, func(tx *gorm.DB, user models.User) error {
		if user.Operator == operator {
			return nil
		}
		changed = true
		err := store.OneRow(tx.Model(&models.User{}).Where("id = ?", user.ID).Update("operator", operator))
		if err != nil {
			return fmt.Errorf("change who is an operator: %w", err)
		}
		action := "operator.removed"
		if operator {
			action = "operator.added"
		}
		// Operators belong to the platform, and no organization needs to know who they are.
		return audit.Record(ctx, tx, clock.Millis(a.clock), audit.Entry{
			Org: audit.Platform, ActorKind: models.ActorSystem, Action: action, Target: user.ID.String(),
			Details: map[string]any{"before": !operator, "after": operator},
		})
	})
	return changed && err == nil, err
}

// RecordKey records in the platform's chain that a new key signs tokens; it is an auth.KeyRecorder.
func RecordKey(ctx context.Context, tx *gorm.DB, at models.Millis, id string) error {
	return audit.Record(ctx, tx, at, audit.Entry{
		Org: audit.Platform, ActorKind: models.ActorSystem, Action: "signing_key.rotated", Target: id,
	})
}

// withUser does something in a transaction that holds the row of the user with an e-mail; fault.NotFound when there is none.
func (a *Admin) withUser(ctx context.Context, email string, fn func(tx *gorm.DB, user models.User) error) error {
	_, key, err := cleanEmail(email)
	if err != nil {
		return err
	}
	return a.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		user, err := userByEmail(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), key)
		if err != nil {
			return err
		}
		if user == nil {
			return fault.New(fault.NotFound, "There is no user with the e-mail %s.", email)
		}
		return fn(tx, *user)
	})
}
