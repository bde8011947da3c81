package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// maxNote bounds what is said about a decision, in characters.
const maxNote = 2000

// Decision is what a person decides about an approval.
type Decision struct {
	WaitID  models.WaitID
	Approve bool
	// Arguments are those that the call shall have; nil for its own.
	Arguments models.JSON
	Note      *string
}

// DecideApproval approves or denies a call. Who lacks the role that the policy asks for, or is an author of the turn, is FORBIDDEN to approve it;
// whoever may cancel the turn may deny it.
// Repeating one's decision changes nothing; another one by the same person, or one that comes too late, is a CONFLICT.
func (s *Service) DecideApproval(ctx context.Context, by *auth.Principal, in Decision) (*models.Wait, *models.Turn, error) {
	if err := text.CheckOptional(in.Note, maxNote, "input", "note"); err != nil {
		return nil, nil, err
	}
	if len(in.Arguments) > 0 && !in.Approve {
		return nil, nil, fault.New(fault.Invalid, "A denied call does not run: leave the arguments out.").At("input", "arguments")
	}
	w, t, err := s.waitOf(ctx, by.OrgID, in.WaitID, models.WaitApproval, "input", "waitId")
	if err != nil {
		return nil, nil, err
	}
	if f := ruleOf(w).refuse(by, t, in.Approve); f != nil {
		return nil, nil, f.At("input", "waitId")
	}
	if len(in.Arguments) > 0 && turns.ReadRequest(*w).Payment != nil {
		return nil, nil, fault.New(fault.Invalid, "A payment can only be approved as it is or denied: leave the arguments out.").At("input", "arguments")
	}
	c := newDecide(by, w.SessionID, w.ID, in.Approve)
	c.decision.Note, c.request = in.Note, auth.RequestFrom(ctx)
	if len(in.Arguments) > 0 {
		if c.decision.Arguments, err = s.editedArguments(ctx, c.decision.ActorID, w, in.Arguments); err != nil {
			return nil, nil, err
		}
	}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		if errors.Is(err, turns.ErrResolved) {
			return nil, nil, decidedBefore(c.found).At("input", "waitId")
		}
		return nil, nil, err
	}
	return s.waitWithTurn(ctx, w)
}

// decidedBefore tells who decides too late how the approval has ended.
func decidedBefore(w models.Wait) *fault.Error {
	if w.State == models.WaitOK || w.State == models.WaitError {
		return fault.New(fault.Conflict, "The call has already been decided; see the approval's decisions.")
	}
	return over(w, "decision")
}

// Rule is who may resolve a wait.
type Rule struct {
	Kind models.WaitKind
	// Open is true when nobody has resolved it yet.
	Open bool
	// Role and AllowSelf are those of the approval's policy.
	Role      models.Role
	AllowSelf bool
}

func ruleOf(w *models.Wait) Rule {
	r := turns.ReadRequest(*w)
	return Rule{Kind: w.Kind, Open: w.State == models.WaitOpen, Role: r.Role, AllowSelf: r.AllowSelf}
}

// MayResolve reports whether somebody may approve a call, answer a question, or bring what a turn waits for. The turn is looked at
// for approvals that are open, and may be nil for others.
func MayResolve(by *auth.Principal, r Rule, t *models.Turn) bool {
	switch {
	case !r.Open:
		return false
	case r.Kind == models.WaitApproval:
		return by.Can(auth.ApprovalsDecide) && r.refuse(by, t, true) == nil
	}
	return by.Can(auth.SessionsWrite)
}

// refuse returns why somebody may not approve a call, or deny it; nil when they may. That they may decide at all was checked before.
// Whoever may cancel the turn may deny its calls, whatever the policy says: it protects from what runs.
func (r Rule) refuse(by *auth.Principal, t *models.Turn, approve bool) *fault.Error {
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

// editedArguments checks arguments that a call shall have instead of its own as those of any other call, and returns their canonical
// form; nil when they are its own.
func (s *Service) editedArguments(ctx context.Context, by models.ActorID, w *models.Wait, arguments models.JSON) (models.JSON, error) {
	at := []string{"input", "arguments"}
	canonical, err := jsonx.Canonical(arguments)
	if err != nil {
		return nil, fault.New(fault.Invalid, "The arguments are not valid JSON: %s.", err).At(at...)
	}
	if len(canonical) == 0 || canonical[0] != '{' {
		return nil, fault.New(fault.Invalid, "The arguments must be a JSON object.").At(at...)
	}
	if jsonx.Same(models.JSON(canonical), turns.ReadRequest(*w).Arguments) {
		return nil, nil
	}
	before, err := s.Decisions(ctx, w.OrgID, []models.WaitID{w.ID})
	if err != nil {
		return nil, err
	}
	for _, d := range before[w.ID] {
		if d.ActorID == by && d.Approve && jsonx.Same(d.Arguments, models.JSON(canonical)) {
			return d.Arguments, nil // whatever would be said about them now
		}
	}
	set, session, err := s.toolset(ctx, w.OrgID, w.SessionID)
	if err != nil {
		return nil, err
	}
	name, id := *w.ToolName, *w.ToolCallID
	if _, offered := set.ByName(name); !offered {
		return nil, fault.New(fault.Conflict, "The agent no longer has the tool %s, so its arguments can't be checked. "+
			"Decide without changing them.", name).At(at...)
	}
	call := &tools.Call{
		OrgID: w.OrgID, SessionID: w.SessionID, TurnID: w.TurnID, CallID: id,
		IdempotencyKey: w.SessionID.String() + ":" + id + ":" + name, Attempt: 1, Locale: models.Value(session.Locale), Now: s.cfg.Clock.Now,
		SetTodos: func([]models.Todo) {}, Progress: func(string) {},
	}
	frozen, refused := tools.Prepare(ctx, set, call, name, []byte(canonical))
	if refused != nil {
		if refused.Internal != nil {
			return nil, refused.Internal
		}
		return nil, fault.New(fault.Invalid, "%s", strings.TrimSuffix(
			strings.TrimPrefix(refused.ToolError, "invalid_arguments: "), " Correct them and call again.")).At(at...)
	}
	if jsonx.Same(models.JSON(frozen.Arguments), turns.ReadRequest(*w).Arguments) {
		return nil, nil
	}
	recheck := func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		next, refused := tools.Prepare(ctx, set, call, name, arguments)
		if refused != nil {
			return nil, errors.New(refused.ToolError) // people may read it, unlike what went wrong inside
		}
		return next.Arguments, nil
	}
	arguments, err = underPolicies(ctx, w, set.Gates(), tools.GateCall{
		OrgID: w.OrgID, SessionID: w.SessionID, TurnID: w.TurnID, AgentID: session.AgentID, CallID: id, ToolID: frozen.ToolID, ToolName: name,
		Hints: frozen.Hints, Arguments: frozen.Arguments,
	}, recheck)
	if err != nil || jsonx.Same(arguments, turns.ReadRequest(*w).Arguments) {
		return nil, fault.At(err, at...)
	}
	return arguments, nil
}

// underPolicies has the policies decide about arguments that a person wrote: an approval must not open a way around them. Those who
// decide now were asked about other arguments, so that what these take must be no more than what the approval takes. It comes before
// the commit, so that a policy that takes long, or fails, leaves the approval as it was; a failure is the server's own.
func underPolicies(ctx context.Context, w *models.Wait, gates []tools.Gate, call tools.GateCall, recheck hooks.Recheck) (models.JSON, error) {
	ruling, err := hooks.Rule(ctx, gates, call, recheck)
	if err = cmp.Or(err, ruling.Err); err != nil {
		return nil, fmt.Errorf("ask the policy %s about the arguments of %s: %w", ruling.GateID, w.ID, err)
	}
	r := turns.ReadRequest(*w)
	asked := tools.Ask{Quorum: r.Quorum, Role: r.Role, AllowSelf: r.AllowSelf}
	switch {
	case ruling.Kind == tools.VerdictRefuse:
		return nil, fault.New(fault.Forbidden, "The call may not run with these arguments. %s", ruling.Reason)
	case ruling.Kind == tools.VerdictAsk && !asked.Covers(ruling.Ask):
		who := fmt.Sprintf("approvals by people with the role %s or a higher one: %d", cmp.Or(ruling.Ask.Role, models.RoleMember), ruling.Ask.Quorum)
		if !ruling.Ask.AllowSelf {
			who += ", none of them an author of the turn's messages"
		}
		return nil, fault.New(fault.Forbidden, "With these arguments the policy requires more than for the agent's arguments (%s). "+
			"Deny the call with a note, so that the agent can request this one.", who)
	}
	return models.JSON(ruling.Arguments), nil
}

// toolset returns the tools that a session has now, and the session.
func (s *Service) toolset(ctx context.Context, org models.OrgID, id models.SessionID) (tools.Toolset, *models.Session, error) {
	session, err := s.Get(ctx, org, id)
	if err != nil {
		return tools.Toolset{}, nil, err
	}
	eff, err := s.cfg.Catalog.PreviewRun(ctx, org, catalog.Run{
		HarnessID: session.HarnessID, AgentID: session.AgentID, SessionModelID: session.ModelID, ClientTools: session.ClientTools,
	})
	if err != nil || eff == nil {
		return tools.Toolset{}, session, err
	}
	return eff.Toolset, session, nil
}

// decide adds what one person decided. The error is turns.ErrResolved when the approval is over.
type decide struct {
	by       *auth.Principal
	org      models.OrgID
	session  models.SessionID
	wait     models.WaitID
	decision models.ApprovalDecision
	// request is the one that brought the decision; nil for none.
	request *auth.RequestInfo

	// found is the wait as it stood before, set anew by each Apply.
	found models.Wait
}

func newDecide(by *auth.Principal, session models.SessionID, wait models.WaitID, approve bool) *decide {
	kind, actor := by.Actor()
	return &decide{by: by, org: by.OrgID, session: session, wait: wait, decision: models.ApprovalDecision{
		ActorID: actor, ActorKind: kind, Approve: approve,
		// For those who decide next in the same transaction.
		Voter: models.Voter{Role: by.Role, Key: by.IsKey(), Maker: by.MadeBy},
	}}
}

func (c *decide) Needs() commit.Needs {
	n := 4*len(c.decision.Arguments) + 4096
	if c.decision.Note != nil {
		n += 3 * len(*c.decision.Note)
	}
	return turns.Needs(commit.Needs{Org: c.org, Session: c.session, Bytes: n}, c.wait)
}

func (c *decide) Apply(tx *commit.Tx) error {
	w, ok := tx.Wait(c.wait)
	if !ok {
		return notFound(c.wait)
	}
	c.found = w
	// Somebody may have become an author since the turn was read.
	if tx.Turn != nil && tx.Turn.ID == w.TurnID {
		if f := ruleOf(&w).refuse(c.by, tx.Turn, c.decision.Approve); f != nil {
			return f.At("input", "waitId")
		}
	}
	for _, d := range tx.Decisions(c.wait) {
		if d.ActorID != c.decision.ActorID {
			continue
		}
		if d.Approve == c.decision.Approve && jsonx.Same(d.Arguments, c.decision.Arguments) {
			return nil
		}
		return fault.New(fault.Conflict, "You have already decided differently about this call, and decisions can't be changed.").At("input", "waitId")
	}
	if err := turns.Decide(tx, w, c.decision); err != nil {
		return err
	}
	details := map[string]any{
		"sessionId": w.SessionID.String(), "turnId": w.TurnID.String(), "tool": w.ToolName,
		"approve": c.decision.Approve, "edited": len(c.decision.Arguments) > 0,
	}
	if p := turns.ReadRequest(w).Payment; p != nil {
		details["payment"] = map[string]any{
			"host": p.Host, "amount": budget.Decimal(models.CurrencyUSD, p.Amount).String(), "currency": models.CurrencyUSD, "purpose": p.Purpose,
		}
	}
	entry, err := audit.Draft(c.request, audit.Entry{
		ActorKind: c.decision.ActorKind, Actor: c.decision.ActorID, Action: "approval.decided", Target: w.ID.String(), Details: details,
	})
	if err != nil {
		return err
	}
	tx.Record(entry)
	return nil
}
