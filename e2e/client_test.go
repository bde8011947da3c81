package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client is a signed-in caller, bound to one organization.
type client struct {
	url   string
	token string
	org   string
	http  *http.Client
}

func newClient(url string) *client {
	return &client{url: url, http: &http.Client{
		Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// at gives the same caller at another node.
func (c *client) at(p *process) *client {
	other := newClient(p.url)
	other.token, other.org = c.token, c.org
	return other
}

// gqlError is an error of an answer, at its top level.
type gqlError struct {
	Message    string         `json:"message"`
	Path       []any          `json:"path"`
	Extensions map[string]any `json:"extensions"`
}

func (e gqlError) code() string {
	code, _ := e.Extensions["code"].(string)
	return code
}

type userError struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Path    []string `json:"path"`
}

// payload is what all payloads of mutations have.
type payload struct {
	UserErrors []userError `json:"userErrors"`
}

// reply is an answer over HTTP.
type reply struct {
	status int
	header http.Header
	body   []byte

	Data   json.RawMessage `json:"data"`
	Errors []gqlError      `json:"errors"`
}

// send makes a request with exactly this body.
func (c *client) send(body []byte, change ...func(*http.Request)) (*reply, error) {
	req, err := http.NewRequest(http.MethodPost, c.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for _, fn := range change {
		fn(req)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	r := &reply{status: res.StatusCode, header: res.Header}
	if r.body, err = io.ReadAll(res.Body); err != nil {
		return nil, err
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/") {
		if err := json.Unmarshal(r.body, r); err != nil {
			return nil, fmt.Errorf("the answer is not JSON: %w: %.300s", err, r.body)
		}
	}
	return r, nil
}

func document(query string, variables map[string]any) []byte {
	return encode(map[string]any{"query": query, "variables": variables})
}

// encode makes JSON of what a test has made itself.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// try runs an operation. Any error of the answer, userErrors included, is an error.
func (c *client) try(query string, variables map[string]any, out any) error {
	r, err := c.send(document(query, variables))
	if err != nil {
		return err
	}
	if len(r.Errors) > 0 {
		return fmt.Errorf("%s: %s", r.Errors[0].code(), r.Errors[0].Message)
	}
	payloads := map[string]json.RawMessage{}
	if err := json.Unmarshal(r.Data, &payloads); err != nil {
		return fmt.Errorf("status %d: %w: %.300s", r.status, err, r.body)
	}
	for name, p := range payloads {
		var r payload
		if json.Unmarshal(p, &r) == nil && len(r.UserErrors) > 0 {
			return fmt.Errorf("%s: %+v", name, r.UserErrors)
		}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(r.Data, out)
}

// do is try for what must work.
func (c *client) do(t *testing.T, query string, variables map[string]any, out any) {
	t.Helper()
	if err := c.try(query, variables, out); err != nil {
		t.Fatalf("%.120s: %v", query, err)
	}
}

type tokens struct {
	AccessToken  string
	RefreshToken string
	Org          struct{ ID string }
}

// signIn signs the first owner in.
func signIn(t *testing.T, p *process) *client {
	t.Helper()
	c := newClient(p.url)
	var out struct{ SignIn struct{ Tokens tokens } }
	c.do(t, `mutation($input: SignInInput!) { signIn(input: $input) { tokens { accessToken refreshToken org { id } } userErrors { code message } } }`,
		map[string]any{"input": map[string]any{"email": ownerEmail, "password": ownerPassword}}, &out)
	c.token, c.org = out.SignIn.Tokens.AccessToken, out.SignIn.Tokens.Org.ID
	return c
}

// secondOrg makes another organization of the same person, and gives a caller that is bound to it. The first caller
// stays where it is: it signs in anew, because a sign-in is in one organization at a time.
func (c *client) secondOrg(t *testing.T, p *process, name string) *client {
	t.Helper()
	var made struct {
		CreateOrg struct{ Org struct{ ID string } }
	}
	c.do(t, `mutation($name: String!) { createOrg(input: {name: $name}) { org { id } userErrors { code message } } }`,
		map[string]any{"name": name}, &made)
	other := signIn(t, p)
	var out struct{ SwitchOrg struct{ Tokens tokens } }
	other.do(t, `mutation($id: ID!) { switchOrg(orgId: $id) { tokens { accessToken org { id } } userErrors { code message } } }`,
		map[string]any{"id": made.CreateOrg.Org.ID}, &out)
	other.token, other.org = out.SwitchOrg.Tokens.AccessToken, out.SwitchOrg.Tokens.Org.ID
	return other
}

// model gives the id of a model, made when there is none of that name.
func (c *client) model(t *testing.T, name string) string {
	t.Helper()
	var have struct {
		Models struct {
			Nodes []struct {
				ID, Name string
				Provider struct{ ID, Kind string }
			}
		}
	}
	c.do(t, `{ models(first: 100) { nodes { id name provider { id kind } } } }`, nil, &have)
	provider := ""
	for _, m := range have.Models.Nodes {
		if m.Name == name {
			return m.ID
		}
		if m.Provider.Kind == "SIMULATED" {
			provider = m.Provider.ID
		}
	}
	var made struct {
		CreateModel struct{ Model struct{ ID string } }
	}
	c.do(t, `mutation($input: CreateModelInput!) { createModel(input: $input) { model { id } userErrors { code message } } }`,
		map[string]any{"input": map[string]any{"providerId": provider, "name": name}}, &made)
	return made.CreateModel.Model.ID
}

// agent makes an agent that answers with this model and has the tools of these capabilities.
func (c *client) agent(t *testing.T, name, model string, capabilities ...string) string {
	t.Helper()
	refs := []any{}
	for _, id := range capabilities {
		refs = append(refs, map[string]any{"id": id})
	}
	var made struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	c.do(t, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } userErrors { code message path } } }`,
		map[string]any{"input": map[string]any{
			"name": name, "systemPrompt": "Be brief.", "capabilities": refs, "defaultModelId": c.model(t, model),
		}}, &made)
	return made.CreateAgent.Agent.ID
}

func (c *client) session(t *testing.T, agent string) string {
	t.Helper()
	var made struct {
		CreateSession struct{ Session struct{ ID string } }
	}
	c.do(t, `mutation($id: ID!) { createSession(input: {agentId: $id}) { session { id } userErrors { code message path } } }`,
		map[string]any{"id": agent}, &made)
	return made.CreateSession.Session.ID
}

// message sends a text and gives the turn that carries it.
func (c *client) message(t *testing.T, session, text string) string {
	t.Helper()
	turn, err := c.tryMessage(session, text)
	if err != nil {
		t.Fatalf("send a message: %v", err)
	}
	return turn
}

func (c *client) tryMessage(session, text string) (turn string, err error) {
	var sent struct {
		SendMessage struct{ Turn struct{ ID string } }
	}
	err = c.try(`mutation($input: SendMessageInput!) { sendMessage(input: $input) { turn { id } userErrors { code message path } } }`,
		map[string]any{"input": map[string]any{"sessionId": session, "content": []any{map[string]any{"text": text}}}}, &sent)
	return sent.SendMessage.Turn.ID, err
}

type turn struct {
	ID, Status, StopReason string
	Recoveries             int
	FinalMessage           *struct {
		Content []struct{ Text string }
	}
	Error *struct{ Code, Message string }
}

func (c *client) turn(t *testing.T, id string) turn {
	t.Helper()
	var out struct{ Turn turn }
	c.do(t, `query($id: ID!) { turn(id: $id) { id status stopReason recoveries error { code message } finalMessage { content { ... on TextPart { text } } } } }`,
		map[string]any{"id": id}, &out)
	return out.Turn
}

// history reads a session's whole log, page by page.
func (c *client) history(t *testing.T, session string) []event {
	t.Helper()
	var all []event
	var after *string
	for {
		var out struct {
			Session struct {
				Events struct {
					Nodes    []event
					PageInfo struct {
						HasNextPage bool
						EndCursor   *string
					}
				}
			}
		}
		c.do(t, `query($id: ID!, $after: Cursor) { session(id: $id) { events(first: 7, after: $after) {
			nodes { kind sequence turnId data } pageInfo { hasNextPage endCursor } } } }`,
			map[string]any{"id": session, "after": after}, &out)
		all = append(all, out.Session.Events.Nodes...)
		if !out.Session.Events.PageInfo.HasNextPage {
			return all
		}
		after = out.Session.Events.PageInfo.EndCursor
	}
}

// eventually asks again and again until something holds. What it waits for is not in any stream of events.
func eventually(t *testing.T, what string, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		<-tick.C
	}
}

var errNotYet = errors.New("not yet")
