package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/internal/apiclient"
)

// waitingServer is a session whose turns wait, with as much of the API as ends that.
type waitingServer struct {
	t        *testing.T
	listener client.Listener
	sequence int64
	before   []string // kinds of events until the turn waits
	after    []string // and when something came for it
	calls    string   // what TOOL_CALLS_REQUESTED tells
	inputs   []string // of mutations
}

func (s *waitingServer) play(kinds []string) {
	for _, kind := range kinds {
		s.sequence++
		data := `{"success":true}`
		if kind == "TOOL_CALLS_REQUESTED" {
			data = s.calls
		}
		s.listener.Event(client.Event{Kind: kind, Sequence: s.sequence, Data: []byte(data)})
	}
}

func (s *waitingServer) Say(_ context.Context, text string, _ client.Delivery) (string, error) {
	if !json.Valid([]byte(text)) {
		s.t.Errorf("the message is not JSON: %s", text)
	}
	s.play(s.before)
	return "turn_1", nil
}

func (s *waitingServer) Send(context.Context, client.TurnKind) error { return errNotAnyMessage }

func (s *waitingServer) Close() { s.listener.Ended(nil) }

func (s *waitingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Query     string
		Variables struct {
			ID    string
			Input json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		s.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.Contains(request.Query, "waits {"):
		_, _ = fmt.Fprintf(w, `{"data":{"session":{"waits":[{"id":"wait_of_%s","kind":"APPROVAL","toolCallId":"c"}]}}}`, request.Variables.ID)
		return
	case strings.Contains(request.Query, "submitToolResults("):
		_, _ = fmt.Fprint(w, `{"data":{"submitToolResults":{"turn":{"id":"turn_1"},"userErrors":[]}}}`)
	case strings.Contains(request.Query, "decideApproval("):
		_, _ = fmt.Fprint(w, `{"data":{"decideApproval":{"wait":{"id":"w","state":"OK"},"userErrors":[]}}}`)
	default:
		s.t.Errorf("unexpected request: %s", request.Query)
	}
	s.inputs = append(s.inputs, string(request.Variables.Input))
	s.play(s.after)
}

// waitOnce runs a turn that waits. What the server keeps may be read afterwards.
func waitOnce(t *testing.T, kind waitKind, s *waitingServer) (resumeTimes, *conversation, error) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	c := &conversation{ended: make(chan error, 1), closed: make(chan struct{})}
	s.t, s.listener, c.session = t, c, s
	p := park(c)
	p.api, p.id = apiclient.New(server.URL), "sess_1"
	times, err := p.turn(context.Background(), kind)
	if closed := closeConversations([]*conversation{c}); err == nil {
		err = closed
	}
	return times, c, err
}

func TestAWaitIsTimedFromItsRequestToTheNextStep(t *testing.T) {
	t.Parallel()
	kinds := waitKinds()
	result, approval := kinds[0], kinds[1]
	for _, c := range []struct {
		kind   waitKind
		server *waitingServer
		input  string
		tools  int
	}{
		{result, &waitingServer{
			before: []string{"TURN_STARTED", "REASON_STARTED", "TOOL_CALLS_REQUESTED", "TURN_WAITING"},
			after:  []string{"TURN_RESUMED", "TOOL_COMPLETED", "REASON_STARTED", "TURN_COMPLETED"},
			calls:  `{"toolCalls":[{"toolCallId":"call_7","toolName":"ask_the_caller","arguments":{}}]}`,
		}, `{"results":[{"result":{"answer":"Yes."},"toolCallId":"call_7"}],"turnId":"turn_1"}`, 1},
		{approval, &waitingServer{
			before: []string{"TURN_STARTED", "REASON_STARTED", "APPROVAL_REQUESTED", "TURN_WAITING"},
			after:  []string{"TURN_RESUMED", "TOOL_STARTED", "TOOL_COMPLETED", "REASON_STARTED", "TURN_COMPLETED"},
		}, `{"approve":true,"waitId":"wait_of_sess_1"}`, 1},
	} {
		times, conversation, err := waitOnce(t, c.kind, c.server)
		if err != nil {
			t.Errorf("%s: %v", c.kind.name, err)
			continue
		}
		if times.resumed <= 0 || times.running < times.resumed {
			t.Errorf("%s: resumed after %s, running after %s", c.kind.name, times.resumed, times.running)
		}
		if got := strings.Join(c.server.inputs, " "); got != c.input {
			t.Errorf("%s: sent\n%s\nexpected\n%s", c.kind.name, got, c.input)
		}
		if conversation.turns != 1 || conversation.tools != c.tools {
			t.Errorf("%s: %d turns with %d results of tools", c.kind.name, conversation.turns, conversation.tools)
		}
	}
}

func TestATurnThatWaitsForSomethingElseIsAnError(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]string{"no call": `{}`, "two calls": `{"toolCalls":[{"toolCallId":"a"},{"toolCallId":"b"}]}`, "no JSON": `x`} {
		_, _, err := waitOnce(t, waitKinds()[0], &waitingServer{before: []string{"TOOL_CALLS_REQUESTED", "TURN_WAITING"}, calls: calls})
		if err == nil || !strings.Contains(err.Error(), "want one call") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := waitOnce(t, waitKinds()[1], &waitingServer{
		before: []string{"TURN_WAITING"}, after: []string{"TURN_RESUMED", "TOOL_STARTED", "TURN_COMPLETED"},
	})
	if err == nil || !strings.Contains(err.Error(), "0 tool results, expected 1") {
		t.Errorf("an approved tool that did not run: %v", err)
	}
}
