// Package events holds what events carry, the log's read side, the bus between processes, and subscriptions.
package events

import "github.com/ostler-dev/ostler/internal/models"

// Payload is the `data` of an event. Its fields, as JSON, are part of the API.
type Payload interface{ Kind() models.EventKind }

// Message is a message inside a payload, whole, so that no reader has to look it up.
type Message struct {
	ID        models.MessageID   `json:"id"`
	Role      models.MessageRole `json:"role"`
	Content   []models.Part      `json:"content"`
	CreatedAt models.Millis      `json:"createdAt"`
	Error     *models.Failure    `json:"error,omitempty"`
	// Interrupted is true when the agent was stopped in the middle of it.
	Interrupted bool `json:"interrupted,omitempty"`
}

// WaitSummary is something that a turn waits for.
type WaitSummary struct {
	ID         models.WaitID   `json:"id"`
	Kind       models.WaitKind `json:"kind"`
	ToolCallID *string         `json:"toolCallId,omitempty"`
	ToolName   *string         `json:"toolName,omitempty"`
	Question   string          `json:"question,omitempty"`
	Deadline   *models.Millis  `json:"deadline,omitempty"`
}

// RequestedCall is a call of a client tool.
type RequestedCall struct {
	WaitID      models.WaitID  `json:"waitId"`
	ToolCallID  string         `json:"toolCallId"`
	ToolName    string         `json:"toolName"`
	DisplayName string         `json:"displayName"`
	Arguments   models.JSON    `json:"arguments"`
	Deadline    *models.Millis `json:"deadline,omitempty"`
}

// PaymentTerms are what people are asked to approve of a payment. The amount is a decimal.
type PaymentTerms struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	Host     string `json:"host"`
	Purpose  string `json:"purpose"`
}

// FileState is what an entry of a session's files was before it was written or deleted; without a hash a directory.
type FileState struct {
	Hash      string        `json:"hash,omitempty"`
	Size      int64         `json:"size"`
	Encoding  string        `json:"encoding,omitempty"`
	Readonly  bool          `json:"readonly,omitempty"`
	UpdatedAt models.Millis `json:"updatedAt"`
}

// The payloads, one per kind.
type (
	MessageReceived struct {
		Message  Message `json:"message"`
		Delivery string  `json:"delivery"`
	}
	SessionStarted struct {
		HarnessID models.HarnessID `json:"harnessId"`
		AgentID   *models.AgentID  `json:"agentId,omitempty"`
		Title     *string          `json:"title,omitempty"`
		// ForkedFromID is the session whose log comes before this event.
		ForkedFromID *models.SessionID `json:"forkedFromId,omitempty"`
		// ThroughSequence is the last event of that log which is part of this one.
		ThroughSequence int64 `json:"throughSequence,omitempty"`
	}
	// MessageEdited names who edited the message; nobody when a hook did.
	MessageEdited struct {
		Message Message          `json:"message"`
		ByKind  models.ActorKind `json:"byKind,omitempty"`
		ByID    models.ActorRef  `json:"byId,omitempty"`
	}
	SessionActivated struct{}
	SessionWaiting   struct{}
	SessionResumed   struct{}
	SessionIdled     struct {
		Usage models.Usage `json:"usage"`
	}
	SessionTitleChanged struct {
		Title *string `json:"title"`
	}
	SessionModelChanged struct {
		ModelID *models.ModelID `json:"modelId"`
	}
	TurnQueued struct {
		InputMessageID models.MessageID `json:"inputMessageId"`
	}
	TurnStarted struct {
		InputMessageID models.MessageID `json:"inputMessageId"`
		InputPreview   string           `json:"inputPreview,omitempty"`
	}
	QueueReordered struct {
		TurnIDs []models.TurnID `json:"turnIds"`
	}
	TurnWaiting struct {
		Waits []WaitSummary `json:"waits"`
	}
	TurnResumed   struct{}
	TurnCancelled struct {
		StopReason models.StopReason `json:"stopReason"`
		Reason     string            `json:"reason,omitempty"`
		ByKind     models.ActorKind  `json:"byKind"`
		ByID       models.ActorRef   `json:"byId,omitempty"`
	}
	TurnCompleted struct {
		StopReason         models.StopReason `json:"stopReason"`
		Iterations         int               `json:"iterations"`
		ToolCalls          int               `json:"toolCalls"`
		ModelCalls         int               `json:"modelCalls"`
		FinalMessageID     *models.MessageID `json:"finalMessageId,omitempty"`
		AnswerPreview      string            `json:"answerPreview,omitempty"`
		Usage              models.Usage      `json:"usage"`
		DurationMs         int64             `json:"durationMs"`
		TimeToFirstTokenMs *int64            `json:"timeToFirstTokenMs,omitempty"`
	}
	TurnFailed struct {
		StopReason models.StopReason `json:"stopReason"`
		Error      models.Failure    `json:"error"`
	}
	TurnSealed struct {
		StopReason models.StopReason `json:"stopReason"`
		Error      models.Failure    `json:"error"`
	}
	// TurnRated names who thinks so of the turn; the rating is empty when they have taken it back.
	TurnRated struct {
		Rating  models.Rating    `json:"rating,omitempty"`
		Comment string           `json:"comment,omitempty"`
		ByKind  models.ActorKind `json:"byKind"`
		ByID    models.ActorRef  `json:"byId"`
	}
	ReasonStarted struct {
		Iteration int `json:"iteration"`
	}
	ReasonCompleted struct {
		Iteration int  `json:"iteration"`
		Success   bool `json:"success"`
	}
	ReasonRecovered struct {
		Iteration  int    `json:"iteration"`
		Policy     string `json:"policy"`
		Recoveries int    `json:"recoveries"`
	}
	OutputStarted struct {
		MessageID models.MessageID `json:"messageId"`
		Model     string           `json:"model"`
		Iteration int              `json:"iteration"`
	}
	OutputDelta struct {
		MessageID models.MessageID `json:"messageId"`
		Offset    int              `json:"offset"`
		Delta     string           `json:"delta"`
	}
	OutputCompleted struct {
		Message Message       `json:"message"`
		Usage   *models.Usage `json:"usage,omitempty"`
	}
	ThinkingDelta struct {
		MessageID models.MessageID `json:"messageId"`
		Offset    int              `json:"offset"`
		Delta     string           `json:"delta"`
	}
	ThinkingCompleted struct {
		MessageID models.MessageID `json:"messageId"`
		Text      string           `json:"text"`
	}
	GenerationRetrying struct {
		MessageID models.MessageID `json:"messageId"`
		// Model is the one that failed; NextModel is asked next, and may be the same.
		Model     string `json:"model"`
		Code      string `json:"code"`
		Message   string `json:"message"`
		NextModel string `json:"nextModel"`
		// Attempt counts the calls that have failed in this step.
		Attempt int `json:"attempt"`
		// DelayMs is the time until the next call.
		DelayMs int64 `json:"delayMs"`
	}
	GenerationRecorded struct {
		MessageID          models.MessageID `json:"messageId"`
		Model              string           `json:"model"`
		ModelID            models.ModelID   `json:"modelId"`
		Usage              models.Usage     `json:"usage"`
		DurationMs         int64            `json:"durationMs"`
		TimeToFirstTokenMs *int64           `json:"timeToFirstTokenMs,omitempty"`
		FinishReason       string           `json:"finishReason"`
		// PromptFrom is the sequence of the first message that the model was shown. Of a turn that is too large for the model, what comes
		// next to it may have been left out. It is 0 for a call whose runner died.
		PromptFrom int64 `json:"promptFrom,omitempty"`
		// PromptThrough is the sequence of the newest message that the model was shown.
		PromptThrough int64 `json:"promptThrough"`
		// PromptHash is empty for a call whose runner died.
		PromptHash string `json:"promptHash"`
		// Retries counts the calls that failed before this one.
		Retries int `json:"retries"`
		// Estimated is true when the runner died during the call, and the provider had not said all of what it took.
		Estimated bool `json:"estimated,omitempty"`
	}
	ActStarted struct {
		Iteration   int      `json:"iteration"`
		ToolCallIDs []string `json:"toolCallIds"`
	}
	ActCompleted struct {
		Iteration int `json:"iteration"`
	}
	ToolStarted struct {
		ToolCallID  string      `json:"toolCallId"`
		ToolName    string      `json:"toolName"`
		DisplayName string      `json:"displayName"`
		Arguments   models.JSON `json:"arguments"`
		Narration   string      `json:"narration,omitempty"`
	}
	ToolProgress struct {
		ToolCallID  string `json:"toolCallId"`
		ToolName    string `json:"toolName"`
		DisplayName string `json:"displayName"`
		Message     string `json:"message"`
	}
	ToolCompleted struct {
		ToolCallID string      `json:"toolCallId"`
		ToolName   string      `json:"toolName"`
		Success    bool        `json:"success"`
		Result     models.JSON `json:"result,omitempty"`
		Error      string      `json:"error,omitempty"`
		DurationMs int64       `json:"durationMs"`
		Narration  string      `json:"narration,omitempty"`
		// ConnectionRequired is the outside provider that the user must connect first.
		ConnectionRequired string `json:"connectionRequired,omitempty"`
	}
	ToolCallsRequested struct {
		ToolCalls []RequestedCall `json:"toolCalls"`
	}
	ToolCallRepaired struct {
		ToolCallID string `json:"toolCallId"`
		ToolName   string `json:"toolName"`
		// Outcome is salvaged.
		Outcome string `json:"outcome"`
	}
	ApprovalRequested struct {
		WaitID      models.WaitID  `json:"waitId"`
		ToolCallID  string         `json:"toolCallId"`
		ToolName    string         `json:"toolName"`
		DisplayName string         `json:"displayName"`
		Arguments   models.JSON    `json:"arguments"`
		Quorum      int            `json:"quorum"`
		Role        models.Role    `json:"role,omitempty"`
		Deadline    *models.Millis `json:"deadline,omitempty"`
		// Payment is what is to be approved when it isn't the call itself.
		Payment *PaymentTerms `json:"payment,omitempty"`
	}
	ApprovalDecided struct {
		WaitID     models.WaitID `json:"waitId"`
		ToolCallID string        `json:"toolCallId"`
		ToolName   string        `json:"toolName"`
		// Outcome is APPROVED, DENIED, EXPIRED, CANCELLED, or PENDING when it takes more decisions.
		Outcome string `json:"outcome"`
		Approve bool   `json:"approve"`
		Note    string `json:"note,omitempty"`
		// Arguments are those that were put in the place of the call's.
		Arguments models.JSON      `json:"arguments,omitempty"`
		ByKind    models.ActorKind `json:"byKind,omitempty"`
		ByID      models.ActorRef  `json:"byId,omitempty"`
	}
	TranscriptRepaired struct {
		ToolCallID string `json:"toolCallId"`
		ToolName   string `json:"toolName"`
		// Action is replay or synthesize.
		Action string `json:"action"`
	}
	HookRan struct {
		HookID     string `json:"hookId"`
		Event      string `json:"event"`
		Decision   string `json:"decision"`
		Reason     string `json:"reason,omitempty"`
		ToolCallID string `json:"toolCallId,omitempty"`
		DurationMs int64  `json:"durationMs"`
		Error      string `json:"error,omitempty"`
	}
	ContextCompacted struct {
		// Strategy is TRIM.
		Strategy        string `json:"strategy"`
		FromSequence    int    `json:"fromSequence"`
		ThroughSequence int    `json:"throughSequence"`
	}
	FileWritten struct {
		Path    string `json:"path"`
		Hash    string `json:"hash,omitempty"`
		Size    int64  `json:"size"`
		Deleted bool   `json:"deleted"`
		// Directory is true when what was deleted is a directory.
		Directory bool `json:"directory,omitempty"`
		// Directories are those that were made to hold the file.
		Directories []string `json:"directories,omitempty"`
		// Created is true when nothing was at the path, Before what was. With them a fork finds out what the files were at an
		// earlier time, from nothing but what was written since. Old events have neither.
		Created bool       `json:"created,omitempty"`
		Before  *FileState `json:"before,omitempty"`
	}
	CaughtUp struct{}
)

// Kind of each implements Payload.
func (MessageReceived) Kind() models.EventKind     { return models.EventMessageReceived }
func (SessionStarted) Kind() models.EventKind      { return models.EventSessionStarted }
func (SessionActivated) Kind() models.EventKind    { return models.EventSessionActivated }
func (SessionIdled) Kind() models.EventKind        { return models.EventSessionIdled }
func (SessionTitleChanged) Kind() models.EventKind { return models.EventSessionTitleChanged }
func (SessionModelChanged) Kind() models.EventKind { return models.EventSessionModelChanged }
func (TurnQueued) Kind() models.EventKind          { return models.EventTurnQueued }
func (TurnStarted) Kind() models.EventKind         { return models.EventTurnStarted }
func (TurnCompleted) Kind() models.EventKind       { return models.EventTurnCompleted }
func (TurnFailed) Kind() models.EventKind          { return models.EventTurnFailed }
func (TurnSealed) Kind() models.EventKind          { return models.EventTurnSealed }
func (ReasonStarted) Kind() models.EventKind       { return models.EventReasonStarted }
func (ReasonCompleted) Kind() models.EventKind     { return models.EventReasonCompleted }
func (ReasonRecovered) Kind() models.EventKind     { return models.EventReasonRecovered }
func (OutputStarted) Kind() models.EventKind       { return models.EventOutputStarted }
func (OutputDelta) Kind() models.EventKind         { return models.EventOutputDelta }
func (OutputCompleted) Kind() models.EventKind     { return models.EventOutputCompleted }
func (ThinkingDelta) Kind() models.EventKind       { return models.EventThinkingDelta }
func (ThinkingCompleted) Kind() models.EventKind   { return models.EventThinkingCompleted }
func (GenerationRetrying) Kind() models.EventKind  { return models.EventGenerationRetrying }
func (GenerationRecorded) Kind() models.EventKind  { return models.EventGenerationRecorded }
func (ActStarted) Kind() models.EventKind          { return models.EventActStarted }
func (ActCompleted) Kind() models.EventKind        { return models.EventActCompleted }
func (ToolStarted) Kind() models.EventKind         { return models.EventToolStarted }
func (ToolProgress) Kind() models.EventKind        { return models.EventToolProgress }
func (ToolCompleted) Kind() models.EventKind       { return models.EventToolCompleted }
func (FileWritten) Kind() models.EventKind         { return models.EventFileWritten }
func (CaughtUp) Kind() models.EventKind            { return models.EventCaughtUp }
func (MessageEdited) Kind() models.EventKind       { return models.EventMessageEdited }
func (SessionWaiting) Kind() models.EventKind      { return models.EventSessionWaiting }
func (SessionResumed) Kind() models.EventKind      { return models.EventSessionResumed }
func (QueueReordered) Kind() models.EventKind      { return models.EventQueueReordered }
func (TurnWaiting) Kind() models.EventKind         { return models.EventTurnWaiting }
func (TurnResumed) Kind() models.EventKind         { return models.EventTurnResumed }
func (TurnCancelled) Kind() models.EventKind       { return models.EventTurnCancelled }
func (TurnRated) Kind() models.EventKind           { return models.EventTurnRated }
func (ToolCallsRequested) Kind() models.EventKind  { return models.EventToolCallsRequested }
func (ToolCallRepaired) Kind() models.EventKind    { return models.EventToolCallRepaired }
func (ApprovalRequested) Kind() models.EventKind   { return models.EventApprovalRequested }
func (ApprovalDecided) Kind() models.EventKind     { return models.EventApprovalDecided }
func (TranscriptRepaired) Kind() models.EventKind  { return models.EventTranscriptRepaired }
func (ContextCompacted) Kind() models.EventKind    { return models.EventContextCompacted }
func (HookRan) Kind() models.EventKind             { return models.EventHookRan }
