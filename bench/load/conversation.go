package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
)

// conversation is a session under load. It checks everything that its subscriber gets: each sequence, one tool result
// per turn with a tool, one end per turn.
type conversation struct {
	session client.Session
	turns   int // that ended as they should
	tools   int // that these turns have called

	// The subscriber's side; err and last may be read by others when closed is.
	last       int64
	toolsSeen  int
	expect     atomic.Int64 // how many results of tools the present turn has, or anyTools
	found      atomic.Int64 // how many the last turn had
	firstDelta atomic.Int64 // of the present turn, in nanoseconds since begin; 0 before
	ended      chan error   // one value per turn
	closed     chan struct{}
	err        error
	seen       atomic.Pointer[func(client.Event)]
}

// watch lets f be called for each event, unless it is out of order, from the subscriber's goroutine; nil ends that.
func (c *conversation) watch(f func(client.Event)) {
	if f == nil {
		c.seen.Store(nil)
		return
	}
	c.seen.Store(&f)
}

// begin is what conversations count time from.
var begin = time.Now()

// target is what is under load: the product or the floor.
type target interface {
	Open(ctx context.Context, listeners []client.Listener) ([]client.Session, error)
}

func openConversations(ctx context.Context, t target, count int) ([]*conversation, error) {
	conversations := make([]*conversation, count)
	listeners := make([]client.Listener, count)
	for i := range conversations {
		conversations[i] = &conversation{ended: make(chan error, 1), closed: make(chan struct{})}
		listeners[i] = conversations[i]
	}
	sessions, err := t.Open(ctx, listeners)
	if err != nil {
		return nil, err
	}
	for i, c := range conversations {
		c.session = sessions[i]
	}
	return conversations, nil
}

// closeConversations ends the conversations and returns what was wrong with any of them.
func closeConversations(conversations []*conversation) error {
	var all []error
	for _, c := range conversations {
		c.session.Close()
		<-c.closed
		if c.err != nil {
			all = append(all, c.err)
		}
	}
	return errors.Join(all...)
}

// timing is how long a turn took, since its message was sent or should have been.
type timing struct{ accepted, firstDelta, ended time.Duration }

// turn sends a message and waits for the end of its turn.
func (c *conversation) turn(ctx context.Context, kind client.TurnKind, since time.Time) (timing, error) {
	tools := 0
	if kind == client.ToolTurn {
		tools = 1
	}
	return c.turnOf(ctx, tools, since, func() error { return c.session.Send(ctx, kind) })
}

// say is turn with any message, to the product.
func (c *conversation) say(ctx context.Context, text string, tools int, since time.Time) (timing, error) {
	session, ok := c.session.(sayer)
	if !ok {
		return timing{}, errNotAnyMessage
	}
	return c.turnOf(ctx, tools, since, func() error {
		_, err := session.Say(ctx, text, client.Steer)
		return err
	})
}

// sayer is a session of the product, which understands any message.
type sayer interface {
	Say(ctx context.Context, text string, delivery client.Delivery) (turnID string, err error)
}

var errNotAnyMessage = errors.New("only the product understands any message")

// anyTools stands for results of tools whose number is found out.
const anyTools = -1

// turnOf sends a message that brings a turn with so many results of tools, and waits for its end.
func (c *conversation) turnOf(ctx context.Context, tools int, since time.Time, send func() error) (timing, error) {
	var t timing
	c.firstDelta.Store(0)
	c.expect.Store(int64(tools))
	if err := send(); err != nil {
		return t, err
	}
	t.accepted = time.Since(since)
	select {
	case err := <-c.ended:
		if err != nil {
			return t, err
		}
	case <-c.closed:
		return t, fmt.Errorf("the subscription ended during a turn: %w", c.err)
	case <-ctx.Done():
		return t, fmt.Errorf("a turn did not end: %w", ctx.Err())
	}
	t.ended = time.Since(since)
	if first := c.firstDelta.Load(); first != 0 {
		t.firstDelta = time.Duration(first) - since.Sub(begin)
	}
	c.turns++
	if tools == anyTools {
		tools = int(c.found.Load())
	}
	c.tools += tools
	return t, nil
}

// Event implements client.Listener.
func (c *conversation) Event(e client.Event) {
	if c.err != nil {
		return
	}
	if client.Ephemeral(e.Kind) {
		if e.Sequence != c.last {
			c.fail(fmt.Errorf("%s carries sequence %d after %d", e.Kind, e.Sequence, c.last))
		}
		if e.Kind == "OUTPUT_DELTA" && c.firstDelta.Load() == 0 {
			c.firstDelta.Store(int64(time.Since(begin)))
		}
		c.tell(e)
		return
	}
	if e.Sequence != c.last+1 {
		c.fail(fmt.Errorf("%s has sequence %d after %d", e.Kind, e.Sequence, c.last))
		return
	}
	c.last = e.Sequence
	c.tell(e)
	switch e.Kind {
	case "TOOL_COMPLETED":
		c.toolsSeen++
		if bytes.Contains(e.Data, []byte(`"success":false`)) {
			c.fail(fmt.Errorf("a tool failed: %s", e.Data))
		}
	case "TURN_COMPLETED":
		if expected := c.expect.Load(); expected != anyTools && int64(c.toolsSeen) != expected {
			c.fail(fmt.Errorf("a turn ended after %d tool results, expected %d", c.toolsSeen, expected))
			return
		}
		c.found.Store(int64(c.toolsSeen))
		c.toolsSeen = 0
		c.end(nil)
	case "TURN_FAILED", "TURN_SEALED", "TURN_CANCELLED":
		c.fail(fmt.Errorf("%s: %s", e.Kind, e.Data))
	}
}

func (c *conversation) tell(e client.Event) {
	if seen := c.seen.Load(); seen != nil {
		(*seen)(e)
	}
}

func (c *conversation) fail(err error) {
	c.err = err
	c.end(err)
}

func (c *conversation) end(err error) {
	select {
	case c.ended <- err:
	default:
		if c.err == nil {
			c.err = errors.New("a turn ended twice")
		}
	}
}

// Ended implements client.Listener.
func (c *conversation) Ended(err error) {
	if c.err == nil {
		c.err = err
	}
	close(c.closed)
}
