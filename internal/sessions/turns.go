package sessions

import (
	"context"
	"errors"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
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
	c := &cancelTurn{org: by.OrgID, session: t.SessionID, turn: id, by: by, reason: models.Value(reason)}
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

type cancelTurn struct {
	org     models.OrgID
	session models.SessionID
	turn    models.TurnID
	by      *auth.Principal
	reason  string
}

func (c *cancelTurn) Needs() commit.Needs {
	return turns.CancelNeeds(commit.Needs{Org: c.org, Session: c.session, Bytes: 4096})
}

func (c *cancelTurn) Apply(tx *commit.Tx) error {
	if tx.Session == nil {
		return turns.ErrEnded
	}
	kind, by := c.by.ActorRef()
	return turns.Cancel(tx, c.turn, models.Cancel{At: tx.Now, Reason: c.reason, ByKind: kind, ByID: by})
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
	c := &editQueued{org: by.OrgID, session: t.SessionID, turn: id, content: parts, by: by.Author(), request: auth.RequestFrom(ctx)}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return nil, err
	}
	return s.Turn(ctx, by.OrgID, id)
}

// begun refuses to change a turn that is not queued any more.
func begun(path string) error {
	return fault.New(fault.Conflict, "The turn is no longer queued. Send another message instead.").At(path)
}

type editQueued struct {
	org     models.OrgID
	session models.SessionID
	turn    models.TurnID
	content []models.Part
	by      models.Actor
	// request is the one that brought the edit; nil for none.
	request *auth.RequestInfo
}

func (c *editQueued) Needs() commit.Needs {
	n := 1024
	for i := range c.content {
		n += 256 + 2*len(c.content[i].Text)
	}
	return commit.Needs{Org: c.org, Session: c.session, Queue: true, Bytes: n}
}

func (c *editQueued) Apply(tx *commit.Tx) error {
	if tx.Session == nil || !tx.EditQueued(c.turn, c.content, c.by) {
		return begun("turnId")
	}
	entry, err := audit.Draft(c.request, audit.Entry{
		ActorKind: c.by.Kind, Actor: c.by.ID, Action: "message.edited", Target: c.turn.String(), Details: map[string]any{"sessionId": c.session.String()},
	})
	if err != nil {
		return err
	}
	tx.Record(entry)
	return nil
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
	c := &moveQueued{org: by.OrgID, session: t.SessionID, turn: id, before: models.Value(before)}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return nil, err
	}
	return s.Get(ctx, by.OrgID, t.SessionID)
}

type moveQueued struct {
	org          models.OrgID
	session      models.SessionID
	turn, before models.TurnID
}

func (c *moveQueued) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Queue: true, Bytes: 1024}
}

func (c *moveQueued) Apply(tx *commit.Tx) error {
	if tx.Session == nil || (c.turn != c.before && !tx.Reorder(c.turn, c.before)) {
		return begun("turnId")
	}
	return nil
}
