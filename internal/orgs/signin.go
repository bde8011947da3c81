package orgs

import (
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

// Credentials is what a person signs in with.
type Credentials struct {
	Email, Password string
	// OrgID is where to sign in; nil for the organization used last.
	OrgID *models.OrgID
	// Transport is auth.TransportBody or auth.TransportCookie.
	Transport string
}

// SignIn checks e-mail and password and begins a sign-in. An unknown e-mail, a wrong password and an organization that
// the person doesn't belong to are all fault.InvalidCredentials, after the same work; after too many attempts it is
// fault.RateLimited. The context's auth.RequestInfo is remembered with the sign-in.
func (s *Service) SignIn(ctx context.Context, in Credentials) (*SignedIn, error) {
	_, key, err := cleanEmail(in.Email)
	if err != nil {
		return nil, at(err, "input", "email")
	}
	request := auth.RequestFrom(ctx)
	if err := canCarry(request, in.Transport); err != nil {
		return nil, at(err, "input", "transport")
	}
	ctx, attempt, err := s.begin(ctx, key)
	if err != nil {
		return nil, err
	}
	user, ok, err := s.verify(ctx, key, in.Password)
	if err != nil {
		if fault.As(err) == nil {
			attempt.undo()
		}
		return nil, err
	}
	if !ok {
		return nil, s.refuse(ctx, key, user)
	}
	var (
		f       family
		refresh string
		expires models.Millis
	)
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		var err error
		if f, err = s.beginSignIn(tx, *user, in, request); err != nil {
			return err
		}
		if refresh, expires, err = newRefreshToken(tx, f.signIn.ID, f.signIn.CreatedAt); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, user.ID, audit.Entry{
			ActorKind: models.ActorUser, Actor: models.ActorID(user.ID), Action: "signin.succeeded", Target: f.signIn.ID.String(),
			Details: map[string]any{"transport": in.Transport},
		})
	})
	if fault.Is(err, fault.InvalidCredentials) {
		return nil, s.refuse(ctx, key, user)
	}
	if err != nil {
		if fault.As(err) == nil {
			attempt.undo()
		}
		return nil, err
	}
	attempt.succeeded()
	return s.signedIn(ctx, f, refresh, expires)
}

// refuse records that a sign-in failed, and returns the failure.
func (s *Service) refuse(ctx context.Context, emailKey string, user *models.User) error {
	if err := s.recordFailure(ctx, emailKey, user); err != nil {
		return err
	}
	return wrongPassword()
}

// verify finds the user, nil when there is none, and reports whether the password is theirs, with the same work either way.
func (s *Service) verify(ctx context.Context, emailKey, password string) (*models.User, bool, error) {
	user, err := userByEmail(s.db.ReadAcross(ctx), emailKey)
	if err != nil {
		return nil, false, err
	}
	if user == nil {
		return nil, false, s.passwords.VerifyNothing(ctx, password)
	}
	ok, err := s.isPassword(ctx, *user, password)
	return user, ok, err
}

// isPassword reports whether a password is a user's. Somebody who has none, and signs in with an identity only, takes the same work.
func (s *Service) isPassword(ctx context.Context, user models.User, password string) (bool, error) {
	if user.PasswordHash == "" {
		return false, s.passwords.VerifyNothing(ctx, password)
	}
	ok, err := s.passwords.Verify(ctx, user.PasswordHash, password)
	if err != nil {
		return false, fmt.Errorf("verify the password of %s: %w", user.ID, err)
	}
	return ok, nil
}

func (s *Service) beginSignIn(tx *gorm.DB, user models.User, in Credentials, request *auth.RequestInfo) (family, error) {
	memberships, err := membershipsOf(tx, user.ID)
	if err != nil {
		return family{}, err
	}
	place := choose(memberships, user, in.OrgID)
	if place == nil {
		return family{}, wrongPassword()
	}
	// The password may have changed since it was verified; its change ends all sign-ins that it finds, and must find
	// this one, or be found here.
	res := tx.Model(&models.User{}).Where("id = ? AND password_hash = ?", user.ID, user.PasswordHash).
		Update("last_org_id", place.OrgID)
	if res.Error != nil {
		return family{}, fmt.Errorf("remember the organization of a user: %w", res.Error)
	}
	if res.RowsAffected == 0 {
		return family{}, wrongPassword()
	}
	org, err := orgByID(tx, place.OrgID)
	if err != nil {
		return family{}, err
	}
	now := clock.Millis(s.clock)
	signIn := models.SignIn{
		ID: models.NewID[models.SignInEntity](), UserID: user.ID, OrgID: org.ID, Transport: in.Transport,
		Address: clip(request.Address), UserAgent: clip(request.UserAgent), CreatedAt: now, LastUsedAt: now,
	}
	if err := tx.Create(&signIn).Error; err != nil {
		return family{}, fmt.Errorf("create a sign-in: %w", err)
	}
	return family{signIn: signIn, user: user, org: org, role: place.Role}, nil
}

// choose returns the membership to sign in to: the one asked for, else the one used last, else the oldest; nil for none.
func choose(memberships []models.Membership, user models.User, asked *models.OrgID) *models.Membership {
	find := func(org *models.OrgID) *models.Membership {
		i := slices.IndexFunc(memberships, func(m models.Membership) bool { return org != nil && m.OrgID == *org })
		if i < 0 {
			return nil
		}
		return &memberships[i]
	}
	if asked != nil {
		return find(asked)
	}
	if m := find(user.LastOrgID); m != nil {
		return m
	}
	if len(memberships) > 0 {
		return &memberships[0]
	}
	return nil
}

// canCarry refuses cookies where they can't be set.
func canCarry(request *auth.RequestInfo, transport string) error {
	switch transport {
	case auth.TransportBody:
		return nil
	case auth.TransportCookie:
		if request.Socket || request.SetCookies == nil {
			return fault.New(fault.Invalid, "Cookies can't be set over this connection. Send this mutation as an HTTP POST.")
		}
		return nil
	}
	return fault.New(fault.Invalid, "The transport must be BODY or COOKIE.")
}
