package runtime

import (
	"context"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/tools"
)

// TestACancelThatACommitFindsFirst has a cancel of which the runner hears by nothing but its own next commit, which takes its mark away.
func TestACancelThatACommitFindsFirst(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for name, other := range map[string]part{
			// It would run for ever.
			"while another call runs": callTool("again", "endless"),
			// Nothing is left that runs.
			"while another call waits": callWith("ask_user", part{"question": "which?"}),
		} {
			t.Run(name, func(t *testing.T) {
				w := w.within(t)
				w.probe.reset()
				quick := newGate() // of this run alone: a node that stops opens those of the probe
				w.probe.on("quick", func(context.Context, *tools.Call) tools.Result {
					quick.hold()
					return tools.Success(nil)
				})
				w.probe.on("endless", func(ctx context.Context, _ *tools.Call) tools.Result {
					<-ctx.Done()
					return tools.Result{Internal: ctx.Err()}
				})
				n := w.start(func(c *Config) { c.PollInterval = time.Hour })
				deaf := w.newNode(w.deaf())
				s := w.newSessionOn(n, w.harnessWith("asks "+name, ref("ask_user", "{}")))
				turn := n.send(s, script(t, says(callTool("once", "quick"), other), says(text("end"))))
				<-quick.arrived
				deaf.cancel(turn, "enough")
				quick.open()
				log := w.idle(s)
				w.cancelled(turn, log)
				if done := payloads[events.ToolCompleted](t, log); len(done) != 2 || !done[0].Success || done[1].Success {
					t.Errorf("the calls ended as %+v", done)
				}
				n.stop()
			})
		}
	})
}

// A call that has not begun when the end of its turn was asked for never begins, however late its runner hears of that: here by nothing but
// the commit that would have started the call.
//
// Rules: C3.
func TestACancelKeepsCallsFromBeginning(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		quick := w.probe.add()
		w.probe.on("quick", func(context.Context, *tools.Call) tools.Result {
			quick.hold()
			return tools.Success(nil)
		})
		n := w.start(func(c *Config) { c.PollInterval = time.Hour })
		deaf := w.newNode(w.deaf())
		s := w.newSession(n)
		turn := n.send(s, script(t, says(callTool("ordered", "quick"), callTool("ordered", "next")), says(text("end"))))
		<-quick.arrived
		deaf.cancel(turn, "enough")
		quick.open()
		log := w.idle(s)
		w.cancelled(turn, log)
		if done := payloads[events.ToolCompleted](t, log); len(done) != 2 || !done[0].Success || done[1].Success || w.probe.ran("next") != 0 {
			t.Errorf("the calls ended as %+v; the second one ran %d times", done, w.probe.ran("next"))
		}
	})
}
