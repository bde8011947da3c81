package runtime

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

func (n *node) cancel(turn models.TurnID, reason string) *models.Turn {
	n.w.t.Helper()
	t, err := n.sessions.CancelTurn(n.w.t.Context(), n.w.by, turn, &reason)
	if err != nil {
		n.w.t.Fatal(err)
	}
	return t
}

// cancelled checks that a turn was cancelled, and returns the event that says so.
func (w *world) cancelled(turn models.TurnID, log []models.Event) events.TurnCancelled {
	w.t.Helper()
	row := w.turn(turn)
	if row.Status != models.TurnCancelled || *row.StopReason != models.StopCancelled || row.FinishedAt == nil || row.Error != nil || row.Cancel == nil {
		w.t.Fatalf("the turn is %+v", row)
	}
	var found []events.TurnCancelled
	for _, e := range log {
		if e.Kind != models.EventTurnCancelled || *e.TurnID != turn {
			continue
		}
		p, err := events.Decode(e.Kind, e.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		found = append(found, p.(events.TurnCancelled))
		if *row.EndedSequence != e.Sequence {
			w.t.Errorf("the turn ended at %d, its row says %d", e.Sequence, *row.EndedSequence)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("the turn was cancelled %d times\n%s", len(found), kinds(log))
	}
	return found[0]
}

// speaks makes the model say something and then wait until it is cancelled, or the gate opens.
func (n *node) speaks(text string) *gate {
	g := n.puppet.add()
	n.puppet.on(func(ctx context.Context, _ llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		emit(llm.Delta{Text: text})
		g.pass(ctx)
		return answer(llm.FinishStop, textPart(text)), ctx.Err()
	})
	return g
}

// recordedAll checks that the log of a session with one cancelled turn records its one model call, with all that the session took.
func (w *world) recordedAll(turn models.TurnID, log []models.Event) {
	w.t.Helper()
	g, idled := the[events.GenerationRecorded](w.t, log), the[events.SessionIdled](w.t, log)
	if g.FinishReason != turns.FinishInterrupted || g.Usage == (models.Usage{}) || g.Usage != idled.Usage || g.Usage != w.turn(turn).Usage || g.PromptThrough == 0 {
		w.t.Errorf("the call is recorded as %+v, the session took %+v and the turn %+v", g, idled.Usage, w.turn(turn).Usage)
	}
}

// Cancelling: what had been streamed is kept as an interrupted message.
//
// Rules: S3, C1, C4.
func TestACancelKeepsWhatWasSaid(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"here", "by another node"} {
			n := w.start()
			by := n
			if name != "here" {
				by = w.newNode()
			}
			s := w.newSession(n)
			g := n.speaks("half an ans")
			turn := n.send(s, "go")
			<-g.arrived
			if asked := by.cancel(turn, "enough"); asked.Status != models.TurnRunning && asked.Status != models.TurnCancelled {
				t.Errorf("%s: the answer to the cancel is %+v", name, asked)
			}
			log := w.idle(s)
			if e := w.cancelled(turn, log); e.Reason != "enough" {
				t.Errorf("%s: it was cancelled as %+v", name, e)
			}
			out := the[events.OutputCompleted](t, log)
			if !out.Message.Interrupted || len(out.Message.Content) != 1 || out.Message.Content[0].Text != "half an ans" || out.Message.Error != nil {
				t.Errorf("%s: of the answer is left %+v", name, out.Message)
			}
			if the[events.ReasonCompleted](t, log).Success {
				t.Errorf("%s: the step succeeded", name)
			}
			w.recordedAll(turn, log)
			if by.cancel(turn, "again").Status != models.TurnCancelled {
				t.Errorf("%s: repeating a cancel is refused", name)
			}
			if err := n.engine.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Cancelling: what the model had said is kept when its answer was there, and policies were still deciding about the calls in it.
//
// Rules: C4.
func TestACancelWhilePoliciesDecideKeepsWhatWasSaid(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		deciding := make(chan struct{}, 1)
		w.probe.judge("slow", func(ctx context.Context) (tools.Verdict, error) {
			deciding <- struct{}{}
			<-ctx.Done()
			return tools.Verdict{}, ctx.Err()
		})
		n := w.start()
		s := w.newSessionOn(n, w.harnessWith("judged", ref("probe_policy", "{}")))
		turn := n.send(s, script(t, says(text("I will look."), callTool("once", "slow")), says(text("end"))))
		<-deciding
		n.cancel(turn, "enough")
		log := w.idle(s)
		w.cancelled(turn, log)
		if out := the[events.OutputCompleted](t, log); !out.Message.Interrupted || turns.Joined(out.Message.Content, models.PartText) != "I will look." {
			t.Errorf("of the answer is left %+v", out.Message)
		}
		if row := w.turn(turn); row.Usage.OutputTokens == 0 || row.ModelCalls != 1 {
			t.Errorf("what the answer took is counted as %+v in %d calls", row.Usage, row.ModelCalls)
		}
		w.recordedAll(turn, log)
	})
}

// Cancelling, when every signal is lost: the runner looks by itself.
//
// Rules: Q3, C1.
func TestACancelIsFoundByPolling(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(c *Config) { c.PollInterval = time.Millisecond })
		deaf := w.newNode(w.deaf())
		s := w.newSession(n)
		g := n.speaks("half")
		turn := n.send(s, "go")
		<-g.arrived
		deaf.cancel(turn, "")
		w.cancelled(turn, w.idle(s))
	})
}

// Cancelling: running tools get a cancelled context; what they bring in time counts, others are said to be cancelled.
//
// Rules: C3.
func TestACancelOfTools(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		began := make(chan struct{}, 2)
		w.probe.on("obeys", func(ctx context.Context, _ *tools.Call) tools.Result {
			began <- struct{}{}
			<-ctx.Done()
			return tools.Result{Internal: ctx.Err()}
		})
		w.probe.on("brings", func(ctx context.Context, _ *tools.Call) tools.Result {
			began <- struct{}{}
			<-ctx.Done()
			return tools.Success(map[string]string{"did": "it"})
		})
		turn := n.send(s, script(t, says(callTool("once", "obeys"), callTool("once", "brings"), callTool("ordered", "quick")), says(text("never"))))
		<-began
		<-began
		n.cancel(turn, "")
		log := w.idle(s)
		w.cancelled(turn, log)
		got := map[string]events.ToolCompleted{}
		for _, e := range payloads[events.ToolCompleted](t, log) {
			got[e.ToolCallID[len(e.ToolCallID)-1:]] = e
		}
		if len(got) != 3 || got["0"].Success || !strings.HasPrefix(got["0"].Error, "cancelled:") || !got["1"].Success {
			t.Errorf("the calls ended as %+v", got)
		}
		if count(log, models.EventReasonStarted) != 1 {
			t.Error("the model was asked again")
		}
	})
}

// Cancelling a turn that is queued, that no runner has claimed, or whose runner has died, ends it at once or with the takeover.
//
// Rules: D8, C2.
func TestACancelOfTurnsThatDontRun(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.newNode()
		s := w.newSession(n)
		head := n.send(s, "one")
		queued := n.deliver(sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text("two")}, Delivery: turns.Queue})
		if got := n.cancel(queued, "").Status; got != models.TurnCancelled {
			t.Errorf("the queued turn is %s", got)
		}
		if got := n.cancel(head, "").Status; got != models.TurnCancelled {
			t.Errorf("the unclaimed turn is %s", got)
		}
		log := w.events(s)
		if err := events.CheckLog(log); err != nil {
			t.Fatalf("%v\n%s", err, kinds(log))
		}
		w.cancelled(head, log)
		w.cancelled(queued, log)
		if count(log, models.EventTurnStarted) != 1 {
			t.Error("a turn that was queued has begun")
		}
	})
}

// Rules: C1, C4.
func TestACancelOutlivesItsRunner(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		first := w.start()
		s := w.newSession(first)
		g := first.puppet.add()
		first.puppet.on(func(_ context.Context, _ llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			emit(llm.Delta{Text: strings.Repeat("x", 2*ask.CheckpointBytes)})
			g.hold()
			return llm.Response{}, context.Canceled
		})
		turn := first.send(s, "go")
		<-g.arrived
		w.until("there is a checkpoint", func() bool {
			w.news.spread()
			return rowsOf[models.Checkpoint](w, s) == 1
		})
		first.engine.stopClaims()
		// Its runner doesn't hear of it.
		w.newNode(w.deaf()).cancel(turn, "")
		first.die()
		w.start()
		log := w.idle(s)
		w.cancelled(turn, log)
		if out := the[events.OutputCompleted](t, log); !out.Message.Interrupted || len(out.Message.Content) != 1 || len(out.Message.Content[0].Text) != 2*ask.CheckpointBytes {
			t.Errorf("of the answer are left %d parts", len(out.Message.Content))
		}
		if count(log, models.EventReasonRecovered) != 0 {
			t.Error("the model was asked again")
		}
	})
}

// Cancel or completion wins, never both; the loser is told.
//
// Rules: C5.
func TestACancelOrTheCompletionWins(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		won := map[models.TurnStatus]int{}
		for range 40 {
			s := w.newSession(n)
			g := n.speaks("all of it")
			turn := n.send(s, "go")
			<-g.arrived
			done := make(chan error)
			go func() {
				_, err := n.sessions.CancelTurn(context.Background(), w.by, turn, nil)
				done <- err
			}()
			g.open()
			err := <-done
			log := w.idle(s)
			status := w.turn(turn).Status
			won[status]++
			if (status == models.TurnCancelled) != (err == nil) || (err != nil && !fault.Is(err, fault.Conflict)) {
				t.Fatalf("the turn is %s, and who cancelled it was told %v", status, err)
			}
			if n := count(log, models.EventTurnCancelled) + count(log, models.EventTurnCompleted); n != 1 {
				t.Fatalf("the turn ended %d times", n)
			}
		}
		t.Log(won)
	})
}

// rowsOf counts the rows of a table that belong to a session.
func rowsOf[T any](w *world, s models.SessionID) (n int64) {
	w.t.Helper()
	if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Model(new(T)).Where("session_id = ?", s).Count(&n).Error; err != nil {
		w.t.Fatal(err)
	}
	return n
}

// deaf sets up a bus of its own for a node, so that nobody hears of what it does.
func (w *world) deaf() nodeOption {
	bus := events.NewLocalBus()
	w.t.Cleanup(func() { _ = bus.Close() })
	return func(c *Config) { c.Bus = bus }
}
