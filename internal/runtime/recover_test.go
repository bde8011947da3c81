package runtime

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/turns"
)

// freezes makes the model say something, and its process stand still then.
func (n *node) freezes(says ...llm.Delta) *gate {
	g := n.puppet.add()
	n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		for _, d := range says {
			emit(d)
		}
		g.hold()
		return echoing(ctx, req, emit)
	})
	return g
}

// saved waits until the checkpoint of a session is such a one.
func (w *world) saved(s models.SessionID, such func(models.Checkpoint) bool) models.Checkpoint {
	w.t.Helper()
	var c models.Checkpoint
	w.eventually("there is such a checkpoint", func() bool {
		c = w.checkpoint(s)
		return such(c)
	})
	return c
}

// spent checks that the usage of a session's turns is that of their recorded calls.
func (w *world) spent(s models.SessionID, turn models.TurnID, log []models.Event, calls int) []events.GenerationRecorded {
	w.t.Helper()
	recorded := payloads[events.GenerationRecorded](w.t, log)
	var sum models.Usage
	for _, g := range recorded {
		sum = sum.Add(g.Usage)
	}
	if row := w.turn(turn); row.Usage != sum || w.session(s).Usage != sum || row.ModelCalls != calls {
		w.t.Errorf("the turn has %d calls that took %+v, want %d that took %+v", row.ModelCalls, row.Usage, calls, sum)
	}
	return recorded
}

// TestUsageOfLostCalls records what the provider had said before the runner died, else an estimate that is marked as one; and never less
// than what had come.
func TestUsageOfLostCalls(t *testing.T) {
	said := &models.Usage{InputTokens: 1000, CacheReadTokens: 50, OutputTokens: 2}
	long := strings.Repeat("x", ask.CheckpointBytes)
	eachWorld(t, func(t *testing.T, w *world) {
		price := models.Nanos(2_000_000)
		for _, c := range []struct {
			name  string
			says  []llm.Delta
			until func(models.Checkpoint) bool
			// usage is what must be recorded; InputTokens of 0 for an estimate of the prompt.
			usage     models.Usage
			estimated bool
		}{
			{"nothing", nil, nil, models.Usage{}, true},
			{"usage alone", []llm.Delta{{Usage: said}}, func(c models.Checkpoint) bool { return true }, *said, false},
			{
				"usage and text", []llm.Delta{{Usage: said}, {Text: long}},
				func(c models.Checkpoint) bool { return c.Text == long },
				models.Usage{InputTokens: 1000, CacheReadTokens: 50, OutputTokens: ask.CheckpointBytes / 4}, true,
			},
			{
				"thinking", []llm.Delta{{Thinking: long}}, func(c models.Checkpoint) bool { return c.Thinking == long },
				models.Usage{OutputTokens: ask.CheckpointBytes / 4, ReasoningTokens: ask.CheckpointBytes / 4}, true,
			},
			{
				"text, and all that it took", []llm.Delta{{Usage: &models.Usage{InputTokens: 9, OutputTokens: 5000}}, {Text: long}},
				func(c models.Checkpoint) bool { return c.Text == long }, models.Usage{InputTokens: 9, OutputTokens: 5000}, false,
			},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := w.within(t)
				model := madeUp("priced", models.ProviderSimulated, price)
				model.Model.PriceCacheRead = &price
				n := w.start(stage(&staging{model: model}))
				s := w.newSession(n)
				g := n.freezes(c.says...)
				turn := n.send(s, "How much?")
				<-g.arrived
				if c.until != nil {
					w.saved(s, c.until)
				}
				n.die()
				// By now another model is asked, at another price.
				other := w.newNode(stage(&staging{model: madeUp("dear", models.ProviderSimulated, 1000*price)}))
				other.puppet.on(echoing)
				if err := other.engine.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				recorded := w.spent(s, turn, w.idle(s), 2)
				lost := recorded[0]
				if c.usage.InputTokens == 0 {
					c.usage.InputTokens = lost.Usage.InputTokens
					if want := guessTokens(len("How much?")); lost.Usage.InputTokens <= want {
						t.Errorf("the prompt is taken for %d tokens, the message alone has %d", lost.Usage.InputTokens, want)
					}
				}
				c.usage.CostNanos = models.Nanos(2 * (c.usage.InputTokens + c.usage.CacheReadTokens + c.usage.OutputTokens))
				if lost.Usage != c.usage || lost.Estimated != c.estimated || lost.FinishReason != turns.FinishInterrupted || lost.Model != "priced" ||
					lost.ModelID != model.Model.ID {
					t.Errorf("recorded is %+v, want %+v, estimated: %t", lost, c.usage, c.estimated)
				}
				if after := recorded[1]; after.Model != "dear" || after.Estimated || after.FinishReason != "stop" {
					t.Errorf("recorded afterwards is %+v", after)
				}
				g.open()
				n.stop()
				w.spent(s, turn, w.idle(s), 2)
			})
		}
	})
}

// TestLostCallsOfTurnsThatEnd counts a lost call also where nobody goes on with the step, and keeps what was said.
func TestLostCallsOfTurnsThatEnd(t *testing.T) {
	long := strings.Repeat("x", ask.CheckpointBytes)
	eachWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name   string
			deaths int
			before func(n *node, h models.HarnessID, turn models.TurnID)
			status models.TurnStatus
			stop   models.StopReason
		}{
			{"cancelled", 1, func(n *node, _ models.HarnessID, turn models.TurnID) { n.cancel(turn, "") }, models.TurnCancelled, models.StopCancelled},
			{"a dependency is gone", 1, func(_ *node, h models.HarnessID, _ models.TurnID) {
				if _, err := w.catalog.ArchiveHarness(t.Context(), w.by, h); err != nil {
					t.Error(err)
				}
			}, models.TurnFailed, models.StopDependency},
			{"no progress", maxTakeovers, nil, models.TurnSealed, models.StopNoProgress},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := w.within(t)
				h := w.newHarness(c.name, w.harness, nil)
				var s models.SessionID
				var turn models.TurnID
				var dead []*node
				for i := range c.deaths {
					n := w.newNode()
					g := n.freezes(llm.Delta{Text: long})
					if err := n.engine.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					if i == 0 {
						s = w.newSessionOn(n, h)
						turn = n.send(s, "go")
					}
					<-g.arrived
					epoch := w.turn(turn).LeaseEpoch
					w.saved(s, func(c models.Checkpoint) bool { return c.Epoch == epoch })
					if i == c.deaths-1 && c.before != nil {
						c.before(n, h, turn)
					}
					if got := w.turn(turn).Takeovers; got != i {
						t.Errorf("after %d takeovers without a step %d are counted", i, got)
					}
					n.die()
					dead = append(dead, n)
				}
				last := w.start()
				log := w.idle(s)
				row := w.turn(turn)
				if row.Status != c.status || *row.StopReason != c.stop {
					t.Errorf("the turn ended %s, %s", row.Status, *row.StopReason)
				}
				for _, g := range w.spent(s, turn, log, c.deaths) {
					if g.FinishReason != turns.FinishInterrupted || !g.Estimated || g.Usage.InputTokens == 0 || g.Usage.OutputTokens != ask.CheckpointBytes/4 {
						t.Errorf("recorded is %+v", g)
					}
				}
				if got := turns.Joined(payloads[events.OutputCompleted](t, log)[0].Message.Content, models.PartText); got != long {
					t.Errorf("of what was said %d bytes were kept", len(got))
				}
				if len(last.asked()) != 0 {
					t.Error("the model was asked again")
				}
				for _, n := range dead {
					n.stop()
				}
				w.spent(s, turn, w.idle(s), c.deaths)
			})
		}
	})
}

// TestFinalize keeps an answer that could stand by itself, and no other.
//
// Rules: J12.
func TestFinalize(t *testing.T) {
	long := strings.Repeat("x", ask.CheckpointBytes)
	eachWorld(t, func(t *testing.T, w *world) {
		h := w.harnessOf(models.RecoveryFinalize)
		for _, c := range []struct {
			name  string
			says  []llm.Delta
			until func(models.Checkpoint) bool
			kept  bool
		}{
			{"text", []llm.Delta{{Thinking: "Hm."}, {Text: long}}, func(c models.Checkpoint) bool { return c.Text != "" }, true},
			{"thinking alone", []llm.Delta{{Thinking: long}}, func(c models.Checkpoint) bool { return c.Thinking != "" }, false},
			{"text, then a call", []llm.Delta{{Text: long}, {ToolCall: "x"}}, func(c models.Checkpoint) bool { return c.ToolCall }, false},
			{"a call, then text", []llm.Delta{{ToolCall: "x"}, {Text: long}}, func(c models.Checkpoint) bool { return c.Text != "" }, false},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := w.within(t)
				n := w.start()
				s := w.newSessionOn(n, h)
				g := n.freezes(c.says...)
				turn := n.send(s, "go")
				<-g.arrived
				w.saved(s, c.until)
				n.die()
				other := w.newNode()
				other.puppet.on(echoing)
				v := other.watch(s)
				if err := other.engine.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if c.kept {
					v.ended()
				}
				log := w.idle(s)
				policy, calls := "RESTART", 2
				if c.kept {
					policy, calls = "FINALIZE", 1
				}
				if got := the[events.ReasonRecovered](t, log); got.Policy != policy || len(other.asked()) != calls-1 {
					t.Errorf("recovered was by %s, and the model asked %d times", got.Policy, len(other.asked()))
				}
				w.spent(s, turn, log, calls)
				out, done := the[events.OutputCompleted](t, log), the[events.TurnCompleted](t, log)
				if out.Message.Interrupted != c.kept || done.StopReason != models.StopEndTurn || !the[events.ReasonCompleted](t, log).Success {
					t.Errorf("the message is %.100q, the turn ended as %+v", turns.Joined(out.Message.Content, models.PartText), done)
				}
				if !c.kept {
					return
				}
				if got := the[events.ThinkingCompleted](t, log).Text; got != "Hm." {
					t.Errorf("kept of the thoughts is %q", got)
				}
				// The session goes on, and the model is shown what it has said.
				other.settled(s)
				other.send(s, "Go on.")
				w.idle(s)
				requests := other.puppet.requests()
				if got := saidBy(requests[len(requests)-1].Messages); got != "Ugo AHm."+long+" UGo on." {
					t.Errorf("the model is shown %.60q", got)
				}
			})
		}
	})
}

// TestFinalizeWithMail has a message wait in the inbox of a turn whose answer is kept: the model is asked about it, in the same turn.
//
// Rules: J12.
func TestFinalizeWithMail(t *testing.T) {
	long := strings.Repeat("x", ask.CheckpointBytes)
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSessionOn(n, w.harnessOf(models.RecoveryFinalize))
		g := n.freezes(llm.Delta{Text: long})
		turn := n.send(s, "go")
		<-g.arrived
		w.checkpoint(s)
		n.send(s, "and then")
		n.die()
		other := w.newNode()
		other.puppet.on(echoing)
		if err := other.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		log := w.idle(s)
		w.spent(s, turn, log, 2)
		if got := saidBy(other.puppet.requests()[0].Messages); got != "Ugo A"+long+" Uand then" {
			t.Errorf("the model is shown %.60q", got)
		}
		if got := the[events.TurnCompleted](t, log); got.Iterations != 2 || got.AnswerPreview != "ok" {
			t.Errorf("the turn ended as %+v", got)
		}
	})
}

// TestFailedCallsOfTheDead counts what calls took that had failed before the runner was gone, at their own price, whether it died or went
// down in good order; in the latter case nobody believes that another one was under way.
//
// Rules: J11.
func TestFailedCallsOfTheDead(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name  string
			dies  bool
			calls int
		}{{"it dies", true, 3}, {"it goes down", false, 2}} {
			t.Run(c.name, func(t *testing.T) {
				w := w.within(t)
				p := &naps{clock: w.clock, hold: newGate()}
				model := madeUp("first", models.ProviderSimulated, 1_000_000)
				n := w.start(rest(p), stage(&staging{model: model}), func(cfg *Config) { cfg.ShutdownGrace = time.Hour })
				w.t.Cleanup(p.hold.open)
				s := w.newSession(n)
				n.puppet.on(replies(reply{says: []llm.Delta{{Text: "failed text"}}, resp: answer("", textPart("failed text")), err: down()}))
				turn := n.send(s, "go")
				<-p.hold.arrived
				if c.dies {
					n.die()
				} else if err := n.engine.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				other := w.newNode()
				other.puppet.on(echoing)
				if err := other.engine.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				log := w.idle(s)
				recorded := w.spent(s, turn, log, c.calls)
				failed := models.Usage{InputTokens: 10, OutputTokens: 5, CostNanos: 15}
				if len(recorded) != c.calls || recorded[0].Usage != failed || recorded[0].Retries != 0 || recorded[0].Estimated ||
					recorded[1].Estimated != c.dies {
					t.Errorf("recorded are %+v", recorded)
				}
				if c.dies && (recorded[1].Model != "first" || recorded[1].Retries != 1) {
					t.Errorf("the lost call is recorded as %+v", recorded[1])
				}
				p.hold.open()
				n.stop()
				w.spent(s, turn, w.idle(s), c.calls)
			})
		}
	})
}

// TestLostFallback records a lost call of a fallback model as one of that model.
func TestLostFallback(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		first, second := madeUp("first", models.ProviderSimulated, 1_000_000), madeUp("second", models.ProviderSimulated, 3_000_000)
		p := &naps{clock: w.clock}
		n := w.start(rest(p), stage(&staging{model: first, fallbacks: []*catalog.RunModel{second}}))
		s := w.newSession(n)
		g := n.puppet.add()
		n.puppet.on(func(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
			if req.Model == "second" {
				g.hold()
			}
			return llm.Response{Usage: models.Usage{InputTokens: 1}}, down()
		})
		turn := n.send(s, "go")
		<-g.arrived
		n.die()
		other := w.newNode()
		other.puppet.on(echoing)
		if err := other.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		recorded := w.spent(s, turn, w.idle(s), ask.MaxAttempts+2)
		if len(recorded) != 3 {
			t.Fatalf("recorded are %+v", recorded)
		}
		if failed := recorded[0].Usage; failed != (models.Usage{InputTokens: ask.MaxAttempts, CostNanos: ask.MaxAttempts}) {
			t.Errorf("the failed calls are recorded with %+v", failed)
		}
		if lost := recorded[1]; lost.Model != "second" || lost.ModelID != second.Model.ID || lost.Retries != ask.MaxAttempts ||
			int64(lost.Usage.CostNanos) != 3*lost.Usage.InputTokens {
			t.Errorf("the lost call is recorded as %+v", lost)
		}
	})
}

// TestCutShortByAShutdown keeps all that was said, and what the provider told, of a call that does not end within the grace.
//
// Rules: J12.
func TestCutShortByAShutdown(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(cfg *Config) { cfg.ShutdownGrace = time.Millisecond })
		s := w.newSessionOn(n, w.harnessOf(models.RecoveryFinalize))
		g := n.puppet.add()
		n.puppet.on(func(ctx context.Context, _ llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			emit(llm.Delta{Text: "Half an ans"})
			g.pass(ctx)
			return answer("", textPart("Half an ans")), llm.ConnectionError(ctx, ctx.Err())
		})
		turn := n.send(s, "go")
		<-g.arrived
		if err := n.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := w.start()
		log := w.idle(s)
		recorded := w.spent(s, turn, log, 1)
		if len(recorded) != 1 || recorded[0].Estimated || recorded[0].Usage.InputTokens != 10 || recorded[0].Usage.OutputTokens != 5 {
			t.Errorf("recorded are %+v", recorded)
		}
		if got := turns.Joined(the[events.OutputCompleted](t, log).Message.Content, models.PartText); got != "Half an ans" || len(other.asked()) != 0 {
			t.Errorf("kept is %q, and the model was asked %d times", got, len(other.asked()))
		}
	})
}

// TestCheckpointsTellWhatIsKnown saves usage as soon as it is told, and a tool call that has begun after what was saved.
//
// Rules: J10.
func TestCheckpointsTellWhatIsKnown(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		steps := make(chan llm.Delta)
		done := make(chan struct{})
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			for d := range steps {
				emit(d)
				done <- struct{}{}
			}
			return echoing(ctx, req, emit)
		})
		say := func(d llm.Delta) {
			steps <- d
			<-done
		}
		n.send(s, "go")
		say(llm.Delta{Usage: &models.Usage{InputTokens: 77}})
		if c := w.checkpoint(s); c.Text != "" || c.ToolCall || !strings.Contains(string(c.Usage), `"inputTokens":77`) {
			t.Errorf("saved is %+v with %s", c, c.Usage)
		}
		w.clock.Advance(time.Second)
		at := models.MillisOf(w.clock.Now())
		say(llm.Delta{Text: strings.Repeat("x", ask.CheckpointBytes)})
		if c := w.saved(s, func(c models.Checkpoint) bool { return c.Text != "" }); c.UpdatedAt != at {
			t.Errorf("the last piece came at %d, saved is %d", at, c.UpdatedAt)
		}
		say(llm.Delta{ToolCall: "x"})
		w.saved(s, func(c models.Checkpoint) bool { return c.ToolCall && len(c.Text) == ask.CheckpointBytes })
		close(steps)
		the[events.TurnCompleted](t, w.idle(s))
	})
}

// TestRestartTakesBackAtOnce has those who watch see that the text is void before the model says anything anew.
//
// Rules: J11.
func TestRestartTakesBackAtOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := n.freezes(llm.Delta{Text: strings.Repeat("x", ask.CheckpointBytes)})
		n.send(s, "go")
		<-g.arrived
		w.checkpoint(s)
		other := w.newNode()
		v := other.watch(s)
		v.until("what was saved", func(i *events.Item) bool { return i.Event.Kind == models.EventOutputDelta })
		n.die()
		silent := other.freezes()
		if err := other.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-silent.arrived
		v.text = nil
		v.until("the text taken back", func(i *events.Item) bool {
			p, err := i.Payload()
			d, ok := p.(events.OutputDelta)
			return err == nil && ok && d.Offset == 0 && d.Delta == ""
		})
		silent.open()
		the[events.TurnCompleted](t, w.idle(s))
	})
}
