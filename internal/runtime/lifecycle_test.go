package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// runners returns who is on the list.
func (w *world) runners() (ids []models.RunnerID) {
	w.t.Helper()
	list, err := w.queue.Runners(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

// vacant checks that an engine that was stopped has all its slots back and knows of no turn any more.
func (n *node) vacant() {
	n.w.t.Helper()
	e := n.engine
	if len(e.slots) != cap(e.slots) || len(e.running) != 0 || len(e.held) != 0 {
		n.w.t.Errorf("%d of %d slots are free, %d turns are known, %d organizations hold slots", len(e.slots), cap(e.slots), len(e.running), len(e.held))
	}
}

// TestStartAndStopTogether calls both from several goroutines: one registration, one removal, and no call is left waiting.
func TestStartAndStopTogether(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.newNode()
		together := func(call func(context.Context) error) {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					if err := call(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		together(n.engine.Start)
		if got := w.runners(); len(got) != 1 || got[0] != n.engine.runnerID() {
			t.Errorf("on the list are %v", got)
		}
		together(n.engine.Stop)
		if got := w.runners(); len(got) != 0 {
			t.Errorf("after the end there are still %v on the list", got)
		}
		if err := n.engine.Start(t.Context()); err == nil {
			t.Error("an engine that was stopped starts again")
		}
		if got := w.runners(); len(got) != 0 {
			t.Errorf("the start that was refused has registered %v", got)
		}
	})
}

// TestStartAgainstStop lets the two race: whichever comes first, the last Stop leaves nobody on the list.
func TestStartAgainstStop(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.newNode()
		var all sync.WaitGroup
		for range 4 {
			// It is refused when Stop came before it.
			all.Go(func() { _ = n.engine.Start(t.Context()) })
			all.Go(func() {
				if err := n.engine.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := n.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.runners(); len(got) != 0 {
			t.Errorf("on the list are still %v", got)
		}
		n.vacant()
	})
}

// TestStopWithoutStart has nothing to wait for.
func TestStopWithoutStart(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.newNode()
		for range 2 {
			if err := n.engine.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestStopWaitsForTheModel has the model finish its answer within the grace: the turn ends here and not elsewhere, before any call of
// Stop returns.
//
// Rules: Q15.
func TestStopWaitsForTheModel(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(c *Config) { c.ShutdownGrace = time.Hour })
		s := w.newSession(n)
		g := n.puppet.add()
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			g.pass(ctx)
			if ctx.Err() != nil {
				t.Error("the call was cut short within the grace")
			}
			return echoing(ctx, req, emit)
		})
		turn := n.send(s, "hello")
		<-g.arrived
		stopped := make(chan error)
		for range 3 {
			go func() { stopped <- n.engine.Stop(context.Background()) }()
		}
		w.eventually("the engine stops", n.engine.stopping)
		g.open()
		for range 3 {
			if err := <-stopped; err != nil {
				t.Error(err)
			}
			if row := w.turn(turn); row.Status != models.TurnCompleted {
				t.Errorf("Stop has returned, and the turn is %s", row.Status)
			}
		}
		w.idle(s)
		n.vacant()
	})
}

// TestStopCutsShort ends the patience with a step that would never end: the turn is given back as if nothing had been, and another
// node finishes it.
//
// Rules: Q15.
func TestStopCutsShort(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	eachWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name  string
			grace time.Duration
			ctx   context.Context //nolint:containedctx // it is the case
			tool  bool
		}{
			{"a model after the grace", time.Millisecond, context.Background(), false},
			{"a tool after the grace", time.Millisecond, context.Background(), true},
			{"a model when the caller waits no longer", time.Hour, ended, false},
			{"a tool when the caller waits no longer", time.Hour, ended, true},
		} {
			t.Run(c.name, func(t *testing.T) {
				w.probe.reset()
				w := w.within(t)
				n := w.start(func(cfg *Config) { cfg.ShutdownGrace = c.grace })
				s := w.newSession(n)
				g := n.puppet.add()
				if c.tool {
					w.probe.on(c.name, func(ctx context.Context, call *tools.Call) tools.Result {
						if call.Attempt > 1 {
							return tools.Success("worked")
						}
						g.pass(ctx)
						return tools.Fail("cut short")
					})
				} else {
					n.asking(map[int]*gate{1: g})
				}
				turn := n.send(s, script(t, says(callTool("again", c.name)), says(text("done"))))
				<-g.arrived
				if err := n.engine.Stop(c.ctx); err != nil {
					t.Fatal(err)
				}
				n.vacant()
				row := w.turn(turn)
				if row.Status != models.TurnRunning || row.ReadyAt == nil || row.RunnerID != nil || row.Takeovers != 0 || row.Recoveries != 0 {
					t.Errorf("the turn was given back as %+v", row)
				}
				w.start()
				log := w.idle(s)
				the[events.TurnCompleted](t, log)
				if row := w.turn(turn); row.Takeovers != 0 || row.Recoveries != 0 || count(log, models.EventTurnStarted) != 1 {
					t.Errorf("the turn has ended as %+v", row)
				}
			})
		}
	})
}

// TestTheOnlySlotIsTaken has a second turn wait for the slot of the first. Nobody polls: that it is free must be heard.
func TestTheOnlySlotIsTaken(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(c *Config) { c.Slots, c.PollInterval = 1, time.Hour })
		first, second := w.newSession(n), w.newSession(n)
		g := n.puppet.add()
		n.asking(map[int]*gate{1: g})
		n.send(first, script(t, says(text("one"))))
		<-g.arrived
		turn := n.send(second, script(t, says(text("two"))))
		if row := w.turn(turn); row.Status != models.TurnQueued || row.ReadyAt == nil || row.RunnerID != nil {
			t.Errorf("without a slot the turn is %+v", row)
		}
		if got := len(n.puppet.requests()); got != 1 {
			t.Errorf("with one slot the model was asked %d times", got)
		}
		g.open()
		the[events.TurnCompleted](t, w.idle(first))
		the[events.TurnCompleted](t, w.idle(second))
	})
}

// TestSlotsComeBack has turns end in every way, and messages that make none: no slot is lost to any of them.
func TestSlotsComeBack(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(c *Config) { c.Slots = 3 })
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			switch last := req.Messages[len(req.Messages)-1]; {
			case last.Role != models.MessageUser:
			case strings.HasPrefix(last.Parts[0].Text, "tool"):
				return answer(llm.FinishToolCalls, callPart("", "look", `{"tag":"slots"}`)), nil
			case strings.HasPrefix(last.Parts[0].Text, "panic"):
				panic("injected")
			case strings.HasPrefix(last.Parts[0].Text, "fail"):
				return llm.Response{}, &llm.Error{Code: llm.CodeQuotaExhausted, Message: "Used up."}
			}
			return echoing(ctx, req, emit)
		})
		var list []models.SessionID
		for range 4 {
			list = append(list, w.newSession(n))
		}
		var all sync.WaitGroup
		for _, s := range list {
			all.Go(func() {
				for i, what := range []string{"tool", "panic", "fail", "well"} {
					in := sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text(fmt.Sprint(what, i))}, Delivery: turns.Queue}
					if _, _, err := n.sessions.Send(t.Context(), w.by, in); err != nil {
						t.Error(err)
					}
					in.SessionID = models.NewID[models.SessionEntity]()
					if _, _, err := n.sessions.Send(t.Context(), w.by, in); err == nil {
						t.Error("a session that isn't there takes a message")
					}
				}
			})
		}
		all.Wait()
		for _, s := range list {
			if log := w.idle(s); count(log, models.EventTurnCompleted) != 2 || count(log, models.EventTurnFailed) != 2 {
				t.Errorf("the turns ended otherwise:\n%s", kinds(log))
			}
		}
		if err := n.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.vacant()
	})
}

// TestDeclaredDead takes a runner off the list that lives, between two of its heartbeats: at the next one it drops what it does and goes
// on under another id, and what it was working on is done once.
//
// Rules: L2, Q10.
func TestDeclaredDead(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		// With one slot it claims nothing under the id that is gone.
		n := w.start(func(c *Config) { c.Slots = 1 })
		s := w.newSession(n)
		g := n.puppet.add()
		old := n.engine.runnerID()
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			if n.engine.runnerID() == old {
				g.pass(ctx)
				if !errors.Is(context.Cause(ctx), errDeclaredDead) {
					t.Errorf("the call was cut short for %v", context.Cause(ctx))
				}
				return llm.Response{}, ctx.Err()
			}
			return echoing(ctx, req, emit)
		})
		turn := n.send(s, "hello")
		<-g.arrived
		if _, err := w.queue.TakeOver(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		n.engine.beat(t.Context())
		log := w.idle(s)
		the[events.TurnCompleted](t, log)
		if row := w.turn(turn); row.Recoveries != 1 || count(log, models.EventReasonRecovered) != 1 {
			t.Errorf("the turn was done as %+v:\n%s", row, kinds(log))
		}
		now := n.engine.runnerID()
		if got := w.runners(); now == old || len(got) != 1 || got[0] != now {
			t.Errorf("the runner is %s, it was %s, on the list are %v", now, old, got)
		}
		// It is as good as before.
		n.send(s, "hello again")
		w.idle(s)
		if err := n.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.vacant()
	})
}

// TestTheAnswerToAClaimIsLost has the database grant a turn to a runner that never hears of it, and whose next claim fails: since it
// can't be sure, it looks for what it holds, gives it back and runs it like any other.
func TestTheAnswerToAClaimIsLost(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.newNode(func(c *Config) { c.PollInterval = time.Hour })
		s := w.newSession(n)
		n.puppet.on(echoing)
		turn := n.send(s, "hello")
		if err := w.queue.Register(t.Context(), models.Runner{ID: n.engine.runnerID()}); err != nil {
			t.Fatal(err)
		}
		if held, err := w.queue.Claim(t.Context(), queue.Ask{Runner: n.engine.runnerID(), Executions: 1}); err != nil || len(held.Executions) != 1 || held.Executions[0].Execution != models.ExecutionOf(turn) {
			t.Fatalf("claimed are %v, %v", held, err)
		}
		if _, err := storetest.Exec(t.Context(), w.db, "DELETE FROM runners"); err != nil {
			t.Fatal(err)
		}
		w.rename("turns", "turns_gone")
		if err := n.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The loop takes one at a time: with the third in its place, it is through with the first.
		for range 3 {
			n.engine.wake <- struct{}{}
		}
		w.rename("turns_gone", "turns")
		n.engine.Wake()
		log := w.idle(s)
		the[events.TurnCompleted](t, log)
		if row := w.turn(turn); row.Takeovers != 0 || row.Recoveries != 0 || len(n.puppet.requests()) != 1 {
			t.Errorf("the turn was done as %+v, the model was asked %d times", row, len(n.puppet.requests()))
		}
	})
}

// rename renames a table, so that nothing can be done with it meanwhile.
func (w *world) rename(from, to string) {
	w.t.Helper()
	if _, err := storetest.Exec(w.t.Context(), w.db, "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
		w.t.Fatal(err)
	}
}

// TestTheDeadClaimNothing has a runner look for turns after it was declared dead and before it knows. What it claimed would be an
// orphan at once, and a turn that was orphaned too often is sealed.
//
// Rules: Q10.
func TestTheDeadClaimNothing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(c *Config) { c.PollInterval = time.Hour })
		s := w.newSession(n)
		g := n.puppet.add()
		n.puppet.on(func(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Response, error) {
			g.pass(ctx)
			return llm.Response{}, ctx.Err()
		})
		turn := n.send(s, "hello")
		<-g.arrived
		if _, err := w.queue.TakeOver(t.Context(), n.engine.runnerID()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if more, err := n.engine.claimSome(t.Context()); more || err != nil {
				t.Fatalf("it claims more: %v, %v", more, err)
			}
			if _, err := w.queue.TakeOverOrphans(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if row := w.turn(turn); row.RunnerID != nil || row.Takeovers != 1 {
			t.Fatalf("the turn is held by %v after %d takeovers", row.RunnerID, row.Takeovers)
		}
		n.puppet.on(echoing)
		n.engine.observe(t.Context(), newWatch())
		n.engine.Wake()
		w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnCompleted || row.Recoveries != 1 {
			t.Errorf("the turn ended %s with %d recoveries", row.Status, row.Recoveries)
		}
	})
}
