package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

type noSecrets struct{}

func (noSecrets) HookSecret(context.Context, models.OrgID) ([]byte, error) {
	return []byte("secret"), nil
}

type plainTokens struct{}

func (plainTokens) WaitToken(_ context.Context, _ models.OrgID, w models.WaitID) (string, error) {
	return "token of " + w.String(), nil
}

// harnessWith makes a harness that has more capabilities.
func (w *world) harnessWith(name string, refs ...models.CapabilityRef) models.HarnessID {
	w.t.Helper()
	h, err := w.catalog.CreateHarness(w.t.Context(), w.by, catalog.NewHarness{
		Name: notInNames.ReplaceAllString(name, "-"), DisplayName: &name, DefaultModelID: &w.script, Capabilities: append([]models.CapabilityRef{{ID: "probe"}}, refs...),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return h.ID
}

func ref(id, config string) models.CapabilityRef {
	return models.CapabilityRef{ID: id, Config: models.JSON(config)}
}

// resolution is a command that resolves a wait as those do who are asked.
type resolution struct {
	org     models.OrgID
	session models.SessionID
	wait    models.WaitID
	apply   func(tx *commit.Tx, w models.Wait) error
}

func (c *resolution) Needs() commit.Needs {
	return turns.Needs(commit.Needs{Org: c.org, Session: c.session, Bytes: 1024}, c.wait)
}

func (c *resolution) Apply(tx *commit.Tx) error {
	w, ok := tx.Wait(c.wait)
	if !ok {
		return errors.New("there is no such wait")
	}
	return c.apply(tx, w)
}

func (n *node) change(w models.Wait, apply func(tx *commit.Tx, w models.Wait) error) error {
	return n.committer.Submit(context.Background(), &resolution{w.OrgID, w.SessionID, w.ID, apply})
}

func (n *node) answer(w models.Wait, value string) {
	n.w.t.Helper()
	err := n.change(w, func(tx *commit.Tx, w models.Wait) error {
		return turns.Resolve(tx, w, models.WaitOK, models.WaitResolution{Value: models.JSON(value)})
	})
	if err != nil {
		n.w.t.Fatal(err)
	}
}

func (n *node) decide(w models.Wait, approve bool, arguments string) error {
	by := models.User{ID: models.NewID[models.UserEntity]()}
	by.EmailKey = by.ID.String()
	member := models.Membership{OrgID: w.OrgID, ID: models.NewID[models.MembershipEntity](), UserID: by.ID, Role: models.RoleMember, CreatedAt: 1}
	err := n.w.db.WriteAcross(n.w.t.Context(), func(tx *gorm.DB) error { return errors.Join(tx.Create(&by).Error, tx.Create(&member).Error) })
	if err != nil {
		return err
	}
	return n.change(w, func(tx *commit.Tx, w models.Wait) error {
		return turns.Decide(tx, w, models.ApprovalDecision{
			ActorID: models.ActorID(by.ID), ActorKind: models.ActorUser, Approve: approve, Arguments: models.JSON(arguments),
		})
	})
}

// parked waits until the session's turn is parked, and returns what it waits for, by the tags of the calls or their order.
func (w *world) parked(s models.SessionID) []models.Wait {
	w.t.Helper()
	w.until("the turn is parked", func() bool { return w.session(s).Status == models.SessionWaiting })
	t := w.turn(*w.session(s).CurrentTurnID)
	if t.Status != models.TurnWaiting || t.RunnerID != nil || t.ReadyAt != nil {
		w.t.Fatalf("the parked turn is %+v", t)
	}
	if err := events.CheckPrefix(w.events(s)); err != nil {
		w.t.Fatal(err)
	}
	var list []models.Wait
	if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Where("turn_id = ? AND state = ?", t.ID, models.WaitOpen).Order("id").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

// idleSlots waits until an engine has nothing to do: a parked turn holds no slot.
func (n *node) idleSlots() bool {
	n.engine.mu.Lock()
	defer n.engine.mu.Unlock()
	return len(n.engine.running) == 0
}

// Client-side tools: server tools of the same response run first, then TOOL_CALLS_REQUESTED, turn WAITING.
//
// Rules: L7, E3, P17, W6.
func TestClientTools(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		turn := n.send(s, script(t, says(callTool("theirs", "a"), callTool("once", "ours"), callTool("theirs", "b")), says(text("done"))))
		waits := w.parked(s)
		if len(waits) != 2 || w.probe.ran("ours") != 1 {
			t.Fatalf("it waits for %d results, the server's tool ran %d times", len(waits), w.probe.ran("ours"))
		}
		w.until("the slot is free", func() bool {
			w.news.spread()
			return n.idleSlots()
		})
		log := w.events(s)
		if r := the[events.ToolCallsRequested](t, log); len(r.ToolCalls) != 2 || r.ToolCalls[0].WaitID != waits[0].ID {
			t.Errorf("requested are %+v", r)
		}
		before := slices.IndexFunc(log, func(e models.Event) bool { return e.Kind == models.EventToolCompleted })
		after := slices.IndexFunc(log, func(e models.Event) bool { return e.Kind == models.EventToolCallsRequested })
		if before > after {
			t.Error("the client was asked before the server's tools had run")
		}
		n.answer(waits[1], `{"from":"b"}`)
		if got := w.turn(turn).Status; got != models.TurnWaiting {
			t.Errorf("with one result of two the turn is %s", got)
		}
		n.answer(waits[0], `{"from":"a"}`)
		log = w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnCompleted || row.ToolCalls != 3 {
			t.Errorf("the turn is %+v", row)
		}
		if count(log, models.EventTurnWaiting) != 1 || count(log, models.EventTurnResumed) != 1 || count(log, models.EventActCompleted) != 1 {
			t.Errorf("the log is\n%s", kinds(log))
		}
		// The prompt lists results in the model's order, whatever the order in which they came.
		asked := n.puppet.requests()[1].Messages
		var results []string
		for _, m := range asked[len(asked)-3:] {
			results = append(results, string(m.Parts[0].Result))
		}
		if !slices.Equal(results, []string{`{"from":"a"}`, `{"tag":"ours"}`, `{"from":"b"}`}) {
			t.Errorf("the model was shown %v", results)
		}
	})
}

// Waiting: a parked turn survives every process, and goes on where one lives.
//
// Rules: W4.
func TestAParkedTurnSurvivesEveryProcess(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		first := w.start()
		s := w.newSessionOn(first, w.harnessWith("asking", ref("approvals", `{"default":"always"}`)))
		turn := first.send(s, script(t, says(callTool("once", "x")), says(text("done"))))
		waits := w.parked(s)
		if err := first.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := first.decide(waits[0], true, ""); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnCompleted || row.Recoveries != 0 || w.probe.ran("x") != 1 {
			t.Errorf("the turn is %+v, the tool ran %d times", row, w.probe.ran("x"))
		}
	})
}

// Approvals: approve, deny, edit the arguments; one denial denies, a quorum approves, and only for the same arguments.
//
// Rules: P12, W10, W11.
func TestApprovals(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		h := w.harnessWith("asking", ref("approvals", `{"rules":[{"tools":["once"],"approve":"always","quorum":2}]}`))
		for _, c := range []struct {
			name   string
			decide func(wait models.Wait) error
			ran    map[string]int
			failed string
		}{
			{"approved", func(wait models.Wait) error {
				return errors.Join(n.decide(wait, true, ""), n.decide(wait, true, ""))
			}, map[string]int{"asked": 1}, ""},
			{"denied by the second", func(wait models.Wait) error {
				return errors.Join(n.decide(wait, true, ""), n.decide(wait, false, ""))
			}, map[string]int{"asked": 0}, "denied:"},
			{"edited", func(wait models.Wait) error {
				return errors.Join(n.decide(wait, true, ""), n.decide(wait, true, `{"tag":"edited"}`), n.decide(wait, true, `{"tag":"edited"}`))
			}, map[string]int{"asked": 0, "edited": 1}, ""},
		} {
			w.probe.reset()
			s := w.newSessionOn(n, h)
			turn := n.send(s, script(t, says(callTool("once", "asked"), callTool("again", "free")), says(text("done"))))
			waits := w.parked(s)
			if len(waits) != 1 || w.probe.ran("free") != 1 || w.probe.ran("asked") != 0 {
				t.Fatalf("%s: it waits for %d decisions, ran %d and %d", c.name, len(waits), w.probe.ran("free"), w.probe.ran("asked"))
			}
			if err := c.decide(waits[0]); err != nil {
				t.Fatal(err)
			}
			log := w.idle(s)
			toldAsRun(t, log)
			if w.turn(turn).Status != models.TurnCompleted {
				t.Errorf("%s: the turn is %+v", c.name, w.turn(turn))
			}
			for tag, want := range c.ran {
				if got := w.probe.ran(tag); got != want {
					t.Errorf("%s: %s ran %d times", c.name, tag, got)
				}
			}
			for _, done := range payloads[events.ToolCompleted](t, log) {
				if done.ToolName == "once" && (done.Success == (c.failed != "") || !strings.HasPrefix(done.Error, c.failed)) {
					t.Errorf("%s: the call ended as %+v", c.name, done)
				}
			}
			if err := n.decide(waits[0], true, ""); !errors.Is(err, turns.ErrResolved) {
				t.Errorf("%s: a late decision is answered with %v", c.name, err)
			}
		}
	})
}

// toldAsRun checks that what people read about the calls of the probe's tools is about the arguments that they ran with.
func toldAsRun(t *testing.T, log []models.Event) {
	t.Helper()
	want := map[string]string{}
	for _, began := range payloads[events.ToolStarted](t, log) {
		var a probeArgs
		if err := json.Unmarshal(began.Arguments, &a); err != nil {
			t.Fatal(err)
		}
		if began.Narration != "does "+a.Tag && began.Narration != "" { // a call that is refused before it begins has none
			t.Errorf("people read %q about the call of %s with %s", began.Narration, began.ToolName, began.Arguments)
		}
		want[began.ToolCallID] = "did " + a.Tag
	}
	for _, done := range payloads[events.ToolCompleted](t, log) {
		if !done.Success { // people read why, and not that it was done
			want[done.ToolCallID] = tools.FailureLine(done.Error)
		}
		if done.Narration != want[done.ToolCallID] {
			t.Errorf("people read %q about the end of a call, not %q", done.Narration, want[done.ToolCallID])
		}
	}
}

// Approvals while other calls run: what is approved begins at once.
func TestAnApprovalWhileOthersRun(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSessionOn(n, w.harnessWith("asking", ref("approvals", `{"rules":[{"tools":["once"],"approve":"always"}]}`)))
		g := w.probe.add()
		w.probe.on("slow", func(ctx context.Context, _ *tools.Call) tools.Result {
			g.pass(ctx)
			return tools.Success(map[string]string{})
		})
		approved := make(chan struct{})
		w.probe.on("asked", func(context.Context, *tools.Call) tools.Result {
			close(approved)
			return tools.Success(map[string]string{})
		})
		n.send(s, script(t, says(callTool("again", "slow"), callTool("once", "asked")), says(text("done"))))
		<-g.arrived
		var wait models.Wait
		if err := store.Of(w.db.ReadAcross(t.Context()), w.org).Where("session_id = ?", s).Take(&wait).Error; err != nil {
			t.Fatal(err)
		}
		if err := n.decide(wait, true, ""); err != nil {
			t.Fatal(err)
		}
		<-approved
		g.open()
		log := w.idle(s)
		if count(log, models.EventTurnWaiting) != 0 || count(log, models.EventTurnCompleted) != 1 {
			t.Errorf("the log is\n%s", kinds(log))
		}
	})
}

// Waiting: a deadline ends a wait, also when it fails the turn.
//
// Rules: Q17, W3.
func TestDeadlines(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		for _, c := range []struct {
			config string
			status models.TurnStatus
		}{
			{`{"default":"always","expiresInSeconds":60}`, models.TurnCompleted},
			{`{"default":"always","expiresInSeconds":60,"onExpiry":"fail"}`, models.TurnFailed},
		} {
			s := w.newSessionOn(n, w.harnessWith("expiring"+strings.ToLower(string(c.status)), ref("approvals", c.config)))
			turn := n.send(s, script(t, says(callTool("once", "x")), says(text("done"))))
			wait := w.parked(s)[0]
			expire := func() {
				t.Helper()
				if err := n.change(wait, turns.Expire); err != nil {
					t.Fatal(err)
				}
			}
			expire()
			if got := w.turn(turn).Status; got != models.TurnWaiting {
				t.Fatalf("before its time the turn is %s", got)
			}
			w.clock.Advance(time.Minute)
			expire()
			expire()
			log := w.idle(s)
			row := w.turn(turn)
			if row.Status != c.status || w.probe.ran("x") != 0 || the[events.ApprovalDecided](t, log).Outcome != "EXPIRED" {
				t.Errorf("the turn is %+v", row)
			}
			if c.status == models.TurnFailed && row.Error.Code != "wait_timeout" {
				t.Errorf("it failed as %+v", row.Error)
			}
		}
	})
}

// Delivery: a message to a turn that waits for its client or an answer goes on with it; for an approval it stays in the inbox.
//
// Rules: D3, D4.
func TestAMessageToAWaitingTurn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSessionOn(n, w.harnessWith("waiting", ref("ask_user", "{}"), ref("approvals", `{"rules":[{"tools":["once"],"approve":"always"}]}`)))
		turn := n.send(s, script(t,
			says(callWith("ask_user", part{"question": "Which?"}), callTool("theirs", "x")), says(callTool("once", "y")), says(text("done"))))
		w.parked(s)
		if carried := n.send(s, "never mind"); carried != turn {
			t.Errorf("the message is carried by %s", carried)
		}
		w.until("the approval is asked for", func() bool { return count(w.events(s), models.EventApprovalRequested) == 1 })
		wait := w.parked(s)[0]
		if carried := n.send(s, "hurry"); carried != turn {
			t.Errorf("the message is carried by %s", carried)
		}
		if got := w.turn(turn).Status; got != models.TurnWaiting {
			t.Errorf("a message woke a turn that waits for an approval: it is %s", got)
		}
		if err := n.decide(wait, true, ""); err != nil {
			t.Fatal(err)
		}
		log := w.idle(s)
		interrupted := 0
		for _, done := range payloads[events.ToolCompleted](t, log) {
			if strings.HasPrefix(done.Error, "interrupted:") {
				interrupted++
			}
		}
		if interrupted != 2 || w.turn(turn).Status != models.TurnCompleted || w.probe.ran("y") != 1 {
			t.Errorf("%d calls were interrupted, the turn is %+v", interrupted, w.turn(turn))
		}
	})
}

// Cancelling a parked turn ends it, and what it waits for, at once; the loser is told.
//
// Rules: W1, C2.
func TestACancelOfAParkedTurn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		turn := n.send(s, script(t, says(callTool("theirs", "a")), says(text("done"))))
		wait := w.parked(s)[0]
		n.deliver(message(s, "next", turns.Queue))
		if got := n.cancel(turn, "no more").Status; got != models.TurnCancelled {
			t.Errorf("the turn is %s", got)
		}
		err := n.change(wait, func(tx *commit.Tx, w models.Wait) error {
			return turns.Resolve(tx, w, models.WaitOK, models.WaitResolution{})
		})
		if !errors.Is(err, turns.ErrResolved) {
			t.Errorf("who came late was told %v", err)
		}
		w.cancelled(turn, w.idle(s))
	})
}

// Completion keys: a tool returns pending, and an outside system resolves it; asking twice gives the same key.
//
// Rules: W2.
func TestCompletionKeys(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		pending := func(ctx context.Context, c *tools.Call) tools.Result {
			one, err := c.DurableCompletionKey(ctx)
			two, again := c.DurableCompletionKey(ctx)
			if one != two || one == "" || errors.Join(err, again) != nil {
				t.Errorf("the keys are %q and %q, %v", one, two, errors.Join(err, again))
			}
			return tools.Result{Pending: &tools.Pending{Deadline: c.Now().Add(time.Hour)}}
		}
		w.probe.on("later", pending)
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("once", "later")), says(text("done"))))
		wait := w.parked(s)[0]
		if wait.Kind != models.WaitCompletion || wait.Deadline == nil {
			t.Errorf("it waits for %+v", wait)
		}
		n.answer(wait, `{"came":true}`)
		log := w.idle(s)
		if done := the[events.ToolCompleted](t, log); string(done.Result) != `{"came":true}` || w.probe.ran("later") != 1 {
			t.Errorf("the call ended as %+v after %d runs", done, w.probe.ran("later"))
		}

		// Resolving before anyone waits is stored.
		w.probe.on("early", func(ctx context.Context, c *tools.Call) tools.Result {
			r := pending(ctx, c)
			var wait models.Wait
			if err := store.Of(w.db.ReadAcross(ctx), w.org).Where("session_id = ? AND state = ?", c.SessionID, models.WaitOpen).Take(&wait).Error; err != nil {
				t.Error(err)
			}
			n.answer(wait, `"early"`)
			return r
		})
		s = w.newSession(n)
		n.send(s, script(t, says(callTool("once", "early")), says(text("done"))))
		log = w.idle(s)
		if done := the[events.ToolCompleted](t, log); string(done.Result) != `"early"` || count(log, models.EventTurnWaiting) != 0 {
			t.Errorf("the call ended as %+v", done)
		}
	})
}

// Named waits and durable steps: the tool runs again when what it awaits has come, and its finished steps don't.
//
// Rules: J9.
func TestStepsAndNamedWaits(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		steps := 0
		w.probe.on("steps", func(ctx context.Context, c *tools.Call) tools.Result {
			got, err := c.DurableStep(ctx, "one", map[string]int{"b": 2, "a": 1}, func(context.Context) (any, error) {
				steps++
				return map[string]int{"n": steps}, nil
			})
			if err != nil || string(got) != `{"n":1}` {
				t.Errorf("the step gives %s, %v", got, err)
			}
			if _, err := c.DurableStep(ctx, "one", 1, nil); !hasCode(err, tools.CodeDuplicateStepID) {
				t.Errorf("a second step of the id gives %v", err)
			}
			key, err := c.DurableEventKey(ctx, "go")
			if again, _ := c.DurableEventKey(ctx, "go"); again != key || err != nil {
				t.Errorf("the keys are %q and %q, %v", key, again, err)
			}
			value, err := c.DurableAwait(ctx, key)
			if err != nil {
				return tools.Result{Internal: err}
			}
			return tools.Result{JSON: value}
		})
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("again", "steps")), says(text("done"))))
		wait := w.parked(s)[0]
		if wait.Kind != models.WaitCustom {
			t.Errorf("it waits for %+v", wait)
		}
		n.answer(wait, `{"gone":"on"}`)
		log := w.idle(s)
		if done := the[events.ToolCompleted](t, log); string(done.Result) != `{"gone":"on"}` || steps != 1 || w.probe.ran("steps") != 2 {
			t.Errorf("the call ended as %+v; %d steps in %d runs", done, steps, w.probe.ran("steps"))
		}
		if count(log, models.EventToolStarted) != 1 {
			t.Error("a call that goes on was said to begin again")
		}
	})
}

// Durable steps: a step that failed runs again on a later attempt.
//
// Rules: J1, J7, J8, J9.
func TestStepsAcrossAttempts(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		first, second := 0, 0
		w.probe.on("tries", func(ctx context.Context, c *tools.Call) tools.Result {
			if c.IdempotencyKey != c.SessionID.String()+":"+c.CallID+":retried" {
				t.Errorf("the idempotency key is %s", c.IdempotencyKey)
			}
			_, err := c.DurableStep(ctx, "sure", "x", func(context.Context) (any, error) {
				first++
				return nil, nil
			})
			if err != nil {
				t.Error(err)
			}
			_, err = c.DurableStep(ctx, "fails", "x", func(context.Context) (any, error) {
				if second++; second < 3 {
					return nil, &tools.EffectError{Code: "flaky", Message: "not now"}
				}
				return nil, nil
			})
			if err != nil {
				if !hasCode(err, "flaky") {
					t.Errorf("the step fails with %v", err)
				}
				return tools.Result{ToolError: "not now", Retryable: true}
			}
			return tools.Success(c.Attempt)
		})
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("retried", "tries")), says(text("done"))))
		log := w.idle(s)
		if done := the[events.ToolCompleted](t, log); string(done.Result) != "3" || first != 1 || second != 3 {
			t.Errorf("the call ended as %+v; the steps ran %d and %d times", done, first, second)
		}
	})
}

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*tools.EffectError](err)
	return ok && e.Code == code
}

// Hooks: they rewrite and block prompts and calls, see results, and leave HOOK_RAN; gates decide about what they made of a call.
//
// Rules: S3, P6, P12, H1, H10, H11, H14.
func TestHooksOfATurn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		asked := make(chan string, 100)
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			var body struct {
				Event string         `json:"event"`
				Data  map[string]any `json:"data"`
			}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			asked <- body.Event
			answer := `{"decision":"allow"}`
			if arguments, ok := body.Data["arguments"].(map[string]any); ok && body.Event == "pre_tool_use" && arguments["tag"] == "bad" {
				answer = `{"decision":"block","reason":"it is bad"}`
			}
			_, _ = out.Write([]byte(answer))
		}))
		t.Cleanup(server.Close)
		config := `{"hooks":[
{"event":"session_start","webhook":{"url":"` + server.URL + `"}},
{"event":"user_prompt_submit","cel":{"expression":"message == 'forbidden' ? dyn({'decision':'block','reason':'no','userMessage':'Not that.'}) : dyn(true)"}},
{"event":"pre_tool_use","webhook":{"url":"` + server.URL + `"}},
{"event":"pre_tool_use","cel":{"expression":"arguments.tag == 'plain' ? dyn({'decision':'mutate','patch':{'arguments':{'tag':'changed'}}}) : dyn(true)"}},
{"event":"post_tool_use","cel":{"expression":"{'decision':'mutate','patch':{'additionalContext':'seen'}}"}},
{"event":"turn_end","webhook":{"url":"` + server.URL + `"}}]}`
		n := w.start()
		h := w.harnessWith("hooked", ref("user_hooks", config), ref("approvals", `{"rules":[{"tools":["again"],"approve":"always"}]}`))
		s := w.newSessionOn(n, h)
		turn := n.send(s, script(t, says(callTool("once", "plain"), callTool("once", "bad"), callTool("again", "asked")), says(text("done"))))
		wait := w.parked(s)[0]
		if err := n.decide(wait, true, ""); err != nil {
			t.Fatal(err)
		}
		toldAsRun(t, w.idle(s))
		if w.probe.ran("changed") != 1 || w.probe.ran("plain") != 0 || w.probe.ran("bad") != 0 || w.probe.ran("asked") != 1 || w.turn(turn).Status != models.TurnCompleted {
			t.Errorf("ran %d, %d, %d, %d; the turn is %+v", w.probe.ran("changed"), w.probe.ran("plain"), w.probe.ran("bad"), w.probe.ran("asked"), w.turn(turn))
		}
		var results []events.ToolCompleted
		for _, done := range payloads[events.ToolCompleted](t, w.events(s)) {
			results = append(results, done)
			if done.Success && !strings.Contains(string(done.Result), `"hook_context":["seen"]`) {
				t.Errorf("the result is %s", done.Result)
			}
			if !done.Success && !strings.HasPrefix(done.Error, "blocked_by_hook:") {
				t.Errorf("the call failed with %s", done.Error)
			}
		}
		if len(results) != 3 {
			t.Errorf("there are %d results", len(results))
		}
		ended := func() {
			w.until("the hooks of the end have run", func() bool {
				w.news.spread()
				return w.session(s).CurrentTurnID == nil && rowsOf[models.HookJob](w, s) == 0
			})
		}
		ended()
		seen := map[string]int{}
		for len(asked) > 0 {
			seen[<-asked]++
		}
		if seen["session_start"] != 1 || seen["turn_end"] != 1 || seen["pre_tool_use"] != 3 {
			t.Errorf("the webhook was asked %v", seen)
		}
		log := w.events(s)
		if got := count(log, models.EventHookRan); got != 1+1+6-1+2+1 {
			t.Errorf("HOOK_RAN came %d times\n%s", got, kinds(log))
		}
		if err := events.CheckLog(log); err != nil {
			t.Error(err)
		}

		blocked := n.send(s, "forbidden")
		ended()
		log = w.idle(s)
		row := w.turn(blocked)
		if row.Status != models.TurnFailed || *row.StopReason != models.StopBlocked || row.Error.Code != "blocked_by_hook" || row.ModelCalls != 0 {
			t.Errorf("the blocked turn is %+v", row)
		}
		out := payloads[events.OutputCompleted](t, log)
		if last := out[len(out)-1].Message; last.Content[0].Text != "Not that." {
			t.Errorf("the user was told %+v", last)
		}
	})
}

// Hooks see what comes from outside before the model does, as they see what tools bring: a policy that takes secrets out of results must
// not be passed by with a client tool, a question or a callback.
func TestHooksSeeWhatComesFromOutside(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		config := `{"hooks":[{"event":"post_tool_use","cel":{"expression":"{'decision':'mutate','patch':{'result':'withheld'}}"}}]}`
		n := w.start()
		s := w.newSessionOn(n, w.harnessWith("hooked", ref("user_hooks", config), ref("ask_user", "{}")))
		w.probe.on("calls back", func(ctx context.Context, c *tools.Call) tools.Result {
			if _, err := c.DurableCompletionKey(ctx); err != nil {
				t.Error(err)
			}
			return tools.Result{Pending: &tools.Pending{}}
		})
		turn := n.send(s, script(t,
			says(callTool("theirs", "x"), callWith("ask_user", part{"question": "Which key?"}), callTool("once", "calls back")), says(text("done"))))
		for range 3 {
			n.answer(w.parked(s)[0], `"a secret"`)
		}
		log := w.idle(s)
		results := payloads[events.ToolCompleted](t, log)
		if len(results) != 3 || w.turn(turn).Status != models.TurnCompleted {
			t.Fatalf("there are %d results; the turn is %+v", len(results), w.turn(turn))
		}
		for _, done := range results {
			if !done.Success || string(done.Result) != `"withheld"` {
				t.Errorf("%s brought %s %s", done.ToolName, done.Result, done.Error)
			}
		}
		for _, e := range log {
			if strings.Contains(string(e.Data), "a secret") {
				t.Errorf("%s tells %s", e.Kind, e.Data)
			}
		}
		if got := count(log, models.EventHookRan); got != 3 {
			t.Errorf("hooks ran %d times", got)
		}
		if err := events.CheckLog(log); err != nil {
			t.Error(err)
		}
	})
}

// Waiting: what a tool announced and did not wait for ends with its call.
func TestAWaitThatNobodyNeedsEndsWithItsCall(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		w.probe.on("changes its mind", func(ctx context.Context, c *tools.Call) tools.Result {
			if _, err := c.DurableCompletionKey(ctx); err != nil {
				t.Error(err)
			}
			return tools.Success("at once")
		})
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("once", "changes its mind")), says(text("done"))))
		w.idle(s)
		var wait models.Wait
		if err := store.Of(w.db.ReadAcross(t.Context()), w.org).Where("session_id = ?", s).Take(&wait).Error; err != nil {
			t.Fatal(err)
		}
		if wait.State != models.WaitCancelled {
			t.Errorf("the wait is %s", wait.State)
		}
	})
}

// Durable steps: the reply to the commit of a step gets lost, and the step is done once all the same.
func TestTheReplyToAStepIsLost(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		steps := 0
		w.probe.on("steps", func(ctx context.Context, c *tools.Call) tools.Result {
			var lost atomic.Bool
			n.faults.on(func(point string) error {
				if point == "committed" && !lost.Swap(true) {
					return errFault
				}
				return nil
			})
			value, err := c.DurableStep(ctx, "one", "x", func(context.Context) (any, error) {
				steps++
				return steps, nil
			})
			n.faults.on(func(string) error { return nil })
			if err != nil || string(value) != "1" || !lost.Load() {
				t.Errorf("the step gives %s, %v", value, err)
			}
			return tools.Success("done")
		})
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("once", "steps")), says(text("done"))))
		log := w.idle(s)
		if done := the[events.ToolCompleted](t, log); !done.Success || steps != 1 {
			t.Errorf("the call ended as %+v after %d steps", done, steps)
		}
	})
}
