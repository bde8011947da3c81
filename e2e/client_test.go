package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/apiclient"
)

// client is a signed-in caller, bound to one organization.
type client struct{ *apiclient.Client }

func newClient(url string) *client { return &client{apiclient.New(url)} }

// at returns the same caller at another node.
func (c *client) at(p *process) *client { return &client{c.At(p.url)} }

type (
	reply     = apiclient.Reply
	gqlError  = apiclient.Error
	userError = apiclient.UserError
	tokens    = apiclient.Tokens
)

// payload is what all payloads of mutations have.
type payload struct {
	UserErrors []userError `json:"userErrors"`
}

// send makes a request with exactly this body.
func (c *client) send(body []byte, change ...func(*http.Request)) (*reply, error) {
	return c.Send(context.Background(), body, change...)
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
	return c.Do(context.Background(), query, variables, out)
}

// must returns what a call of apiclient has returned.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// do is try for what must work.
func (c *client) do(t *testing.T, query string, variables map[string]any, out any) {
	t.Helper()
	if err := c.try(query, variables, out); err != nil {
		t.Fatalf("%.120s: %v", query, err)
	}
}

// signIn signs the first owner in.
func signIn(t *testing.T, p *process) *client {
	t.Helper()
	return signInAs(t, p.url, ownerEmail, ownerPassword)
}

func signInAs(t *testing.T, url, email, password string) *client {
	t.Helper()
	c := apiclient.New(url)
	return &client{c.With(must(c.SignIn(t.Context(), email, password))(t))}
}

// switchOrg returns the same person in another organization.
func (c *client) switchOrg(t *testing.T, org string) *client {
	t.Helper()
	return &client{c.With(must(c.SwitchOrg(t.Context(), org))(t))}
}

// createOrg makes another organization of the same person and returns its id.
func (c *client) createOrg(t *testing.T, name string) string {
	t.Helper()
	return must(c.CreateOrg(t.Context(), name))(t)
}

// secondOrg makes another organization of the same person, and returns a caller that is bound to it. The first caller
// stays where it is: it signs in anew, because a sign-in is in one organization at a time.
func (c *client) secondOrg(t *testing.T, p *process, name string) *client {
	t.Helper()
	return signIn(t, p).switchOrg(t, c.createOrg(t, name))
}

// model returns the id of a model, made when there is none of that name.
func (c *client) model(t *testing.T, name string) string {
	t.Helper()
	return must(c.Model(t.Context(), name, nil))(t)
}

// agent makes an agent that answers with this model and has the tools of these capabilities.
func (c *client) agent(t *testing.T, name, model string, capabilities ...string) string {
	t.Helper()
	refs := []any{}
	for _, id := range capabilities {
		refs = append(refs, map[string]any{"id": id})
	}
	return must(c.CreateAgent(t.Context(), map[string]any{
		"name": name, "systemPrompt": "Be brief.", "capabilities": refs, "defaultModelId": c.model(t, model),
	}))(t)
}

func (c *client) session(t *testing.T, agent string) string {
	t.Helper()
	return must(c.CreateSession(t.Context(), agent))(t)
}

// message sends a text and returns the turn that carries it.
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
	err = c.try(apiclient.SendMessage,
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
