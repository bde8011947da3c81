package turns_test

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// A call may be told that it had no effect only if that is known.
func TestWhatACallIsToldThatIsInterrupted(t *testing.T) {
	t.Parallel()
	const (
		notBegun = "before this call began"
		retried  = "before the next attempt"
		unknown  = "is unknown"
	)
	at := new(models.Millis(1))
	for name, c := range map[string]struct {
		state        models.EffectState
		started, due *models.Millis
		says         string
	}{
		"claimed":                      {models.EffectClaimed, nil, nil, notBegun},
		"waiting for an approval":      {models.EffectWaiting, nil, nil, notBegun},
		"running":                      {models.EffectRunning, at, nil, unknown},
		"waiting in the middle":        {models.EffectWaiting, at, nil, unknown},
		"about to run again after it":  {models.EffectClaimed, at, nil, unknown},
		"waiting for its next attempt": {models.EffectClaimed, at, at, retried},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := turns.Call{Effect: models.Effect{State: c.state, StartedAt: c.started, DueAt: c.due}}
			r := call.Interrupted()
			if !strings.HasPrefix(r.ToolError, "interrupted: ") || !strings.Contains(r.ToolError, c.says) {
				t.Errorf("it is told %q, want %q", r.ToolError, c.says)
			}
		})
	}
}
