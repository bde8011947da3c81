package commit

import (
	"github.com/ostler-dev/ostler/internal/models"
)

// Committed is what a transaction has committed, as far as others want to hear of it.
type Committed struct {
	// Sessions have the durable events that were committed of each, in order.
	Sessions []SessionEvents
	// Ready reports that turns can be claimed, and Jobs that hooks are to run.
	Ready, Jobs bool
	// Attention are executions that runners hold, and that were cancelled or waited for something that was resolved.
	Attention []HeldExecution
	// Freed are budgets that turns may wait for, and that have changed.
	Freed map[models.OrgID][]models.BudgetID
}

// SessionEvents are durable events of a session.
type SessionEvents struct {
	Org     models.OrgID
	Session models.SessionID
	Events  []models.Event
}

// HeldExecution is an execution that a runner holds.
type HeldExecution struct {
	models.Execution

	Runner models.RunnerID
}

// Observe has f called after each transaction that is committed from now on, before its commands are answered. f must not block, and must
// not keep the value that it is called with; the events in it may be kept.
func (c *Committer) Observe(f func(*Committed)) {
	for _, fl := range c.flushers {
		fl.observe(f)
	}
}

// Observe is Committer.Observe.
func (s *Simulation) Observe(f func(*Committed)) { s.f.observe(f) }

func (f *flusher) observe(o func(*Committed)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []func(*Committed)
	if before := f.observers.Load(); before != nil {
		list = append(list, *before...)
	}
	list = append(list, o)
	f.observers.Store(&list)
}

// publish tells the observers of a batch that was committed.
func (f *flusher) publish(o outcome) {
	observers := f.observers.Load()
	if observers == nil {
		return
	}
	c := &f.committed
	*c = Committed{Sessions: c.Sessions[:0], Attention: c.Attention[:0], Freed: o.budgets.freed()}
	for _, s := range o.changed {
		if events := insertEvent.of(&s.w); len(events) > 0 {
			c.Sessions = append(c.Sessions, SessionEvents{s.tx.org, s.tx.sessionID, events})
		}
		c.Ready, c.Jobs = c.Ready || s.w.ready, c.Jobs || len(insertJob.of(&s.w)) > 0
		if t := s.tx.Turn; s.w.attention && t != nil && t.RunnerID != nil {
			c.Attention = append(c.Attention, HeldExecution{models.ExecutionOf(t.ID), *t.RunnerID})
		}
	}
	for _, observe := range *observers {
		observe(c)
	}
	clear(c.Sessions) // so that a flusher at rest keeps no events
}
