package runtime

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// A runner stands still, or is cut off from the database, while a call that has failed waits for its next attempt. Its successor makes that
// attempt, for it has not begun; so the first one must not make it too when it comes back.
//
// Rules: L8.
func TestAnAttemptThatWasWaitedForIsMadeOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := &naps{clock: w.clock, hold: newGate()}
		first := w.start(rest(p))
		t.Cleanup(p.hold.open)
		var second atomic.Int32
		w.probe.on("flaky", func(_ context.Context, c *tools.Call) tools.Result {
			if c.Attempt == 1 {
				return tools.Result{ToolError: "not now", Retryable: true}
			}
			return tools.Success(second.Add(1))
		})
		s := w.newSession(first)
		first.send(s, script(t, says(callTool("retried", "flaky")), says(text("done"))))
		<-p.hold.arrived
		first.die()
		w.start(rest(&naps{clock: w.clock}))
		log := w.idle(s)
		if done := the[events.ToolCompleted](t, log); string(done.Result) != "1" || count(log, models.EventToolStarted) != 1 {
			t.Errorf("the call ended as %+v", done)
		}
		p.hold.open()
		first.engine.work.Wait()
		if n := second.Load(); n != 1 {
			t.Errorf("an attempt at a call that must run at most once was made %d times", n)
		}
	})
}

// Hooks see what came of a call, not each attempt that is made again; and all that ran are told of.
//
// Rules: H10.
func TestHooksSeeTheLastAttempt(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.probe.on("flaky", func(_ context.Context, c *tools.Call) tools.Result {
			if c.Attempt < 3 {
				return tools.Result{ToolError: "not now", Retryable: true}
			}
			return tools.Success(c.Attempt)
		})
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			_, _ = out.Write([]byte(`{"decision":"allow"}`))
		}))
		t.Cleanup(server.Close)
		n := w.start(rest(&naps{clock: w.clock}))
		config := `{"hooks":[{"event":"post_tool_use","webhook":{"url":"` + server.URL + `"}}]}`
		s := w.newSessionOn(n, w.harnessWith("hooked", ref("user_hooks", config)))
		n.send(s, script(t, says(callTool("retried", "flaky")), says(text("done"))))
		log := w.idle(s)
		if done := the[events.ToolCompleted](t, log); string(done.Result) != "3" {
			t.Errorf("the call ended as %+v", done)
		}
		if told := count(log, models.EventHookRan); asked.Load() != 1 || told != 1 {
			t.Errorf("the hook was asked %d times, and %d were told of", asked.Load(), told)
		}
	})
}
