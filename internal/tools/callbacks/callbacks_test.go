package callbacks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/callbacks"
	"github.com/ostler-dev/ostler/internal/tools/toolstest"
)

func TestACallbackIsPendingUnderItsKey(t *testing.T) {
	for arguments, want := range map[string]time.Duration{
		`{"purpose":"the build"}`:                           time.Hour,
		`{"purpose":"the build","timeout_seconds":90}`:      90 * time.Second,
		`{"purpose":"the build","timeout_seconds":2592000}`: 30 * 24 * time.Hour,
	} {
		call := toolstest.NewCall()
		asked := 0
		call.CompletionKey = func(context.Context) (string, error) { asked++; return "key", nil }
		r := toolstest.Invoke(t, callbacks.Capability(), call, "wait_for_callback", arguments)
		if r.Failed() || r.Pending == nil || !r.Pending.Deadline.Equal(toolstest.Time().Add(want)) || r.Pending.OnTimeout != tools.OnTimeoutError || asked != 1 {
			t.Errorf("%s: got %+v, asked %d times", arguments, r, asked)
		}
	}
}

func TestACallbackNeedsItsKey(t *testing.T) {
	r := toolstest.Invoke(t, callbacks.Capability(), toolstest.NewCall(), "wait_for_callback", `{"purpose":"x"}`)
	if e, ok := errors.AsType[*tools.EffectError](r.Internal); !ok || e.Code != tools.CodeUnavailable || r.Pending != nil {
		t.Errorf("without an engine: got %+v", r)
	}
}

func TestCallbacksThatAreRefused(t *testing.T) {
	for _, arguments := range []string{
		`{}`, `{"purpose":" "}`, `{"purpose":"x","timeout_seconds":0}`, `{"purpose":"x","timeout_seconds":2592001}`, `{"purpose":"x","url":"y"}`,
	} {
		call := toolstest.NewCall()
		call.CompletionKey = func(context.Context) (string, error) { t.Error("a key was made"); return "key", nil }
		if r := toolstest.Invoke(t, callbacks.Capability(), call, "wait_for_callback", arguments); r.ToolError == "" || r.Pending != nil {
			t.Errorf("%s: got %+v", arguments, r)
		}
	}
}
