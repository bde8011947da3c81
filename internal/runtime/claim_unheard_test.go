package runtime

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

// unheard is a queue in which the runner holds turns.
type unheard struct {
	Queue

	held     []models.Turn
	released []models.TurnID
}

func (q *unheard) Held(context.Context, models.RunnerID) ([]models.Turn, error) { return q.held, nil }

func (q *unheard) Release(_ context.Context, t models.Turn) error {
	q.released = append(q.released, t.ID)
	return nil
}

// A runner that was declared dead starts over under a new id, claims its own turn back, and the answer gets lost while the earlier
// run of that turn comes to its end here: the turn is at work under an epoch that is over, and nobody has the present one.
func TestAClaimThatNobodyHeardOfIsToldFromAnEarlierOne(t *testing.T) {
	turn := func() models.Turn { return models.Turn{ID: models.NewID[models.TurnEntity](), LeaseEpoch: 3} }
	working, beginning, earlier, unknown := turn(), turn(), turn(), turn()
	q := &unheard{held: []models.Turn{working, beginning, earlier, unknown}}
	e := New(Config{Queue: q, Logger: slog.New(slog.DiscardHandler)})
	e.running[working.ID] = &slot{turn: working.ID, epoch: 3}
	e.running[beginning.ID] = &slot{turn: beginning.ID} // a message is about to be accepted for it
	e.running[earlier.ID] = &slot{turn: earlier.ID, epoch: 1}
	if e.releaseUnheard(t.Context()) {
		t.Error("it is settled although nobody knows yet what becomes of the message")
	}
	if want := []models.TurnID{earlier.ID, unknown.ID}; !slices.Equal(q.released, want) {
		t.Errorf("given back are %v, want %v", q.released, want)
	}
	q.held = q.held[:1]
	if !e.releaseUnheard(t.Context()) {
		t.Error("it is not settled")
	}
}
