package model

import "github.com/ostler-dev/ostler/internal/models"

// EventBase is what all events have.
type EventBase struct {
	ID         string
	Kind       EventKind
	Sequence   *int
	Cursor     string
	OccurredAt models.Millis
	SessionID  *string
	TurnID     *string
	Data       models.JSON
}

// IsEvent marks the type as an Event.
func (EventBase) IsEvent() {}

// GetID implements Event.
func (e EventBase) GetID() string { return e.ID }

// GetKind implements Event.
func (e EventBase) GetKind() EventKind { return e.Kind }

// GetSequence implements Event.
func (e EventBase) GetSequence() *int { return e.Sequence }

// GetCursor implements Event.
func (e EventBase) GetCursor() string { return e.Cursor }

// GetOccurredAt implements Event.
func (e EventBase) GetOccurredAt() models.Millis { return e.OccurredAt }

// GetSessionID implements Event.
func (e EventBase) GetSessionID() *string { return e.SessionID }

// GetTurnID implements Event.
func (e EventBase) GetTurnID() *string { return e.TurnID }

// GetData implements Event.
func (e EventBase) GetData() models.JSON { return e.Data }

// The object types of events, one per kind.
type (
	MessageReceived struct {
		EventBase
		Message *Message
	}
	SessionStarted struct {
		EventBase
		ForkedFromID *string
	}
	MessageEdited struct {
		EventBase
		Message *Message
	}
	SessionWaiting struct {
		EventBase
	}
	SessionResumed struct {
		EventBase
	}
	SessionPaused struct {
		EventBase
		BudgetID string
	}
	BudgetWarned struct {
		EventBase
		BudgetID string
		Subject  BudgetSubject
		Currency string
		Limit    string
		Spent    string
		Balance  string
	}
	BudgetPaused struct {
		EventBase
		BudgetID  string
		Subject   BudgetSubject
		Currency  string
		Limit     string
		SoftLimit string
		Spent     string
		Balance   string
	}
	BudgetExhausted struct {
		EventBase
		BudgetID string
		Subject  BudgetSubject
		Currency string
		Limit    string
		Spent    string
		Balance  string
		Needed   string
	}
	BudgetResumed struct {
		EventBase
		BudgetID string
	}
	QueueReordered struct {
		EventBase
		TurnIDs []string
	}
	TurnWaiting struct {
		EventBase
		Waits []*WaitSummary
	}
	TurnResumed struct {
		EventBase
	}
	TurnCancelled struct {
		EventBase
		StopReason StopReason
		Reason     *string
	}
	ToolCallsRequested struct {
		EventBase
		ToolCalls []*RequestedToolCall
	}
	ToolCallRepaired struct {
		EventBase
		ToolCallID string
		ToolName   string
		Outcome    string
	}
	ApprovalRequested struct {
		EventBase
		WaitID      string
		ToolCallID  string
		ToolName    string
		DisplayName string
		Arguments   models.JSON
		Quorum      int
		Deadline    *models.Millis
		Payment     *PaymentTerms
	}
	ApprovalDecided struct {
		EventBase
		WaitID     string
		ToolCallID string
		ToolName   string
		Outcome    string
		Approve    bool
		Note       *string
		Arguments  models.JSON
	}
	TranscriptRepaired struct {
		EventBase
		ToolCallID string
		ToolName   string
		Action     string
	}
	HookRan struct {
		EventBase
		HookID     string
		Event      string
		Decision   string
		Reason     *string
		ToolCallID *string
		DurationMs int64
		Error      *string
	}
	SessionActivated struct {
		EventBase
	}
	SessionIdled struct {
		EventBase
		Usage *Usage
	}
	SessionTitleChanged struct {
		EventBase
		Title *string
	}
	SessionModelChanged struct {
		EventBase
		ModelID *string
	}
	TurnQueued struct {
		EventBase
	}
	TurnStarted struct {
		EventBase
		InputMessageID string
		InputPreview   *string
	}
	TurnCompleted struct {
		EventBase
		StopReason         StopReason
		Iterations         int
		ToolCalls          int
		FinalMessageID     *string
		AnswerPreview      *string
		Usage              *Usage
		ModelCalls         int
		DurationMs         int64
		TimeToFirstTokenMs *int64
	}
	TurnFailed struct {
		EventBase
		Error *TurnError
	}
	TurnSealed struct {
		EventBase
		StopReason StopReason
		Error      *TurnError
	}
	ReasonStarted struct {
		EventBase
		Iteration int
	}
	ReasonCompleted struct {
		EventBase
		Iteration int
		Success   bool
	}
	ReasonRecovered struct {
		EventBase
		Iteration  int
		Policy     string
		Recoveries int
	}
	OutputStarted struct {
		EventBase
		MessageID string
		Model     string
		Iteration int
	}
	OutputDelta struct {
		EventBase
		MessageID string
		Offset    int
		Delta     string
	}
	OutputCompleted struct {
		EventBase
		Message *Message
		Usage   *Usage
	}
	ThinkingDelta struct {
		EventBase
		MessageID string
		Offset    int
		Delta     string
	}
	ThinkingCompleted struct {
		EventBase
		MessageID string
		Text      string
	}
	GenerationRetrying struct {
		EventBase
		MessageID string
		Model     string
		Code      string
		Message   string
		NextModel string
		Attempt   int
		DelayMs   int64
	}
	GenerationRecorded struct {
		EventBase
		MessageID          string
		Model              string
		Usage              *Usage
		DurationMs         int64
		TimeToFirstTokenMs *int64
		FinishReason       string
		Retries            int
		Estimated          bool
	}
	ActStarted struct {
		EventBase
		Iteration   int
		ToolCallIDs []string
	}
	ActCompleted struct {
		EventBase
		Iteration int
	}
	ToolStarted struct {
		EventBase
		ToolCallID  string
		ToolName    string
		DisplayName string
		Arguments   models.JSON
		Narration   *string
	}
	ToolProgress struct {
		EventBase
		ToolCallID  string
		ToolName    string
		DisplayName string
		Message     string
	}
	ToolCompleted struct {
		EventBase
		ToolCallID         string
		ToolName           string
		Success            bool
		Result             models.JSON
		Error              *string
		DurationMs         int64
		Narration          *string
		ConnectionRequired *string
	}
	FileWritten struct {
		EventBase
		Path    string
		Hash    *string
		Size    int64
		Deleted bool
	}
	CaughtUp struct {
		EventBase
	}
)
