// Package llm is what the turn engine asks of models: one request type out, streamed events in. Each protocol
// has a driver in a package below this one.
package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// Request is one call of a model.
type Request struct {
	// Model is what the provider calls the model.
	Model string
	// System is the system prompt; empty for none.
	System string
	// Messages is the conversation, oldest first. Every tool call in it has its result.
	Messages []Message
	// Tools are those that the model may call.
	Tools []Tool
	// MaxTokens bounds the output; 0 leaves it to the provider.
	MaxTokens int
	// ReadFile reads a text file of the session that the call is made for. Only the simulated driver uses it.
	// It returns an error that wraps fs.ErrNotExist when there is none, also when all that the session had at the beginning of the step were
	// empty files.
	ReadFile func(ctx context.Context, path string) ([]byte, error)
	// Endpoint is where the provider is asked, and as whom.
	Endpoint Endpoint
	// Conversation names the conversation to the provider's prompt cache. It is the same for all calls of a session.
	Conversation string
	// ReadImage reads an image that a part names. It returns an error that wraps fs.ErrNotExist when there is none: then
	// the model is told so in its place.
	ReadImage func(ctx context.Context, id models.ImageID) (Image, error)
}

// Endpoint is a provider's server and the key to it.
type Endpoint struct {
	// BaseURL is without a slash at its end; empty for the provider's own.
	BaseURL string
	// APIKey may be empty for servers that need none.
	APIKey string
}

// Image is an image as it was uploaded.
type Image struct {
	// MediaType is image/png, image/jpeg, image/gif or image/webp.
	MediaType string
	Data      []byte
}

// Message is a message of the conversation as the model is shown it.
type Message struct {
	Role  models.MessageRole
	Parts []models.Part
}

// Tool is a tool as the model is shown it.
type Tool struct {
	Name        string
	Description string
	// InputSchema is the JSON Schema of the arguments.
	InputSchema json.RawMessage
}

// FinishReason tells why a model stopped.
type FinishReason string

// The reasons to stop.
const (
	FinishStop      FinishReason = "stop"
	FinishToolCalls FinishReason = "tool_calls"
	FinishLength    FinishReason = "length"
	FinishRefusal   FinishReason = "refusal"
)

// Delta is a piece of a stream. At most one field is set; none when the provider only gave a sign of life.
type Delta struct {
	Text     string
	Thinking string
	// ToolCall is the id of a call whose arguments begin to arrive.
	ToolCall string
	// Usage is what the call has taken so far, where a provider tells it before the end; nil where it doesn't. Each one replaces
	// the one before. It is as in Response, which has the last word.
	Usage *models.Usage
}

// Response is what a call brought in all.
type Response struct {
	// Parts are thinking, text and tool calls in the order in which they came. Arguments of calls are JSON as the
	// model wrote it, which may be malformed.
	Parts []models.Part
	// Usage is of tokens only, because the engine knows the prices; with a cost where the provider has reported it.
	Usage        models.Usage
	FinishReason FinishReason
}

// Driver speaks one provider's protocol.
type Driver interface {
	// Stream makes one call. It calls emit for each piece as it comes, from one goroutine, and returns what came in all.
	// It never retries. It ends soon after ctx does. A failure is an *Error; what had come until then is
	// returned beside it.
	Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error)
}

// Lister is a driver whose provider tells which models it has.
type Lister interface {
	// Models lists them, at most 1000. It needs a valid key where the provider does, so it also is the test of one. A failure
	// is an *Error.
	Models(ctx context.Context, at Endpoint) ([]ModelInfo, error)
}

// ModelInfo is what a provider tells of a model; 0 and empty where it tells nothing.
type ModelInfo struct {
	Name, DisplayName                    string
	ContextWindowTokens, MaxOutputTokens int
}

// Code is one of the closed list of reasons for which a turn fails.
type Code string

// The codes of failed model calls.
const (
	CodeRateLimited       Code = "provider_rate_limited"
	CodeUnavailable       Code = "provider_unavailable"
	CodeMisconfigured     Code = "provider_misconfigured"
	CodeQuotaExhausted    Code = "provider_quota_exhausted"
	CodeContextExceeded   Code = "context_window_exceeded"
	CodeInvalidToolSchema Code = "invalid_tool_schema"
	CodeInternal          Code = "internal"
)

// Error is a failed call.
type Error struct {
	Code Code
	// Status is the HTTP status, 0 when there was none.
	Status int
	// Message is for the user: what happened and what to do.
	Message string
	// Transient is true when the same call may succeed later.
	Transient bool
	// RetryAfter is how long the provider asks to wait; 0 when it doesn't say.
	RetryAfter time.Duration
	// Cause is the error below, for logs; may be nil.
	Cause error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Cause }
