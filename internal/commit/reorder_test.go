package commit

import (
	"math/rand/v2"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

// However often turns are moved, also in front of the first that ever was, the positions by which the database orders the line say the
// same as the line that was announced.
//
// Rules: D8.
func TestPositionsFollowTheLine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		tx := &Tx{Session: &models.Session{LastSequence: 3}, w: &writes{}, queueComplete: true}
		for range 5 {
			tx.Session.LastSequence++
			tx.queue = append(tx.queue, &models.Turn{ID: models.NewID[models.TurnEntity](), QueuePosition: tx.Session.LastSequence * positionStep})
		}
		for move := range 500 {
			// Some go to the front, and then many to the same place, where the room gets small.
			before := tx.queue[min(1, move%50/10)].ID
			if random.IntN(40) == 0 {
				before = models.TurnID{}
			}
			moved := tx.queue[2+random.IntN(3)].ID
			if moved != before && !tx.Reorder(moved, before) {
				t.Fatal("a queued turn can't be moved")
			}
			for i := 1; i < len(tx.queue); i++ {
				if a, b := tx.queue[i-1].QueuePosition, tx.queue[i].QueuePosition; a >= b {
					t.Fatalf("after %d moves the turns %d and %d of the line are at %d and %d", move+1, i, i+1, a, b)
				}
			}
			if last, next := tx.queue[4].QueuePosition, (tx.Session.LastSequence+1)*positionStep; last >= next {
				t.Fatalf("after %d moves the last turn is at %d, and one that is added would come before it, at %d", move+1, last, next)
			}
		}
	}
}
