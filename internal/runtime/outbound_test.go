package runtime

import (
	"context"
	"fmt"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/tools"
)

// TestOutboundCallsAreLimited has more calls of an outside tool than the organization may make: one too many is not made, and the model
// reads how long to wait. Other tools don't count.
func TestOutboundCallsAreLimited(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		most := limits.New(limits.Config{DB: w.db, Clock: w.clock, Usual: limits.Values{ToolCallsPerMinute: 2}})
		n := w.start(func(c *Config) { c.Outbound = most })
		s := w.newSession(n)
		n.send(s, script(t,
			says(callTool("look", "inside"), callTool("outside", "first"), callTool("once", "inside")),
			says(callTool("outside", "second")),
			says(callTool("outside", "third"), callTool("look", "inside")),
			says(text("done"))))
		the[events.TurnCompleted](t, w.idle(s))
		for tag, want := range map[string]int{"first": 1, "second": 1, "third": 0, "inside": 3} {
			if got := w.probe.ran(tag); got != want {
				t.Errorf("%s ran %d times, want %d", tag, got, want)
			}
		}
		wait, ok := most.ToolCall(t.Context(), w.org)
		if ok {
			t.Error("there was room left")
		}
		want := fmt.Sprintf("rate_limited: The organization has reached its limit of outbound tool calls per minute. This call was not made; try again in %d s.", wait)
		shown := resultsShown(n)
		if len(shown) != 6 || shown[4].Success || shown[4].Error != want || !shown[5].Success {
			t.Errorf("the model was shown %+v", shown)
		}
	})
}

// TestACallThatGoesOnIsNotLimited has a process die at the only outside call of the minute. The next one makes it again: the model must
// not read that it was never made.
func TestACallThatGoesOnIsNotLimited(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		limited := func(c *Config) {
			c.Outbound = limits.New(limits.Config{DB: w.db, Clock: w.clock, Usual: limits.Values{ToolCallsPerMinute: 1}})
		}
		n := w.start(limited)
		g := w.probe.add()
		w.probe.on("long", func(context.Context, *tools.Call) tools.Result {
			if w.probe.ran("long") == 1 {
				g.hold()
			}
			return tools.Success("done")
		})
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("outside", "long")), says(callTool("outside", "another")), says(text("done"))))
		<-g.arrived
		n.die()
		// The limiter of this process, with SQLite, doesn't know of the first call: it is told.
		other := w.newNode(limited)
		if _, ok := other.engine.cfg.Outbound.ToolCall(t.Context(), w.org); ok != (w.db.Pool == nil) {
			t.Errorf("the second process finds room: %v", ok)
		}
		if err := other.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		the[events.TurnCompleted](t, w.idle(s))
		if shown := resultsShown(other); len(shown) != 2 || !shown[0].Success || shown[1].Success {
			t.Errorf("the model was shown %+v", shown)
		}
		if w.probe.ran("long") != 2 || w.probe.ran("another") != 0 {
			t.Errorf("it ran %d times, and another one %d times", w.probe.ran("long"), w.probe.ran("another"))
		}
	})
}
