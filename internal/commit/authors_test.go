package commit

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

// The turn that begins with what another one was not shown is started by who said it first: a person, a key, or, in a row from before there
// were keys, whoever the id is of.
func TestAuthorsOfTheInboxStartTheNextTurn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		actor := func(kind models.ActorKind) *models.Actor {
			return &models.Actor{Kind: kind, ID: models.NewID[models.ActorEntity]()}
		}
		for _, c := range []struct {
			author *models.Actor
			old    bool
			want   models.ActorKind
		}{
			{actor(models.ActorUser), false, models.ActorUser},
			{actor(models.ActorAPIKey), false, models.ActorAPIKey},
			{actor(models.ActorUser), true, models.ActorUser},
		} {
			s, l := w.working()
			w.do(w.step(s, l))
			m := newMessage()
			m.author, m.old = c.author, c.old
			w.do(w.send(s, m))
			if m.got != models.TurnID(l.ID) {
				t.Fatalf("the message did not join turn %s, but %s", models.TurnID(l.ID), m.got)
			}
			w.do(w.end(s, l))
			next := w.readTurn(*w.readSession(s).CurrentTurnID)
			if next.InputMessageID != m.id || next.StartedByKind != c.want || next.StartedByID == nil || *next.StartedByID != c.author.ID {
				t.Errorf("%+v: the turn is %+v", c, next)
			}
		}
	})
}

// Messages that go from one turn to another bring the authors along, so that an approval of the other one knows them.
func TestAuthorsComeWithTheirMessages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		w.do(w.step(s, l))
		var authors []models.Actor
		for range 3 {
			m := newMessage()
			m.author = &models.Actor{Kind: models.ActorUser, ID: models.NewID[models.ActorEntity]()}
			authors = append(authors, *m.author)
			w.do(w.send(s, m))
		}
		w.do(w.end(s, l))
		next := w.readTurn(*w.readSession(s).CurrentTurnID)
		for i, a := range authors {
			if !next.AuthoredBy(a) {
				t.Errorf("author %d is not one of the turn: %+v", i, next)
			}
		}
	})
}
