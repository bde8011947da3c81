package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// done runs a command of the program that must succeed, and returns what it said.
func done(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	p := launch(t, env, args...)
	if code := p.exit(t); code != 0 {
		t.Fatalf("%v ended with code %d\n%s", args, code, p.out)
	}
	return p.out.String()
}

// answer runs an operation and returns its data; top-level errors are given by their code.
func (c *client) answer(t *testing.T, query string, variables map[string]any) (data, code string) {
	t.Helper()
	r, err := c.send(document(query, variables))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) > 0 {
		return string(r.Data), r.Errors[0].Code()
	}
	return string(r.Data), ""
}

// password signs in with another password than the first one.
func (c *client) password(t *testing.T, password string) *client {
	t.Helper()
	var out struct {
		SignIn struct {
			payload

			Tokens struct{ AccessToken string }
		}
	}
	query := `mutation($p: String!) { signIn(input: {email: "` + ownerEmail + `", password: $p}) { tokens { accessToken } userErrors { code } } }`
	if err := c.try(query, map[string]any{"p": password}, &out); err != nil {
		t.Fatal(err)
	}
	in := newClient(c.URL)
	in.Token = out.SignIn.Tokens.AccessToken
	return in
}

// keySet returns the published keys by their ids.
func (c *client) keySet(t *testing.T) []string {
	t.Helper()
	res, err := c.HTTP.Get(c.URL + "/.well-known/jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		t.Fatalf("%s: %v", body, err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("%d, %v", res.StatusCode, res.Header)
	}
	ids := []string{}
	for _, key := range set.Keys {
		if key["kty"] != "OKP" || key["crv"] != "Ed25519" || key["d"] != "" {
			t.Errorf("a published key is %v", key)
		}
		ids = append(ids, key["kid"])
	}
	return ids
}

const (
	reset   = `mutation($t: String!, $p: String!) { resetPassword(token: $t, password: $p) { ok userErrors { code path } } }`
	request = `mutation($e: String!) { requestPasswordReset(email: $e) { ok userErrors { code path } } }`
	ended   = `{"resetPassword":{"ok":false,"userErrors":[{"code":"INVALID_CREDENTIALS","path":["token"]}]}}`
)

var resetLink = regexp.MustCompile(`/reset\?token=([A-Za-z0-9_-]+)`)

func TestOnesOwnSignInsOverTheAPI(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, p *place) {
		server := start(t, p.env)
		anonymous, here, there := newClient(server.url), signIn(t, server), signIn(t, server)
		for _, query := range []string{`{ signIns { id } }`, `mutation { revokeSignIn(id: "signin_00000000000000000000000000000000") { ok } }`} {
			if _, code := anonymous.answer(t, query, nil); code != "UNAUTHENTICATED" {
				t.Errorf("%s without a token: %s", query, code)
			}
		}
		var list struct {
			SignIns []struct {
				ID, Address string
				Current     bool
			}
		}
		here.do(t, `{ signIns { id address userAgent createdAt lastUsedAt current } }`, nil, &list)
		if len(list.SignIns) != 2 || list.SignIns[0].Current || !list.SignIns[1].Current || list.SignIns[0].Address != "127.0.0.1" {
			t.Fatalf("got %+v", list)
		}
		revoke := `mutation($id: ID!) { revokeSignIn(id: $id) { ok userErrors { code path } } }`
		for id, want := range map[string]string{
			list.SignIns[0].ID:                        `{"revokeSignIn":{"ok":true,"userErrors":[]}}`,
			"signin_00000000000000000000000000000000": `{"revokeSignIn":{"ok":false,"userErrors":[{"code":"NOT_FOUND","path":["id"]}]}}`,
			"nonsense": `{"revokeSignIn":{"ok":false,"userErrors":[{"code":"NOT_FOUND","path":["id"]}]}}`,
		} {
			if data, code := here.answer(t, revoke, map[string]any{"id": id}); data != want || code != "" {
				t.Errorf("%s: %s %s", id, data, code)
			}
		}
		if _, code := there.answer(t, `{ viewer { role } }`, nil); code != "UNAUTHENTICATED" {
			t.Errorf("the one that was ended: %s", code)
		}

		// Nothing tells a known e-mail from an unknown one, but the log of who runs the server.
		for _, email := range []string{"nobody@example.com", ownerEmail} {
			if data, code := anonymous.answer(t, request, map[string]any{"e": email}); data != `{"requestPasswordReset":{"ok":true,"userErrors":[]}}` || code != "" {
				t.Errorf("%s: %s %s", email, data, code)
			}
		}
		line := server.waitLine(t, func(line string) bool {
			return strings.Contains(line, "password reset for "+ownerEmail+": "+server.url)
		})
		token := resetLink.FindStringSubmatch(line)
		if token == nil || strings.Contains(server.out.String(), "nobody@") {
			t.Fatalf("the log says %s", line)
		}
		for _, want := range []string{`{"resetPassword":{"ok":true,"userErrors":[]}}`, ended} {
			if data, code := anonymous.answer(t, reset, map[string]any{"t": token[1], "p": "a new password"}); data != want || code != "" {
				t.Errorf("got %s %s, want %s", data, code, want)
			}
		}
		if _, code := here.answer(t, `{ viewer { role } }`, nil); code != "UNAUTHENTICATED" {
			t.Errorf("after the reset: %s", code)
		}
		anonymous.password(t, "a new password")
	})
}

func TestCommandsOfAdministrators(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, p *place) {
		says(t, refused(t, p.env, "admin", "operator", "add", "--email="+ownerEmail)) // there is no database, or no tables
		server := start(t, p.env)
		c := signIn(t, server)
		env := p.with(map[string]string{"OSTLER_PUBLIC_URL": server.url})

		// People, while the server runs.
		token := resetLink.FindStringSubmatch(done(t, env, "admin", "reset-password", "--email", ownerEmail))
		if token == nil {
			t.Fatal("no link was printed")
		}
		if data, _ := c.answer(t, reset, map[string]any{"t": token[1], "p": "a new password"}); !strings.Contains(data, `"ok":true`) {
			t.Fatalf("got %s", data)
		}
		c = c.password(t, "a new password")
		for verb, want := range map[string]string{"remove": "is no longer an operator", "add": "is an operator now"} {
			says(t, done(t, env, "admin", "operator", verb, "--email="+ownerEmail), want)
			says(t, done(t, env, "admin", "operator", verb, "--email="+ownerEmail), want+", as before")
			if data, _ := c.password(t, "a new password").answer(t, `{ viewer { operator } }`, nil); strings.Contains(data, "true") != (verb == "add") {
				t.Errorf("after %s: %s", verb, data)
			}
		}
		says(t, refused(t, env, "admin", "operator", "add", "--email=nobody@example.com"), "nobody@example.com")
		for _, args := range [][]string{{"admin"}, {"admin", "nonsense"}, {"admin", "reset-password"}, {"admin", "operator", "--email=x@y.z"}, {"admin", "operator", "add", "--name=x"}} {
			says(t, refused(t, env, args...), "usage: ostler admin")
		}

		// The keys of tokens. This server reads them again within a minute; one that starts now knows both.
		first := c.keySet(t)
		says(t, done(t, env, "admin", "rotate-signing-key"), "created a new key")
		says(t, done(t, env, "admin", "rotate-signing-key"), "there is already a new key")
		server.terminate(t)
		server.exit(t)
		server = server.again(t, p.env)
		if both := c.keySet(t); len(first) != 1 || len(both) != 2 || both[0] == both[1] || (both[0] != first[0] && both[1] != first[0]) {
			t.Errorf("published: %v, then %v", first, both)
		}
		if _, code := c.answer(t, `{ viewer { role } }`, nil); code != "" {
			t.Errorf("a token of before: %s", code)
		}

		// The master key.
		server.terminate(t)
		server.exit(t)
		next := p.with(map[string]string{"OSTLER_MASTER_KEY": newKey(t), "OSTLER_ADDR": server.addr})
		says(t, refused(t, next, "rotate-keys"), "OSTLER_MASTER_KEY_PREVIOUS")
		between := p.with(map[string]string{"OSTLER_MASTER_KEY": next["OSTLER_MASTER_KEY"], "OSTLER_MASTER_KEY_PREVIOUS": p.env["OSTLER_MASTER_KEY"]})
		says(t, done(t, between, "rotate-keys"), "OSTLER_MASTER_KEY_PREVIOUS is no longer needed")
		says(t, done(t, next, "rotate-keys"), "0 values were sealed again")
		start(t, next)
		if _, code := c.answer(t, `{ viewer { role } }`, nil); code != "" {
			t.Errorf("a token of before, under the new master key: %s", code)
		}
	})
}

func TestASecretForTokens(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "sqlite")
	server := start(t, p.env)
	byKey := signIn(t, server)
	server.kill()
	env := p.with(map[string]string{"OSTLER_JWT_SECRET": strings.Repeat("secret", 6)})
	server = server.again(t, env)
	c := signIn(t, server)
	if _, code := c.answer(t, `{ viewer { role } }`, nil); code != "" {
		t.Errorf("got %s", code)
	}
	if _, code := byKey.answer(t, `{ viewer { role } }`, nil); code != "UNAUTHENTICATED" {
		t.Errorf("a token that a key signed: got %s", code)
	}
	if ids := c.keySet(t); len(ids) != 0 {
		t.Errorf("published: %v", ids)
	}
	says(t, refused(t, env, "admin", "rotate-signing-key"), "OSTLER_JWT_SECRET")
	says(t, refused(t, p.with(map[string]string{"OSTLER_JWT_SECRET": "short"})), "OSTLER_JWT_SECRET", "32")
}
