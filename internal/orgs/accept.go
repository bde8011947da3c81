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

// Acceptance is how somebody takes an invitation.
type Acceptance struct {
	Token string
	// Name and Password are those of the user to make; nil for a person who is known.
	Name, Password *string
	// Transport is auth.TransportBody or auth.TransportCookie.
	Transport string
}

// AcceptInvitation makes the invited person a member, once, and signs them in there. A person who is known must be signed in as
// themselves, or else it is fault.Forbidden, and nothing of theirs changes; otherwise a user is made. A token that is spent,
// revoked or forged is fault.InvalidCredentials, one whose time is over fault.Expired, and after too many attempts it is
// fault.RateLimited. p is who is signed in; nil for nobody.
func (s *Service) AcceptInvitation(ctx context.Context, p *auth.Principal, in Acceptance) (*SignedIn, error) {
	request := auth.RequestFrom(ctx)
	if err := canCarry(request, in.Transport); err != nil {
		return nil, at(err, "input", "transport")
	}
	hash := hashInvitationToken(in.Token)
	// No e-mail is known yet; what looks like the account of nobody stands for the token.
	attempt, _, err := s.throttle.begin(s.clock.Now(), "invitation "+string(hash), source{address: request.Address})
	if err != nil {
		return nil, err
	}
	done, err := s.accept(ctx, p, in, hash, request)
	switch {
	case err == nil:
		attempt.succeeded()
	case fault.Is(err, fault.InvalidCredentials), fault.Is(err, fault.Expired), fault.Is(err, fault.Forbidden):
	default: // Whoever holds a good token may correct a name.
		attempt.undo()
	}
	return done, err
}

func (s *Service) accept(ctx context.Context, p *auth.Principal, in Acceptance, hash []byte, request *auth.RequestInfo) (*SignedIn, error) {
	read := s.db.ReadAcross(ctx)
	inv, err := invitationByToken(read, hash)
	if err != nil {
		return nil, err
	}
	if inv == nil {
		return nil, noSuchInvitation()
	}
	if err := acceptable(*inv, clock.Millis(s.clock)); err != nil {
		return nil, err
	}
	user, err := userByEmail(read, inv.EmailKey)
	if err != nil {
		return nil, err
	}
	known := user != nil
	if known {
		err = s.provePerson(ctx, p, *user, in.Password)
	} else {
		user, err = s.newcomer(ctx, *inv, in)
	}
	if err != nil {
		return nil, err
	}
	var (
		f       family
		refresh string
		expires models.Millis
	)
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		var err error
		if f, err = s.join(ctx, tx, *inv, *user, !known, in.Transport, request); err != nil {
			return err
		}
		refresh, expires, err = newRefreshToken(tx, f.signIn.ID, f.signIn.CreatedAt)
		if err != nil {
			return err
		}
		return audit.Record(ctx, tx, f.signIn.CreatedAt, audit.Entry{
			Org: inv.OrgID, ActorKind: models.ActorUser, Actor: models.ActorID(user.ID), Action: "invitation.accepted", Target: inv.ID.String(),
			Details: map[string]any{"email": inv.Email, "role": inv.Role, "userCreated": !known},
		})
	})
	if err != nil {
		return nil, err
	}
	return s.signedIn(ctx, f, refresh, expires)
}

// provePerson checks that the caller is a person who is known. Somebody who belongs to no organization can't sign in anywhere: their
// password proves the same, and counts as an attempt to sign in.
func (s *Service) provePerson(ctx context.Context, p *auth.Principal, user models.User, password *string) error {
	if p != nil && p.UserID == user.ID {
		return nil
	}
	if password == nil {
		return mustBeSignedIn()
	}
	ctx, attempt, err := s.begin(ctx, user.EmailKey)
	if err != nil {
		return err
	}
	// The work is the same whether or not the person could sign in: the time tells nothing.
	ok, err := s.isPassword(ctx, user, *password)
	if err != nil {
		attempt.undo()
		return err
	}
	places, err := membershipsOf(s.db.ReadAcross(ctx), user.ID)
	if err != nil {
		attempt.undo()
		return err
	}
	if !ok || len(places) > 0 {
		return mustBeSignedIn()
	}
	attempt.succeeded()
	return nil
}

// newcomer makes the user for an e-mail that nobody has; it is not stored yet.
func (s *Service) newcomer(ctx context.Context, inv models.Invitation, in Acceptance) (*models.User, error) {
	if in.Name == nil {
		return nil, fault.New(fault.Invalid, "The invitation creates a new account. Enter a name for it.").At("input", "name")
	}
	name, err := cleanName(*in.Name)
	if err != nil {
		return nil, at(err, "input", "name")
	}
	if in.Password == nil {
		return nil, fault.New(fault.Invalid, "The invitation creates a new account. Enter a password for it.").At("input", "password")
	}
	if err := auth.CheckPassword(*in.Password); err != nil {
		return nil, at(err, "input", "password")
	}
	hash, err := s.passwords.Hash(ctx, *in.Password)
	if err != nil {
		return nil, err
	}
	return &models.User{
		ID: models.NewID[models.UserEntity](), Email: inv.Email, EmailKey: inv.EmailKey, Name: name, PasswordHash: hash,
		CreatedAt: clock.Millis(s.clock),
	}, nil
}

// join spends the invitation, and makes the membership and a sign-in there. Rows are locked in the order organization, user, sign-in.
func (s *Service) join(ctx context.Context, tx *gorm.DB, inv models.Invitation, user models.User, create bool, transport string,
	request *auth.RequestInfo,
) (family, error) {
	if _, err := lockOrg(tx, inv.OrgID); err != nil {
		return family{}, err
	}
	now := clock.Millis(s.clock)
	// Somebody may have accepted or revoked it meanwhile: whoever holds the organization's row decides.
	inv, err := one[models.Invitation](tx, inv.OrgID, inv.ID, "invitation")
	if err != nil {
		return family{}, err
	}
	if err := acceptable(inv, now); err != nil {
		return family{}, err
	}
	if err := inviterStillMay(tx, inv, now); err != nil {
		return family{}, err
	}
	err = store.OneRow(store.Of(tx.Model(&models.Invitation{}), inv.OrgID).Where("id = ?", inv.ID).Update("accepted_at", now))
	if err != nil {
		return family{}, fmt.Errorf("accept an invitation: %w", err)
	}
	if create {
		err := tx.Create(&user).Error
		if store.IsDuplicate(err) { // by another organization's invitation, just now
			return family{}, mustBeSignedIn()
		}
		if err != nil {
			return family{}, fmt.Errorf("create the user of an invitation: %w", err)
		}
	}
	err = tx.Create(&models.Membership{
		OrgID: inv.OrgID, ID: models.NewID[models.MembershipEntity](), UserID: user.ID, Role: inv.Role, CreatedAt: now,
	}).Error
	if store.IsDuplicate(err) {
		return family{}, fault.New(fault.Taken, "You are already a member of this organization.").At("input", "token")
	}
	if err != nil {
		return family{}, fmt.Errorf("create the membership of an invitation: %w", err)
	}
	return s.beginSignIn(tx, user, Credentials{OrgID: &inv.OrgID, Transport: transport}, request)
}

// acceptable refuses an invitation that can't be accepted any more. One that expired says so even when it was replaced since.
func acceptable(inv models.Invitation, now models.Millis) error {
	switch {
	case inv.AcceptedAt != nil:
		return noSuchInvitation()
	case inv.ExpiresAt <= now:
		return fault.New(fault.Expired, "The invitation has expired: ask for another one.").At("input", "token")
	case inv.RevokedAt != nil:
		return noSuchInvitation()
	}
	return nil
}

// inviterStillMay refuses an invitation whose inviter could not make it any more: they were removed or given a lower role, or the key was
// revoked or has expired. It is the same answer as for a revoked one. The row of the organization is locked.
func inviterStillMay(tx *gorm.DB, inv models.Invitation, now models.Millis) error {
	if inv.InvitedBy == nil {
		return nil
	}
	p := &auth.Principal{OrgID: inv.OrgID}
	if *inv.InvitedByKind == models.ActorAPIKey {
		k, err := one[models.APIKey](tx, inv.OrgID, models.APIKeyID(*inv.InvitedBy), "API key")
		if err != nil {
			return err
		}
		if k.RevokedAt != nil || k.ExpiresAt != nil && *k.ExpiresAt <= now {
			return noSuchInvitation()
		}
		p.KeyID, p.Permissions = k.ID, heldPermissions(k.Permissions)
	} else {
		p.UserID = models.UserID(*inv.InvitedBy)
	}
	own, err := authority(tx, p)
	if fault.Is(err, fault.Forbidden) || err == nil && !own.AtLeast(inv.Role) {
		return noSuchInvitation()
	}
	return err
}

// noSuchInvitation is the one answer for a token that was used, revoked or never given.
func noSuchInvitation() *fault.Error {
	return fault.New(fault.InvalidCredentials, "The invitation is not valid: it was used or revoked, or the link is incomplete. Ask for another one.").
		At("input", "token")
}

// mustBeSignedIn is the one answer for who is not known to be the invited person.
func mustBeSignedIn() *fault.Error {
	return fault.New(fault.Forbidden, "The invited person has an account: sign in with the invited e-mail first, then accept. "+
		"If that account no longer belongs to an organization, enter its password.").At("input", "token")
}
