// Package runtime is the turn engine: it claims turns, asks models, runs tools, and goes on where a process that died had
// stopped.
//
// Follow one turn in this order: engine.go (start and stop), slot.go, share.go and claim.go (how turns come here), liveness.go and
// watch.go (who is alive), turn.go (the loop of a turn, and what becomes of it when it can't go on), reason.go
// and act.go (the two kinds of steps; act_call.go, act_retry.go and act_ends.go follow one call), spend.go (what steps take of budgets),
// recover.go (model calls whose runner has died), repair.go (results that are missing all the same), ports.go (what it reaches for outside of
// itself, and what simulations replace; they begin with sim_world_test.go). Models are asked by package ask below it. What each step
// commits, and what comes next, is decided in internal/turns.
package runtime

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Config is what an Engine needs. Fields without a default are required.
type Config struct {
	DB        *store.DB
	Committer Committer
	Queue     Queue
	Hub       *events.Hub
	Bus       events.Bus
	Catalog   Catalog
	Registry  *tools.Registry
	Drivers   map[models.ProviderKind]llm.Driver
	Workspace *sessions.Workspace
	// Images reads what messages refer to. Without it models are told that there are no images.
	Images Images
	// Hooks runs the hooks of capabilities and users.
	Hooks *hooks.Runner
	// Tokens are for waits that are resolved from outside. Without it tools have none.
	Tokens Tokens
	// Budgets tells tools how sessions stand with budgets. Without it tools are told that nobody knows.
	Budgets BudgetChecker
	// Outbound bounds how often tools reach out of the server; nil is without a bound.
	Outbound Outbound
	// Payments makes the payments that tools ask for. Without it they can't pay.
	Payments tools.PaymentAuthority
	Clock    clock.Clock
	Logger   *slog.Logger
	// Meter hears how it goes. Defaults to nobody.
	Meter Meter
	// Tracer makes spans of turns, steps and effects; nil for none.
	Tracer trace.Tracer
	// Presence shows others at once when this process dies, on PostgreSQL; nil leaves it to the heartbeat. The engine drops it when
	// it stops.
	Presence *queue.Presence
	// Exclusive is true when no other process can run turns: the database is a file that this one has locked.
	Exclusive bool
	// Slots is how many turns run at once. Defaults to 256.
	Slots int
	// OrgSlots is how many of them may be of one organization. Defaults to what orgSlots returns.
	OrgSlots int
	// OrgActiveTurns is how many turns of an organization may run at once in all processes, where it has no cap of its own
	// in org_loads. 0, the default, is any number.
	OrgActiveTurns int
	// Lease is how long a runner may be silent before others take its turns over. Defaults to 6 s.
	Lease time.Duration
	// Heartbeat is how often a runner says that it is alive. Defaults to 2 s.
	Heartbeat time.Duration
	// Look is how often a runner with a Presence looks at the others. Defaults to 200 ms. One without looks four times per
	// heartbeat.
	Look time.Duration
	// ShutdownGrace is how long Stop lets running steps finish. Defaults to 20 s.
	ShutdownGrace time.Duration
	// PollInterval is how often a runner that hears nothing looks for turns. Defaults to 1 s.
	PollInterval time.Duration
	// IdleTimeout is how long a model may give no sign of life before its call is given up. Defaults to 60 s.
	IdleTimeout time.Duration
	// CallTimeout is how long one call of a model may take, whatever signs of life it gives. Defaults to 1 h.
	CallTimeout time.Duration
	// Timers tell when a model was silent for too long. Defaults to the machine's.
	Timers events.Timers
	// Sleep waits between two calls of a model, for d or until ctx ends, whose error it then gives. Nil means real time.
	Sleep func(ctx context.Context, d time.Duration) error
	// Random returns numbers from 0 to less than 1, for the length of these waits. Defaults to the machine's.
	Random func() float64
}

// Catalog tells what turns run with; catalog.Service does.
type Catalog interface {
	ask.Endpoints
	EffectiveForSession(ctx context.Context, org models.OrgID, run catalog.Run) (*catalog.Effective, error)
}

// Images reads the images that messages refer to.
type Images interface {
	// Read returns an image of an organization. Without one its error wraps fs.ErrNotExist.
	Read(ctx context.Context, org models.OrgID, id models.ImageID) (llm.Image, error)
}

// Engine runs turns in this process, from Start to Stop, once.
type Engine struct {
	cfg Config
	// slots has a token for each execution that may yet run.
	slots         chan struct{}
	wake          chan struct{}
	jobs          *hookJobs
	conversations *conversations
	models        *ask.Models
	rows          rows
	scheduling    scheduling
	// ending ends when Stop begins.
	ending  context.Context
	endWait context.CancelFunc
	// keyed is true when this runner's row says that it holds a lock.
	keyed atomic.Bool
	// rebirth is held while the runner gets a new id.
	rebirth sync.Mutex
	// starved is true when executions may wait for a slot: the next one that is free is announced.
	starved atomic.Bool

	mu    sync.Mutex
	id    models.RunnerID
	state lifeState
	// stopClaims ends the claims, stopLive the heartbeat: a runner that goes down lives until it has given its last execution back.
	stopClaims, stopLive context.CancelFunc
	// cancelWork cuts all running steps short.
	cancelWork context.CancelCauseFunc
	workCtx    context.Context // of all executions of this engine, made by Start
	// running are the executions at work here, and those that a message is about to begin. The queue's idea may differ when the
	// answer to a claim got lost.
	running map[models.Execution]*slot
	// held is how many slots each organization has; those of claims under way are under the zero id.
	held map[models.OrgID]int
	// limited is true when the last claim may have left some because their organizations had no room here.
	limited bool
	// place is where the next claim begins to look.
	place queue.Place
	// caps are those of organizations, as of capsRead.
	caps     queue.Caps
	capsRead time.Time
	work     sync.WaitGroup
	loops    sync.WaitGroup
	stopped  chan struct{}
}

type lifeState int

const (
	lifeNew lifeState = iota
	lifeRunning
	lifeEnding
)

// errShutdown cuts steps short that don't end within the grace.
var errShutdown = errors.New("the server is shutting down")

// errDeclaredDead cuts steps short when others have taken this runner for dead.
var errDeclaredDead = errors.New("this runner was declared dead by another one")

// New makes an Engine that does nothing until Start.
func New(cfg Config) *Engine {
	if cfg.Slots == 0 {
		cfg.Slots = 256
	}
	if cfg.OrgSlots == 0 {
		cfg.OrgSlots = orgSlots(cfg.Slots)
	}
	if cfg.Lease == 0 {
		cfg.Lease = 6 * time.Second
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 2 * time.Second
	}
	if cfg.Look == 0 {
		cfg.Look = 200 * time.Millisecond
	}
	if cfg.ShutdownGrace == 0 {
		cfg.ShutdownGrace = 20 * time.Second
	}
	if cfg.PollInterval == 0 {
		cfg.PollInterval = time.Second
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = time.Minute
	}
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = time.Hour
	}
	if cfg.Meter == nil {
		cfg.Meter = unmetered{}
	}
	if cfg.Timers == nil {
		cfg.Timers = events.SystemTimers{}
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	e := &Engine{
		cfg: cfg, slots: make(chan struct{}, cfg.Slots), wake: make(chan struct{}, 1), id: models.NewID[models.RunnerEntity](),
		running: map[models.Execution]*slot{}, held: map[models.OrgID]int{}, stopped: make(chan struct{}), conversations: newConversations(),
		rows: database{cfg.DB, events.NewLineages(cfg.DB)}, scheduling: goroutines(),
	}
	e.jobs = e.newHookJobs()
	e.ending, e.endWait = context.WithCancel(context.Background())
	e.models = ask.New(ask.Config{
		Drivers: cfg.Drivers, Catalog: cfg.Catalog, Hub: cfg.Hub, Clock: cfg.Clock, Logger: cfg.Logger, Meter: cfg.Meter, Tracer: cfg.Tracer,
		Timers: cfg.Timers, IdleTimeout: cfg.IdleTimeout, CallTimeout: cfg.CallTimeout, Sleep: cfg.Sleep, Random: cfg.Random, Ending: e.ending,
		Save: e.trySaveCheckpoint,
	})
	for range cfg.Slots {
		e.slots <- struct{}{}
	}
	return e
}

// Start registers the runner, takes over what dead ones have left and begins to claim turns. It may be called more than
// once, and again after it failed, but not after Stop.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch e.state {
	case lifeRunning:
		return nil
	case lifeEnding:
		return errors.New("a stopped engine can't be started again: create another one")
	case lifeNew:
	}
	if e.cfg.Exclusive {
		// Having the file's lock proves every earlier runner dead.
		if err := e.cfg.Queue.ReleaseAll(ctx); err != nil {
			return err
		}
	}
	caps, err := e.cfg.Queue.Caps(ctx, e.cfg.OrgActiveTurns)
	if err != nil {
		return err
	}
	e.caps, e.capsRead = caps, time.Now()
	if err := e.register(ctx, e.id); err != nil {
		return err
	}
	e.workCtx, e.cancelWork = context.WithCancelCause(context.Background())
	claims, stopClaims := context.WithCancel(context.Background())
	live, stopLive := context.WithCancel(context.Background())
	e.stopClaims, e.stopLive, e.state = stopClaims, stopLive, lifeRunning
	e.loops.Go(func() { e.claimLoop(claims) })
	if e.cfg.Hooks != nil {
		e.loops.Go(func() { e.jobLoop(claims) })
		e.loops.Go(func() { clock.Every(claims, e.cfg.PollInterval, nil, func() { e.renewJobs(claims) }) })
	}
	if !e.cfg.Exclusive {
		e.loops.Go(func() { e.beatLoop(live) })
		e.loops.Go(func() { e.watchLoop(live) })
	}
	return nil
}

// Stop claims no more, lets running steps finish within the grace – or as long as ctx lasts –, gives the turns back and takes
// the runner off the list. It may be called more than once: all calls return when it is done.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	switch e.state {
	case lifeNew:
		e.mu.Unlock()
		return nil
	case lifeEnding:
		e.mu.Unlock()
		<-e.stopped
		return nil
	case lifeRunning:
	}
	e.state = lifeEnding
	e.mu.Unlock()
	defer close(e.stopped)

	e.stopClaims()
	e.endWait()
	idle := make(chan struct{})
	go func() {
		e.work.Wait()
		close(idle)
	}()
	grace := time.NewTimer(e.cfg.ShutdownGrace)
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
	case <-ctx.Done():
	}
	e.mu.Lock()
	cancel := e.cancelWork
	e.mu.Unlock()
	cancel(errShutdown)
	<-idle
	e.stopLive()
	e.loops.Wait()
	err := e.cfg.Queue.Remove(context.WithoutCancel(ctx), e.runnerID())
	if e.cfg.Presence != nil {
		// Not before: who is on the list without its lock is dead.
		e.cfg.Presence.Drop()
	}
	return err
}

// Running returns how many turns run here, and how many may.
func (e *Engine) Running() (turns, slots int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.running), cap(e.slots)
}

func (e *Engine) stopping() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state == lifeEnding
}

func (e *Engine) runnerID() models.RunnerID {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	pause(ctx, d)
	return ctx.Err()
}

// pause waits, unless ctx ends before. It reports whether it waited.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
