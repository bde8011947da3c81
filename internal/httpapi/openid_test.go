package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

func TestOwnPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/sessions", "/sessions/sess_1?view=events&a=b#end", "/agents?q=%2F%2Fevil", "/a:b"} {
		if got := ownPath(path); got != path {
			t.Errorf("%q became %q", path, got)
		}
	}
	for _, path := range []string{
		"", "sessions", "//evil.example", "///evil.example", `/\evil.example`, `\\evil.example`, "/\t/evil.example", "/\n/evil.example", "/ /evil.example",
		"https://evil.example", "https:evil.example", "javascript:alert(1)", "/%zz", "/\x00", "/\xff", "/\u0085/x",
		"/sign-in?next=/sign-in", "/auth/oidc/start?invitation=x", "/" + strings.Repeat("x", maxReturnTo),
	} {
		if got := ownPath(path); got != "/" {
			t.Errorf("%q became %q", path, got)
		}
	}
}

func TestWithoutAnIssuer(t *testing.T) {
	b := setup(t)
	for _, path := range []string{"/auth/oidc/start", "/auth/oidc/callback?code=a&state=b"} {
		if a := b.do(http.MethodGet, path, ""); a.status != http.StatusNotFound || strings.Contains(a.body, "dashboard") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodPut} {
			if a := b.do(method, path, ""); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != http.MethodGet {
				t.Errorf("%s %s: %d", method, path, a.status)
			}
		}
	}
}
