package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// wait is something that a turn waits for.
type wait struct {
	ID, Kind, ToolName, Question, State, Token string

	ToolCallID       string `json:"toolCallId"`
	Arguments        json.RawMessage
	ViewerMayResolve bool
}

const waitFields = `id kind toolCallId toolName arguments question state token viewerMayResolve`

// waits returns what the session's turn waits for.
func (c *client) waits(t *testing.T, session string) []wait {
	t.Helper()
	var out struct{ Session struct{ Waits []wait } }
	c.do(t, `query($id: ID!) { session(id: $id) { waits { `+waitFields+` } } }`, map[string]any{"id": session}, &out)
	return out.Session.Waits
}

// agentOf makes an agent of sim-script of an input.
func (c *client) agentOf(t *testing.T, name string, in map[string]any) string {
	t.Helper()
	var made struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	in["name"], in["systemPrompt"], in["defaultModelId"] = name, "Be brief.", c.model(t, "sim-script")
	c.do(t, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } userErrors { code message path } } }`,
		map[string]any{"input": in}, &made)
	return made.CreateAgent.Agent.ID
}

// script makes a model call tools in one response, and answer in the next one.
func script(calls ...string) string {
	chunks := make([]string, len(calls))
	for i, call := range calls {
		chunks[i] = `{"tool_call": ` + call + `}`
	}
	return `{"responses": [{"chunks": [` + strings.Join(chunks, ",") + `]}, {"chunks": [{"text": "All is done."}]}]}`
}

const submitResults = `mutation($turn: ID!, $results: [ToolResultInput!]!) {
	submitToolResults(input: {turnId: $turn, results: $results}) { turn { status } userErrors { code message path } } }`

// TestClientToolsOverACrash kills the only process while a turn waits for results of its client's tools. They are brought to the
// one that comes after, and the turn goes on as if nothing had happened.
func TestClientToolsOverACrash(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		env := place.with(map[string]string{"OSTLER_LEASE": "1500ms", "OSTLER_HEARTBEAT": "300ms"})
		p := start(t, env)
		c := signIn(t, p)
		agent := c.agentOf(t, "measures", map[string]any{
			"capabilities": []any{map[string]any{"id": "core"}},
			"clientTools": []any{map[string]any{
				"name": "measure", "description": "Measures a thing.",
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"what": map[string]any{"type": "string"}}},
			}},
		})
		session := c.session(t, agent)
		s := c.subscribe(t, session, 0)
		turn := c.message(t, session, script(`{"name": "measure", "arguments": {"what": "a table"}}`,
			`{"name": "echo", "arguments": {"text": "server tools run first"}}`, `{"name": "measure", "arguments": {"what": "a chair"}}`))
		s.untilKind(t, "SESSION_WAITING", 1)
		p.kill()
		<-s.done
		seen := durable(s.all())
		if i, j := index(seen, "TOOL_CALLS_REQUESTED"), index(seen, "TOOL_COMPLETED"); i < j || j < 0 {
			t.Errorf("clients were asked before the server's own tools had run: %v", seen)
		}

		p.again(t, env)
		s = c.subscribe(t, session, last(seen))
		open := c.waits(t, session)
		if len(open) != 2 || open[0].Kind != "CLIENT_TOOL" || open[0].ToolName != "measure" || !open[0].ViewerMayResolve || open[0].Token != "" {
			t.Fatalf("the turn waits for %+v", open)
		}
		result := func(w wait, value any) map[string]any {
			return map[string]any{"toolCallId": w.ToolCallID, "result": value}
		}
		one := map[string]any{"turn": turn, "results": []any{result(open[0], map[string]any{"cm": 80})}}
		c.do(t, submitResults, one, nil)
		c.do(t, submitResults, one, nil)
		err := c.try(submitResults, map[string]any{"turn": turn, "results": []any{result(open[0], map[string]any{"cm": 81})}}, nil)
		if err == nil || !strings.Contains(err.Error(), "CONFLICT") {
			t.Errorf("another result for the same call: %v", err)
		}
		c.do(t, submitResults, map[string]any{"turn": turn, "results": []any{
			map[string]any{"toolCallId": open[1].ToolCallID, "error": "There is no chair."},
		}}, nil)
		s.untilKind(t, "SESSION_IDLED", 1)
		log := c.history(t, session)
		balanced(t, log)
		sameLog(t, append(seen, s.all()...), log)
		if got := c.turn(t, turn); got.Status != "COMPLETED" || got.FinalMessage.Content[0].Text != "All is done." {
			t.Errorf("the turn is %+v", got)
		}
		if n := count(log, "TOOL_COMPLETED"); n != 3 {
			t.Errorf("%d calls have results", n)
		}
	})
}

// index returns where the first event of a kind stands; -1 for nowhere.
func index(list []event, kind string) int {
	for i, e := range list {
		if e.Kind == kind {
			return i
		}
	}
	return -1
}

// colleague makes another member of the organization of c, and returns a caller that is signed in as them.
func (c *client) colleague(t *testing.T, place *place, p *process) *client {
	t.Helper()
	claims := claimsOf(t, c.Token)
	var org models.OrgID
	if err := parse(&org, claims["org"]); err != nil {
		t.Fatal(err)
	}
	db := place.database(t)
	defer func() { _ = db.Close() }()
	err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		var owner models.User
		if err := tx.Where("email_key = ?", ownerEmail).Take(&owner).Error; err != nil {
			return err
		}
		other := owner // with the same password
		other.ID, other.Email, other.EmailKey = models.NewID[models.UserEntity](), "colleague@example.com", "colleague@example.com"
		if err := tx.Create(&other).Error; err != nil {
			return err
		}
		return tx.Create(&models.Membership{
			OrgID: org, ID: models.NewID[models.MembershipEntity](), UserID: other.ID, Role: models.RoleMember, CreatedAt: 1,
		}).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return signInAs(t, p.url, "colleague@example.com", ownerPassword)
}

// callBack resolves a wait over HTTP and returns the status with what became of it.
func callBack(t *testing.T, p *process, token, body string) (int, string) {
	t.Helper()
	res, err := http.Post(p.url+"/v1/waits/"+token, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Resolution string `json:"resolution"`
		Code       string `json:"code"`
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&out); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return res.StatusCode, out.Resolution + out.Code
}

// TestPeopleAndProgramsResolveWaits has one turn that waits for an approval, an answer and a callback at once.
func TestPeopleAndProgramsResolveWaits(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		stranger := c.secondOrg(t, p, "strangers")
		other := c.colleague(t, place, p)
		agent := c.agentOf(t, "careful", map[string]any{"capabilities": []any{
			map[string]any{"id": "core"}, map[string]any{"id": "ask_user"}, map[string]any{"id": "callbacks"},
			map[string]any{"id": "approvals", "config": map[string]any{"rules": []any{map[string]any{"tools": []any{"echo"}, "approve": "always"}}}},
		}})
		session := c.session(t, agent)
		s := c.subscribe(t, session, 0)
		turn := c.message(t, session, script(`{"name": "echo", "arguments": {"text": "pay 7"}}`,
			`{"name": "ask_user", "arguments": {"question": "Which colour?"}}`,
			`{"name": "wait_for_callback", "arguments": {"purpose": "the courier"}}`))
		s.untilKind(t, "SESSION_WAITING", 1)
		by := map[string]wait{}
		for _, w := range c.waits(t, session) {
			by[w.Kind] = w
		}
		if len(by) != 3 || by["APPROVAL"].ViewerMayResolve || by["QUESTION"].Question != "Which colour?" || by["COMPLETION"].Token == "" {
			t.Fatalf("the turn waits for %+v", by)
		}

		// Nobody decides about a turn of their own, and others don't even see it.
		decide := func(who *client, arguments any) error {
			return who.try(`mutation($id: ID!, $arguments: JSON) { decideApproval(input: {waitId: $id, approve: true, arguments: $arguments}) {
				wait { state } userErrors { code message path } } }`, map[string]any{"id": by["APPROVAL"].ID, "arguments": arguments}, nil)
		}
		if err := decide(c, nil); err == nil || !strings.Contains(err.Error(), "FORBIDDEN") {
			t.Errorf("one's own: %v", err)
		}
		if err := decide(stranger, nil); err == nil || !strings.Contains(err.Error(), "NOT_FOUND") {
			t.Errorf("a stranger: %v", err)
		}
		if err := decide(other, map[string]any{"text": 7}); err == nil || !strings.Contains(err.Error(), "INVALID") {
			t.Errorf("arguments that the tool does not take: %v", err)
		}
		if err := decide(other, map[string]any{"text": "pay 6"}); err != nil {
			t.Errorf("a colleague: %v", err)
		}
		answer := `mutation($id: ID!) { answerQuestion(waitId: $id, answer: "Blue.") { wait { state } userErrors { code message } } }`
		c.do(t, answer, map[string]any{"id": by["QUESTION"].ID}, nil)

		for _, tt := range []struct {
			token, body, want string
			status            int
		}{
			{"ostw_forged", `{"value": 1}`, "UNKNOWN", 404},
			{by["COMPLETION"].Token, `{"value": 1, "other": 2}`, "BAD_USER_INPUT", 400},
			{by["COMPLETION"].Token, `{"value": {"parcel": 12}}`, "ACCEPTED", 200},
			{by["COMPLETION"].Token, `{"value": {"parcel": 12}}`, "ALREADY_RESOLVED", 409},
		} {
			if status, got := callBack(t, p, tt.token, tt.body); status != tt.status || got != tt.want {
				t.Errorf("%.12s %s: %d %s, want %d %s", tt.token, tt.body, status, got, tt.status, tt.want)
			}
		}
		s.untilKind(t, "SESSION_IDLED", 1)
		log := c.history(t, session)
		balanced(t, log)
		sameLog(t, s.all(), log)
		if got := c.turn(t, turn); got.Status != "COMPLETED" {
			t.Errorf("the turn is %+v", got)
		}
		text := string(encode(log))
		for _, want := range []string{"pay 6", "Blue.", "parcel"} {
			if !strings.Contains(text, want) {
				t.Errorf("the log lacks %q", want)
			}
		}
		if strings.Contains(p.out.String(), by["COMPLETION"].Token) {
			t.Error("the log of the server holds the token")
		}
	})
}
