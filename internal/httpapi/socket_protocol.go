package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/limits"
)

// maxOperationID bounds, in bytes, what clients call their operations.
const maxOperationID = 128

// message is what a client sends, by graphql-transport-ws.
type message struct {
	id      string
	hasID   bool
	kind    string
	payload json.RawMessage
}

func decodeMessage(data []byte) (message, error) {
	var m message
	err := decodeObject(data, func(name string, value json.RawMessage) (err error) {
		switch name {
		case "id":
			m.hasID = true
			if m.id, err = decodeString(name, value); err == nil && (m.id == "" || len(m.id) > maxOperationID) {
				err = errors.New("`id` must be a text of 1 to 128 bytes")
			}
		case "type":
			m.kind, err = decodeString(name, value)
		case "payload":
			if !isNull(value) {
				m.payload = value
			}
		}
		return err
	})
	return m, err
}

// receive handles one message; false when the socket is closed.
func (s *socket) receive(data []byte) bool {
	m, err := decodeMessage(data)
	if err != nil {
		return s.refuse("Invalid message")
	}
	switch m.kind {
	case "connection_init":
		return s.initialize(m)
	case "ping":
		if m.payload != nil && m.payload[0] != '{' {
			return s.refuse("The payload of a ping must be an object")
		}
		s.pong(m.payload)
		return true
	case "pong":
		s.mu.Lock()
		s.awaitingPong = false
		s.mu.Unlock()
		return true
	case "subscribe":
		return s.subscribe(m)
	case "complete":
		if !m.hasID {
			return s.refuse("complete needs an id")
		}
		s.cancelOperation(m.id)
		return true
	}
	return s.refuse("Unknown message type")
}

func (s *socket) refuse(reason string) bool {
	s.close(closeBadRequest, reason)
	return false
}

func (s *socket) pong(payload json.RawMessage) {
	if payload == nil {
		s.sendText(`{"type":"pong"}`)
		return
	}
	s.sendText(`{"type":"pong","payload":` + string(payload) + `}`)
}

// initialize finds out who is there. A socket without a principal is refused: everything worth a socket needs one.
func (s *socket) initialize(m message) bool {
	s.mu.Lock()
	again := s.initialized
	s.initialized = true
	s.mu.Unlock()
	if again {
		s.close(closeTooManyInits, "Too many initialisation requests")
		return false
	}
	token, err := initToken(m.payload)
	if err != nil {
		return s.refuse("Invalid connection_init payload")
	}
	s.token, s.transport = token, auth.TransportBody
	if token == "" {
		s.token, s.transport = s.given, s.givenTransport
	}
	ctx, cancel := context.WithTimeout(auth.WithRequest(s.ctx, s.info), s.server.cfg.Sockets.InitTimeout)
	defer cancel()
	principal, err := s.server.authenticate(ctx, s.token, s.transport)
	now := s.server.deps.Clock.Now()
	switch {
	case err != nil:
		s.close(closeTryAgainLater, "Can't verify credentials at the moment")
		return false
	case principal == nil || hasEnded(principal, now):
		s.close(closeForbidden, "Forbidden")
		return false
	case !s.server.deps.Limits.Open(ctx, principal.OrgID, limits.Socket):
		s.close(closeTooManySockets, "Too many sockets of the organization are open")
		return false
	}
	org := principal.OrgID
	s.leave = func() { s.server.deps.Limits.Close(org, limits.Socket) } // run reads it when nothing else goes on any more
	s.mu.Lock()
	s.principal, s.checkedAt, s.pingedAt = principal, now, now
	s.mu.Unlock()
	s.conn.SetReadLimit(s.server.cfg.Limits.BodyBytes)
	s.sendText(`{"type":"connection_ack"}`)
	return true
}

// initToken reads {"Authorization": "Bearer …"}; "" when the payload brings no credential.
func initToken(payload json.RawMessage) (token string, err error) {
	if payload == nil {
		return "", nil
	}
	err = decodeObject(payload, func(name string, value json.RawMessage) error {
		if !strings.EqualFold(name, "Authorization") {
			return nil
		}
		header, err := decodeString(name, value)
		if err != nil || header == "" {
			return err
		}
		if token = bearer(header); token == "" {
			token = header // no scheme that we know: it is refused as a token, never passed over for the cookie
		}
		return nil
	})
	return token, err
}

// rechecked implements connection. Losing the membership or a permission ends the socket: running streams were opened
// with it. The client may come back with what is left.
func (s *socket) rechecked(principal *auth.Principal, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hasLost(s.principal, principal, now) {
		s.close(closeForbidden, "Forbidden")
		return
	}
	s.principal = principal
}

// hasLost reports whether somebody may do less than before: somebody who is nobody now, too.
func hasLost(before, p *auth.Principal, now time.Time) bool {
	return p == nil || hasEnded(p, now) || before.Permissions&^p.Permissions != 0 || before.OrgID != p.OrgID
}

func hasEnded(p *auth.Principal, now time.Time) bool { return p.Ended(now) }
