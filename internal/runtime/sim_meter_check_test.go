package runtime

import (
	"encoding/json"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// checkMetered checks that each call that has begun was metered once, whatever has become of it and of who ran it, and no other.
func (w *simulation) checkMetered(r *record) {
	facts := map[models.JournalID]int{}
	for _, e := range r.metered {
		facts[e.ID]++
	}
	for _, e := range r.effects {
		if e.Kind != models.EffectTool {
			continue
		}
		call, err := turns.ReadCall(e)
		if err != nil {
			w.failf("%v", err)
			continue
		}
		var out turns.CallOutcome
		if err := json.Unmarshal(e.Outcome, &out); err != nil {
			w.failf("the outcome of %s can't be read: %v", e.ReplayKey, err)
		}
		n := facts[call.JournalID()]
		delete(facts, call.JournalID())
		ran, refused := out.Success || w.ran[call.Record.CallID] > 0, false
		for _, before := range []string{"denied: ", "approval_expired: ", "interrupted: The turn was stopped before this call"} {
			refused = refused || w.ran[call.Record.CallID] == 0 && strings.HasPrefix(out.Error, before)
		}
		if n > 1 || ran && n != 1 || refused && n != 0 {
			w.failf("call %s of %s, which ended with %.60q, was metered %d times; ran: %v, refused: %v", call.Record.CallID, call.Record.Frozen.Name,
				out.Error, n, ran, refused)
		}
		if ran {
			w.saw["call metered"]++
		}
	}
	for id := range facts {
		w.failf("%s is metered of a call that there is not", id)
	}
}
