package sessions

import (
	"context"
	"fmt"
	"strings"

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
	words := strings.TrimSpace(models.Value(comment))
	if comment = &words; words == "" {
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
	switch {
	case t.FinishedAt == nil:
		return nil, fault.New(fault.Conflict, "The turn has no answer yet: it is %s. Rate it when it has ended.", t.Status).At("input", "turnId")
	case t.StartedAt == nil:
		return nil, fault.New(fault.Conflict, "The turn was cancelled before it began, so there is nothing to rate.").At("input", "turnId")
	}
	session, err := s.Get(ctx, by.OrgID, t.SessionID)
	if err != nil {
		return nil, err
	}
	kind, actor := by.Actor()
	c := &rateTurn{seen: session.LastSequence, feedback: models.Feedback{
		OrgID: by.OrgID, TurnID: id, ActorID: actor, ActorKind: kind, SessionID: t.SessionID, Rating: rating, Comment: comment,
	}}
	have, err := store.First[models.Feedback](s.of(ctx, by.OrgID).Where("turn_id = ? AND actor_id = ?", id, actor))
	if err != nil {
		return nil, fmt.Errorf("read what %s says of turn %s: %w", actor, id, err)
	}
	if have != nil {
		c.rating, c.comment = models.Value(have.Rating), models.Value(have.Comment)
	}
	return t, s.cfg.Committer.Submit(ctx, c)
}

// FeedbackOf returns what is said about several turns, the newest first, at most 100 of each. It has an entry for every turn.
func (s *Service) FeedbackOf(ctx context.Context, org models.OrgID, turns []models.TurnID) (map[models.TurnID][]models.Feedback, error) {
	which := store.Owned{Table: "turn_feedback", Owner: "turn_id", Where: "rating IS NOT NULL", Order: "rated_at DESC, actor_id", Limit: maxFeedback}
	return store.ListOf(ctx, s.cfg.DB, org, turns, which, func(f *models.Feedback) models.TurnID { return f.TurnID })
}

type rateTurn struct {
	feedback models.Feedback
	// rating and comment are what its author said up to a sequence of the session, or later.
	rating  models.Rating
	comment string
	seen    int64
}

func (c *rateTurn) Needs() commit.Needs {
	return commit.Needs{
		Org: c.feedback.OrgID, Session: c.feedback.SessionID, Bytes: 1024 + 2*len(models.Value(c.feedback.Comment)),
		Events: &commit.EventNeed{After: c.seen, Kinds: []models.EventKind{models.EventTurnRated}},
	}
}

func (c *rateTurn) Apply(tx *commit.Tx) error {
	f := c.feedback
	if tx.Session == nil {
		return notFound(f.SessionID)
	}
	rated := events.TurnRated{
		Rating: models.Value(f.Rating), Comment: models.Value(f.Comment), ByKind: f.ActorKind, ByID: models.RefTo(f.ActorKind, f.ActorID),
	}
	said := events.TurnRated{Rating: c.rating, Comment: c.comment, ByKind: rated.ByKind, ByID: rated.ByID}
	for _, e := range tx.Events() {
		if e.Kind != models.EventTurnRated || models.Value(e.TurnID) != f.TurnID {
			continue
		}
		payload, err := events.Decode(e.Kind, e.Data)
		if err != nil {
			return fmt.Errorf("read what was said of turn %s: %w", f.TurnID, err)
		}
		if later, ok := payload.(events.TurnRated); ok && later.ByKind == rated.ByKind && later.ByID == rated.ByID {
			said = later
		}
	}
	if said == rated {
		return nil // a request that is repeated leaves no second event
	}
	if err := tx.Rate(f); err != nil {
		return err //nolint:wrapcheck // it is the committer's
	}
	tx.Emit(&f.TurnID, rated)
	return nil
}
