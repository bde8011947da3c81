package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

var graphqlBlock = regexp.MustCompile("(?ms)^```graphql\n(.*?)^```$")

// TestExamplesOfTheGuides runs every GraphQL example of the guides to the API and to budgets, and of the README, in their order.
func TestExamplesOfTheGuides(t *testing.T) {
	t.Parallel()
	const guest = "guest@example.com"
	p := start(t, newPlace(t, "sqlite").env)
	me := newTenant(t, signIn(t, p))
	var tokens struct{ SignIn struct{ Tokens tokens } }
	newClient(p.url).do(t, `mutation { signIn(input: {email: "`+ownerEmail+`", password: "`+ownerPassword+`"}) { tokens { refreshToken } userErrors { code } } }`, nil, &tokens)
	all := map[string]any{
		"from": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z",
		"email": ownerEmail, "password": ownerPassword, "refreshToken": tokens.SignIn.Tokens.RefreshToken, "harness": me.ids["harn"],
		"agent": me.ids["agent"], "session": me.ids["sess"], "text": "hello", "key": "1", "content": "a note",
		"revision": 1, "budget": me.ids["bdgt"], "image": me.upload(t, onePixel(t)), "token": me.invite(t, guest, "MEMBER"),
	}
	ids := map[string]string{
		"UpdateAgent": me.ids["agent"], "AgentHistory": me.ids["agent"], "RestoreAgent": me.ids["agent"], "Turn": me.ids["turn"],
		"Sent": me.ids["turn"], "Again": me.ids["turn"],
	}
	resting := func() error {
		var out struct {
			Session struct {
				Turns struct{ Nodes []struct{ ID, Status string } }
			}
		}
		me.do(t, `query($id: ID!) { session(id: $id) { turns(first: 20) { nodes { id status } } } }`, map[string]any{"id": me.ids["sess"]}, &out)
		for _, turn := range out.Session.Turns.Nodes {
			if slices.Contains([]string{"QUEUED", "RUNNING", "WAITING"}, turn.Status) {
				return errNotYet
			}
			if turn.Status == "COMPLETED" {
				ids["Rate"] = turn.ID
			}
		}
		return nil
	}
	for _, file := range []string{"../docs/api.md", "../docs/budgets.md", "../README.md"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range graphqlBlock.FindAllStringSubmatch(string(b), -1) {
			doc, err := parser.ParseQuery(&ast.Source{Input: block[1]})
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range doc.Operations {
				vars := map[string]any{}
				for _, v := range op.VariableDefinitions {
					vars[v.Variable] = all[v.Variable]
					if v.Variable == "id" {
						vars["id"] = ids[op.Name]
					}
				}
				if op.Name == "RequestPasswordReset" {
					vars["email"] = guest // a new password ends the sign-ins of its owner
				}
				// Whoever reads the guides has seen the answer to one example before coming to the next.
				eventually(t, "the session rests before "+op.Name, resting)
				text := slice(block[1], op, doc.Operations)
				var r *reply
				if op.Operation == ast.Subscription {
					// From the start: nothing new may happen any more.
					vars["after"] = 0
					if after := op.VariableDefinitions.ForName("after"); after != nil && after.Type.Name() == "Cursor" {
						vars["after"] = "start"
					}
					r = me.overSocket(t, text, vars)
				} else {
					r = me.overPost(t, text, vars)
				}
				if got := outcome(r); got != "no error" {
					t.Errorf("%s of %s: %s: %s", op.Name, file, got, r.Body)
				}
				if op.Name == "RequestPasswordReset" {
					line := p.waitLine(t, func(line string) bool { return strings.Contains(line, "password reset for "+guest) })
					all["token"] = resetLink.FindStringSubmatch(line)[1]
				}
			}
		}
	}
}

// slice returns one operation of a document.
func slice(text string, op *ast.OperationDefinition, all ast.OperationList) string {
	i := slices.Index(all, op)
	end := len(text)
	if i+1 < len(all) {
		end = all[i+1].Position.Start
	}
	return text[op.Position.Start:end]
}
