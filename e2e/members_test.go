package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// joining is what became of an invitation that was accepted.
type joining struct {
	AcceptInvitation struct {
		Tokens     *tokens
		UserErrors []userError
	}
}

const acceptInvitation = `mutation($input: AcceptInvitationInput!) { acceptInvitation(input: $input) {
	tokens { accessToken refreshToken org { id } } userErrors { code message path } } }`

func (c *client) invite(t *testing.T, email, role string) (token string) {
	t.Helper()
	var out struct{ InviteMember struct{ Token string } }
	c.do(t, `mutation($input: InviteMemberInput!) { inviteMember(input: $input) { token userErrors { code message } } }`,
		map[string]any{"input": map[string]any{"email": email, "role": role}}, &out)
	return out.InviteMember.Token
}

// newMember has somebody new invited, who accepts.
func (c *client) newMember(t *testing.T, email, role string) (member *client, refresh string) {
	t.Helper()
	member = newClient(c.URL)
	var out joining
	member.do(t, acceptInvitation, map[string]any{"input": map[string]any{
		"token": c.invite(t, email, role), "name": email, "password": "a long password",
	}}, &out)
	member.Token, member.Org = out.AcceptInvitation.Tokens.AccessToken, out.AcceptInvitation.Tokens.Org.ID
	return member, out.AcceptInvitation.Tokens.RefreshToken
}

// membership returns the id of a member's place.
func (c *client) membership(t *testing.T, email string) string {
	t.Helper()
	var out struct {
		Org struct {
			Members struct {
				Nodes []struct {
					ID   string
					User struct{ Email string }
				}
			}
		}
	}
	c.do(t, `{ org { members { nodes { id user { email } } } } }`, nil, &out)
	for _, m := range out.Org.Members.Nodes {
		if m.User.Email == email {
			return m.ID
		}
	}
	t.Fatalf("there is no member %s", email)
	return ""
}

// invitation invites somebody, and returns the invitation's id.
func (c *client) invitation(t *testing.T, email string) string {
	t.Helper()
	var out struct {
		InviteMember struct{ Invitation struct{ ID string } }
	}
	c.do(t, `mutation($email: String!) { inviteMember(input: {email: $email, role: VIEWER}) { invitation { id } userErrors { code message } } }`,
		map[string]any{"email": email}, &out)
	return out.InviteMember.Invitation.ID
}

// TestWhoMayManageMembers tries everything about members as every role, and as nobody.
func TestWhoMayManageMembers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		owner := signIn(t, p)
		who := map[string]*client{"OWNER": owner, "nobody": newClient(p.url)}
		for _, role := range []string{"ADMIN", "MEMBER", "VIEWER"} {
			who[role], _ = owner.newMember(t, strings.ToLower(role)+"@example.com", role)
			if who[role].Org != owner.Org {
				t.Fatalf("the %s joined %s", role, who[role].Org)
			}
		}
		stranger := owner.secondOrg(t, p, "Theirs")
		member := owner.membership(t, "member@example.com")
		ids := map[string]any{"member": member, "invitation": owner.invitation(t, "pending@example.com")}

		const all, readers, managers, owners = "OWNER ADMIN MEMBER VIEWER", "OWNER ADMIN MEMBER", "OWNER ADMIN", "OWNER"
		for _, op := range []struct{ query, allowed, yes, no string }{
			{`query($member: ID!) { node(id: $member) { id } }`, readers, `{"node":{"id":"` + member + `"}}`, `{"node":null}`},
			{`query($invitation: ID!) { node(id: $invitation) { __typename } }`, readers, `{"node":{"__typename":"Invitation"}}`, `{"node":null}`},
			{`{ org { members { totalCount } } }`, readers, `{"org":{"members":{"totalCount":4}}}`, `{"org":{"members":null}}`},
			{`{ invitations { totalCount } }`, readers, `{"invitations":{"totalCount":4}}`, "FORBIDDEN"},
			{`mutation { inviteMember(input: {email: "x", role: VIEWER}) { userErrors { code } } }`, managers,
				`{"inviteMember":{"userErrors":[{"code":"INVALID"}]}}`, "FORBIDDEN"},
			{`mutation { revokeInvitation(id: "x") { userErrors { code } } }`, managers, `{"revokeInvitation":{"userErrors":[{"code":"NOT_FOUND"}]}}`, "FORBIDDEN"},
			{`mutation { setMemberRole(membershipId: "x", role: VIEWER) { userErrors { code } } }`, managers,
				`{"setMemberRole":{"userErrors":[{"code":"NOT_FOUND"}]}}`, "FORBIDDEN"},
			{`mutation { removeMember(membershipId: "x") { userErrors { code } } }`, managers, `{"removeMember":{"userErrors":[{"code":"NOT_FOUND"}]}}`, "FORBIDDEN"},
			{`mutation { updateOrg(input: {name: "Acme"}) { org { name } userErrors { code } } }`, owners,
				`{"updateOrg":{"org":{"name":"Acme"},"userErrors":[]}}`, "FORBIDDEN"},
			{`mutation { setWaitMail(enabled: false) { viewer { waitMail } userErrors { code } } }`, all, `{"setWaitMail":{"viewer":{"waitMail":null},"userErrors":[]}}`, "FORBIDDEN"},
			{`mutation { updateViewer(name: "N") { user { name } userErrors { code } } }`, all, `{"updateViewer":{"user":{"name":"N"},"userErrors":[]}}`, "FORBIDDEN"},
		} {
			for role, c := range who {
				want := op.no
				switch {
				case strings.Contains(op.allowed, role):
					want = op.yes
				case role == "nobody":
					want = "UNAUTHENTICATED"
				}
				variables := map[string]any{}
				for name, id := range ids {
					if strings.Contains(op.query, "$"+name) {
						variables[name] = id
					}
				}
				r, err := c.send(document(op.query, variables))
				if err != nil {
					t.Fatal(err)
				}
				got := string(r.Data)
				if len(r.Errors) > 0 {
					got = r.Errors[0].Code()
				}
				if got != want {
					t.Errorf("%s as %s: got %s, want %s", op.query, role, got, want)
				}
			}
		}
		for name, id := range ids {
			var out struct{ Node json.RawMessage }
			stranger.do(t, `query($id: ID!) { node(id: $id) { id } }`, map[string]any{"id": id}, &out)
			if string(out.Node) != "null" {
				t.Errorf("another organization sees the %s: %s", name, out.Node)
			}
		}
	})
}

// TestARemovedMemberIsOut has a member with open streams removed, and one who is demoted.
func TestARemovedMemberIsOut(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		owner := signIn(t, p)
		session := owner.session(t, owner.agent(t, "echo", "sim-echo"))
		ada, refresh := owner.newMember(t, "ada@example.com", "MEMBER")
		bob, _ := owner.newMember(t, "bob@example.com", "MEMBER")
		turn := ada.message(t, session, "hello")
		socket, demoted := ada.subscribe(t, session, 0), bob.subscribe(t, session, 0)
		socket.untilKind(t, "SESSION_IDLED", 1)
		demoted.untilKind(t, "SESSION_IDLED", 1)

		owner.do(t, `mutation($id: ID!) { setMemberRole(membershipId: $id, role: VIEWER) { userErrors { code message } } }`,
			map[string]any{"id": owner.membership(t, "bob@example.com")}, nil)
		if _, err := bob.tryMessage(session, "no"); err == nil || !strings.HasPrefix(err.Error(), "FORBIDDEN") {
			t.Errorf("a demoted member's message: got %v", err)
		}
		bob.do(t, `query($id: ID!) { turn(id: $id) { id } }`, map[string]any{"id": turn}, nil)

		id := owner.membership(t, "ada@example.com")
		owner.do(t, `mutation($id: ID!) { removeMember(membershipId: $id) { userErrors { code message } } }`, map[string]any{"id": id}, nil)
		if err := ada.try(`{ viewer { operator } }`, nil, nil); err == nil || !strings.HasPrefix(err.Error(), "UNAUTHENTICATED") {
			t.Errorf("a removed member: got %v", err)
		}
		// The token would be good for minutes.
		if code := socket.ended(t); code != 4403 {
			t.Errorf("the socket was closed with %d, want 4403", code)
		}
		err := ada.try(`mutation($t: String!) { refreshTokens(refreshToken: $t) { userErrors { code message } } }`, map[string]any{"t": refresh}, nil)
		if err == nil || !strings.Contains(err.Error(), "INVALID_CREDENTIALS") {
			t.Errorf("a removed member's refresh token: got %v", err)
		}
		// Who may do less than when a socket was opened loses it, and may open another one for what is left.
		if code := demoted.ended(t); code != 4403 {
			t.Errorf("a demoted member's socket was closed with %d, want 4403", code)
		}
		owner.message(t, session, "again")
		bob.subscribe(t, session, 0).untilKind(t, "SESSION_IDLED", 2)

		// Somebody who belongs nowhere any more comes back by an invitation and their own password.
		token := owner.invite(t, "ada@example.com", "VIEWER")
		back := newClient(p.url)
		accept := func(password string, out *joining) error {
			return back.try(acceptInvitation, map[string]any{"input": map[string]any{"token": token, "password": password}}, out)
		}
		var out joining
		if err := accept("not the password", &out); err == nil || !strings.Contains(err.Error(), "FORBIDDEN") {
			t.Errorf("a wrong password: got %v", err)
		}
		if err := accept("a long password", &out); err != nil || out.AcceptInvitation.Tokens.Org.ID != owner.Org {
			t.Errorf("got %+v, %v", out, err)
		}
		if err := accept("a long password", &out); err == nil || !strings.Contains(err.Error(), "INVALID_CREDENTIALS") {
			t.Errorf("a spent invitation: got %v", err)
		}
	})
}

// TestABrowserAccepts has somebody new accept in a browser, and then accept for another organization, known by the cookie alone.
func TestABrowserAccepts(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		owner := signIn(t, p)
		second := owner.secondOrg(t, p, "Second")
		b := newBrowser(t, p)
		for i, by := range []*client{owner, second} {
			input := map[string]any{"token": by.invite(t, "ada@example.com", "MEMBER"), "transport": "COOKIE"}
			if i == 0 {
				input["name"], input["password"] = "Ada", "a long password"
			}
			r := b.must(t, acceptInvitation, map[string]any{"input": input})
			want := `{"acceptInvitation":{"tokens":{"accessToken":null,"refreshToken":null,"org":{"id":"` + by.Org + `"}},"userErrors":[]}}`
			if string(r.Data) != want {
				t.Fatalf("got %s, want %s", r.Data, want)
			}
			r = b.must(t, `{ viewer { role org { id } user { name } } }`, nil)
			if want := `{"viewer":{"role":"MEMBER","org":{"id":"` + by.Org + `"},"user":{"name":"Ada"}}}`; string(r.Data) != want {
				t.Errorf("got %s, want %s", r.Data, want)
			}
		}
	})
}
