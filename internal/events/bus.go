package events

import (
	"errors"

	"github.com/ostler-dev/ostler/internal/models"
)

// Bus carries messages between processes, and within one. It may lose any message, repeat it, or swap it with another:
// the database is the truth, and everybody who listens here also looks there.
type Bus interface {
	// Publish hands a message over and never waits. The bus owns data from here on. An error means that the message
	// is lost for sure; no error promises nothing.
	Publish(subject string, data []byte) error
	// Subscribe calls fn with every message on the subject, own ones included, one after the other. fn must not wait for
	// anything and must not change data. When Subscribe returns, messages that are published later in any process that
	// the bus reaches by then are heard. cancel ends it; fn may still be at work when it returns.
	Subscribe(subject string, fn func(data []byte)) (cancel func(), err error)
	// QueueSubscribe is Subscribe for one of several: of all who subscribed with the same queue, one gets each message.
	// Messages that are published after cancel has returned go to the others.
	QueueSubscribe(subject, queue string, fn func(data []byte)) (cancel func(), err error)
	// OnReconnect has fn called whenever messages may have been missed: after the bus was gone and is back, and after
	// it had to drop some. cancel ends it.
	OnReconnect(fn func()) (cancel func())
	// Connected reports whether messages get through at present.
	Connected() bool
	// Shared reports whether other processes may be listening. When it is false, nobody needs to be told by way of the
	// bus what this process knows.
	Shared() bool
	// Close ends all subscriptions. Messages that were published before may be lost.
	Close() error
}

var (
	// ErrBusClosed means that the bus was closed.
	ErrBusClosed = errors.New("the bus is closed")
	// ErrBusFull means that a message was dropped because too many wait.
	ErrBusFull = errors.New("the bus has too many messages waiting")
)

// WakeSubject is where runners hear that there is work.
const WakeSubject = "ostler.wake"

// RunnerSubject is where a runner hears of executions that it is to look at; what it hears are their ids, with the prefix of their kind.
func RunnerSubject(runner models.RunnerID) string { return "ostler.r." + runner.String() }

// SessionSubject is where what happens in a session is heard.
func SessionSubject(org models.OrgID, session models.SessionID) string {
	return "ostler.s." + org.String() + "." + session.String()
}

// OrgSubject is where the feed of an organization is heard.
func OrgSubject(org models.OrgID) string { return "ostler.o." + org.String() }

// What may wait in a bus before messages are dropped.
const (
	busQueueMessages = 8192
	busQueueBytes    = 64 << 20
)
