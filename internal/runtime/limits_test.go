package runtime

import (
	"context"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// TestTheLimitOfIterations has a model that never comes to an end. Where nothing is said the turn is stopped after 100 iterations; a
// harness may say less, and its children inherit that.
//
// Rules: S2, P1.
func TestTheLimitOfIterations(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		low := 3
		lowered := w.newHarness("lowered", w.harness, &low)
		n.puppet.on(func(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
			return answer(llm.FinishToolCalls, callPart("x", "look", `{"tag":"on"}`)), nil
		})
		for name, c := range map[string]struct {
			harness models.HarnessID
			want    int
		}{
			"by default": {w.harness, 100},
			"lowered":    {lowered, 3},
			"inherited":  {w.newHarness("inherited", lowered, nil), 3},
		} {
			s := w.newSessionOn(n, c.harness)
			before, asked := w.probe.ran("on"), len(n.puppet.requests())
			turn := n.send(s, "go on for ever")
			if sealed := the[events.TurnSealed](t, w.idle(s)); sealed.StopReason != models.StopIterationLimit || sealed.Error.Code != "iteration_limit" {
				t.Errorf("%s: it ended as %+v", name, sealed)
			}
			ran, calls := w.probe.ran("on")-before, len(n.puppet.requests())-asked
			if row := w.turn(turn); row.Status != models.TurnSealed || row.Iteration != c.want || ran != c.want || calls != c.want {
				t.Errorf("%s: after %d calls of the model and %d of the tool the turn is %+v", name, calls, ran, row)
			}
		}
	})
}
