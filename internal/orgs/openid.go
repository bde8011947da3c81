package orgs

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/auth/oidc"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// sweptStates is how many states that are too old are removed with each one that is added: more than come, and few enough to wait for.
const sweptStates = 20

// Returned is somebody whom the issuer sent back.
type Returned struct {
	*SignedIn

	// ReturnTo is the page that they wanted; empty when it isn't known.
	ReturnTo string
}

// IssuerName is what people call the issuer of OpenID Connect; false when there is none.
func (s *Service) IssuerName() (string, bool) {
	if s.issuer == nil {
		return "", false
	}
	return s.issuer.Name(), true
}

// BeginOpenID begins a sign-in at the issuer, to return to a page, and to accept the invitation with a token, unless that is empty. Its
// errors are an oidc.Refusal, or the server's own.
func (s *Service) BeginOpenID(ctx context.Context, returnTo, invitation string) (oidc.Redirect, error) {
	if s.issuer == nil {
		return oidc.Redirect{}, fault.New(fault.NotFound, "This server has no OpenID Connect issuer.")
	}
	var hash []byte
	if invitation != "" {
		hash = hashInvitationToken(invitation)
	}
	return s.issuer.Begin(ctx, returnTo, hash)
}

// FinishOpenID signs in whom the issuer sent back, with the transport COOKIE. cookie is the one of BeginOpenID, p is who is signed in to
// this browser; nil for nobody. A refusal is an oidc.Refusal and changes nothing; after too many attempts it is fault.RateLimited.
func (s *Service) FinishOpenID(ctx context.Context, p *auth.Principal, cookie string, answer oidc.Answer) (Returned, error) {
	if s.issuer == nil {
		return Returned{}, fault.New(fault.NotFound, "This server has no OpenID Connect issuer.")
	}
	begun, err := s.issuer.Open(cookie, answer.State)
	if err != nil {
		return Returned{}, err
	}
	back := Returned{ReturnTo: begun.ReturnTo}
	// No account is known yet; what looks like the account of nobody stands for the state. It is the address that is slowed down.
	attempt, _, err := s.throttle.begin(s.clock.Now(), "state "+string(begun.State), source{address: auth.RequestFrom(ctx).Address})
	if err != nil {
		return back, err
	}
	back.SignedIn, err = s.finishOpenID(ctx, p, begun, answer)
	refusal, refused := errors.AsType[oidc.Refusal](err)
	switch {
	case err == nil:
		attempt.succeeded()
	case !refused, refusal == oidc.Unavailable, refusal == oidc.NeedsPassword: // not the person's fault
		attempt.undo()
	}
	return back, err
}

func (s *Service) finishOpenID(ctx context.Context, p *auth.Principal, begun oidc.Attempt, answer oidc.Answer) (*SignedIn, error) {
	// Before the issuer is asked: should the process die behind this, the person begins anew.
	if err := s.spendState(ctx, begun); err != nil {
		return nil, err
	}
	who, err := s.issuer.Redeem(ctx, begun, answer)
	if err != nil {
		return nil, err
	}
	return s.signInIdentity(ctx, p, who, begun.Invitation)
}

// Unlink forgets who a user is to all issuers, and ends their sign-ins. It returns how many issuers those were. Where an issuer gave somebody
// a new subject, nobody else can let them in again.
func (a *Admin) Unlink(ctx context.Context, email string) (int64, error) {
	var n int64
	err := a.withUser(ctx, email, func(tx *gorm.DB, user models.User) error {
		gone := tx.Where("user_id = ?", user.ID).Delete(&models.Identity{})
		if gone.Error != nil {
			return fmt.Errorf("unlink %s: %w", user.ID, gone.Error)
		}
		if n = gone.RowsAffected; n == 0 {
			return nil
		}
		now := clock.Millis(a.clock)
		ended := tx.Model(&models.SignIn{}).Where("user_id = ? AND revoked_at IS NULL", user.ID).Update("revoked_at", now)
		if ended.Error != nil {
			return fmt.Errorf("end the sign-ins of a user: %w", ended.Error)
		}
		return recordOfUser(ctx, tx, now, user.ID, audit.Entry{
			ActorKind: models.ActorSystem, Action: "identity.unlinked", Target: user.ID.String(),
			Details: map[string]any{"by": "ostler admin", "signInsEnded": ended.RowsAffected},
		})
	})
	return n, err
}

// spendState sees to it that a sign-in is finished once, on all nodes together.
func (s *Service) spendState(ctx context.Context, begun oidc.Attempt) error {
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		var old []models.SpentState
		err := tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).
			Where("expires_at <= ?", clock.Millis(s.clock)).Order("expires_at").Limit(sweptStates).Find(&old).Error
		if err != nil {
			return fmt.Errorf("look for old states: %w", err)
		}
		if len(old) > 0 {
			if err := tx.Delete(&old).Error; err != nil {
				return fmt.Errorf("remove old states: %w", err)
			}
		}
		// It is kept until the cookie is too old: a second more, as those are whole ones.
		return tx.Create(&models.SpentState{Hash: begun.State, ExpiresAt: models.Millis((begun.Expires + 1) * 1000)}).Error
	})
	if store.IsDuplicate(err) {
		return fmt.Errorf("%w: the state was used before", oidc.StateLost)
	}
	if err != nil {
		return fmt.Errorf("spend the state of a sign-in: %w", err)
	}
	return nil
}
