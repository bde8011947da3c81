package runtime

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
)

// unheard is a queue in which the runner holds something.
type unheard struct {
	Queue

	held     []queue.Held
	released []queue.Held
}

func (q *unheard) Held(context.Context, models.RunnerID) ([]queue.Held, error) { return q.held, nil }

func (q *unheard) Release(_ context.Context, h queue.Held) error {
	q.released = append(q.released, h)
	return nil
}

// A runner that was declared dead starts over under a new id, claims its own turn back, and the answer gets lost while the earlier
// run of that turn comes to its end here: the turn is at work under an epoch that is over, and nobody has the present one.
func TestAClaimThatNobodyHeardOfIsToldFromAnEarlierOne(t *testing.T) {
	q := &unheard{}
	e := New(Config{Queue: q, Logger: slog.New(slog.DiscardHandler)})
	turn := func() queue.Held {
		return queue.HeldTurn(&models.Turn{ID: models.NewID[models.TurnEntity](), LeaseEpoch: 3})
	}
	under := func(h queue.Held, epoch int64) {
		e.running[h.Execution] = &slot{lease: commit.Lease{Execution: h.Execution, Epoch: epoch}}
	}
	working, beginning, earlier, unknown := turn(), turn(), turn(), turn()
	q.held = []queue.Held{working, beginning, earlier, unknown}
	under(working, 3)
	under(beginning, 0) // a message is about to be accepted for it
	under(earlier, 1)
	if e.releaseUnheard(t.Context()) {
		t.Error("it is settled although nobody knows yet what becomes of the message")
	}
	if want := []queue.Held{earlier, unknown}; !slices.Equal(q.released, want) {
		t.Errorf("given back are %v, want %v", q.released, want)
	}
	q.held = q.held[:1]
	if !e.releaseUnheard(t.Context()) {
		t.Error("it is not settled")
	}
}
