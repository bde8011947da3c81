package turns

import (
	"fmt"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

func notFound(id fmt.Stringer) *fault.Error { return fault.New(fault.NotFound, "There is no %s.", id) }

// CancelTurn asks for the end of a turn. The error is ErrEnded when the turn has ended.
type CancelTurn struct {
	By      *auth.Principal
	Session models.SessionID
	Turn    models.TurnID
	Reason  string
}

// Needs implements commit.Command.
func (c *CancelTurn) Needs() commit.Needs {
	return cancelNeeds(commit.Needs{Org: c.By.OrgID, Session: c.Session, Bytes: 4096})
}

// Apply implements commit.Command.
func (c *CancelTurn) Apply(tx *commit.Tx) error {
	if tx.Session == nil {
		return ErrEnded
	}
	kind, by := c.By.ActorRef()
	return Cancel(tx, c.Turn, models.Cancel{At: tx.Now, Reason: c.Reason, ByKind: kind, ByID: by})
}

// EditQueued replaces the message of a queued turn.
type EditQueued struct {
	By      *auth.Principal
	Session models.SessionID
	Turn    models.TurnID
	Content []models.Part
	// Request is the one that brought the edit; nil for none.
	Request *auth.RequestInfo
}

// Needs implements commit.Command.
func (c *EditQueued) Needs() commit.Needs {
	return commit.Needs{Org: c.By.OrgID, Session: c.Session, Queue: true, Bytes: 1024 + 3*sizeOf(c.Content)}
}

// Apply implements commit.Command.
func (c *EditQueued) Apply(tx *commit.Tx) error {
	by := c.By.Author()
	if tx.Session == nil || !tx.EditQueued(c.Turn, c.Content, by) {
		return begun()
	}
	entry, err := audit.Draft(c.Request, audit.Entry{
		ActorKind: by.Kind, Actor: by.ID, Action: "message.edited", Target: c.Turn.String(), Details: map[string]any{"sessionId": c.Session.String()},
	})
	if err != nil {
		return err
	}
	tx.Record(entry)
	return nil
}

// MoveQueued puts a queued turn before another one, or last when Before is zero.
type MoveQueued struct {
	Org          models.OrgID
	Session      models.SessionID
	Turn, Before models.TurnID
}

// Needs implements commit.Command.
func (c *MoveQueued) Needs() commit.Needs {
	return commit.Needs{Org: c.Org, Session: c.Session, Queue: true, Bytes: 1024}
}

// Apply implements commit.Command.
func (c *MoveQueued) Apply(tx *commit.Tx) error {
	if tx.Session == nil || (c.Turn != c.Before && !tx.Reorder(c.Turn, c.Before)) {
		return begun()
	}
	return nil
}

// begun refuses to change a turn that is not queued any more.
func begun() error {
	return fault.New(fault.Conflict, "The turn is no longer queued. Send another message instead.").At("turnId")
}
