package sessions

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

const (
	// maxComment bounds the words that go with a rating, in characters.
	maxComment = 2000
	// maxFeedback is how many say something about a turn in a list.
	maxFeedback = 100
)

// ratedDown finds the sessions of an organization with an answer that is rated down: each once, by the first of its ratings.
const ratedDown = `SELECT f.session_id FROM turn_feedback f WHERE f.org_id = ? AND f.rating = 'DOWN' AND NOT EXISTS (
	SELECT 1 FROM turn_feedback b WHERE b.org_id = f.org_id AND b.session_id = f.session_id AND b.rating = 'DOWN'
		AND (b.turn_id < f.turn_id OR b.turn_id = f.turn_id AND b.actor_id < f.actor_id))`

// RateTurn says what the caller thinks of the answer of a turn that has ended, in place of what they have said before; without a rating it takes
// that back.
func (s *Service) RateTurn(ctx context.Context, by *auth.Principal, id models.TurnID, rating *models.Rating, comment *string) (*models.Turn, error) {
	if err := text.CheckOptional(comment, maxComment, "input", "comment"); err != nil {
		return nil, err
	}
	if comment != nil && *comment == "" {
		comment = nil
	}
	if comment != nil && rating == nil {
		return nil, fault.New(fault.Invalid, "A comment goes with a rating: set rating, too.").At("input", "comment")
	}
	t, err := s.Turn(ctx, by.OrgID, id)
	if err != nil {
		return nil, fault.At(err, "input", "turnId")
	}
	// What has ended stays so, and needs no lock to be seen.
	if t.StartedAt == nil || t.FinishedAt == nil {
		return nil, fault.New(fault.Conflict, "The turn has no answer: it is %s. Rate it when it has ended.", t.Status).At("input", "turnId")
	}
	kind, actor := by.Actor()
	feedback := models.Feedback{OrgID: by.OrgID, TurnID: id, ActorID: actor, ActorKind: kind, SessionID: t.SessionID, Rating: rating, Comment: comment}
	same, err := s.saysAlready(ctx, feedback)
	if err != nil || same {
		return t, err
	}
	return t, s.cfg.Committer.Submit(ctx, &rateTurn{feedback})
}

// saysAlready reports whether a request changes nothing, so that one that is repeated leaves no second event.
func (s *Service) saysAlready(ctx context.Context, f models.Feedback) (bool, error) {
	have, err := store.First[models.Feedback](s.of(ctx, f.OrgID).Where("turn_id = ? AND actor_id = ?", f.TurnID, f.ActorID))
	if err != nil {
		return false, fmt.Errorf("read what %s says of turn %s: %w", f.ActorID, f.TurnID, err)
	}
	if have == nil {
		return f.Rating == nil, nil
	}
	return models.Same(have.Rating, f.Rating) && models.Same(have.Comment, f.Comment), nil
}

// FeedbackOf returns what is said about several turns, the newest first, at most 100 of each. It has an entry for every turn.
func (s *Service) FeedbackOf(ctx context.Context, org models.OrgID, turns []models.TurnID) (map[models.TurnID][]models.Feedback, error) {
	which := store.Owned{Table: "turn_feedback", Owner: "turn_id", Where: "rating IS NOT NULL", Order: "rated_at DESC, actor_id", Limit: maxFeedback}
	return store.ListOf(ctx, s.cfg.DB, org, turns, which, func(f *models.Feedback) models.TurnID { return f.TurnID })
}

type rateTurn struct{ feedback models.Feedback }

func (c *rateTurn) Needs() commit.Needs {
	return commit.Needs{Org: c.feedback.OrgID, Session: c.feedback.SessionID, Bytes: 1024 + 2*len(models.Value(c.feedback.Comment))}
}

func (c *rateTurn) Apply(tx *commit.Tx) error {
	f := c.feedback
	if tx.Session == nil {
		return notFound(f.SessionID)
	}
	tx.Rate(f)
	tx.Emit(&f.TurnID, events.TurnRated{
		Rating: models.Value(f.Rating), Comment: models.Value(f.Comment), ByKind: f.ActorKind, ByID: models.RefTo(f.ActorKind, f.ActorID),
	})
	return nil
}
