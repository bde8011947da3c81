package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
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
	if f := turns.RuleOf(w).Refuse(by, t, in.Approve); f != nil {
		return nil, nil, f.At("input", "waitId")
	}
	if len(in.Arguments) > 0 && turns.ReadRequest(*w).Payment != nil {
		return nil, nil, fault.New(fault.Invalid, "A payment can only be approved as it is or denied: leave the arguments out.").At("input", "arguments")
	}
	c := turns.NewDecideApproval(by, w.SessionID, w.ID, in.Approve)
	c.Decision.Note, c.Request = in.Note, auth.RequestFrom(ctx)
	if len(in.Arguments) > 0 {
		if c.Decision.Arguments, err = s.editedArguments(ctx, c.Decision.ActorID, w, in.Arguments); err != nil {
			return nil, nil, err
		}
	}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		if errors.Is(err, turns.ErrResolved) {
			return nil, nil, decidedBefore(c.Found).At("input", "waitId")
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
	return turns.TooLate(w, "decision")
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
		IdempotencyKey: turns.IdempotencyKey(w.SessionID, id, name), Attempt: 1, Locale: models.Value(session.Locale), Now: s.cfg.Clock.Now,
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
		HarnessID: session.HarnessID, AgentID: session.AgentID, SessionModelID: session.ModelID, Setup: session.Setup,
	})
	if err != nil || eff == nil {
		return tools.Toolset{}, session, err
	}
	return eff.Toolset, session, nil
}
