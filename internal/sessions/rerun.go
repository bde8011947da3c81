package sessions

import (
	"context"
	"errors"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

// NewRerun is a turn to run again. What is not given stays as it was: the content of its message, its model, and the title of the session.
type NewRerun struct {
	TurnID         models.TurnID
	Content        []NewPart
	ModelID        *models.ModelID
	Title          *string
	IdempotencyKey *string `json:"-"`
}

// Rerun answers the message of a turn again, in a fork that ends before the turn. It returns the fork, and the message and the turn in it. The same
// idempotency key with the same input gives the same answer again.
func (s *Service) Rerun(ctx context.Context, by *auth.Principal, in NewRerun) (*models.Session, *models.Message, *models.Turn, error) {
	if err := in.check(); err != nil {
		return nil, nil, nil, err
	}
	for {
		c, err := s.prepareRerun(ctx, by, in)
		if err != nil {
			return nil, nil, nil, err
		}
		if err = s.cfg.Committer.Submit(ctx, c); errors.Is(err, errLookAgain) {
			continue
		}
		if err != nil {
			return nil, nil, nil, ofTurn(err)
		}
		made, err := s.Get(ctx, by.OrgID, c.made.SessionID)
		if err != nil {
			return nil, nil, nil, err
		}
		m, t, err := s.sentBefore(ctx, by.OrgID, c.made.Sent)
		return made, m, t, err
	}
}

func (in *NewRerun) check() error {
	if err := text.CheckOptional(in.Title, maxTitle, "input", "title"); err != nil {
		return err
	}
	if in.Content != nil {
		if err := checkContent(in.Content, "input", "content"); err != nil {
			return err
		}
	}
	return checkKey(in.IdempotencyKey)
}

// prepareRerun finds out, without a lock, what can be known before.
func (s *Service) prepareRerun(ctx context.Context, by *auth.Principal, in NewRerun) (*forkSession, error) {
	t, err := s.Turn(ctx, by.OrgID, in.TurnID)
	if err != nil {
		return nil, fault.At(err, "input", "turnId")
	}
	input, err := s.Message(ctx, by.OrgID, t.InputMessageID)
	if err != nil {
		return nil, err
	}
	if t.StartedAt == nil || input.Position == nil {
		return nil, fault.New(fault.Conflict, "The turn has not begun: it is %s. Run one again that has.", t.Status).At("input", "turnId")
	}
	c, err := s.prepareFork(ctx, by, NewFork{SessionID: t.SessionID, Title: in.Title, before: input})
	if err != nil {
		return nil, ofTurn(err)
	}
	content, model := input.Content, t.ModelID
	if in.Content != nil {
		if content, err = s.parts(ctx, by.OrgID, in.Content, "input", "content"); err != nil {
			return nil, err
		}
	}
	if in.ModelID != nil {
		model = in.ModelID
		if _, err := s.cfg.Catalog.CheckSession(ctx, by, catalog.Choice{HarnessID: &c.checked.HarnessID, ModelID: model}); err != nil {
			return nil, err
		}
	}
	c.send = newSending(by, NewMessage{Delivery: turns.Queue, ModelID: model, MaxTokens: t.MaxTokens}, content).c
	c.send.MostQueued = s.cfg.Limits.Of(ctx, by.OrgID).QueuedTurns
	if in.IdempotencyKey != nil {
		c.key, c.hash = &commit.IdempotencyKey{Operation: "rerunTurn", Key: *in.IdempotencyKey}, inputHash(in)
	}
	return c, nil
}

// ofTurn says of the turn what a fork says of its session: the input names no session.
func ofTurn(err error) error {
	if f := fault.As(err); f != nil && len(f.Path) == 2 && f.Path[1] == "sessionId" {
		return fault.At(err, "input", "turnId")
	}
	return err
}
