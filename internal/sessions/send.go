package sessions

import (
	"context"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// Delivery is how a message meets a session that is at work.
type Delivery string

// The deliveries.
const (
	// Steer joins the active turn at its next step boundary, and starts a turn when none is active.
	Steer Delivery = "STEER"
	// Queue makes a turn of its own, behind those that wait.
	Queue Delivery = "QUEUE"
)

// NewPart is a piece of a message to send: exactly one field is set.
type NewPart struct {
	Text    *string         `json:",omitempty"`
	ImageID *models.ImageID `json:",omitempty"`
}

// Text makes a piece of text.
func Text(s string) NewPart { return NewPart{Text: &s} }

// NewMessage is a message to send.
type NewMessage struct {
	SessionID      models.SessionID
	Content        []NewPart
	Delivery       Delivery
	ModelID        *models.ModelID
	MaxTokens      *int
	IdempotencyKey *string `json:"-"`
}

// Sent names the message and the turn that carries it.
type Sent struct {
	MessageID models.MessageID `json:"message"`
	TurnID    models.TurnID    `json:"turn"`
}

// Send accepts a message. It returns when the message is durable; the turn runs in the background.
func (s *Service) Send(ctx context.Context, by *auth.Principal, in NewMessage) (*models.Message, *models.Turn, error) {
	if err := in.check(); err != nil {
		return nil, nil, err
	}
	if in.ModelID != nil {
		if err := s.checkModel(ctx, by.OrgID, in); err != nil {
			return nil, nil, err
		}
	}
	content, err := s.parts(ctx, by.OrgID, in.Content)
	if err != nil {
		return nil, nil, err
	}
	c := &sendMessage{org: by.OrgID, in: in, content: content, message: models.NewID[models.MessageEntity](), turn: models.NewID[models.TurnEntity]()}
	if in.IdempotencyKey != nil {
		c.key = &commit.IdempotencyKey{Operation: "sendMessage", Key: *in.IdempotencyKey}
		c.hash = in.hash()
	}
	if s.cfg.Dispatch != nil {
		if slot, ok := s.cfg.Dispatch.Reserve(by.OrgID, c.turn); ok {
			c.slot = slot
			defer func() {
				if c.slot != nil {
					slot.Free()
				}
			}()
			slot.Prepare(ctx, by.OrgID, in.SessionID, in.ModelID)
		}
	}
	err = s.cfg.Committer.Submit(ctx, c)
	if err == nil && c.claimed {
		c.slot.Run(c.sentTurn, &c.session, &c.sentMessage)
		c.slot = nil
	}
	if err != nil {
		return nil, nil, err
	}
	if c.repeats {
		return s.sentBefore(ctx, by.OrgID, c.sent)
	}
	return &c.sentMessage, &c.sentTurn, nil
}

func (s *Service) checkModel(ctx context.Context, org models.OrgID, in NewMessage) error {
	session, err := s.Get(ctx, org, in.SessionID)
	if f := fault.As(err); f != nil {
		return f.At("input", "sessionId")
	}
	if err != nil {
		return err
	}
	_, err = s.cfg.Catalog.CheckSession(ctx, org, catalog.Choice{HarnessID: &session.HarnessID, ModelID: in.ModelID})
	return err
}

// sentBefore answers a repeated request with what became of the first one.
func (s *Service) sentBefore(ctx context.Context, org models.OrgID, sent Sent) (*models.Message, *models.Turn, error) {
	m, err := s.Message(ctx, org, sent.MessageID)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Turn(ctx, org, sent.TurnID)
	return m, t, err
}

// sendMessage accepts a message: into the inbox of the turn that is at work, or as a turn of its own.
type sendMessage struct {
	org     models.OrgID
	in      NewMessage
	content []models.Part
	message models.MessageID
	turn    models.TurnID
	key     *commit.IdempotencyKey
	hash    []byte
	// slot claims the turn at once when it is at the head of the line, and begins it; nil when none is free.
	slot Slot

	// What was decided, set anew by each Apply.
	sent        Sent
	repeats     bool
	claimed     bool
	sentMessage models.Message
	sentTurn    models.Turn
	session     models.Session
}

func (c *sendMessage) Needs() commit.Needs {
	n := 1024
	for i := range c.content {
		n += 256 + 2*len(c.content[i].Text)
	}
	return commit.Needs{Org: c.org, Session: c.in.SessionID, Idempotency: c.key, Bytes: n}
}

func (c *sendMessage) Apply(tx *commit.Tx) error {
	c.claimed, c.repeats = false, false
	if tx.Session == nil {
		return notFound(c.in.SessionID).At("input", "sessionId")
	}
	if c.key != nil {
		sent, found, err := repeated[Sent](tx, c.hash)
		if err != nil {
			return err
		}
		if found {
			c.sent, c.repeats = sent, true
			return nil
		}
	}
	steer := c.in.Delivery != Queue && tx.Turn != nil
	if !steer && tx.Session.QueuedTurns >= MaxQueuedTurns {
		return fault.New(fault.LimitReached, "The session has %d queued turns already; wait until some have run.", tx.Session.QueuedTurns)
	}
	turn := c.turn
	if steer {
		turn = tx.Turn.ID
	}
	m := models.Message{
		OrgID: c.org, ID: c.message, SessionID: c.in.SessionID, TurnID: turn, Role: models.MessageUser, Content: c.content, CreatedAt: tx.Now,
	}
	m.Sequence = tx.Emit(&turn, events.MessageReceived{
		Message:  events.Message{ID: m.ID, Role: m.Role, Content: m.Content, CreatedAt: m.CreatedAt},
		Delivery: string(c.in.Delivery),
	})
	tx.AddMessage(m)
	if steer {
		tx.Steer(m.ID)
		if c.in.ModelID != nil {
			tx.SteerModel(c.in.ModelID)
		}
		c.sentTurn = *tx.Turn
	} else {
		t := models.Turn{
			OrgID: c.org, ID: c.turn, SessionID: c.in.SessionID, InputMessageID: m.ID, ModelID: c.in.ModelID, MaxTokens: c.in.MaxTokens,
			QueuedAt: tx.Now, Status: models.TurnQueued,
		}
		c.sentTurn = t
		if tx.AddTurn(t) {
			if c.slot != nil {
				tx.ClaimTurn(c.slot.RunnerID())
				if err := c.slot.Begin(tx); err != nil {
					return err
				}
				c.claimed, c.session = true, *tx.Session
			}
			c.sentTurn = *tx.Turn
		}
	}
	c.sentMessage, c.sent = m, Sent{MessageID: m.ID, TurnID: turn}
	if c.key != nil {
		tx.Remember(*c.key, c.hash, c.sent, tx.Now+models.Millis(idempotencyFor.Milliseconds()))
	}
	return nil
}
