package sessions

import (
	"context"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
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
	Delivery       turns.Delivery
	ModelID        *models.ModelID
	MaxTokens      *int
	IdempotencyKey *string `json:"-"`
}

// Send accepts a message. It returns when the message is durable; the turn runs in the background.
func (s *Service) Send(ctx context.Context, by *auth.Principal, in NewMessage) (*models.Message, *models.Turn, error) {
	if err := in.check(); err != nil {
		return nil, nil, err
	}
	if in.Delivery == "" {
		in.Delivery = turns.Steer
	}
	if in.ModelID != nil {
		if err := s.checkModel(ctx, by, in); err != nil {
			return nil, nil, err
		}
	}
	content, err := s.parts(ctx, by.OrgID, in.Content, "input", "content")
	if err != nil {
		return nil, nil, err
	}
	sending := newSending(by, in, content)
	c := sending.c
	c.MostQueued = s.cfg.Limits.Of(ctx, by.OrgID).QueuedTurns
	defer func() { sending.Done(err) }()
	sending.reserve(ctx, s.cfg.Dispatch)
	err = s.cfg.Committer.Submit(ctx, c)
	if c.Again(err) {
		err = s.cfg.Committer.Submit(ctx, c)
	}
	if err != nil {
		return nil, nil, err
	}
	if c.Repeats {
		return s.sentBefore(ctx, by.OrgID, c.Sent)
	}
	return &c.Message, &c.Turn, nil
}

func (s *Service) checkModel(ctx context.Context, by *auth.Principal, in NewMessage) error {
	session, err := s.Get(ctx, by.OrgID, in.SessionID)
	if err != nil {
		return fault.At(err, "input", "sessionId")
	}
	_, err = s.cfg.Catalog.CheckSession(ctx, by, catalog.Choice{HarnessID: &session.HarnessID, ModelID: in.ModelID})
	return err
}

// sentBefore answers a repeated request with what became of the first one.
func (s *Service) sentBefore(ctx context.Context, org models.OrgID, sent turns.Sent) (*models.Message, *models.Turn, error) {
	m, err := s.Message(ctx, org, sent.MessageID)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Turn(ctx, org, sent.TurnID)
	return m, t, err
}
