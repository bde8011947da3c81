package commit

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

// However many commands of a batch name a wait, each of them sees each decision about it once: else two people could pass for three.
//
// Rules: W10.
func TestADecisionCountsOnceInABatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, _ := w.working()
		wait := models.NewID[models.WaitEntity]()
		decided := func(tx *Tx) {
			tx.AddDecision(models.ApprovalDecision{WaitID: wait, ActorID: models.NewID[models.ActorEntity](), Approve: true})
		}
		w.do(w.command(s, func(tx *Tx) error {
			tx.AddWait(models.Wait{ID: wait, Kind: models.WaitApproval, Identity: "i", Request: models.JSON("{}")})
			decided(tx)
			return nil
		}))
		var seen [3]int
		var list []Command
		for i := range seen {
			c := w.command(s, func(tx *Tx) error {
				decided(tx)
				seen[i] = len(tx.Decisions(wait))
				return nil
			})
			c.needs.WaitIDs = []models.WaitID{wait}
			list = append(list, c)
		}
		for _, err := range batch(w.c, list...) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if seen != [3]int{2, 3, 4} {
			t.Errorf("one decision, and then one by each command, are counted as %v", seen)
		}
	})
}
