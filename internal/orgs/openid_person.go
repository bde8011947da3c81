package orgs

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// errMeanwhile reports that somebody else made what was to be made: whoever looks again finds it.
var errMeanwhile = errors.New("another request did the same meanwhile")

// arrival is somebody whom the issuer vouches for, on their way in.
type arrival struct {
	who      oidc.Identity
	emailKey string
	// caller is who is signed in to the browser; nil for nobody.
	caller *auth.Principal
	// invitation is the one to accept; nil for none.
	invitation *models.Invitation
	request    *auth.RequestInfo

	// user is who they are here; known reports that there was a user before, linked that the issuer's subject was theirs.
	user          *models.User
	known, linked bool
}

// signInIdentity signs in a person that the issuer vouches for.
//
// Whose the account is, the issuer's subject tells, which never changes. Only the first time it is the e-mail, which the issuer verified: the
// operator chose the issuer, and trusts it that far. Two accounts it doesn't give away: one that another subject of this issuer signs in to
// (the e-mail was given to somebody else), and one with a password, unless its owner is signed in to this very browser. Whoever made
// that account may have had no right to the e-mail, since the token of an invitation is seen by those who invite: they would keep a way
// into what its owner does from now on. And the password is a secret that the issuer doesn't have.
func (s *Service) signInIdentity(ctx context.Context, p *auth.Principal, who oidc.Identity, invitation []byte) (*SignedIn, error) {
	_, key, err := cleanEmail(who.Email)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", oidc.NoEmail, err)
	}
	var done *SignedIn
	var a *arrival
	for try := 0; try == 0 || try < 3 && errors.Is(err, errMeanwhile); try++ {
		a = &arrival{who: who, emailKey: key, caller: p, request: auth.RequestFrom(ctx)}
		done, err = s.arrive(ctx, a, invitation)
	}
	refusal, ok := errors.AsType[oidc.Refusal](err)
	if !ok {
		return done, err
	}
	details := map[string]any{"email": clip(key), "method": "oidc", "reason": strings.TrimPrefix(string(refusal), "oidc_")}
	if recordErr := s.recordRefusal(ctx, a.user, details); recordErr != nil {
		return nil, recordErr
	}
	return nil, err
}

func (s *Service) arrive(ctx context.Context, a *arrival, invitation []byte) (*SignedIn, error) {
	if invitation != nil {
		inv, err := invitationByToken(s.db.ReadAcross(ctx), invitation)
		if err != nil {
			return nil, err
		}
		if inv == nil {
			return nil, fmt.Errorf("%w: there is no such invitation", oidc.BadInvitation)
		}
		a.invitation = inv
	}
	var (
		f       family
		refresh string
		expires models.Millis
	)
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		// Rows are locked in the order organization, user, sign-in, audit, as everywhere.
		if a.invitation != nil {
			if _, err := lockOrg(tx, a.invitation.OrgID); err != nil {
				return err
			}
		}
		if err := s.recognize(tx, a); err != nil {
			return err
		}
		var err error
		if f, err = s.admit(ctx, tx, a); err != nil {
			return err
		}
		if err := s.link(tx, a); err != nil {
			return err
		}
		if refresh, expires, err = newRefreshToken(tx, f.signIn.ID, f.signIn.CreatedAt); err != nil {
			return err
		}
		return s.recordArrival(ctx, tx, a, f)
	})
	if err != nil {
		return nil, err
	}
	return s.signedIn(ctx, f, refresh, expires)
}

// recognize finds and holds the user that somebody is; none for a newcomer. It refuses to give away somebody else's account.
func (s *Service) recognize(tx *gorm.DB, a *arrival) error {
	a.user, a.known, a.linked = nil, false, false
	mine, err := identityBySubject(tx, a.who.Issuer, a.who.Subject)
	if err != nil {
		return err
	}
	hold := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"})
	if mine != nil {
		a.known, a.linked = true, true
		a.user, err = userByID(hold, mine.UserID)
		return err
	}
	if a.user, err = userByEmail(hold, a.emailKey); err != nil || a.user == nil {
		return err
	}
	a.known = true
	other, err := identityOf(tx, a.user.ID, a.who.Issuer)
	if err != nil {
		return err
	}
	switch {
	case other != nil && other.Subject == a.who.Subject: // just now
		a.linked = true
	case other != nil:
		return fmt.Errorf("%w: %s", oidc.OtherIdentity, a.user.ID)
	case a.user.PasswordHash != "" && (a.caller == nil || a.caller.UserID != a.user.ID):
		return fmt.Errorf("%w: %s", oidc.NeedsPassword, a.user.ID)
	}
	return nil
}

// admit begins the sign-in: in the organization that invites, or where the person belongs already.
func (s *Service) admit(ctx context.Context, tx *gorm.DB, a *arrival) (family, error) {
	if a.invitation == nil {
		if a.user == nil {
			return family{}, fmt.Errorf("%w: no user has the e-mail", oidc.NotInvited)
		}
		f, err := s.beginSignIn(tx, *a.user, Credentials{Transport: auth.TransportCookie}, a.request)
		if fault.Is(err, fault.InvalidCredentials) {
			return f, fmt.Errorf("%w: %s belongs to no organization", oidc.NotInvited, a.user.ID)
		}
		return f, err
	}
	invited := a.emailKey
	if a.known {
		invited = a.user.EmailKey
	} else {
		a.user = a.newcomer(clock.Millis(s.clock))
	}
	if a.invitation.EmailKey != invited {
		if !a.known {
			a.user = nil
		}
		return family{}, fmt.Errorf("%w: it is for another person", oidc.BadInvitation)
	}
	f, err := s.join(ctx, tx, *a.invitation, *a.user, !a.known, auth.TransportCookie, a.request)
	if err != nil && !a.known {
		a.user = nil // there is none to record anything of
	}
	switch {
	case fault.Is(err, fault.Forbidden): // another organization's invitation made the user just now
		return f, errMeanwhile
	case fault.As(err) != nil: // it is spent, revoked or too old, or the person is a member already
		return f, fmt.Errorf("%w: %w", oidc.BadInvitation, err)
	}
	return f, err
}

// newcomer makes the user for an e-mail that nobody has; it is not stored yet, and has no password.
func (a *arrival) newcomer(now models.Millis) *models.User {
	name, err := cleanName(a.who.Name)
	if err != nil {
		name, _, _ = strings.Cut(a.invitation.Email, "@")
	}
	return &models.User{
		ID: models.NewID[models.UserEntity](), Email: a.invitation.Email, EmailKey: a.emailKey, Name: name, CreatedAt: now,
	}
}

// link remembers whom the issuer means by its subject.
func (s *Service) link(tx *gorm.DB, a *arrival) error {
	if a.linked {
		return nil
	}
	err := tx.Create(&models.Identity{
		Issuer: a.who.Issuer, Subject: a.who.Subject, UserID: a.user.ID, CreatedAt: clock.Millis(s.clock),
	}).Error
	if store.IsDuplicate(err) {
		return errMeanwhile
	}
	if err != nil {
		return fmt.Errorf("link an identity to %s: %w", a.user.ID, err)
	}
	return nil
}

func (s *Service) recordArrival(ctx context.Context, tx *gorm.DB, a *arrival, f family) error {
	by := audit.Entry{ActorKind: models.ActorUser, Actor: models.ActorID(a.user.ID)}
	var entries []audit.Entry
	add := func(action, target string, details map[string]any) error {
		e := by
		e.Action, e.Target, e.Details = action, target, details
		list, err := entriesOf(tx, a.user.ID, e)
		entries = append(entries, list...)
		return err
	}
	if !a.linked {
		err := add("identity.linked", a.user.ID.String(), map[string]any{"issuer": a.who.Issuer, "subject": a.who.Subject})
		if err != nil {
			return err
		}
	}
	if inv := a.invitation; inv != nil {
		e := by
		e.Org, e.Action, e.Target = inv.OrgID, "invitation.accepted", inv.ID.String()
		e.Details = map[string]any{"email": inv.Email, "role": inv.Role, "userCreated": !a.known, "method": "oidc"}
		entries = append(entries, e)
	} else {
		err := add("signin.succeeded", f.signIn.ID.String(), map[string]any{"transport": f.signIn.Transport, "method": "oidc"})
		if err != nil {
			return err
		}
	}
	return audit.RecordAll(ctx, tx, clock.Millis(s.clock), entries...)
}
