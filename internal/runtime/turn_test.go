package runtime

import (
	"context"
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Rules: L1, P4, P8, P11.
func TestTextTurn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.commits.Store(0)
		turn := n.send(s, script(t, says(text("Hello there."))))
		log := w.idle(s)
		if got := n.commits.Load(); got != 2 {
			t.Errorf("a text turn took %d commits, want 2", got)
		}
		wantKinds(t, log, models.EventMessageReceived,
			models.EventSessionActivated, models.EventTurnStarted, models.EventReasonStarted, models.EventOutputStarted,
			models.EventOutputCompleted, models.EventGenerationRecorded, models.EventReasonCompleted, models.EventTurnCompleted, models.EventSessionIdled)
		done := the[events.TurnCompleted](t, log)
		if done.StopReason != models.StopEndTurn || done.AnswerPreview != "Hello there." || done.Iterations != 1 || done.ModelCalls != 1 {
			t.Errorf("the turn ended as %+v", done)
		}
		row := w.turn(turn)
		if row.Status != models.TurnCompleted || row.Usage.OutputTokens == 0 || row.Usage.CostNanos == 0 || row.Usage.Unpriced {
			t.Errorf("the turn's row is %+v", row)
		}
		if g := the[events.GenerationRecorded](t, log); g.Usage != row.Usage || g.FinishReason != "stop" || g.TimeToFirstTokenMs == nil {
			t.Errorf("recorded is %+v", g)
		}
	})
}

// Rules: L1, P8, P13, J5.
func TestToolTurn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.commits.Store(0)
		turn := n.send(s, script(t, says(text("Let me see."), callTool("once", "a")), says(text("Done."))))
		log := w.idle(s)
		if got := n.commits.Load(); got != 4 {
			t.Errorf("a turn with one tool took %d commits, want 4", got)
		}
		wantKinds(t, log, models.EventMessageReceived,
			models.EventSessionActivated, models.EventTurnStarted, models.EventReasonStarted, models.EventOutputStarted,
			models.EventOutputCompleted, models.EventGenerationRecorded, models.EventReasonCompleted, models.EventActStarted, models.EventToolStarted,
			models.EventToolCompleted, models.EventActCompleted, models.EventReasonStarted, models.EventOutputStarted,
			models.EventOutputCompleted, models.EventGenerationRecorded, models.EventReasonCompleted, models.EventTurnCompleted, models.EventSessionIdled)
		row := w.turn(turn)
		if row.Iteration != 2 || row.ToolCalls != 1 || row.ModelCalls != 2 || w.probe.ran("a") != 1 {
			t.Errorf("the turn's row is %+v, the tool ran %d times", row, w.probe.ran("a"))
		}
	})
}

// asking plays a model that stands still in its answers to certain calls, counted from 1, until the gate is opened.
func (n *node) asking(at map[int]*gate) {
	calls := 0
	n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		calls++
		resp, err := n.puppet.sim.Stream(ctx, req, emit)
		if g := at[calls]; g != nil {
			g.pass(ctx)
		}
		return resp, err
	})
}

// Rules: P18, D1, Q6.
func TestSteering(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name string
			at   int
			want string
		}{
			{"while the model calls a tool", 1, "the tool runs first"},
			{"during the last answer", 2, "another iteration"},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := w.within(t)
				n := w.start()
				s := w.newSession(n)
				g := n.puppet.add()
				n.asking(map[int]*gate{c.at: g})
				turn := n.send(s, script(t, says(callTool("once", c.name)), says(text("two")), says(text("three"))))
				<-g.arrived
				if same := n.send(s, "first of all"); same != turn {
					t.Errorf("the message is carried by turn %s, not by the active one", same)
				}
				n.send(s, "and then")
				g.open()
				log := w.idle(s)
				if got := count(log, models.EventTurnStarted); got != 1 {
					t.Errorf("there are %d turns", got)
				}
				requests := n.puppet.requests()
				shown := requests[c.at].Messages
				if c.at == 1 {
					// Results of tools go right behind their calls.
					if shown[len(shown)-3].Role != models.MessageTool {
						t.Errorf("%s: shown is %q", c.want, saidBy(shown))
					}
				}
				if got := saidBy(shown[len(shown)-2:]); got != "Ufirst of all Uand then" {
					t.Errorf("%s: it ends with %q", c.want, got)
				}
				if got, want := len(requests), c.at+1; got != max(want, 2) {
					t.Errorf("the model was asked %d times", got)
				}
			})
		}
	})
}

// Rules: S1, P4, D6.
func TestQueueing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := n.puppet.add()
		calls := 0
		n.puppet.on(func(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
			if calls++; calls == 1 {
				g.pass(ctx)
			}
			return answer(llm.FinishStop, textPart("re "+req.Messages[len(req.Messages)-1].Parts[0].Text)), nil
		})
		ids := []models.TurnID{n.send(s, "a")}
		<-g.arrived
		for _, m := range []string{"b", "c", "d"} {
			ids = append(ids, n.deliver(sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text(m)}, Delivery: turns.Queue}))
		}
		// Steering is about the active turn, not about those that wait.
		if turn := n.send(s, "a too"); turn != ids[0] {
			t.Errorf("steered into %s, want the active turn", turn)
		}
		queued, err := n.sessions.QueuedTurns(t.Context(), w.org, s)
		if err != nil || len(queued) != 3 || queued[0].ID != ids[1] || queued[2].ID != ids[3] {
			t.Errorf("queued are %v, %v", queued, err)
		}
		g.open()
		log := w.idle(s)
		var order []models.TurnID
		for _, e := range log {
			if e.Kind == models.EventTurnStarted {
				order = append(order, *e.TurnID)
			}
		}
		if !slices.Equal(order, ids) {
			t.Errorf("the turns ran as %v, want %v", order, ids)
		}
		requests := n.puppet.requests()
		if got, want := saidBy(requests[len(requests)-1].Messages), "Ua Are a Ua too Are a too Ub Are b Uc Are c Ud"; got != want {
			t.Errorf("shown at last is %q, want %q", got, want)
		}
		if count(log, models.EventSessionIdled) != 1 {
			t.Error("the session went to rest between two turns")
		}
	})
}

// TestNoMessageIsStranded has messages waiting in the inbox when the turn fails: they become the input of the next one.
//
// Rules: L6.
func TestNoMessageIsStranded(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := n.puppet.add()
		calls := 0
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			if calls++; calls == 1 {
				g.pass(ctx)
				return llm.Response{}, &llm.Error{Code: llm.CodeQuotaExhausted, Message: "Used up."}
			}
			return echoing(ctx, req, emit)
		})
		first := n.send(s, "a")
		<-g.arrived
		n.send(s, "b")
		n.send(s, "c")
		queued := n.deliver(sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text("d")}, Delivery: turns.Queue})
		g.open()
		w.idle(s)
		turns := w.turns(s)
		if len(turns) != 3 || turns[0].ID != first || turns[2].ID != queued {
			t.Fatalf("the turns are %+v", turns)
		}
		if turns[0].Status != models.TurnFailed || turns[1].Status != models.TurnCompleted || turns[2].Status != models.TurnCompleted {
			t.Errorf("they ended as %s, %s, %s", turns[0].Status, turns[1].Status, turns[2].Status)
		}
		if got := saidBy(n.puppet.requests()[1].Messages); got != "Ua Ub Uc" {
			t.Errorf("the second turn was shown %q", got)
		}
		var moved []models.Message
		for _, m := range w.messages(s) {
			if m.TurnID == turns[1].ID && m.Role == models.MessageUser {
				moved = append(moved, m)
			}
		}
		if len(moved) != 2 || moved[0].ID != turns[1].InputMessageID {
			t.Errorf("the second turn's messages are %+v", moved)
		}
	})
}

// Rules: S2, S3, S4, P1.
func TestIterationLimit(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		limit := 2
		s := w.newSessionOn(n, w.newHarness("short", w.harness, &limit))
		again := callPart("x", "look", `{"tag":"limit"}`)
		n.puppet.on(answers(answer(llm.FinishToolCalls, again), answer(llm.FinishToolCalls, again)))
		turn := n.send(s, "go on for ever")
		sealed := the[events.TurnSealed](t, w.idle(s))
		if sealed.StopReason != models.StopIterationLimit || sealed.Error.Code != "iteration_limit" {
			t.Errorf("it ended as %+v", sealed)
		}
		row := w.turn(turn)
		if row.Status != models.TurnSealed || row.Iteration != 2 || w.probe.ran("limit") != 2 || row.Error == nil {
			t.Errorf("the turn is %+v, the tool ran %d times", row, w.probe.ran("limit"))
		}
		// The session is as usable as before.
		n.send(s, "go on")
		if got := count(w.idle(s), models.EventTurnCompleted); got != 1 {
			t.Errorf("%d turns were completed", got)
		}
	})
}

// Rules: S3, F9.
func TestStopReasons(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		cut := callPart("x", "once", `{"tag":"c`)
		for finish, stop := range map[llm.FinishReason]models.StopReason{
			llm.FinishStop: models.StopEndTurn, llm.FinishLength: models.StopMaxTokens, llm.FinishRefusal: models.StopRefusal,
		} {
			s := w.newSession(n)
			parts := []models.Part{textPart("so far")}
			if finish != llm.FinishStop {
				// Calls that were cut off never run, and must not stay in the conversation without results.
				parts = append(parts, cut)
			}
			n.puppet.on(answers(answer(finish, parts...)))
			turn := n.send(s, "go")
			log := w.idle(s)
			if done := the[events.TurnCompleted](t, log); done.StopReason != stop || done.ToolCalls != 0 {
				t.Errorf("%s: %+v", finish, done)
			}
			if row := w.turn(turn); *row.StopReason != stop || count(log, models.EventActStarted) != 0 {
				t.Errorf("%s: %+v", finish, row)
			}
			if out := the[events.OutputCompleted](t, log); len(out.Message.Content) != 1 {
				t.Errorf("%s: the message is %+v", finish, out.Message)
			}
		}
	})
}

// TestModelOfTheNextStep changes what the session runs with while the model is speaking: the step that runs stays as it is, the
// next one follows.
func TestModelOfTheNextStep(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name   string
			change func(n *node, s models.SessionID) error
		}{
			{"of the session", func(n *node, s models.SessionID) error {
				_, err := n.sessions.Update(t.Context(), w.by, s, sessions.Change{ModelID: catalog.Give(&w.echo)})
				return err
			}},
			{"of a message", func(n *node, s models.SessionID) error {
				_, _, err := n.sessions.Send(t.Context(), w.by, sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text("b")}, ModelID: &w.echo})
				return err
			}},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := w.within(t)
				n := w.start()
				s := w.newSession(n)
				g := n.puppet.add()
				n.asking(map[int]*gate{1: g})
				n.send(s, script(t, says(callTool("once", c.name)), says(text("never"))))
				<-g.arrived
				if err := c.change(n, s); err != nil {
					t.Fatal(err)
				}
				g.open()
				log := w.idle(s)
				begun, recorded := payloads[events.OutputStarted](t, log), payloads[events.GenerationRecorded](t, log)
				for i, want := range []string{"sim-script", "sim-echo"} {
					if begun[i].Model != want || recorded[i].Model != want || n.puppet.requests()[i].Model != want {
						t.Errorf("step %d: begun with %s, recorded %s, asked %s; want %s", i+1, begun[i].Model, recorded[i].Model, n.puppet.requests()[i].Model, want)
					}
				}
			})
		}
	})
}
