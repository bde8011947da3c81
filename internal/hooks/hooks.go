// Package hooks runs what users and capabilities hang into the life of a session: webhooks and expressions that may look at,
// change or stop what happens, and the policy gates that decide after them. It knows nothing of the turn engine, stores
// nothing and publishes nothing.
//
// Read run.go first (a list of hooks over one event), then answer.go (what an answer may say), webhook.go and
// expression.go (the two executors), and gates.go (the policies).
package hooks

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/expr"
)

// MaxOutputBytes bounds the answer of a hook.
const MaxOutputBytes = 64 << 10

// Secrets returns the secret that the requests of an organization's webhooks are signed with.
type Secrets interface {
	HookSecret(ctx context.Context, org models.OrgID) ([]byte, error)
}

// Client makes requests to addresses that tenants gave. It decides what may be reached, and follows no redirects.
type Client interface {
	Do(req *http.Request) (*http.Response, error)
}

// Config is what a Runner works with; nothing may be nil.
type Config struct {
	Client      Client
	Secrets     Secrets
	Expressions *expr.Compiler
	Clock       clock.Clock
}

// Runner runs hooks. It is safe for concurrent use.
type Runner struct{ cfg Config }

// NewRunner makes a Runner.
func NewRunner(cfg Config) *Runner { return &Runner{cfg: cfg} }

// Event is something that hooks run over. Which fields are set follows from Name: those of user_prompt_submit have
// Message; those of pre_tool_use and post_tool_use have Call, the latter with Result or Error; turn_end has Success and
// StopReason. Everything in it is what the API shows; it never holds a secret.
type Event struct {
	Name      tools.HookEvent
	OrgID     models.OrgID
	SessionID models.SessionID
	// TurnID is nil for events of the session, AgentID for a session without agent.
	TurnID  *models.TurnID
	AgentID *models.AgentID
	// Delivery names this event, the same whenever it is run again; a webhook is given it, with the hook's id.
	Delivery string

	// Message is the text of the user's message, MessageID its id.
	Message   string
	MessageID *models.MessageID
	// Call is the call of a tool.
	Call *Call
	// Result of a call that succeeded; else Error is its text for the model.
	Result json.RawMessage
	Error  string
	// Success and StopReason tell how a turn ended.
	Success    bool
	StopReason models.StopReason
}

// Call is the call of a tool as hooks see it.
type Call struct {
	ID        string
	Tool      string
	ToolID    string
	Arguments json.RawMessage
}

// Decision is what a hook, or all of them together, say.
type Decision string

// The decisions.
const (
	Allow  Decision = "allow"
	Mutate Decision = "mutate"
	Block  Decision = "block"
)

// Outcome is what the hooks of an event made of it.
type Outcome struct {
	// Decision is Block when one blocked, Mutate when something was changed, else Allow.
	Decision Decision
	// HookID, Reason and UserMessage say who blocked and why; the latter is for the user, may be empty, and then Reason
	// is shown.
	HookID, Reason, UserMessage string
	// Message, Arguments, Result and Error are those of the event with all changes; what was not changed is as it was. On
	// Block they have the changes that were made before it.
	Message           string
	Arguments, Result json.RawMessage
	Error             string
	// Context are texts that hooks of post_tool_use want the model to see with the result, in order (`hook_context`).
	Context []string
	// Runs tells of each hook that matched, in order.
	Runs []Ran
}

// Shown returns the text for the user about a blocked event.
func (o Outcome) Shown() string {
	if o.UserMessage != "" {
		return o.UserMessage
	}
	return o.Reason
}

// ToolError returns the text for the model about a call that was blocked.
func (o Outcome) ToolError() string {
	return "blocked_by_hook: The hook " + o.HookID + " blocked the call before it ran: " + o.Reason
}

// Ran tells of one hook that ran: what the event HOOK_RAN shows.
type Ran struct {
	HookID string          `json:"hookId"`
	Event  tools.HookEvent `json:"event"`
	// Executor is webhook or cel.
	Executor string   `json:"executor"`
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason,omitempty"`
	// Failure says in words for people why the hook failed; then Decision is what its onError made of that, and OnError
	// names that policy.
	Failure string        `json:"failure,omitempty"`
	OnError tools.OnError `json:"onError,omitempty"`
	// Delivery is what a webhook was given.
	Delivery   string `json:"delivery,omitempty"`
	DurationMs int64  `json:"durationMs"`
	// Err is the whole failure. It may name addresses of the operator's network, so it belongs into the log only.
	Err error `json:"-"`
}
