package turns

import (
	"bytes"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Approval is what a policy asks for before a call may run.
type Approval struct {
	// Quorum is how many people have to approve; at least 1.
	Quorum int `json:"quorum"`
	// Role is the least role of who may decide; empty for all with the permission.
	Role models.Role `json:"role,omitempty"`
	// AllowSelf lets the authors of the turn decide.
	AllowSelf bool `json:"allowSelf,omitempty"`
	// ExpiresIn is how long people have; 0 for ever. Then the call is refused.
	ExpiresIn time.Duration `json:"expiresIn,omitempty"`
	// FailTurn makes the turn fail then, instead of telling the model.
	FailTurn bool `json:"failTurn,omitempty"`
	// Reason is why the policy asks, in words for those who decide.
	Reason string `json:"reason,omitempty"`
}

// RequestApproval parks a call until people have decided about it.
func (c *Call) RequestApproval(tx *commit.Tx, a Approval) {
	c.ask(tx, models.NewID[models.WaitEntity](), "approval/"+c.Record.CallID, a, nil)
}

// ask parks a call until people have decided about it, or about a payment of it.
func (c *Call) ask(tx *commit.Tx, id models.WaitID, identity string, a Approval, payment *models.PaymentTerms) {
	deadline := Deadline(tx.Now, a.ExpiresIn)
	w := c.Park(tx, models.Wait{
		ID: id, Kind: models.WaitApproval, Identity: identity, Deadline: deadline,
		Request: jsonx.MustEncode(models.WaitRequest{
			DisplayName: c.Record.Frozen.DisplayName, Arguments: models.JSON(c.Record.Frozen.Arguments), Quorum: a.Quorum, Role: a.Role,
			AllowSelf: a.AllowSelf, FailTurn: a.FailTurn, Reason: a.Reason, Parked: true, Payment: payment,
		}),
	})
	tx.Emit(&tx.Turn.ID, events.ApprovalRequested{
		WaitID: w.ID, ToolCallID: c.Record.CallID, ToolName: c.Record.Frozen.Name, DisplayName: c.Record.Frozen.DisplayName,
		Arguments: models.JSON(c.Record.Frozen.Arguments), Quorum: a.Quorum, Role: a.Role, Deadline: deadline, Payment: terms(payment),
	})
}

// Decide adds what one person decided about an approval that is open, and concludes it when that is enough: one denial denies, and as
// many approvals of the same arguments as the policy asks for approve. An approval with other arguments doesn't count those before
// it. Nor does one by somebody who may not decide any more, or who has become an author of the turn; a person and the keys that they made
// count once. Whether the person may decide is up to the caller.
func Decide(tx *commit.Tx, w models.Wait, d models.ApprovalDecision) error {
	if w.State != models.WaitOpen {
		return ErrResolved
	}
	d.WaitID = w.ID
	tx.AddDecision(d)
	if !d.Approve {
		tx.Emit(&w.TurnID, decided(w, "DENIED", d, nil))
		return Resolve(tx, w, models.WaitError, models.WaitResolution{
			ErrorCode: "denied", ErrorMessage: denial(w, d), ByKind: d.ActorKind, ByID: models.RefTo(d.ActorKind, d.ActorID),
		})
	}
	arguments := proposed(tx.Decisions(w.ID))
	request := ReadRequest(w)
	var people []models.ActorRef
	for _, other := range tx.Decisions(w.ID) {
		if !other.Approve || !bytes.Equal(other.Arguments, arguments) || other.ActorID != d.ActorID && !mayStill(request, other, tx.Now) ||
			!request.AllowSelf && tx.Turn.AuthoredBy(other.Actor()) {
			continue
		}
		if p := other.Actor().Person(); !slices.Contains(people, p) {
			people = append(people, p)
		}
	}
	w.Approvals = len(people)
	if w.Approvals < request.Quorum {
		tx.SaveWait(w)
		tx.Emit(&w.TurnID, decided(w, "PENDING", d, arguments))
		return nil
	}
	tx.Emit(&w.TurnID, decided(w, "APPROVED", d, arguments))
	return Resolve(tx, w, models.WaitOK, models.WaitResolution{Arguments: arguments, ByKind: d.ActorKind, ByID: models.RefTo(d.ActorKind, d.ActorID)})
}

// mayStill reports whether somebody who has approved may by now: who was removed, or has too low a role, may not, nor a key that has ended.
func mayStill(r models.WaitRequest, d models.ApprovalDecision, now models.Millis) bool {
	v := d.Voter
	if d.ActorKind == models.ActorAPIKey {
		return v.Key && (v.KeyExpiresAt == nil || *v.KeyExpiresAt > now)
	}
	return auth.RolePermissions(v.Role, false).Has(auth.ApprovalsDecide) && v.Role.AtLeast(r.Role)
}

// proposed returns the arguments that the newest approval is for; nil for the call's own.
func proposed(list []models.ApprovalDecision) models.JSON {
	var arguments models.JSON
	for _, d := range list {
		if d.Approve {
			arguments = d.Arguments
		}
	}
	return arguments
}

func denial(w models.Wait, d models.ApprovalDecision) string {
	text := "The call was not approved, so it did not run."
	if ReadRequest(w).Payment != nil {
		text = "The payment was not approved, so nothing was paid."
	}
	if note := models.Value(d.Note); note != "" {
		text += " The reason: " + note
	}
	return text
}

func decided(w models.Wait, outcome string, d models.ApprovalDecision, arguments models.JSON) events.ApprovalDecided {
	return events.ApprovalDecided{
		WaitID: w.ID, ToolCallID: models.Value(w.ToolCallID), ToolName: models.Value(w.ToolName), Outcome: outcome, Approve: d.Approve,
		Note: models.Value(d.Note), Arguments: arguments, ByKind: d.ActorKind, ByID: models.RefTo(d.ActorKind, d.ActorID),
	}
}

// approved lets a call run, with the arguments that it was approved with. A client's call is its client's then.
func (c *Call) approved(tx *commit.Tx, r models.WaitResolution) error {
	if len(r.Arguments) > 0 {
		canonical, err := jsonx.Canonical(r.Arguments)
		if err != nil {
			return err
		}
		c.Record.Frozen.Arguments = canonical
		c.Effect.InputHash = c.Record.Frozen.InputHash()
		// They were about other arguments.
		c.Record.Started, c.Record.Ended = "", ""
	}
	c.Effect.State, c.Effect.Request = models.EffectClaimed, jsonx.MustEncode(c.Record)
	tx.AmendEffect(c.Effect)
	switch {
	case c.Record.Frozen.Hints.Client:
		Request(tx, []Call{*c})
	case c.Record.Frozen.Hints.Wait == tools.WaitQuestion:
		c.AskUser(tx)
		tx.SaveEffect(c.Effect)
	}
	return nil
}
