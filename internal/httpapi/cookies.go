package httpapi

import (
	"net/http"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
)

// The cookies that a browser's tokens live in. Scripts can't read them.
const (
	accessCookie  = "ostler_access"
	refreshCookie = "ostler_refresh"
	// browserCookie proves that the browser has signed in to an account before. It is no credential, and outlives the sign-in.
	browserCookie = "ostler_browser"
	browserKnown  = 365 * 24 * time.Hour
)

// tokenCookies sets and removes them.
type tokenCookies struct{ secure bool }

// set sends the browser the tokens; the zero value removes them.
func (c tokenCookies) set(w http.ResponseWriter, t auth.TokenCookies) {
	http.SetCookie(w, c.cookie(accessCookie, "/", t.Access, t.AccessExpires))
	http.SetCookie(w, c.cookie(refreshCookie, "/graphql", t.Refresh, t.RefreshExpires))
	if t.Browser != "" {
		http.SetCookie(w, c.cookie(browserCookie, "/graphql", t.Browser, t.AccessExpires.Add(browserKnown)))
	}
}

func (c tokenCookies) cookie(name, path, value string, expires time.Time) *http.Cookie {
	cookie := &http.Cookie{ //nolint:gosec // G124: Secure follows the public URL; it is off on loopback only
		Name: name, Path: path, Value: value, Expires: expires,
		HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		cookie.Expires, cookie.MaxAge = time.Time{}, -1
	}
	return cookie
}

// hasTokenCookie reports whether the browser sent one of them.
func hasTokenCookie(r *http.Request) bool {
	for _, name := range []string{accessCookie, refreshCookie} {
		if c, err := r.Cookie(name); err == nil && c.Value != "" {
			return true
		}
	}
	return false
}
