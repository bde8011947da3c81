package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/ostler-dev/ostler/internal/auth/oidc/oidctest"
)

// byIssuer signs somebody in with an issuer of OpenID Connect, well and badly.
func (r *planting) byIssuer(owner *client, issuer *oidctest.Issuer) {
	r.Helper()
	vouched := 0
	issuer.Lie(oidctest.Lies{Token: func(claims map[string]any) string {
		vouched++
		token := oidctest.Sign(jose.ES256, issuer.Key(), claims)
		r.given(fmt.Sprintf("ID token %d", vouched), token, "nothing")
		return token
	}})
	issuer.SignIn(oidctest.Person{Subject: "ada-1", Email: "ada@example.com", Name: "Ada"})
	var invited struct{ InviteMember struct{ Token string } }
	owner.do(r.T, invite, map[string]any{"email": "ada@example.com"}, &invited)
	token := r.given("an invitation that the issuer's person accepts", invited.InviteMember.Token, "inviteMember")
	for name, query := range map[string]string{"who is invited": "?invitation=" + token, "who is declined": "?invitation=" + r.plant("invitation in an address")} {
		b := newBrowser(r.T, r.p)
		b.HTTP.Transport = r
		to := b.get(r.T, r.p.url+"/auth/oidc/start"+query)
		at, err := url.Parse(to.address)
		if err != nil || to.status != http.StatusFound {
			r.Fatalf("%s: %d to %s", name, to.status, to.address)
		}
		// What the browser is sent with is shown to it alone, in the answer that sends it.
		r.given("the state of "+name, at.Query().Get("state"), "/auth/oidc/start")
		r.given("the nonce of "+name, at.Query().Get("nonce"), "/auth/oidc/start")
		r.given("the cookie of "+name, b.cookieAt(r.T, "ostler_oidc", "/auth/oidc/callback"), "/auth/oidc/start")
		back := oidctest.Visit(r.T, to.address)
		r.given("the code of "+name, back.Get("code"), "nothing")
		if strings.Contains(name, "declined") {
			back.Set("code", r.plant("wrong code of an issuer"))
		}
		b.get(r.T, r.p.url+"/auth/oidc/callback?"+back.Encode())
		if access := b.cookieAt(r.T, "ostler_access", "/graphql"); access != "" {
			r.given("the access token of "+name, access, "/auth/oidc/callback")
			r.given("the refresh token of "+name, b.cookieAt(r.T, "ostler_refresh", "/graphql"), "/auth/oidc/callback")
			b.must(r.T, whoAmI, nil)
		} else if name == "who is invited" {
			r.Error("the issuer's person is not signed in")
		}
	}
	if vouched != 1 {
		r.Errorf("the issuer has vouched %d times, want once", vouched)
	}
}

// cookieAt returns a cookie as the jar holds it for a path.
func (b *browser) cookieAt(t *testing.T, name, path string) string {
	at, err := url.Parse(b.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.HTTP.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// outside has webhooks and hooks told of turns, by receivers that take it and such that don't. Their addresses hold keys: those are stored as
// they are, and shown to whoever may see the address, and nowhere else.
func (r *planting) outside(owner *client) (streams string) {
	r.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/refuses") {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	r.Cleanup(receiver.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	keyed := func(base, name string) string {
		text := r.plant(name)
		delete(r.secrets, name)
		r.addresses[name] = text
		return base + "?key=" + text
	}
	secret := func(name, text, field string) {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			r.Fatalf("%s is %q: %v", name, text, err)
		}
		r.given(name, text, field)
		r.given(name+", decoded", string(raw), field)
	}
	var out struct {
		CreateWebhook, UpdateWebhook struct {
			Secret  string
			Webhook struct{ ID string }
		}
	}
	var hooks []string
	for name, base := range map[string]string{"a webhook": receiver.URL + "/takes", "a webhook that refuses": receiver.URL + "/refuses", "a webhook that is gone": gone.URL} {
		owner.do(r.T, `mutation($in: CreateWebhookInput!) { createWebhook(input: $in) { secret webhook { id } userErrors { code message path } } }`,
			map[string]any{"in": map[string]any{"url": keyed(base, "the key of "+name), "kinds": []any{"TURN_COMPLETED", "TURN_FAILED"}}}, &out)
		secret("the secret of "+name, out.CreateWebhook.Secret, "createWebhook")
		hooks = append(hooks, out.CreateWebhook.Webhook.ID)
		owner.do(r.T, `mutation($id: ID!) { updateWebhook(id: $id, input: {rotateSecret: true}) { secret webhook { id } userErrors { code message path } } }`,
			map[string]any{"id": hooks[len(hooks)-1]}, &out)
		secret("the second secret of "+name, out.UpdateWebhook.Secret, "rotateSecret")
	}
	var policy struct {
		CreatePaymentPolicy struct{ Policy struct{ ID string } }
	}
	owner.do(r.T, `mutation($secret: String!) { createPaymentPolicy(input: {name: "pays", capabilities: ["core"], hosts: ["shop.invalid"], url: "https://pay.invalid/x",
		secret: $secret, maxPerRequest: "1", maxPerTurn: "2", maxPerDay: "3"}) { policy { id name url } userErrors { code message path } } }`,
		map[string]any{"secret": r.plant("the secret of a rail")}, &policy)
	owner.do(r.T, `mutation($id: ID!, $secret: String!) { updatePaymentPolicy(id: $id, input: {secret: $secret}) { policy { id name url } userErrors { code message path } } }`,
		map[string]any{"id": policy.CreatePaymentPolicy.Policy.ID, "secret": r.plant("the second secret of a rail")}, nil)
	for name, base := range map[string]string{"a hook": receiver.URL + "/takes", "a hook that refuses": receiver.URL + "/refuses", "a hook that is gone": gone.URL} {
		agent := owner.agentOf(r.T, strings.ReplaceAll(name, " ", "-"), map[string]any{"capabilities": []any{map[string]any{"id": "user_hooks", "config": map[string]any{
			"hooks": []any{map[string]any{"name": "asks", "event": "user_prompt_submit", "webhook": map[string]any{"url": keyed(base, "the key of "+name)}}},
		}}}})
		session := owner.session(r.T, agent)
		s := owner.subscribe(r.T, session, 0)
		owner.message(r.T, session, openText)
		events := s.untilKind(r.T, "SESSION_IDLED", 1)
		if count(events, "HOOK_RAN") == 0 {
			r.Errorf("%s did not run", name)
		}
		streams += string(encode(events))
		owner.history(r.T, session)
	}
	for _, id := range hooks {
		eventually(r.T, "each webhook was told", func() error {
			var out struct {
				Node struct {
					Deliveries struct{ Nodes []struct{ Attempts int } }
				}
			}
			owner.do(r.T, `query($id: ID!) { node(id: $id) { ... on Webhook { deliveries { nodes { attempts status error } } } } }`, map[string]any{"id": id}, &out)
			for _, d := range out.Node.Deliveries.Nodes {
				if d.Attempts > 0 {
					return nil
				}
			}
			return fmt.Errorf("%w: %+v", errNotYet, out.Node.Deliveries.Nodes)
		})
	}
	owner.do(r.T, `{ auditEntries(first: 100) { nodes { action details targetId } } }`, nil, nil)
	return streams
}

// measured reads the metrics, with the right token and with others.
func (r *planting) measured() string {
	r.Helper()
	var all strings.Builder
	for _, token := range []string{r.secrets["OSTLER_METRICS_TOKEN"], r.plant("wrong token of the metrics")} {
		_, body := getMetrics(r.T, r.p, http.Header{"Authorization": {"Bearer " + token}})
		all.WriteString(body)
	}
	return all.String()
}
