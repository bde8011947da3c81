package e2e

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth/oidc/oidctest"
)

// withIssuer returns the environment of a place with an issuer of OpenID Connect.
func (p *place) withIssuer(issuer string) map[string]string { return p.with(issuerOf(issuer)) }

func issuerOf(issuer string) map[string]string {
	return map[string]string{
		"OSTLER_OIDC_ISSUER": issuer, "OSTLER_OIDC_CLIENT_ID": oidctest.ClientID, "OSTLER_OIDC_CLIENT_SECRET": oidctest.ClientSecret,
		"OSTLER_OIDC_NAME": "Example", "OSTLER_OIDC_DOMAINS": "example.com",
	}
}

// follow is a page that a browser is sent to.
type follow struct {
	status  int
	header  http.Header
	address string
	body    string
}

func (b *browser) get(t *testing.T, address string, change ...func(*http.Request)) follow {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, fn := range change {
		fn(req)
	}
	res, err := b.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return follow{res.StatusCode, res.Header, res.Header.Get("Location"), string(body)}
}

// atIssuer begins a sign-in, and gives the address that the issuer sends the browser back to.
func (b *browser) atIssuer(t *testing.T, query string) string {
	t.Helper()
	to := b.get(t, b.URL+"/auth/oidc/start"+query)
	if to.status != http.StatusFound {
		t.Fatalf("the start answers %d %s %s", to.status, to.address, to.body)
	}
	return b.URL + "/auth/oidc/callback?" + oidctest.Visit(t, to.address).Encode()
}

func (f follow) leadsTo(t *testing.T, what, address string) {
	t.Helper()
	if f.status != http.StatusSeeOther || f.address != address || f.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: %d to %s with %v, want 303 to %s", what, f.status, f.address, f.header, address)
	}
}

const invite = `mutation($email: String!) { inviteMember(input: {email: $email, role: VIEWER}) { token userErrors { code message } } }`

func invitationFor(t *testing.T, owner *client, email string) string {
	t.Helper()
	var out struct{ InviteMember struct{ Token string } }
	owner.do(t, invite, map[string]any{"email": email}, &out)
	return out.InviteMember.Token
}

const whoAmI = `{ viewer { user { email name } role } }`

// TestSignInWithOpenIDConnect signs in as a browser does, with a real issuer of its own.
func TestSignInWithOpenIDConnect(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		issuer := oidctest.Start(t)
		p := start(t, place.withIssuer(issuer.URL))
		owner, ada, eve := signIn(t, p), newBrowser(t, p), newBrowser(t, p)
		if data, _ := newClient(p.url).answer(t, `{ serverInfo { signInMethods oidcName } }`, nil); data != `{"serverInfo":{"signInMethods":["password","oidc"],"oidcName":"Example"}}` {
			t.Errorf("offered is %s", data)
		}
		if issuer.Asked("/.well-known/openid-configuration") != 0 {
			t.Error("the issuer was asked before anybody signs in")
		}

		// She is invited, and comes back to the page that she wanted.
		issuer.SignIn(oidctest.Person{Subject: "ada-1", Email: "Ada@Example.com", Name: "Ada"})
		token := invitationFor(t, owner, "ada@example.com")
		to := ada.get(t, p.url+"/auth/oidc/start?returnTo="+url.QueryEscape("/sessions?view=all")+"&invitation="+token)
		if to.status != http.StatusFound || !strings.HasPrefix(to.address, issuer.URL+"/authorize?tenant=a&") || to.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("got %d %s %v", to.status, to.address, to.header)
		}
		cookie := strings.Join(to.header.Values("Set-Cookie"), "\n")
		for _, want := range []string{"ostler_oidc=", "Path=/auth/oidc/", "HttpOnly", "SameSite=Lax", "Expires="} {
			if !strings.Contains(cookie, want) || strings.Contains(cookie, "\n") || strings.Contains(cookie, token) {
				t.Errorf("the cookie is %s, without %s", cookie, want)
			}
		}
		callback := p.url + "/auth/oidc/callback?" + oidctest.Visit(t, to.address).Encode()
		eve.get(t, callback).leadsTo(t, "another browser", p.url+"/sign-in?error=oidc_state")
		eve.atIssuer(t, "")
		eve.get(t, callback).leadsTo(t, "another browser that has begun", p.url+"/sign-in?error=oidc_state")
		back := ada.get(t, callback)
		back.leadsTo(t, "she", p.url+"/sessions?view=all")
		if got := ada.must(t, whoAmI, nil); string(got.Data) != `{"viewer":{"user":{"email":"ada@example.com","name":"Ada"},"role":"VIEWER"}}` {
			t.Errorf("she is %s", got.Data)
		}
		for _, c := range back.header.Values("Set-Cookie") {
			if !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") {
				t.Errorf("a cookie is %s", c)
			}
		}
		if len(back.header.Values("Set-Cookie")) != 4 || back.body != "" || strings.Contains(back.address, "ey") {
			t.Errorf("got %v %s", back.header, back.body)
		}
		ada.must(t, `mutation { refreshTokens { tokens { expiresAt } userErrors { code message } } }`, nil)
		ada.get(t, callback).leadsTo(t, "the same again", p.url+"/sign-in?error=oidc_state")
		ada.must(t, whoAmI, nil) // which ends nothing
		ada.must(t, `mutation { signOut { ok } }`, nil)
		if _, code := ada.answer(t, whoAmI, nil); code != "UNAUTHENTICATED" {
			t.Errorf("after signing out: %s", code)
		}
		ada.get(t, ada.atIssuer(t, "?returnTo=/agents")).leadsTo(t, "the next time", p.url+"/agents")
		ada.must(t, whoAmI, nil)

		// What was in addresses is in no log.
		for _, secret := range []string{token, "state=", "code="} {
			if strings.Contains(p.out.String(), secret) {
				t.Errorf("the log holds %s", secret)
			}
		}
	})
}

// TestWhoIsNotSignedIn comes back with all that must not sign anybody in; the sign-in page is told why, in codes of ours.
func TestWhoIsNotSignedIn(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		issuer := oidctest.Start(t)
		p := start(t, place.withIssuer(issuer.URL))
		ada := oidctest.Person{Subject: "ada-1", Email: "ada@example.com"}
		fails := func(path string) func(string) int {
			return func(at string) int {
				if at == path {
					return http.StatusInternalServerError
				}
				return 0
			}
		}
		for name, test := range map[string]struct {
			who  oidctest.Person
			lies oidctest.Lies
			want string
		}{
			"a stranger":            {ada, oidctest.Lies{}, "oidc_not_invited"},
			"another domain":        {oidctest.Person{Subject: "5", Email: "ada@example.com.evil"}, oidctest.Lies{}, "oidc_domain"},
			"unverified":            {oidctest.Person{Subject: "5", Email: ownerEmail, Unverified: true}, oidctest.Lies{}, "oidc_email"},
			"the owner's e-mail":    {oidctest.Person{Subject: "5", Email: ownerEmail}, oidctest.Lies{}, "oidc_confirm"},
			"who declines":          {ada, oidctest.Lies{Refuse: "access_denied"}, "oidc_declined"},
			"what the issuer says":  {ada, oidctest.Lies{Refuse: "<script>alert(1)</script>"}, "oidc_failed"},
			"a token of somebody":   {ada, oidctest.Lies{Claims: func(c map[string]any) { c["nonce"] = "another" }}, "oidc_failed"},
			"an issuer that breaks": {ada, oidctest.Lies{Fails: fails("/token")}, "oidc_unavailable"},
		} {
			issuer.SignIn(test.who)
			issuer.Lie(test.lies)
			b := newBrowser(t, p)
			back := b.get(t, b.atIssuer(t, "?returnTo=/agents"))
			back.leadsTo(t, name, p.url+"/sign-in?error="+test.want+"&next=%2Fagents")
			if b.cookie(t, "ostler_access") != "" || b.cookie(t, "ostler_refresh") != "" || strings.Contains(back.body, "own words") {
				t.Errorf("%s: got cookies, or the issuer's words: %s", name, back.body)
			}
		}
		issuer.Lie(oidctest.Lies{})

		// The owner proves who they are by their password, once.
		owner, again := newBrowser(t, p), newBrowser(t, p)
		issuer.SignIn(oidctest.Person{Subject: "owner-1", Email: ownerEmail})
		owner.signIn(t)
		owner.get(t, owner.atIssuer(t, "")).leadsTo(t, "the owner", p.url+"/")
		again.get(t, again.atIssuer(t, "")).leadsTo(t, "the owner, from then on", p.url+"/")
		if got := again.must(t, whoAmI, nil); !strings.Contains(string(got.Data), `"role":"OWNER"`) {
			t.Errorf("the owner is %s", got.Data)
		}
		issuer.SignIn(oidctest.Person{Subject: "owner-2", Email: ownerEmail})
		owner.get(t, owner.atIssuer(t, "")).leadsTo(t, "who has the owner's e-mail now", p.url+"/sign-in?error=oidc_other_identity")

		// No way leads elsewhere.
		issuer.SignIn(oidctest.Person{Subject: "owner-1", Email: ownerEmail})
		for _, elsewhere := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "/\t/evil.example", "javascript:alert(1)", "evil", "/auth/oidc/start", "/sign-in?next=/"} {
			again.get(t, again.atIssuer(t, "?returnTo="+url.QueryEscape(elsewhere))).leadsTo(t, elsewhere, p.url+"/")
		}
		// An invitation is accepted by nobody else's link.
		token := invitationFor(t, signIn(t, p), "bob@example.com")
		for _, site := range []string{"cross-site", "same-site"} {
			b := newBrowser(t, p)
			b.get(t, p.url+"/auth/oidc/start?invitation="+token, b.from("", site)).leadsTo(t, site, p.url+"/sign-in?error=oidc_invitation")
		}
	})
}

// TestAnIssuerThatIsNotThere starts where the issuer is down, and where there is none.
func TestAnIssuerThatIsNotThere(t *testing.T) {
	t.Parallel()
	place := newPlace(t, "sqlite")
	issuer := oidctest.Start(t)
	issuer.Stop()
	p := start(t, place.withIssuer(issuer.URL))
	b := newBrowser(t, p)
	b.get(t, p.url+"/auth/oidc/start?returnTo=/agents").leadsTo(t, "an issuer that is down", p.url+"/sign-in?error=oidc_unavailable&next=%2Fagents")
	b.signIn(t)
	for _, method := range []string{http.MethodHead, http.MethodPost} {
		req, err := http.NewRequestWithContext(t.Context(), method, p.url+"/auth/oidc/callback?state=x&code=y", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := b.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != http.MethodGet {
			t.Errorf("%s: %s", method, res.Status)
		}
	}
	says(t, done(t, place.env, "admin", "unlink-identity", "--email="+ownerEmail), "is not linked to an issuer")
	says(t, refused(t, place.env, "admin", "unlink-identity", "--email=nobody@example.com"), "nobody@example.com")
	p.terminate(t)
	p.exit(t)

	p = p.again(t, place.env)
	b = newBrowser(t, p)
	for _, path := range []string{"/auth/oidc/start", "/auth/oidc/callback"} {
		if f := b.get(t, p.url+path); f.status != http.StatusNotFound {
			t.Errorf("%s without an issuer: %d", path, f.status)
		}
	}
	if data, _ := newClient(p.url).answer(t, `{ serverInfo { signInMethods oidcName } }`, nil); data != `{"serverInfo":{"signInMethods":["password"],"oidcName":null}}` {
		t.Errorf("offered is %s", data)
	}
	says(t, refused(t, place.with(map[string]string{"OSTLER_OIDC_ISSUER": "http://login.example.com"})), "OSTLER_OIDC_ISSUER", "OSTLER_OIDC_CLIENT_ID")
}
