package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// Gate is a policy that decides about calls. Gates run after everything that transforms a call and can't be muted.
type Gate struct {
	// ID is "{capability}:{name}", with the position for a gate without name. The Toolset sets it.
	ID string
	// Name is unique within the capability; empty for none.
	Name string
	// Decide returns the verdict about a call. It has no effects, since it may be asked several times. An error counts as a
	// refusal.
	Decide func(ctx context.Context, call GateCall) (Verdict, error)
	// Asks reports whether people are asked before a tool runs, as far as its name and hints tell; nil where that can't be told.
	Asks func(toolName string, hints Hints) Asks
}

// Asks says whether people are asked before a tool runs.
type Asks int

// What can be said, from the weakest to the strongest.
const (
	AsksNever Asks = iota
	// AsksSometimes means that it depends on the call.
	AsksSometimes
	AsksAlways
)

// GateCall is a call as gates see it. Its arguments have been validated and prepared.
type GateCall struct {
	OrgID     models.OrgID
	SessionID models.SessionID
	TurnID    models.TurnID
	// AgentID is nil for a session without agent.
	AgentID *models.AgentID
	CallID  string
	// ToolID is the tool's identity, ToolName what the model and the policies call it.
	ToolID, ToolName string
	Hints            Hints
	Arguments        json.RawMessage
}

// VerdictKind is what a gate says.
type VerdictKind int

// The verdicts, from the weakest to the strongest.
const (
	// VerdictRun lets the call run.
	VerdictRun VerdictKind = iota
	// VerdictAsk lets it run when people approve.
	VerdictAsk
	// VerdictRefuse doesn't let it run.
	VerdictRefuse
)

// Verdict is a gate's answer. The zero value lets the call run as it is.
type Verdict struct {
	Kind VerdictKind
	// Reason of a refusal is for the model; that of a question is for those who decide.
	Reason string
	// Ask is set for VerdictAsk.
	Ask Ask
	// Arguments replace those of the call; nil for no change. Then all gates decide again.
	Arguments json.RawMessage
}

// What follows when nobody decides in time.
const (
	// OnExpiryDeny refuses the call; the turn goes on.
	OnExpiryDeny = "deny"
	// OnExpiryFail ends the turn.
	OnExpiryFail = "fail"
)

// Ask says what it takes to approve a call. Its JSON form may be stored.
type Ask struct {
	// GateID and RuleIndex tell what asks; RuleIndex is -1 for the policy's default.
	GateID    string `json:"gateId"`
	RuleIndex int    `json:"ruleIndex"`
	// Quorum is how many different people must approve; one denial is enough to deny.
	Quorum int `json:"quorum"`
	// Role is the least role of those who decide: MEMBER, ADMIN or OWNER.
	Role models.Role `json:"role"`
	// AllowSelf lets the one who started the turn decide.
	AllowSelf bool `json:"allowSelf"`
	// ExpiresInSeconds is how long the question stays open.
	ExpiresInSeconds int `json:"expiresInSeconds"`
	// OnExpiry is OnExpiryDeny or OnExpiryFail.
	OnExpiry string `json:"onExpiry"`
}

// ExpiresIn is how long the question stays open.
func (a Ask) ExpiresIn() time.Duration { return time.Duration(a.ExpiresInSeconds) * time.Second }

// Strictest returns what satisfies both questions: more people, the higher role, the shorter time. The first one's name stays.
func (a Ask) Strictest(b Ask) Ask {
	a.Quorum = max(a.Quorum, b.Quorum)
	if b.Role.AtLeast(a.Role) {
		a.Role = b.Role
	}
	a.AllowSelf = a.AllowSelf && b.AllowSelf
	a.ExpiresInSeconds = min(a.ExpiresInSeconds, b.ExpiresInSeconds)
	if b.OnExpiry == OnExpiryFail {
		a.OnExpiry = OnExpiryFail
	}
	return a
}

// Covers reports whether an approval under a is one under b, too: after people edited the arguments, the gates may ask
// for more than what was asked before.
func (a Ask) Covers(b Ask) bool {
	return a.Quorum >= b.Quorum && a.Role.AtLeast(b.Role) && (!a.AllowSelf || b.AllowSelf)
}
