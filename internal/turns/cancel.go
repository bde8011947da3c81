package turns

import (
	"errors"

	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// ErrEnded means that a turn can't be cancelled because it has ended, or was never part of the session.
var ErrEnded = errors.New("the turn has ended")

// cancelNeeds adds what Cancel looks at to the needs of a command.
func cancelNeeds(n commit.Needs) commit.Needs {
	n = Needs(n)
	n.Queue = true
	return n
}

// Cancel ends a turn of the session, or asks its runner to. A turn that is queued or parked, or that no runner holds at the moment, ends at
// once. The request of who comes first stays. It is ErrEnded when there is nothing to end.
func Cancel(tx *commit.Tx, id models.TurnID, c models.Cancel) error {
	t := tx.Turn
	if t == nil || t.ID != id {
		found, err := tx.Unqueue(id, cancelled(&c))
		if err == nil && !found {
			return ErrEnded
		}
		return err
	}
	if t.Cancel != nil {
		return nil
	}
	t.Cancel = &c
	// What a model had said when its runner was lost is in its checkpoint, which whoever claims the turn reads.
	if t.RunnerID != nil || t.Phase == models.PhaseReason {
		tx.Attend()
		return nil
	}
	return endCancelled(tx, nil)
}

func cancelled(c *models.Cancel) events.TurnCancelled {
	return events.TurnCancelled{StopReason: models.StopCancelled, Reason: c.Reason, ByKind: c.ByKind, ByID: c.ByID}
}

// endCancelled ends the current turn, of which a cancel was requested. What is open is closed; partial is what the model had said in the
// present step. Needs must load calls and waits.
func endCancelled(tx *commit.Tx, partial []models.Part) error {
	t := tx.Turn
	Begin(tx)
	if t.Phase == models.PhaseReason {
		keepPartial(tx, partial)
	}
	closeWaits(tx, "The turn was cancelled.")
	err := closeCalls(tx, func(*Call) tools.Result {
		return tools.Fail("cancelled: The turn was cancelled. Whether the call took effect is unknown, unless it had not begun.")
	})
	if err != nil {
		return err
	}
	// The answer to what the turn was to begin with is that it was cancelled. Left in the inbox, it would begin another one.
	if t.Iteration == 0 {
		tx.ConsumeInbox()
	}
	return FinishCancelled(tx)
}

// FinishCancelled ends the current turn, of which a cancel was requested, when nothing of it is open.
func FinishCancelled(tx *commit.Tx) error {
	return tx.EndTurn(models.TurnCancelled, models.StopCancelled, cancelled(tx.Turn.Cancel))
}

// keepPartial ends the reason step that is open with what the model had said until then.
func keepPartial(tx *commit.Tx, partial []models.Part) {
	t := tx.Turn
	output := *t.OutputMessageID
	if partial == nil {
		partial = []models.Part{}
	}
	AddMessage(tx, models.Message{
		ID: output, TurnID: t.ID, Role: models.MessageAgent, Content: partial, Interrupted: true, CreatedAt: tx.Now,
	}, nil)
	t.FinalMessageID = &output
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: t.Iteration})
	tx.DropCheckpoint()
}

// closeWaits cancels all that the current turn waits for.
func closeWaits(tx *commit.Tx, why string) {
	for _, w := range tx.OpenWaits() {
		w.State, w.ResolvedAt = models.WaitCancelled, tx.Now.Ptr()
		w.Resolution = jsonx.MustEncode(models.WaitResolution{ErrorMessage: why})
		tx.SaveWait(w)
		hold.Unkeep(tx, w)
	}
}

// closeCalls gives all calls of the current act that have none a result, and ends the act.
func closeCalls(tx *commit.Tx, result func(*Call) tools.Result) error {
	t := tx.Turn
	if t.Phase != models.PhaseAct || t.PendingCalls == 0 {
		return nil
	}
	open, err := openCalls(tx)
	if err != nil {
		return err
	}
	for i := range open {
		c := &open[i]
		c.Settle(tx, result(c), c.waited(tx.Now))
	}
	t.PendingCalls, t.WaitingCalls = 0, 0
	tx.Emit(&t.ID, events.ActCompleted{Iteration: t.Iteration})
	return nil
}
