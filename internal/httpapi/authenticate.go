package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/ostler-dev/ostler/internal/auth"
)

// Authenticator tells who is behind a token: an access token or an API key.
//
// It is asked at the start of every request, and for every open WebSocket and event stream every two seconds, so it must
// be cheap: it should remember verified tokens. What it remembers of memberships may be 3 seconds old at most, so that a
// removed member is out within 5.
type Authenticator interface {
	// Authenticate fails with auth.ErrUnauthenticated for a token that gives no access. Other errors are the server's
	// own: they refuse a new request and leave an open connection alone.
	Authenticate(ctx context.Context, token string) (*auth.Principal, error)
}

// authenticate returns nil for no token and for one that is not valid.
func (s *Server) authenticate(ctx context.Context, token, transport string) (*auth.Principal, error) {
	if token == "" {
		return nil, nil
	}
	p, err := s.deps.Authenticator.Authenticate(ctx, token)
	if errors.Is(err, auth.ErrUnauthenticated) {
		return nil, nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err() // the client has gone: nobody is to blame
	}
	if err != nil {
		s.log.ErrorContext(ctx, "authentication failed", "request_id", auth.RequestFrom(ctx).ID, "error", err)
		return nil, err
	}
	if p == nil || p.Transport == transport {
		return p, nil
	}
	own := *p // the Authenticator may share one principal among callers
	own.Transport = transport
	return &own, nil
}

// credential finds the request's token and how it travelled. The header goes before the cookie: a script that sends
// one means it.
func credential(r *http.Request) (token, transport string) {
	if token := bearer(r.Header.Get("Authorization")); token != "" {
		return token, auth.TransportBody
	}
	if c, err := r.Cookie(accessCookie); err == nil && c.Value != "" {
		return c.Value, auth.TransportCookie
	}
	return "", ""
}

// bearer reads an Authorization header; "" for another scheme, which may be a proxy's.
func bearer(header string) string {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
