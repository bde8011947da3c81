// Package auth knows who is asking and what they may do: principals, permissions, passwords and tokens.
package auth

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// Principal is who is asking, bound to one organization.
type Principal struct {
	UserID      models.UserID
	OrgID       models.OrgID
	SignInID    models.SignInID
	Role        models.Role
	Operator    bool
	Permissions Permissions
	// Transport is how the tokens travel: BODY or COOKIE.
	Transport string
	// ExpiresAt is when the access token ends.
	ExpiresAt time.Time
}

// Can reports whether the principal holds the permission. Nobody (nil) holds none.
func (p *Principal) Can(perm Permission) bool { return p != nil && p.Permissions.Has(perm) }

// Actor gives who the principal is to those who record what was done.
func (p *Principal) Actor() (models.ActorKind, models.ActorID) {
	return models.ActorUser, models.ActorID(p.UserID)
}

type principalKey struct{}

// WithPrincipal gives a context in which p is asking.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext gives who is asking; nil for nobody.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}
