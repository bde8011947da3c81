package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/store"
)

// eventStream is a subscription that is answered with an event stream. The goroutine of its request does all the writing;
// while that waits for a reader, events wait in the subscription, where they are bounded, merged and shared.
type eventStream struct {
	server  *Server
	w       http.ResponseWriter
	control *http.ResponseController
	// ctx ends with the stream.
	ctx    context.Context
	cancel context.CancelFunc
	// token is what the request came with.
	token, transport string
	// woken has something in it when there may be something to do.
	woken chan struct{}

	stream *stream
	// pumped has the answers of a subscription that can't be asked for them; nil for others.
	pumped  chan streamAnswer
	pumping sync.WaitGroup

	mu        sync.Mutex
	principal *auth.Principal
	checkedAt time.Time
	writtenAt time.Time
	// ending is set when the stream is to break off, with farewell as the last event; without one there is none.
	ending   bool
	farewell *gqlerror.Error
	// silent is set when nothing was written for long.
	silent bool
}

// run writes the stream until it ends. It reports false when the connection is to be cut, so that the client knows that
// the stream has not ended and comes back.
func (c *eventStream) run(stream *stream) bool {
	c.stream = stream
	if stream.source == nil {
		c.pumped = make(chan streamAnswer, 1)
		c.pumping.Go(c.pump)
	}
	if c.control.Flush() != nil { // the client is to know at once that it is connected
		return false
	}
	for {
		more, whole := c.round()
		if !more {
			return whole
		}
		select {
		case <-c.woken:
		case <-c.ctx.Done(): // the client has gone
			return false
		}
	}
}

// round writes what there is by now. more reports that the stream goes on, and whole that it has ended as it should.
func (c *eventStream) round() (more, whole bool) {
	out := c.server.buffers.get() // a stream at rest holds none
	defer func() { c.server.buffers.put(out) }()
	for {
		if out.Reset(); out.Cap() > maxPooled {
			out = c.server.buffers.get() // a large answer's memory is not kept for the next one
		}
		silent, ending, farewell := c.state()
		if ending {
			if farewell != nil {
				writeNext(out, "", &graphql.Response{Errors: gqlerror.List{farewell}})
				_ = c.write(out) // it is cut off anyway
			}
			return false, false
		}
		what := streamAnswers
		var held *store.Bytes
		for what == streamAnswers && out.Len() < maxWrite {
			answer := c.next()
			if what = answer.what; what == streamAnswers {
				writeNext(out, c.stream.position(), answer.resp)
				answer.resp.Data = nil // it may be large, and out holds it
				held = answer.held     // one that holds memory is longer than maxWrite, and the last
			}
		}
		if what == streamEnded {
			whole = c.lastWord(out)
		} else if silent && out.Len() == 0 {
			out.WriteString(keepAlive)
		}
		var err error
		if out.Len() > 0 {
			err = c.write(out)
		}
		if held != nil {
			held.End()
		}
		if err != nil {
			return false, false
		}
		switch what {
		case streamRests:
			return true, false
		case streamEnded:
			return false, whole
		}
	}
}

func (c *eventStream) next() streamAnswer {
	if c.pumped == nil {
		return c.stream.event()
	}
	select {
	case answer := <-c.pumped:
		return answer
	default:
		return streamAnswer{what: streamRests}
	}
}

// pump waits for answers where the handler must not, since it has the rest of the stream to look after.
func (c *eventStream) pump() {
	for {
		answer := c.stream.event()
		if answer.resp != nil {
			answer.resp.Data = bytes.Clone(answer.resp.Data)
		}
		if answer.held != nil {
			answer.held.End() // no resolver of ours is read like this, and nobody else would do it if the client has gone
			answer.held = nil
		}
		select {
		case c.pumped <- answer:
		case <-c.ctx.Done():
			return
		}
		c.rouse()
		if answer.what != streamAnswers {
			return
		}
	}
}

// lastWord writes how the subscription ended by itself, and reports whether it is over for the client, too.
func (c *eventStream) lastWord(out *bytes.Buffer) bool {
	if c.ctx.Err() != nil {
		return false
	}
	if err := c.stream.failure(); err != nil {
		if err.Extensions["code"] == codeUnavailable {
			return false // another node goes on with it
		}
		writeNext(out, "", &graphql.Response{Errors: gqlerror.List{err}})
	}
	out.WriteString(completeEvent)
	return true
}

// write sends at once. A reader that takes longer than the write timeout for a piece, or than the
// answer timeout for all, is given up.
func (c *eventStream) write(out *bytes.Buffer) error {
	c.mu.Lock()
	c.writtenAt, c.silent = c.server.deps.Clock.Now(), false // before the reader has it: silence is counted from then on
	c.mu.Unlock()
	last := time.Now().Add(c.server.cfg.AnswerTimeout)
	for piece := range slices.Chunk(out.Bytes(), maxPiece) {
		deadline := time.Now().Add(c.server.cfg.Sockets.WriteTimeout)
		if last.Before(deadline) {
			deadline = last
		}
		if err := c.control.SetWriteDeadline(deadline); err != nil {
			return err
		}
		if _, err := c.w.Write(piece); err != nil {
			return err
		}
	}
	return c.control.Flush()
}

func (c *eventStream) state() (silent, ending bool, farewell *gqlerror.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent, c.ending, c.farewell
}

// rouse makes the handler look at what there is to do. It doesn't wait.
func (c *eventStream) rouse() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// end makes the stream break off. The caller holds the mutex.
func (c *eventStream) end(farewell *gqlerror.Error) {
	if !c.ending {
		c.ending, c.farewell = true, farewell
		c.rouse()
	}
}

// tick implements connection.
func (c *eventStream) tick(now time.Time) (recheck bool) {
	limits := c.server.cfg.Sockets
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending || c.principal == nil { // nobody is only there until the resolver refuses
		return false
	}
	if hasEnded(c.principal, now) {
		c.end(coded(codeUnauthenticated, "The token has expired. Get a new one and subscribe again."))
		return false
	}
	if !c.silent && now.Sub(c.writtenAt) >= limits.PingEvery {
		c.silent = true
		c.rouse()
	}
	if now.Sub(c.checkedAt) >= limits.RecheckEvery {
		c.checkedAt = now
		return true
	}
	return false
}

// caller implements connection.
func (c *eventStream) caller() (ctx context.Context, token, transport string) {
	return c.ctx, c.token, c.transport
}

// rechecked implements connection.
func (c *eventStream) rechecked(principal *auth.Principal, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.principal == nil || hasLost(c.principal, principal, now) {
		c.end(coded(codeUnauthenticated, "The token is no longer valid, or has lost permissions. Get a new one and subscribe again."))
		return
	}
	c.principal = principal
}

// restart implements connection.
func (c *eventStream) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(nil)
}

// abort implements connection.
func (c *eventStream) abort() {
	c.cancel()
	_ = c.control.SetWriteDeadline(time.Now()) // a write that runs ends, too
}
