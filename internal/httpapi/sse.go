package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
)

// Event streams follow graphql-sse in its distinct connections mode: one operation per request, whose answers are events
// named next, and complete when there are no more. Errors of the document come as next, too, since EventSource can't read
// the body of a refusal. A stream that breaks off without complete is to be taken up again.

const (
	mediaEvents = "text/event-stream"
	// resumeHeader brings, from a client that comes back, the id of the last event that it has got.
	resumeHeader = "Last-Event-ID"
	// reservationHeader and reservationParameter are graphql-sse's single connection mode.
	reservationHeader    = "X-GraphQL-Event-Stream-Token"
	reservationParameter = "token"
)

// mayStream refuses requests for an event stream that the form of the request rules out.
func (s *Server) mayStream(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case s.draining.Load():
		s.writeErrors(w, mediaJSON, http.StatusServiceUnavailable, coded(codeUnavailable, "The server is stopping."))
	case r.Header.Get(reservationHeader) != "" || r.URL.Query().Has(reservationParameter):
		s.refuseReservation(w)
	case r.Method == http.MethodGet && !s.ownOrigin(r):
		// Pages of other origins can make a browser send such a request, cookies included; a POST they can't.
		s.writeErrors(w, mediaJSON, http.StatusForbidden, coded(codeForbidden,
			"With a cookie, an event stream by GET needs the header Origin, with this server's public address. Use POST, or send the token in the header Authorization."))
	default:
		return true
	}
	return false
}

func (s *Server) refuseReservation(w http.ResponseWriter) {
	s.writeErrors(w, mediaJSON, http.StatusBadRequest, coded(codeBadUserInput,
		"The single connection mode of graphql-sse is not supported. Use the distinct connections mode: one request for each operation, without a token of a reservation."))
}

// beginEvents answers with an event stream. From then on all failures are events.
func beginEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", mediaEvents+"; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep events back until it has a buffer full
	w.WriteHeader(http.StatusOK)
}

// writeOnce answers with one result, as an event stream.
func (s *Server) writeOnce(w http.ResponseWriter, resp *graphql.Response) {
	buf := s.buffers.get()
	defer s.buffers.put(buf)
	writeNext(buf, "", resp)
	buf.WriteString(completeEvent)
	beginEvents(w)
	_, _ = w.Write(buf.Bytes()) // the client is gone when this fails
}

// completeEvent has a field data, since EventSource passes over events without one, and no space in it, which urql would
// try to read as JSON.
const completeEvent = "event: complete\ndata:\n\n"

// keepAlive is a comment.
const keepAlive = ":\n\n"

// writeNext writes an answer as an event. id is where a client that has got it resumes; "" when that is not known.
func writeNext(out *bytes.Buffer, id string, resp *graphql.Response) {
	if id != "" && !strings.ContainsAny(id, "\x00\r\n") {
		out.WriteString("id: ")
		out.WriteString(id)
		out.WriteByte('\n')
	}
	out.WriteString("event: next\ndata: ")
	begin := out.Len()
	encodeResponse(out, resp)
	// In JSON a line break is only ever between two tokens; in an event stream it would end the field.
	for data := out.Bytes()[begin:]; ; {
		n := bytes.IndexAny(data, "\r\n")
		if n < 0 {
			break
		}
		data[n] = ' '
		data = data[n+1:]
	}
	out.WriteString("\n\n")
}

// follow streams a subscription. It returns once the stream has ended as it should, and panics with http.ErrAbortHandler
// to cut the connection.
func (s *Server) follow(ctx context.Context, w http.ResponseWriter, r *http.Request, op *operation) {
	var feed events.Feed
	if last := r.Header.Get(resumeHeader); last != "" {
		resumed, mark, err := s.engine.resume(op, last)
		if err != nil {
			s.writeOnce(w, &graphql.Response{Errors: gqlerror.List{err}})
			return
		}
		op, feed.Mark = resumed, mark
	}
	leave, refused := s.admitStream(ctx, auth.FromContext(ctx))
	if refused != nil {
		s.refuseRate(w, mediaJSON, refused)
		return
	}
	defer leave()
	c := newEventStream(ctx, s, w, r)
	defer c.cancel()
	if !s.open.add(c) {
		s.writeErrors(w, mediaJSON, http.StatusServiceUnavailable, coded(codeUnavailable, "The server is stopping."))
		return
	}
	defer s.open.remove(c)
	feed.Wake = c.rouse
	defer feed.Close()
	stream, errs := s.engine.subscribe(c.ctx, op, &feed)
	if len(errs) != 0 {
		if errs[0].Extensions["code"] == codeUnavailable { // complete would tell the client not to come again
			s.writeErrors(w, mediaJSON, http.StatusServiceUnavailable, errs...)
			return
		}
		s.writeOnce(w, &graphql.Response{Errors: errs})
		return
	}
	defer c.pumping.Wait()
	defer c.cancel()
	beginEvents(w)
	if !c.run(stream) {
		panic(http.ErrAbortHandler)
	}
}

// newEventStream prepares the stream of a request whose caller is in ctx.
func newEventStream(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) *eventStream {
	now := s.deps.Clock.Now()
	c := &eventStream{
		server: s, w: w, control: http.NewResponseController(w), woken: make(chan struct{}, 1),
		principal: auth.FromContext(ctx), checkedAt: now, writtenAt: now,
	}
	c.token, c.transport = credential(r)
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}
