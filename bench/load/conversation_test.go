package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
)

// fakeSession plays events to its listener whenever a message is sent.
type fakeSession struct {
	listener client.Listener
	events   []client.Event
}

func (s *fakeSession) Send(context.Context, client.TurnKind) error {
	for _, e := range s.events {
		s.listener.Event(e)
	}
	return nil
}

func (s *fakeSession) Close() { s.listener.Ended(nil) }

func play(events ...client.Event) error {
	c := &conversation{ended: make(chan error, 1), closed: make(chan struct{})}
	c.session = &fakeSession{listener: c, events: events}
	_, err := c.turn(context.Background(), client.ToolTurn, time.Now())
	if closed := closeConversations([]*conversation{c}); err == nil {
		err = closed
	}
	return err
}

func TestATurnThatIsNotWhatItShouldBeIsAnError(t *testing.T) {
	t.Parallel()
	tool := client.Event{Kind: "TOOL_COMPLETED", Sequence: 1, Data: []byte(`{"success":true}`)}
	end := client.Event{Kind: "TURN_COMPLETED", Sequence: 2}
	if err := play(tool, client.Event{Kind: "OUTPUT_DELTA", Sequence: 1}, end); err != nil {
		t.Errorf("a good turn: %v", err)
	}
	for name, c := range map[string]struct {
		events []client.Event
		want   string
	}{
		"gap":         {[]client.Event{tool, {Kind: "TURN_COMPLETED", Sequence: 3}}, "sequence 3 after 1"},
		"repeat":      {[]client.Event{tool, tool}, "sequence 1 after 1"},
		"stale delta": {[]client.Event{tool, {Kind: "OUTPUT_DELTA", Sequence: 0}}, "carries sequence 0"},
		"no tool":     {[]client.Event{{Kind: "TURN_COMPLETED", Sequence: 1}}, "0 tool results"},
		"failed tool": {[]client.Event{{Kind: "TOOL_COMPLETED", Sequence: 1, Data: []byte(`{"success":false}`)}}, "a tool failed"},
		"failed turn": {[]client.Event{{Kind: "TURN_FAILED", Sequence: 1, Data: []byte(`{}`)}}, "TURN_FAILED"},
		"two ends":    {[]client.Event{tool, end, {Kind: "TOOL_COMPLETED", Sequence: 3}, {Kind: "TURN_COMPLETED", Sequence: 4}}, "ended twice"},
	} {
		if err := play(c.events...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
