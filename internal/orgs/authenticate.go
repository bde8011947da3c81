package orgs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// accessMaxAge is how long what was read about a token is believed. A removed member must be out within 5 s, open
	// streams included, and those are looked at every 2 s only.
	accessMaxAge  = 2 * time.Second
	accessEntries = 10_000
)

// tokenHash stands for an access token, so that the cache holds none.
type tokenHash [sha256.Size]byte

type accessEntry struct {
	principal auth.Principal
	readAt    time.Time
}

// Authenticate returns who an access token or an API key stands for. It verifies the token, and reads again whether the sign-in stands
// and which role the person has, or whether the key stands; what it read it believes for 2 s. A token that gives no access is
// auth.ErrUnauthenticated; other errors are the server's own.
func (s *Service) Authenticate(ctx context.Context, token string) (*auth.Principal, error) {
	now := s.clock.Now()
	hash := tokenHash(sha256.Sum256([]byte(token)))
	if e, ok := s.access.Get(hash); ok {
		age := now.Sub(e.readAt)
		if age >= 0 && age < accessMaxAge && !e.principal.Ended(now) {
			p := e.principal
			return &p, nil
		}
	}
	var p *auth.Principal
	var err error
	if isAPIKey(token) {
		p, err = s.readKey(ctx, token, models.MillisOf(now))
	} else {
		p, err = s.readToken(ctx, token)
	}
	if err != nil {
		return nil, err
	}
	s.access.Add(hash, accessEntry{principal: *p, readAt: now})
	return p, nil
}

func (s *Service) readToken(ctx context.Context, token string) (*auth.Principal, error) {
	claims, err := s.tokens.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	return s.readAccess(ctx, claims)
}

// readKey returns the principal of an API key, which is no person and has no role.
func (s *Service) readKey(ctx context.Context, token string, now models.Millis) (*auth.Principal, error) {
	if !wellFormedKey(token) {
		return nil, fmt.Errorf("%w: it is not an API key", auth.ErrUnauthenticated)
	}
	k, err := apiKeyByHash(s.db.ReadAcross(ctx), hashAPIKey(token))
	if err != nil {
		return nil, err
	}
	if k == nil || k.RevokedAt != nil {
		return nil, fmt.Errorf("%w: there is no such API key, or it was revoked", auth.ErrUnauthenticated)
	}
	p := &auth.Principal{KeyID: k.ID, OrgID: k.OrgID, Permissions: heldPermissions(k.Permissions), MadeBy: models.Value(k.CreatedBy), Transport: auth.TransportBody}
	if k.ExpiresAt != nil {
		p.ExpiresAt = k.ExpiresAt.Time()
	}
	if p.Ended(now.Time()) {
		return nil, auth.ErrTokenExpired
	}
	s.keyUses.note(k, now)
	return p, nil
}

func (s *Service) readAccess(ctx context.Context, c auth.Claims) (*auth.Principal, error) {
	var found []struct {
		Role      models.Role
		Operator  bool
		Transport string
	}
	err := s.db.ReadAcross(ctx).Table("memberships AS m").Select("m.role, u.operator, s.transport").
		Joins("JOIN users u ON u.id = m.user_id").
		Joins("JOIN sign_ins s ON s.user_id = m.user_id").
		Where("m.org_id = ? AND m.user_id = ? AND s.id = ? AND s.revoked_at IS NULL", c.OrgID, c.UserID, c.SignInID).
		Limit(1).Find(&found).Error
	if err != nil {
		return nil, fmt.Errorf("read what a token stands for: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: its sign-in or its membership has ended", auth.ErrUnauthenticated)
	}
	row := found[0]
	return &auth.Principal{
		UserID: c.UserID, OrgID: c.OrgID, SignInID: c.SignInID, Role: row.Role, Operator: row.Operator,
		Permissions: auth.RolePermissions(row.Role, row.Operator), Transport: row.Transport, ExpiresAt: c.ExpiresAt,
	}, nil
}

// forget drops what this process believes about principals, so that an end shows here at once; other nodes learn of it
// within accessMaxAge.
func (s *Service) forget(gone func(*auth.Principal) bool) {
	for _, hash := range s.access.Keys() {
		if e, ok := s.access.Peek(hash); ok && gone(&e.principal) {
			s.access.Remove(hash)
		}
	}
}
