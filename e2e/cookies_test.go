package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// browser is a client that keeps cookies and sends an Origin, as browsers do.
type browser struct {
	*client
	origin string
}

func newBrowser(t *testing.T, p *process) *browser {
	t.Helper()
	c := newClient(p.url)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.HTTP.Jar = jar
	return &browser{c, p.url}
}

func (b *browser) from(origin, site string) func(*http.Request) {
	return func(r *http.Request) {
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
	}
}

func (b *browser) must(t *testing.T, query string, variables map[string]any) *reply {
	t.Helper()
	r, err := b.send(document(query, variables), b.from(b.origin, "same-origin"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) > 0 || r.Status != http.StatusOK {
		t.Fatalf("%.80s: %d %s", query, r.Status, r.Body)
	}
	return r
}

// cookie returns a cookie as the jar holds it for a path.
func (b *browser) cookie(t *testing.T, name string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+"/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.HTTP.Jar.Cookies(req.URL) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

const cookieSignIn = `mutation($input: SignInInput!) { signIn(input: $input) { tokens { accessToken refreshToken expiresAt user { email } } userErrors { code message } } }`

func (b *browser) signIn(t *testing.T) *reply {
	t.Helper()
	return b.must(t, cookieSignIn, map[string]any{"input": map[string]any{"email": ownerEmail, "password": ownerPassword, "transport": "COOKIE"}})
}

// TestBrowserSignIn signs in, refreshes and signs out as the dashboard does: tokens live in cookies alone.
func TestBrowserSignIn(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		b := newBrowser(t, p)
		r := b.signIn(t)
		if !strings.Contains(string(r.Data), `"accessToken":null`) || !strings.Contains(string(r.Data), `"refreshToken":null`) {
			t.Errorf("the answer holds tokens: %s", r.Data)
		}
		cookies := r.Header.Values("Set-Cookie")
		if len(cookies) != 3 { // two tokens, and that the browser is known
			t.Fatalf("%d cookies were set", len(cookies))
		}
		for _, c := range cookies {
			if !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") || strings.Contains(c, "Secure") {
				t.Errorf("on http at loopback a cookie is HttpOnly and SameSite=Lax and not Secure: %s", c)
			}
		}
		b.must(t, `{ viewer { user { email } } }`, nil)

		access, refresh := b.cookie(t, "ostler_access"), b.cookie(t, "ostler_refresh")
		b.must(t, `mutation { refreshTokens { tokens { accessToken refreshToken } userErrors { code message } } }`, nil)
		if b.cookie(t, "ostler_refresh") == refresh || b.cookie(t, "ostler_access") == "" {
			t.Error("the refresh did not rotate the cookies")
		}
		// Two tabs may refresh at once: within 30 s the token just spent gives the same successor.
		next := b.cookie(t, "ostler_refresh")
		tab := newBrowser(t, p)
		r, err := tab.send(document(`mutation { refreshTokens { tokens { expiresAt } userErrors { code } } }`, nil), func(r *http.Request) {
			tab.from(tab.origin, "same-origin")(r)
			r.AddCookie(&http.Cookie{Name: "ostler_refresh", Value: refresh})
		})
		if err != nil || tab.cookie(t, "ostler_refresh") != next {
			t.Errorf("the second tab got %v %s", err, r.Body)
		}
		b.must(t, `{ viewer { user { email } } }`, nil)

		r = b.must(t, `mutation { signOut { ok userErrors { code } } }`, nil)
		if b.cookie(t, "ostler_access") != "" || b.cookie(t, "ostler_refresh") != "" || b.cookie(t, "ostler_browser") == "" {
			t.Errorf("cookies are left after signing out, or the browser is forgotten: %v", r.Header.Values("Set-Cookie"))
		}
		// Neither token is good for anything now.
		for _, token := range []string{access} {
			c := newClient(p.url)
			c.Token = token
			if err := c.try(`{ viewer { user { email } } }`, nil, nil); err == nil || !strings.HasPrefix(err.Error(), "UNAUTHENTICATED") {
				t.Errorf("an access token after signing out: %v", err)
			}
		}
		for _, token := range []string{refresh, next} {
			r, err := newClient(p.url).send(document(`mutation($t: String!) { refreshTokens(refreshToken: $t) { tokens { expiresAt } userErrors { code } } }`, map[string]any{"t": token}))
			if err != nil || !strings.Contains(string(r.Data), "INVALID_CREDENTIALS") {
				t.Errorf("a refresh token after signing out: %v %s", err, r.Body)
			}
		}
	})
}

// TestOtherOrigins makes requests as pages of other origins would.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	p := start(t, newPlace(t, "sqlite").env)
	b := newBrowser(t, p)
	b.signIn(t)
	mutation := document(`mutation { createOrg(input: {name: "Stolen"}) { org { id } userErrors { code } } }`, nil)
	for name, change := range map[string]func(*http.Request){
		"another origin":              b.from("https://evil.example", ""),
		"another site":                b.from("", "cross-site"),
		"another port of the host":    b.from("http://127.0.0.1:1", "same-site"),
		"the null origin":             b.from("null", ""),
		"another origin with a token": b.from("https://evil.example", "cross-site"),
	} {
		r, err := b.send(mutation, change)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != http.StatusForbidden || len(r.Errors) != 1 || r.Errors[0].Code() != "FORBIDDEN" {
			t.Errorf("a mutation from %s: %d %s", name, r.Status, r.Body)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"a form":       func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") },
		"a plain text": func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"an upload":    func(r *http.Request) { r.Header.Set("Content-Type", "multipart/form-data; boundary=x") },
	} {
		r, err := b.send(mutation, change)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != http.StatusUnsupportedMediaType || len(r.Errors) != 1 || r.Errors[0].Code() != "BAD_USER_INPUT" {
			t.Errorf("a mutation as %s: %d %s", name, r.Status, r.Body)
		}
	}
	// A link can't change anything either.
	res, err := b.HTTP.Get(p.url + "/graphql?query=" + "mutation%7BsignOut%7Bok%7D%7D")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a mutation by GET: %s", res.Status)
	}

	header := func(origin string) http.Header {
		h := http.Header{"Cookie": {"ostler_access=" + b.cookie(t, "ostler_access")}}
		if origin != "" {
			h.Set("Origin", origin)
		}
		return h
	}
	for name, origin := range map[string]string{"none": "", "another": "https://evil.example", "null": "null", "another port": "http://127.0.0.1:1"} {
		_, res, err := newClient(p.url).Dial(t.Context(), header(origin))
		if err == nil || res == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("a socket with a cookie and origin %s: %v, want 403", name, err)
		}
	}
	conn, _, err := newClient(p.url).Dial(t.Context(), header(p.url))
	if err != nil {
		t.Fatalf("a socket with a cookie from the own origin: %v", err)
	}
	defer func() { _ = conn.Conn.CloseNow() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := conn.Init(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if f, err := conn.Read(ctx); err != nil || f.Type != "connection_ack" {
		t.Errorf("the cookie does not sign the socket in: %v %v", f, err)
	}

	// Signing out ends the socket, within the seconds that the contract gives.
	b.must(t, `mutation { signOut { ok userErrors { code } } }`, nil)
	for {
		f, err := conn.Read(ctx)
		if err == nil && f.Type == "ping" {
			continue
		}
		if websocket.CloseStatus(err) != 4403 {
			t.Errorf("after signing out the socket gave %v %v, want close code 4403", f, err)
		}
		break
	}
	if n := json.RawMessage(b.orgs(t, p)); strings.Contains(string(n), "Stolen") {
		t.Errorf("a refused mutation has made an organization: %s", n)
	}
}

func (b *browser) orgs(t *testing.T, p *process) []byte {
	t.Helper()
	var out json.RawMessage
	signIn(t, p).do(t, `{ viewer { orgs { name } } }`, nil, &out)
	return out
}
