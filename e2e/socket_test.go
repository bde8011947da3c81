package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ostler-dev/ostler/internal/apiclient"
)

// event is an event of a session, as clients see it.
type event struct {
	Kind     string          `json:"kind"`
	Sequence int             `json:"sequence"`
	TurnID   string          `json:"turnId"`
	Data     json.RawMessage `json:"data"`
	// What streams of organizations ask for, too.
	Cursor    string `json:"cursor"`
	SessionID string `json:"sessionId"`
}

func (e event) durable() bool {
	switch e.Kind {
	case "OUTPUT_DELTA", "THINKING_DELTA", "TOOL_PROGRESS", "GENERATION_RETRYING", "CAUGHT_UP":
		return false
	}
	return true
}

func (e event) String() string { return fmt.Sprintf("%d %s", e.Sequence, e.Kind) }

type (
	frame  = apiclient.Frame
	socket = apiclient.Socket
)

const sessionEvents = `subscription($id: ID!, $after: Int) { sessionEvents(sessionId: $id, after: $after) { kind sequence turnId data } }`

// subscription collects the events of one session.
type subscription struct {
	mu     sync.Mutex
	events []event
	err    error
	more   chan struct{}
	done   chan struct{}
	socket *socket
}

// subscribe begins at a sequence; every event from then on is kept.
func (c *client) subscribe(t *testing.T, session string, after int) *subscription {
	t.Helper()
	return c.subscribeTo(t, sessionEvents, map[string]any{"id": session, "after": after})
}

// subscribeTo is subscribe with a document of one's own.
func (c *client) subscribeTo(t *testing.T, query string, variables map[string]any) *subscription {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	socket := must(c.Connect(ctx))(t)
	if err := socket.Subscribe(ctx, "1", query, variables); err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	s := &subscription{more: make(chan struct{}), done: make(chan struct{}), socket: socket}
	go s.read()
	t.Cleanup(func() {
		_ = socket.Conn.CloseNow()
		<-s.done
	})
	return s
}

func (s *subscription) read() {
	defer close(s.done)
	for {
		f, err := s.socket.Read(context.Background())
		var e *event
		if err == nil {
			e, err = s.receive(f)
		}
		s.mu.Lock()
		if e != nil {
			s.events = append(s.events, *e)
		}
		s.err = err
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *subscription) receive(f frame) (*event, error) {
	switch f.Type {
	case "ping":
		return nil, s.socket.Write(context.Background(), frame{Type: "pong"})
	case "next":
		var p struct {
			Data struct {
				SessionEvents *event `json:"sessionEvents"`
			} `json:"data"`
			Errors []gqlError `json:"errors"`
		}
		if err := json.Unmarshal(f.Payload, &p); err != nil {
			return nil, err
		}
		if len(p.Errors) > 0 || p.Data.SessionEvents == nil {
			return nil, fmt.Errorf("an event with errors: %s", f.Payload)
		}
		return p.Data.SessionEvents, nil
	case "error", "complete":
		return nil, fmt.Errorf("the subscription ended: %s %s", f.Type, f.Payload)
	}
	return nil, fmt.Errorf("unexpected message %q", f.Type)
}

// until waits until what has come so far satisfies a condition, and returns it.
func (s *subscription) until(t *testing.T, what string, holds func([]event) bool) []event {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		have, err, more := s.events, s.err, s.more
		s.mu.Unlock()
		if holds(have) {
			return have
		}
		if err != nil {
			t.Fatalf("waiting for %s: the subscription ended: %v; got %v", what, err, have)
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%s did not come; got %v", what, have)
		}
	}
}

// untilKind waits for the n-th event of a kind.
func (s *subscription) untilKind(t *testing.T, kind string, n int) []event {
	t.Helper()
	return s.until(t, fmt.Sprintf("%s no. %d", kind, n), func(have []event) bool { return count(have, kind) >= n })
}

// ended waits for the end of the socket and returns its close code.
func (s *subscription) ended(t *testing.T) websocket.StatusCode {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatal("the socket did not end")
	}
	var closed websocket.CloseError
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.As(s.err, &closed) {
		t.Logf("the socket ended without a close code: %v", s.err)
		return -1
	}
	return closed.Code
}

// all returns what has come so far.
func (s *subscription) all() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events
}

func count(list []event, kind string) int {
	n := 0
	for _, e := range list {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func durable(list []event) []event {
	var out []event
	for _, e := range list {
		if e.durable() {
			out = append(out, e)
		}
	}
	return out
}

func last(list []event) int {
	if d := durable(list); len(d) > 0 {
		return d[len(d)-1].Sequence
	}
	return 0
}

// gapless checks a stream: durable events come one after the other from after on, and the others carry the sequence of
// the durable one before them.
func gapless(t *testing.T, list []event, after int) {
	t.Helper()
	at := after
	for i, e := range list {
		switch {
		case e.durable() && e.Sequence != at+1:
			t.Fatalf("event %d of the stream is %s; the one before had sequence %d: %v", i, e, at, list)
		case e.durable():
			at = e.Sequence
		case e.Sequence != at:
			t.Fatalf("event %d of the stream is %s; it must carry sequence %d: %v", i, e, at, list)
		}
	}
}

// turnEnds are the kinds that end a turn.
var turnEnds = []string{"TURN_COMPLETED", "TURN_FAILED", "TURN_CANCELLED", "TURN_SEALED"}

// balanced checks a whole log: what was opened has been closed exactly once, and each turn has exactly one end.
func balanced(t *testing.T, log []event) {
	t.Helper()
	gapless(t, log, 0)
	for _, pair := range [][2]string{
		{"SESSION_ACTIVATED", "SESSION_IDLED"}, {"REASON_STARTED", "REASON_COMPLETED"}, {"OUTPUT_STARTED", "OUTPUT_COMPLETED"},
		{"ACT_STARTED", "ACT_COMPLETED"}, {"TOOL_STARTED", "TOOL_COMPLETED"},
	} {
		if opened, closed := count(log, pair[0]), count(log, pair[1]); opened != closed {
			t.Errorf("%d %s and %d %s: %v", opened, pair[0], closed, pair[1], log)
		}
	}
	started, ended := map[string]int{}, map[string]int{}
	for _, e := range log {
		if e.Kind == "TURN_STARTED" {
			started[e.TurnID]++
		}
		for _, kind := range turnEnds {
			if e.Kind == kind {
				ended[e.TurnID]++
			}
		}
	}
	for turn, n := range started {
		if n != 1 || ended[turn] != 1 {
			t.Errorf("turn %s was started %d times and ended %d times: %v", turn, n, ended[turn], log)
		}
	}
}

// sameLog checks that what a subscriber saw of the durable events is what the log holds.
func sameLog(t *testing.T, seen, log []event) {
	t.Helper()
	seen = durable(seen)
	if len(seen) != len(log) {
		t.Fatalf("a subscriber saw %d durable events, the log holds %d:\n%v\n%v", len(seen), len(log), seen, log)
	}
	for i := range seen {
		if seen[i].Kind != log[i].Kind || seen[i].Sequence != log[i].Sequence || !sameJSON(seen[i].Data, log[i].Data) {
			t.Fatalf("a subscriber saw %s %s, the log holds %s %s", seen[i], seen[i].Data, log[i], log[i].Data)
		}
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
