package runtime

import (
	"fmt"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

const previewRunes = 200

// writer is what the commands of a turn share. Its Apply methods are pure: they may run again on newer state.
type writer struct {
	org     models.OrgID
	session models.SessionID
	lease   commit.Lease
	// cfg is what the step runs with that the command may begin.
	cfg stepConfig
	// budgeted is true when the command may have to do with budgets; call is what a model call takes that the command may begin, nil where
	// that wasn't worked out.
	budgeted bool
	call     *budget.Call
	// stopping tells not to begin another step: the process is going down, and another runner goes on.
	stopping bool
	// blocked is why no further step can begin; nil when one can.
	blocked *Failed

	// What the command has decided, for the runner; set anew by each Apply.

	// plan is nil when the turn goes on, but not with what this command knows, and when it is parked.
	plan Plan
	// parked is true when nothing is left to do until somebody resolves what the turn waits for.
	parked bool
	// consumed is true when messages have joined the conversation.
	consumed bool
	// consumedAt is the position at which they have.
	consumedAt int64
	// sequence is that of the session's newest event.
	sequence int64
	turn     models.Turn
	// hasBudgets is true when the organization has budgets, hasFiles when the session has files, empty ones aside.
	hasBudgets, hasFiles bool
	// now is what the session runs with.
	now     basis
	actedAt int64
	// messageAt is the position of the model's message.
	messageAt int64
	// open are the calls that the act has begun with.
	open []turns.Call
	// clients are those of them that the caller's own program is to run, after all others.
	clients []turns.Call
}

// basis is what decides what a step runs with; zero ids stand for none.
type basis struct {
	harness models.HarnessID
	agent   models.AgentID
	// session and message are the models that each asks for.
	session, message models.ModelID
	// clientTools is the hash of those that the session brings.
	clientTools string
}

// stepConfig is what the steps of a turn run with.
type stepConfig struct {
	basis           basis
	model           models.Model
	maxIterations   int
	harnessRevision int
	agentRevision   *int
	configHash      string
	// startHooks and endHooks report that hooks run when the session has begun, and when the turn has ended.
	startHooks, endHooks bool
}

// needs returns what the command locks; ends, that it may end the turn.
func (w *writer) needs(bytes int, ends bool) commit.Needs {
	return commit.Needs{Org: w.org, Session: w.session, Lease: &w.lease, Ends: ends, Bytes: bytes, Budgets: w.budgeted}
}

// grow reports that the conversation gets so many bytes with the command.
func (w *writer) grow(bytes int) {
	if w.call != nil {
		call := *w.call
		call.InputTokens += int64(bytes)
		w.call = &call
	}
}

// done keeps for the runner how the command leaves things.
func (w *writer) done(tx *commit.Tx, t *models.Turn) {
	w.turn, w.parked = *t, t.Status == models.TurnWaiting
	w.sequence, w.hasBudgets, w.hasFiles = tx.Session.LastSequence, tx.Session.Budgeted, tx.Session.FileBytes > 0
	w.now = basisOf(tx.Session, t)
}

func basisOf(s *models.Session, t *models.Turn) basis {
	return basis{
		harness: s.HarnessID, agent: models.Value(s.AgentID), session: models.Value(s.ModelID), message: models.Value(t.ModelID),
		clientTools: string(s.ClientTools),
	}
}

// begin marks the turn as started, once. With the first turn of a session its hooks for that run.
func (w *writer) begin(tx *commit.Tx) {
	if w.cfg.startHooks && tx.Session.Status == models.SessionStarted {
		tx.AddHookJob(models.HookJob{
			ID: models.NewID[models.HookJobEntity](), Event: string(tools.HookSessionStart), Payload: models.JSON("{}"), DueAt: tx.Now,
		})
	}
	turns.Begin(tx)
}

// follow does what the planner decides after an outcome. It is the last thing that a command does.
func (w *writer) follow(tx *commit.Tx, o Outcome) error {
	t := tx.Turn
	t.Takeovers, t.Attention = 0, false
	w.consumed = false
	if _, first := o.(Begun); first && t.Cancel != nil {
		// Its runner ends it, in a command that answers what the turn was to begin with: else that would begin another one.
		w.plan = nil
		w.done(tx, t)
		return nil
	}
	w.plan = Next(State{Iteration: t.Iteration, MaxIterations: w.cfg.maxIterations}, o, Facts{
		InboxEmpty: tx.InboxEmpty(), Blocked: w.blocked, Cancelled: t.Cancel != nil,
	})
	var err error
	switch p := w.plan.(type) {
	case Reason:
		if w.stopping || w.cfg.basis != basisOf(tx.Session, t) {
			// Another runner goes on, or this one after it has looked what the session runs with now.
			w.plan = nil
			t.Phase = models.PhaseAct
			break
		}
		var begin bool
		if begin, err = w.reserve(tx); begin {
			w.startReason(tx, p.Iteration)
		}
	case End:
		if p.Status == models.TurnFailed || p.Stop == models.StopBudget {
			turns.Explain(tx, w.cfg.model.Name, p.Failure)
		}
		err = w.end(tx, p)
	}
	w.done(tx, t)
	return err
}

// startReason begins a reason step: the waiting messages join the conversation, and the message that will be written gets its id.
func (w *writer) startReason(tx *commit.Tx, iteration int) {
	t := tx.Turn
	w.consumed, w.consumedAt = !tx.InboxEmpty(), tx.Session.LastSequence+1
	tx.ConsumeInbox()
	t.Phase, t.Iteration, t.EndHooks = models.PhaseReason, iteration, w.cfg.endHooks
	t.HarnessRevision, t.AgentRevision = &w.cfg.harnessRevision, w.cfg.agentRevision
	t.ModelCalls++
	output := models.NewID[models.MessageEntity]()
	t.OutputMessageID = &output
	tx.Emit(&t.ID, events.ReasonStarted{Iteration: iteration})
	tx.Emit(&t.ID, events.OutputStarted{MessageID: output, Model: w.cfg.model.Name, Iteration: iteration})
	tx.AddEffect(models.Effect{
		ScopeID: t.ID, ReplayKey: reasonKey(iteration), Kind: models.EffectModel, State: models.EffectRunning,
		InputHash: modelInputHash(w.cfg, t.ConsumedThrough), Request: jsonx.MustEncode(askedOf(&w.cfg.model)),
		Epoch: w.lease.Epoch, Attempt: 1, StartedAt: tx.Now.Ptr(),
	})
}

func reasonKey(iteration int) string { return fmt.Sprintf("reason/%d", iteration) }

// end ends the turn and moves the session's line on.
func (w *writer) end(tx *commit.Tx, p End) error {
	t := tx.Turn
	if p.Failure != nil {
		t.Error = p.Failure
	}
	switch p.Status {
	case models.TurnCancelled:
		return turns.FinishCancelled(tx)
	case models.TurnFailed:
		return tx.EndTurn(p.Status, p.Stop, events.TurnFailed{StopReason: p.Stop, Error: *p.Failure})
	case models.TurnSealed:
		return tx.EndTurn(p.Status, p.Stop, events.TurnSealed{StopReason: p.Stop, Error: *p.Failure})
	}
	done := events.TurnCompleted{
		StopReason: p.Stop, Iterations: t.Iteration, ToolCalls: t.ToolCalls, ModelCalls: t.ModelCalls,
		FinalMessageID: t.FinalMessageID, AnswerPreview: models.Value(t.AnswerPreview), Usage: t.Usage,
		DurationMs: max(int64(tx.Now-*t.StartedAt), 0),
	}
	if t.FirstTokenAt != nil {
		ms := max(int64(*t.FirstTokenAt-*t.StartedAt), 0)
		done.TimeToFirstTokenMs = &ms
	}
	return tx.EndTurn(p.Status, p.Stop, done)
}
