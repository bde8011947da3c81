package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// TestNoProgress has one runner after the other die in the same step: the fourth one seals the turn. Who gets a step committed gives
// the turn three more. The session is as usable as before.
//
// Rules: Q16.
func TestNoProgress(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var s models.SessionID
		var turn models.TurnID
		lose := func(act bool) {
			t.Helper()
			n := w.newNode()
			g := n.puppet.add()
			calls := 0
			n.puppet.on(func(_ context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Response, error) {
				if calls++; act && calls == 1 {
					return answer(llm.FinishToolCalls, callPart("", "look", `{"tag":"progress"}`)), nil
				}
				g.hold()
				return llm.Response{}, context.Canceled
			})
			if s.IsZero() {
				s = w.newSession(n)
				turn = n.send(s, "go")
			}
			if err := n.engine.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-g.arrived
			n.die()
		}
		lose(false)
		lose(false)
		// This one gets on, and dies in the next step.
		lose(true)
		lose(false)
		lose(false)
		if row := w.turn(turn); row.Takeovers != maxTakeovers || row.FinishedAt != nil {
			t.Fatalf("after the last death the turn is %+v", row)
		}
		last := w.start()
		log := w.idle(s)
		sealed := the[events.TurnSealed](t, log)
		row := w.turn(turn)
		if sealed.StopReason != models.StopNoProgress || sealed.Error.Code != "no_progress" || row.Status != models.TurnSealed || row.Recoveries != 5 {
			t.Errorf("it ended as %+v, the turn is %+v", sealed, row)
		}
		last.puppet.on(echoing)
		if got := last.send(s, "again"); got == turn {
			t.Error("the message went to the turn that was sealed")
		}
		if got := count(w.idle(s), models.EventTurnCompleted); got != 1 {
			t.Errorf("%d turns were completed", got)
		}
	})
}

// TestFailedStepsAreNoProgress has one runner after the other die in a tool whose durable step fails each time: that a step has failed
// once more is no progress.
//
// Rules: Q16.
func TestFailedStepsAreNoProgress(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var s models.SessionID
		for range maxTakeovers {
			g := w.probe.add()
			w.probe.on("poison", func(ctx context.Context, c *tools.Call) tools.Result {
				_, err := c.DurableStep(ctx, "one", "x", func(context.Context) (any, error) { return nil, errFault })
				if !errors.Is(err, errFault) {
					t.Errorf("the step gives %v", err)
				}
				g.hold()
				return tools.Result{Internal: context.Canceled}
			})
			n := w.newNode()
			if s.IsZero() {
				s = w.newSession(n)
				n.send(s, script(t, says(callTool("again", "poison")), says(text("end"))))
			}
			if err := n.engine.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-g.arrived
			n.die()
		}
		w.probe.on("poison", func(context.Context, *tools.Call) tools.Result { return tools.Success(nil) })
		w.start()
		if log := w.idle(s); count(log, models.EventTurnSealed) != 1 {
			t.Errorf("after %d deaths the turn goes on:\n%s", maxTakeovers, kinds(log))
		}
	})
}

// TestParkedTurnsHoldNothing parks turns for every reason: no goroutine is left of them, no connection, no lease and nothing that was read.
//
// Rules: L7.
func TestParkedTurnsHoldNothing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		h := w.harnessWith("waiting", ref("ask_user", "{}"), ref("approvals", `{"rules":[{"tools":["once"],"approve":"always"}]}`))
		w.probe.on("outside", func(ctx context.Context, c *tools.Call) tools.Result {
			if _, err := c.DurableCompletionKey(ctx); err != nil {
				t.Error(err)
			}
			return tools.Result{Pending: &tools.Pending{}}
		})
		w.probe.on("named", func(ctx context.Context, c *tools.Call) tools.Result {
			key, err := c.DurableEventKey(ctx, "go")
			if err != nil {
				t.Error(err)
			}
			_, err = c.DurableAwait(ctx, key)
			return tools.Result{Internal: err}
		})
		var list []models.SessionID
		for _, c := range []part{
			callTool("once", "x"), callTool("theirs", "x"), callTool("again", "outside"), callTool("again", "named"),
			callWith("ask_user", part{"question": "Which?"}),
		} {
			for range 3 {
				s := w.newSessionOn(n, h)
				n.send(s, script(t, says(c), says(text("done"))))
				list = append(list, s)
			}
		}
		for _, s := range list {
			w.parked(s)
		}
		stacks := make([]byte, 4<<20)
		w.until("nothing is left of the turns", func() bool {
			w.news.spread()
			busy := w.db.Pool != nil && w.db.Pool.Stat().AcquiredConns() > 0
			return n.idleSlots() && !busy && !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*turnRun)"))
		})
		n.engine.conversations.mu.Lock()
		defer n.engine.conversations.mu.Unlock()
		if kept, bytes := n.engine.conversations.list.Len(), n.engine.conversations.bytes; kept != 0 || bytes != 0 {
			t.Errorf("%d conversations of %d bytes are kept", kept, bytes)
		}
	})
}

// TestHooksSeeMessagesThatSteer has messages come while the model speaks: hooks rewrite or block them before it is shown them.
//
// Rules: P6.
func TestHooksSeeMessagesThatSteer(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		h := w.harnessWith("hooked", ref("user_hooks", `{"hooks":[{"event":"user_prompt_submit","cel":{"expression":"message == 'forbidden' ? `+
			`dyn({'decision':'block','reason':'no'}) : message == 'rough' ? dyn({'decision':'mutate','patch':{'message':'polite'}}) : dyn(true)"}}]}`))
		s := w.newSessionOn(n, h)
		g := map[int]*gate{1: n.puppet.add(), 2: n.puppet.add()}
		n.asking(g)
		turn := n.send(s, script(t, says(text("one")), says(text("two")), says(text("never"))))
		<-g[1].arrived
		n.send(s, "rough")
		g[1].open()
		<-g[2].arrived
		asked := n.puppet.requests()[1].Messages
		if got := asked[len(asked)-1].Parts[0].Text; got != "polite" {
			t.Errorf("the model was shown %q", got)
		}
		n.send(s, "forbidden")
		g[2].open()
		log := w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnFailed || *row.StopReason != models.StopBlocked || row.ModelCalls != 2 {
			t.Errorf("the turn is %+v", row)
		}
		if got := count(log, models.EventHookRan); got != 3 || len(n.puppet.requests()) != 2 {
			t.Errorf("hooks ran %d times, the model was asked %d times", got, len(n.puppet.requests()))
		}
	})
}

// TestTheRecordOfAGeneration names what the model was shown by its beginning, its end and its hash, which change with what is shown, and
// nothing of it is repeated.
//
// Rules: P11.
func TestTheRecordOfAGeneration(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("look", "a secret of the user")), says(text("done"))))
		log := w.idle(s)
		list := payloads[events.GenerationRecorded](t, log)
		if len(list) != 2 || list[0].PromptHash == list[1].PromptHash || len(list[0].PromptHash) != 32 {
			t.Fatalf("recorded is %+v", list)
		}
		// The first was shown the message, the second the result, too.
		messages := w.messages(s)
		if list[0].PromptThrough != *messages[0].Position || list[1].PromptThrough != *messages[2].Position {
			t.Errorf("they were shown what is through %d and %d", list[0].PromptThrough, list[1].PromptThrough)
		}
		if first := *messages[0].Position; list[0].PromptFrom != first || list[1].PromptFrom != first {
			t.Errorf("they were shown what is from %d and %d", list[0].PromptFrom, list[1].PromptFrom)
		}
		for _, e := range log {
			if e.Kind == models.EventGenerationRecorded && bytes.Contains(e.Data, []byte("secret of the user")) {
				t.Errorf("the record repeats the prompt: %s", e.Data)
			}
		}
	})
}

// TestRepairedArguments has a model break off the arguments of a call: they are put right, and the log says so.
//
// Rules: E4.
func TestRepairedArguments(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.puppet.on(answers(answer(llm.FinishToolCalls, callPart("a", "once", `{"tag":"mended",}`), callPart("b", "once", `{"tag":"whole"}`))))
		n.send(s, "go")
		log := w.idle(s)
		repaired := the[events.ToolCallRepaired](t, log)
		started := payloads[events.ToolStarted](t, log)
		if repaired.ToolCallID != started[0].ToolCallID || repaired.Outcome != "salvaged" || w.probe.ran("mended") != 1 || w.probe.ran("whole") != 1 {
			t.Errorf("repaired was %+v; they ran %d and %d times", repaired, w.probe.ran("mended"), w.probe.ran("whole"))
		}
	})
}

// TestOneClaim has a turn with several steps, and messages that come amid them, stay with the claim that it began with.
//
// Rules: Q5.
func TestOneClaim(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := n.puppet.add()
		n.asking(map[int]*gate{3: g})
		turn := n.send(s, script(t, says(callTool("once", "a")), says(callTool("again", "b")), says(text("three")), says(text("four"))))
		<-g.arrived
		n.send(s, "more")
		g.open()
		w.idle(s)
		if row := w.turn(turn); row.Iteration != 4 || row.LeaseEpoch != 1 || row.Recoveries != 0 {
			t.Errorf("the turn is %+v", row)
		}
	})
}

// TestAToolThatIgnoresACancel goes on for ever: its call is said to be cancelled all the same, and what it brings later is nobody's.
//
// Rules: C3.
func TestAToolThatIgnoresACancel(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := w.probe.add()
		w.probe.on("deaf", func(context.Context, *tools.Call) tools.Result {
			g.hold()
			return tools.Success("too late")
		})
		turn := n.send(s, script(t, says(callTool("once", "deaf")), says(text("never"))))
		<-g.arrived
		n.cancel(turn, "")
		log := w.idle(s)
		w.cancelled(turn, log)
		if done := the[events.ToolCompleted](t, log); done.Success || !strings.HasPrefix(done.Error, "cancelled: ") {
			t.Errorf("the call ended as %+v", done)
		}
		g.open()
	})
}

// TestTheGraceOfTools is that of all the calls of a step together, and is given once.
//
// Rules: C3.
func TestTheGraceOfTools(t *testing.T) {
	for _, c := range []struct {
		name string
		// ends are when the calls end after the cut.
		ends []time.Duration
		want time.Duration
	}{
		{"they end at once", []time.Duration{0, 0}, 0},
		{"they end in time", []time.Duration{time.Second, time.Second / 2}, time.Second},
		{"one never ends", []time.Duration{time.Second, time.Hour}, cancelGrace},
		{"none ends", []time.Duration{time.Hour, time.Hour}, cancelGrace},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				a := &actRun{
					r: &turnRun{e: &Engine{scheduling: goroutines()}, attention: make(chan struct{})}, ctx: ctx, running: map[string]int{}, known: map[string]bool{}, done: make(chan *finished, maxCalls),
				}
				for i, d := range c.ends {
					call := turns.Call{Record: turns.Record{CallID: fmt.Sprint(i)}}
					a.enter(call)
					go func() {
						<-ctx.Done()
						time.Sleep(d) //nolint:forbidigo // of the bubble's clock
						a.done <- &finished{Call: call, cut: true}
					}()
				}
				cancel()
				began := time.Now()
				if f, err := a.next(); f != nil || err == nil {
					t.Errorf("it goes on with %+v, %v", f, err)
				}
				a.drain()
				if took := time.Since(began); took != c.want {
					t.Errorf("they were given %v, want %v", took, c.want)
				}
				time.Sleep(2 * time.Hour) //nolint:forbidigo // of the bubble's clock: the last one ends
			})
		})
	}
}
