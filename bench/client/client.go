// Package client puts load on the two programs that are measured: on the product by apiclient, on the floor over plain HTTP and server-sent
// events. It decodes no more than is needed to check what came.
package client

import "context"

// Event is what a subscriber gets. Data is valid only during the call that hands it over.
type Event struct {
	Kind     string
	Sequence int64
	Data     []byte
}

// Listener is called for each event of a session, in order, from one goroutine. At its end the stream calls it with
// the error that ended it, nil when it was closed by Close.
type Listener interface {
	Event(Event)
	Ended(error)
}

// TurnKind is what a turn does.
type TurnKind int

// The turns that are measured.
const (
	// ToolTurn is message → reason with a tool call → tool → reason.
	ToolTurn TurnKind = iota
	// TextTurn is message → reason.
	TextTurn
)

// Session is an open session with one live subscriber.
type Session interface {
	// Send sends a message that brings such a turn, and returns when it is accepted.
	Send(ctx context.Context, kind TurnKind) error
	Close()
}

// kinds saves an allocation per event.
var kinds = func() map[string]string {
	m := map[string]string{}
	for _, kind := range []string{
		"MESSAGE_RECEIVED", "SESSION_STARTED", "SESSION_ACTIVATED", "SESSION_IDLED", "TURN_QUEUED", "TURN_STARTED",
		"TURN_COMPLETED", "TURN_FAILED", "TURN_SEALED", "REASON_STARTED", "REASON_COMPLETED", "OUTPUT_STARTED",
		"OUTPUT_DELTA", "OUTPUT_COMPLETED", "GENERATION_RECORDED", "ACT_STARTED", "ACT_COMPLETED", "TOOL_STARTED",
		"TOOL_COMPLETED", "TOOL_CALLS_REQUESTED", "APPROVAL_REQUESTED", "TURN_WAITING", "TURN_RESUMED", "CAUGHT_UP",
	} {
		m[kind] = kind
	}
	return m
}()

// intern returns the kind as a string, without a copy for those that are known.
func intern(kind []byte) string {
	if known, found := kinds[string(kind)]; found {
		return known
	}
	return string(kind)
}

// Ephemeral reports whether events of a kind are live only: they carry the sequence of the last durable one.
func Ephemeral(kind string) bool {
	switch kind {
	case "OUTPUT_DELTA", "THINKING_DELTA", "TOOL_PROGRESS", "CAUGHT_UP":
		return true
	}
	return false
}
