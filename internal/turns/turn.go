package turns

import (
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// BeginTurn is the first step's start.
type BeginTurn struct{ Writer }

// Needs implements commit.Command. A budget may end the turn before its first step.
func (c *BeginTurn) Needs() commit.Needs { return c.needs(1024, c.Budgeted) }

// Apply implements commit.Command.
func (c *BeginTurn) Apply(tx *commit.Tx) error {
	c.begin(tx)
	return c.follow(tx, Begun{})
}

// ResumeTurn goes on between two steps: where a runner that went down in good order has left the turn.
type ResumeTurn struct{ Writer }

// Needs implements commit.Command.
func (c *ResumeTurn) Needs() commit.Needs { return c.needs(1024, true) }

// Apply implements commit.Command.
func (c *ResumeTurn) Apply(tx *commit.Tx) error {
	if tx.Turn.Iteration == 0 {
		return c.follow(tx, Begun{})
	}
	return c.follow(tx, Acted{})
}

// EndTurn ends a turn before it has an answer: it was cancelled, its step can't be done, or it is stuck. What is open is closed.
type EndTurn struct {
	Writer
	// Why is nil for a turn that was cancelled. One that was, ends so whatever else is the matter: who asked for that was told that it comes.
	Why Outcome
	// Partial is what the model had said until then.
	Partial []models.Part
	// Uncounted is what the model calls took; nil when none was made here.
	Uncounted *Uncounted
	// Runs are hooks that ran before; Unasked reports that the model was not asked in the present step.
	Runs    []hooks.Ran
	Unasked bool
	// Lost is what those of a dead runner took; nil when there are none.
	Lost *LostCall
}

// Needs implements commit.Command.
func (c *EndTurn) Needs() commit.Needs { return Needs(c.needs(4096, true)) }

// Apply implements commit.Command.
func (c *EndTurn) Apply(tx *commit.Tx) error {
	t := tx.Turn
	if c.Why == nil && t.Cancel == nil {
		return errors.New("a turn ends that nobody has cancelled")
	}
	p, ok := next(State{Iteration: t.Iteration}, c.Why, facts{Cancelled: t.Cancel != nil}).(End)
	if !ok {
		return fmt.Errorf("%T does not end a turn", c.Why)
	}
	c.Plan = p
	if err := c.Lost.count(tx); err != nil {
		return err
	}
	if err := c.Uncounted.count(tx, false); err != nil {
		return err
	}
	var err error
	if p.Status == models.TurnCancelled {
		err = c.cancel(tx)
	} else {
		err = c.fail(tx, p)
	}
	c.done(tx, t)
	return err
}

func (c *EndTurn) cancel(tx *commit.Tx) error {
	if t := tx.Turn; t.Phase == models.PhaseReason {
		tx.SaveEffect(models.Effect{
			ScopeID: models.ExecutionID(t.ID), ReplayKey: ReasonKey(t.Iteration), State: models.EffectSettled, Epoch: c.Lease.Epoch, Attempt: t.ModelCalls,
			SettledAt: tx.Now.Ptr(), Outcome: jsonx.MustEncode(map[string]string{"error": "cancelled"}),
		})
	}
	return endCancelled(tx, c.Partial)
}

func (c *EndTurn) fail(tx *commit.Tx, p End) error {
	t := tx.Turn
	c.begin(tx)
	ranEvents(tx, &t.ID, "", c.Runs)
	if c.Unasked {
		t.ModelCalls--
	}
	if t.Iteration == 0 {
		// This is the answer to what the turn was to begin with. Were it left in the inbox, it would be the input of another
		// turn, which would fail for the same reason, and so on.
		tx.ConsumeInbox()
	}
	if t.Phase == models.PhaseReason {
		c.failReason(tx, p)
	} else {
		closeWaits(tx, "The turn has failed.")
		if err := closeCalls(tx, (*Call).Interrupted); err != nil {
			return err
		}
		explain(tx, c.Config.Model.Name, p.Failure)
	}
	return c.end(tx, p)
}

// failReason ends the reason step that is open, with the failure on its message.
func (c *EndTurn) failReason(tx *commit.Tx, p End) {
	t := tx.Turn
	output := *t.OutputMessageID
	m := models.Message{ID: output, TurnID: t.ID, Role: models.MessageAgent, Content: c.Partial, Error: p.Failure, CreatedAt: tx.Now}
	if m.Content == nil {
		m.Content = []models.Part{}
	}
	AddMessage(tx, m, nil)
	t.FinalMessageID = &output
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: t.Iteration})
	var askedAt *models.Millis
	if c.Uncounted != nil {
		askedAt = c.Uncounted.AskedAt
	}
	tx.SaveEffect(models.Effect{
		ScopeID: models.ExecutionID(t.ID), ReplayKey: ReasonKey(t.Iteration), State: models.EffectSettled, Epoch: c.Lease.Epoch,
		Attempt: t.ModelCalls, StartedAt: askedAt, SettledAt: tx.Now.Ptr(), Outcome: jsonx.MustEncode(p.Failure),
	})
	tx.DropCheckpoint()
}

// EndJob commits what the hooks of a job have said.
type EndJob struct {
	Job  models.HookJob
	Runs []hooks.Ran
}

// Needs implements commit.Command.
func (c *EndJob) Needs() commit.Needs {
	return commit.Needs{Org: c.Job.OrgID, Session: c.Job.SessionID, Bytes: 512 * (1 + len(c.Runs))}
}

// Apply implements commit.Command.
func (c *EndJob) Apply(tx *commit.Tx) error {
	if tx.Session == nil {
		return nil
	}
	ranEvents(tx, c.Job.TurnID, "", c.Runs)
	tx.EndHookJob(c.Job.ID)
	return nil
}

// ErrCancelled cuts the step of a turn short of which somebody has asked for the end.
var ErrCancelled = errors.New("the turn was cancelled")
