package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/ostler-dev/ostler/internal/apiclient"
)

// turnsPerSession is after how many turns a worker goes on with a fresh session.
const turnsPerSession = 20

// sessionHere stands in the text of a message for the id of its session.
const sessionHere = "{session}"

// journal is what the clients know: what they asked for, what was acknowledged, what they saw.
type journal struct {
	mu       sync.Mutex
	sessions []*conversation
	failures map[string]int   // of requests, by class
	samples  []string         // of failures that are no broken connections
	stuck    []string         // what did not go on
	ended    atomic.Int64     // turns that clients saw end
	at       map[string]*node // which acknowledged the message of a turn
}

// conversation is a session of the journal. Its worker writes it; others read it when the load has ended.
type conversation struct {
	org      *org
	id       string
	messages []*message
	follower *follower
}

// message is one that a client has sent until it was acknowledged.
type message struct {
	key      string
	queue    bool          // it is to have a turn of its own, behind the one that runs
	turn     string        // of the acknowledgement; empty without one
	sent     time.Time     // the first attempt
	accepted time.Duration // from the first attempt to the acknowledgement
	// broken is when a connection broke, or no answer came, after the request was sent; zero for never.
	broken time.Time
}

// load is what the clients do.
type load struct {
	workers int
	// script makes a message that a simulated model plays.
	script func() string
	// cutAfter is that of the followers.
	cutAfter func() int
	// rest is how long a session does nothing between two turns; nil for not at all.
	rest func() time.Duration

	stop chan struct{}
	all  sync.WaitGroup
}

// toolTurn is the turn of P1 with a slow model: text and a tool call, the tool, an answer. The tool works that long before and after
// its effect, at the most.
func (a *arena) toolTurn(tool time.Duration) func() string {
	most := int(tool.Milliseconds())
	return func() string {
		call := func(name string) string {
			return fmt.Sprintf(`{"tool_call":{"name":%q,"arguments":{"before_ms":%d,"after_ms":%d}}}`, name, a.roll(most/3, most), a.roll(most/3, most))
		}
		calls := call("append_once")
		switch a.roll(0, 3) {
		case 0:
			calls = call("append_idempotent")
		case 1:
			calls += "," + call("append_idempotent")
		}
		return fmt.Sprintf(`{"responses":[{"ttft_ms":%d,"ms_per_token":2,"chunks":[{"text":"Let me write that down, once and for all."},%s]},`+
			`{"ttft_ms":%d,"ms_per_token":%d,"chunks":[{"text":"It is written. %s And since that is all that was asked for, this answer ends here."}]}]}`,
			a.roll(20, 200), calls, a.roll(20, 200), a.roll(0, 6), strings.Repeat("The ostler leads the horses out at dawn. ", a.roll(0, 4)))
	}
}

// begin starts the workers.
func (a *arena) begin(ctx context.Context, l *load) {
	l.stop = make(chan struct{})
	for range l.workers {
		l.all.Go(func() { a.work(ctx, l) })
	}
}

// finish lets the workers end their turns.
func (l *load) finish() {
	close(l.stop)
	l.all.Wait()
}

// work sends a message, waits for the end of its turn, and so on.
func (a *arena) work(ctx context.Context, l *load) {
	for ctx.Err() == nil {
		c, err := a.createSession(ctx, l)
		if err != nil {
			a.journal.stickf("a session was not made: %v", err)
			return
		}
		for len(c.messages) < turnsPerSession {
			select {
			case <-l.stop:
				c.follower.close()
				return
			default:
			}
			if err := a.converse(ctx, c, l); err != nil {
				a.journal.stickf("%v", err)
				c.follower.close()
				return
			}
			if l.rest != nil {
				wait(ctx, l.rest())
			}
		}
		c.follower.close()
	}
}

// converse sends a message, now and then a second one that waits in the queue behind it, and waits for the end of all.
func (a *arena) converse(ctx context.Context, c *conversation, l *load) error {
	before := len(c.messages)
	for i := range 1 + a.roll(0, 3)/3 {
		m := &message{key: uuid.NewString(), queue: i > 0}
		c.messages = append(c.messages, m)
		if err := a.send(ctx, c, m, l.script()); err != nil {
			return err
		}
	}
	if err := c.follower.waitIdle(ctx, len(c.messages)); err != nil {
		return err
	}
	a.journal.ended.Add(int64(len(c.messages) - before))
	return nil
}

// createSession makes a session, however often it has to ask: one too many harms nobody.
func (a *arena) createSession(ctx context.Context, l *load) (*conversation, error) {
	o := a.people.orgs[a.roll(0, len(a.people.orgs)-1)]
	var out struct {
		CreateSession struct{ Session struct{ ID string } }
	}
	_, _, err := a.ask(ctx, o, `mutation($input: CreateSessionInput!) { createSession(input: $input) { session { id }`+errorsWanted+` } }`,
		map[string]any{"input": map[string]any{"agentId": o.agent}}, &out)
	if err != nil {
		return nil, err
	}
	c := &conversation{org: o, id: out.CreateSession.Session.ID}
	c.follower = a.follow(o, c.id, l.cutAfter)
	a.journal.mu.Lock()
	a.journal.sessions = append(a.journal.sessions, c)
	a.journal.mu.Unlock()
	return c, nil
}

// send sends a message until it is acknowledged. All attempts have the same key, so that they are one message.
func (a *arena) send(ctx context.Context, c *conversation, m *message, text string) error {
	var out struct {
		SendMessage struct{ Turn struct{ ID string } }
	}
	m.sent = time.Now()
	delivery := "STEER"
	if m.queue {
		delivery = "QUEUE"
	}
	n, broken, err := a.ask(ctx, c.org, apiclient.SendMessage,
		map[string]any{"input": map[string]any{
			"sessionId": c.id, "idempotencyKey": m.key, "delivery": delivery, "content": []any{map[string]any{"text": strings.ReplaceAll(text, sessionHere, c.id)}},
		}}, &out)
	m.broken = broken
	if err != nil {
		return err
	}
	m.turn, m.accepted = out.SendMessage.Turn.ID, time.Since(m.sent)
	a.journal.mu.Lock()
	defer a.journal.mu.Unlock()
	if a.journal.at == nil {
		a.journal.at = map[string]*node{}
	}
	a.journal.at[m.turn] = n
	return nil
}

// ask runs an operation, at one node after the other, until one answers, and returns that one. broken is when a request that had been
// sent was first not answered; zero for never.
func (a *arena) ask(ctx context.Context, o *org, query string, variables map[string]any, out any) (n *node, broken time.Time, err error) {
	for until := time.Now().Add(patience); ; {
		n = a.pick(n)
		api, err := a.people.at(ctx, n, o)
		if err == nil {
			if err = api.Do(ctx, query, variables, out); err == nil {
				return n, broken, nil
			}
		}
		class := classify(err)
		if class != classRefused && class != classDraining && broken.IsZero() {
			broken = time.Now()
		}
		a.journal.fail(class, n, err)
		if time.Now().After(until) || ctx.Err() != nil {
			return nil, broken, fmt.Errorf("no node answers: %w", err)
		}
		time.Sleep(retryPause)
	}
}

// The classes of failed requests.
const (
	// classRefused: no connection was made. A load balancer tries the next node.
	classRefused = "refused"
	// classDraining: the node said that it goes away.
	classDraining = "draining"
	// classBroken: the connection ended, or nothing came in time.
	classBroken = "broken"
	// classFailed: the node answered with an error.
	classFailed = "failed"
)

func classify(err error) string {
	var op *net.OpError
	var transport *url.Error
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return classRefused
	case errors.As(err, &transport):
		return classBroken
	case strings.HasPrefix(err.Error(), "503") && strings.Contains(err.Error(), "is stopping"):
		return classDraining
	case strings.Contains(err.Error(), "EOF") || strings.Contains(err.Error(), "connection reset"):
		return classBroken // in the midst of the answer
	default:
		return classFailed
	}
}

func (j *journal) fail(class string, n *node, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failures == nil {
		j.failures = map[string]int{}
	}
	j.failures[class]++
	if class == classFailed && len(j.samples) < 10 {
		j.samples = append(j.samples, fmt.Sprintf("%s: %.300s", n.name, err))
	}
}

func (j *journal) stickf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stuck = append(j.stuck, fmt.Sprintf(format, args...))
}

// failed returns how many requests failed in a class.
func (j *journal) failed(class string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failures[class]
}
