package runtime

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/simulated"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// gate stops whoever comes, until it is opened. Everything that a test freezes waits at one.
type gate struct {
	arrived chan struct{}
	opened  chan struct{}
	once    sync.Once
	first   sync.Once
}

func newGate() *gate { return &gate{arrived: make(chan struct{}), opened: make(chan struct{})} }

// pass waits until the gate is open, or ctx ends.
func (g *gate) pass(ctx context.Context) {
	g.first.Do(func() { close(g.arrived) })
	select {
	case <-g.opened:
	case <-ctx.Done():
	}
}

// hold waits until the gate is open, whatever happens: a process that is frozen hears nothing.
func (g *gate) hold() {
	g.first.Do(func() { close(g.arrived) })
	<-g.opened
}

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

// gates are those of one owner.
type gates struct {
	mu     sync.Mutex
	list   []*gate
	thawed bool
}

func (g *gates) add() *gate {
	one := newGate()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = append(g.list, one)
	if g.thawed {
		one.open()
	}
	return one
}

// thaw opens all gates, those that are to come included.
func (g *gates) thaw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.thawed = true
	for _, one := range g.list {
		one.open()
	}
}

// faults is a commit.Faults that does what a test wants at a point.
type faults struct {
	gates
	commits *atomic.Int64
	at      atomic.Pointer[func(point string) error]
}

func newFaults(commits *atomic.Int64) *faults { return &faults{commits: commits} }

func (f *faults) on(at func(point string) error) { f.at.Store(&at) }

// At implements commit.Faults.
func (f *faults) At(point string) error {
	if point == "committed" {
		f.commits.Add(1)
	}
	if at := f.at.Load(); at != nil {
		return (*at)(point)
	}
	return nil
}

// puppet is a driver that is the simulated one, unless a test plays the model itself.
type puppet struct {
	gates
	sim  llm.Driver
	play atomic.Pointer[playFunc]
	seen struct {
		sync.Mutex
		requests []llm.Request
	}
}

type playFunc func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error)

func newPuppet() *puppet {
	return &puppet{sim: simulated.New(simulated.Options{})}
}

func (p *puppet) on(play playFunc) { p.play.Store(&play) }

// Stream implements llm.Driver.
func (p *puppet) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
	p.seen.Lock()
	p.seen.requests = append(p.seen.requests, req)
	p.seen.Unlock()
	if play := p.play.Load(); play != nil {
		return (*play)(ctx, req, emit)
	}
	return p.sim.Stream(ctx, req, emit)
}

func (p *puppet) requests() []llm.Request {
	p.seen.Lock()
	defer p.seen.Unlock()
	return append([]llm.Request(nil), p.seen.requests...)
}

// probe is a capability with tools of every kind, which do what a test wants and count how often they ran.
type probe struct {
	gates
	mu   sync.Mutex
	runs map[string]int
	// do is by the tag of the arguments.
	do map[string]func(ctx context.Context, call *tools.Call) tools.Result
	// rules are the policy's, by the tag.
	rules map[string]func(ctx context.Context) (tools.Verdict, error)
}

func newProbe() *probe {
	return &probe{runs: map[string]int{}, do: map[string]func(context.Context, *tools.Call) tools.Result{}}
}

type probeArgs struct {
	Tag string `json:"tag"`
}

func (p *probe) capability() tools.Capability {
	schema := json.RawMessage(`{"type":"object","properties":{"tag":{"type":"string"}},"required":["tag"],"additionalProperties":false}`)
	var list []tools.Tool
	for name, hints := range map[string]tools.Hints{
		"metered": {Destructive: true}, "once": {Destructive: true}, "outside": {OpenWorld: true, Idempotent: true}, "again": {Idempotent: true}, "look": {ReadOnly: true},
		"retried": {Retry: &tools.Retry{Policy: tools.RetryIdempotent, Max: 4, BaseMs: 10}},
		"ordered": {ConcurrencyClass: "probe"}, "ordered_again": {ConcurrencyClass: "probe", Idempotent: true},
	} {
		var meters tools.Meters
		if name == "metered" {
			meters = tools.Meters{"gpu_seconds": 30_000_000_000}
		}
		list = append(list, tools.Define(tools.Spec[probeArgs]{
			Manifest: tools.Manifest{
				ID: "probe." + name, Name: name, DisplayName: name, Description: "A probe.", Hints: hints, InputSchema: schema, Meters: meters,
			},
			Execute: func(ctx context.Context, call *tools.Call, a probeArgs) tools.Result { return p.run(ctx, call, a.Tag) },
			Narrate: func(a probeArgs, done bool, _ string) string {
				return map[bool]string{false: "does ", true: "did "}[done] + a.Tag
			},
		}))
	}
	return tools.Capability{
		ID: "probe", Name: "Probe", Description: "Tools for tests.", Risk: "LOW", Tools: list,
		ClientTools: func(json.RawMessage) ([]models.ClientTool, error) {
			return []models.ClientTool{{Name: "theirs", DisplayName: "theirs", Description: "A probe of the client.", InputSchema: models.JSON(schema)}}, nil
		},
	}
}

// policy is a capability whose policy decides as a test wants, by the arguments' tag, and lets all else run.
func (p *probe) policy() tools.Capability {
	gates := func(json.RawMessage) ([]tools.Gate, error) {
		return []tools.Gate{{Name: "probe", Decide: func(ctx context.Context, call tools.GateCall) (tools.Verdict, error) {
			var a probeArgs
			if err := json.Unmarshal(call.Arguments, &a); err != nil {
				return tools.Verdict{}, err
			}
			p.mu.Lock()
			rule := p.rules[a.Tag]
			p.mu.Unlock()
			if rule == nil {
				return tools.Verdict{}, nil
			}
			return rule(ctx)
		}}}, nil
	}
	return tools.Capability{ID: "probe_policy", Name: "Probe policy", Description: "A policy for tests.", Risk: "LOW", Gates: gates}
}

// judge makes the policy decide about calls with the tag.
func (p *probe) judge(tag string, rule func(ctx context.Context) (tools.Verdict, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rules == nil {
		p.rules = map[string]func(context.Context) (tools.Verdict, error){}
	}
	p.rules[tag] = rule
}

func (p *probe) run(ctx context.Context, call *tools.Call, tag string) tools.Result {
	p.mu.Lock()
	p.runs[call.CallID]++
	p.runs[tag]++
	do := p.do[tag]
	p.mu.Unlock()
	if do != nil {
		return do(ctx, call)
	}
	return tools.Success(map[string]string{"tag": tag})
}

// on makes calls with the tag do something.
func (p *probe) on(tag string, do func(ctx context.Context, call *tools.Call) tools.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.do[tag] = do
}

// ran is how often calls with the tag, or with the id, were run.
func (p *probe) ran(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs[what]
}

// The language of scripts.

type part = map[string]any

func text(s string) part { return part{"text": s} }

func callTool(name, tag string) part {
	return part{"tool_call": part{"name": name, "arguments": part{"tag": tag}}}
}

func callWith(name string, arguments part) part {
	return part{"tool_call": part{"name": name, "arguments": arguments}}
}

// script is a message for sim-script: one list of chunks per response.
func script(t testing.TB, responses ...[]part) string {
	t.Helper()
	var list []part
	for _, chunks := range responses {
		list = append(list, part{"chunks": chunks})
	}
	b, err := json.Marshal(part{"responses": list})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func says(chunks ...part) []part { return chunks }

// reset forgets what was.
func (p *probe) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.runs)
	clear(p.do)
}

func fails(status int, message string) part {
	return part{"error": part{"status": status, "message": message}}
}
