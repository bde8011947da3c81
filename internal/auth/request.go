package auth

import (
	"context"
	"sync"
	"time"
)

// The ways in which tokens travel, as Principal.Transport holds them.
const (
	TransportBody   = "BODY"
	TransportCookie = "COOKIE"
)

// RequestInfo is what resolvers and services may know of the request that an operation came with.
type RequestInfo struct {
	// ID is in the logs, in the answer's X-Request-Id and in INTERNAL errors.
	ID string
	// Address is the client's own, behind the trusted proxies.
	Address   string
	UserAgent string
	// Socket is true for operations over a WebSocket, where no cookie can be set.
	Socket bool
	// RefreshToken is the one in the browser's cookie; empty when there is none.
	RefreshToken string
	// Browser is what the browser keeps of an account that it has signed in to; empty when there is nothing. Known reports that the browser
	// or its network has signed in to the account in question before.
	Browser string
	Known   bool
	// SetCookies puts the tokens into the browser's cookies; the zero value removes them. It reports false when
	// cookies can't be set here. It must be called before the resolver returns.
	SetCookies func(TokenCookies) bool
}

// TokenCookies are the tokens of a browser that signed in with the transport COOKIE.
type TokenCookies struct {
	Access        string
	AccessExpires time.Time
	// Refresh is kept from every path but the API's.
	Refresh        string
	RefreshExpires time.Time
	// Browser stays when the person signs out.
	Browser string
}

type requestKey struct{}

// WithRequest returns a context that knows the request.
func WithRequest(ctx context.Context, r *RequestInfo) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestFrom returns the request behind ctx; an empty one, which can't set cookies, when there is none.
func RequestFrom(ctx context.Context) *RequestInfo {
	if r, ok := ctx.Value(requestKey{}).(*RequestInfo); ok {
		return r
	}
	return &RequestInfo{Socket: true, SetCookies: func(TokenCookies) bool { return false }}
}

type streamKey struct{}

// Stream is a running subscription, as its transport holds it.
type Stream struct {
	mu  sync.Mutex
	err error
}

// WithStream returns the context of a subscription.
func WithStream(ctx context.Context) (context.Context, *Stream) {
	s := &Stream{}
	return context.WithValue(ctx, streamKey{}, s), s
}

// EndStream makes the subscription of ctx end with err instead of a plain completion, once its channel is closed.
// The first error counts.
func EndStream(ctx context.Context, err error) {
	s, ok := ctx.Value(streamKey{}).(*Stream)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// Err returns the error that the subscription was ended with; nil for a plain completion.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
