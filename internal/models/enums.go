package models

import "slices"

// Role is what a member may do in an organization, from most to least.
type Role string

// The roles.
const (
	RoleOwner  Role = "OWNER"
	RoleAdmin  Role = "ADMIN"
	RoleMember Role = "MEMBER"
	RoleViewer Role = "VIEWER"
)

// AtLeast reports whether a role is another one, or more. Everybody has the empty one, which asks for nothing; nobody has one that doesn't exist.
func (r Role) AtLeast(least Role) bool {
	roles := []Role{"", RoleViewer, RoleMember, RoleAdmin, RoleOwner}
	want := slices.Index(roles, least)
	return want >= 0 && slices.Index(roles, r) >= want
}

// Lifecycle is the state of a harness, an agent or a provider.
type Lifecycle string

// The states of a lifecycle.
const (
	LifecycleActive   Lifecycle = "ACTIVE"
	LifecycleArchived Lifecycle = "ARCHIVED"
	LifecycleDeleted  Lifecycle = "DELETED"
)

// ProviderKind is the protocol of a model provider.
type ProviderKind string

// The kinds of providers. ProviderSimulated answers without a key and without a network.
const (
	ProviderAnthropic        ProviderKind = "ANTHROPIC"
	ProviderOpenAI           ProviderKind = "OPENAI"
	ProviderOpenAICompatible ProviderKind = "OPENAI_COMPATIBLE"
	ProviderGemini           ProviderKind = "GEMINI"
	ProviderSimulated        ProviderKind = "SIMULATED"
)

// NeedsKey reports whether providers of the kind never answer without a key. They are not asked without one, neither by a turn nor by a test.
func (k ProviderKind) NeedsKey() bool {
	return k == ProviderAnthropic || k == ProviderOpenAI || k == ProviderGemini
}

// SessionStatus is what a session is doing.
type SessionStatus string

// The states of a session.
const (
	SessionStarted SessionStatus = "STARTED"
	SessionActive  SessionStatus = "ACTIVE"
	SessionIdle    SessionStatus = "IDLE"
	SessionWaiting SessionStatus = "WAITING"
	SessionPaused  SessionStatus = "PAUSED"
)

// TurnStatus is the state of a turn.
type TurnStatus string

// The states of a turn. RUNNING and WAITING are the active ones.
const (
	TurnQueued    TurnStatus = "QUEUED"
	TurnRunning   TurnStatus = "RUNNING"
	TurnWaiting   TurnStatus = "WAITING"
	TurnCancelled TurnStatus = "CANCELLED"
	TurnCompleted TurnStatus = "COMPLETED"
	TurnFailed    TurnStatus = "FAILED"
	TurnSealed    TurnStatus = "SEALED"
)

// StopReason tells why a turn ended.
type StopReason string

// The stop reasons.
const (
	StopEndTurn        StopReason = "END_TURN"
	StopMaxTokens      StopReason = "MAX_TOKENS"
	StopRefusal        StopReason = "REFUSAL"
	StopIterationLimit StopReason = "ITERATION_LIMIT"
	StopNoProgress     StopReason = "NO_PROGRESS"
	StopError          StopReason = "ERROR"
	StopDependency     StopReason = "DEPENDENCY"
	StopCancelled      StopReason = "CANCELLED"
	StopBlocked        StopReason = "BLOCKED"
	StopBudget         StopReason = "BUDGET"
)

// MessageRole tells who wrote a message.
type MessageRole string

// The roles of messages.
const (
	MessageUser  MessageRole = "USER"
	MessageAgent MessageRole = "AGENT"
	MessageTool  MessageRole = "TOOL"
)

// ActorKind tells what kind of actor did something.
type ActorKind string

// The kinds of actors.
const (
	ActorUser   ActorKind = "USER"
	ActorAPIKey ActorKind = "API_KEY"
	ActorAgent  ActorKind = "AGENT"
	ActorSystem ActorKind = "SYSTEM"
)

// Phase is where a running turn is.
type Phase string

// The phases of a turn: between its claim and its first step, in a model call, in its tools, at its end.
const (
	PhaseInput  Phase = "INPUT"
	PhaseReason Phase = "REASON"
	PhaseAct    Phase = "ACT"
	PhaseEnd    Phase = "END"
)

// EffectState is the state of an entry of the journal.
type EffectState string

// The states of an effect: claimed and not begun; running; waiting for somebody; settled, with an outcome.
const (
	EffectClaimed EffectState = "CLAIMED"
	EffectRunning EffectState = "RUNNING"
	EffectWaiting EffectState = "WAITING"
	EffectSettled EffectState = "SETTLED"
)

// EffectKind tells what an effect does.
type EffectKind string

// The kinds of effects.
const (
	EffectModel EffectKind = "MODEL"
	EffectTool  EffectKind = "TOOL"
	EffectStep  EffectKind = "STEP"
	EffectHook  EffectKind = "HOOK"
)

// EventKind names what an event reports; see docs/events.md.
type EventKind string

// The kinds of events.
const (
	EventMessageReceived     EventKind = "MESSAGE_RECEIVED"
	EventSessionStarted      EventKind = "SESSION_STARTED"
	EventSessionActivated    EventKind = "SESSION_ACTIVATED"
	EventSessionIdled        EventKind = "SESSION_IDLED"
	EventSessionTitleChanged EventKind = "SESSION_TITLE_CHANGED"
	EventSessionModelChanged EventKind = "SESSION_MODEL_CHANGED"
	EventTurnQueued          EventKind = "TURN_QUEUED"
	EventTurnStarted         EventKind = "TURN_STARTED"
	EventTurnCompleted       EventKind = "TURN_COMPLETED"
	EventTurnFailed          EventKind = "TURN_FAILED"
	EventTurnSealed          EventKind = "TURN_SEALED"
	EventReasonStarted       EventKind = "REASON_STARTED"
	EventReasonCompleted     EventKind = "REASON_COMPLETED"
	EventReasonRecovered     EventKind = "REASON_RECOVERED"
	EventOutputStarted       EventKind = "OUTPUT_STARTED"
	EventOutputDelta         EventKind = "OUTPUT_DELTA"
	EventOutputCompleted     EventKind = "OUTPUT_COMPLETED"
	EventThinkingDelta       EventKind = "THINKING_DELTA"
	EventThinkingCompleted   EventKind = "THINKING_COMPLETED"
	EventGenerationRetrying  EventKind = "GENERATION_RETRYING"
	EventGenerationRecorded  EventKind = "GENERATION_RECORDED"
	EventActStarted          EventKind = "ACT_STARTED"
	EventActCompleted        EventKind = "ACT_COMPLETED"
	EventToolStarted         EventKind = "TOOL_STARTED"
	EventToolProgress        EventKind = "TOOL_PROGRESS"
	EventToolCompleted       EventKind = "TOOL_COMPLETED"
	EventMessageEdited       EventKind = "MESSAGE_EDITED"
	EventSessionWaiting      EventKind = "SESSION_WAITING"
	EventSessionResumed      EventKind = "SESSION_RESUMED"
	EventQueueReordered      EventKind = "QUEUE_REORDERED"
	EventTurnWaiting         EventKind = "TURN_WAITING"
	EventTurnResumed         EventKind = "TURN_RESUMED"
	EventTurnCancelled       EventKind = "TURN_CANCELLED"
	EventToolCallsRequested  EventKind = "TOOL_CALLS_REQUESTED"
	EventToolCallRepaired    EventKind = "TOOL_CALL_REPAIRED"
	EventApprovalRequested   EventKind = "APPROVAL_REQUESTED"
	EventApprovalDecided     EventKind = "APPROVAL_DECIDED"
	EventTranscriptRepaired  EventKind = "TRANSCRIPT_REPAIRED"
	EventTurnRated           EventKind = "TURN_RATED"
	EventHookRan             EventKind = "HOOK_RAN"
	EventContextCompacted    EventKind = "CONTEXT_COMPACTED"
	EventFileWritten         EventKind = "FILE_WRITTEN"
	EventSessionPaused       EventKind = "SESSION_PAUSED"
	EventBudgetWarned        EventKind = "BUDGET_WARNED"
	EventBudgetPaused        EventKind = "BUDGET_PAUSED"
	EventBudgetExhausted     EventKind = "BUDGET_EXHAUSTED"
	EventBudgetResumed       EventKind = "BUDGET_RESUMED"
	EventCaughtUp            EventKind = "CAUGHT_UP"
)

// StreamRecovery tells what becomes of an answer that its runner did not live to finish.
type StreamRecovery string

// The ways to recover a stream: ask the model again, or keep what it had said.
const (
	RecoveryRestart  StreamRecovery = "RESTART"
	RecoveryFinalize StreamRecovery = "FINALIZE"
)
