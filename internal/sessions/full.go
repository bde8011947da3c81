package sessions

import (
	"github.com/ostler-dev/ostler/internal/fault"
)

// queueRetrySeconds is how long to wait when the organization's limit of queued turns is reached.
const queueRetrySeconds = 5

func sessionsFull(most int) error {
	return fault.New(fault.LimitReached, "The organization has reached its limit of %d sessions. Ask the operator of this server to raise it.", most)
}

func turnsFull(most int) error {
	f := fault.New(fault.LimitReached, "The organization has reached its limit of %d queued turns. Send the message again when some have begun.", most)
	f.RetryAfterSeconds = queueRetrySeconds
	return f
}

// mostWaiting is how many queued turns the organization may have for this message to make another one. As in the queue of a session, a message
// that interrupts the active turn may go up to twice the limit.
func (c *sendMessage) mostWaiting() int {
	if c.in.Delivery == Interrupt {
		return 2 * c.most
	}
	return c.most
}
