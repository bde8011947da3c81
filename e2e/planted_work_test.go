package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// work has turns run with providers that answer, and with such that refuse and repeat the key in what they say.
func (r *planting) work(owner *client, fake *fakeProvider) (streams string) {
	r.Helper()
	turn := func(agent string) turn {
		r.Helper()
		session := owner.session(r.T, agent)
		s := owner.subscribe(r.T, session, 0)
		id := owner.message(r.T, session, openText)
		streams += string(encode(s.untilKind(r.T, "SESSION_IDLED", 1)))
		owner.history(r.T, session)
		return owner.turn(r.T, id)
	}
	for kind, at := range providerKinds() {
		lower := strings.ToLower(kind)
		good := owner.provider(r.T, "good "+kind, kind, fake.URL+at.base, providerKey)
		if got := turn(owner.agentOn(r.T, "good-"+lower, owner.modelOf(r.T, good, "big-model"))); got.Status != "COMPLETED" {
			r.Errorf("%s: the turn is %+v", kind, got)
		}
		refused := r.plant("key for " + kind)
		bad := owner.provider(r.T, "bad "+kind, kind, fake.URL+at.base, refused)
		model := owner.modelOf(r.T, bad, "big-model")
		if got := turn(owner.agentOn(r.T, "bad-"+lower, model)); got.Status != "FAILED" {
			r.Errorf("%s: the turn is %+v", kind, got)
		}
		for _, query := range []string{
			`mutation($id: ID!, $key: String!) { testProvider(input: {id: $id, apiKey: $key}) { ok error { code message fields } userErrors { code message } } }`,
			`mutation($id: ID!, $key: String!) { updateProvider(id: $id, input: {apiKey: $key}) { provider { id hasCredentials baseUrl } userErrors { code message } } }`,
		} {
			_ = owner.try(query, map[string]any{"id": bad, "key": r.plant("other key for " + kind + fmt.Sprint(len(query)))}, nil) // limits may be reached
		}
		_ = owner.try(`mutation($id: ID!) { discoverModels(providerId: $id) { models { name } userErrors { code message } } }`, map[string]any{"id": bad}, nil)
	}
	// Providers without a key use that of the environment, which is refused, too.
	for _, kind := range []string{"ANTHROPIC", "OPENAI", "GEMINI"} {
		var made struct {
			CreateProvider struct{ Provider struct{ ID string } }
		}
		owner.do(r.T, `mutation($name: String!, $kind: ProviderKind!) { createProvider(input: {name: $name, kind: $kind}) { provider { id } userErrors { code message } } }`,
			map[string]any{"name": "the environment's " + kind, "kind": kind}, &made)
		model := owner.modelOf(r.T, made.CreateProvider.Provider.ID, "big-model")
		if got := turn(owner.agentOn(r.T, "environment-"+strings.ToLower(kind), model)); got.Status != "FAILED" {
			r.Errorf("%s of the environment: the turn is %+v", kind, got)
		}
	}
	// A turn that waits for somebody with a token.
	agent := owner.agentOf(r.T, "calls-back", map[string]any{"capabilities": []any{map[string]any{"id": "callbacks"}}})
	session := owner.session(r.T, agent)
	s := owner.subscribe(r.T, session, 0)
	owner.message(r.T, session, script(`{"name": "wait_for_callback", "arguments": {"purpose": "the courier"}}`))
	s.untilKind(r.T, "SESSION_WAITING", 1)
	token := r.given("the token of a wait", owner.waits(r.T, session)[0].Token, " token ")
	r.as("").do(r.T, `mutation($t: String!) { resolveWait(token: $t, value: {parcel: 12}) { resolution } }`, map[string]any{"t": token}, nil)
	return streams + string(encode(s.untilKind(r.T, "SESSION_IDLED", 1)))
}

// wrong sends secrets where they don't belong, in requests that can't be read, and where they are wrong.
func (r *planting) wrong(owner *client) {
	r.Helper()
	body := func(what string, c *client, body string, change ...func(*http.Request)) {
		r.Helper()
		if _, err := c.send([]byte(body), change...); err != nil {
			r.Errorf("%s: %v", what, err)
		}
	}
	nobody := r.as("")
	quoted := func(name string) string { return string(encode(r.plant(name))) }
	signIn := `mutation { signIn(input: {email: "` + ownerEmail + `", password: %s}) { tokens { accessToken } userErrors { code message } } }`
	body("a wrong password", nobody, string(document(fmt.Sprintf(signIn, quoted("wrong password")), nil)))
	body("a password in a document that is cut", nobody, `{"query": "mutation { signIn(input: {password: \"`+r.plant("cut document"))
	body("a password where a list goes", nobody, string(document(`mutation($p: [String!]!) { signIn(input: {email: "a", password: $p}) { userErrors { code } } }`, map[string]any{"p": r.plant("list")})))
	body("a password of the wrong type", nobody, string(document(`mutation($p: SignInInput!) { signIn(input: $p) { userErrors { code } } }`, map[string]any{"p": r.plant("no object")})))
	body("a password under another name", nobody, string(document(`mutation($p: SignInInput!) { signIn(input: $p) { userErrors { code } } }`, map[string]any{"p": map[string]any{"email": "a", "pass": r.plant("other name")}})))
	body("a key that is too long", owner, string(document(`mutation($k: String!) { createProvider(input: {name: "x", kind: OPENAI, apiKey: $k}) { userErrors { code message } } }`, map[string]any{"k": strings.Repeat(r.plant("long key"), 400)})))
	body("a key with spaces", owner, string(document(`mutation($k: String!) { createProvider(input: {name: "x", kind: OPENAI, apiKey: $k}) { userErrors { code message } } }`, map[string]any{"k": r.plant("key with spaces") + " x"})))
	body("a wrong current password", owner, string(document(`mutation($c: String!, $n: String!) { changePassword(current: $c, new: $n) { ok userErrors { code message } } }`, map[string]any{"c": r.plant("wrong current"), "n": r.plant("never new")})))
	body("a wrong refresh token", nobody, string(document(`mutation($t: String!) { refreshTokens(refreshToken: $t) { userErrors { code message } } }`, map[string]any{"t": r.plant("wrong refresh token")})))
	body("a wrong invitation", nobody, string(document(acceptInvitation, map[string]any{"input": map[string]any{"token": r.plant("wrong invitation"), "name": "x", "password": r.plant("password of nobody")}})))
	body("a wrong link", nobody, string(document(reset, map[string]any{"t": r.plant("wrong link"), "p": r.plant("password of a wrong link")})))
	body("a wrong token of a wait", nobody, string(document(`mutation($t: String!) { resolveWait(token: $t, value: 1) { resolution } }`, map[string]any{"t": r.plant("wrong wait")})))
	for name, value := range map[string]string{"Authorization": "Bearer " + r.plant("wrong bearer"), "Cookie": "ostler_access=" + r.plant("wrong cookie")} {
		body("a wrong credential", nobody, string(document(`{ viewer { operator } }`, nil)), func(q *http.Request) { q.Header.Set(name, value) })
	}
	for _, path := range []string{"/v1/waits/" + r.plant("wait in a path"), "/reset?token=" + r.plant("link in a path"), "/graphql?query=" + r.plant("query in a path"), "/healthz"} {
		res, err := nobody.HTTP.Post(r.p.url+path, "application/json", strings.NewReader(`{"value": 1}`))
		if err != nil {
			r.Fatal(err)
		}
		_ = res.Body.Close()
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	for _, message := range []string{
		`{"type": "connection_init", "payload": {"Authorization": "Bearer ` + r.plant("bearer of a socket") + `"}}`,
		`{"type": "connection_init", "payload": "` + r.plant("payload of a socket") + `"}`, `{"type": "` + r.plant("type of a message"),
	} {
		conn, _, err := newClient(r.p.url).Dial(ctx, nil)
		if err != nil {
			r.Fatal(err)
		}
		_ = conn.Conn.Write(ctx, websocket.MessageText, []byte(message))
		_, err = conn.Read(ctx)
		r.exchanges = append(r.exchanges, exchange{"a socket", fmt.Sprint(err)})
		_ = conn.Conn.CloseNow()
	}
}
