package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/ostler-dev/ostler/internal/apiclient"
)

// SessionEvents is the subscription that figures are taken with. Kind and sequence come first, so that they are found
// without decoding the rest.
const SessionEvents = `subscription($id: ID!, $after: Int) { sessionEvents(sessionId: $id, after: $after) { kind sequence data } }`

// Socket is a connection whose SessionEvents subscriptions are read with little work. One goroutine may listen, another subscribe.
type Socket struct {
	*apiclient.Socket

	closed atomic.Bool
}

// Dial connects and waits for the acknowledgement.
func Dial(ctx context.Context, api *apiclient.Client) (*Socket, error) {
	s, err := api.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &Socket{Socket: s}, nil
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
		frame, err := s.Next(ctx)
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
			if err := s.Write(ctx, apiclient.Frame{Type: "pong"}); err != nil {
				return err
			}
		}
	}
}

// Close ends the connection without ceremony.
func (s *Socket) Close() {
	s.closed.Store(true)
	_ = s.Conn.CloseNow()
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
	var message apiclient.Frame
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
