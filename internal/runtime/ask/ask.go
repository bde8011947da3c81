// Package ask asks models: the calls of one reason step, one after the other, until one brings an answer. It knows nothing of how steps
// follow each other, and of a turn only what it declares as Turn.
//
// Read in this order: ask.go (the calls of a step), attempts.go (what follows one that failed), breaker.go (providers that are down), idle.go
// (models that say nothing), afford.go (what a call may cost), stream.go (what becomes of what a model says), reach.go.
package ask

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Config is what Models need. Only the tracer may be missing.
type Config struct {
	Drivers map[models.ProviderKind]llm.Driver
	Catalog Endpoints
	Hub     *events.Hub
	Clock   clock.Clock
	Logger  *slog.Logger
	Meter   Meter
	Tracer  trace.Tracer
	Timers  events.Timers
	// IdleTimeout is how long a model may give no sign of life, CallTimeout how long a call may take.
	IdleTimeout, CallTimeout time.Duration
	// Sleep waits between two calls; Random is for the length of these waits.
	Sleep  func(ctx context.Context, d time.Duration) error
	Random func() float64
	// Ending ends when the process is about to go down.
	Ending context.Context
	// Save saves a checkpoint as best it can.
	Save func(models.Checkpoint)
}

// Endpoints tells where providers are reached; catalog.Service does.
type Endpoints interface {
	Endpoint(ctx context.Context, p *models.Provider) (llm.Endpoint, error)
}

// Meter hears how it goes. Its methods must not block.
type Meter interface {
	// Called hears of a call of a model; code is that of its failure, or "". Answered hears how long its first text took.
	Called(kind models.ProviderKind, code string, took time.Duration)
	Answered(kind models.ProviderKind, took time.Duration)
	// Spoke hears how long it took from a turn's message to the first text of a model.
	Spoke(took time.Duration)
	// Panicked hears of a panic that was caught; where is "turn".
	Panicked(where string)
}

// Models asks models for all turns of a process.
type Models struct {
	cfg      Config
	Breakers *Breakers
}

// New makes Models.
func New(cfg Config) *Models { return &Models{cfg: cfg, Breakers: newBreakers()} }

func (m *Models) nowMillis() models.Millis { return clock.Millis(m.cfg.Clock) }

// Turn is the turn of a step.
type Turn interface {
	// Row is the turn as the newest commit has left it.
	Row() *models.Turn
	// Request assembles what a model is shown. limit is the output limit that budgets leave; 0 for the model's own. alive is called while
	// the call waits for this server.
	Request(m *catalog.RunModel, at llm.Endpoint, limit int, alive func()) llm.Request
	// Through is the position of the newest message that it is shown.
	Through() int64
	// Demand bounds what a call of a model takes; nil when no budget asks.
	Demand(m *models.Model) *budget.Call
	// Reserve commits that the next call is made, in the name of the turn's runner.
	Reserve(ctx context.Context, c *turns.ReserveAgain) error
}

// ErrEnding is the error of a step that stopped between two calls because the process goes down: another one goes on.
var ErrEnding = errors.New("the server is about to shut down")

// Step is the model calls of one reason step, one after the other, until one brings an answer or there is nobody left to ask. The
// step goes on with what it began with: changes of the session or the catalog count from the next step on.
type Step struct {
	m      *Models
	turn   Turn
	output models.MessageID
	// uncounted is what the calls took, until a commit counts it.
	uncounted *turns.Uncounted
	// model is asked at present; later are the fallbacks that come after it.
	model *catalog.RunModel
	later []*catalog.RunModel
	tries attempts
	// failed counts the calls that have failed.
	failed int
	// stream is that of the newest call; nil when it was not made.
	stream *stream
	// checkpointed is true when there may be a checkpoint, begun when a model has said something.
	checkpointed, begun bool
	// refused is true when the newest call was not made, because the provider rests.
	refused bool
	// again is true when what was reserved when the step began is not what the next call needs: one was made before.
	again bool
	// made counts the calls of the step.
	made int
}

// Begin begins to ask for a step. recovered reports that another runner has begun it.
func (m *Models) Begin(t Turn, eff *catalog.Effective, u *turns.Uncounted, recovered bool) *Step {
	return &Step{
		m: m, turn: t, output: *t.Row().OutputMessageID, uncounted: u, model: eff.Model, later: eff.Fallbacks, checkpointed: recovered, again: recovered,
	}
}

// Run asks until there is an answer. failure is why there is none; then resp is what the last call had brought. err is what keeps this
// process from asking on.
func (a *Step) Run(ctx context.Context) (resp llm.Response, failure, err error) {
	m := a.m
	var first time.Time
	for {
		resp, failure = a.call(ctx)
		if failure == nil {
			return resp, nil, nil
		}
		if halt, ok := errors.AsType[*haltError](failure); ok {
			return resp, nil, halt.err
		}
		if ctx.Err() != nil {
			a.cutShort(ctx, resp.Usage)
			return resp, nil, fmt.Errorf("the model call was cut short: %w", context.Cause(ctx))
		}
		f, ok := errors.AsType[*llm.Error](failure)
		if !ok {
			return resp, failure, nil
		}
		now := m.cfg.Clock.Now()
		if first.IsZero() {
			first = now
		}
		a.leaveOut(ctx)
		a.tries.others = len(a.later)
		what := callFailure{transient: f.Transient, refused: a.refused, retryAfter: f.RetryAfter}
		next := a.tries.next(what, now.Sub(first), m.cfg.Random())
		if again, ok := next.(callAgain); ok {
			if until, rests := m.Breakers.rests(a.provider(), now.Add(again.after)); rests {
				// The wait would be in vain.
				what.refused, failure = true, restingError(a.model, until)
				next = a.tries.next(what, now.Sub(first), 0)
			}
		}
		switch n := next.(type) {
		case callAgain:
			a.announce(f, a.model, n.after)
			if err := a.wait(ctx, n.after); err != nil {
				return resp, nil, err
			}
		case fallBack:
			a.announce(f, a.later[0], 0)
			a.model, a.later, a.tries = a.later[0], a.later[1:], attempts{}
		case giveUp:
			return resp, failure, nil
		}
	}
}

// Model returns the model that was asked last.
func (a *Step) Model() *catalog.RunModel { return a.model }

// Made returns how many calls were made.
func (a *Step) Made() int { return a.made }

// Checkpointed reports whether there may be a checkpoint.
func (a *Step) Checkpointed() bool { return a.checkpointed }

// Generation describes the call that brought the answer.
func (a *Step) Generation() turns.Generation {
	return turns.Generation{
		Model: a.model.Model, At: *a.uncounted.AskedAt, DurationMs: a.stream.elapsed(), FirstTokenMs: a.stream.firstTokenMs, Retries: a.failed,
	}
}

// provider names the breaker of the model that is asked.
func (a *Step) provider() BreakerKey { return BreakerKey{a.turn.Row().OrgID, a.model.Provider.ID} }

// leaveOut drops fallbacks that this server can't call: the failure that the user is told of is to be that of a model that was asked.
func (a *Step) leaveOut(ctx context.Context) {
	for len(a.later) > 0 {
		m := a.later[0]
		_, _, err := a.m.reach(ctx, m)
		if err == nil {
			return
		}
		a.m.cfg.Logger.Warn("a fallback model is skipped", "org", a.turn.Row().OrgID, "model", m.Model.ID, "error", err)
		a.later = a.later[1:]
	}
}

// announce tells those who watch that a call failed and what is done about it, and takes back what it had said.
func (a *Step) announce(failure *llm.Error, next *catalog.RunModel, delay time.Duration) {
	t := a.turn.Row()
	a.m.cfg.Logger.Warn("a model call failed and is retried", "org", t.OrgID, "turn", t.ID, "provider", a.model.Provider.ID,
		"model", a.model.Model.Name, "next", next.Model.Name, "delay", delay, "error", failure)
	a.m.cfg.Hub.PublishRetrying(t.OrgID, t.SessionID, t.ID, events.GenerationRetrying{
		MessageID: a.output, Model: a.model.Model.Name, Code: string(failure.Code), Message: texts.Clean(failure.Message),
		NextModel: next.Model.Name, Attempt: a.failed, DelayMs: delay.Milliseconds(),
	})
	if !a.refused {
		a.m.Withdraw(t, a.attempt())
	}
	a.note(next, false)
}

// Withdraw takes back what those who watch were shown of the present output, before a call of this number says anything.
func (m *Models) Withdraw(t *models.Turn, attempt int) {
	m.cfg.Hub.PublishDelta(events.Delta{
		OrgID: t.OrgID, SessionID: t.SessionID, TurnID: t.ID, MessageID: *t.OutputMessageID, Epoch: t.LeaseEpoch, Attempt: attempt,
	})
}

// attempt is the number of the next call in the turn.
func (a *Step) attempt() int { return a.turn.Row().ModelCalls + a.uncounted.Made }

// tally is what is known of the step's calls before the next one.
func (a *Step) tally(next *catalog.RunModel) turns.Tally {
	return turns.Tally{Asked: turns.AskedOf(&next.Model), Ended: a.uncounted.Made, Took: a.uncounted.Usage}
}

// note keeps what the calls took that have ended, and withdraws the checkpoint of the last one with it: should this process die before a
// commit counts them, nobody else would know. resting reports that no other call will be made here.
func (a *Step) note(next *catalog.RunModel, resting bool) {
	t, known := a.turn.Row(), a.tally(next)
	known.Resting = resting
	a.checkpointed = true
	a.m.cfg.Save(models.Checkpoint{
		OrgID: t.OrgID, TurnID: t.ID, SessionID: t.SessionID, MessageID: a.output, Epoch: t.LeaseEpoch,
		Attempt: a.attempt(), Usage: jsonx.MustEncode(known), UpdatedAt: a.m.nowMillis(),
	})
}

// cutShort leaves behind what is known of a call that did not come to its end, unless this process commits it by itself.
func (a *Step) cutShort(ctx context.Context, took models.Usage) {
	switch {
	case errors.Is(context.Cause(ctx), turns.ErrCancelled):
	case a.stream == nil:
		a.note(a.model, true)
	default:
		a.stream.leave(took)
	}
}

// wait waits between two calls. A process that goes down doesn't: nothing is under way that could be lost, and another one goes on
// at once.
func (a *Step) wait(ctx context.Context, d time.Duration) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(a.m.cfg.Ending, cancel)
	defer stop()
	err := a.m.cfg.Sleep(waiting, d)
	switch {
	case ctx.Err() != nil:
		if !errors.Is(context.Cause(ctx), turns.ErrCancelled) {
			a.note(a.model, true)
		}
		return fmt.Errorf("the wait for the model was cut short: %w", context.Cause(ctx))
	case a.m.cfg.Ending.Err() != nil:
		a.note(a.model, true)
		return ErrEnding
	}
	return err
}

// call makes one call, if the provider may be asked.
func (a *Step) call(ctx context.Context) (resp llm.Response, err error) {
	all, m, u := a.m, a.model, a.uncounted
	a.refused, a.stream = false, nil
	driver, at, err := all.reach(ctx, m)
	if err != nil {
		return resp, err
	}
	key := a.provider()
	if until, rests := all.Breakers.rests(key, all.cfg.Clock.Now()); rests {
		a.refused = true
		return resp, restingError(m, until)
	}
	// Before the breaker is asked: a probe that waits for money would keep all others from the provider.
	limit, err := a.afford(ctx)
	if err != nil {
		return resp, err
	}
	p, ok, until := all.Breakers.Admit(key, all.cfg.Clock.Now())
	if !ok {
		a.refused = true
		return resp, restingError(m, until)
	}
	outcome := outcomeUnknown
	defer func() { all.Breakers.Report(key, p, outcome, all.cfg.Clock.Now()) }()
	a.again = true
	ctx = all.trace(ctx, m, a.attempt())
	defer func() { all.endTrace(ctx, resp.Usage, err) }()
	call, watch := all.watchIdle(ctx)
	defer watch.end()
	a.stream = newStream(all, *a.turn.Row(), a.output, a.attempt(), watch, a.tally(m))
	if p.Probe {
		// The others need not wait until a long answer has ended.
		a.stream.answers = func() {
			all.Breakers.Report(key, p, outcomeAnswered, all.cfg.Clock.Now())
			p = Pass{}
		}
	}
	a.tries.calls++
	a.made++
	u.Made++
	u.AskedAt, u.Through = all.nowMillis().Ptr(), a.turn.Through()
	resp, err = a.runDriver(call, driver, a.turn.Request(m, at, limit, watch.alive), a.stream.emit)
	a.stream.finish()
	defer func() { a.measure(m.Provider.Kind, err) }()
	a.checkpointed = a.checkpointed || a.stream.checkpointed
	// A failed call that tells nothing took nothing.
	if err == nil || resp.Usage != (models.Usage{}) {
		u.Add(turns.MeteredCall{N: u.Made, Model: &m.Model, Usage: Rated(&m.Model, resp.Usage), DurationMs: a.stream.elapsed(), Retries: a.failed})
	}
	if err == nil {
		outcome = outcomeAnswered
		return resp, nil
	}
	a.failed++
	if ctx.Err() != nil {
		return resp, err
	}
	switch cause := context.Cause(call); {
	case errors.Is(cause, errIdle):
		err = idleError(all.cfg.IdleTimeout, err)
	case errors.Is(cause, errEndless):
		err = endlessError(all.cfg.CallTimeout, err)
	}
	outcome = outcomeOf(err)
	return resp, err
}

// outcomeOf returns what a failure says about the provider.
func outcomeOf(err error) callOutcome {
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case !ok || e.Code == llm.CodeInternal:
		return outcomeUnknown
	case e.Transient:
		return OutcomeFailed
	}
	return outcomeAnswered
}

// measure tells the meter how the newest call went.
func (a *Step) measure(kind models.ProviderKind, err error) {
	meter, code := a.m.cfg.Meter, ""
	failure, known := errors.AsType[*llm.Error](err)
	switch {
	case err == nil, errors.Is(err, context.Canceled): // one that was cut short is no failure of the model's
	case known:
		code = string(failure.Code)
	default:
		code = string(llm.CodeInternal)
	}
	meter.Called(kind, code, time.Duration(a.stream.elapsed())*time.Millisecond)
	if a.stream.firstTokenMs == nil {
		return
	}
	first := time.Duration(*a.stream.firstTokenMs) * time.Millisecond
	meter.Answered(kind, first)
	if t := a.turn.Row(); !a.begun && t.FirstTokenAt == nil {
		a.begun = true
		meter.Spoke(a.stream.begunAt.Add(first).Sub(t.QueuedAt.Time()))
	}
}

// runDriver makes a call. A driver that panics has failed.
func (a *Step) runDriver(
	ctx context.Context, driver llm.Driver, req llm.Request, emit func(llm.Delta),
) (resp llm.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			a.m.cfg.Meter.Panicked("turn")
			err = fmt.Errorf("the driver panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return driver.Stream(ctx, req, emit)
}

// Failure returns what the user is told of a step that failed, as the turn's error and that of its message.
func (a *Step) Failure(err error) models.Failure {
	f := models.Failure{
		Code: string(llm.CodeInternal), Message: "The server could not call the model. The error was logged; try again.",
	}
	fields := turns.FailureFields{Provider: a.model.Provider.Name, Model: a.model.Model.Name, Attempts: a.made}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		f.Code, f.Message, fields.Status = string(e.Code), texts.Clean(e.Message), e.Status
		if e.Transient && e.RetryAfter > 0 {
			f.Message += fmt.Sprintf(" The provider asked us to retry in %d s.", max(e.RetryAfter.Round(time.Second)/time.Second, 1))
		}
	}
	f.Fields = jsonx.MustEncode(fields)
	return f
}
