package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/limits"
)

const retryHeader = "Retry-After"

// tooMany is the error of what an organization may not do just now.
func tooMany(message string, retryAfter int) *gqlerror.Error {
	e := coded(codeRateLimited, message)
	e.Extensions["retryAfterSeconds"] = retryAfter
	return e
}

// admit counts a request of the caller's organization, or of the address of a stranger; nil lets it go on.
func (s *Server) admit(ctx context.Context, p *auth.Principal) *gqlerror.Error {
	if p == nil {
		return s.admitStranger(auth.RequestFrom(ctx).Address)
	}
	wait, ok := s.deps.Limits.Request(ctx, p.OrgID)
	if ok {
		return nil
	}
	return tooMany("Your organization has used up its requests for this minute. Try again in "+strconv.Itoa(wait)+" s.", wait)
}

// admitStranger bounds what nobody has signed in for: even a document that is refused costs something to read. It comes after the look at
// the credential, so that nobody who has a good one suffers from who shares their address.
func (s *Server) admitStranger(address string) *gqlerror.Error {
	most, now := s.cfg.Limits.Strangers, s.deps.Clock.Now()
	if most == 0 {
		return nil
	}
	if wait := s.strangers.MustWait(address, most, now); wait > 0 {
		return tooMany("Too many requests came from your address without signing in. Try again in "+strconv.Itoa(wait)+" s.", wait)
	}
	s.strangers.Count(address, now)
	return nil
}

// admitStream counts a subscription of the caller's organization; leave must be called when it has ended, unless it was refused.
func (s *Server) admitStream(ctx context.Context, p *auth.Principal) (leave func(), refused *gqlerror.Error) {
	if p == nil {
		return func() {}, nil
	}
	org := p.OrgID
	if s.deps.Limits.Open(ctx, org, limits.Subscription) {
		return func() { s.deps.Limits.Close(org, limits.Subscription) }, nil
	}
	return nil, tooMany("Your organization has reached its limit of open subscriptions. End one, or try again later.", limits.StreamRetrySeconds)
}

// refuseRate answers a request that came too soon.
func (s *Server) refuseRate(w http.ResponseWriter, media string, e *gqlerror.Error) {
	if wait, ok := e.Extensions["retryAfterSeconds"].(int); ok {
		w.Header().Set(retryHeader, strconv.Itoa(wait))
	}
	s.writeErrors(w, media, http.StatusTooManyRequests, e)
}
