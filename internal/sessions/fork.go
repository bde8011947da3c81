package sessions

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

// NewFork is a session to make from the history of another one: through the end of a turn, or all of it. Without a title it gets
// that of the original.
type NewFork struct {
	SessionID      models.SessionID
	ThroughTurnID  *models.TurnID
	Title          *string
	IdempotencyKey *string `json:"-"`

	// before is the message of the turn before which the history ends; nil for no such turn.
	before *models.Message
}

// errLookAgain means that what was found out without the lock doesn't hold any more, or is not enough.
var errLookAgain = errors.New("the session was changed meanwhile")

// Fork makes a session that begins with history and files of another one, as they were at the end of the turn. Nothing that they share is
// copied but the entries of the files, which the database copies, and both go on independently. The agent's plan is taken over
// if no later turn can have changed it. The same idempotency key with the same input gives the same session again.
func (s *Service) Fork(ctx context.Context, by *auth.Principal, in NewFork) (*models.Session, error) {
	if err := text.CheckOptional(in.Title, maxTitle, "input", "title"); err != nil {
		return nil, err
	}
	if err := checkKey(in.IdempotencyKey); err != nil {
		return nil, err
	}
	for {
		c, err := s.prepareFork(ctx, by, in)
		if err != nil {
			return nil, err
		}
		if err = s.cfg.Committer.Submit(ctx, c); errors.Is(err, errLookAgain) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return s.Get(ctx, by.OrgID, c.made.SessionID)
	}
}

// prepareFork finds out, without a lock, what can be known before.
func (s *Service) prepareFork(ctx context.Context, by *auth.Principal, in NewFork) (*forkSession, error) {
	from, err := s.Get(ctx, by.OrgID, in.SessionID)
	if err != nil {
		return nil, fault.At(err, "input", "sessionId")
	}
	checked := catalog.Choice{HarnessID: &from.HarnessID, AgentID: from.AgentID, ModelID: from.ModelID} // as for a new session
	if _, err := s.cfg.Catalog.CheckSession(ctx, by, checked); err != nil {
		return nil, unusable(err)
	}
	c := &forkSession{by: by, id: models.NewID[models.SessionEntity](), in: in, checked: *from, known: from.LastSequence, most: s.cfg.Limits.Of(ctx, by.OrgID).Sessions}
	if in.IdempotencyKey != nil {
		c.key = &commit.IdempotencyKey{Operation: "forkSession", Key: *in.IdempotencyKey}
		c.hash = inputHash(in)
	}
	var pieces []events.Piece
	if from.BaseSequence > 0 {
		if pieces, err = s.lineages.Of(ctx, by.OrgID, from.ID); err != nil {
			return nil, err //nolint:wrapcheck // it says what was read
		}
	}
	if len(pieces) >= events.MaxPieces {
		return nil, fault.New(fault.LimitReached, "The session is a fork of a fork, and so on, %d times; at most %d are allowed. Fork an earlier one, or create a new session.",
			len(pieces), events.MaxPieces).At("input", "sessionId")
	}
	switch {
	case in.before != nil:
		c.through, err = s.before(ctx, from, in.before)
	case in.ThroughTurnID != nil:
		c.through, err = s.endOf(ctx, from, pieces, *in.ThroughTurnID)
	default:
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	c.cut = true
	return c, s.lookPast(ctx, c)
}

// before returns where the history of a session ends if it is cut before a turn, which began with a message: before the message, or at the end of
// the turn that it waited for.
func (s *Service) before(ctx context.Context, of *models.Session, input *models.Message) (int64, error) {
	last, err := store.First[models.Turn](s.of(ctx, of.OrgID).
		Where("session_id = ? AND started_at IS NOT NULL AND ended_sequence < ?", of.ID, *input.Position).Order("ended_sequence DESC"))
	if err != nil {
		return 0, fmt.Errorf("look for the turn before message %s: %w", input.ID, err)
	}
	through := max(input.Sequence-1, of.BaseSequence)
	if last != nil {
		through = max(through, *last.EndedSequence)
	}
	return through, nil
}

// unusable is what stands against a session with the harness, the agent and the model of the original. The input names none of them.
func unusable(err error) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	code := fault.Dependency
	if f.Code == fault.Forbidden {
		code = f.Code
	}
	return fault.New(code, "The session can't be forked as it is. %s", f.Message).At("input", "sessionId")
}

// endOf returns where the history of a session ends if it is cut at the end of a turn.
func (s *Service) endOf(ctx context.Context, of *models.Session, pieces []events.Piece, turn models.TurnID) (int64, error) {
	t, err := s.Turn(ctx, of.OrgID, turn)
	if err != nil {
		return 0, fault.At(err, "input", "throughTurnId")
	}
	switch {
	case t.SessionID != of.ID && (t.EndedSequence == nil || !pieceOf(pieces, t.SessionID, *t.EndedSequence)):
		return 0, fault.New(fault.Invalid, "The turn does not belong to the session.").At("input", "throughTurnId")
	case t.EndedSequence == nil:
		return 0, fault.New(fault.Conflict, "The turn has not ended: it is %s. Wait for its end, or fork through an earlier turn.", t.Status).
			At("input", "throughTurnId")
	case t.StartedAt == nil:
		// It may have been cancelled in the middle of another one.
		return 0, fault.New(fault.Invalid, "The turn was cancelled before it began; fork through one that has run.").At("input", "throughTurnId")
	}
	return *t.EndedSequence, nil
}

// forkSession makes a fork under the lock of the original.
type forkSession struct {
	by *auth.Principal
	id models.SessionID
	in NewFork
	// checked is the original as it was looked at, up to the sequence known.
	checked models.Session
	known   int64
	// through is the end of the turn, if one was given, and since what has happened after it, as far as known.
	through int64
	since   since
	// cut is true when the history ends at through, and not where the log does.
	cut bool
	// send is the first message of the fork; nil for none.
	send *turns.SendMessage
	// most is how many sessions the organization may have; 0 is any number.
	most int
	key  *commit.IdempotencyKey
	hash []byte

	made madeFork
}

// madeFork is what became of a fork.
type madeFork struct {
	SessionID models.SessionID `json:"session"`
	turns.Sent
}

func (c *forkSession) Needs() commit.Needs {
	n := commit.Needs{Org: c.by.OrgID, Session: c.in.SessionID, Idempotency: c.key, Bytes: 4096 + 256*len(c.since.before)}
	if c.send != nil {
		n.Bytes += c.send.Needs().Bytes
	}
	if c.cut {
		n.Events = &commit.EventNeed{After: c.known, Kinds: kindsSince}
	}
	return n
}

func (c *forkSession) Apply(tx *commit.Tx) error {
	s := tx.Session
	if s == nil {
		return notFound(c.in.SessionID).At("input", "sessionId")
	}
	if c.key != nil {
		if found, err := c.repeats(tx); err != nil || found {
			return err
		}
	}
	if s.HarnessID != c.checked.HarnessID || !models.Same(s.AgentID, c.checked.AgentID) || !models.Same(s.ModelID, c.checked.ModelID) {
		return errLookAgain
	}
	through, past := c.through, c.since.clone()
	switch {
	case !c.cut && tx.Turn != nil:
		return fault.New(fault.Conflict, "A turn of the session is active. Wait until it has ended, or set throughTurnId to the turn to fork after.").
			At("input", "sessionId")
	case !c.cut:
		through = s.LastSequence
	default:
		for _, e := range tx.Events() {
			if e.Sequence <= c.known {
				continue
			}
			if err := past.add(e); err != nil {
				return err
			}
		}
		if len(past.unknown) > 0 {
			return errLookAgain
		}
	}
	if tx.SessionsFull(c.most) {
		return sessionsFull(c.most)
	}
	child, err := tx.Fork(c.fork(s, through, past))
	if err != nil {
		return err //nolint:wrapcheck // the committer wants to see it
	}
	c.made = madeFork{SessionID: c.id}
	child.TagSession(child.Session.Tags)
	child.Emit(nil, events.SessionStarted{
		HarnessID: s.HarnessID, AgentID: s.AgentID, Title: child.Session.Title, ForkedFromID: &c.checked.ID, ThroughSequence: through,
	})
	var remembered any = c.id
	if c.send != nil {
		if err := c.send.ApplyTo(tx, child, c.id); err != nil {
			return err
		}
		c.made.Sent = c.send.Sent
		remembered = c.made
	}
	if c.key != nil {
		child.Remember(*c.key, c.hash, remembered, tx.Now+models.Millis(commit.RepeatableFor.Milliseconds()))
	}
	return nil
}

// repeats reports whether the request was answered before, and as what.
func (c *forkSession) repeats(tx *commit.Tx) (found bool, err error) {
	if c.send != nil {
		c.made, found, err = commit.Repeated[madeFork](tx, c.hash)
	} else {
		c.made.SessionID, found, err = commit.Repeated[models.SessionID](tx, c.hash)
	}
	return found, err
}

// fork is what the new session is made of.
func (c *forkSession) fork(s *models.Session, through int64, past since) commit.Fork {
	kind, by := c.by.Actor()
	f := commit.Fork{Through: through, TodosBefore: math.MaxInt64, Session: models.Session{
		ID: c.id, Title: s.Title, HarnessID: s.HarnessID, AgentID: s.AgentID, ModelID: s.ModelID, Tags: append([]string{}, s.Tags...),
		Locale: s.Locale, CustomerKey: s.CustomerKey, CreatedByKind: kind, CreatedByID: by.Ptr(), OwnerID: c.by.UserID.Ptr(),
		Setup: s.Setup, Trial: s.Trial, Status: models.SessionIdle, FileBytes: s.FileBytes + past.bytes(),
	}}
	if c.in.Title != nil {
		f.Session.Title = c.in.Title
	}
	if past.turn != nil {
		f.TodosBefore = *past.turn
	}
	f.Files, f.Gone = past.files()
	return f
}
