package manage

import (
	"context"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Check returns how a session stands with all budgets that bind it, oldest first; fault.NotFound when the organization has no such session.
func (s *Service) Check(ctx context.Context, org models.OrgID, id models.SessionID) (budget.Report, error) {
	session, list, err := rows.Binding(ctx, s.db, org, id)
	if fault.Is(err, fault.NotFound) {
		return budget.Report{}, noSession(id)
	}
	if err != nil {
		return budget.Report{}, err
	}
	return budget.Check(list, session.ResumedAt, clock.Millis(s.clock)), nil
}

func noSession(id models.SessionID) error {
	return fault.New(fault.NotFound, "There is no session with the id %s.", id).At("sessionId")
}

// ResumeSession lets a session go on past the soft limits that were passed so far. Where none holds it up it succeeds, and nothing is
// recorded.
func (s *Service) ResumeSession(ctx context.Context, by *auth.Principal, id models.SessionID) error {
	c := &resume{by: by, session: id, request: auth.RequestFrom(ctx)}
	err := s.committer.Submit(ctx, c)
	s.wake(err, by.OrgID, c.passed...)
	return err
}

// resume lets a session go on.
type resume struct {
	by      *auth.Principal
	session models.SessionID
	// request is the one that asked for it; nil for none.
	request *auth.RequestInfo

	// passed are the budgets that held the session up, set anew by each Apply.
	passed []models.BudgetID
}

func (c *resume) Needs() commit.Needs {
	return turns.Needs(commit.Needs{Org: c.by.OrgID, Session: c.session, Budgets: true, Bytes: 4096})
}

func (c *resume) Apply(tx *commit.Tx) error {
	c.passed = nil
	if tx.Session == nil {
		return noSession(c.session)
	}
	list, err := hold.Binding(tx)
	if err != nil {
		return err
	}
	// A limit may have been passed by the clock of a node that is ahead.
	at := tx.Now
	for _, b := range list {
		if budget.OverSoft(&b) && b.SoftPassedAt != nil && (tx.Session.ResumedAt == nil || *tx.Session.ResumedAt < *b.SoftPassedAt) {
			c.passed = append(c.passed, b.ID)
			at = max(at, *b.SoftPassedAt)
		}
	}
	var open []models.Wait
	for _, w := range tx.OpenWaits() {
		if need := hold.Awaited(w); w.Kind == models.WaitBudget && need != nil && need.Paused {
			open = append(open, w)
		}
	}
	if len(c.passed) == 0 && len(open) == 0 {
		return nil
	}
	tx.Session.ResumedAt = &at
	kind, ref := c.by.ActorRef()
	for _, w := range open {
		if err := turns.ResumeForBudget(tx, w, models.WaitResolution{ByKind: kind, ByID: ref}); err != nil {
			return err
		}
	}
	return c.record(tx)
}

func (c *resume) record(tx *commit.Tx) error {
	kind, actor := c.by.Actor()
	ids := make([]string, len(c.passed))
	for i, id := range c.passed {
		ids[i] = id.String()
	}
	entry, err := audit.Draft(c.request, audit.Entry{
		ActorKind: kind, Actor: actor, Action: "session.resumed", Target: c.session.String(), Details: map[string]any{"budgets": ids},
	})
	if err != nil {
		return err
	}
	tx.Record(entry)
	return nil
}
