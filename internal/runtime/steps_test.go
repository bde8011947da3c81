package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Durable steps: an id may be anything that a tool makes of what the model has told it. What no database takes as a key must not be found
// out after the step was done: it would be done again.
//
// Rules: J9.
func TestStepsOfAnyID(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var long string
		for sum := sha256.Sum256(nil); len(long) < 8000; sum = sha256.Sum256(sum[:]) {
			long += hex.EncodeToString(sum[:])
		}
		ids := []string{long, long + "x", "a\x00b", "a\xffb", "a\ufffdb", "plain"}
		done := map[string]int{}
		w.probe.on("steps", func(ctx context.Context, c *tools.Call) tools.Result {
			for _, id := range ids {
				value, err := c.DurableStep(ctx, id, nil, func(context.Context) (any, error) {
					done[id]++
					return len(done), nil
				})
				if err != nil || len(value) == 0 {
					t.Errorf("the step %.20q gives %s, %v", id, value, err)
				}
				if _, err := c.DurableEventKey(ctx, id); err != nil {
					t.Errorf("the key of the event %.20q: %v", id, err)
				}
			}
			if c.Attempt == 1 {
				return tools.Result{ToolError: "not now", Retryable: true}
			}
			return tools.Success(nil)
		})
		n := w.start(rest(&naps{clock: w.clock}))
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("retried", "steps")), says(text("done"))))
		if call := the[events.ToolCompleted](t, w.idle(s)); !call.Success {
			t.Errorf("the call ended as %+v", call)
		}
		for _, id := range ids {
			if done[id] != 1 {
				t.Errorf("the step %.20q was done %d times", id, done[id])
			}
		}
	})
}
