package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
)

// drainFactor is how much of a body that is too large is read to be dropped, in times of what is allowed.
const drainFactor = 4

// costHeader asks for the operation's cost in the answer, as extensions {"cost": true} does.
const costHeader = "X-Ostler-Cost"

func (s *Server) graphQL(w http.ResponseWriter, r *http.Request) {
	switch {
	case isUpgrade(r):
		s.upgrade(w, r)
	case r.Method == http.MethodPost:
		s.post(w, r)
	case r.Method == http.MethodGet:
		s.get(w, r)
	case r.Method == http.MethodPut:
		s.refuseReservation(w)
	default:
		w.Header().Set("Allow", "GET, POST")
		s.writeErrors(w, mediaJSON, http.StatusMethodNotAllowed, coded(codeBadUserInput, "Use POST, or GET for queries."))
	}
}

func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	accepts, ok := s.accepts(w, r)
	if !ok {
		return
	}
	if !isJSONBody(r.Header) {
		s.writeErrors(w, accepts.media, http.StatusUnsupportedMediaType,
			coded(codeBadUserInput, "The body must be JSON: send it with Content-Type: application/json, in UTF-8 and not compressed."))
		return
	}
	// Before the body: who is asking decides how large it may be.
	ctx, ok := s.enter(w, r, accepts.media)
	if !ok {
		return
	}
	if req := s.readRequest(ctx, w, r, accepts.media); req != nil {
		s.answer(ctx, w, r, accepts, req)
	}
}

// enter finds out who is asking and counts the request, or refuses.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, media string) (context.Context, bool) {
	ctx, refused := s.withCaller(w, r)
	if refused != nil {
		s.writeErrors(w, media, http.StatusServiceUnavailable, refused)
		return nil, false
	}
	if refused := s.admit(ctx, auth.FromContext(ctx)); refused != nil {
		s.refuseRate(w, media, refused)
		return nil, false
	}
	return ctx, true
}

// readRequest reads the request in a body, or refuses. The body's memory is free again then: streams live long.
func (s *Server) readRequest(ctx context.Context, w http.ResponseWriter, r *http.Request, media string) *request {
	most, release, err := s.holdBody(ctx, r.ContentLength)
	if err != nil {
		s.refuseRate(w, media, tooMany("Too many requests are arriving at once. Try again in a moment.", 1))
		return nil
	}
	defer release()
	body := s.buffers.get()
	defer s.buffers.put(body)
	if err := s.readBody(w, r, body, most); err != nil {
		s.refuseBody(w, r, media, err)
		return nil
	}
	if trimmed := bytes.TrimLeft(body.Bytes(), " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		s.writeErrors(w, media, http.StatusBadRequest, coded(codeBadUserInput, "Batches are not supported: send one operation per request."))
		return nil
	}
	req, err := decodeRequest(body.Bytes())
	if err != nil {
		s.writeErrors(w, media, http.StatusBadRequest, malformed("The body is not a GraphQL request", err))
		return nil
	}
	return req
}

// readBody reads at most so many bytes, within BodyTimeout.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, into *bytes.Buffer, most int64) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.cfg.BodyTimeout)) // a recorder in a test has none
	if r.ContentLength > most {
		return &http.MaxBytesError{Limit: most}
	}
	_, err := into.ReadFrom(http.MaxBytesReader(w, r.Body, most))
	if err == nil {
		// Left in place, it would end the request while its operation runs.
		_ = control.SetReadDeadline(time.Time{})
	}
	return err
}

// closeAfter closes the connection of a request when it is answered. With HTTP/2, where that would end the streams of others, too, its own
// stream ends anyway.
func closeAfter(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

func (s *Server) refuseBody(w http.ResponseWriter, r *http.Request, media string, err error) {
	closeAfter(w, r)
	// Closing a connection that still brings a body resets it, and the client may lose the answer. So the rest is
	// read, up to a bound.
	if r.Header.Get("Expect") == "" { // who asks before sending has sent nothing yet
		_, _ = io.CopyN(io.Discard, r.Body, drainFactor*s.cfg.Limits.BodyBytes)
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		e := overLimit(coded(codePayloadTooLarge, "The body is too large."), "BODY", tooLarge.Limit)
		s.writeErrors(w, media, http.StatusRequestEntityTooLarge, e)
		return
	}
	s.writeErrors(w, media, http.StatusBadRequest, coded(codeBadUserInput, "The body did not arrive completely in time."))
}

// get answers queries in the address. It never changes anything, since links and images make GET requests.
func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	accepts, ok := s.accepts(w, r)
	if !ok {
		return
	}
	media := accepts.media
	req, err := requestOf(r.URL.RawQuery)
	if err != nil {
		s.writeErrors(w, media, http.StatusBadRequest, malformed("The address is not a GraphQL request", err))
		return
	}
	if ctx, ok := s.enter(w, r, media); ok {
		s.answer(ctx, w, r, accepts, req)
	}
}

func requestOf(rawQuery string) (*request, error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, errors.New("its parameters can't be read")
	}
	req := &request{}
	for name, list := range values {
		if len(list) > 1 {
			return nil, errors.New("a parameter stands in it twice")
		}
		text := list[0]
		if strings.IndexByte(text, 0) >= 0 {
			return nil, nulCharacter()
		}
		switch name {
		case "query":
			req.query = text
		case "documentId":
			req.documentID = text
		case "operationName":
			req.operationName = text
		case "variables", "extensions":
			if text == "" {
				continue
			}
			if err := req.set(name, []byte(strings.TrimSpace(text))); err != nil {
				return nil, err
			}
		}
	}
	return req, nil
}

// malformed words an error of decoding; the coded ones among them speak for themselves.
func malformed(what string, err error) *gqlerror.Error {
	if e, ok := errors.AsType[*gqlerror.Error](err); ok {
		return e
	}
	return coded(codeBadUserInput, what+": "+err.Error()+".")
}

// accepts negotiates the form of the answer, or refuses.
func (s *Server) accepts(w http.ResponseWriter, r *http.Request) (acceptance, bool) {
	a := negotiate(r.Header)
	if !a.json && !a.events {
		s.writeErrors(w, mediaJSON, http.StatusNotAcceptable,
			coded(codeBadUserInput, "Accept must allow application/json, application/graphql-response+json or text/event-stream."))
		return a, false
	}
	return a, true
}

// answer runs a request whose form is right.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, accepts acceptance, req *request) {
	media := accepts.media
	if !req.hasDocument() {
		s.writeErrors(w, media, http.StatusBadRequest, coded(codeBadUserInput, "The request contains no document: `query` is missing or empty."))
		return
	}
	if accepts.eventsFirst && !s.mayStream(w, r) {
		return
	}
	req.cookies = hasTokenCookie(r)
	req.wantsCost = r.Header.Get(costHeader) == "1"
	op, errs := s.engine.prepare(ctx, req)
	if len(errs) != 0 {
		if accepts.eventsFirst {
			s.writeOnce(w, &graphql.Response{Errors: errs})
			return
		}
		s.writeErrors(w, media, statusOf(errs, media), errs...)
		return
	}
	describe(ctx, op)
	switch {
	case op.kind == ast.Subscription:
		s.answerSubscription(ctx, w, r, accepts, op)
		return
	case op.kind == ast.Mutation && r.Method == http.MethodGet:
		w.Header().Set("Allow", "POST")
		s.writeErrors(w, media, http.StatusMethodNotAllowed, coded(codeBadUserInput, "Mutations need POST."))
		return
	}
	resp, held := s.engine.run(ctx, op)
	defer held.End()
	if accepts.eventsFirst {
		s.writeOnce(w, resp)
		return
	}
	status := http.StatusOK
	switch {
	case resp.Data == nil && firstCode(resp.Errors) == codeRateLimited:
		s.refuseRate(w, media, resp.Errors[0])
		return
	case resp.Data == nil:
		status = statusOf(resp.Errors, media)
	}
	s.writeResponse(w, media, status, resp)
}

// answerSubscription streams, if the client takes a stream: one answer would pass for all there are.
func (s *Server) answerSubscription(ctx context.Context, w http.ResponseWriter, r *http.Request, accepts acceptance, op *operation) {
	if !accepts.events {
		s.writeErrors(w, accepts.media, http.StatusBadRequest, coded(codeBadUserInput,
			"Subscriptions need Accept: text/event-stream, or a WebSocket with the subprotocol graphql-transport-ws at this address."))
		return
	}
	if accepts.eventsFirst || s.mayStream(w, r) {
		s.follow(ctx, w, r, op)
	}
}

// withCaller returns the context of an operation: the request and who is asking. A token that is no good leaves nobody
// asking, so that signing in again is possible with it; only a failure to find out refuses.
func (s *Server) withCaller(w http.ResponseWriter, r *http.Request) (context.Context, *gqlerror.Error) {
	info := s.requestInfo(r)
	info.SetCookies = func(t auth.TokenCookies) bool {
		s.cookies.set(w, t)
		return true
	}
	ctx := s.fromTrace(auth.WithRequest(r.Context(), info), r)
	token, transport := credential(r)
	principal, err := s.authenticate(ctx, token, transport)
	if err != nil {
		return nil, coded(codeUnavailable, "Your credentials can't be verified at the moment. Try again.")
	}
	return auth.WithPrincipal(ctx, principal), nil
}
