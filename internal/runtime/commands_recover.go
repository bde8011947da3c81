package runtime

import (
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// recoverReason takes a reason step over from a runner that has died: the model is asked again, under the same message id.
type recoverReason struct {
	writer
	// lost is what the dead one's calls took; nil when that was counted.
	lost *lostCall
}

func (c *recoverReason) Needs() commit.Needs { return c.needs(1024, false) }

func (c *recoverReason) Apply(tx *commit.Tx) error {
	t := tx.Turn
	// What is left of what the dead one held stays held for the next call, which makes it enough.
	if err := c.lost.count(tx); err != nil {
		return err
	}
	t.ModelCalls++
	tx.Emit(&t.ID, events.ReasonRecovered{Iteration: t.Iteration, Policy: string(models.RecoveryRestart), Recoveries: t.Recoveries})
	// From here on the step is one of this lease: what was counted now is not found again.
	e := models.Effect{
		ScopeID: t.ID, ReplayKey: reasonKey(t.Iteration), State: models.EffectRunning, InputHash: modelInputHash(c.cfg, t.ConsumedThrough),
		Request: encodeJSON(askedOf(&c.cfg.model)), Epoch: c.lease.Epoch, Attempt: t.ModelCalls, StartedAt: tx.Now.Ptr(),
	}
	tx.AmendEffect(e)
	tx.SaveEffect(e)
	tx.DropCheckpoint()
	// Taking over is no progress: Takeovers stays as it is.
	c.done(tx, t)
	c.plan = Reason{Iteration: t.Iteration}
	return nil
}

// finalizeReason ends a reason step whose runner has died with what the model had said until then.
type finalizeReason struct {
	writer
	lost *lostCall
}

func (c *finalizeReason) Needs() commit.Needs {
	return c.needs(4096+3*(len(c.lost.text)+len(c.lost.thinking)), true)
}

func (c *finalizeReason) Apply(tx *commit.Tx) error {
	t := tx.Turn
	output := *t.OutputMessageID
	tx.Emit(&t.ID, events.ReasonRecovered{Iteration: t.Iteration, Policy: string(models.RecoveryFinalize), Recoveries: t.Recoveries})
	if c.lost.thinking != "" {
		tx.Emit(&t.ID, events.ThinkingCompleted{MessageID: output, Text: c.lost.thinking})
	}
	usage := c.lost.usage
	c.messageAt = turns.AddMessage(tx, models.Message{
		ID: output, TurnID: t.ID, Role: models.MessageAgent, Content: c.content(), Interrupted: true, CreatedAt: tx.Now,
	}, &usage)
	if err := c.lost.count(tx); err != nil {
		return err
	}
	if err := tx.Release(); err != nil {
		return err
	}
	t.OutputMessageID, t.FinalMessageID = nil, &output
	if text := preview(c.lost.text); text != "" {
		t.AnswerPreview = &text
	}
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: t.Iteration, Success: true})
	tx.SaveEffect(models.Effect{
		ScopeID: t.ID, ReplayKey: reasonKey(t.Iteration), State: models.EffectSettled, Epoch: c.lease.Epoch, Attempt: t.ModelCalls,
		StartedAt: c.lost.startedAt, SettledAt: tx.Now.Ptr(),
		Outcome: encodeJSON(map[string]any{"finishReason": finishInterrupted, "usage": usage}),
	})
	tx.DropCheckpoint()
	// The turn ends as one that has an answer: that it is cut off is said of the message.
	return c.follow(tx, Reasoned{Stop: models.StopEndTurn})
}

func (c *finalizeReason) content() []models.Part { return c.lost.parts() }
