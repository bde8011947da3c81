package orgs

import (
	"bytes"
	"context"
	"slices"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// SignOut ends the sign-in of a principal and the one that a refresh token belongs to; either may be absent (nil, "").
// A sign-in that has ended already, and a token that is none of ours, are no failures: nobody is signed in afterwards.
func (s *Service) SignOut(ctx context.Context, p *auth.Principal, refreshToken string) error {
	if err := needPerson(p, "sign out"); err != nil {
		return err
	}
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		ids, err := signInsOf(tx, p, refreshToken)
		if err != nil {
			return err
		}
		return s.signOut(ctx, tx, ids)
	})
	if err != nil {
		return err
	}
	if p != nil {
		s.forget(func(other *auth.Principal) bool { return other.SignInID == p.SignInID })
	}
	return nil
}

// signInsOf returns the sign-ins of a principal and of a refresh token, in the order in which they are locked, each once.
func signInsOf(tx *gorm.DB, p *auth.Principal, refreshToken string) ([]models.SignInID, error) {
	var ids []models.SignInID
	if p != nil {
		ids = append(ids, p.SignInID)
	}
	if isRefreshToken(refreshToken) {
		row, err := refreshTokenRow(tx, refreshToken)
		if err != nil && !fault.Is(err, fault.InvalidCredentials) {
			return nil, err
		}
		if err == nil {
			ids = append(ids, row.SignInID)
		}
	}
	slices.SortFunc(ids, func(a, b models.SignInID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(ids), nil
}

// signOut ends sign-ins and then records it: of two persons, which only a client with tokens of both can bring about, in one go.
func (s *Service) signOut(ctx context.Context, tx *gorm.DB, ids []models.SignInID) error {
	now := clock.Millis(s.clock)
	var entries []audit.Entry
	for _, id := range ids {
		ended, err := endSignIn(tx, id, now)
		if err != nil {
			return err
		}
		if ended == nil {
			continue
		}
		of, err := entriesOf(tx, ended.UserID, audit.Entry{
			ActorKind: models.ActorUser, Actor: models.ActorID(ended.UserID), Action: "signin.ended", Target: id.String(),
		})
		if err != nil {
			return err
		}
		entries = append(entries, of...)
	}
	return audit.RecordAll(ctx, tx, now, entries...)
}
