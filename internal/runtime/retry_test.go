package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// TestScriptedFailures has sim-script fail with every kind of status: those that may pass are tried four times, the others once.
//
// Rules: F1, F6, F8.
func TestScriptedFailures(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := &naps{clock: w.clock}
		n := w.start(rest(p))
		for _, c := range []struct {
			status int
			code   llm.Code
			calls  int
		}{
			{408, llm.CodeUnavailable, 4}, {409, llm.CodeUnavailable, 4}, {425, llm.CodeUnavailable, 4}, {429, llm.CodeRateLimited, 4},
			{500, llm.CodeUnavailable, 4}, {503, llm.CodeUnavailable, 4}, {529, llm.CodeUnavailable, 4}, {0, llm.CodeUnavailable, 4},
			{400, llm.CodeMisconfigured, 1}, {401, llm.CodeMisconfigured, 1}, {402, llm.CodeQuotaExhausted, 1}, {404, llm.CodeMisconfigured, 1},
			{413, llm.CodeContextExceeded, 1},
		} {
			// The breaker forgets.
			w.clock.Advance(ask.BreakerMemory)
			before := len(n.puppet.requests())
			s := w.newSession(n)
			last, status := fails(c.status, "As the script says."), fmt.Sprintf(`"status":%d,`, c.status)
			if c.status == 0 {
				last, status = part{"disconnect": true}, ""
			}
			turn := n.send(s, script(t, says(text("half "), callTool("once", "failing"), last)))
			log := w.idle(s)
			failedWith(t, log, c.code, fmt.Sprintf(`{"provider":"Simulated","model":"sim-script",%s"attempts":%d}`, status, c.calls))
			if got := len(n.puppet.requests()) - before; got != c.calls {
				t.Errorf("%d: the model was asked %d times, want %d", c.status, got, c.calls)
			}
			row := w.turn(turn)
			if row.ModelCalls != c.calls || row.Status != models.TurnFailed || count(log, models.EventReasonStarted) != 1 {
				t.Errorf("%d: the turn is %+v", c.status, row)
			}
			out := the[events.OutputCompleted](t, log).Message
			if len(out.Content) != 1 || out.Content[0].Text != "half " {
				t.Errorf("%d: what is kept is %+v", c.status, out.Content)
			}
		}
		if w.probe.ran("failing") != 0 {
			t.Error("a call of a failed answer was run")
		}
		for i, d := range p.taken() {
			if want := ask.FirstDelay << (i % 3) / 2; d != want {
				t.Errorf("wait %d is %v, want %v", i, d, want)
			}
		}
	})
}

// TestAnswerAfterFailures has a model answer at the third attempt: the turn counts all of them, those who watch see the failed text
// withdrawn, and no call of a failed attempt runs.
//
// Rules: P11, F3.
func TestAnswerAfterFailures(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(rest(&naps{clock: w.clock}))
		s := w.newSession(n)
		v, heard := n.watch(s), n.puppet.add()
		n.puppet.on(replies(
			reply{
				says: []llm.Delta{{Text: "half a wo"}, {ToolCall: "x"}}, heard: heard,
				resp: answer("", textPart("half a wo"), callPart("x", "once", `{"tag":"failed"}`)), err: down(),
			},
			reply{err: &llm.Error{Code: llm.CodeRateLimited, Status: 429, Transient: true, RetryAfter: 3 * time.Second, Message: "Not so fast.\x00"}},
			reply{resp: answer(llm.FinishToolCalls, textPart("whole"), callPart("x", "once", `{"tag":"good"}`))},
		))
		turn := n.send(s, "go")
		seen := v.follow(heard)
		log := w.idle(s)
		if len(seen.texts) != 2 || seen.texts[0] != "half a wo" || seen.texts[1] != "" {
			t.Errorf("of the text was seen %q", seen.texts)
		}
		g := payloads[events.GenerationRecorded](t, log)
		want := []events.GenerationRetrying{
			{
				MessageID: g[0].MessageID, Model: "sim-script", NextModel: "sim-script", Code: "provider_unavailable", Message: "It is down.",
				Attempt: 1, DelayMs: 500,
			},
			{
				MessageID: g[0].MessageID, Model: "sim-script", NextModel: "sim-script", Code: "provider_rate_limited", Message: "Not so fast.\uFFFD",
				Attempt: 2, DelayMs: 4000,
			},
		}
		if !slices.Equal(seen.retries, want) {
			t.Errorf("announced was %+v, want %+v", seen.retries, want)
		}
		// The refusal took nothing.
		if len(g) != 3 || g[0].Retries != 0 || g[0].FinishReason != turns.FinishInterrupted || g[1].Retries != 2 || g[1].MessageID != g[0].MessageID || g[2].Retries != 0 {
			t.Errorf("recorded is %+v", g)
		}
		row := w.turn(turn)
		w.spent(s, turn, log, 4)
		if row.Usage.InputTokens != 30 || row.Usage.OutputTokens != 15 || row.Usage.Unpriced {
			t.Errorf("the turn's row is %+v", row)
		}
		if w.probe.ran("failed") != 0 || w.probe.ran("good") != 1 {
			t.Errorf("the calls ran %d and %d times", w.probe.ran("failed"), w.probe.ran("good"))
		}
		if got := turns.Joined(payloads[events.OutputCompleted](t, log)[0].Message.Content, models.PartText); got != "whole" {
			t.Errorf("the message is %q", got)
		}
	})
}

// TestCheckpointIsWithdrawn has a failed attempt leave a checkpoint: while the next one is waited for it holds nothing, so that nobody
// who joins is told the failed text, and it is gone in the end.
//
// Rules: J10.
func TestCheckpointIsWithdrawn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := &naps{clock: w.clock, hold: newGate()}
		n := w.start(rest(p))
		s := w.newSession(n)
		n.puppet.on(replies(reply{says: []llm.Delta{{Thinking: "Hm."}, {Text: strings.Repeat("x", ask.CheckpointBytes)}}, err: down()}))
		n.send(s, "go")
		<-p.hold.arrived
		if saved := w.checkpoint(s); saved.Text != "" || saved.Thinking != "" || saved.Attempt != 2 {
			t.Errorf("saved are attempt %d, %d bytes of text and %q", saved.Attempt, len(saved.Text), saved.Thinking)
		}
		late := n.watch(s)
		p.hold.open()
		if seen := late.follow(nil); len(seen.texts) != 0 {
			t.Errorf("who joined has seen %.20q", seen.texts)
		}
		the[events.TurnCompleted](t, w.idle(s))
	})
}

// TestFallbacks has the first model fail for good: the next one that can be called answers, and is the one that is recorded and paid.
//
// Rules: F5.
func TestFallbacks(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		second, third := madeUp("second", models.ProviderSimulated, 7_000_000), madeUp("third", models.ProviderSimulated, 1_000_000)
		window := 1000
		third.Model.MaxOutputTokens = &window
		p := &naps{clock: w.clock}
		n := w.newNode(rest(p), stage(&staging{fallbacks: []*catalog.RunModel{
			madeUp("no driver", models.ProviderGemini, 0), second, madeUp("no key", models.ProviderAnthropic, 0), third,
		}}), func(c *Config) { c.Drivers[models.ProviderAnthropic] = c.Drivers[models.ProviderSimulated] })
		if err := n.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := w.newSession(n)
		v := n.watch(s)
		n.puppet.on(func(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
			if req.Model == "third" {
				return answer(llm.FinishStop, textPart("third")), nil
			}
			return answer(""), down()
		})
		turn := n.send(s, "go")
		seen := v.follow(nil)
		log := w.idle(s)
		var want []string
		for _, name := range []string{"sim-script", "second"} {
			want = append(want, name, name, name, name)
		}
		if got := n.asked(); !slices.Equal(got, append(want, "third")) {
			t.Errorf("asked were %q", got)
		}
		recorded := w.spent(s, turn, log, 9)
		if len(recorded) != 9 {
			t.Fatalf("recorded is %+v", recorded)
		}
		if g := recorded[8]; g.Model != "third" || g.ModelID != third.Model.ID || g.Retries != 8 || g.Usage.CostNanos != 15 {
			t.Errorf("recorded is %+v", g)
		}
		if g := recorded[5]; g.Model != "second" || g.Retries != 5 || g.Usage.CostNanos != 15*7 || g.FinishReason != turns.FinishInterrupted {
			t.Errorf("the failed call is recorded as %+v", g)
		}
		row := w.turn(turn)
		// Each call took 10 tokens of input and 5 of output; sim-script costs 100 and 400 nano-dollars each.
		if cost := models.Nanos(4*(10*100+5*400) + 4*15*7 + 15); row.Usage.CostNanos != cost || row.ModelCalls != 9 || row.Usage.InputTokens != 90 {
			t.Errorf("the turn took %+v in %d calls, want %d nano-dollars", row.Usage, row.ModelCalls, cost)
		}
		if n.puppet.requests()[8].MaxTokens != window {
			t.Error("the fallback was asked with the limits of another")
		}
		if len(seen.retries) != 8 || seen.retries[3].NextModel != "second" || seen.retries[3].DelayMs != 0 || seen.retries[7].NextModel != "third" {
			t.Errorf("announced was %+v", seen.retries)
		}
		if got := len(p.taken()); got != 6 {
			t.Errorf("there were %d waits, want none before a fallback", got)
		}
	})
}

// TestAllFail ends the turn with the failure of the last model; one that is permanent ends it at once.
//
// Rules: F5, F8, M6.
func TestAllFail(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		second := madeUp("second", models.ProviderSimulated, 1_000_000)
		for _, c := range []struct {
			name   string
			first  error
			second error
			code   llm.Code
			fields string
			calls  int
			says   string
		}{
			{"both are down", down(), &llm.Error{Code: llm.CodeRateLimited, Status: 429, Transient: true, Message: "Slow."},
				llm.CodeRateLimited, `{"provider":"provider of second","model":"second","status":429,"attempts":8}`, 8, "Slow."},
			{"the first is permanent", &llm.Error{Code: llm.CodeQuotaExhausted, Status: 402, Message: "Pay."}, nil,
				llm.CodeQuotaExhausted, `{"provider":"Simulated","model":"sim-script","status":402,"attempts":1}`, 1, "Pay."},
			{"the second is permanent", down(), &llm.Error{Code: llm.CodeContextExceeded, Status: 413, Message: "Long."},
				llm.CodeContextExceeded, `{"provider":"provider of second","model":"second","status":413,"attempts":5}`, 5, "Long."},
			{"both ask for too long a wait", &llm.Error{Code: llm.CodeRateLimited, Status: 429, Transient: true, RetryAfter: time.Hour},
				&llm.Error{Code: llm.CodeRateLimited, Status: 429, Transient: true, RetryAfter: 90 * time.Second, Message: "Busy."},
				llm.CodeRateLimited, `{"provider":"provider of second","model":"second","status":429,"attempts":2}`, 2, "Busy. The provider asked us to retry in 90 s."},
			{"the second fails here", down(), errors.New("secret detail"),
				llm.CodeInternal, `{"provider":"provider of second","model":"second","attempts":5}`, 5, "could not call the model"},
		} {
			w.clock.Advance(ask.BreakerMemory)
			n := w.newNode(stage(&staging{fallbacks: []*catalog.RunModel{second}}))
			if err := n.engine.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			n.puppet.on(func(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
				if req.Model == "second" {
					return llm.Response{}, c.second
				}
				return llm.Response{}, c.first
			})
			s := w.newSession(n)
			turn := n.send(s, "go")
			f := failedWith(t, w.idle(s), c.code, c.fields)
			if !strings.Contains(f.Message, c.says) || strings.Contains(f.Message, "secret") {
				t.Errorf("%s: the user is told %q", c.name, f.Message)
			}
			if row := w.turn(turn); row.ModelCalls != c.calls || len(n.asked()) != c.calls || row.Usage != (models.Usage{}) {
				t.Errorf("%s: %d calls were made, and the turn has %d with %+v", c.name, len(n.asked()), row.ModelCalls, row.Usage)
			}
			n.stop()
		}
	})
}

// TestBreakerKeepsTurnsAway has a provider fail too often: further turns fail without a call, or go to the fallback at once, until it
// was left alone for a while.
//
// Rules: F7.
func TestBreakerKeepsTurnsAway(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		second := madeUp("second", models.ProviderSimulated, 1_000_000)
		c, p := &staging{}, &naps{clock: w.clock}
		n := w.newNode(stage(c), rest(p))
		if err := n.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			if req.Model == "second" {
				return echoing(ctx, req, emit)
			}
			return llm.Response{}, down()
		})
		run := func() (models.TurnID, []models.Event) {
			s := w.newSession(n)
			turn := n.send(s, "go")
			return turn, w.idle(s)
		}
		run() // four failures
		_, log := run()
		f := failedWith(t, log, llm.CodeUnavailable, `{"provider":"Simulated","model":"sim-script","attempts":1}`)
		until := w.clock.Now().Add(ask.BreakerRest + time.Second - 1).UTC().Format("15:04:05 UTC")
		if len(p.taken()) != 3 {
			t.Errorf("there were %d waits; the one for a provider that rests is in vain", len(p.taken()))
		}
		if len(n.asked()) != 5 || !strings.Contains(f.Message, until) {
			t.Errorf("after %d calls the user is told %q, which doesn't name %s", len(n.asked()), f.Message, until)
		}
		turn, log := run()
		failedWith(t, log, llm.CodeUnavailable, `{"provider":"Simulated","model":"sim-script","attempts":0}`)
		if row := w.turn(turn); row.ModelCalls != 0 || len(n.asked()) != 5 {
			t.Errorf("without a call the turn counts %d", row.ModelCalls)
		}
		c.fallbacks = []*catalog.RunModel{second}
		turn, log = run()
		if g := the[events.GenerationRecorded](t, log); g.Model != "second" || g.Retries != 0 || w.turn(turn).ModelCalls != 1 {
			t.Errorf("recorded is %+v", g)
		}
		c.fallbacks = nil
		w.clock.Advance(ask.BreakerRest)
		probing, answering, ending := n.puppet.add(), n.puppet.add(), n.puppet.add()
		calls := 0
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			if calls++; calls > 1 {
				return echoing(ctx, req, emit)
			}
			probing.pass(ctx)
			emit(llm.Delta{Text: "o"})
			answering.hold()
			ending.pass(ctx)
			return echoing(ctx, req, emit)
		})
		probe := w.newSession(n)
		n.send(probe, "go")
		<-probing.arrived
		_, log = run()
		failedWith(t, log, llm.CodeUnavailable, `{"provider":"Simulated","model":"sim-script","attempts":0}`)
		probing.open()
		<-answering.arrived
		// It has begun to answer: that is enough for the others.
		_, log = run()
		the[events.TurnCompleted](t, log)
		answering.open()
		ending.open()
		the[events.TurnCompleted](t, w.idle(probe))
	})
}

// TestProviderWithoutKey fails before any call, and says what to do.
//
// Rules: F8.
func TestProviderWithoutKey(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			kind models.ProviderKind
			key  []byte
			want string
		}{
			{models.ProviderAnthropic, nil, "has no API key. Enter one"},
			{models.ProviderOpenAI, nil, "has no API key. Enter one"},
			{models.ProviderGemini, nil, "has no API key. Enter one"},
			{models.ProviderOpenAI, []byte("not sealed"), "can't be read on this server. Enter it again"},
		} {
			n := w.newNode(stage(&staging{model: madeUp("real", c.kind, 1)}),
				func(cfg *Config) { cfg.Drivers[c.kind] = cfg.Drivers[models.ProviderSimulated] })
			n.engine.cfg.Catalog.(*staging).model.Provider.Credentials = c.key
			if err := n.engine.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			s := w.newSession(n)
			turn := n.send(s, "go")
			f := failedWith(t, w.idle(s), llm.CodeMisconfigured, `{"provider":"provider of real","model":"real","attempts":0}`)
			if !strings.Contains(f.Message, c.want) || len(n.asked()) != 0 || w.turn(turn).ModelCalls != 0 {
				t.Errorf("%s: after %d calls the user is told %q", c.kind, len(n.asked()), f.Message)
			}
			n.stop()
		}
		// Servers that are compatible may want none.
		n := w.newNode(stage(&staging{model: madeUp("local", models.ProviderOpenAICompatible, 1)}),
			func(cfg *Config) {
				cfg.Drivers[models.ProviderOpenAICompatible] = cfg.Drivers[models.ProviderSimulated]
			})
		n.puppet.on(echoing)
		if err := n.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := w.newSession(n)
		n.send(s, "go")
		the[events.TurnCompleted](t, w.idle(s))
	})
}

// TestAbsurdUsage has a provider tell numbers without sense: sums of them neither become negative, which would be money to spend, nor
// too large for the database, which would stop the whole organization.
func TestAbsurdUsage(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(stage(&staging{model: madeUp("m", models.ProviderSimulated, 1_000_000_000)}))
		s := w.newSession(n)
		all := models.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64, CacheReadTokens: math.MaxInt64}
		n.puppet.on(replies(reply{resp: llm.Response{Usage: all}, err: down()}, reply{resp: llm.Response{
			Usage: all, Parts: []models.Part{textPart("done")}, FinishReason: llm.FinishStop,
		}}))
		turn := n.send(s, "go")
		the[events.TurnCompleted](t, w.idle(s))
		if u := w.turn(turn).Usage; u.InputTokens != 2*ask.MostTokens || u.CacheReadTokens != 2*ask.MostTokens || u.CostNanos != 2*ask.MostCost {
			t.Errorf("the turn took %+v", u)
		}
	})
}
