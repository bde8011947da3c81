package resolvers_test

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// colleague makes another member, and returns the id of the membership.
func (a *api) colleague(name string, role models.Role) string {
	a.t.Helper()
	u := models.User{ID: models.NewID[models.UserEntity](), Name: name, Email: name + "@example.com", EmailKey: name + "@example.com", CreatedAt: 1}
	m := models.Membership{OrgID: a.principal.OrgID, ID: models.NewID[models.MembershipEntity](), UserID: u.ID, Role: role, CreatedAt: 1}
	err := a.db.WriteAcross(a.t.Context(), func(tx *gorm.DB) error {
		if err := tx.Create(&u).Error; err != nil {
			return err
		}
		return tx.Create(&m).Error
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return m.ID.String()
}

// owner makes the one who asks an owner.
func (a *api) owner() {
	a.t.Helper()
	a.as("Olga")
	m := models.Membership{
		OrgID: a.principal.OrgID, ID: models.NewID[models.MembershipEntity](), UserID: a.principal.UserID, Role: models.RoleOwner, CreatedAt: 1,
	}
	if err := a.db.WriteAcross(a.t.Context(), func(tx *gorm.DB) error { return tx.Create(&m).Error }); err != nil {
		a.t.Fatal(err)
	}
}

func TestMembersTakeAsManyStatementsOnAnyPage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.owner()
		n := a.statements()
		read := func(want int) int64 {
			t.Helper()
			before := n.Load()
			nodes, _ := a.get(`{ org { members { totalCount nodes { role user { name email } } } } }`, nil, "org", "members", "nodes").([]any)
			if len(nodes) != want {
				t.Errorf("got %d members, want %d", len(nodes), want)
			}
			return n.Load() - before
		}
		few := read(1)
		for i := range 9 {
			a.colleague(fmt.Sprint("m", i), models.RoleMember)
		}
		if many := read(10); many != few || few != 4 {
			t.Errorf("one member takes %d statements and ten take %d, want 4", few, many)
		}
	})
}

func TestMembersAndInvitationsThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.owner()
		ada := a.colleague("ada", models.RoleMember)
		want := func(what, query string, variables map[string]any, text string) {
			t.Helper()
			if data, err := a.run(query, variables); err != nil || data != text {
				t.Errorf("%s: got %s, %v, want %s", what, data, err, text)
			}
		}
		want("a page", `{ org { members(first: 1) { totalCount edges { node { id role } } pageInfo { hasNextPage } } } }`, nil,
			`{"org":{"members":{"totalCount":2,"edges":[{"node":{"id":"`+ada+`","role":"MEMBER"}}],"pageInfo":{"hasNextPage":true}}}}`)
		cursor := a.get(`{ org { members(first: 1) { pageInfo { endCursor } } } }`, nil, "org", "members", "pageInfo").(map[string]any)["endCursor"]
		want("the next page", `query($after: Cursor) { org { members(after: $after) { nodes { role } pageInfo { hasNextPage hasPreviousPage } } } }`,
			map[string]any{"after": cursor}, `{"org":{"members":{"nodes":[{"role":"OWNER"}],"pageInfo":{"hasNextPage":false,"hasPreviousPage":true}}}}`)
		want("a member", `query($id: ID!) { node(id: $id) { ... on Membership { role user { name } } } }`, map[string]any{"id": ada},
			`{"node":{"role":"MEMBER","user":{"name":"ada"}}}`)

		set := `mutation($id: ID!, $role: Role!) { setMemberRole(membershipId: $id, role: $role) { membership { role user { name } } userErrors { code path } } }`
		want("a role", set, map[string]any{"id": ada, "role": "VIEWER"},
			`{"setMemberRole":{"membership":{"role":"VIEWER","user":{"name":"ada"}},"userErrors":[]}}`)
		for _, id := range []string{models.NewID[models.MembershipEntity]().String(), a.principal.UserID.String(), "x", ""} {
			want("nobody: "+id, set, map[string]any{"id": id, "role": "VIEWER"},
				`{"setMemberRole":{"membership":null,"userErrors":[{"code":"NOT_FOUND","path":["membershipId"]}]}}`)
		}
		want("the removed one", `mutation($id: ID!) { removeMember(membershipId: $id) { membership { id user { name } } userErrors { code } } }`,
			map[string]any{"id": ada}, `{"removeMember":{"membership":{"id":"`+ada+`","user":{"name":"ada"}},"userErrors":[]}}`)
		want("a former member", `query($id: ID!) { node(id: $id) { id } }`, map[string]any{"id": ada}, `{"node":null}`)

		invited := a.get(`mutation { inviteMember(input: {email: "bob@example.com", role: MEMBER}) {
			invitation { id email role expiresAt createdAt acceptedAt revokedAt } token userErrors { code } } }`, nil, "inviteMember").(map[string]any)
		inv := invited["invitation"].(map[string]any)
		if token, _ := invited["token"].(string); len(token) != 43 || inv["createdAt"] != "2023-11-14T22:13:20.000Z" || inv["expiresAt"] != "2023-11-21T22:13:20.000Z" {
			t.Errorf("got %v", invited)
		}
		id := map[string]any{"id": inv["id"]}
		want("an invitation", `query($id: ID!) { node(id: $id) { ... on Invitation { email role acceptedAt } } }`, id,
			`{"node":{"email":"bob@example.com","role":"MEMBER","acceptedAt":null}}`)
		want("invited twice", `mutation { inviteMember(input: {email: "BOB@example.com", role: MEMBER}) { invitation { id } token userErrors { code path } } }`, nil,
			`{"inviteMember":{"invitation":null,"token":null,"userErrors":[{"code":"TAKEN","path":["input","email"]}]}}`)
		want("revoked", `mutation($id: ID!) { revokeInvitation(id: $id) { invitation { revokedAt } token userErrors { code } } }`, id,
			`{"revokeInvitation":{"invitation":{"revokedAt":"2023-11-14T22:13:20.000Z"},"token":null,"userErrors":[]}}`)
		want("all invitations", `{ invitations { totalCount nodes { email } } }`, nil, `{"invitations":{"totalCount":1,"nodes":[{"email":"bob@example.com"}]}}`)
		want("one's name", `mutation { updateViewer(name: "Olga II") { user { name } userErrors { code } } }`, nil,
			`{"updateViewer":{"user":{"name":"Olga II"},"userErrors":[]}}`)
		want("no name", `mutation { updateViewer(name: "") { user { name } userErrors { code path } } }`, nil,
			`{"updateViewer":{"user":null,"userErrors":[{"code":"INVALID","path":["name"]}]}}`)
		if _, err := a.run(`{ invitations(first: 101) { nodes { id } } }`, nil); err == nil || !strings.Contains(err.Error(), "from 1 to 100") {
			t.Errorf("a page too large: got %v", err)
		}
	})
}

// TestUpdateOrgTakesEffectAtOnce changes and clears the default model between two turns' preparations.
func TestUpdateOrgTakesEffectAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.owner()
		update := `mutation($in: UpdateOrgInput!) { updateOrg(input: $in) { org { name defaultHarness { id } defaultModel { id } } userErrors { code path } } }`
		run := func() (string, error) {
			eff, err := a.resolver.Catalog.EffectiveForSession(t.Context(), a.principal.OrgID, catalog.Run{HarnessID: a.generic})
			if err != nil {
				return "", err
			}
			return eff.Model.Model.ID.String(), nil
		}
		if _, err := run(); err != nil {
			t.Fatal(err)
		}
		model := a.models(1)[0].(string)
		generic := a.generic.String()
		data, err := a.run(update, map[string]any{"in": map[string]any{"defaultModelId": model}})
		if err != nil || data != `{"updateOrg":{"org":{"name":"o","defaultHarness":{"id":"`+generic+`"},"defaultModel":{"id":"`+model+`"}},"userErrors":[]}}` {
			t.Errorf("got %s, %v", data, err)
		}
		if got, err := run(); err != nil || got != model {
			t.Errorf("a turn runs with %s, %v, want %s", got, err, model)
		}
		data, err = a.run(update, map[string]any{"in": map[string]any{"name": "Acme", "defaultHarnessId": nil, "defaultModelId": nil}})
		if err != nil || data != `{"updateOrg":{"org":{"name":"Acme","defaultHarness":null,"defaultModel":null},"userErrors":[]}}` {
			t.Errorf("got %s, %v", data, err)
		}
		if got, err := run(); err == nil {
			t.Errorf("a turn runs with %s, and there is no default", got)
		}
		for field, id := range map[string]string{"defaultHarnessId": model, "defaultModelId": generic} {
			data, err = a.run(update, map[string]any{"in": map[string]any{field: id}})
			if err != nil || data != `{"updateOrg":{"org":null,"userErrors":[{"code":"NOT_FOUND","path":["input","`+field+`"]}]}}` {
				t.Errorf("got %s, %v", data, err)
			}
		}
	})
}
