package sessions

import (
	"github.com/ostler-dev/ostler/internal/fault"
)

// queueRetrySeconds is what those are told to wait for whom the line of their organization has no room.
const queueRetrySeconds = 5

func sessionsFull(most int) error {
	return fault.New(fault.LimitReached, "The organization has as many sessions as it may have: %d. Ask the operator of this server for more.", most)
}

func turnsFull(most int) error {
	f := fault.New(fault.LimitReached, "As many turns of the organization wait to begin as may: %d. Send the message again when some have begun.", most)
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
