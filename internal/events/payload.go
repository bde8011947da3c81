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
	}
	SessionActivated struct{}
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
		// PromptThrough is the sequence of the newest message that the model was shown.
		PromptThrough int64  `json:"promptThrough"`
		PromptHash    string `json:"promptHash"`
		// Retries counts the calls that failed before this one.
		Retries int `json:"retries"`
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
	}
	FileWritten struct {
		Path    string `json:"path"`
		Hash    string `json:"hash,omitempty"`
		Size    int64  `json:"size"`
		Deleted bool   `json:"deleted"`
	}
	CaughtUp struct{}
)

// Kind implements Payload.
func (MessageReceived) Kind() models.EventKind { return models.EventMessageReceived }

// Kind implements Payload.
func (SessionStarted) Kind() models.EventKind { return models.EventSessionStarted }

// Kind implements Payload.
func (SessionActivated) Kind() models.EventKind { return models.EventSessionActivated }

// Kind implements Payload.
func (SessionIdled) Kind() models.EventKind { return models.EventSessionIdled }

// Kind implements Payload.
func (SessionTitleChanged) Kind() models.EventKind { return models.EventSessionTitleChanged }

// Kind implements Payload.
func (SessionModelChanged) Kind() models.EventKind { return models.EventSessionModelChanged }

// Kind implements Payload.
func (TurnQueued) Kind() models.EventKind { return models.EventTurnQueued }

// Kind implements Payload.
func (TurnStarted) Kind() models.EventKind { return models.EventTurnStarted }

// Kind implements Payload.
func (TurnCompleted) Kind() models.EventKind { return models.EventTurnCompleted }

// Kind implements Payload.
func (TurnFailed) Kind() models.EventKind { return models.EventTurnFailed }

// Kind implements Payload.
func (TurnSealed) Kind() models.EventKind { return models.EventTurnSealed }

// Kind implements Payload.
func (ReasonStarted) Kind() models.EventKind { return models.EventReasonStarted }

// Kind implements Payload.
func (ReasonCompleted) Kind() models.EventKind { return models.EventReasonCompleted }

// Kind implements Payload.
func (ReasonRecovered) Kind() models.EventKind { return models.EventReasonRecovered }

// Kind implements Payload.
func (OutputStarted) Kind() models.EventKind { return models.EventOutputStarted }

// Kind implements Payload.
func (OutputDelta) Kind() models.EventKind { return models.EventOutputDelta }

// Kind implements Payload.
func (OutputCompleted) Kind() models.EventKind { return models.EventOutputCompleted }

// Kind implements Payload.
func (ThinkingDelta) Kind() models.EventKind { return models.EventThinkingDelta }

// Kind implements Payload.
func (ThinkingCompleted) Kind() models.EventKind { return models.EventThinkingCompleted }

// Kind implements Payload.
func (GenerationRetrying) Kind() models.EventKind { return models.EventGenerationRetrying }

// Kind implements Payload.
func (GenerationRecorded) Kind() models.EventKind { return models.EventGenerationRecorded }

// Kind implements Payload.
func (ActStarted) Kind() models.EventKind { return models.EventActStarted }

// Kind implements Payload.
func (ActCompleted) Kind() models.EventKind { return models.EventActCompleted }

// Kind implements Payload.
func (ToolStarted) Kind() models.EventKind { return models.EventToolStarted }

// Kind implements Payload.
func (ToolProgress) Kind() models.EventKind { return models.EventToolProgress }

// Kind implements Payload.
func (ToolCompleted) Kind() models.EventKind { return models.EventToolCompleted }

// Kind implements Payload.
func (FileWritten) Kind() models.EventKind { return models.EventFileWritten }

// Kind implements Payload.
func (CaughtUp) Kind() models.EventKind { return models.EventCaughtUp }
