package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// The codes of refused durable effects.
const (
	CodeMissingCallID           = "durable_effects_missing_call_id"
	CodeUnavailable             = "durable_effects_unavailable"
	CodeEmptyStepID             = "durable_effect_empty_step_id"
	CodeDuplicateStepID         = "durable_effect_duplicate_step_id"
	CodeEmptyEventKey           = "durable_effect_empty_event_key"
	CodeEventTimeout            = "durable_effect_event_timeout"
	CodeEventCancelled          = "durable_effect_event_cancelled"
	CodeCompletionMissingCallID = "tool_completion_key_missing_call_id"
	CodeCompletionKeyFailed     = "pending_tool_completion_key_failed"
	CodePendingWithoutKey       = "pending_tool_missing_completion_key"
)

// EffectError is a durable effect that was refused or failed. What a tool asked for was not done.
type EffectError struct {
	// Code is one of the constants above, or the code that whoever resolved a wait gave.
	Code    string
	Message string
	Err     error
}

func (e *EffectError) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Message + " " + e.Err.Error()
	}
	return e.Code + ": " + e.Message
}

func (e *EffectError) Unwrap() error { return e.Err }

// attemptState is what a Call remembers during its attempt.
type attemptState struct {
	mu         sync.Mutex
	steps      map[string]struct{}
	completion string
}

// DurableStep runs fn once for this call and id, and returns the JSON of its result: after a crash or in a later attempt the
// stored result is given and fn doesn't run. A step that failed runs again in a later attempt. The id must be new in
// this attempt, also when the step of that id failed; input is what fn depends on, and must be the same each time.
// Refusals are *EffectError and come before fn runs; fn's own error comes back as it is.
func (c *Call) DurableStep(
	ctx context.Context, id string, input any, fn func(ctx context.Context) (any, error),
) (json.RawMessage, error) {
	if err := c.durable(c.Step != nil); err != nil {
		return nil, err
	}
	if strings.TrimSpace(id) == "" {
		return nil, &EffectError{Code: CodeEmptyStepID, Message: "A durable step must have an id."}
	}
	if !c.attempt.reserve(id) {
		return nil, &EffectError{Code: CodeDuplicateStepID, Message: fmt.Sprintf("This call already has a durable step %q. Each step needs an id of its own.", Shorten(id, 64))}
	}
	return c.Step(ctx, id, input, fn)
}

// reserve takes a step id, or says that it is taken.
func (a *attemptState) reserve(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, taken := a.steps[id]; taken {
		return false
	}
	if a.steps == nil {
		a.steps = map[string]struct{}{}
	}
	a.steps[id] = struct{}{}
	return true
}

// DurableCompletionKey returns the key by which an outside system completes this call. Asking again gives the same key. A
// tool that has asked may return a Result with Pending. Failures are *EffectError.
func (c *Call) DurableCompletionKey(ctx context.Context) (string, error) {
	if strings.TrimSpace(c.CallID) == "" {
		return "", &EffectError{Code: CodeCompletionMissingCallID, Message: "A call without an id can't be completed from outside."}
	}
	if err := c.durable(c.CompletionKey != nil); err != nil {
		return "", err
	}
	// The lock is held meanwhile: two goroutines of a tool must not get two keys.
	c.attempt.mu.Lock()
	defer c.attempt.mu.Unlock()
	if c.attempt.completion != "" {
		return c.attempt.completion, nil
	}
	key, err := c.CompletionKey(ctx)
	if err == nil && key == "" {
		err = errors.New("the engine returned an empty key")
	}
	if err != nil {
		return "", &EffectError{Code: CodeCompletionKeyFailed, Message: "The key for completing the call could not be created.", Err: err}
	}
	c.attempt.completion = key
	return key, nil
}

// DurableEventKey returns the key of a named wait of this call; the same name has the same key in every attempt. Refusals
// are *EffectError.
func (c *Call) DurableEventKey(ctx context.Context, name string) (string, error) {
	if err := c.durable(c.EventKey != nil); err != nil {
		return "", err
	}
	if strings.TrimSpace(name) == "" {
		return "", &EffectError{Code: CodeEmptyEventKey, Message: "A named wait must have a name."}
	}
	return c.EventKey(ctx, name)
}

// DurableAwait parks until the wait of a key is resolved, and returns its value. An *EffectError tells how else it ended:
// CodeEventTimeout, CodeEventCancelled, or the code that the sender gave.
func (c *Call) DurableAwait(ctx context.Context, key string) (json.RawMessage, error) {
	if err := c.durable(c.Await != nil); err != nil {
		return nil, err
	}
	if strings.TrimSpace(key) == "" {
		return nil, &EffectError{Code: CodeEmptyEventKey, Message: "There is nothing to wait for: the key is empty."}
	}
	return c.Await(ctx, key)
}

// durable refuses what can't be had here; available reports whether the engine gave the function for it.
func (c *Call) durable(available bool) error {
	if strings.TrimSpace(c.CallID) == "" {
		return &EffectError{Code: CodeMissingCallID, Message: "Durable effects need a call with an id."}
	}
	if !available {
		return &EffectError{Code: CodeUnavailable, Message: "This call can't have durable effects where it runs."}
	}
	return nil
}

// askedForKey reports whether the tool knows its completion key.
func (c *Call) askedForKey() bool {
	c.attempt.mu.Lock()
	defer c.attempt.mu.Unlock()
	return c.attempt.completion != ""
}

// pendingResult checks a result that says that the call goes on outside. Without a key nobody could ever complete it.
func pendingResult(call *Call, toolID string, p Pending) Result {
	if !call.askedForKey() {
		err := &EffectError{Code: CodePendingWithoutKey, Message: fmt.Sprintf(
			"The tool %s waits for a completion from outside, but it has not created a key for it.", toolID)}
		return Result{ToolError: err.Error(), Internal: err}
	}
	switch p.OnTimeout {
	case "":
		p.OnTimeout = OnTimeoutError
	case OnTimeoutError, OnTimeoutFailTurn:
	default:
		return Result{ToolError: internalText, Internal: fmt.Errorf("the tool %s asks for %q on timeout; it must be %s or %s",
			toolID, p.OnTimeout, OnTimeoutError, OnTimeoutFailTurn)}
	}
	return Result{Pending: &p}
}
