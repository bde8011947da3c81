package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/ostler-dev/ostler/internal/apiclient"
)

// stub answers as the product does, as far as this package asks. Each message brings one turn of two events.
type stub struct {
	t *testing.T

	mu      sync.Mutex
	created int
	streams map[string]chan string // by session
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		s.socket(w, r)
		return
	}
	var request struct {
		Query     string
		Variables struct {
			ID    string
			Input struct{ SessionID, Name, Email string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		s.t.Error(err)
	}
	if request.Variables.Input.Email == "" && r.Header.Get("Authorization") == "" {
		s.t.Errorf("no token: %s", request.Query)
	}
	s.mu.Lock()
	s.created++
	id := fmt.Sprintf("id_%d", s.created)
	s.mu.Unlock()
	answers := []struct{ field, answer string }{
		{"signIn(", `{"signIn":{"tokens":{"accessToken":"first","org":{"id":"org_1"}},"userErrors":[]}}`},
		{"createOrg(", `{"createOrg":{"org":{"id":"` + id + `"},"userErrors":[]}}`},
		{"switchOrg(", `{"switchOrg":{"tokens":{"accessToken":"of-org","org":{"id":"` + request.Variables.ID + `"}},"userErrors":[]}}`},
		{"models(", `{"models":{"nodes":[{"id":"m1","name":"other"},{"id":"m2","name":"sim-script"}]},"providers":{"nodes":[]}}`},
		{"createAgent(", `{"createAgent":{"agent":{"id":"` + id + `"},"userErrors":[]}}`},
		{"createSession(", `{"createSession":{"session":{"id":"` + id + `"},"userErrors":[]}}`},
		{"sendMessage(", `{"sendMessage":{"turn":{"id":"` + id + `"},"userErrors":[]}}`},
		{"agents(", `{"agents":{"nodes":[],"pageInfo":{"hasNextPage":false}}}`},
	}
	for _, a := range answers {
		if !strings.Contains(request.Query, a.field) {
			continue
		}
		if a.field == "sendMessage(" {
			stream := s.stream(request.Variables.Input.SessionID)
			stream <- `{"kind":"MESSAGE_RECEIVED","sequence":2,"data":{}}`
			stream <- `{"kind":"TURN_COMPLETED","sequence":3,"data":{"a":"}}}}"}}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"data":%s}`, a.answer)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, `{"errors":[{"message":"no such field"}]}`)
}

func (s *stub) stream(session string) chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams == nil {
		s.streams = map[string]chan string{}
	}
	if s.streams[session] == nil {
		s.streams[session] = make(chan string, 8)
		s.streams[session] <- `{"kind":"SESSION_STARTED","sequence":1,"data":{}}`
		s.streams[session] <- `{"kind":"CAUGHT_UP","sequence":1,"data":{}}`
	}
	return s.streams[session]
}

func (s *stub) socket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"graphql-transport-ws"}})
	if err != nil {
		s.t.Error(err)
		return
	}
	defer func() { _ = conn.CloseNow() }()
	ctx := r.Context()
	send := func(text string) bool { return conn.Write(ctx, websocket.MessageText, []byte(text)) == nil }
	_, init, err := conn.Read(ctx)
	if err != nil || !strings.Contains(string(init), `"Authorization":"Bearer of-org"`) {
		s.t.Errorf("connection_init: %s %v", init, err)
	}
	send(`{"type":"connection_ack"}`)
	_, data, err := conn.Read(ctx)
	var subscribe struct {
		ID, Type string
		Payload  struct {
			Query     string
			Variables struct{ ID string }
		}
	}
	if err != nil || json.Unmarshal(data, &subscribe) != nil || subscribe.Type != "subscribe" {
		s.t.Errorf("subscribe: %s %v", data, err)
	}
	send(`{"type":"ping"}`)
	if _, pong, err := conn.Read(ctx); err == nil && string(pong) != `{"type":"pong"}` {
		s.t.Errorf("pong: %s", pong)
	}
	for event := range s.stream(subscribe.Payload.Variables.ID) {
		if !send(`{"id":"` + subscribe.ID + `","type":"next","payload":{"data":{"sessionEvents":` + event + `}}}`) {
			return
		}
	}
}

// collector keeps the events of a session.
type collector struct {
	events []string
	turn   chan struct{}
	ended  chan error
}

func (c *collector) Event(e Event) {
	c.events = append(c.events, fmt.Sprintf("%d %s %s", e.Sequence, e.Kind, e.Data))
	if e.Kind == "TURN_COMPLETED" {
		close(c.turn)
	}
}

func (c *collector) Ended(err error) { c.ended <- err }

func TestTheProductIsDrivenFromSignInToTheEndOfATurn(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&stub{t: t})
	defer server.Close()
	ctx := context.Background()
	product, err := Prepare(ctx, server.URL, Setup{Email: "a@b", Password: "c", Orgs: 2, Model: "sim-script", ToolMessage: "tool", TextMessage: "text"})
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{turn: make(chan struct{}), ended: make(chan error, 1)}
	sessions, err := product.Open(ctx, []Listener{c})
	if err != nil {
		t.Fatal(err)
	}
	if err := sessions[0].Send(ctx, ToolTurn); err != nil {
		t.Fatal(err)
	}
	<-c.turn
	sessions[0].Close()
	if err := <-c.ended; err != nil {
		t.Errorf("closed: %v", err)
	}
	want := `1 SESSION_STARTED {} | 1 CAUGHT_UP {} | 2 MESSAGE_RECEIVED {} | 3 TURN_COMPLETED {"a":"}}}}"}`
	if got := strings.Join(c.events, " | "); got != want {
		t.Errorf("events:\n%s\nexpected:\n%s", got, want)
	}
	if err := PageOfAgents(ctx, apiclient.New(server.URL).As("token")); err != nil {
		t.Error(err)
	}
	if err := apiclient.New(server.URL).As("token").Do(ctx, `{ nonsense }`, nil, nil); err == nil {
		t.Error("errors in an answer are no error")
	}
}
