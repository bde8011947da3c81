package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

// asking is the model calls of one reason step, one after the other, until one brings an answer or there is nobody left to ask. The
// step goes on with what it began with: changes of the session or the catalog count from the next step on.
type asking struct {
	r      *turnRun
	output models.MessageID
	// model is asked at present; later are the fallbacks that come after it.
	model *catalog.RunModel
	later []*catalog.RunModel
	tries attempts
	// failed counts the calls that have failed.
	failed int
	// stream is that of the newest call; nil when it was not made.
	stream *stream
	// checkpointed is true when there may be a checkpoint.
	checkpointed bool
	// refused is true when the newest call was not made, because the provider rests.
	refused bool
	// again is true when what was reserved when the step began is not what the next call needs: one was made before.
	again bool
	// made counts the calls of the step.
	made int
}

func (r *turnRun) newAsking(output models.MessageID) *asking {
	r.uncounted = &turns.Uncounted{}
	eff := r.step.effective
	return &asking{r: r, output: output, model: eff.Model, later: eff.Fallbacks, checkpointed: r.recovered, again: r.recovered}
}

// run asks until there is an answer. failure is why there is none; then resp is what the last call had brought. err is what keeps this
// process from asking on.
func (a *asking) run(ctx context.Context) (resp llm.Response, failure, err error) {
	e := a.r.e
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
		now := e.cfg.Clock.Now()
		if first.IsZero() {
			first = now
		}
		a.leaveOut(ctx)
		a.tries.others = len(a.later)
		what := callFailure{transient: f.Transient, refused: a.refused, retryAfter: f.RetryAfter}
		next := a.tries.next(what, now.Sub(first), e.cfg.Random())
		if again, ok := next.(callAgain); ok {
			if until, rests := e.breakers.rests(a.provider(), now.Add(again.after)); rests {
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

// provider names the breaker of the model that is asked.
func (a *asking) provider() breakerKey { return breakerKey{a.r.turn.OrgID, a.model.Provider.ID} }

// leaveOut drops fallbacks that this server can't call: the failure that the user is told of is to be that of a model that was asked.
func (a *asking) leaveOut(ctx context.Context) {
	for len(a.later) > 0 {
		m := a.later[0]
		_, _, err := a.r.e.reach(ctx, m)
		if err == nil {
			return
		}
		a.r.e.cfg.Logger.Warn("a fallback model is skipped", "org", a.r.turn.OrgID, "model", m.Model.ID, "error", err)
		a.later = a.later[1:]
	}
}

// announce tells those who watch that a call failed and what is done about it, and takes back what it had said.
func (a *asking) announce(failure *llm.Error, next *catalog.RunModel, delay time.Duration) {
	r := a.r
	r.e.cfg.Logger.Warn("a model call failed and is retried", "org", r.turn.OrgID, "turn", r.turn.ID, "provider", a.model.Provider.ID,
		"model", a.model.Model.Name, "next", next.Model.Name, "delay", delay, "error", failure)
	r.e.cfg.Hub.PublishRetrying(r.turn.OrgID, r.turn.SessionID, r.turn.ID, events.GenerationRetrying{
		MessageID: a.output, Model: a.model.Model.Name, Code: string(failure.Code), Message: texts.Clean(failure.Message),
		NextModel: next.Model.Name, Attempt: a.failed, DelayMs: delay.Milliseconds(),
	})
	if !a.refused {
		r.withdraw(a.attempt())
	}
	a.note(next, false)
}

// attempt is the number of the next call in the turn.
func (a *asking) attempt() int { return a.r.turn.ModelCalls + a.r.uncounted.Made }

// tally is what is known of the step's calls before the next one.
func (a *asking) tally(next *catalog.RunModel) turns.Tally {
	return turns.Tally{Asked: turns.AskedOf(&next.Model), Ended: a.r.uncounted.Made, Took: a.r.uncounted.Usage}
}

// note keeps what the calls took that have ended, and withdraws the checkpoint of the last one with it: should this process die before a
// commit counts them, nobody else would know. resting reports that no other call will be made here.
func (a *asking) note(next *catalog.RunModel, resting bool) {
	r, known := a.r, a.tally(next)
	known.Resting = resting
	a.checkpointed = true
	r.e.trySaveCheckpoint(models.Checkpoint{
		OrgID: r.turn.OrgID, TurnID: r.turn.ID, SessionID: r.turn.SessionID, MessageID: a.output, Epoch: r.turn.LeaseEpoch,
		Attempt: a.attempt(), Usage: jsonx.MustEncode(known), UpdatedAt: r.e.nowMillis(),
	})
}

// cutShort leaves behind what is known of a call that did not come to its end, unless this process commits it by itself.
func (a *asking) cutShort(ctx context.Context, took models.Usage) {
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
func (a *asking) wait(ctx context.Context, d time.Duration) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(a.r.e.ending, cancel)
	defer stop()
	err := a.r.e.cfg.Sleep(waiting, d)
	switch {
	case ctx.Err() != nil:
		if !errors.Is(context.Cause(ctx), turns.ErrCancelled) {
			a.note(a.model, true)
		}
		return fmt.Errorf("the wait for the model was cut short: %w", context.Cause(ctx))
	case a.r.e.ending.Err() != nil:
		a.note(a.model, true)
		return a.r.giveBack(ctx)
	}
	return err
}

// call makes one call, if the provider may be asked.
func (a *asking) call(ctx context.Context) (resp llm.Response, err error) {
	e, m, u := a.r.e, a.model, a.r.uncounted
	a.refused, a.stream = false, nil
	driver, at, err := e.reach(ctx, m)
	if err != nil {
		return resp, err
	}
	key := a.provider()
	if until, rests := e.breakers.rests(key, e.cfg.Clock.Now()); rests {
		a.refused = true
		return resp, restingError(m, until)
	}
	// Before the breaker is asked: a probe that waits for money would keep all others from the provider.
	limit, err := a.afford(ctx)
	if err != nil {
		return resp, err
	}
	p, ok, until := e.breakers.admit(key, e.cfg.Clock.Now())
	if !ok {
		a.refused = true
		return resp, restingError(m, until)
	}
	outcome := outcomeUnknown
	defer func() { e.breakers.report(key, p, outcome, e.cfg.Clock.Now()) }()
	a.again = true
	ctx = e.traceCall(ctx, m, a.attempt())
	defer func() { e.endCallTrace(ctx, resp.Usage, err) }()
	call, watch := e.watchIdle(ctx)
	defer watch.end()
	a.stream = newStream(e, a.r.turn, a.output, a.attempt(), watch, a.tally(m))
	if p.probe {
		// The others need not wait until a long answer has ended.
		a.stream.answers = func() {
			e.breakers.report(key, p, outcomeAnswered, e.cfg.Clock.Now())
			p = pass{}
		}
	}
	a.tries.calls++
	a.made++
	u.Made++
	u.AskedAt, u.Through = e.nowMillis().Ptr(), a.r.conversation.through()
	resp, err = a.runDriver(call, driver, a.r.request(m, at, limit, watch.alive), a.stream.emit)
	a.stream.finish()
	defer func() { a.measure(m.Provider.Kind, err) }()
	a.checkpointed = a.checkpointed || a.stream.checkpointed
	// A failed call that tells nothing took nothing.
	if err == nil || resp.Usage != (models.Usage{}) {
		u.Add(turns.MeteredCall{N: u.Made, Model: &m.Model, Usage: rated(&m.Model, resp.Usage), DurationMs: a.stream.elapsed(), Retries: a.failed})
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
		err = idleError(e.cfg.IdleTimeout, err)
	case errors.Is(cause, errEndless):
		err = endlessError(e.cfg.CallTimeout, err)
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
		return outcomeFailed
	}
	return outcomeAnswered
}

// measure tells the meter how the newest call went.
func (a *asking) measure(kind models.ProviderKind, err error) {
	meter, code := a.r.e.cfg.Meter, ""
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
	if !a.r.outputBegun && a.r.turn.FirstTokenAt == nil {
		a.r.outputBegun = true
		meter.Spoke(a.stream.begunAt.Add(first).Sub(a.r.turn.QueuedAt.Time()))
	}
}

// runDriver makes a call. A driver that panics has failed.
func (a *asking) runDriver(
	ctx context.Context, driver llm.Driver, req llm.Request, emit func(llm.Delta),
) (resp llm.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			a.r.e.cfg.Meter.Panicked("turn")
			err = fmt.Errorf("the driver panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return driver.Stream(ctx, req, emit)
}

// failure returns what the user is told of a step that failed, as the turn's error and that of its message.
func (a *asking) failure(err error) models.Failure {
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
