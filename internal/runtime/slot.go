package runtime

import (
	"context"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

// slot is the right to run one execution, taken before that is claimed.
type slot struct {
	e *Engine
	// runner is who claims; life ends with that life of the engine, ctx also when the execution is cancelled.
	runner    models.RunnerID
	life, ctx context.Context
	// org and lease are zero as long as they aren't known, and the lease's epoch, under which it runs here, as long as it doesn't run.
	org   models.OrgID
	lease commit.Lease
	// prepared can begin the turn in the transaction that claims it; nil when that has to wait.
	prepared *turnRun
	// sizePreview is what the first call is going to show of the session; nil when that isn't known, or when no budget asks for it.
	sizePreview *sizePreview
	// began is how it has begun there; nil when it has not.
	began *turns.Writer
	// attention tells the run that something has happened to its turn; interrupt ends the run.
	attention chan struct{}
	interrupt context.CancelCauseFunc
}

var (
	_ sessions.Dispatcher = (*Engine)(nil)
	_ sessions.Slot       = (*slot)(nil)
)

// Reserve takes a slot when one is free, so that a turn can be claimed in the transaction that makes it ready. The slot must be
// used by Run or given back by Free. An organization that has a cap gets none: how many turns it has at work is counted by
// the claim alone.
func (e *Engine) Reserve(org models.OrgID, turn models.TurnID) (sessions.Slot, bool) {
	s, ok := e.reserve(org, models.ExecutionOf(turn))
	return s, ok
}

// reserve takes a slot for an execution. Organization and execution are zero as long as nobody knows which it will be.
func (e *Engine) reserve(org models.OrgID, x models.Execution) (*slot, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state != lifeRunning || !e.fits(org) {
		return nil, false
	}
	select {
	case <-e.slots:
		e.work.Add(1)
		s := &slot{e: e, runner: e.id, life: e.workCtx, org: org, attention: make(chan struct{}, 1)}
		s.ctx, s.interrupt = context.WithCancelCause(e.workCtx)
		e.held[org]++
		if !org.IsZero() {
			s.lease.Execution, e.running[x] = x, s
		}
		return s, true
	default:
		return nil, false
	}
}

// RunnerID returns the id of the claiming runner.
func (s *slot) RunnerID() models.RunnerID { return s.runner }

// Prepare finds out what the next turn of a session will run with, so that Begin can start its first step. What stands in the
// way is left to the turn itself, which tries longer, or says in the session why it fails.
func (s *slot) Prepare(ctx context.Context, org models.OrgID, session models.SessionID, model *models.ModelID) {
	r := &turnRun{e: s.e, turn: models.Turn{OrgID: org, SessionID: session, ModelID: model}, session: s.e.conversations.session(org, session)}
	if r.readSession(ctx) != nil {
		return
	}
	var err error
	if r.step, err = r.resolveOnce(ctx); err != nil {
		return
	}
	s.prepared = r
	if r.session.budgeted {
		s.sizePreview = r.sizePreview()
	}
}

// Budgets reports whether Begin is going to look at the budgets that bind the session.
func (s *slot) Budgets() bool { return s.sizePreview != nil }

// Begin starts the first step of the turn that was claimed for the slot in the same transaction, unless the session runs with
// something else than what was prepared, or a budget asks what the call takes and not all is known that it will show: then Run does.
func (s *slot) Begin(tx *commit.Tx, input []models.Part) error {
	s.began = nil
	if s.prepared == nil {
		return nil
	}
	s.prepared.turn = *tx.Turn
	w := s.prepared.writer()
	if w.Stopping || w.Config.Basis != turns.BasisOf(tx.Session, tx.Turn) {
		return nil
	}
	if tx.Session.Budgeted {
		if s.sizePreview == nil || s.sizePreview.sequence != tx.Turn.InputSequence-1 {
			return nil
		}
		// No less than what the turn would need after it was parked, when its input isn't known.
		w.Demand = s.prepared.callOf(&s.prepared.step.effective.Model.Model, s.sizePreview.bytes+max(inboxBytes, partBytes(input)))
	}
	w.Begin(tx)
	if err := w.Follow(tx, turns.Begun{}); err != nil {
		return err
	}
	s.began = &w
	return nil
}

// Run works on a turn that was claimed for the slot, in the background. Session and input message are as in the transaction
// that claimed the turn; nil when that did not read them.
func (s *slot) Run(t models.Turn, session *models.Session, input *models.Message) {
	r := &turnRun{e: s.e, turn: t}
	switch {
	case s.began != nil:
		r = s.prepared
		r.turn, r.session.budgeted, r.session.files, r.session.fresh = t, s.began.HasBudgets, s.began.HasFiles, false
	case session != nil:
		r.session = &sessionInfo{harness: session.HarnessID, agent: session.AgentID, model: session.ModelID, locale: models.Value(session.Locale), base: session.BaseSequence, clientTools: session.ClientTools, budgeted: session.Budgeted, files: session.FileBytes > 0}
	}
	r.attention, r.input = s.attention, input
	e := s.e
	if session != nil {
		// It was claimed in the transaction that made it ready.
		e.cfg.Meter.Waited(t.OrgID, e.heldBy(t.OrgID), 0)
	}
	e.mu.Lock()
	e.letGo(s.org)
	e.held[t.OrgID]++
	s.org, s.lease = t.OrgID, commit.LeaseOf(&t)
	e.running[s.lease.Execution] = s
	e.mu.Unlock()
	e.scheduling.spawn(func() {
		defer s.Free()
		r.conversation = e.conversations.take(t)
		if s.began != nil && r.conversation.isThrough(input.Sequence-1) {
			r.join(s.began)
		}
		e.runTurn(s.life, s.ctx, r, s.began)
	})
}

// Free releases the slot.
func (s *slot) Free() {
	s.e.mu.Lock()
	// The execution may have been claimed anew for another slot.
	if s.e.running[s.lease.Execution] == s {
		delete(s.e.running, s.lease.Execution)
	}
	// Where a limit kept executions from being claimed, one may be now.
	limited := !s.org.IsZero() && (s.e.limited || s.e.caps.Of(s.org) > 0)
	if limited {
		s.e.limited = false
	}
	s.e.letGo(s.org)
	s.e.mu.Unlock()
	s.interrupt(nil)
	s.e.slots <- struct{}{}
	s.e.work.Done()
	if s.e.starved.Swap(false) || limited {
		s.e.Wake()
	}
}
