// Package auth knows who is asking and what they may do: principals, permissions, passwords and tokens.
package auth

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// Principal is who is asking, bound to one organization: a person who is signed in, or a program with an API key.
type Principal struct {
	// UserID, SignInID and Role are zero for a key.
	UserID models.UserID
	// KeyID is zero for a person. MadeBy is the person who made the key, or the key that it was made with; zero where nobody knows.
	KeyID       models.APIKeyID
	MadeBy      models.UserID
	OrgID       models.OrgID
	SignInID    models.SignInID
	Role        models.Role
	Operator    bool
	Permissions Permissions
	// Transport is how the tokens travel: BODY or COOKIE.
	Transport string
	// ExpiresAt is when the access token or the key ends; zero for a key that does not.
	ExpiresAt time.Time
}

// Can reports whether the principal holds the permission. Nobody (nil) holds none.
func (p *Principal) Can(perm Permission) bool { return p != nil && p.Permissions.Has(perm) }

// Actor returns the principal as audit entries name it.
func (p *Principal) Actor() (models.ActorKind, models.ActorID) {
	if p.IsKey() {
		return models.ActorAPIKey, models.ActorID(p.KeyID)
	}
	return models.ActorUser, models.ActorID(p.UserID)
}

// Author returns Actor with the person who made the key.
func (p *Principal) Author() models.Actor {
	kind, id := p.Actor()
	return models.Actor{Kind: kind, ID: id, Maker: p.MadeBy}
}

// ActorRef returns Actor as JSON documents hold it.
func (p *Principal) ActorRef() (models.ActorKind, models.ActorRef) {
	kind, id := p.Actor()
	return kind, models.RefTo(kind, id)
}

// IsKey reports whether a program is asking with an API key, and no person. Nobody (nil) is none.
func (p *Principal) IsKey() bool { return p != nil && !p.KeyID.IsZero() }

// Ended reports whether the time of what the principal stands for is over.
func (p *Principal) Ended(now time.Time) bool {
	return !p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt)
}

type principalKey struct{}

// WithPrincipal returns a context in which p is asking.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the caller; nil without one.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}
