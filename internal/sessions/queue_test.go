package sessions

import (
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// However often turns of a line are moved, they stand as people put them.
//
// Rules: D8.
func TestALineStaysAsItWasPut(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create()
		var line []models.TurnID
		for range 4 {
			_, turn, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s.ID, Content: []NewPart{Text("x")}, Delivery: turns.Queue})
			if err != nil {
				t.Fatal(err)
			}
			line = append(line, turn.ID)
		}
		line = line[1:] // the first one is at work
		move := func(from, before int) {
			t.Helper()
			id, at := line[from], line[before]
			if _, err := e.svc.MoveQueuedTurn(t.Context(), e.by, id, &at); err != nil {
				t.Fatal(err)
			}
			line = slices.Delete(line, from, from+1)
			line = slices.Insert(line, slices.Index(line, at), id)
			list, err := e.svc.QueuedTurns(t.Context(), e.by.OrgID, s.ID)
			if err != nil {
				t.Fatal(err)
			}
			for i, turn := range list {
				if turn.ID != line[i] {
					t.Fatalf("turn %d of the line is %s, not %s", i, turn.ID, line[i])
				}
			}
		}
		for range 20 {
			move(2, 0)
		}
		for range 40 {
			move(0, 2)
		}
	})
}
