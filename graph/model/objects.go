package model

import "github.com/ostler-dev/ostler/internal/models"

// The objects below carry, beside their fields, the ids that their edges are resolved by.

// Org is a tenant.
type Org struct {
	ID        string
	Name      string
	Slug      string
	CreatedAt models.Millis
	// AllowUnpricedModels lets models without a price run under budgets in dollars.
	AllowUnpricedModels bool

	DefaultHarnessID *models.HarnessID
	DefaultModelID   *models.ModelID
}

// Model is a model of a provider.
type Model struct {
	ID                  string
	Name                string
	DisplayName         string
	Enabled             bool
	ContextWindowTokens *int
	MaxOutputTokens     *int
	Price               *ModelPrice

	ModelID    models.ModelID
	ProviderID models.ProviderID
}

// Harness tells how agents run.
type Harness struct {
	ID             string
	Name           string
	DisplayName    string
	Description    *string
	SystemPrompt   *string
	Capabilities   []*CapabilityRef
	MaxIterations  *int
	StreamRecovery *StreamRecovery
	Lifecycle      Lifecycle
	BuiltIn        bool
	Revision       int
	CreatedAt      models.Millis
	UpdatedAt      models.Millis

	HarnessID      models.HarnessID
	ParentID       *models.HarnessID
	DefaultModelID *models.ModelID
	FallbackIDs    []models.ModelID
}

// Agent tells what an agent is for.
type Agent struct {
	ID            string
	Name          string
	DisplayName   string
	Description   *string
	SystemPrompt  string
	Capabilities  []*CapabilityRef
	MaxIterations *int
	ClientTools   []*ClientTool
	Tags          []string
	Lifecycle     Lifecycle
	Revision      int
	CreatedAt     models.Millis
	UpdatedAt     models.Millis

	AgentID        models.AgentID
	HarnessID      *models.HarnessID
	DefaultModelID *models.ModelID
	FallbackIDs    []models.ModelID
}

// Session is where an agent works.
type Session struct {
	ID            string
	Title         *string
	Status        SessionStatus
	Tags          []string
	Locale        *string
	CustomerKey   *string
	LastSequence  int
	ForkedThrough int
	Trial         bool
	Usage         *Usage
	CreatedAt     models.Millis
	UpdatedAt     models.Millis

	// Setup is the hash of what the session brings.
	Setup         []byte
	ParentID      *models.SessionID
	RootID        *models.SessionID
	ForkedFromID  *models.SessionID
	SessionID     models.SessionID
	HarnessID     models.HarnessID
	AgentID       *models.AgentID
	ModelID       *models.ModelID
	CurrentTurnID *models.TurnID
	CreatedByKind models.ActorKind
	CreatedByID   *models.ActorID
	OwnerID       *models.UserID
}

// SessionSummary is what lists show of a session.
type SessionSummary struct {
	Preview    *string
	Outcome    *TurnStatus
	DurationMs *int64

	ModelID *models.ModelID
}

// Turn is the work that answers one input.
type Turn struct {
	ID                string
	Status            TurnStatus
	StopReason        *StopReason
	Iterations        int
	ToolCalls         int
	Usage             *Usage
	Error             *TurnError
	Recoveries        int
	CancelRequestedAt *models.Millis
	CancelReason      *string
	EndedSequence     *int
	QueuedAt          models.Millis
	StartedAt         *models.Millis
	FirstTokenAt      *models.Millis
	FinishedAt        *models.Millis

	TurnID         models.TurnID
	StartedByKind  models.ActorKind
	StartedByID    *models.ActorID
	SessionID      models.SessionID
	InputMessageID models.MessageID
	FinalMessageID *models.MessageID
}

// Wait is something that a turn waits for, or has waited for.
type Wait struct {
	ID           string
	Kind         WaitKind
	ToolCallID   *string
	ToolName     *string
	Arguments    models.JSON
	Payment      *PaymentTerms
	Question     *string
	Options      []string
	Deadline     *models.Millis
	State        WaitState
	Quorum       int
	RequiredRole *Role
	Reason       *string
	Decisions    []*ApprovalDecision
	CreatedAt    models.Millis
	ResolvedAt   *models.Millis

	WaitID    models.WaitID
	SessionID models.SessionID
	TurnID    models.TurnID
	AllowSelf bool
}

// ApprovalDecision is what one person decided about an approval.
type ApprovalDecision struct {
	Approve   bool
	Arguments models.JSON
	Note      *string
	CreatedAt models.Millis

	ActorKind models.ActorKind
	ActorID   *models.ActorID
}

// TurnFeedback is what one person or API key thinks of the answer of a turn.
type TurnFeedback struct {
	Rating  Rating
	Comment *string
	RatedAt models.Millis

	ActorKind models.ActorKind
	ActorID   *models.ActorID
}

// Message is a message of a session.
type Message struct {
	ID        string
	Role      MessageRole
	Content   []ContentPart
	Sequence  int
	CreatedAt models.Millis
	Error     *TurnError
	// Interrupted is true when the agent was stopped in the middle of it.
	Interrupted bool

	TurnID models.TurnID
}

// Revision is a past state of a harness or agent.
type Revision struct {
	Number    int
	Reason    *string
	Snapshot  models.JSON
	CreatedAt models.Millis

	ActorKind models.ActorKind
	ActorID   *models.ActorID
	// Before is the snapshot of the revision before; nil for the first one that is kept.
	Before models.JSON
}

// DiscoveredModel is a model that a provider offers, or that this server knows of.
type DiscoveredModel struct {
	Name                string
	DisplayName         string
	ContextWindowTokens *int
	MaxOutputTokens     *int
	Price               *ModelPrice

	// ProviderID is zero where there is none, so that no model of it was added.
	ProviderID models.ProviderID
}

// IsNode marks the type as a Node.
func (Wait) IsNode() {}

// GetID implements Node.
func (w Wait) GetID() string { return w.ID }

// IsNode marks the type as a Node.
func (Org) IsNode() {}

// GetID implements Node.
func (o Org) GetID() string { return o.ID }

// IsNode marks the type as a Node.
func (Model) IsNode() {}

// GetID implements Node.
func (o Model) GetID() string { return o.ID }

// IsNode marks the type as a Node.
func (Harness) IsNode() {}

// GetID implements Node.
func (o Harness) GetID() string { return o.ID }

// IsNode marks the type as a Node.
func (Agent) IsNode() {}

// GetID implements Node.
func (o Agent) GetID() string { return o.ID }

// IsNode marks the type as a Node.
func (Session) IsNode() {}

// GetID implements Node.
func (o Session) GetID() string { return o.ID }

// IsNode marks the type as a Node.
func (Turn) IsNode() {}

// GetID implements Node.
func (o Turn) GetID() string { return o.ID }

// IsNode marks the type as a Node.
func (Message) IsNode() {}

// GetID implements Node.
func (o Message) GetID() string { return o.ID }
