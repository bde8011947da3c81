package sessions

import (
	"github.com/ostler-dev/ostler/internal/fault"
)

// queueRetrySeconds is what those are told to wait for whom the line of their organization has no room.
const queueRetrySeconds = 5

func sessionsFull(most int) error {
	return fault.New(fault.LimitReached, "The organization has reached its limit of %d sessions. Ask the operator of this server to raise it.", most)
}

func turnsFull(most int) error {
	f := fault.New(fault.LimitReached, "The organization has reached its limit of %d queued turns. Send the message again when some have begun.", most)
	f.RetryAfterSeconds = queueRetrySeconds
	return f
}

// mostWaiting is how many turns may wait for this message to make another one. As in the line of a session, what is to stop the active turn
// has room beyond.
func (c *sendMessage) mostWaiting() int {
	if c.in.Delivery == Interrupt {
		return 2 * c.most
	}
	return c.most
}
