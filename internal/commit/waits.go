package commit

import (
	"bytes"
	"maps"
	"slices"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// Wait returns a wait that Needs named, or that the current turn waits for; false when the session has none with this id.
func (tx *Tx) Wait(id models.WaitID) (models.Wait, bool) {
	w, ok := tx.waits[id]
	return w, ok
}

// OpenWaits returns what the current turn waits for, oldest first, for commands whose Needs say so.
func (tx *Tx) OpenWaits() []models.Wait {
	var list []models.Wait
	for _, w := range tx.waits {
		if w.State == models.WaitOpen && tx.Turn != nil && w.TurnID == tx.Turn.ID {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b models.Wait) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return list
}

// AddWait adds something that the current turn waits for.
func (tx *Tx) AddWait(w models.Wait) {
	w.OrgID, w.SessionID, w.TurnID, w.State, w.CreatedAt = tx.org, tx.sessionID, tx.Turn.ID, models.WaitOpen, tx.Now
	insertWait.put(tx.w, w)
	tx.waits[w.ID] = w
}

// SaveWait changes state, resolution, request and approvals of a wait.
func (tx *Tx) SaveWait(w models.Wait) {
	updateWait.put(tx.w, w)
	tx.waits[w.ID] = w
}

// Decisions returns what was decided about an approval that Needs named.
func (tx *Tx) Decisions(id models.WaitID) []models.ApprovalDecision { return tx.decisions[id] }

// AddDecision adds what one person decided.
func (tx *Tx) AddDecision(d models.ApprovalDecision) {
	d.OrgID, d.CreatedAt = tx.org, tx.Now
	insertDecision.put(tx.w, d)
	tx.decisions[d.WaitID] = append(slices.Clip(tx.decisions[d.WaitID]), d)
}

// WaitsKnown reports whether OpenWaits gives all that the current turn waits for. When it is false, the command returns ErrMore.
func (tx *Tx) WaitsKnown() bool {
	if !tx.waitsComplete {
		_ = tx.lacks(lackWaits)
	}
	return tx.waitsComplete
}

// Park releases the lease of the current turn until something that it waits for is resolved. It takes no runner, no memory and no
// connection meanwhile.
func (tx *Tx) Park(waits []events.WaitSummary) {
	tx.park(waits)
	tx.Session.Status = models.SessionWaiting
	tx.Emit(&tx.Turn.ID, events.SessionWaiting{})
}

// Pause is Park for a turn that waits until somebody lets it go on past the soft limit of a budget.
func (tx *Tx) Pause(waits []events.WaitSummary, budget models.BudgetID) {
	tx.park(waits)
	tx.Session.Status = models.SessionPaused
	tx.Emit(&tx.Turn.ID, events.SessionPaused{BudgetID: budget})
}

func (tx *Tx) park(waits []events.WaitSummary) {
	t := tx.Turn
	t.Status, t.RunnerID, t.ReadyAt, t.Attention = models.TurnWaiting, nil, nil, false
	// Nothing that its runner has still to say may be committed.
	t.LeaseEpoch++
	tx.Emit(&t.ID, events.TurnWaiting{Waits: waits})
}

// Resume puts the current turn, which is parked, into the queue.
func (tx *Tx) Resume() {
	t := tx.Turn
	t.Status, t.ReadyAt = models.TurnRunning, tx.Now.Ptr()
	tx.Session.Status = models.SessionActive
	tx.Emit(&t.ID, events.SessionResumed{})
	tx.Emit(&t.ID, events.TurnResumed{})
	tx.w.ready = true
}

// Attend makes the runner of the current turn look at it, if one holds it.
func (tx *Tx) Attend() {
	if tx.Turn.RunnerID != nil {
		tx.Turn.Attention = true
		tx.w.attention = true
	}
}

// cloneKnown clones what a command may change of calls, waits and decisions.
func (tx *Tx) cloneKnown() {
	tx.calls, tx.waits, tx.decisions = maps.Clone(tx.calls), maps.Clone(tx.waits), maps.Clone(tx.decisions)
	tx.payments = maps.Clone(tx.payments)
}
