package oidc_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"github.com/ostler-dev/ostler/internal/auth/oidc"
	"github.com/ostler-dev/ostler/internal/auth/oidc/oidctest"
	"github.com/ostler-dev/ostler/internal/clock"
)

const redirectURL = "https://ostler.test/auth/oidc/callback"

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ada   = oidctest.Person{Subject: "ada-1", Email: "Ada@Example.com", Name: "Ada"}
)

// world is one client and its issuer.
type world struct {
	*oidc.Client

	t      *testing.T
	issuer *oidctest.Issuer
	clock  *clock.Manual
}

func newWorld(t *testing.T, change func(*oidc.Config)) *world {
	t.Helper()
	w := &world{t: t, issuer: oidctest.Start(t), clock: clock.NewManual(start)}
	w.issuer.Now = w.clock.Now
	w.issuer.SignIn(ada)
	cfg := oidc.Config{
		Issuer: w.issuer.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, RedirectURL: redirectURL,
		Domains: []string{"example.com"}, Clock: w.clock, Secrets: [][]byte{bytes.Repeat([]byte{1}, 32)},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if w.Client, err = oidc.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// visited is a sign-in up to where the browser comes back.
type visited struct {
	redirect oidc.Redirect
	back     url.Values
}

func (w *world) visit() visited {
	w.t.Helper()
	r, err := w.Begin(w.t.Context(), "/sessions", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return visited{r, oidctest.Visit(w.t, r.URL)}
}

func (w *world) finish(v visited) (oidc.Identity, error) { return w.finishIn(w.t.Context(), v) }

func (w *world) finishIn(ctx context.Context, v visited) (oidc.Identity, error) {
	a, err := w.Open(v.redirect.Cookie, v.back.Get("state"))
	if err != nil {
		return oidc.Identity{}, err
	}
	return w.Redeem(ctx, a, oidc.Answer{Code: v.back.Get("code"), Error: v.back.Get("error"), Issuer: v.back.Get("iss")})
}

func refused(t *testing.T, what string, err error, want oidc.Refusal) {
	t.Helper()
	if got, ok := errors.AsType[oidc.Refusal](err); !ok || got != want {
		t.Errorf("%s: got %v, want %s", what, err, want)
	}
}

func TestSomebodyIsVerified(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*oidc.Config, *oidctest.Issuer){
		"a client with a secret": func(*oidc.Config, *oidctest.Issuer) {},
		"a public client": func(c *oidc.Config, i *oidctest.Issuer) {
			c.ClientSecret, i.Public = "", true
		},
		"a secret in the body": func(_ *oidc.Config, i *oidctest.Issuer) {
			i.Lie(oidctest.Lies{Discovery: func(says map[string]any) {
				says["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
			}})
		},
		"any domain": func(c *oidc.Config, _ *oidctest.Issuer) { c.Domains = nil },
		"what is true as a text": func(_ *oidc.Config, i *oidctest.Issuer) {
			i.Lie(oidctest.Lies{Claims: func(c map[string]any) { c["email_verified"] = "true" }})
		},
		"several audiences": func(_ *oidc.Config, i *oidctest.Issuer) {
			i.Lie(oidctest.Lies{Claims: func(c map[string]any) {
				c["aud"], c["azp"] = []string{"another", oidctest.ClientID}, oidctest.ClientID
			}})
		},
		"an e-mail that is told elsewhere": func(_ *oidc.Config, i *oidctest.Issuer) {
			i.Lie(oidctest.Lies{
				Claims:   func(c map[string]any) { delete(c, "email"); delete(c, "email_verified") },
				UserInfo: map[string]any{"sub": ada.Subject, "email": ada.Email, "email_verified": true},
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world
			issuer := oidctest.Start(t)
			w = newWorld(t, func(c *oidc.Config) {
				c.Issuer = issuer.URL
				change(c, issuer)
			})
			w.issuer, issuer.Now = issuer, w.clock.Now
			issuer.SignIn(ada)
			who, err := w.finish(w.visit())
			if want := (oidc.Identity{Issuer: issuer.URL, Subject: ada.Subject, Email: ada.Email, Name: ada.Name}); err != nil || who != want {
				t.Errorf("got %+v, %v, want %+v", who, err, want)
			}
		})
	}
}

func TestWhatBrowsersAreSentWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *oidc.Config) { c.Scopes = []string{"openid", "email"} })
	one, two := w.visit(), w.visit()
	u, err := url.Parse(one.redirect.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("scope") != "openid email" || q.Get("redirect_uri") != redirectURL || len(q.Get("state")) < 20 || len(q.Get("nonce")) < 20 ||
		len(q.Get("code_challenge")) != 43 || q.Get("code_challenge_method") != "S256" {
		t.Errorf("got %v", q)
	}
	other, _ := url.Parse(two.redirect.URL)
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if q.Get(name) == other.Query().Get(name) {
			t.Errorf("%s is the same twice", name)
		}
	}
	if !one.redirect.Expires.Equal(start.Add(oidc.AttemptLifetime)) {
		t.Errorf("the cookie lives until %s", one.redirect.Expires)
	}
	raw, err := base64.RawURLEncoding.DecodeString(one.redirect.Cookie)
	if err != nil || bytes.Contains(raw, []byte(q.Get("nonce"))) || bytes.Contains(raw, []byte("/sessions")) {
		t.Error("the cookie is not sealed")
	}
	if n := w.issuer.Asked("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("the issuer was asked %d times who it is", n)
	}
}

func TestStatesBelongToBrowsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	mine, theirs := w.visit(), w.visit()
	for name, v := range map[string]visited{
		"the state of another browser": {theirs.redirect, mine.back},
		"no cookie":                    {oidc.Redirect{}, mine.back},
		"no state":                     {mine.redirect, url.Values{}},
		"a cookie that is none":        {oidc.Redirect{Cookie: "%%"}, mine.back},
		"a cookie that was changed":    {oidc.Redirect{Cookie: mine.redirect.Cookie[:40] + "AAAA" + mine.redirect.Cookie[44:]}, mine.back},
		"a huge cookie":                {oidc.Redirect{Cookie: strings.Repeat("A", 1<<20)}, mine.back},
	} {
		_, err := w.finish(v)
		refused(t, name, err, oidc.StateLost)
	}
	first, err := w.Open(mine.redirect.Cookie, mine.back.Get("state"))
	if err != nil || first.ReturnTo != "/sessions" || len(first.State) != 32 || first.Invitation != nil {
		t.Errorf("got %+v, %v", first, err)
	}
	w.clock.Advance(oidc.AttemptLifetime)
	_, err = w.finish(mine)
	refused(t, "too late", err, oidc.StateLost)
}

func TestCookiesSurviveANewMasterKey(t *testing.T) {
	t.Parallel()
	before, after := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	w := newWorld(t, nil)
	v := w.visit()
	for name, secrets := range map[string][][]byte{"with the one before": {after, before}, "without": {after}} {
		rotated, err := oidc.New(oidc.Config{
			Issuer: w.issuer.URL, ClientID: oidctest.ClientID, RedirectURL: redirectURL, Clock: w.clock, Secrets: secrets,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = rotated.Open(v.redirect.Cookie, v.back.Get("state")); (err == nil) != (len(secrets) == 2) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLiesOfTheIssuer(t *testing.T) {
	t.Parallel()
	claim := func(name string, value any) oidctest.Lies {
		return oidctest.Lies{Claims: func(c map[string]any) { c[name] = value }}
	}
	w := newWorld(t, nil)
	key := w.issuer.Key()
	pub, err := x509.MarshalPKIXPublicKey(key.Key.(*ecdsa.PrivateKey).Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub})
	stranger := oidctest.Start(t).Key()
	stranger.KeyID = key.KeyID
	for name, test := range map[string]struct {
		lies oidctest.Lies
		want oidc.Refusal
	}{
		"a wrong nonce":     {claim("nonce", "another"), oidc.Failed},
		"no nonce":          {claim("nonce", ""), oidc.Failed},
		"a wrong audience":  {claim("aud", "another"), oidc.Failed},
		"no audience":       {claim("aud", []string{}), oidc.Failed},
		"made for another":  {claim("azp", "another"), oidc.Failed},
		"two audiences":     {claim("aud", []string{oidctest.ClientID, "another"}), oidc.Failed},
		"a wrong issuer":    {claim("iss", "https://evil.example"), oidc.Failed},
		"a slash more":      {claim("iss", w.issuer.URL+"/"), oidc.Failed},
		"expired":           {claim("exp", start.Add(-time.Second).Unix()), oidc.Failed},
		"not yet valid":     {claim("nbf", start.Add(time.Hour).Unix()), oidc.Failed},
		"no expiry":         {oidctest.Lies{Claims: func(c map[string]any) { delete(c, "exp") }}, oidc.Failed},
		"no subject":        {claim("sub", ""), oidc.Failed},
		"a long subject":    {claim("sub", strings.Repeat("x", 256)), oidc.Failed},
		"a subject of NULs": {claim("sub", "a\x00"), oidc.Failed},
		"no algorithm": {oidctest.Lies{Token: func(c map[string]any) string {
			b, err := json.Marshal(c)
			if err != nil {
				t.Error(err)
			}
			return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(b) + "."
		}}, oidc.Failed},
		"HS256 with the public key": {oidctest.Lies{Token: func(c map[string]any) string { return oidctest.Sign(jose.HS256, public, c) }}, oidc.Failed},
		"HS256 with the secret": {oidctest.Lies{Token: func(c map[string]any) string {
			return oidctest.Sign(jose.HS256, []byte(strings.Repeat(oidctest.ClientSecret, 2)), c)
		}}, oidc.Failed},
		"somebody else's key":    {oidctest.Lies{Token: func(c map[string]any) string { return oidctest.Sign(jose.ES256, stranger, c) }}, oidc.Failed},
		"no token at all":        {oidctest.Lies{Token: func(map[string]any) string { return "" }}, oidc.Failed},
		"no JWT":                 {oidctest.Lies{Token: func(map[string]any) string { return "a.b" }}, oidc.Failed},
		"not verified":           {claim("email_verified", false), oidc.NoEmail},
		"not verified, in words": {claim("email_verified", "false"), oidc.NoEmail},
		"verified by a number":   {claim("email_verified", 1), oidc.NoEmail},
		"nothing about it":       {oidctest.Lies{Claims: func(c map[string]any) { delete(c, "email_verified") }}, oidc.NoEmail},
		"no e-mail":              {oidctest.Lies{Claims: func(c map[string]any) { delete(c, "email") }}, oidc.NoEmail},
		"an empty e-mail":        {claim("email", ""), oidc.NoEmail},
		"an e-mail of two":       {claim("email", "a@evil.example@example.com"), oidc.NoEmail},
		"no domain":              {claim("email", "ada"), oidc.NoEmail},
		"a kelvin for a K":       {claim("email", "\u212Aate@example.com"), oidc.NoEmail},
		"a dotted capital I":     {claim("email", "adm\u0130n@example.com"), oidc.NoEmail},
		"a domain in front":      {claim("email", "ada@evil-example.com"), oidc.WrongDomain},
		"a domain behind":        {claim("email", "ada@example.com.evil"), oidc.WrongDomain},
		"a domain below":         {claim("email", "ada@sub.example.com"), oidc.WrongDomain},
		"a dot at the end":       {claim("email", "ada@example.com."), oidc.WrongDomain},
		"a Cyrillic a":           {claim("email", "ada@ex\u0430mple.com"), oidc.WrongDomain},
		"full width":             {claim("email", "ada@\uff45xample.com"), oidc.WrongDomain},
		"a space":                {claim("email", "ada@example.com "), oidc.WrongDomain},
		"somebody else, elsewhere": {oidctest.Lies{
			Claims:   func(c map[string]any) { delete(c, "email") },
			UserInfo: map[string]any{"sub": "another", "email": ada.Email, "email_verified": true},
		}, oidc.Failed},
		"verified of no e-mail": {oidctest.Lies{
			Claims:   func(c map[string]any) { delete(c, "email") },
			UserInfo: map[string]any{"sub": ada.Subject, "email": ada.Email},
		}, oidc.NoEmail},
		"the person said no":     {oidctest.Lies{Refuse: "access_denied"}, oidc.Declined},
		"the issuer can't":       {oidctest.Lies{Refuse: "temporarily_unavailable"}, oidc.Unavailable},
		"the issuer makes it up": {oidctest.Lies{Refuse: "whatever"}, oidc.Failed},
		"a token endpoint that is down": {oidctest.Lies{Fails: func(path string) int {
			if path == "/token" {
				return http.StatusBadGateway
			}
			return 0
		}}, oidc.Unavailable},
		"a token endpoint without end": {oidctest.Lies{Huge: map[string]bool{"/token": true}}, oidc.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			w.issuer.Lie(test.lies)
			_, err := w.finish(w.visit())
			refused(t, name, err, test.want)
			if len(err.Error()) > 600 {
				t.Errorf("the log would get %d bytes", len(err.Error()))
			}
		})
	}
	w.issuer.Lie(oidctest.Lies{})
	if _, err := w.finish(w.visit()); err != nil {
		t.Errorf("the truth after all that: %v", err)
	}
}

func TestCodesAreGoodOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	v := w.visit()
	if _, err := w.finish(v); err != nil {
		t.Fatal(err)
	}
	_, err := w.finish(v)
	refused(t, "the same code again", err, oidc.Failed)
	stolen, other := w.visit(), w.visit()
	other.back.Set("code", stolen.back.Get("code"))
	_, err = w.finish(other)
	refused(t, "a code that another browser was given", err, oidc.Failed)

	v = w.visit()
	a, err := w.Open(v.redirect.Cookie, v.back.Get("state"))
	if err != nil {
		t.Fatal(err)
	}
	a.Verifier = oauth2.GenerateVerifier()
	_, err = w.Redeem(t.Context(), a, oidc.Answer{Code: v.back.Get("code"), Issuer: w.issuer.URL})
	refused(t, "a wrong verifier", err, oidc.Failed)
	for name, answer := range map[string]oidc.Answer{
		"another issuer": {Code: "code", Issuer: "https://evil.example"}, "no issuer, though it names itself": {Code: "code"},
		"no code": {Issuer: w.issuer.URL},
	} {
		_, err = w.Redeem(t.Context(), a, answer)
		refused(t, name, err, oidc.Failed)
	}
}

func TestTheIssuersKeysRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for range 3 {
		for range 2 {
			if _, err := w.finish(w.visit()); err != nil {
				t.Fatal(err)
			}
		}
		w.issuer.RotateKey(t)
	}
	if n := w.issuer.Asked("/keys"); n != 3 {
		t.Errorf("the keys were asked for %d times, want once for each", n)
	}
}

func TestAnIssuerThatIsDown(t *testing.T) {
	t.Parallel()
	const at = "/.well-known/openid-configuration"
	failing := oidctest.Lies{Fails: func(string) int { return http.StatusInternalServerError }}
	w := newWorld(t, nil)
	w.issuer.Lie(failing)
	for range 5 {
		_, err := w.Begin(t.Context(), "/", nil)
		refused(t, "down", err, oidc.Unavailable)
	}
	if n := w.issuer.Asked(at); n != 1 {
		t.Errorf("it was asked %d times in one moment", n)
	}
	w.issuer.Lie(oidctest.Lies{})
	w.clock.Advance(5 * time.Second)
	if _, err := w.finish(w.visit()); err != nil {
		t.Fatalf("it is up again: %v", err)
	}
	// What is known goes on while it is down again, and is read anew afterwards.
	w.issuer.Lie(failing)
	w.clock.Advance(time.Hour)
	if _, err := w.Begin(t.Context(), "/", nil); err != nil {
		t.Errorf("with what is known: %v", err)
	}
	if n := w.issuer.Asked(at); n != 3 {
		t.Errorf("after an hour it was asked %d times in all, want 3", n)
	}
}

func TestDescriptionsThatAreNotBelieved(t *testing.T) {
	t.Parallel()
	says := func(name string, value any) oidctest.Lies {
		return oidctest.Lies{Discovery: func(s map[string]any) { s[name] = value }}
	}
	for name, lies := range map[string]oidctest.Lies{
		"another issuer":      says("issuer", "https://evil.example"),
		"no way to authorize": says("authorization_endpoint", ""),
		"a script":            says("authorization_endpoint", "javascript:alert(1)"),
		"no tokens":           says("token_endpoint", ""),
		"no keys":             says("jwks_uri", ""),
		"keys of a file":      says("jwks_uri", "file:///etc/passwd"),
		"no document":         says("token_endpoint", 5),
		"a huge document":     {Huge: map[string]bool{"/.well-known/openid-configuration": true}},
		"a redirect":          {Fails: func(string) int { return http.StatusFound }},
	} {
		w := newWorld(t, nil)
		w.issuer.Lie(lies)
		_, err := w.Begin(t.Context(), "/", nil)
		refused(t, name, err, oidc.Unavailable)
		if len(lies.Huge) > 0 && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s was read to its end: %v", name, err)
		}
	}
	w := newWorld(t, nil)
	w.issuer.Lie(oidctest.Lies{Huge: map[string]bool{"/keys": true}})
	_, err := w.finish(w.visit())
	refused(t, "huge keys", err, oidc.Failed)
	if !strings.Contains(err.Error(), "too large") {
		t.Errorf("huge keys were read to their end: %v", err)
	}
	w.issuer.Stop()
	w = newWorld(t, func(c *oidc.Config) { c.Issuer = w.issuer.URL })
	_, err = w.Begin(t.Context(), "/", nil)
	refused(t, "nobody there", err, oidc.Unavailable)
}

// An issuer that takes its time keeps those who wait for it, as long as they want, and nobody else.
func TestASlowIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	v := w.visit()
	w.issuer.Lie(oidctest.Lies{Hang: map[string]bool{"/token": true}})
	if limit := oidc.HTTPOf(w.Client).Timeout; limit <= 0 || limit > 15*time.Second {
		t.Errorf("an answer may take %s", limit)
	}
	oidc.HTTPOf(w.Client).Timeout = 50 * time.Millisecond
	_, err := w.finish(v)
	refused(t, "a slow answer", err, oidc.Unavailable)

	oidc.HTTPOf(w.Client).Timeout = time.Minute
	slow := make([]visited, 40)
	w.issuer.Lie(oidctest.Lies{})
	for i := range slow {
		slow[i] = w.visit()
	}
	w.issuer.Lie(oidctest.Lies{Hang: map[string]bool{"/token": true}})
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	results := make(chan error, len(slow))
	var running sync.WaitGroup
	for _, v := range slow {
		running.Go(func() {
			_, err := w.finishIn(ctx, v)
			results <- err
		})
	}
	for range len(slow) - 32 {
		refused(t, "one too many", <-results, oidc.Unavailable)
	}
	hangUp()
	running.Wait()
}

func TestConfigurations(t *testing.T) {
	t.Parallel()
	for issuer, good := range map[string]bool{
		"https://login.example.com": true, "https://example.com/realms/a/": true, "http://127.0.0.1:8080": true, "http://localhost": true, "http://[::1]:1/x": true,
		"": false, "login.example.com": false, "http://login.example.com": false, "http://10.0.0.1": false, "https://": false, "ftp://example.com": false,
		"https://a:b@example.com": false, "https://example.com?x=1": false, "https://example.com?": false, "https://example.com#x": false, "https:example.com": false,
	} {
		if err := oidc.CheckIssuer(issuer); (err == nil) != good {
			t.Errorf("%q: %v", issuer, err)
		}
	}
	for list, want := range map[string]string{
		"": "", "example.com": "example.com", " Example.com , b.ORG,": "example.com b.org", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"bücher.example": "!", "@example.com": "!", "*.example.com": "!", "a b": "!", "-a.com": "!", "a..com": "!", "example.com.": "!",
	} {
		got, err := oidc.ParseDomains(list)
		if (err != nil) != (want == "!") || err == nil && strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", list, got, err)
		}
	}
	for list, good := range map[string]bool{"openid": true, " openid  email ": true, "": false, "email": false, "openid \"x": false, "openid é": false} {
		if _, err := oidc.ParseScopes(list); (err == nil) != good {
			t.Errorf("%q: %v", list, err)
		}
	}
	for name, change := range map[string]func(*oidc.Config){
		"no issuer": func(c *oidc.Config) { c.Issuer = "" }, "a bad issuer": func(c *oidc.Config) { c.Issuer = "x" },
		"no client": func(c *oidc.Config) { c.ClientID = "" }, "no secrets": func(c *oidc.Config) { c.Secrets = nil },
		"a short secret": func(c *oidc.Config) { c.Secrets = [][]byte{{1}} },
	} {
		cfg := oidc.Config{
			Issuer: "https://login.example.com", ClientID: "a", RedirectURL: redirectURL, Clock: clock.System{}, Secrets: [][]byte{make([]byte, 32)},
		}
		if c, err := oidc.New(cfg); err != nil || c.Name() != "login.example.com" {
			t.Fatalf("%v", err)
		}
		change(&cfg)
		if _, err := oidc.New(cfg); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
