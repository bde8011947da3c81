package turns

import (
	"fmt"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

const previewRunes = 200

// Writer is what the commands of a runner share: what it writes under, what the next step would run with, and what a command has decided.
type Writer struct {
	Org     models.OrgID
	Session models.SessionID
	Lease   commit.Lease
	// Config is what the step runs with that the command may begin.
	Config StepConfig
	// Budgeted is true when the command may have to do with budgets; Demand is what a model call takes that the command may begin, nil where
	// that wasn't worked out.
	Budgeted bool
	Demand   *budget.Call
	// Stopping tells not to begin another step: the process is going down, and another runner goes on.
	Stopping bool
	// Blocked is why no further step can begin; nil when one can.
	Blocked *Failed

	// What the command has decided, for the runner; set anew by each Apply.

	// Plan is nil when the turn goes on, but not with what this command knows, and when it is parked.
	Plan Plan
	// Parked is true when nothing is left to do until somebody resolves what the turn waits for.
	Parked bool
	// Consumed is true when messages have joined the conversation.
	Consumed bool
	// ConsumedAt is the position at which they have.
	ConsumedAt int64
	// Sequence is that of the session's newest event.
	Sequence int64
	Turn     models.Turn
	// HasBudgets is true when the organization has budgets, HasFiles when the session has files, empty ones aside.
	HasBudgets, HasFiles bool
	// Basis is what the session runs with.
	Basis   Basis
	ActedAt int64
	// MessageAt is the position of the model's message.
	MessageAt int64
	// Open are the calls that the act has begun with.
	Open []Call
	// Clients are those of them that the caller's own program is to run, after all others.
	Clients []Call
}

// Basis is what decides what a step runs with; zero ids stand for none.
type Basis struct {
	Harness models.HarnessID
	Agent   models.AgentID
	// Session and Message are the models that each asks for.
	Session, Message models.ModelID
	// Setup is the hash of what the session brings.
	Setup string
}

// StepConfig is what the steps of a turn run with.
type StepConfig struct {
	Basis           Basis
	Model           models.Model
	MaxIterations   int
	HarnessRevision int
	AgentRevision   *int
	ConfigHash      string
	// StartHooks and EndHooks report that hooks run when the session has begun, and when the turn has ended.
	StartHooks, EndHooks bool
}

// needs returns what the command locks; ends, that it may end the turn.
func (w *Writer) needs(bytes int, ends bool) commit.Needs {
	return commit.Needs{Org: w.Org, Session: w.Session, Lease: &w.Lease, Ends: ends, Bytes: bytes, Budgets: w.Budgeted}
}

// Grow reports that the conversation gets so many bytes with the command.
func (w *Writer) Grow(bytes int) {
	if w.Demand != nil {
		call := *w.Demand
		call.InputTokens += int64(bytes)
		w.Demand = &call
	}
}

// done keeps for the runner how the command leaves things.
func (w *Writer) done(tx *commit.Tx, t *models.Turn) {
	w.Turn, w.Parked = *t, t.Status == models.TurnWaiting
	w.Sequence, w.HasBudgets, w.HasFiles = tx.Session.LastSequence, tx.Session.Budgeted, tx.Session.FileBytes > 0
	w.Basis = basisOf(tx.Session, t)
}

func basisOf(s *models.Session, t *models.Turn) Basis {
	return Basis{
		Harness: s.HarnessID, Agent: models.Value(s.AgentID), Session: models.Value(s.ModelID), Message: models.Value(t.ModelID),
		Setup: string(s.Setup),
	}
}

// begin marks the turn as started, once. With the first turn of a session its hooks for that run.
func (w *Writer) begin(tx *commit.Tx) {
	if w.Config.StartHooks && tx.Session.Status == models.SessionStarted {
		tx.AddHookJob(models.HookJob{
			ID: models.NewID[models.HookJobEntity](), Event: string(tools.HookSessionStart), Payload: models.JSON("{}"), DueAt: tx.Now,
		})
	}
	Begin(tx)
}

// follow does what the planner decides after an outcome. It is the last thing that a command does.
func (w *Writer) follow(tx *commit.Tx, o Outcome) error {
	t := tx.Turn
	t.Takeovers, t.Attention = 0, false
	w.Consumed = false
	if _, first := o.(Begun); first && t.Cancel != nil {
		// Its runner ends it, in a command that answers what the turn was to begin with: else that would begin another one.
		w.Plan = nil
		w.done(tx, t)
		return nil
	}
	w.Plan = next(State{Iteration: t.Iteration, MaxIterations: w.Config.MaxIterations}, o, facts{
		InboxEmpty: tx.InboxEmpty(), Blocked: w.Blocked, Cancelled: t.Cancel != nil,
	})
	var err error
	switch p := w.Plan.(type) {
	case Reason:
		if w.Stopping || w.Config.Basis != basisOf(tx.Session, t) {
			// Another runner goes on, or this one after it has looked what the session runs with now.
			w.Plan = nil
			t.Phase = models.PhaseAct
			break
		}
		var begin bool
		if begin, err = w.reserve(tx); begin {
			w.startReason(tx, p.Iteration)
		}
	case End:
		if p.Status == models.TurnFailed || p.Stop == models.StopBudget {
			explain(tx, w.Config.Model.Name, p.Failure)
		}
		err = w.end(tx, p)
	}
	w.done(tx, t)
	return err
}

// startReason begins a reason step: the waiting messages join the conversation, and the message that will be written gets its id.
func (w *Writer) startReason(tx *commit.Tx, iteration int) {
	t := tx.Turn
	w.Consumed, w.ConsumedAt = !tx.InboxEmpty(), tx.Session.LastSequence+1
	tx.ConsumeInbox()
	t.Phase, t.Iteration, t.EndHooks = models.PhaseReason, iteration, w.Config.EndHooks
	t.HarnessRevision, t.AgentRevision = &w.Config.HarnessRevision, w.Config.AgentRevision
	t.ModelCalls++
	output := models.NewID[models.MessageEntity]()
	t.OutputMessageID = &output
	tx.Emit(&t.ID, events.ReasonStarted{Iteration: iteration})
	tx.Emit(&t.ID, events.OutputStarted{MessageID: output, Model: w.Config.Model.Name, Iteration: iteration})
	tx.AddEffect(models.Effect{
		ScopeID: models.ExecutionID(t.ID), ReplayKey: ReasonKey(iteration), Kind: models.EffectModel, State: models.EffectRunning,
		InputHash: modelInputHash(w.Config, t.ConsumedThrough), Request: jsonx.MustEncode(AskedOf(&w.Config.Model)),
		Epoch: w.Lease.Epoch, Attempt: 1, StartedAt: tx.Now.Ptr(),
	})
}

// ReasonKey is the key of a reason step in the journal.
func ReasonKey(iteration int) string { return fmt.Sprintf("reason/%d", iteration) }

// end ends the turn and moves the session's line on.
func (w *Writer) end(tx *commit.Tx, p End) error {
	t := tx.Turn
	if p.Failure != nil {
		t.Error = p.Failure
	}
	switch p.Status {
	case models.TurnCancelled:
		return FinishCancelled(tx)
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
