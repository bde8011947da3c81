package runtime

import (
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// beginTurn is the first step's start.
type beginTurn struct{ writer }

// Needs reports whether a budget may end the turn before its first step.
func (c *beginTurn) Needs() commit.Needs { return c.needs(1024, c.budgeted) }

func (c *beginTurn) Apply(tx *commit.Tx) error {
	c.begin(tx)
	return c.follow(tx, Begun{})
}

// resumeTurn goes on between two steps: where a runner that went down in good order has left the turn.
type resumeTurn struct{ writer }

func (c *resumeTurn) Needs() commit.Needs { return c.needs(1024, true) }

func (c *resumeTurn) Apply(tx *commit.Tx) error {
	if tx.Turn.Iteration == 0 {
		return c.follow(tx, Begun{})
	}
	return c.follow(tx, Acted{})
}

// endTurn ends a turn before it has an answer: it was cancelled, its step can't be done, or it is stuck. What is open is closed.
type endTurn struct {
	writer
	// why is nil for a turn that was cancelled. One that was, ends so whatever else is the matter: who asked for that was told that it comes.
	why Outcome
	// partial is what the model had said until then.
	partial []models.Part
	// uncounted is what the model calls took; nil when none was made here.
	uncounted *uncounted
	// runs are hooks that ran before; unasked reports that the model was not asked in the present step.
	runs    []hooks.Ran
	unasked bool
	// lost is what those of a dead runner took; nil when there are none.
	lost *lostCall
}

func (c *endTurn) Needs() commit.Needs { return turns.Needs(c.needs(4096, true)) }

func (c *endTurn) Apply(tx *commit.Tx) error {
	t := tx.Turn
	p, ok := Next(State{Iteration: t.Iteration}, c.why, Facts{Cancelled: t.Cancel != nil}).(End)
	if !ok {
		return fmt.Errorf("%T does not end a turn", c.why)
	}
	c.plan = p
	if err := c.lost.count(tx); err != nil {
		return err
	}
	if err := c.uncounted.count(tx, false); err != nil {
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

func (c *endTurn) cancel(tx *commit.Tx) error {
	if t := tx.Turn; t.Phase == models.PhaseReason {
		tx.SaveEffect(models.Effect{
			ScopeID: t.ID, ReplayKey: reasonKey(t.Iteration), State: models.EffectSettled, Epoch: c.lease.Epoch, Attempt: t.ModelCalls,
			SettledAt: tx.Now.Ptr(), Outcome: jsonx.MustEncode(map[string]string{"error": "cancelled"}),
		})
	}
	return turns.EndCancelled(tx, c.partial)
}

func (c *endTurn) fail(tx *commit.Tx, p End) error {
	t := tx.Turn
	c.begin(tx)
	ranEvents(tx, &t.ID, "", c.runs)
	if c.unasked {
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
		turns.CloseWaits(tx, "The turn has failed.")
		if err := turns.CloseCalls(tx, turns.Interrupted); err != nil {
			return err
		}
		turns.Explain(tx, c.cfg.model.Name, p.Failure)
	}
	return c.end(tx, p)
}

// failReason ends the reason step that is open, with the failure on its message.
func (c *endTurn) failReason(tx *commit.Tx, p End) {
	t := tx.Turn
	output := *t.OutputMessageID
	m := models.Message{ID: output, TurnID: t.ID, Role: models.MessageAgent, Content: c.partial, Error: p.Failure, CreatedAt: tx.Now}
	if m.Content == nil {
		m.Content = []models.Part{}
	}
	turns.AddMessage(tx, m, nil)
	t.FinalMessageID = &output
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: t.Iteration})
	var askedAt *models.Millis
	if c.uncounted != nil {
		askedAt = c.uncounted.askedAt
	}
	tx.SaveEffect(models.Effect{
		ScopeID: t.ID, ReplayKey: reasonKey(t.Iteration), State: models.EffectSettled, Epoch: c.lease.Epoch,
		Attempt: t.ModelCalls, StartedAt: askedAt, SettledAt: tx.Now.Ptr(), Outcome: jsonx.MustEncode(p.Failure),
	})
	tx.DropCheckpoint()
}

// endJob commits what the hooks of a job have said.
type endJob struct {
	job  models.HookJob
	runs []hooks.Ran
}

func (c *endJob) Needs() commit.Needs {
	return commit.Needs{Org: c.job.OrgID, Session: c.job.SessionID, Bytes: 512 * (1 + len(c.runs))}
}

func (c *endJob) Apply(tx *commit.Tx) error {
	if tx.Session == nil {
		return nil
	}
	ranEvents(tx, c.job.TurnID, "", c.runs)
	tx.EndHookJob(c.job.ID)
	return nil
}

// errCancelled cuts the step of a turn short of which somebody has asked for the end.
var errCancelled = errors.New("the turn was cancelled")
