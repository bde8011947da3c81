package sessions

import (
	"context"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
)

// Sending is the command of one Send, and its slot. Simulations of the engine submit it themselves.
type Sending struct{ c *sendMessage }

// NewSending makes the command. content is what the message's parts stand for. dispatch may have a slot that claims the turn; nil
// where no turns run.
func NewSending(ctx context.Context, by *auth.Principal, in NewMessage, content []models.Part, dispatch Dispatcher) *Sending {
	s := &Sending{newSendMessage(by, in, content)}
	s.reserve(ctx, dispatch)
	return s
}

// reserve takes a slot that may claim the turn. Done gives it back, also when the preparation panicked.
func (s *Sending) reserve(ctx context.Context, dispatch Dispatcher) {
	if dispatch == nil {
		return
	}
	if slot, ok := dispatch.Reserve(s.c.org, s.c.turn); ok {
		s.c.slot = slot
		slot.Prepare(ctx, s.c.org, s.c.in.SessionID, s.c.in.ModelID)
	}
}

// Command is what to submit.
func (s *Sending) Command() commit.Command { return s.c }

// Again reports whether to submit it once more, after an error.
func (s *Sending) Again(err error) bool { return s.c.again(err) }

// Sent is what the sender is told when the command was committed.
func (s *Sending) Sent() Sent { return s.c.sent }

// Done hands the turn to the slot that has claimed it, or gives the slot back. committed is how Submit ended.
func (s *Sending) Done(committed error) {
	switch {
	case s.c.slot == nil:
	case committed == nil && s.c.claimed:
		s.c.slot.Run(s.c.sentTurn, &s.c.session, &s.c.sentMessage)
	default:
		s.c.slot.Free()
	}
	s.c.slot = nil
}
