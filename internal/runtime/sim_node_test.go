package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
)

// errSim is what goes wrong in a simulation because the schedule says so.
var errSim = errors.New("injected by the schedule")

// errNodeDied is what a client sees of a process that dies: it doesn't know what became of its request.
var errNodeDied = errors.New("the connection broke: the process has died")

// simNode is a process: the real engine on the simulated world.
type simNode struct {
	w      *simulation
	number int
	engine *Engine
	// commits is the committer; steps of it are the schedule's.
	commits *commit.Simulation
	// frozen processes do nothing, and come back; dead ones don't.
	frozen, dead bool
	// leaving is true when it is going down in good order.
	leaving bool
	watch   *watch
}

// simContext is the key of the node in the context of its turns, where the tools find it.
type simContext struct{}

func (w *simulation) newNode() *simNode {
	n := &simNode{w: w, number: w.born, watch: newWatch()}
	w.born++
	w.nodes = append(w.nodes, n)
	n.commits = w.store.commits.Simulate(commit.Config{Clock: w.clock, Faults: n, Logger: w.logger},
		func(models.OrgID, models.SessionID) bool { return w.chance(w.trouble.held) })
	n.commits.Observe(func(c *commit.Committed) {
		for _, s := range c.Sessions {
			w.published(s.Session, s.Events)
		}
		for _, h := range c.Attention {
			if !n.dead {
				n.engine.Attend(h.Runner, h.Execution)
			}
		}
	})
	e := New(Config{
		Committer: n, Queue: simQueue{queue.New(w.store.DB, queue.Turns()), n}, Hub: w.hub, Bus: simBus{w}, Catalog: w, Registry: w.toolbox.registry,
		Drivers: map[models.ProviderKind]llm.Driver{models.ProviderSimulated: n}, Workspace: sessions.NewWorkspace(nil, w.clock, nil),
		Clock: w.clock, Logger: w.logger, Slots: 3, Timers: noTimers{}, Sleep: n.sleep, Random: w.random.Float64, Tokens: simTokens{},
	})
	// Whoever is seen twice with the same counter is dead: the schedule decides who is slow.
	e.cfg.Lease = -1
	// Turns without a runner are looked for each time.
	e.cfg.Heartbeat = -4
	e.rows = simRows{database{w.store.DB, w.store.lineages}, &w.planted}
	e.scheduling = scheduling{
		spawn: func(fn func()) { w.spawn(n.name("work"), n, fn) },
		await: func(ready func() bool) {
			// With two channels ready select picks one by chance. That must not decide whether others run in between.
			if !ready() {
				w.wait(ready)
			}
		},
		moments: func() <-chan time.Time {
			over := make(chan time.Time)
			close(over)
			return over
		},
	}
	n.engine = e
	n.start()
	return n
}

func (n *simNode) name(what string) string { return fmt.Sprintf("node %d: %s", n.number, what) }

// start is the engine's Start, whose loops are actors here.
func (n *simNode) start() {
	e := n.engine
	if n.w.alone {
		// Start would fail, and whoever runs the program would start it again.
		for e.cfg.Queue.ReleaseAll(context.Background()) != nil {
			n.w.notef("%s", n.name("can't start yet"))
		}
	}
	if err := e.register(context.Background(), e.id); err != nil {
		n.w.failf("register: %v", err)
	}
	ctx := context.WithValue(context.Background(), simContext{}, n)
	e.workCtx, e.cancelWork = context.WithCancelCause(ctx)
	claims, stopClaims := context.WithCancel(ctx)
	live, stopLive := context.WithCancel(ctx)
	e.stopClaims, e.stopLive, e.state = stopClaims, stopLive, lifeRunning
	n.w.spawn(n.name("claims"), n, func() { n.claim(claims) }).loop = true
	if n.w.alone {
		return // nobody else is there to be watched
	}
	n.w.spawn(n.name("life"), n, func() { n.live(live) }).loop = true
}

// claim is what claimLoop does between two waits.
func (n *simNode) claim(ctx context.Context) {
	unsure := false
	for ctx.Err() == nil {
		n.engine.attendAll(ctx)
		if unsure {
			unsure = !n.engine.releaseUnheard(ctx)
		}
		for more := true; more; {
			var err error
			more, err = n.engine.claimSome(ctx)
			unsure = unsure || err != nil
		}
		n.rest()
	}
}

// live is what liveLoop does.
func (n *simNode) live(ctx context.Context) {
	for ctx.Err() == nil {
		if n.w.healing || n.w.random.IntN(4) > 0 {
			n.engine.beat(ctx)
		} else {
			n.engine.observe(ctx, n.watch)
		}
		n.known()
		n.rest()
		if n.w.healing && n.w.random.IntN(8) == 0 {
			n.engine.observe(ctx, n.watch)
			n.known()
			n.rest()
		}
	}
}

// known makes tools know the process after its runner has started over.
func (n *simNode) known() {
	e := n.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.workCtx.Value(simContext{}) == nil {
		e.workCtx = context.WithValue(e.workCtx, simContext{}, n)
	}
}

// rest waits for the next tick of this process's tickers.
func (n *simNode) rest() {
	n.w.wait(nil)
}

// leave is the engine's Stop.
func (n *simNode) leave() {
	e := n.engine
	n.leaving = true
	e.mu.Lock()
	e.state = lifeEnding
	e.mu.Unlock()
	e.stopClaims()
	e.endWait()
	n.w.spawn(n.name("stop"), n, func() {
		idle := func() bool { return len(e.slots) == cap(e.slots) }
		if n.w.random.IntN(2) == 0 {
			n.w.wait(nil) // the grace was too short
		} else {
			n.w.wait(idle)
		}
		e.mu.Lock()
		cancel := e.cancelWork
		e.mu.Unlock()
		cancel(errShutdown)
		n.w.wait(idle)
		e.stopLive()
		if err := e.cfg.Queue.Remove(context.Background(), e.runnerID()); err != nil {
			n.w.notef("%s %v", n.name("remove"), err)
		}
		n.dead = true
	})
}

// die is kill -9.
func (n *simNode) die() {
	n.dead = true
	n.w.killAll(n)
}

// Submit implements Committer: it takes as long as the schedule wants. Those in other processes hear when this one dies.
func (n *simNode) Submit(_ context.Context, cmd commit.Command) error {
	if n.dead {
		return errNodeDied
	}
	s := n.commits.Enqueue(cmd)
	n.w.submitted(n, cmd, s)
	if n.w.planted.earlyAnswers && cmd.Needs().Lease == nil {
		n.w.wait(nil)
		return nil
	}
	n.w.wait(func() bool {
		_, ok := s.Answer()
		return ok || n.dead
	})
	err, ok := s.Answer()
	if !ok {
		return errNodeDied
	}
	return err
}

// At implements commit.Faults.
func (n *simNode) At(point string) error {
	if point == "commit" {
		return n.w.lose()
	}
	if n.w.chance(n.w.trouble.commits) {
		n.w.notef("%s fails at %s", n.name("commit"), point)
		return fmt.Errorf("%w: at %s", errSim, point)
	}
	return nil
}

// sleep implements Config.Sleep on the simulation's clock.
func (n *simNode) sleep(ctx context.Context, d time.Duration) error {
	until := n.w.clock.Now().Add(d)
	n.w.wait(func() bool {
		return ctx.Err() != nil || !n.w.clock.Now().Before(until) || n.engine.ending.Err() != nil || context.Cause(n.engine.workCtx) != nil
	})
	return ctx.Err()
}

// Stream implements llm.Driver: a model that says what the schedule wants.
func (n *simNode) Stream(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	w := n.w
	n.pause(ctx)
	if ctx.Err() != nil {
		return llm.Response{}, &llm.Error{Code: llm.CodeUnavailable, Transient: true, Message: "cut short"}
	}
	resp := llm.Response{
		Parts:        []models.Part{{Type: models.PartText, Text: fmt.Sprintf("to %d messages", len(req.Messages))}},
		Usage:        models.Usage{InputTokens: 7, OutputTokens: 3},
		FinishReason: llm.FinishStop,
	}
	switch r := w.random.IntN(20); {
	case r == 0:
		return resp, &llm.Error{Code: llm.CodeContextExceeded, Message: "no"}
	case r < 3:
		return resp, &llm.Error{Code: llm.CodeUnavailable, Transient: true, Message: "not now"}
	case r == 3:
		resp.FinishReason = llm.FinishRefusal
	case r == 4:
		resp.FinishReason = llm.FinishLength
		fallthrough
	case r < 14:
		if r > 4 {
			resp.FinishReason = llm.FinishToolCalls
		}
		for range 1 + w.random.IntN(4) {
			name := simToolNames[w.random.IntN(len(simToolNames))]
			resp.Parts = append(resp.Parts, models.Part{Type: models.PartToolCall, ToolCallID: "x", ToolName: name, Arguments: models.JSON(`{}`)})
		}
	}
	return resp, nil
}

// pause lets time pass in the middle of a model or tool call, which its context cuts short.
func (n *simNode) pause(ctx context.Context) {
	for range 1 + n.w.random.IntN(3) {
		if ctx.Err() != nil {
			return
		}
		n.w.wait(nil)
	}
}

// simToolNames are the tools of the simulation, and one that doesn't exist.
var simToolNames = []string{
	"once", "again", "look", "ordered", "ordered_again", "missing", "once", "again", "ordered",
	"ask", "pend", "await", "await_once", "gated", "gated_twice", "client", "client_hurried", "flaky",
}

// toolbox is made once: it compiles schemas.
type toolbox struct {
	registry *tools.Registry
	set      tools.Toolset
}

func newToolbox(p planted) (*toolbox, error) {
	var list []tools.Tool
	for name, hints := range map[string]tools.Hints{
		"once": {Destructive: true}, "again": {Idempotent: true}, "look": {ReadOnly: true},
		"gated": {Destructive: true}, "gated_twice": {Idempotent: true},
		"ordered": {ConcurrencyClass: "sim"}, "ordered_again": {ConcurrencyClass: "sim", Idempotent: true},
	} {
		said := hints
		said.Idempotent = hints.Idempotent || p.repeatableTools
		list = append(list, tools.Define(tools.Spec[struct{}]{
			Manifest: tools.Manifest{
				ID: "sim." + name, Name: name, DisplayName: name, Description: "A tool.", Hints: said,
				InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
			},
			Execute: func(ctx context.Context, call *tools.Call, _ struct{}) tools.Result {
				n, ok := ctx.Value(simContext{}).(*simNode)
				if !ok {
					return tools.Fail("this context is of no simulated process")
				}
				return n.work(ctx, call, hints.Repeatable())
			},
		}))
	}
	registry, err := tools.NewRegistry(tools.Capability{
		ID: "sim", Name: "Sim", Description: "Tools.", Risk: "LOW", Tools: append(list, waitingTools()...),
		Gates: simGates, ClientTools: simClientTools,
	})
	if err != nil {
		return nil, err
	}
	set, err := registry.Resolve([]models.CapabilityRef{{ID: "sim"}})
	return &toolbox{registry, set}, err
}

// work is what a tool does: an effect outside of the database that nobody can take back.
func (n *simNode) work(ctx context.Context, call *tools.Call, repeatable bool) tools.Result {
	w := n.w
	n.pause(ctx)
	if ctx.Err() != nil {
		return tools.Fail("cancelled")
	}
	w.notef("%s a call runs (%d before), attempt %d", n.name("tool"), w.ran[call.CallID], call.Attempt)
	if w.log != nil {
		w.log(fromLogger + "it is " + call.CallID)
	}
	if w.ran[call.CallID]++; w.ran[call.CallID] > 1 && !repeatable {
		w.failf("law 8: call %s of an at-most-once tool ran %d times", call.CallID, w.ran[call.CallID])
	}
	n.pause(ctx)
	if w.random.IntN(6) == 0 {
		return tools.Fail("it did not work")
	}
	return tools.Success(map[string]int{"run": w.ran[call.CallID]})
}

// simBus loses much: only who hears of turns by chance is sooner there.
type simBus struct{ w *simulation }

var _ events.Bus = simBus{}

// Publish implements events.Bus: a runner hears of what it runs, or doesn't.
func (b simBus) Publish(subject string, data []byte) error {
	for _, n := range b.w.alive() {
		if e := n.engine; subject == events.RunnerSubject(e.runnerID()) && b.w.random.IntN(3) > 0 {
			x, err := models.ParseExecution(string(data))
			if err != nil {
				b.w.failf("what a runner hears: %v", err)
			}
			e.scheduling.spawn(func() { e.attend(x) })
		}
	}
	return nil
}

func (simBus) Subscribe(string, func([]byte)) (func(), error)             { return func() {}, nil }
func (simBus) QueueSubscribe(_, _ string, _ func([]byte)) (func(), error) { return func() {}, nil }
func (simBus) OnReconnect(func()) func()                                  { return func() {} }
func (simBus) Connected() bool                                            { return true }
func (simBus) Shared() bool                                               { return false }
func (simBus) Close() error                                               { return nil }

// noTimers never fire: in a simulation a model comes to an end by itself.
type noTimers struct{}

func (noTimers) AfterFunc(time.Duration, func()) func() bool { return func() bool { return true } }
