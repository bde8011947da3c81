package resolvers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // these tests put rows below the services
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above

	"gorm.io/gorm" //nolint:depguard // see above
)

const createKey = `mutation($in: CreateApiKeyInput!) { createApiKey(input: $in) { key apiKey { id name prefix permissions expiresAt lastUsedAt revokedAt } userErrors { code path message } } }`

// asOwner makes the one who asks an owner who is a member, too.
func (a *api) asOwner() {
	a.t.Helper()
	a.as("Ada")
	err := a.db.WriteAcross(a.t.Context(), func(tx *gorm.DB) error {
		return tx.Create(&models.Membership{
			OrgID: a.principal.OrgID, ID: models.NewID[models.MembershipEntity](), UserID: a.principal.UserID, Role: models.RoleOwner, CreatedAt: 1,
		}).Error
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *api) newKey(name string, permissions ...string) (id, key string) {
	a.t.Helper()
	made := a.get(createKey, map[string]any{"in": map[string]any{"name": name, "permissions": permissions}}, "createApiKey").(map[string]any)
	if len(made["userErrors"].([]any)) > 0 {
		a.t.Fatalf("got %v", made)
	}
	return made["apiKey"].(map[string]any)["id"].(string), made["key"].(string)
}

// withKey returns the principal of a key.
func (a *api) withKey(key string) *auth.Principal {
	a.t.Helper()
	p, err := a.resolver.Orgs.Authenticate(a.t.Context(), key)
	if err != nil {
		a.t.Fatal(err)
	}
	return p
}

func TestAPIKeysOverTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.asOwner()
		owner := a.principal
		first, key := a.newKey("one", "ORG_READ", "SESSIONS_READ")
		second, _ := a.newKey("two")

		// It is listed, found and revoked; the key itself is never shown again.
		data, err := a.run(`{ apiKeys(first: 1) { totalCount pageInfo { hasNextPage endCursor } nodes { id name prefix permissions } } }`, nil)
		if err != nil || !strings.Contains(data, `"totalCount":2`) || !strings.Contains(data, second) || strings.Contains(data, first) {
			t.Errorf("the first page is %s, %v", data, err)
		}
		cursor := a.get(`{ apiKeys(first: 1) { pageInfo { endCursor } } }`, nil, "apiKeys", "pageInfo", "endCursor")
		data, err = a.run(`query($after: Cursor) { apiKeys(first: 1, after: $after) { pageInfo { hasNextPage } edges { node { id prefix permissions } } } }`,
			map[string]any{"after": cursor})
		want := fmt.Sprintf(`{"apiKeys":{"pageInfo":{"hasNextPage":false},"edges":[{"node":{"id":%q,"prefix":%q,"permissions":["ORG_READ","CATALOG_READ","SESSIONS_READ"]}}]}}`,
			first, key[:12])
		if err != nil || data != want {
			t.Errorf("the second page is %s, %v, want %s", data, err, want)
		}
		node := `query($id: ID!) { node(id: $id) { id ... on ApiKey { name revokedAt } } }`
		if got := a.get(node, map[string]any{"id": first}, "node", "name"); got != "one" {
			t.Errorf("the node is %v", got)
		}

		// Another organization's key is like none.
		b := newAPIIn(a, "strangers")
		for _, id := range []string{first, models.NewID[models.APIKeyEntity]().String(), "key_x", owner.UserID.String()} {
			data, err := b.run(`mutation($id: ID!) { revokeApiKey(id: $id) { apiKey { id } userErrors { code path } } }`, map[string]any{"id": id})
			if err != nil || data != `{"revokeApiKey":{"apiKey":null,"userErrors":[{"code":"NOT_FOUND","path":["id"]}]}}` {
				t.Errorf("%s: %s, %v", id, data, err)
			}
			if id == owner.UserID.String() {
				continue
			}
			if data, err := b.run(node, map[string]any{"id": id}); err != nil || data != `{"node":null}` {
				t.Errorf("%s: %s, %v", id, data, err)
			}
		}
		if data, err := b.run(`{ apiKeys { totalCount nodes { id } } }`, nil); err != nil || data != `{"apiKeys":{"totalCount":0,"nodes":[]}}` {
			t.Errorf("strangers see %s, %v", data, err)
		}

		// A key is nobody's person.
		a.principal = a.withKey(key)
		data, err = a.run(`{ viewer { user { id } apiKey { id name } org { id } role operator permissions orgs { id } } }`, nil)
		want = fmt.Sprintf(`{"viewer":{"user":null,"apiKey":{"id":%q,"name":"one"},"org":{"id":%q},"role":null,"operator":false,`+
			`"permissions":["ORG_READ","CATALOG_READ","SESSIONS_READ"],"orgs":[{"id":%[2]q}]}}`, first, owner.OrgID.String())
		if err != nil || data != want {
			t.Errorf("the viewer is %s, %v, want %s", data, err, want)
		}
		for _, m := range []string{
			`createOrg(input: {name: "x"}) { org { id } userErrors { code } }`, fmt.Sprintf(`switchOrg(orgId: %q) { tokens { accessToken } userErrors { code } }`, owner.OrgID),
			`changePassword(current: "a", new: "correct horse battery") { userErrors { code } }`, `signOut { userErrors { code } }`,
		} {
			if data, err := a.run("mutation { "+m+" }", nil); err != nil || !strings.Contains(data, `"userErrors":[{"code":"FORBIDDEN"}]`) {
				t.Errorf("%s: %s, %v", m, data, err)
			}
		}

		a.principal = owner
		revoke := `mutation($id: ID!) { revokeApiKey(id: $id) { apiKey { id revokedAt } key userErrors { code } } }`
		revoked := a.get(revoke, map[string]any{"id": first}, "revokeApiKey", "apiKey", "revokedAt")
		if revoked == nil || a.get(revoke, map[string]any{"id": first}, "revokeApiKey", "apiKey", "revokedAt") != revoked {
			t.Errorf("it was revoked at %v", revoked)
		}
	})
}

// newAPIIn returns the API of the owner of another organization on the same database.
func newAPIIn(a *api, slug string) *api {
	a.t.Helper()
	b := *a
	p := *a.principal
	p.OrgID, b.principal = models.NewID[models.OrgEntity](), &p
	err := a.db.WriteAcross(a.t.Context(), func(tx *gorm.DB) error {
		return tx.Create(&models.Org{ID: p.OrgID, Name: slug, Slug: slug, CreatedAt: 1}).Error
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return &b
}

// Who did what is shown by name, of keys that were revoked, too; and many of them are as cheap as one.
func TestKeysAsActors(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.asOwner()
		owner := a.principal
		agent := a.agent(map[string]any{"name": "writer", "systemPrompt": ""})
		var ids []string
		for i := range 6 {
			id, key := a.newKey(fmt.Sprint("key ", i), "CATALOG_WRITE", "CATALOG_READ")
			ids = append(ids, id)
			a.principal = a.withKey(key)
			a.get(`mutation($id: ID!, $p: String!) { updateAgent(id: $id, input: {systemPrompt: $p}) { agent { id } userErrors { message } } }`,
				map[string]any{"id": agent, "p": fmt.Sprint("Be ", i)}, "updateAgent", "agent", "id")
			a.principal = owner
		}
		a.get(`mutation($id: ID!) { revokeApiKey(id: $id) { apiKey { id } } }`, map[string]any{"id": ids[5]}, "revokeApiKey", "apiKey", "id")

		n := a.statements()
		took := map[int]int64{}
		for _, size := range []int{2, 7} {
			n.Store(0)
			data, err := a.run(`query($id: ID!, $n: Int!) { agent(id: $id) { history(first: $n) { nodes { actor { kind id name } } } } }`,
				map[string]any{"id": agent, "n": size})
			took[size] = n.Load()
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf(`{"actor":{"kind":"API_KEY","id":%q,"name":"key 5"}},{"actor":{"kind":"API_KEY","id":%q,"name":"key 4"}}`, ids[5], ids[4]); !strings.Contains(data, want) {
				t.Errorf("the history is %s, want %s", data, want)
			}
			if last := fmt.Sprintf(`{"actor":{"kind":"USER","id":%q,"name":"Ada"}}`, owner.UserID); size == 7 && !strings.Contains(data, last) {
				t.Errorf("the history is %s, want %s", data, last)
			}
		}
		// One more statement is for the person.
		if took[7] > took[2]+1 {
			t.Errorf("the statements grow with the page: %v", took)
		}
	})
}
