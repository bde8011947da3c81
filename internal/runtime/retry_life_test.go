package runtime

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// waiting has a turn fail its first call and wait for its second one.
func (w *world) waiting(options ...nodeOption) (n *node, p *naps, s models.SessionID, turn models.TurnID) {
	w.t.Helper()
	p = &naps{clock: w.clock, hold: newGate()}
	n = w.start(append(options, rest(p))...)
	w.t.Cleanup(p.hold.open)
	s = w.newSession(n)
	n.puppet.on(replies(reply{says: []llm.Delta{{Text: "failed text"}}, resp: answer("", textPart("failed text")), err: down()}))
	turn = n.send(s, "go")
	<-p.hold.arrived
	return n, p, s, turn
}

// TestDeathInAWait has another runner take a turn over that waits for its next call: it begins the step anew, and the first one, when
// it comes back, changes nothing.
func TestDeathInAWait(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n, p, s, turn := w.waiting()
		n.die()
		other := w.start()
		other.puppet.on(echoing)
		log := w.idle(s)
		if got := count(log, models.EventReasonRecovered); got != 1 {
			t.Errorf("the step was recovered %d times", got)
		}
		if row := w.turn(turn); row.Status != models.TurnCompleted || row.Recoveries != 1 {
			t.Errorf("the turn's row is %+v", row)
		}
		p.hold.open()
		n.stop()
		if after := w.idle(s); len(after) != len(log) {
			t.Errorf("a runner that was taken over has written:\n%s", kinds(after[len(log):]))
		}
	})
}

// TestFailureAfterADeath has the model fail for the runner that took a step over: what the dead one has saved is withdrawn before the
// next call.
//
// Rules: J11.
func TestFailureAfterADeath(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := n.puppet.add()
		n.puppet.on(saying(g, []llm.Delta{{Text: strings.Repeat("x", ask.CheckpointBytes)}}, textPart("never")))
		turn := n.send(s, "go")
		w.checkpoint(s)
		p := &naps{clock: w.clock, hold: newGate()}
		other := w.newNode(rest(p))
		t.Cleanup(p.hold.open)
		other.puppet.on(replies(reply{err: down()}))
		v := other.watch(s)
		v.until("what was saved", func(i *events.Item) bool { return i.Event.Kind == models.EventOutputDelta })
		n.die()
		if err := other.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-p.hold.arrived
		if saved := w.checkpoint(s); saved.Text != "" || saved.Epoch != w.turn(turn).LeaseEpoch {
			t.Errorf("saved are %d bytes of text under epoch %d", len(saved.Text), saved.Epoch)
		}
		p.hold.open()
		if seen := v.follow(nil); !slices.Equal(seen.texts, []string{""}) {
			t.Errorf("seen was %.20q", seen.texts)
		}
		the[events.TurnCompleted](t, w.idle(s))
	})
}

// TestStopInAWait goes down while a turn waits for its next call: the wait ends at once, the turn is given back as it is, and another
// runner goes on.
//
// Rules: Q15.
func TestStopInAWait(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n, _, s, turn := w.waiting(func(c *Config) { c.ShutdownGrace = time.Hour })
		if err := n.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if row := w.turn(turn); row.Status != models.TurnRunning || row.RunnerID != nil || row.ReadyAt == nil {
			t.Errorf("after the end the turn is %+v", row)
		}
		if len(n.asked()) != 1 {
			t.Errorf("the model was asked %d times", len(n.asked()))
		}
		n.vacant()
		other := w.start()
		other.puppet.on(echoing)
		the[events.TurnCompleted](t, w.idle(s))
		if row := w.turn(turn); row.Recoveries != 0 || row.Takeovers != 0 {
			t.Errorf("going down in good order counts as %d recoveries, %d takeovers", row.Recoveries, row.Takeovers)
		}
	})
}

// TestStopAfterAFailure has the call fail while the process goes down: nothing is waited for.
func TestStopAfterAFailure(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(c *Config) { c.ShutdownGrace, c.Sleep = time.Hour, nil })
		s := w.newSession(n)
		g := n.puppet.add()
		n.puppet.on(replies(reply{heard: g, err: &llm.Error{Code: llm.CodeRateLimited, Transient: true, RetryAfter: 50 * time.Second}}))
		n.send(s, "go")
		<-g.arrived
		stopped := make(chan error)
		go func() { stopped <- n.engine.Stop(context.Background()) }()
		<-n.engine.ending.Done()
		g.open()
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		other := w.start()
		other.puppet.on(echoing)
		the[events.TurnCompleted](t, w.idle(s))
	})
}

// TestDeclaredDeadInAWait has a runner find out in the middle of a wait that it was taken for dead: it asks no more.
func TestDeclaredDeadInAWait(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n, _, s, _ := w.waiting()
		n.engine.mu.Lock()
		cancel := n.engine.cancelWork
		n.engine.mu.Unlock()
		other := w.newNode()
		other.puppet.on(echoing)
		if _, err := w.queue.TakeOver(t.Context(), n.engine.runnerID()); err != nil {
			t.Fatal(err)
		}
		cancel(errDeclaredDead)
		if err := other.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		the[events.TurnCompleted](t, w.idle(s))
		if len(n.asked()) != 1 {
			t.Errorf("who was declared dead asked %d times", len(n.asked()))
		}
	})
}

// TestChangesInAWait has the session choose another model while its turn waits: the step goes on with what it began with, and the next
// turn has the new one.
func TestChangesInAWait(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n, p, s, _ := w.waiting()
		if _, err := w.catalog.UpdateModel(t.Context(), w.by, w.script, catalog.ModelChange{MaxOutputTokens: catalog.Give(new(7))}); err != nil {
			t.Fatal(err)
		}
		p.hold.open()
		w.idle(s)
		n.send(s, "again")
		w.idle(s)
		var limits []int
		for _, r := range n.puppet.requests() {
			limits = append(limits, r.MaxTokens)
		}
		if len(limits) != 3 || limits[1] != limits[0] || limits[2] != 7 {
			t.Errorf("the model was asked with the limits %v", limits)
		}
	})
}

// TestSilentModels has a model say nothing for too long, before its first byte or after it: the call is given up and made again. A sign of
// life, whatever it is, counts.
//
// Rules: F4.
func TestSilentModels(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ticks := newTimers(w.clock)
		n := w.start(rest(&naps{clock: w.clock}), func(c *Config) { c.Timers, c.IdleTimeout = ticks, time.Minute })
		for _, c := range []struct {
			name string
			sign *llm.Delta
		}{
			{"before the first byte", nil},
			{"after a text", &llm.Delta{Text: "x"}},
			{"after a thought", &llm.Delta{Thinking: "x"}},
			{"after a call has begun", &llm.Delta{ToolCall: "x"}},
			{"after it has told what the call takes", &llm.Delta{Usage: &models.Usage{InputTokens: 1}}},
			{"after a mere sign of life", &llm.Delta{}},
		} {
			w.clock.Advance(ask.BreakerMemory)
			s := w.newSession(n)
			silent, signed := n.puppet.add(), make(chan struct{})
			var cut atomic.Bool
			calls := 0
			n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
				if calls++; calls > 1 {
					return echoing(ctx, req, emit)
				}
				silent.pass(ctx)
				if c.sign != nil {
					emit(*c.sign)
				}
				close(signed)
				<-ctx.Done()
				cut.Store(true)
				return llm.Response{}, llm.ConnectionError(ctx, ctx.Err())
			})
			n.send(s, "go")
			<-silent.arrived
			ticks.pass(time.Minute - 1)
			silent.open()
			<-signed
			if c.sign != nil {
				ticks.pass(time.Minute - 1)
				if cut.Load() {
					t.Errorf("%s: it was given up too early", c.name)
				}
			}
			ticks.pass(1)
			log := w.idle(s)
			if g := the[events.GenerationRecorded](t, log); g.Retries != 1 || !cut.Load() {
				t.Errorf("%s: recorded is %+v", c.name, g)
			}
			if got := ticks.waiting(); got != 0 {
				t.Errorf("%s: %d timers are left", c.name, got)
			}
		}
	})
}

// TestSilentForGood has a model that never says anything: after its second silence the window of the retries is over, and the user is
// told what happened.
//
// Rules: F4.
func TestSilentForGood(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ticks := newTimers(w.clock)
		n := w.start(rest(&naps{clock: w.clock}), func(c *Config) { c.Timers = ticks })
		s := w.newSession(n)
		called := make(chan struct{})
		n.puppet.on(func(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Response, error) {
			called <- struct{}{}
			<-ctx.Done()
			return llm.Response{}, errors.New("secret detail")
		})
		n.send(s, "go")
		for range 2 {
			<-called
			ticks.pass(time.Minute)
		}
		f := failedWith(t, w.idle(s), llm.CodeUnavailable, `{"provider":"Simulated","model":"sim-script","attempts":2}`)
		if !strings.Contains(f.Message, "sent nothing for 1m0s") {
			t.Errorf("the user is told %q", f.Message)
		}
	})
}

// TestEndlessModels has a model give signs of life for ever, and nothing else: its call is given up all the same, and not made again.
//
// Rules: F4.
func TestEndlessModels(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ticks := newTimers(w.clock)
		n := w.start(rest(&naps{clock: w.clock}), func(c *Config) { c.Timers = ticks })
		s := w.newSession(n)
		pings, pinged := make(chan struct{}), make(chan struct{})
		n.puppet.on(func(ctx context.Context, _ llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			for {
				select {
				case <-pings:
					emit(llm.Delta{})
					pinged <- struct{}{}
				case <-ctx.Done():
					return answer("", textPart("so far")), llm.ConnectionError(ctx, ctx.Err())
				}
			}
		})
		n.send(s, "go")
		for range 119 {
			pings <- struct{}{}
			<-pinged
			ticks.pass(30 * time.Second)
		}
		pings <- struct{}{}
		<-pinged
		ticks.pass(30*time.Second - 1)
		if got := ticks.waiting(); got != 1 {
			t.Fatalf("it was given up too early: %d timers", got)
		}
		ticks.pass(1)
		f := failedWith(t, w.idle(s), llm.CodeUnavailable, `{"provider":"Simulated","model":"sim-script","attempts":1}`)
		if !strings.Contains(f.Message, "within 1h0m0s") || ticks.waiting() != 0 {
			t.Errorf("the user is told %q, %d timers are left", f.Message, ticks.waiting())
		}
	})
}

// TestMetadata has two models take part in a session: each is shown its own metadata unchanged, and that of the other never. The messages
// keep it; nothing of it is in the log.
//
// Rules: M5.
func TestMetadata(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		one, two := madeUp("one", models.ProviderSimulated, 1), madeUp("two", models.ProviderSimulated, 1)
		// The same name at another provider is another model.
		stranger := madeUp("one", models.ProviderSimulated, 1)
		c := &staging{model: one}
		n := w.start(stage(c))
		s := w.newSession(n)
		secret := models.JSON(`{"signature":"s3cret","b":1}`)
		n.puppet.on(answers(
			answer(llm.FinishToolCalls,
				models.Part{Type: models.PartThinking, Text: "Hm.", Metadata: secret}, models.Part{Type: models.PartText, Text: "a", Origin: "forged"},
				models.Part{Type: models.PartToolCall, ToolCallID: "x", ToolName: "look", Arguments: models.JSON(`{"tag":"t"}`), Metadata: secret}),
		))
		turn := func() {
			n.send(s, "go")
			w.idle(s)
		}
		turn()
		c.model = two
		turn()
		c.model = stranger
		turn()
		c.model = one
		turn()
		// shown counts the parts with metadata in a request.
		shown := func(r llm.Request) (count int) {
			for _, m := range r.Messages {
				for _, p := range m.Parts {
					if len(p.Metadata) > 0 {
						count++
						if !bytes.Equal(p.Metadata, secret) {
							t.Errorf("the model is shown %s", p.Metadata)
						}
					}
				}
			}
			return count
		}
		var counts []int
		for _, r := range n.puppet.requests() {
			counts = append(counts, shown(r))
		}
		if want := []int{0, 2, 0, 0, 2}; !slices.Equal(counts, want) {
			t.Errorf("parts with metadata in the requests: %v, want %v", counts, want)
		}
		for _, e := range w.events(s) {
			if data := string(e.Data); strings.Contains(data, "s3cret") || strings.Contains(data, "metadata") || strings.Contains(data, "origin") {
				t.Errorf("%s holds %s", e.Kind, data)
			}
		}
		kept := 0
		for _, m := range w.messages(s) {
			for _, p := range m.Content {
				if len(p.Metadata) > 0 && bytes.Equal(p.Metadata, secret) && p.Origin == one.Provider.ID.String()+"/one" {
					kept++
				} else if p.Origin != "" {
					t.Errorf("a part is of the origin %q", p.Origin)
				}
			}
		}
		if kept != 2 {
			t.Errorf("%d parts are kept with their metadata", kept)
		}
		// A process that has forgotten the conversation reads the same.
		other := w.newNode(stage(&staging{model: one}))
		other.puppet.on(echoing)
		n.engine.stopClaims()
		if err := other.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		other.send(s, "go")
		w.idle(s)
		if got := shown(other.puppet.requests()[0]); got != 2 {
			t.Errorf("another process shows %d parts with metadata", got)
		}
	})
}

// TestMetadataOfFailures keeps nothing that a provider could not be given again.
//
// Rules: M5.
func TestMetadataOfFailures(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.puppet.on(replies(reply{
			resp: answer("", models.Part{Type: models.PartThinking, Text: "Hm", Metadata: models.JSON(`{"half":1}`), Origin: "forged"}),
			err:  &llm.Error{Code: llm.CodeQuotaExhausted, Message: "Used up."},
		}))
		n.send(s, "go")
		w.idle(s)
		for _, m := range w.messages(s) {
			for _, p := range m.Content {
				if p.Metadata != nil || p.Origin != "" {
					t.Errorf("kept is %+v", p)
				}
			}
		}
	})
}

// library is Images of one organization.
type library struct {
	org models.OrgID
	id  models.ImageID
}

func (l library) Read(_ context.Context, org models.OrgID, id models.ImageID) (llm.Image, error) {
	if org != l.org || id != l.id {
		return llm.Image{}, fs.ErrNotExist
	}
	return llm.Image{MediaType: "image/png", Data: []byte("png")}, nil
}

// TestRequests have what drivers need beside the conversation.
func TestRequests(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := models.NewID[models.ImageEntity]()
		url := "http://127.0.0.1:1/v1/"
		model := madeUp("m", models.ProviderSimulated, 1)
		model.Provider.BaseURL = &url
		n := w.start(stage(&staging{model: model}), func(c *Config) { c.Images = library{w.org, id} })
		n.puppet.on(echoing)
		one, two := w.newSession(n), w.newSession(n)
		for _, s := range []models.SessionID{one, two, one} {
			n.send(s, "go")
			w.idle(s)
		}
		r := n.puppet.requests()
		if r[0].Conversation == "" || r[0].Conversation != r[2].Conversation || r[0].Conversation == r[1].Conversation ||
			strings.Contains(one.String(), r[0].Conversation) {
			t.Errorf("the conversations are %q, %q and %q", r[0].Conversation, r[1].Conversation, r[2].Conversation)
		}
		if r[0].Endpoint.BaseURL != "http://127.0.0.1:1/v1" {
			t.Errorf("the model is asked at %q", r[0].Endpoint.BaseURL)
		}
		if img, err := r[0].ReadImage(t.Context(), id); err != nil || string(img.Data) != "png" {
			t.Errorf("the image is %v, %v", img, err)
		}
		bare := w.start(stage(&staging{model: model}), func(*Config) { n.engine.stopClaims() })
		bare.puppet.on(echoing)
		s := w.newSession(bare)
		bare.send(s, "go")
		w.idle(s)
		if _, err := bare.puppet.requests()[0].ReadImage(t.Context(), id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without images: %v", err)
		}
	})
}

// heard tells that one thing was logged.
type heard struct {
	slog.Handler
	message string
	at      chan struct{}
}

// Enabled implements slog.Handler.
func (heard) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h heard) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		select {
		case h.at <- struct{}{}:
		default:
		}
	}
	return nil
}

// TestStopWithoutTheDatabase goes down while the database refuses to take turns back: that is no reason to end them, and they are given back
// when it takes them again.
func TestStopWithoutTheDatabase(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		refused := heard{slog.DiscardHandler, "an execution could not be released", make(chan struct{}, 1)}
		n, _, s, turn := w.waiting(func(c *Config) { c.ShutdownGrace, c.Logger = time.Hour, slog.New(refused) })
		w.refuseTurnsBack(true)
		stopped := make(chan error)
		go func() { stopped <- n.engine.Stop(context.Background()) }()
		select {
		case <-refused.at:
		case err := <-stopped:
			t.Fatalf("it was not tried again: %v, the turn is %+v", err, w.turn(turn))
		}
		w.refuseTurnsBack(false)
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		if row := w.turn(turn); row.Status != models.TurnRunning || row.ReadyAt == nil || row.Takeovers != 0 {
			t.Errorf("after the end the turn is %+v", row)
		}
		other := w.start()
		other.puppet.on(echoing)
		the[events.TurnCompleted](t, w.idle(s))
	})
}

// refuseTurnsBack makes the database refuse what gives a turn back, and take it again.
func (w *world) refuseTurnsBack(refuse bool) {
	w.t.Helper()
	statements := []string{
		`CREATE TRIGGER refuse BEFORE UPDATE ON turns WHEN NEW.runner_id IS NULL AND NEW.status = 'RUNNING' BEGIN SELECT RAISE(ABORT, 'refused'); END`,
	}
	switch {
	case w.db.Dialect == store.Postgres && refuse:
		statements = []string{
			`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'`,
			`CREATE TRIGGER refuse BEFORE UPDATE ON turns FOR EACH ROW WHEN (NEW.runner_id IS NULL AND NEW.status = 'RUNNING') EXECUTE FUNCTION refuse()`,
		}
	case w.db.Dialect == store.Postgres:
		statements = []string{`DROP TRIGGER refuse ON turns`}
	case !refuse:
		statements = []string{`DROP TRIGGER refuse`}
	}
	for _, statement := range statements {
		if _, err := storetest.Exec(w.t.Context(), w.db, statement); err != nil {
			w.t.Fatal(err)
		}
	}
}
