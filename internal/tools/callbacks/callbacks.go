// Package callbacks holds the capability callbacks: the model waits for an outside system to report back.
package callbacks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/tools"
)

// ID is the capability's id.
const ID = "callbacks"

// How long a callback is waited for, in seconds; the schema has the same.
const (
	DefaultTimeoutSeconds = 60 * 60
	MaxTimeoutSeconds     = 30 * 24 * 60 * 60
)

// Capability returns the capability callbacks.
func Capability() tools.Capability {
	return tools.Capability{
		ID:          ID,
		Name:        "Callbacks",
		Description: "Lets the agent wait for an outside system, which reports back with a one-time token.",
		Risk:        "LOW",
		Tools:       []tools.Tool{waitForCallback()},
	}
}

type arguments struct {
	Purpose        string `json:"purpose"`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty"`
}

func waitForCallback() tools.Tool {
	return tools.Define(tools.Spec[arguments]{
		Manifest: tools.Manifest{
			ID: "callbacks.wait_for_callback", Name: "wait_for_callback", DisplayName: "Wait for a callback",
			Description: "Waits until an outside system reports back, and returns its report. People who watch the session pass the " +
				"callback's token to that system. If no report arrives in time, the call fails and you can continue.",
			// Asking again opens no second wait: the key of a call stays the same.
			Hints: tools.Hints{Idempotent: true, OpenWorld: true, LongRunning: true},
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"purpose": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "\\S", "description": "What the agent waits for, in words for people."},
					"timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 2592000, "description": "How long to wait; an hour when left out."}
				},
				"required": ["purpose"],
				"additionalProperties": false
			}`),
		},
		Execute: execute,
		Narrate: func(args arguments, done bool, _ string) string {
			if done {
				return "Waited for: " + args.Purpose
			}
			return "Waits for: " + args.Purpose
		},
	})
}

func execute(ctx context.Context, call *tools.Call, args arguments) tools.Result {
	if _, err := call.DurableCompletionKey(ctx); err != nil {
		return tools.Result{Internal: fmt.Errorf("wait for a callback: %w", err)}
	}
	seconds := args.TimeoutSeconds
	if seconds == 0 {
		seconds = DefaultTimeoutSeconds
	}
	return tools.Result{Pending: &tools.Pending{
		Deadline: call.Now().Add(time.Duration(seconds) * time.Second), OnTimeout: tools.OnTimeoutError,
	}}
}
