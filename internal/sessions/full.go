package sessions

import (
	"github.com/ostler-dev/ostler/internal/fault"
)

func sessionsFull(most int) error {
	return fault.New(fault.LimitReached, "The organization has reached its limit of %d sessions. Ask the operator of this server to raise it.", most)
}
