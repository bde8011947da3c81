package runtime

import (
	"bytes"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// checkWaits checks what holds at any time of what is waited for: it ends once, with its turn or before, and whoever waits for it waits
// exactly as long.
func (c *checks) checkWaits(w *simulation, r *record) {
	for id := range c.waits {
		if _, there := r.waits[id]; !there {
			w.failf("wait %s is gone", id)
		}
	}
	for id, wait := range r.waits {
		c.checkWait(w, r, id, wait)
	}
	for id := range w.told.announced {
		if _, there := r.waits[id]; !there {
			w.failf("a tool has the key of wait %s, which is not there", id)
		}
	}
}

func (c *checks) checkWait(w *simulation, r *record, id models.WaitID, wait models.Wait) {
	t, open := r.turns[wait.TurnID], wait.State == models.WaitOpen
	if was, ended := c.waits[id]; ended && was.State != models.WaitOpen &&
		(was.State != wait.State || *was.ResolvedAt != orZero(wait.ResolvedAt) || !bytes.Equal(was.Resolution, wait.Resolution)) {
		w.failf("wait %s has ended as %s, and is %s now, with %s after %s", wait.Identity, was.State, wait.State, wait.Resolution, was.Resolution)
	}
	if open != (wait.ResolvedAt == nil) || open != (wait.Resolution == nil) {
		w.failf("wait %s is %s, with an end %v and a resolution %q", wait.Identity, wait.State, wait.ResolvedAt != nil, wait.Resolution)
		return
	}
	c.waits[id] = wait
	switch {
	case t.FinishedAt != nil && open:
		w.failf("turn %s is %s, and its wait for %s %s is open", t.ID, t.Status, wait.Kind, wait.Identity)
	case t.FinishedAt != nil && *wait.ResolvedAt > *t.FinishedAt:
		w.failf("wait %s has ended %d ms after its turn", wait.Identity, *wait.ResolvedAt-*t.FinishedAt)
	case open && !turns.ReadRequest(wait).Parked && !t.Announced:
		w.failf("turn %s doesn't know that it has announced %s", t.ID, wait.Identity)
	}
	if open && (w.told.late[id] || w.told.expired[id]) {
		w.failf("wait %s is open, though somebody was too late for it: %v, or its time was over: %v", wait.Identity, w.told.late[id], w.told.expired[id])
	}
	if won, told := w.told.won[id]; told {
		if with := turns.ReadResolution(wait); wait.State != won.state || !bytes.Equal(with.Value, won.with.Value) || with.ErrorCode != won.with.ErrorCode {
			w.failf("wait %s was resolved as %+v, and is %s with %s", wait.Identity, won, wait.State, wait.Resolution)
		}
	}
	if wait.State == models.WaitTimeout {
		w.saw["timeouts"]++
		if wait.Deadline == nil || *wait.ResolvedAt < *wait.Deadline {
			w.failf("the time of wait %s was over at %d, its deadline is %d", wait.Identity, *wait.ResolvedAt, orZero(wait.Deadline))
		}
		if turns.ReadRequest(wait).FailTurn && (t.Status != models.TurnFailed || t.Error == nil || t.Error.Code != "wait_timeout") {
			w.failf("the time of wait %s was over, and its turn, which was to fail, is %s", wait.Identity, t.Status)
		}
	}
}

// checkParked checks that calls wait for what is open, each for one thing of its own, and that a turn is parked when nothing else is left
// of it: without a lease, and without a place in the queue.
func (*checks) checkParked(w *simulation, r *record) {
	waits := map[models.TurnID]map[string]int{}
	for id := range r.turns {
		waits[id] = map[string]int{}
	}
	for _, wait := range r.waits {
		if wait.State == models.WaitOpen && turns.ReadRequest(wait).Parked {
			waits[wait.TurnID][turns.CallKey(*wait.ToolCallID)]++
		}
	}
	waiting, pending := map[models.TurnID]int{}, map[models.TurnID]int{}
	for _, e := range r.calls {
		turn := models.TurnID(e.ScopeID)
		pending[turn]++
		if e.State != models.EffectWaiting {
			continue
		}
		waiting[turn]++
		if n := waits[turn][e.ReplayKey]; n != 1 {
			w.failf("call %s of turn %s waits for %d things that are open", e.ReplayKey, turn, n)
		}
		delete(waits[turn], e.ReplayKey)
	}
	for id, t := range r.turns {
		for key := range waits[id] {
			w.failf("a wait of turn %s is for call %s, which does not wait", id, key)
		}
		if t.WaitingCalls != waiting[id] || t.PendingCalls != pending[id] {
			w.failf("turn %s has %d pending calls, %d of them waiting; by the journal it has %d and %d", id, t.PendingCalls, t.WaitingCalls, pending[id], waiting[id])
		}
		if t.Status != models.TurnWaiting {
			continue
		}
		w.saw["parked"]++
		if t.RunnerID != nil || t.ReadyAt != nil || t.Attention || t.PendingCalls != t.WaitingCalls || t.PendingCalls == 0 {
			w.failf("turn %s is parked with runner %v, ready %v, attention %v, %d of %d pending calls waiting", id, t.RunnerID, t.ReadyAt != nil, t.Attention,
				t.WaitingCalls, t.PendingCalls)
		}
	}
}

// checkCancels checks that the first request stays, that nobody who was told of the end is disappointed, and that nobody was told of one
// that had not come.
func (c *checks) checkCancels(w *simulation, r *record) {
	for id, t := range r.turns {
		switch was, asked := c.cancels[id]; {
		case asked && (t.Cancel == nil || t.Cancel.At != was.At || t.Cancel.ByID != was.ByID):
			w.failf("turn %s was to end by the request %+v, now it is %+v", id, was, t.Cancel)
		case t.Cancel != nil:
			c.cancels[id] = *t.Cancel
		}
		if w.told.cancelled[id] && t.Cancel == nil {
			w.failf("the cancel of turn %s was accepted, and nothing tells of it", id)
		}
		if w.told.ended[id] && t.FinishedAt == nil {
			w.failf("the cancel of turn %s came too late, and the turn is %s", id, t.Status)
		}
		if t.FinishedAt != nil && (t.Cancel != nil) != (t.Status == models.TurnCancelled) {
			w.failf("turn %s is %s, with the request %+v for its end", id, t.Status, t.Cancel)
		}
		if t.Cancel != nil && !w.hasAsked(id, t.Cancel) {
			w.failf("turn %s ends by the request %+v, which nobody has made", id, t.Cancel)
		}
	}
}

// hasAsked reports whether a request is one of those that were made. Who sends messages may interrupt.
func (w *simulation) hasAsked(id models.TurnID, c *models.Cancel) bool {
	if c.ByID == "" || c.ByKind != models.ActorUser {
		return false
	}
	for _, by := range append(w.told.asked[id], w.principal.UserID) {
		if by.String() == string(c.ByID) {
			return true
		}
	}
	return false
}

// checkDecisions checks at the end that an approval is what people have decided.
func (w *simulation) checkDecisions(r *record) {
	type key struct {
		wait  models.WaitID
		actor models.ActorID
	}
	made := map[key]bool{}
	approvals, denials := map[models.WaitID]int{}, map[models.WaitID]int{}
	for _, d := range r.decisions {
		made[key{d.WaitID, d.ActorID}] = d.Approve
		if d.Approve {
			approvals[d.WaitID]++
		} else {
			denials[d.WaitID]++
		}
	}
	for _, d := range w.told.decided {
		if approve, there := made[key{d.WaitID, d.ActorID}]; !there || approve != d.Approve {
			w.failf("a decision about wait %s was accepted, and is there: %v", d.WaitID, there)
		}
	}
	for id, wait := range r.waits {
		if wait.Kind != models.WaitApproval {
			continue
		}
		w.saw["approval "+string(wait.State)]++
		enough := approvals[id] >= turns.ReadRequest(wait).Quorum
		if enough != (wait.State == models.WaitOK) || (denials[id] > 0) != (wait.State == models.WaitError) {
			w.failf("the approval %s is %s after %d approvals and %d denials", wait.Identity, wait.State, approvals[id], denials[id])
		}
	}
}

func orZero(at *models.Millis) models.Millis {
	if at == nil {
		return 0
	}
	return *at
}
