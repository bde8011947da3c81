package sessions

import (
	"context"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Sending is the command of one Send, and its slot. Simulations of the engine submit it themselves.
type Sending struct {
	c *turns.SendMessage
	// slot has the turn when the command claims it; nil when none is free.
	slot Slot
}

// NewSending makes the command. content is what the message's parts stand for. dispatch may have a slot that claims the turn; nil
// where no turns run.
func NewSending(ctx context.Context, by *auth.Principal, in NewMessage, content []models.Part, dispatch Dispatcher) *Sending {
	s := newSending(by, in, content)
	s.reserve(ctx, dispatch)
	return s
}

func newSending(by *auth.Principal, in NewMessage, content []models.Part) *Sending {
	c := &turns.SendMessage{
		By: by, SessionID: in.SessionID, Delivery: in.Delivery, Content: content, ModelID: in.ModelID, MaxTokens: in.MaxTokens,
		MessageID: models.NewID[models.MessageEntity](), TurnID: models.NewID[models.TurnEntity](),
	}
	if in.IdempotencyKey != nil {
		c.Key, c.Hash = &commit.IdempotencyKey{Operation: "sendMessage", Key: *in.IdempotencyKey}, in.hash()
	}
	return &Sending{c: c}
}

// reserve takes a slot that may claim the turn. Done gives it back, also when the preparation panicked.
func (s *Sending) reserve(ctx context.Context, dispatch Dispatcher) {
	if dispatch == nil {
		return
	}
	if slot, ok := dispatch.Reserve(s.c.By.OrgID, s.c.TurnID); ok {
		s.slot = slot
		s.c.Claim = slot.Prepare(ctx, s.c)
	}
}

// Command is what to submit.
func (s *Sending) Command() commit.Command { return s.c }

// Again reports whether to submit it once more, after an error.
func (s *Sending) Again(err error) bool { return s.c.Again(err) }

// Sent is what the sender is told when the command was committed.
func (s *Sending) Sent() turns.Sent { return s.c.Sent }

// Done hands the turn to the slot that has claimed it, or gives the slot back. committed is how Submit ended.
func (s *Sending) Done(committed error) {
	switch {
	case s.slot == nil:
	case committed == nil && s.c.Claimed:
		s.slot.Run(s.c.Turn, &s.c.Session, &s.c.Message)
	default:
		s.slot.Free()
	}
	s.slot = nil
}
