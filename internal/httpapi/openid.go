package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/auth/oidc"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/orgs"
)

const (
	openIDStart = "/auth/oidc/start"
	signInPage  = "/sign-in"
	// openIDCookie holds a sign-in that was begun, between the two.
	openIDCookie     = "ostler_oidc"
	openIDCookiePath = "/auth/oidc/"
	// maxReturnTo bounds the page to return to, so that the cookie stays small enough for browsers.
	maxReturnTo = 1000
	// maxInvitation bounds what may be the token of an invitation.
	maxInvitation = 200
)

// OpenIDCallback is the path that the issuer sends browsers back to.
const OpenIDCallback = "/auth/oidc/callback"

// What the sign-in page is told besides the refusals of the package oidc.
const (
	openIDThrottled = "oidc_throttled"
	openIDInternal  = "oidc_error"
)

// OpenID signs people in at an issuer.
type OpenID interface {
	// IssuerName is false when there is no issuer.
	IssuerName() (string, bool)
	BeginOpenID(ctx context.Context, returnTo, invitation string) (oidc.Redirect, error)
	FinishOpenID(ctx context.Context, p *auth.Principal, cookie string, answer oidc.Answer) (orgs.Returned, error)
}

// offersOpenID answers requests that there is nothing to do for, and reports true when there is.
func (s *Server) offersOpenID(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet { // HEAD among them: looking must not finish a sign-in
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return false
	}
	if s.deps.OpenID != nil {
		if _, ok := s.deps.OpenID.IssuerName(); ok {
			return true
		}
	}
	http.Error(w, "this server has no OpenID Connect issuer", http.StatusNotFound)
	return false
}

// startOpenID sends a browser to the issuer. What it is to come back with is bound to the browser by a cookie.
func (s *Server) startOpenID(w http.ResponseWriter, r *http.Request) {
	if !s.offersOpenID(w, r) {
		return
	}
	query := r.URL.Query()
	returnTo, invitation := ownPath(query.Get("returnTo")), query.Get("invitation")
	// To accept an invitation must be the person's own wish, and no link on somebody else's page. Old browsers don't say where from.
	site := r.Header.Get("Sec-Fetch-Site")
	if len(invitation) > maxInvitation || invitation != "" && (site == "cross-site" || site == "same-site") {
		s.refuseOpenID(w, r, returnTo, oidc.BadInvitation)
		return
	}
	ctx := auth.WithRequest(r.Context(), s.requestInfo(r))
	to, err := s.deps.OpenID.BeginOpenID(ctx, returnTo, invitation)
	if err != nil {
		s.refuseOpenID(w, r, returnTo, err)
		return
	}
	http.SetCookie(w, s.cookies.cookie(openIDCookie, openIDCookiePath, to.Cookie, to.Expires))
	w.Header().Set("Location", to.URL)
	w.WriteHeader(http.StatusFound)
}

// finishOpenID takes what the issuer sent a browser back with, and signs the person in.
func (s *Server) finishOpenID(w http.ResponseWriter, r *http.Request) {
	if !s.offersOpenID(w, r) {
		return
	}
	info := s.requestInfo(r)
	ctx := auth.WithRequest(r.Context(), info)
	var begun, access string
	if c, err := r.Cookie(openIDCookie); err == nil {
		begun = c.Value
	}
	if c, err := r.Cookie(accessCookie); err == nil {
		access = c.Value
	}
	caller, err := s.authenticate(ctx, access, auth.TransportCookie)
	if err != nil {
		s.refuseOpenID(w, r, "/", err)
		return
	}
	query := r.URL.Query()
	back, err := s.deps.OpenID.FinishOpenID(ctx, caller, begun, oidc.Answer{
		Code: query.Get("code"), State: query.Get("state"), Error: query.Get("error"), Issuer: query.Get("iss"),
	})
	if refusal, ok := errors.AsType[oidc.Refusal](err); !ok || refusal != oidc.StateLost {
		// What was begun here is over; an answer that doesn't belong here ends nothing.
		http.SetCookie(w, s.cookies.cookie(openIDCookie, openIDCookiePath, "", time.Time{}))
	}
	if err != nil {
		s.refuseOpenID(w, r, back.ReturnTo, err)
		return
	}
	s.cookies.set(w, auth.TokenCookies{
		Access: back.Access, AccessExpires: back.AccessExpires, Refresh: back.Refresh, RefreshExpires: back.RefreshExpires, Browser: back.Browser,
	})
	s.seeOther(w, ownPath(back.ReturnTo))
}

// refuseOpenID sends the browser to the sign-in page with a code that the page explains. Everything else is for the log.
func (s *Server) refuseOpenID(w http.ResponseWriter, r *http.Request, returnTo string, err error) {
	code := openIDInternal
	e := exchangeOf(r.Context())
	switch refusal, ok := errors.AsType[oidc.Refusal](err); {
	case ok:
		code = string(refusal)
		s.log.InfoContext(r.Context(), "a sign-in with OpenID Connect was refused", "request_id", e.id, "reason", clipMessage(err.Error()))
	case fault.Is(err, fault.RateLimited):
		code = openIDThrottled
	default:
		s.log.ErrorContext(r.Context(), "a sign-in with OpenID Connect failed", "request_id", e.id, "error", err)
	}
	to := url.Values{"error": {code}}
	if next := ownPath(returnTo); next != "/" {
		to.Set("next", next)
	}
	s.seeOther(w, signInPage+"?"+to.Encode())
}

// seeOther sends the browser to a page of this server, by its whole address: no path can be read as another server then.
func (s *Server) seeOther(w http.ResponseWriter, path string) {
	w.Header().Set("Location", s.public.origin+path)
	w.WriteHeader(http.StatusSeeOther)
}

// ownPath returns a path of this server, as it is; what leads elsewhere, or to signing in again, is the first page.
func ownPath(path string) string {
	u, err := url.Parse(path)
	switch {
	case err != nil, u.Scheme != "", u.Host != "", u.User != nil, u.Opaque != "", len(path) > maxReturnTo,
		!strings.HasPrefix(path, "/"), strings.HasPrefix(path, "//"), strings.Contains(path, `\`), // which browsers read as a slash
		!utf8.ValidString(path), strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }),
		strings.HasPrefix(path, signInPage), strings.HasPrefix(path, openIDCookiePath):
		return "/"
	}
	return path
}
