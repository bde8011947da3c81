package sessions

import (
	"context"
	"errors"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

// maxReason bounds the words that go with a cancel, in characters.
const maxReason = 500

// CancelTurn ends a turn: at once when it is queued, waits, or no runner holds it, else its runner ends it within seconds. It returns the
// turn as it stands then. A turn that has ended is a CONFLICT; repeating a cancel changes nothing.
func (s *Service) CancelTurn(ctx context.Context, by *auth.Principal, id models.TurnID, reason *string) (*models.Turn, error) {
	if err := text.CheckOptional(reason, maxReason, "reason"); err != nil {
		return nil, err
	}
	t, err := s.Turn(ctx, by.OrgID, id)
	if err != nil {
		return nil, fault.At(err, "turnId")
	}
	c := &turns.CancelTurn{By: by, Session: t.SessionID, Turn: id, Reason: models.Value(reason)}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		if errors.Is(err, turns.ErrEnded) {
			return s.endedTurn(ctx, by.OrgID, id)
		}
		return nil, err
	}
	return s.Turn(ctx, by.OrgID, id)
}

// endedTurn answers a cancel that came too late. One that repeats the cancel which ended the turn has what it wants.
func (s *Service) endedTurn(ctx context.Context, org models.OrgID, id models.TurnID) (*models.Turn, error) {
	t, err := s.Turn(ctx, org, id)
	if err != nil || t.Status == models.TurnCancelled {
		return t, err
	}
	return nil, fault.New(fault.Conflict, "The turn has ended already: it is %s.", t.Status).At("turnId")
}

// EditQueuedTurn replaces the message of a turn that is queued behind another one. A turn that has begun is a CONFLICT.
func (s *Service) EditQueuedTurn(ctx context.Context, by *auth.Principal, id models.TurnID, content []NewPart) (*models.Turn, error) {
	t, err := s.Turn(ctx, by.OrgID, id)
	if err != nil {
		return nil, fault.At(err, "turnId")
	}
	if err := checkContent(content, "content"); err != nil {
		return nil, err
	}
	parts, err := s.parts(ctx, by.OrgID, content, "content")
	if err != nil {
		return nil, err
	}
	c := &turns.EditQueued{By: by, Session: t.SessionID, Turn: id, Content: parts, Request: auth.RequestFrom(ctx)}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return nil, err
	}
	return s.Turn(ctx, by.OrgID, id)
}

// MoveQueuedTurn puts a queued turn before another one of its session, or last. A turn that has begun is a CONFLICT.
func (s *Service) MoveQueuedTurn(ctx context.Context, by *auth.Principal, id models.TurnID, before *models.TurnID) (*models.Session, error) {
	t, err := s.Turn(ctx, by.OrgID, id)
	if err != nil {
		return nil, fault.At(err, "turnId")
	}
	if before != nil {
		other, err := s.Turn(ctx, by.OrgID, *before)
		if err != nil {
			return nil, fault.At(err, "before")
		}
		if other.SessionID != t.SessionID {
			return nil, fault.New(fault.Invalid, "The two turns belong to different sessions.").At("before")
		}
	}
	c := &turns.MoveQueued{Org: by.OrgID, Session: t.SessionID, Turn: id, Before: models.Value(before)}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return nil, err
	}
	return s.Get(ctx, by.OrgID, t.SessionID)
}
