package runtime

import (
	"context"
	"errors"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Rules: F6, M6.
func TestModelFailures(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		for _, c := range []struct {
			name string
			err  error
			code string
		}{
			{"quota", &llm.Error{Code: llm.CodeQuotaExhausted, Message: "Used up.\x00\xff"}, "provider_quota_exhausted"},
			{"too long", &llm.Error{Code: llm.CodeContextExceeded, Message: "Too long."}, "context_window_exceeded"},
			{"misconfigured", &llm.Error{Code: llm.CodeMisconfigured, Message: "Wrong key."}, "provider_misconfigured"},
			{"no error of a driver", errors.New("secret detail"), "internal"},
			{"a panic", nil, "internal"},
		} {
			s := w.newSession(n)
			n.puppet.on(func(_ context.Context, _ llm.Request, emit func(llm.Delta)) (llm.Response, error) {
				emit(llm.Delta{Text: "half a "})
				if c.err == nil {
					panic("secret detail")
				}
				return answer("", textPart("half a "), callPart("x", "once", `{"tag":"fail"}`)), c.err
			})
			turn := n.send(s, "go")
			log := w.idle(s)
			failed := the[events.TurnFailed](t, log)
			if failed.Error.Code != c.code || failed.StopReason != models.StopError || failed.Error.Message == "" {
				t.Errorf("%s: it failed as %+v", c.name, failed)
			}
			out := the[events.OutputCompleted](t, log)
			if out.Message.Error == nil || out.Message.Error.Code != c.code {
				t.Errorf("%s: the message is %+v", c.name, out.Message)
			}
			if want := 1; c.err != nil && (len(out.Message.Content) != want || out.Message.Content[0].Text != "half a ") {
				t.Errorf("%s: of what was said is left %+v", c.name, out.Message.Content)
			}
			if the[events.ReasonCompleted](t, log).Success {
				t.Errorf("%s: the step succeeded", c.name)
			}
			row := w.turn(turn)
			if row.Status != models.TurnFailed || row.Error.Code != c.code || *row.FinalMessageID != out.Message.ID {
				t.Errorf("%s: the row is %+v", c.name, row)
			}
			if c.err != nil && row.Usage.InputTokens != 10 {
				t.Errorf("%s: what the call took is lost: %+v", c.name, row.Usage)
			}
		}
		if w.probe.ran("fail") != 0 {
			t.Error("a call of a failed answer was run")
		}
	})
}

func TestDriverIsMissing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(c *Config) { c.Drivers = nil })
		s := w.newSession(n)
		n.send(s, "go")
		if f := the[events.TurnFailed](t, w.idle(s)); f.Error.Code != "provider_misconfigured" {
			t.Errorf("it failed as %+v", f)
		}
	})
}

// TestDependencies archives what a turn needs while it is at work: it stops at the next step, whatever that is, once, and says
// what is missing.
//
// Rules: S3, P5.
func TestDependencies(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name string
			// archived at the model call, or in the tool; 0 for before the turn begins.
			call   int
			inTool bool
			ran    int
			events int
		}{
			{"before it begins", 0, false, 0, 1},
			{"while the model calls a tool", 1, false, 0, 2},
			{"while a tool runs", 0, true, 1, 2},
			{"during the last answer", 2, false, 1, 2},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := w.within(t)
				n := w.newNode()
				h := w.newHarness("h"+c.name[len(c.name)-5:], w.harness, nil)
				s := w.newSessionOn(n, h)
				archive := func() {
					if _, err := w.catalog.ArchiveHarness(context.Background(), w.by, h); err != nil {
						t.Error(err)
					}
				}
				calls := 0
				n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
					if calls++; calls == c.call {
						archive()
					}
					return n.puppet.sim.Stream(ctx, req, emit)
				})
				w.probe.on(c.name, func(context.Context, *tools.Call) tools.Result {
					if c.inTool {
						archive()
					}
					return tools.Success("worked")
				})
				turn := n.send(s, script(t, says(text("first"), callTool("once", c.name)), says(text("last"))))
				if c.call == 0 && !c.inTool {
					archive()
				}
				if err := n.engine.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				log := w.idle(s)
				if got := w.probe.ran(c.name); got != c.ran {
					t.Errorf("the tool ran %d times, want %d", got, c.ran)
				}
				if c.call == 2 {
					// There was no next step.
					the[events.TurnCompleted](t, log)
					return
				}
				failed := the[events.TurnFailed](t, log)
				if failed.StopReason != models.StopDependency || failed.Error.Code != "dependency_unavailable" ||
					string(failed.Error.Fields) != `{"dependency":"harness","state":"ARCHIVED"}` {
					t.Errorf("it failed as %+v", failed)
				}
				messages := payloads[events.OutputCompleted](t, log)
				if len(messages) != c.events || messages[len(messages)-1].Message.Error == nil {
					t.Errorf("the messages are %+v", messages)
				}
				if len(w.turns(s)) != 1 || w.turn(turn).Status != models.TurnFailed {
					t.Errorf("the turns are %+v", w.turns(s))
				}
			})
		}
	})
}

// Rules: P5.
func TestModelIsDisabledMeanwhile(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		calls := 0
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			if calls++; calls == 1 {
				_, err := w.catalog.UpdateModel(context.Background(), w.by, w.script, catalog.ModelChange{Enabled: catalog.Give(new(bool))})
				if err != nil {
					t.Error(err)
				}
			}
			return n.puppet.sim.Stream(ctx, req, emit)
		})
		n.send(s, script(t, says(callTool("once", "disabled")), says(text("never"))))
		if f := the[events.TurnFailed](t, w.idle(s)); f.Error.Code != "provider_misconfigured" || w.probe.ran("disabled") != 0 {
			t.Errorf("it failed as %+v", f)
		}
	})
}

// TestUnpriced records that a sum is not the whole.
func TestUnpriced(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("look", "price")), says(text("done"))))
		w.idle(s)
		before := w.session(s).Usage
		if before.Unpriced || before.CostNanos == 0 {
			t.Fatalf("with prices it is %+v", before)
		}
		_, err := w.catalog.UpdateModel(t.Context(), w.by, w.script, catalog.ModelChange{Prices: catalog.Give[*catalog.Prices](nil)})
		if err != nil {
			t.Fatal(err)
		}
		turn := n.send(s, script(t, says(text("done"))))
		log := w.idle(s)
		row := w.turn(turn)
		if !row.Usage.Unpriced || row.Usage.CostNanos != 0 || row.Usage.OutputTokens == 0 {
			t.Errorf("without prices the turn took %+v", row.Usage)
		}
		if after := w.session(s).Usage; !after.Unpriced || after.CostNanos != before.CostNanos {
			t.Errorf("the session took %+v", after)
		}
		idled := payloads[events.SessionIdled](t, log)
		if got := idled[len(idled)-1].Usage; got != w.session(s).Usage {
			t.Errorf("SESSION_IDLED says %+v", got)
		}
	})
}

func TestPanicsAreErrors(t *testing.T) {
	r := &turnRun{e: New(Config{Slots: 1})}
	if err := r.guarded(func() error { panic("x") }); err == nil {
		t.Error("a panic in a step is no error")
	}
	if err := r.guarded(func() error { return errFault }); !errors.Is(err, errFault) {
		t.Errorf("an error becomes %v", err)
	}
}
