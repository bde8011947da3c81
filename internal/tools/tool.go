// Package tools is the contract between the turn engine and tools, the registry of capabilities, and the way of a
// call: resolve, validate, prepare, execute. Each family of built-in tools has a package below this one.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// Hints tell what is known of a tool's effects. They are frozen with a call, so their JSON form is stored.
type Hints struct {
	ReadOnly    bool `json:"readOnly,omitempty"`
	Destructive bool `json:"destructive,omitempty"`
	Idempotent  bool `json:"idempotent,omitempty"`
	OpenWorld   bool `json:"openWorld,omitempty"`
	LongRunning bool `json:"longRunning,omitempty"`
	Background  bool `json:"background,omitempty"`
	// ConcurrencyClass keeps calls of one response in order; calls without one run side by side.
	ConcurrencyClass string `json:"concurrencyClass,omitempty"`
	// Client is true when the client of the API runs the tool: Run must not be asked to.
	Client bool `json:"client,omitempty"`
	// Wait reports that the call is a wait that the engine opens instead of running the tool: WaitQuestion, or empty.
	Wait string `json:"wait,omitempty"`
	// Retry tells when a failed call is tried again; nil for never.
	Retry *Retry `json:"retry,omitempty"`
}

// WaitQuestion is Hints.Wait of a tool whose call is a question that a person answers.
const WaitQuestion = "question"

// Repeatable reports whether a call whose outcome is unknown may be run again.
func (h Hints) Repeatable() bool { return h.ReadOnly || h.Idempotent }

// Manifest is what everybody may know of a tool. ID is its identity, Name how it is presented to the model.
type Manifest struct {
	ID, Name, DisplayName, Description string
	Hints                              Hints
	// InputSchema is a JSON Schema (draft 2020-12) whose root is an object.
	InputSchema json.RawMessage
	// Meters are what a call takes at most; nil for nothing but one of tool_calls, which each call takes.
	Meters Meters `json:",omitempty"`
}

// Tool is something that a model can call.
type Tool interface {
	Manifest() Manifest
	// Execute runs the call. Arguments have passed the schema. It ends soon after ctx does. What it writes through
	// call commits together with its result, or not at all.
	Execute(ctx context.Context, call *Call, arguments json.RawMessage) Result
}

// Preparer is a Tool that normalizes arguments, or refuses the call, before the call is frozen. It may only read.
type Preparer interface {
	// Prepare returns the arguments that are to run, or a result that ends the call here.
	Prepare(ctx context.Context, call *Call, arguments json.RawMessage) (json.RawMessage, *Result)
}

// Narrator is a Tool that has a line for people about a call.
type Narrator interface {
	// Narrate returns the line; done reports that the call has succeeded. An empty line means none.
	Narrate(arguments json.RawMessage, done bool, locale string) string
}

// Call is what a tool may use, and nothing else. It serves one attempt: the next one gets another Call.
type Call struct {
	OrgID     models.OrgID
	SessionID models.SessionID
	TurnID    models.TurnID
	// CallID is the id of the call, unique in its session.
	CallID string
	// IdempotencyKey is the same for every attempt at this call: "{session}:{call}:{tool}".
	IdempotencyKey string
	// Attempt counts from 1, up to MaxAttempts. Zero values mean the only attempt.
	Attempt, MaxAttempts int
	// Locale is a BCP 47 tag; empty means English.
	Locale string
	// Now is the time of the engine's clock.
	Now func() time.Time
	// Files is the session's filesystem; nil where files are disabled.
	Files Files
	// SetTodos replaces the agent's plan when the call commits.
	SetTodos func([]models.Todo)
	// Progress shows a line to those who watch. Losing one never fails a tool.
	Progress func(message string)
	// CheckBudget returns how the session stands with its budgets; nil where nobody can tell. Tools use the method Budget.
	CheckBudget func(ctx context.Context) (BudgetReport, error)

	// The following are the engine's part of durable effects, nil where there is none. Tools use the methods DurableStep,
	// DurableCompletionKey, DurableEventKey and DurableAwait, which check what must be checked first.

	// Step runs fn once for this call and id, whatever crashes or retries in between, and returns the JSON of what it gave.
	Step func(ctx context.Context, id string, input any, fn func(ctx context.Context) (any, error)) (json.RawMessage, error)
	// CompletionKey returns the key by which an outside system completes this call; the same one for all attempts.
	CompletionKey func(ctx context.Context) (string, error)
	// EventKey returns the key of a named wait of this call; the same name has the same key.
	EventKey func(ctx context.Context, name string) (string, error)
	// Await parks until the wait of a key is resolved, and returns the value that it was resolved with.
	Await func(ctx context.Context, key string) (json.RawMessage, error)
	// Payment makes a payment, or returns what became of it; see the method Pay. Nil where payments can't be made.
	Payment func(ctx context.Context, r PaymentRequest) (PaymentReceipt, error)

	attempt attemptState
}

// File is an entry of the session's filesystem.
type File struct {
	Path      string
	Directory bool
	ReadOnly  bool
	// Size in bytes.
	Size int64
	// Hash is the lowercase hex SHA-256 of the content; empty for directories.
	Hash      string
	UpdatedAt time.Time
}

// Files is the session's filesystem as one call sees it: what is stored, overlaid with what the call has written.
// Paths are absolute and normalized by NormalizePath. Failures that the model can act on are *PathError.
type Files interface {
	// Stat returns the entry; fs.ErrNotExist inside a *PathError when there is none.
	Stat(ctx context.Context, path string) (File, error)
	// Read returns the entry with its content.
	Read(ctx context.Context, path string) (File, []byte, error)
	// List returns the entries below a directory, sorted by the bytes of their paths, at most limit (> 0) of them; only
	// its own children unless recursive. Roots always exist and can't be written or deleted.
	List(ctx context.Context, dir string, recursive bool, limit int) ([]File, error)
	// Write stores content; parents are made. With expectedHash not nil the present content must have that hash
	// (a missing file or a directory never has), also when the call commits. Content is copied.
	Write(ctx context.Context, path string, content []byte, expectedHash *string) (File, error)
	// Delete removes a file, or a directory: an empty one, or any with recursive.
	Delete(ctx context.Context, path string, recursive bool) error
}

// PathError is a failed file operation in words for the model and the API's users.
type PathError struct {
	// Code is one of not_found, is_directory, not_directory, not_empty, readonly, invalid_path, conflict, too_large,
	// quota_exceeded, not_text.
	Code    string
	Path    string
	Message string
	Err     error
}

func (e *PathError) Error() string { return e.Message }

func (e *PathError) Unwrap() error { return e.Err }

// Result is what a call brought.
type Result struct {
	// JSON is the result of a call that succeeded.
	JSON json.RawMessage
	// ToolError is a failure in words for the model.
	ToolError string
	// Internal is a failure that only the log may know; the model and the user see a generic text.
	Internal error
	// Retryable says of a failure that trying again is safe: nothing was done. See Hints.Retry.
	Retryable bool
	// Pending says that the call goes on outside and somebody completes it later. The tool must have asked for its
	// completion key before.
	Pending *Pending
	// ConnectionRequired names the provider that the user has to connect before the call can succeed; the failure says it
	// to the model.
	ConnectionRequired string
	// Measures are what the call has really taken of currencies, whether it has failed or not. Of those that are missing it has taken
	// what its Meters say, of those that they don't name nothing. An attempt that is tried again has taken nothing; what a pending
	// call takes is not told here.
	Measures Meters
}

// What follows when nobody completes a pending call in time.
const (
	// OnTimeoutError fails the call, as the model sees; the turn goes on.
	OnTimeoutError = "error"
	// OnTimeoutFailTurn ends the turn.
	OnTimeoutFailTurn = "fail_turn"
)

// Pending is a call that somebody outside completes.
type Pending struct {
	// Deadline is when waiting ends; the zero time means the engine's default.
	Deadline time.Time
	// OnTimeout is OnTimeoutError, also when empty, or OnTimeoutFailTurn.
	OnTimeout string
}

// Success makes a result from a value that marshals to JSON.
func Success(v any) Result {
	doc, err := jsonx.Encode(v)
	if err != nil {
		return Result{Internal: fmt.Errorf("encode the result of a tool: %w", err)}
	}
	return Result{JSON: doc}
}

// Fail makes a result that tells the model what went wrong.
func Fail(message string) Result { return Result{ToolError: message} }

// Failed reports whether the call did not succeed.
func (r Result) Failed() bool { return r.ToolError != "" || r.Internal != nil }
