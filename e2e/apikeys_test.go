package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

type apiKey struct {
	ID          string
	Prefix      string
	Permissions []string
	LastUsedAt  *time.Time
	RevokedAt   *time.Time
}

// tryKey makes an API key, and returns a caller that uses it.
func (c *client) tryKey(permissions []string, expiresAt *time.Time) (*client, apiKey, error) {
	var out struct {
		CreateAPIKey struct {
			Key    string
			APIKey apiKey
		} `json:"createApiKey"`
	}
	err := c.try(`mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { id prefix permissions lastUsedAt } userErrors { code message path } } }`,
		map[string]any{"input": map[string]any{"name": "CI", "permissions": permissions, "expiresAt": expiresAt}}, &out)
	other := newClient(c.URL)
	other.Token, other.Org = out.CreateAPIKey.Key, c.Org
	return other, out.CreateAPIKey.APIKey, err
}

func (c *client) apiKey(t *testing.T, permissions ...string) (*client, apiKey) {
	t.Helper()
	if permissions == nil {
		permissions = []string{}
	}
	other, key, err := c.tryKey(permissions, nil)
	if err != nil {
		t.Fatalf("create a key with %v: %v", permissions, err)
	}
	return other, key
}

func (c *client) revoke(t *testing.T, key apiKey) {
	t.Helper()
	c.do(t, `mutation($id: ID!) { revokeApiKey(id: $id) { apiKey { revokedAt } userErrors { code message } } }`, map[string]any{"id": key.ID}, nil)
}

// TestWhatKeysMay has one key for each permission, and one with none, do one thing for each permission, over HTTP and over a socket.
func TestWhatKeysMay(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		session := c.session(t, c.agent(t, "echo", "sim-echo"))
		deeds := map[string]string{
			"ORG_READ":         `{ org { id } }`,
			"API_KEYS_MANAGE":  `{ apiKeys { nodes { id } } }`,
			"CATALOG_READ":     `{ agents { nodes { id } } }`,
			"CATALOG_WRITE":    `mutation { createAgent(input: {name: "echo", systemPrompt: ""}) { userErrors { code } } }`,
			"CATALOG_DELETE":   `mutation { archiveAgent(id: "agent_x") { userErrors { code } } }`,
			"SESSIONS_READ":    fmt.Sprintf(`{ session(id: %q) { id } }`, session),
			"SESSIONS_WRITE":   fmt.Sprintf(`mutation { updateSession(id: %q, input: {title: "t"}) { userErrors { code } } }`, session),
			"PROVIDERS_MANAGE": `mutation { createModel(input: {providerId: "prov_x", name: "m"}) { userErrors { code } } }`,
			"WEBHOOKS_MANAGE":  `mutation { deleteWebhook(id: "hook_x") { userErrors { code } } }`,
			"APPROVALS_DECIDE": `mutation { decideApproval(input: {waitId: "wait_x", approve: true}) { userErrors { code } } }`,
		}
		implied := map[string]string{"SESSIONS_READ": "CATALOG_READ"}
		for _, given := range append([]string{""}, slices.Sorted(maps.Keys(deeds))...) {
			var key *client
			if given == "" {
				key, _ = c.apiKey(t)
			} else {
				key, _ = c.apiKey(t, given)
			}
			for needed, deed := range deeds {
				may := needed == given || implied[given] == needed
				r, err := key.send(document(deed, nil))
				if err != nil {
					t.Fatal(err)
				}
				for over, body := range map[string]string{"HTTP": string(r.Body), "a socket": string(key.overSocket(t, deed, nil).Body)} {
					if refused := strings.Contains(body, `"code":"FORBIDDEN"`); refused == may || strings.Contains(body, "UNAUTHENTICATED") {
						t.Errorf("a key with %q does what needs %s over %s: %s", given, needed, over, body)
					}
				}
			}
		}
		if _, _, err := c.tryKey([]string{"ORG_READ", "PLATFORM_READ"}, nil); err == nil || !strings.Contains(err.Error(), "FORBIDDEN") {
			t.Errorf("an operator's key: %v", err)
		}
		manager, _ := c.apiKey(t, "API_KEYS_MANAGE")
		if _, _, err := manager.tryKey([]string{"ORG_READ"}, nil); err == nil || !strings.Contains(err.Error(), "FORBIDDEN") {
			t.Errorf("a key wider than its creator: %v", err)
		}
		if _, _, err := manager.tryKey([]string{"API_KEYS_MANAGE"}, nil); err != nil {
			t.Errorf("a key within its creator: %v", err)
		}
	})
}

// TestAProgramWithAKey has a program work with a key: the session is nobody's own, what it did is shown as the key's, also after the key was
// revoked; strangers don't see it; and a key that is revoked, or whose time is over, ends the streams that are open.
func TestAProgramWithAKey(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		stranger := c.secondOrg(t, p, "strangers")
		agent := c.agent(t, "echo", "sim-echo")
		key, row := c.apiKey(t, "SESSIONS_READ", "SESSIONS_WRITE")
		session := key.session(t, agent)
		socket := key.subscribe(t, session, 0)
		began, ended, _ := key.eventStream(t, session)
		key.message(t, session, "hello")
		socket.untilKind(t, "SESSION_IDLED", 1)
		<-began

		shown := func() string {
			r, err := c.send(document(`query($id: ID!) { session(id: $id) { owner { id } createdBy { kind id name } turns { nodes { startedBy { kind id name } } } } }`,
				map[string]any{"id": session}))
			if err != nil {
				t.Fatal(err)
			}
			return string(r.Data)
		}
		actor := fmt.Sprintf(`{"kind":"API_KEY","id":%q,"name":"CI"}`, row.ID)
		want := fmt.Sprintf(`{"session":{"owner":null,"createdBy":%s,"turns":{"nodes":[{"startedBy":%[1]s}]}}}`, actor)
		if got := shown(); got != want {
			t.Errorf("the session is %s, want %s", got, want)
		}
		if err := stranger.try(`mutation($id: ID!) { revokeApiKey(id: $id) { userErrors { code path } } }`, map[string]any{"id": row.ID}, nil); err == nil ||
			!strings.Contains(err.Error(), "NOT_FOUND") {
			t.Errorf("a stranger revokes: %v", err)
		}
		eventually(t, "the last use is stored", func() error {
			var out struct{ Node apiKey }
			if err := c.try(`query($id: ID!) { node(id: $id) { ... on ApiKey { id lastUsedAt } } }`, map[string]any{"id": row.ID}, &out); err != nil {
				return err
			}
			if out.Node.ID != row.ID {
				t.Fatalf("the node is %+v", out.Node)
			}
			if out.Node.LastUsedAt == nil {
				return errNotYet
			}
			return nil
		})

		c.revoke(t, row)
		if code := socket.ended(t); code != 4403 {
			t.Errorf("the socket was closed with %d, want 4403", code)
		}
		if text := strings.Join(<-ended, "\n"); !strings.Contains(text, `"code":"UNAUTHENTICATED"`) || strings.Contains(text, "event: complete") {
			t.Errorf("the event stream ended with %s", text)
		}
		r, err := key.send(document(`{ agents { nodes { id } } }`, nil))
		if err != nil || len(r.Errors) == 0 || r.Errors[0].Code() != "UNAUTHENTICATED" {
			t.Errorf("a revoked key: %v %s", err, r.Body)
		}
		refusedSocket(t, key, "a revoked key")
		forged := *key
		forged.Token = "ost_" + strings.Repeat("A", 40)
		refusedSocket(t, &forged, "a forged key")
		if got := shown(); got != want {
			t.Errorf("after the key was revoked the session is %s", got)
		}

		ends := time.Now().Add(5 * time.Second)
		short, _, err := c.tryKey([]string{"SESSIONS_READ"}, &ends)
		if err != nil {
			t.Fatal(err)
		}
		if code := short.subscribe(t, session, 0).ended(t); code != 4403 {
			t.Errorf("the socket of a key whose time is over was closed with %d, want 4403", code)
		}
		if text := p.out.String(); strings.Contains(text, key.Token) || strings.Contains(text, short.Token) {
			t.Error("the log of the server holds a key")
		}
	})
}

// refusedSocket checks that a credential opens no socket.
func refusedSocket(t *testing.T, c *client, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	conn, err := c.Connect(ctx)
	if websocket.CloseStatus(err) != 4403 {
		t.Errorf("%s opens a socket: %v", what, err)
	}
	if conn != nil {
		_ = conn.Conn.CloseNow()
	}
}
