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
	// prepared is the run of a turn that is begun in the transaction that claims it; nil when that has to wait.
	prepared *turnRun
	// claim says how the turn was begun there; nil when it was claimed from the queue.
	claim *turns.Claim
	// attention tells the run that something has happened to its execution; interrupt ends the run.
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

// Prepare finds out what the turn of a message will run with, so that its first step can begin in the transaction that claims it. What
// stands in the way is left to the turn itself, which tries longer, or says in the session why it fails.
func (s *slot) Prepare(ctx context.Context, m *turns.SendMessage) *turns.Claim {
	s.claim = &turns.Claim{Runner: s.runner}
	t := models.Turn{OrgID: m.By.OrgID, SessionID: m.SessionID, ModelID: m.ModelID, MaxTokens: m.MaxTokens}
	r := &turnRun{e: s.e, turn: t, session: s.e.conversations.session(t.OrgID, t.SessionID)}
	if r.readSession(ctx) != nil {
		return s.claim
	}
	var err error
	if r.step, err = r.resolveOnce(ctx); err != nil {
		return s.claim
	}
	w := r.writer()
	if r.session.budgeted {
		if p := r.sizePreview(); p != nil {
			// No less than what the turn would need after it was parked, when its input isn't known.
			w.Demand = r.callOf(&r.step.effective.Model.Model, p.bytes+max(inboxBytes, partBytes(m.Content)))
			s.claim.Sequence = p.sequence
		}
	}
	s.prepared, s.claim.First = r, &w
	return s.claim
}

// Run works on a turn that was claimed for the slot, in the background. Session and input message are as in the transaction
// that claimed the turn; nil when that did not read them.
func (s *slot) Run(t models.Turn, session *models.Session, input *models.Message) {
	r := &turnRun{e: s.e, turn: t}
	var began *turns.Writer
	if s.claim != nil {
		began = s.claim.Begun
	}
	switch {
	case began != nil:
		r = s.prepared
		r.turn, r.session.budgeted, r.session.files, r.session.fresh = t, began.HasBudgets, began.HasFiles, false
	case session != nil:
		r.session = &sessionInfo{harness: session.HarnessID, agent: session.AgentID, model: session.ModelID, locale: models.Value(session.Locale), base: session.BaseSequence, setup: session.Setup, budgeted: session.Budgeted, files: session.FileBytes > 0}
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
		if began != nil && r.conversation.isThrough(input.Sequence-1) {
			r.join(began)
		}
		e.runTurn(s.life, s.ctx, r, began)
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
