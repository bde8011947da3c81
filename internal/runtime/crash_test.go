package runtime

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/sampletest"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Rules: L1, L2, L5, L8, P13, Q4, J1, J6, J11, J13.
func TestCrashes(t *testing.T) {
	all := crashes()
	eachWorld(t, func(t *testing.T, w *world) {
		rows := sampletest.Half(t, "crashes", w.db.Dialect == store.SQLite, all)
		done := 0
		var budgets []models.BudgetID
		for _, row := range rows {
			if row.budgeted && budgets == nil {
				// More than all rows take together. Those without budgets come first.
				budgets = []models.BudgetID{
					w.budget("usd", 1_000_000_000_000_000), w.budget("tokens", 1_000_000_000_000), w.budget("tool_calls", 1_000_000),
				}
			}
			t.Run(row.name, func(t *testing.T) {
				w.probe.reset()
				(&crashRun{world: w.within(t), crash: row}).run()
				done++
			})
		}
		if done != len(rows) {
			t.Errorf("%d rows of %d were run to their end", done, len(rows))
		}
		for _, id := range budgets {
			if b := w.budgetRow(id); b.Spent == 0 || b.Reserved != 0 {
				t.Errorf("of %s %d were taken, and %d are held at the end", b.Currency, b.Spent, b.Reserved)
			}
		}
	})
}

// crashRun is one row at work.
type crashRun struct {
	*world
	crash
	first *node
	gate  *gate
	fired atomic.Bool
	// frozen are others that were killed.
	frozen  []*node
	session models.SessionID
	message sessions.NewMessage
}

func (c *crashRun) run() {
	c.first = c.newNode()
	c.session = c.newSessionOn(c.first, c.harnessOf(c.policy))
	if err := c.first.engine.Start(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	key := "key"
	key += c.session.String()
	c.message = sessions.NewMessage{
		SessionID: c.session, Delivery: turns.Steer, IdempotencyKey: &key,
		Content: []sessions.NewPart{sessions.Text(script(c.t, says(text("one "+strings.Repeat("x", 2*ask.CheckpointBytes)), callTool("ordered", "first"), callTool("ordered_again", "second")), says(text("two"))))},
	}
	c.gate = c.first.faults.add()
	c.arm()
	sender := c.first
	if c.stage == stageBegin || c.stage == stageHold {
		sender = c.newNode() // runs nothing
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		// One that is killed answers nobody; the error is checked by what the second attempt finds.
		_, _, _ = sender.sessions.Send(context.Background(), c.by, c.message)
	}()
	last := c.first
	switch c.mishap {
	case kill:
		c.wait()
		c.first.die()
		if c.again != "" {
			c.killAgain()
		}
		// A claim that was under way when the process died may be committed after the takeover. Whoever lives finds that, too.
		last = c.start(func(cfg *Config) { cfg.Heartbeat = 20 * time.Millisecond })
	case stall:
		c.wait()
		c.gate.open()
		<-sent
	case failure:
		<-sent
	case shutdown:
		c.wait()
		stopped := make(chan error)
		go func() { stopped <- c.first.engine.Stop(context.Background()) }()
		c.eventually("the engine stops", c.first.engine.stopping)
		c.gate.open()
		if err := <-stopped; err != nil {
			c.t.Fatal(err)
		}
		last = c.start()
	}
	// The caller has no answer, or lost it, and asks again.
	turn := last.deliver(c.message)
	log := c.idle(c.session)
	if !c.fired.Load() {
		c.t.Fatal("nothing was injected")
	}
	c.check(turn, log)
	if c.mishap != kill {
		return
	}
	// It was only frozen. What it has still to say is refused.
	c.gate.open()
	<-sent
	c.first.stop()
	for _, n := range c.frozen {
		n.stop()
	}
	if after := c.idle(c.session); len(after) != len(log) {
		c.t.Fatalf("a runner that was taken over has written:\n%s", kinds(after[len(log):]))
	}
	c.counted(turn, log)
	c.metered(turn, log)
	// It may have begun a call before it found out; but nobody has run one twice that must run once.
	if n := c.probe.ran("first"); n > 1 {
		c.t.Fatalf("the tool that must run at most once ran %d times", n)
	}
}

// killAgain has a second runner take over, and die of it.
func (c *crashRun) killAgain() {
	c.t.Helper()
	n := c.newNode()
	g := n.faults.add()
	var once, frozen atomic.Bool
	if c.again == askedAnew {
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			emit(llm.Delta{Text: "again"})
			g.hold()
			return n.puppet.sim.Stream(ctx, req, emit)
		})
	} else {
		point := c.again
		if point == takenOver {
			point = "committed"
		}
		n.faults.on(func(at string) error {
			if frozen.Load() {
				g.hold()
			}
			if at != point || once.Swap(true) {
				return nil
			}
			if at == "loaded" || at == "written" {
				frozen.Store(true)
				return errFault
			}
			g.hold()
			return nil
		})
	}
	if err := n.engine.Start(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.await(g)
	n.die()
	// It comes back with the first one.
	c.frozen = append(c.frozen, n)
}

func (c *crashRun) wait() {
	c.t.Helper()
	c.await(c.gate)
}

func (c *crashRun) await(g *gate) {
	c.t.Helper()
	select {
	case <-g.arrived:
	case <-time.After(patience):
		c.t.Fatal("the point was never reached")
	}
}

// arm makes it happen at its point, once.
func (c *crashRun) arm() {
	switch c.stage {
	case stageModel1, stageModel2:
		c.armModel()
	case stageTool1:
		c.probe.on("first", c.tool)
	case stageTool2:
		c.probe.on("second", c.tool)
	default:
		c.armCommit()
	}
}

func (c *crashRun) armCommit() {
	base := c.first.commits.Load()
	frozen := false
	c.first.faults.on(func(point string) error {
		if frozen {
			c.gate.hold()
		}
		step := c.first.commits.Load() - base
		if point == "committed" {
			step--
		}
		if step != int64(c.commit) || point != c.point || c.fired.Swap(true) {
			return nil
		}
		switch {
		case c.mishap == failure:
			return errFault
		case c.mishap == kill && (point == "loaded" || point == "written"):
			// With the process its transaction is gone.
			frozen = true
			return errFault
		}
		c.gate.hold()
		return nil
	})
}

// armModel plays the model up to a point of the answer. Each node has its own model, so that only the first one is hit.
func (c *crashRun) armModel() {
	calls := 0
	c.first.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		calls++
		if (calls == 1) != (c.stage == stageModel1) {
			return c.first.puppet.sim.Stream(ctx, req, emit)
		}
		if c.point == "asked" {
			if err := c.hit(); err != nil {
				return llm.Response{}, err
			}
		}
		emit(llm.Delta{Text: "on"})
		if c.point == "streaming" {
			if err := c.hit(); err != nil {
				return llm.Response{}, err
			}
		}
		if c.point == "checkpointed" {
			emit(llm.Delta{Text: strings.Repeat("x", 2*ask.CheckpointBytes)})
			c.untilCheckpoint()
			if err := c.hit(); err != nil {
				return llm.Response{}, err
			}
		}
		resp, err := c.first.puppet.sim.Stream(ctx, req, func(llm.Delta) {})
		if c.point == "answered" {
			if e := c.hit(); e != nil {
				return resp, e
			}
		}
		return resp, err
	})
}

func (c *crashRun) hit() error {
	c.fired.Store(true)
	if c.mishap == failure {
		return &llm.Error{Code: llm.CodeUnavailable, Status: 503, Message: "injected"}
	}
	c.gate.hold()
	return nil
}

func (c *crashRun) untilCheckpoint() {
	c.eventually("there is a checkpoint", func() bool {
		var n int64
		err := store.Of(c.db.ReadAcross(context.Background()), c.org).Model(&models.Checkpoint{}).Where("session_id = ?", c.session).Count(&n).Error
		return err != nil || n > 0
	})
}

// tool is the tool of the stage. It is hit when it runs for the first time.
func (c *crashRun) tool(_ context.Context, _ *tools.Call) tools.Result {
	if c.fired.Swap(true) {
		return tools.Success(map[string]string{})
	}
	switch {
	case c.mishap != failure:
		c.gate.hold()
	case c.point == "called":
		return tools.Fail("injected: it failed")
	default:
		panic(errFault)
	}
	return tools.Success(map[string]string{})
}

// check compares what came of the row with what must.
func (c *crashRun) check(id models.TurnID, log []models.Event) {
	c.t.Helper()
	want := c.outcome()
	turn := c.turn(id)
	reasons, outputs := 2, 2
	if (want.failed || want.finalized) && c.stage == stageModel1 {
		reasons, outputs = 1, 1
	}
	acts := reasons - 1
	if !want.failed {
		c.counted(id, log)
	}
	c.kept(want, log)
	counts := map[models.EventKind]int{
		models.EventMessageReceived: 1, models.EventTurnStarted: 1, models.EventSessionActivated: 1, models.EventSessionIdled: 1,
		models.EventReasonStarted: reasons, models.EventReasonCompleted: reasons, models.EventOutputStarted: outputs, models.EventOutputCompleted: outputs,
		models.EventActStarted: acts, models.EventActCompleted: acts, models.EventToolStarted: 2 * acts, models.EventToolCompleted: 2 * acts,
		models.EventReasonRecovered: want.recovered, models.EventTurnFailed: 0, models.EventTurnCompleted: 1, models.EventTurnSealed: 0,
	}
	if want.failed {
		counts[models.EventTurnFailed], counts[models.EventTurnCompleted] = 1, 0
	}
	for kind, n := range counts {
		if got := count(log, kind); got != n {
			c.t.Errorf("there are %d %s, want %d", got, kind, n)
		}
	}
	status := models.TurnCompleted
	if want.failed {
		status = models.TurnFailed
		if turn.Error == nil || turn.Error.Code != "provider_unavailable" {
			c.t.Errorf("the turn's error is %+v", turn.Error)
		}
	}
	if turn.Status != status {
		c.t.Errorf("the turn is %s, want %s", turn.Status, status)
	}
	if c.mishap == shutdown && (turn.Recoveries != 0 || turn.Takeovers != 0) {
		c.t.Errorf("going down in good order counts as %d recoveries, %d takeovers", turn.Recoveries, turn.Takeovers)
	}
	for i, done := range payloads[events.ToolCompleted](c.t, log) {
		failed := (i == 0 && want.interrupted) || slices.Contains(want.toolFailed, i)
		if done.Success == failed || (i == 0 && want.interrupted) != strings.HasPrefix(done.Error, "interrupted:") {
			c.t.Errorf("tool %d ended as %+v", i+1, done)
		}
	}
	c.ran(want)
	c.metered(id, log)
	if c.t.Failed() {
		c.t.Logf("the log is\n%s", kinds(log))
	}
}

// counted checks that every call of a model was counted once, the lost ones included.
func (c *crashRun) counted(id models.TurnID, log []models.Event) {
	c.t.Helper()
	turn := c.turn(id)
	recovered, recorded := count(log, models.EventReasonRecovered), payloads[events.GenerationRecorded](c.t, log)
	var sum models.Usage
	lost := 0
	for i, g := range recorded {
		sum = sum.Add(g.Usage)
		if g.FinishReason != turns.FinishInterrupted {
			continue
		}
		lost++
		if !g.Estimated || g.Usage.InputTokens == 0 || g.Usage.CostNanos == 0 || g.ModelID != c.script || g.Model != "sim-script" || g.PromptThrough == 0 {
			c.t.Errorf("a lost call is recorded as %+v", g)
		}
		// Whoever makes it again shows the model the same.
		if next := i + 1; next < len(recorded) && recorded[next].MessageID == g.MessageID &&
			(recorded[next].Usage.InputTokens != g.Usage.InputTokens || recorded[next].PromptThrough != g.PromptThrough) {
			c.t.Errorf("a lost call took %+v, the next one %+v", g, recorded[next])
		}
	}
	if lost != recovered || turn.Usage != sum || c.world.session(c.session).Usage != sum || turn.ModelCalls != len(recorded) {
		c.t.Errorf("%d takeovers, %d lost calls; recorded are %d calls that took %+v, the turn has %d that took %+v", recovered, lost,
			len(recorded), sum, turn.ModelCalls, turn.Usage)
	}
}

// kept checks what became of a lost answer.
func (c *crashRun) kept(want outcome, log []models.Event) {
	c.t.Helper()
	policy := models.RecoveryRestart
	if want.finalized {
		policy = models.RecoveryFinalize
	}
	for _, r := range payloads[events.ReasonRecovered](c.t, log) {
		if r.Policy != string(policy) {
			c.t.Errorf("the step was recovered by %s, want %s", r.Policy, policy)
		}
	}
	outputs := payloads[events.OutputCompleted](c.t, log)
	for i, o := range outputs {
		if o.Message.Interrupted != (want.finalized && i == len(outputs)-1) {
			c.t.Errorf("message %d has interrupted: %t", i+1, o.Message.Interrupted)
		}
	}
	if !want.finalized {
		return
	}
	if got := turns.Joined(outputs[len(outputs)-1].Message.Content, models.PartText); got != "on"+strings.Repeat("x", 2*ask.CheckpointBytes) {
		c.t.Errorf("of the answer %d bytes were kept: %.20q", len(got), got)
	}
	if done := the[events.TurnCompleted](c.t, log); done.StopReason != models.StopEndTurn {
		c.t.Errorf("the turn ended as %+v", done)
	}
}

// metered checks that each call that has begun was metered once, whatever became of it.
func (c *crashRun) metered(id models.TurnID, log []models.Event) {
	c.t.Helper()
	want := map[string]int{}
	for _, done := range payloads[events.ToolCompleted](c.t, log) {
		want[done.ToolName]++
	}
	c.wantMetered(c.session, id, want)
}

func (c *crashRun) ran(want outcome) {
	c.t.Helper()
	if one, two := c.probe.ran("first"), c.probe.ran("second"); one != want.runs1 || two != want.runs2 {
		c.t.Errorf("the tools ran %d and %d times, want %d and %d", one, two, want.runs1, want.runs2)
	}
}
