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

// admit counts a request of the caller's organization; nil lets it go on. Who is nobody counts nowhere: what they may do has limits of
// its own.
func (s *Server) admit(ctx context.Context, p *auth.Principal) *gqlerror.Error {
	if p == nil {
		return nil
	}
	wait, ok := s.deps.Limits.Request(ctx, p.OrgID)
	if ok {
		return nil
	}
	return tooMany("Your organization has used up its requests of this minute. Try again in "+strconv.Itoa(wait)+" s.", wait)
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
	return nil, tooMany("Your organization has as many subscriptions open as it may have. End one, or try again later.", limits.StreamRetrySeconds)
}

// refuseRate answers a request that came too soon.
func (s *Server) refuseRate(w http.ResponseWriter, media string, e *gqlerror.Error) {
	if wait, ok := e.Extensions["retryAfterSeconds"].(int); ok {
		w.Header().Set(retryHeader, strconv.Itoa(wait))
	}
	s.writeErrors(w, media, http.StatusTooManyRequests, e)
}
