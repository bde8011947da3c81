package egress

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

func patterns(t *testing.T, list ...string) []Pattern {
	t.Helper()
	var all []Pattern
	for _, s := range list {
		p, err := ParsePattern(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern  string
		yes, not string
	}{
		{"api.example.com", "https://api.example.com https://API.Example.com./x http://api.example.com:8080/a", "https://example.com https://a.api.example.com https://api.example.com.evil.org https://xapi.example.com"},
		{"*.example.com", "https://a.example.com https://a.b.example.com:444/", "https://example.com https://evilexample.com https://example.com.evil.org"},
		{"192.0.2.1", "https://192.0.2.1 https://[::ffff:192.0.2.1]/", "https://192.0.2.10 https://a.192.0.2.1.example.com"},
		{
			"https://example.com/v1/", "https://example.com/v1 https://example.com:443/v1/a?b=c https://example.com/x/../v1/a https://example.com/%76%31/a https://example.com//v1/a",
			"http://example.com/v1/a https://example.com:8443/v1 https://example.com/v10 https://example.com/ https://example.com/v1/../a https://example.com/v1/%2e%2e/a",
		},
		{"https://example.com", "https://example.com/any%2fthing https://example.com", "http://example.com https://a.example.com"},
		{"http://example.com:8080/a", "http://example.com:8080/a/b http://example.com:08080/a", "http://example.com/a"},
	} {
		p := patterns(t, c.pattern)[0]
		for i, list := range []string{c.yes, c.not} {
			for s := range strings.FieldsSeq(list) {
				u, err := url.Parse(s)
				if err != nil {
					t.Fatal(err)
				}
				for _, doubt := range []bool{false, true} {
					if p.covers(u, doubt) != (i == 0) {
						t.Errorf("%s covers %s: %v", c.pattern, s, i != 0)
					}
				}
			}
		}
	}
}

func TestWhatIsNoPattern(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "*", "*.", "a b", "example.com/v1", "*.*.example.com", "https://*.example.com/", "ftp://example.com", "https://u:p@example.com", "https://example.com?x=1",
		"https://example.com/a%2fb", "https://", "exämple.com", "*.127.0.0.1", "0x7f000001", "example.com:443",
	} {
		if p, err := ParsePattern(s); err == nil {
			t.Errorf("%q is taken for %+v", s, p)
		}
	}
}

// A path that servers read in different ways is blocked where it could be what is blocked, and not allowed where only a part is.
func TestPathsInDoubt(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"https://example.com/v1%2fa", "https://example.com/v1%5ca", `https://example.com/v1\a`, "https://example.com/v1/%252e%252e/a"} {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		list := patterns(t, "https://example.com/v1")
		if (Rules{Blocked: list}).check(u) != reasonBlocked {
			t.Errorf("%s is not blocked", s)
		}
		if (Rules{Allowed: list}).check(u) != reasonNotAllowed {
			t.Errorf("%s is allowed", s)
		}
	}
}

// Nothing is dialled for what the operator's rules refuse, when it is saved and when it is asked for; what is blocked wins.
func TestRulesOfTheOperator(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		rules  Rules
		path   string
		reason string
	}{
		{Rules{}, "/a", ""},
		{Rules{Allowed: patterns(t, "127.0.0.1")}, "/a", ""},
		{Rules{Allowed: patterns(t, server.URL+"/a", "example.com")}, "/a/b", ""},
		{Rules{Allowed: patterns(t, server.URL+"/a")}, "/b", reasonNotAllowed},
		{Rules{Allowed: patterns(t, "example.com")}, "/a", reasonNotAllowed},
		{Rules{Blocked: patterns(t, server.URL+"/a")}, "/a/b", reasonBlocked},
		{Rules{Allowed: patterns(t, "127.0.0.1"), Blocked: patterns(t, server.URL+"/a")}, "/a", reasonBlocked},
	} {
		client := New(Config{AllowLoopback: true, Rules: c.rules})
		before := asked.Load()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.HTTP().Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		blocked, _ := errors.AsType[*BlockedError](err)
		switch {
		case c.reason == "" && (err != nil || asked.Load() != before+1 || client.CheckURL(req.URL) != nil):
			t.Errorf("%+v, %s: %v", c.rules, c.path, err)
		case c.reason != "" && (blocked == nil || blocked.Reason != c.reason || asked.Load() != before || client.CheckURL(req.URL) == nil):
			t.Errorf("%+v, %s: %v", c.rules, c.path, err)
		}
		client.CloseIdleConnections()
	}
}
