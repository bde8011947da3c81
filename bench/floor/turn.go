package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/bench/turnshape"
)

// deltaInterval is how often deltas go out after the first one, as in the product.
const deltaInterval = 50 * time.Millisecond

// The model's answers: a tool call with a few words, and the text at the end.
const (
	tokensOfCall   = 5
	tokensOfAnswer = 20
)

// run does what follows the first commit: that one made the message durable, and the start of the first model call.
func (s *server) run(ctx context.Context, session *session, shape turnshape.Shape) error {
	for i, events := range shape[1:] {
		switch {
		case holds(events, "TOOL_STARTED"):
			if err := reason(ctx, session, tokensOfCall); err != nil {
				return err
			}
		case holds(events, "TOOL_COMPLETED"):
			if _, err := time.Now().MarshalText(); err != nil { // the tool: what time is it?
				return err
			}
		default:
			if err := reason(ctx, session, tokensOfAnswer); err != nil {
				return err
			}
		}
		if i == len(shape)-2 { // the client may send its next message at once
			session.mu.Lock()
			session.busy = false
			session.mu.Unlock()
		}
		s.commit(session, events)
	}
	return nil
}

func holds(events []turnshape.Event, kind string) bool {
	for _, e := range events {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

// reason asks the model and sends deltas: the first at once, then one per interval.
func reason(ctx context.Context, session *session, tokens int) error {
	var text strings.Builder
	var next time.Time
	sent, count := 0, 0
	err := session.model.stream(ctx, tokens, func(token string) {
		text.WriteString(token)
		count++
		if now := time.Now(); now.After(next) {
			session.publishDelta(sent, text.String()[sent:])
			sent, next = text.Len(), now.Add(deltaInterval)
		}
	})
	if err == nil && count != tokens {
		err = fmt.Errorf("the model sent %d tokens of %d", count, tokens)
	}
	return err
}

// commit makes events durable and returns when they are published.
func (s *server) commit(session *session, events []turnshape.Event) {
	session.mu.Lock()
	after := session.lastSequence
	session.lastSequence += int64(len(events))
	session.mu.Unlock()
	c := &commit{session: session, after: after, events: make([]event, len(events)), done: make(chan struct{}, 1)}
	for i, e := range events {
		c.events[i] = event{kind: e.Kind, data: filler(e.Bytes)}
	}
	s.committer.waiting <- c
	<-c.done
}

// filler returns a JSON value of so many bytes.
func filler(bytes int) string {
	const empty = `{"x":""}`
	if bytes < len(empty) {
		return "{}"
	}
	return `{"x":"` + strings.Repeat("x", bytes-len(empty)) + `"}`
}
