package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/store"
)

// socketOperation is one that runs on a socket. It has a goroutine as long as there is something to do; a subscription
// whose events can be asked for has none while there are none.
type socketOperation struct {
	socket *socket
	id     string
	// head is the part of each answer that is the same: {"id":"…","type":"next","payload":
	head   []byte
	ctx    context.Context
	cancel context.CancelFunc
	// feed and stream are those of a subscription.
	feed   events.Feed
	stream *stream
	// uncount reports that a subscription that was let in has ended; nil for others.
	uncount func()
	// reserved is how much room the outbox keeps for the answer that is being made.
	reserved int
	// ended is set once the client wants no more of it; its id may be in use again then.
	ended atomic.Bool
}

// subscribe starts an operation, once it is parsed and checked.
func (s *socket) subscribe(m message) bool {
	s.mu.Lock()
	principal := s.principal
	_, taken := s.operations[m.id]
	running := len(s.operations)
	s.mu.Unlock()
	if principal == nil {
		s.close(closeUnauthorized, "Unauthorized")
		return false
	}
	if !m.hasID || m.payload == nil {
		return s.refuse("subscribe needs an id and a payload")
	}
	if taken {
		s.close(closeDuplicateID, "Subscriber already exists")
		return false
	}
	req, err := decodeRequest(m.payload)
	if _, nul := err.(*gqlerror.Error); err != nil && !nul || err == nil && !req.hasDocument() {
		return s.refuse("Invalid subscribe payload")
	} else if nul {
		s.sendErrors(m.id, gqlerror.List{err.(*gqlerror.Error)}, nil)
		return true
	}
	if limit := s.server.cfg.Sockets.Operations; running >= limit {
		e := overLimit(coded(codeRateLimited, "Too many operations are running on this socket. Complete one first."), "OPERATIONS", int64(limit))
		s.sendErrors(m.id, gqlerror.List{e}, nil)
		return true
	}
	req.cookies = s.cookies
	ctx := auth.WithPrincipal(auth.WithRequest(s.ctx, s.info), principal)
	if refused := s.server.admit(ctx, principal); refused != nil {
		s.sendErrors(m.id, gqlerror.List{refused}, nil)
		return true
	}
	op, errs := s.server.engine.prepare(ctx, req)
	if len(errs) != 0 {
		s.sendErrors(m.id, errs, nil)
		return true
	}
	s.begin(ctx, m.id, op)
	return true
}

func (s *socket) begin(ctx context.Context, id string, op *operation) {
	running := &socketOperation{socket: s, id: id}
	head, _ := json.Marshal(id) // a string can always be encoded
	running.head = append(append([]byte(`{"id":`), head...), `,"type":"next","payload":`...)
	running.ctx, running.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	s.operations[id] = running
	s.started++
	s.mu.Unlock()
	s.goroutines.Add(1) // done by finish
	go running.run(op)
}

// cancelOperation ends an operation that the client wants no more of. Others are passed over: it may have ended
// while the message was on its way.
func (s *socket) cancelOperation(id string) {
	s.mu.Lock()
	op := s.operations[id]
	delete(s.operations, id)
	s.mu.Unlock()
	if op != nil {
		op.ended.Store(true)
		op.stop()
	}
}

// stopOperations ends all operations.
func (s *socket) stopOperations() {
	s.mu.Lock()
	running := slices.Collect(maps.Values(s.operations))
	s.mu.Unlock()
	for _, op := range running {
		op.stop()
	}
}

// stop makes the operation end. A subscription at rest is woken by it.
func (o *socketOperation) stop() {
	o.cancel()
	o.feed.Close()
}

// finish frees what the operation holds.
func (o *socketOperation) finish() {
	o.stop()
	o.leave()
	if o.uncount != nil {
		o.uncount()
	}
	o.socket.goroutines.Done()
}

// leave makes the id free again, unless another operation has it by now.
func (o *socketOperation) leave() {
	o.socket.mu.Lock()
	defer o.socket.mu.Unlock()
	if o.socket.operations[o.id] == o {
		delete(o.socket.operations, o.id)
	}
}

func (o *socketOperation) wanted() bool { return !o.ended.Load() }

func (o *socketOperation) run(op *operation) {
	if op.kind != ast.Subscription {
		o.once(op)
		o.finish()
		return
	}
	leave, refused := o.socket.server.admitStream(o.ctx, auth.FromContext(o.ctx))
	if refused != nil {
		o.fail(gqlerror.List{refused})
		o.finish()
		return
	}
	o.uncount = leave
	o.feed.Wake, o.feed.Allowance = func() { go o.proceed() }, &o.socket.allowance
	stream, errs := o.socket.server.engine.subscribe(o.ctx, op, &o.feed)
	if len(errs) != 0 {
		o.fail(errs)
		o.finish()
		return
	}
	o.stream, stream.space = stream, o
	o.proceed()
}

// reserve implements space: with many subscriptions, many may be about to answer at once.
func (o *socketOperation) reserve(size int) {
	o.socket.outbox.reserve(size)
	o.reserved = size
}

// unreserve implements space.
func (o *socketOperation) unreserve() {
	o.socket.outbox.done(o.reserved)
	o.reserved = 0
}

// once answers a query or a mutation.
func (o *socketOperation) once(op *operation) {
	resp, held := o.socket.server.engine.run(o.ctx, op)
	if resp.Data == nil {
		o.fail(resp.Errors)
		return
	}
	if !held.Keep(len(resp.Data)) {
		held = nil
	}
	o.deliver(resp, held)
	o.complete()
}

// deliver is next for an answer that holds memory until it was written; held may be nil.
func (o *socketOperation) deliver(resp *graphql.Response, held *store.Bytes) bool {
	sent := o.next(resp)
	if held != nil {
		if sent {
			o.socket.outbox.flushed()
		}
		held.End()
	}
	return sent
}

// proceed sends the answers of a subscription until it ends, or there are none for now: then the feed wakes it.
func (o *socketOperation) proceed() {
	for {
		o.socket.outbox.await()
		switch answer := o.stream.event(); answer.what {
		case streamRests:
			return // from here on everything belongs to who is woken
		case streamAnswers:
			sent := o.deliver(answer.resp, answer.held)
			o.stream.forget()
			if sent {
				continue
			}
		case streamEnded:
			o.unreserve()
			o.lastWord()
		}
		o.finish()
		return
	}
}

// lastWord tells how the subscription ended by itself. When it was ended, nobody waits for that.
func (o *socketOperation) lastWord() {
	if o.ctx.Err() != nil {
		return
	}
	if err := o.stream.failure(); err != nil {
		o.fail(gqlerror.List{err})
		return
	}
	o.complete()
}

// next sends an answer. The data is encoded already: it is written into the frame as it is.
func (o *socketOperation) next(resp *graphql.Response) bool {
	frame := o.socket.server.buffers.get()
	frame.Write(o.head)
	encodeResponse(frame, resp)
	frame.WriteByte('}')
	resp.Data = nil // it may be large, and the frame holds it
	size := o.reserved
	if size == 0 {
		return o.socket.send(frame, o.wanted)
	}
	o.reserved = 0
	if o.socket.outbox.putReserved(frame, size, o.wanted) {
		return true
	}
	o.socket.server.buffers.put(frame)
	return false
}

// complete and fail are last words: the id is free before they are sent, so that the client may use it at once.
func (o *socketOperation) complete() {
	o.leave()
	frame := o.socket.server.buffers.get()
	frame.WriteString(`{"id":`)
	encodeJSON(frame, o.id)
	frame.WriteString(`,"type":"complete"}`)
	o.socket.send(frame, o.wanted)
}

func (o *socketOperation) fail(errs gqlerror.List) {
	o.leave()
	o.socket.sendErrors(o.id, errs, o.wanted)
}

// sendErrors ends an operation that did not come to run; no complete follows it.
func (s *socket) sendErrors(id string, errs gqlerror.List, wanted func() bool) {
	frame := s.server.buffers.get()
	writeErrorFrame(frame, id, errs)
	s.send(frame, wanted)
}

func writeErrorFrame(frame *bytes.Buffer, id string, errs gqlerror.List) {
	frame.WriteString(`{"id":`)
	encodeJSON(frame, id)
	frame.WriteString(`,"type":"error","payload":`)
	encodeJSON(frame, errs)
	frame.WriteByte('}')
}
