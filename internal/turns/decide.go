package turns

import (
	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// Rule is who may resolve a wait.
type Rule struct {
	Kind models.WaitKind
	// Open is true when nobody has resolved it yet.
	Open bool
	// Role and AllowSelf are those of the approval's policy.
	Role      models.Role
	AllowSelf bool
}

// RuleOf returns who may resolve a wait.
func RuleOf(w *models.Wait) Rule {
	r := ReadRequest(*w)
	return Rule{Kind: w.Kind, Open: w.State == models.WaitOpen, Role: r.Role, AllowSelf: r.AllowSelf}
}

// MayResolve reports whether somebody may approve a call, answer a question, or bring what a turn waits for. The turn is looked at
// for approvals that are open, and may be nil for others.
func MayResolve(by *auth.Principal, r Rule, t *models.Turn) bool {
	switch {
	case !r.Open:
		return false
	case r.Kind == models.WaitApproval:
		return by.Can(auth.ApprovalsDecide) && r.Refuse(by, t, true) == nil
	}
	return by.Can(auth.SessionsWrite)
}

// Refuse returns why somebody may not approve a call, or deny it; nil when they may. That they may decide at all was checked before.
// Whoever may cancel the turn may deny its calls, whatever the policy says: it protects from what runs.
func (r Rule) Refuse(by *auth.Principal, t *models.Turn, approve bool) *fault.Error {
	if !approve && by.Can(auth.SessionsWrite) {
		return nil
	}
	if r.Role != "" && by.IsKey() {
		return fault.New(fault.Forbidden, "The policy of this tool requires the role %s or a higher one. An API key has no role, so a person must decide.", r.Role)
	}
	if !by.Role.AtLeast(r.Role) {
		return fault.New(fault.Forbidden, "The policy of this tool requires the role %s or a higher one; yours is %s.", r.Role, by.Role)
	}
	if !r.AllowSelf && t.AuthoredBy(by.Author()) {
		return fault.New(fault.Forbidden, "You, or an API key that you made, wrote or edited a message of this turn, so another person must approve its calls. "+
			"You can deny them.")
	}
	return nil
}

// DecideApproval adds what one person decided. The error is ErrResolved when the approval is over.
type DecideApproval struct {
	By       *auth.Principal
	Session  models.SessionID
	Wait     models.WaitID
	Decision models.ApprovalDecision
	// Request is the one that brought the decision; nil for none.
	Request *auth.RequestInfo

	// Found is the wait as it stood before, set anew by each Apply.
	Found models.Wait
}

// NewDecideApproval makes the command of somebody who approves a call, or denies it.
func NewDecideApproval(by *auth.Principal, session models.SessionID, wait models.WaitID, approve bool) *DecideApproval {
	kind, actor := by.Actor()
	return &DecideApproval{By: by, Session: session, Wait: wait, Decision: models.ApprovalDecision{
		ActorID: actor, ActorKind: kind, Approve: approve,
		// For those who decide next in the same transaction.
		Voter: models.Voter{Role: by.Role, Key: by.IsKey(), Maker: by.MadeBy},
	}}
}

// Needs implements commit.Command.
func (c *DecideApproval) Needs() commit.Needs {
	n := 4*len(c.Decision.Arguments) + 4096
	if c.Decision.Note != nil {
		n += 3 * len(*c.Decision.Note)
	}
	return Needs(commit.Needs{Org: c.By.OrgID, Session: c.Session, Bytes: n}, c.Wait)
}

// Apply implements commit.Command.
func (c *DecideApproval) Apply(tx *commit.Tx) error {
	w, ok := tx.Wait(c.Wait)
	if !ok {
		return notFound(c.Wait)
	}
	c.Found = w
	// Somebody may have become an author since the turn was read.
	if tx.Turn != nil && tx.Turn.ID == w.TurnID {
		if f := RuleOf(&w).Refuse(c.By, tx.Turn, c.Decision.Approve); f != nil {
			return f.At("input", "waitId")
		}
	}
	for _, d := range tx.Decisions(c.Wait) {
		if d.ActorID != c.Decision.ActorID {
			continue
		}
		if d.Approve == c.Decision.Approve && jsonx.Same(d.Arguments, c.Decision.Arguments) {
			return nil
		}
		return fault.New(fault.Conflict, "You have already decided differently about this call, and decisions can't be changed.").At("input", "waitId")
	}
	if err := Decide(tx, w, c.Decision); err != nil {
		return err
	}
	details := map[string]any{
		"sessionId": w.SessionID.String(), "turnId": w.TurnID.String(), "tool": w.ToolName,
		"approve": c.Decision.Approve, "edited": len(c.Decision.Arguments) > 0,
	}
	if p := ReadRequest(w).Payment; p != nil {
		details["payment"] = map[string]any{
			"host": p.Host, "amount": budget.Decimal(models.CurrencyUSD, p.Amount).String(), "currency": models.CurrencyUSD, "purpose": p.Purpose,
		}
	}
	entry, err := audit.Draft(c.Request, audit.Entry{
		ActorKind: c.Decision.ActorKind, Actor: c.Decision.ActorID, Action: "approval.decided", Target: w.ID.String(), Details: details,
	})
	if err != nil {
		return err
	}
	tx.Record(entry)
	return nil
}
