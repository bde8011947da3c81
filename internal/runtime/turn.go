package runtime

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// maxTakeovers is how often in a row a turn may be taken over without a committed step.
	maxTakeovers = 3
	// commitGrace is how long a commit may take after its step was cut short: what is done should not be lost.
	commitGrace = 5 * time.Second
	// giveUpPause is between two attempts to get rid of a turn that can't go on here.
	giveUpPause = time.Second
)

// errReleased means that the turn was given back on purpose.
var errReleased = errors.New("the turn was released")

// errEnded stops the loop after the turn has ended on the way to a step.
var errEnded = errors.New("the turn has ended")

// turnRun is one claim of a turn: all its steps until it ends, is given back, or the lease is lost.
type turnRun struct {
	e    *Engine
	turn models.Turn
	// session is what the newest commit, or a read before the first one, says of the session; nil before that.
	session *sessionInfo
	// step is what the present step runs with.
	step *stepInput
	// conversation is what the model has been shown in this session.
	conversation *conversation
	// input is the message that the turn begins with; nil when that isn't known here.
	input *models.Message
	// sequence is that of the session's newest event, as of the newest commit.
	sequence int64
	// recovered is true when another runner has begun the present reason step.
	recovered bool
	// uncounted is what the model calls of the present reason step took; nil between two.
	uncounted *turns.Uncounted
	// partial is what the model had said when it was cut short.
	partial []models.Part
	// attention reports that something has happened to the turn.
	attention <-chan struct{}
}

// stepInput is what a step runs with.
type stepInput struct {
	// basis is what it was worked out for.
	basis     turns.Basis
	effective *catalog.Effective
}

// runTurn works on a turn and deals with what stops it before its end. began is how its first step has begun; nil when
// it has not. ctx ends when the turn is cancelled, and with life, which is that of the runner.
func (e *Engine) runTurn(life, ctx context.Context, r *turnRun, began *turns.Writer) {
	t := r.turn
	ctx = e.traceTurn(ctx, &t)
	defer e.endTurnTrace(ctx, &r.turn)
	err := r.guarded(func() error { return r.run(ctx, began) })
	if errors.Is(context.Cause(ctx), turns.ErrCancelled) && !stopped(err) {
		// What is under way has ended; the turn is still to be.
		ctx = inTrace(life, ctx)
		err = r.guarded(func() error { return r.cancelled(ctx) })
	}
	if err == nil && r.turn.Status != models.TurnWaiting {
		r.conversation.session, r.conversation.sequence = *r.session, r.sequence
		if r.turn.Status != models.TurnCompleted {
			// What the user was told about that has joined the conversation, and isn't known here.
			r.conversation.sequence = 0
		}
		e.conversations.put(t, r.conversation)
	}
	defer func() {
		if at := r.turn.FinishedAt; at != nil {
			e.cfg.Meter.Ended(at.Time().Sub(r.turn.QueuedAt.Time()))
		}
	}()
	if stopped(err) {
		return
	}
	if ctx.Err() == nil {
		// Nobody else would get further: an error that may pass was waited for, or met by the committer.
		e.cfg.Logger.Error("a turn can't continue and ends", "org", t.OrgID, "turn", t.ID, "error", err)
		err = r.guarded(func() error { return r.fail(ctx, failureOf(err), nil) })
		if stopped(err) {
			return
		}
	}
	e.giveUp(ctx, queue.HeldTurn(&r.turn), err)
}

// stopped reports whether there is nothing more to do for the turn here: it has ended, or is another runner's.
func stopped(err error) bool {
	return err == nil || errors.Is(err, errReleased) || errors.Is(err, errEnded) || errors.Is(err, commit.ErrLeaseLost) ||
		errors.Is(err, errDeclaredDead)
}

// guarded turns a panic into an error, so that it ends one turn and not the process with all others.
func (r *turnRun) guarded(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.e.cfg.Meter.Panicked("turn")
			err = fmt.Errorf("a step panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return fn()
}

// failureOf returns how a turn ends that an error keeps from going on.
func failureOf(err error) turns.Failed {
	if e, ok := errors.AsType[*turns.MismatchError](err); ok {
		return e.Failure()
	}
	return turns.Failed{Stop: models.StopError, Failure: models.Failure{
		Code: string(llm.CodeInternal), Message: "The server could not continue this turn. The error was logged; try another way.",
	}}
}

// giveUp puts an execution back into the queue, however often it has to be tried: while this runner lives, nobody else would. At a
// shutdown it is as good as before; else something is wrong with it, which counts as a takeover, so that
// it is given up after some.
func (e *Engine) giveUp(ctx context.Context, h queue.Held, why error) {
	letGo := e.cfg.Queue.Release
	if ctx.Err() == nil {
		e.cfg.Logger.Error("an execution could not be ended and returns to the queue", "org", h.OrgID, "execution", h.Execution, "error", why)
		letGo = e.cfg.Queue.Retry
		// It would come back at once.
		pause(ctx, giveUpPause)
	}
	// When this fails, the shutdown takes everything off this runner, and when that fails, whoever misses it.
	_ = e.putBack(ctx, h, letGo)
}

// putBack tries to let go of an execution for as long as the step lasts, and a little longer. A database that is away must not end it.
func (e *Engine) putBack(ctx context.Context, h queue.Held, letGo func(context.Context, queue.Held) error) error {
	for {
		free, cancel := lingering(ctx, commitGrace)
		err := letGo(free, h)
		cancel()
		if err == nil {
			e.announce()
			return nil
		}
		e.cfg.Logger.Warn("an execution could not be released", "execution", h.Execution, "error", err)
		if !pause(ctx, giveUpPause) {
			return err
		}
	}
}

// lingering returns a context that ends some time after ctx does.
func lingering(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return out, func() {
		stop()
		cancel()
	}
}

// run works on the turn until there is nothing left to do here.
func (r *turnRun) run(ctx context.Context, began *turns.Writer) (err error) {
	if r.turn.Cancel != nil {
		return r.cancelled(ctx)
	}
	if r.turn.Takeovers >= maxTakeovers {
		return r.endBy(ctx, turns.Stuck{Takeovers: r.turn.Takeovers})
	}
	w := began
	if w == nil {
		w, err = r.enter(ctx)
	}
	for err == nil {
		if w.Parked {
			return nil
		}
		if w.Plan == nil && w.Turn.Cancel != nil {
			return r.cancelled(ctx)
		}
		switch w.Plan.(type) {
		case turns.Reason:
			w, err = r.takeStep(ctx, models.PhaseReason, w)
		case turns.Act:
			w, err = r.takeStep(ctx, models.PhaseAct, w)
		case turns.End:
			return nil
		default:
			if w.Stopping {
				return r.giveBack(ctx)
			}
			// The session runs with something else by now.
			w, err = r.enter(ctx)
		}
	}
	if errors.Is(err, turns.ErrCancelled) && ctx.Err() == nil {
		// The step has found out by itself.
		return r.cancelled(ctx)
	}
	return err
}

// takeStep takes the next step, and measures it.
func (r *turnRun) takeStep(ctx context.Context, phase models.Phase, began *turns.Writer) (w *turns.Writer, err error) {
	start := time.Now()
	ctx = r.e.traceStep(ctx, phase, r.turn.Iteration)
	defer func() {
		r.e.cfg.Meter.Stepped(phase, time.Since(start))
		r.e.endTrace(ctx, err)
	}()
	if phase == models.PhaseReason {
		return r.reason(ctx, began)
	}
	return r.act(ctx, began.Open)
}

// enter goes on from where the turn's row says that it stands.
func (r *turnRun) enter(ctx context.Context) (*turns.Writer, error) {
	if err := r.persist(ctx, "read the session", func() error { return r.readSession(ctx) }); err != nil {
		return r.cantBegin(ctx, err)
	}
	blocked, err := r.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if blocked != nil {
		return nil, r.endBy(ctx, *blocked)
	}
	known := r.budgeted() && r.turn.Phase != models.PhaseReason
	if known {
		// What the next call takes is worked out from it.
		if err := r.readConversation(ctx, false); err != nil {
			return nil, err
		}
	}
	switch {
	case r.turn.Phase == models.PhaseInput:
		c := &turns.BeginTurn{Writer: r.writer()}
		w, err := r.submit(ctx, c, &c.Writer)
		if err == nil && known {
			r.join(w)
		}
		return w, err
	case r.turn.Phase == models.PhaseReason:
		return r.takeOver(ctx)
	case r.turn.PendingCalls == 0:
		c := &turns.ResumeTurn{Writer: r.writer()}
		return r.submit(ctx, c, &c.Writer)
	}
	open, err := r.openCalls(ctx)
	w := r.writer()
	w.Plan, w.Open = turns.Act{}, open
	return &w, err
}

// cantBegin ends the turn when what it needs is gone. Other errors are given back: they are not the turn's.
func (r *turnRun) cantBegin(ctx context.Context, err error) (*turns.Writer, error) {
	if blocked := blockedBy(err); blocked != nil {
		return nil, r.endBy(ctx, *blocked)
	}
	return nil, err
}

// resolve finds out what the next step runs with, or why there can be none.
func (r *turnRun) resolve(ctx context.Context) (blocked *turns.Failed, err error) {
	var step *stepInput
	err = r.persist(ctx, "resolve the effective configuration of the step", func() (err error) {
		step, err = r.resolveOnce(ctx)
		return err
	})
	if err != nil {
		if blocked := blockedBy(err); blocked != nil {
			return blocked, nil
		}
		return nil, fmt.Errorf("resolve the effective configuration of the step: %w", err)
	}
	r.step = step
	return nil, nil
}

func (r *turnRun) resolveOnce(ctx context.Context) (*stepInput, error) {
	b := turns.Basis{Harness: r.session.harness, Agent: models.Value(r.session.agent), Session: models.Value(r.session.model), Message: models.Value(r.turn.ModelID), Setup: string(r.session.setup)}
	eff, err := r.e.cfg.Catalog.EffectiveForSession(ctx, r.turn.OrgID, catalog.Run{
		HarnessID: b.Harness, AgentID: b.Agent.Ptr(), SessionModelID: b.Session.Ptr(), MessageModelID: b.Message.Ptr(), Setup: []byte(b.Setup),
	})
	if err != nil {
		return nil, err
	}
	return &stepInput{basis: b, effective: eff}, nil
}

// refresh resolves anew before a commit that may begin the next step. Without an answer at a shutdown no step begins anyway.
func (r *turnRun) refresh(ctx context.Context) (*turns.Failed, error) {
	blocked, err := r.resolve(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, nil //nolint:nilerr // the commit that follows begins no step
	}
	return blocked, err
}

// blockedBy returns how a turn ends when something that it needs is gone or missing; nil when the error says nothing like that.
func blockedBy(err error) *turns.Failed {
	var gone *catalog.DependencyError
	var model *catalog.ModelError
	switch {
	case errors.As(err, &gone):
		return &turns.Failed{Stop: models.StopDependency, Failure: models.Failure{
			Code: "dependency_unavailable", Message: gone.Error(),
			Fields: jsonx.MustEncode(map[string]string{"dependency": gone.Dependency, "state": string(gone.State)}),
		}}
	case errors.As(err, &model):
		return &turns.Failed{Stop: models.StopError, Failure: models.Failure{
			Code: string(llm.CodeMisconfigured), Message: model.Error(),
			Fields: jsonx.MustEncode(turns.FailureFields{Provider: model.Provider, Model: model.Name}),
		}}
	}
	return nil
}

// submit commits a command of the turn and keeps what became of the turn's row. It outlives the step by a little: what was
// done should not be lost because the process goes down in that moment.
func (r *turnRun) submit(ctx context.Context, c commit.Command, w *turns.Writer) (*turns.Writer, error) {
	ctx, cancel := lingering(ctx, commitGrace)
	defer cancel()
	if err := r.e.cfg.Committer.Submit(ctx, c); err != nil {
		return nil, err
	}
	r.turn, r.sequence = w.Turn, w.Sequence
	if r.session != nil {
		r.session.harness, r.session.agent, r.session.model = w.Basis.Harness, w.Basis.Agent.Ptr(), w.Basis.Session.Ptr()
		r.session.setup = []byte(w.Basis.Setup)
		r.session.budgeted, r.session.files = w.HasBudgets, w.HasFiles
	}
	return w, nil
}

// fail ends the turn. partial is what the model had said.
func (r *turnRun) fail(ctx context.Context, why turns.Outcome, partial []models.Part) error {
	c := &turns.EndTurn{Writer: r.writer(), Why: why, Partial: partial, Uncounted: r.uncounted}
	if r.uncounted == nil {
		var err error
		if c.Lost, err = r.lostCall(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			// Nothing may keep a turn from its end.
			r.e.cfg.Logger.Error("the usage of a lost model call can't be recorded", "org", r.turn.OrgID, "turn", r.turn.ID, "error", err)
		}
		if partial == nil {
			c.Partial = c.Lost.Parts()
		}
	}
	_, err := r.submit(ctx, c, &c.Writer)
	return err
}

// cancelled ends the turn because somebody has asked for its end. What the model had said is kept. Its error is errEnded when that is
// committed.
func (r *turnRun) cancelled(ctx context.Context) error {
	c := &turns.EndTurn{Writer: r.writer(), Partial: r.partial, Uncounted: r.uncounted}
	if r.uncounted == nil {
		// The model may have been asked by a runner that is gone.
		var err error
		if c.Lost, err = r.lostCall(ctx); err != nil {
			return err
		}
		c.Partial = c.Lost.Parts()
	}
	if _, err := r.submit(ctx, c, &c.Writer); err != nil {
		return err
	}
	return errEnded
}

// endBy ends the turn for a reason that leaves no step to be done. Its error is errEnded when that is committed.
func (r *turnRun) endBy(ctx context.Context, why turns.Outcome) error {
	if err := r.fail(ctx, why, nil); err != nil {
		return err
	}
	return errEnded
}

// giveBack releases the lease between two steps, so that another runner goes on.
func (r *turnRun) giveBack(ctx context.Context) error {
	if err := r.e.putBack(ctx, queue.HeldTurn(&r.turn), r.e.cfg.Queue.Release); err != nil {
		return err
	}
	return errReleased
}

func (r *turnRun) writer() turns.Writer {
	w := turns.Writer{
		Org: r.turn.OrgID, Session: r.turn.SessionID, Lease: commit.LeaseOf(&r.turn),
		Stopping: r.e.stopping(), Budgeted: r.budgeted(),
	}
	if w.Budgeted && r.step != nil && r.conversation != nil {
		w.Demand = r.demand(&r.step.effective.Model.Model, inboxBytes)
	}
	if r.step != nil {
		eff := r.step.effective
		w.Config = turns.StepConfig{
			Basis: r.step.basis, Model: eff.Model.Model, MaxIterations: eff.MaxIterations, HarnessRevision: eff.HarnessRevision,
			AgentRevision: eff.AgentRevision, ConfigHash: hex.EncodeToString(eff.Hash[:]),
			StartHooks: r.hasHooks(tools.HookSessionStart), EndHooks: r.hasHooks(tools.HookTurnEnd),
		}
	}
	return w
}
