package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/coder/websocket"
)

// SessionEvents is the subscription that figures are taken with. Kind and sequence come first, so that they are found
// without decoding the rest.
const SessionEvents = `subscription($id: ID!, $after: Int) { sessionEvents(sessionId: $id, after: $after) { kind sequence data } }`

// maxFrame bounds a frame that is read.
const maxFrame = 4 << 20

// Socket is a graphql-transport-ws connection. One goroutine may read, another write.
type Socket struct {
	conn   *websocket.Conn
	closed atomic.Bool
	buffer bytes.Buffer
}

// Dial connects and waits for the acknowledgement.
func Dial(ctx context.Context, api *API) (*Socket, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(api.URL, "http")+"/graphql", &websocket.DialOptions{ //nolint:bodyclose // it is no body but the socket
		Subprotocols: []string{"graphql-transport-ws"},
	})
	if err != nil {
		if res != nil {
			err = fmt.Errorf("%w (%s)", err, res.Status)
		}
		return nil, fmt.Errorf("connect: %w", err)
	}
	conn.SetReadLimit(maxFrame)
	s := &Socket{conn: conn}
	payload := map[string]any{"type": "connection_init", "payload": map[string]string{"Authorization": "Bearer " + api.Token}}
	if err = s.write(ctx, payload); err == nil {
		var frame []byte
		if frame, err = s.read(ctx); err == nil && !bytes.Contains(frame, []byte(`"connection_ack"`)) {
			err = fmt.Errorf("expected connection_ack, got %s", frame)
		}
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return s, nil
}

// Subscribe starts a subscription.
func (s *Socket) Subscribe(ctx context.Context, id, query string, variables map[string]any) error {
	return s.write(ctx, map[string]any{
		"id": id, "type": "subscribe", "payload": map[string]any{"query": query, "variables": variables},
	})
}

func (s *Socket) write(ctx context.Context, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.conn.Write(ctx, websocket.MessageText, data)
}

// read gives the next frame; it is valid until the next call.
func (s *Socket) read(ctx context.Context) ([]byte, error) {
	_, reader, err := s.conn.Reader(ctx)
	if err != nil {
		return nil, err
	}
	s.buffer.Reset()
	if _, err := s.buffer.ReadFrom(reader); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return s.buffer.Bytes(), nil
}

// Listen reads the socket's SessionEvents subscriptions until the socket ends, and hands each event to the listener of
// the subscription with that id.
func (s *Socket) Listen(listeners map[string]Listener) {
	err := s.listen(listeners)
	if s.closed.Load() {
		err = nil
	}
	for _, l := range listeners {
		l.Ended(err)
	}
}

func (s *Socket) listen(listeners map[string]Listener) error {
	ctx := context.Background() // Close ends it
	for {
		frame, err := s.read(ctx)
		if err != nil {
			return fmt.Errorf("the socket ended: %w", err)
		}
		id, event, found := parseNext(frame)
		if !found {
			if id, event, found, err = decodeFrame(frame); err != nil {
				return err
			}
		}
		switch {
		case found:
			listener := listeners[string(id)]
			if listener == nil {
				return fmt.Errorf("an event of no subscription: %s", frame)
			}
			listener.Event(event)
		case bytes.Contains(frame, []byte(`"ping"`)):
			if err := s.write(ctx, map[string]string{"type": "pong"}); err != nil {
				return err
			}
		}
	}
}

// Close ends the connection without ceremony.
func (s *Socket) Close() {
	s.closed.Store(true)
	_ = s.conn.CloseNow()
}

// parseNext reads a frame as servers usually write it, without decoding it:
//
//	{"id":"1","type":"next","payload":{"data":{"sessionEvents":{"kind":"…","sequence":7,"data":{…}}}}}
//
// Id and type may be the other way round. False means that the frame is something else, or looks otherwise.
func parseNext(frame []byte) (id []byte, e Event, ok bool) {
	const kindAt, sequenceAt, dataAt = `{"sessionEvents":{"kind":"`, `","sequence":`, `,"data":`
	_, rest, found := bytes.Cut(frame, []byte(kindAt))
	if !found {
		return nil, e, false
	}
	kind, rest, found := bytes.Cut(rest, []byte(sequenceAt))
	if !found || len(kind) > 64 {
		return nil, e, false
	}
	number, data, found := bytes.Cut(rest, []byte(dataAt))
	if !found || len(number) > 20 {
		return nil, e, false
	}
	sequence, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return nil, e, false
	}
	data, found = bytes.CutSuffix(data, []byte(`}}}}`))
	if !found {
		return nil, e, false
	}
	// The id stands before the payload or after it; events hold no such field at their beginning.
	const idAt = `"id":"`
	if bytes.HasPrefix(frame, []byte(`{`+idAt)) {
		id, _, _ = bytes.Cut(frame[1+len(idAt):], []byte(`"`))
	} else if before, after, found := bytes.Cut(frame[:len(frame)-len(rest)], []byte(idAt)); found && len(before) < 64 {
		id, _, _ = bytes.Cut(after, []byte(`"`))
	} else {
		return nil, e, false
	}
	return id, Event{Kind: intern(kind), Sequence: sequence, Data: data}, true
}

// Frame writes an event of a subscription as servers usually do; it is what parseNext reads.
func Frame(id string, e Event) string {
	return fmt.Sprintf(`{"id":%q,"type":"next","payload":{"data":{"sessionEvents":{"kind":%q,"sequence":%d,"data":%s}}}}`, id, e.Kind, e.Sequence, e.Data)
}

// decodeFrame reads any frame. found tells that it was an event.
func decodeFrame(frame []byte) (id []byte, e Event, found bool, err error) {
	var message struct {
		ID      string          `json:"id"`
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(frame, &message); err != nil {
		return nil, e, false, fmt.Errorf("a frame is not JSON: %w", err)
	}
	switch message.Type {
	case "ping", "pong":
		return nil, e, false, nil
	case "next":
	default: // error and complete end a subscription that should go on
		return nil, e, false, fmt.Errorf("the subscription ended: %s", frame)
	}
	var payload struct {
		Data *struct {
			SessionEvents struct {
				Kind     string          `json:"kind"`
				Sequence int64           `json:"sequence"`
				Data     json.RawMessage `json:"data"`
			} `json:"sessionEvents"`
		} `json:"data"`
		Errors json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(message.Payload, &payload); err != nil {
		return nil, e, false, fmt.Errorf("an event can't be read: %w", err)
	}
	if payload.Data == nil || len(payload.Errors) > 0 {
		return nil, e, false, fmt.Errorf("an event with errors: %s", frame)
	}
	event := payload.Data.SessionEvents
	return []byte(message.ID), Event{Kind: event.Kind, Sequence: event.Sequence, Data: event.Data}, true, nil
}
