package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
)

// followed is the subscription of a follower. The fields are in the order that the client reads without decoding; the id comes
// with the data.
const followed = `subscription($id: ID!, $after: Int) { sessionEvents(sessionId: $id, after: $after) { kind sequence data id } }`

const (
	dialTimeout = 5 * time.Second
	retryPause  = 20 * time.Millisecond
)

// seen is a durable event that a follower got.
type seen struct {
	sequence int64
	kind, id string
}

// follower follows a session with one subscription after the other: when one ends it goes to another node and resumes with the last
// sequence that it has. It notes what it gets, and what is wrong with it.
type follower struct {
	a   *arena
	org *org
	id  string // of the session
	// cutAfter returns how many events a subscription lasts before the follower itself breaks the connection; 0 for no end.
	cutAfter func() int

	mu     sync.Mutex
	events []seen
	last   int64
	texts  texts
	// otherTexts tells of messages that are not what their deltas added up to, by the sequence of their end.
	otherTexts map[int64]string
	ends       int  // of turns
	idle       bool // the newest event says that the session is at rest
	socket     *client.Socket
	left       int // events until the follower breaks the connection
	closed     bool
	changed    chan struct{}
	lastErr    error // that ended a subscription
	// What went wrong, and how often subscriptions began again.
	missing, repeated, reordered, resumed int
	// deltas counts those that were put together.
	deltas int
	wrong  []string

	done chan struct{}
}

func (a *arena) follow(o *org, session string, cutAfter func() int) *follower {
	f := &follower{a: a, org: o, id: session, cutAfter: cutAfter, texts: texts{}, otherTexts: map[int64]string{}, changed: make(chan struct{}), done: make(chan struct{})}
	go f.run()
	return f
}

func (f *follower) run() {
	defer close(f.done)
	var before *node
	for first := true; ; first = false {
		n := f.a.pick(before)
		err := f.once(n, first)
		f.mu.Lock()
		closed := f.closed
		if err != nil {
			f.lastErr = fmt.Errorf("at %s: %w", n.name, err)
		}
		f.mu.Unlock()
		if closed {
			return
		}
		if err != nil {
			before = n
			time.Sleep(retryPause)
		}
	}
}

// once is one subscription, from its beginning to its end.
func (f *follower) once(n *node, first bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	api, err := f.a.people.at(ctx, n, f.org)
	if err != nil {
		return err
	}
	socket, err := client.Dial(ctx, api)
	if err != nil {
		return err
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		socket.Close()
		return nil
	}
	f.socket = socket
	if f.left = 0; f.cutAfter != nil {
		f.left = f.cutAfter()
	}
	if !first {
		f.resumed++
	}
	after := f.last
	f.mu.Unlock()
	if err := socket.Subscribe(ctx, "1", followed, map[string]any{"id": f.id, "after": after}); err != nil {
		socket.Close()
		return err
	}
	end := &ending{follower: f}
	socket.Listen(map[string]client.Listener{"1": end})
	socket.Close()
	return end.err
}

// ending is a follower that keeps how a subscription ended.
type ending struct {
	*follower

	err error
}

// Ended implements client.Listener.
func (e *ending) Ended(err error) { e.err = err }

// Event implements client.Listener.
func (f *follower) Event(e client.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if f.left > 0 {
		if f.left--; f.left == 0 {
			f.socket.Close()
		}
	}
	if f.a.ephemeral[e.Kind] {
		if e.Sequence != f.last {
			f.failf("%s carries sequence %d after %d", e.Kind, e.Sequence, f.last)
		}
		if e.Kind == "OUTPUT_DELTA" {
			f.deltas++
			data, _ := cutID(e.Data)
			if wrong := f.texts.delta(data); wrong != "" {
				f.failf("%s", wrong)
			}
		}
		return
	}
	data, id := cutID(e.Data)
	if id == "" {
		f.failf("%s %d came without its id: %s", e.Kind, e.Sequence, e.Data)
	}
	now := seen{e.Sequence, e.Kind, id}
	switch {
	case e.Sequence == f.last+1:
		f.events = append(f.events, now)
		f.last = e.Sequence
	case e.Sequence > f.last+1:
		f.missing += int(e.Sequence - f.last - 1)
		f.failf("%s has sequence %d after %d", e.Kind, e.Sequence, f.last)
		f.events = append(f.events, now)
		f.last = e.Sequence
	case e.Sequence < 1 || f.events[min(len(f.events), int(e.Sequence))-1] == now:
		f.repeated++
		f.failf("%s with sequence %d came again after %d", e.Kind, e.Sequence, f.last)
		return
	default:
		f.reordered++
		f.failf("%s with sequence %d came after %d", e.Kind, e.Sequence, f.last)
		return
	}
	switch e.Kind {
	case "TURN_COMPLETED", "TURN_FAILED", "TURN_SEALED", "TURN_CANCELLED":
		f.ends++
	}
	if e.Kind == "OUTPUT_COMPLETED" {
		if wrong := f.texts.completed(data); wrong != "" {
			f.otherTexts[e.Sequence] = wrong
		}
	}
	f.idle = e.Kind == "SESSION_IDLED"
	close(f.changed)
	f.changed = make(chan struct{})
}

// cutID parts the data of an event from the id that was asked for behind it.
func cutID(both []byte) (data []byte, id string) {
	const before = `,"id":"`
	i := bytes.LastIndex(both, []byte(before))
	if i < 0 || !bytes.HasSuffix(both, []byte(`"`)) {
		return both, ""
	}
	return both[:i], string(both[i+len(before) : len(both)-1])
}

func (f *follower) failf(format string, args ...any) {
	if len(f.wrong) < 20 {
		f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
	}
}

// waitIdle waits until so many turns have ended and the session is at rest.
func (f *follower) waitIdle(ctx context.Context, turns int) error {
	deadline := time.After(patience)
	for {
		f.mu.Lock()
		ok, changed := f.ends >= turns && f.idle, f.changed
		ends, last, lastErr := f.ends, f.last, f.lastErr
		f.mu.Unlock()
		if ok {
			return nil
		}
		var err error
		select {
		case <-changed:
			continue
		case <-deadline:
			err = fmt.Errorf("no end within %s", patience)
		case <-ctx.Done():
			err = ctx.Err()
		}
		return errors.Join(fmt.Errorf("%d of %d turns of %s have ended, the last sequence is %d: %w", ends, turns, f.id, last, err), lastErr)
	}
}

// close ends the subscription.
func (f *follower) close() {
	f.mu.Lock()
	f.closed = true
	if f.socket != nil {
		f.socket.Close()
	}
	f.mu.Unlock()
	<-f.done
}
