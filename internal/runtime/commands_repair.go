package runtime

import (
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// repair is a result that the conversation lacks.
type repair struct {
	call models.Part
	// position and ordinal are its place in the conversation.
	position int64
	ordinal  int
	parts    []models.Part
	// replayed is true when the journal had the result.
	replayed bool
	// open is the call in the journal, to be settled with the result; nil when there is nothing to settle.
	open *turns.Call
}

// repairTranscript adds results that the conversation lacks.
type repairTranscript struct {
	writer
	list []repair
}

func (c *repairTranscript) Needs() commit.Needs {
	n := 0
	for _, one := range c.list {
		n += 512 + 2*sizeOf(one.parts)
	}
	return c.needs(n, false)
}

func (c *repairTranscript) Apply(tx *commit.Tx) error {
	t := tx.Turn
	for i := range c.list {
		one := &c.list[i]
		done := events.TranscriptRepaired{ToolCallID: one.call.ToolCallID, ToolName: one.call.ToolName, Action: "synthesize"}
		if one.replayed {
			done.Action = "replay"
		}
		seq := tx.Emit(&t.ID, done)
		tx.AddMessage(models.Message{
			ID: models.NewID[models.MessageEntity](), TurnID: t.ID, Role: models.MessageTool, Content: one.parts, Sequence: seq,
			Position: &one.position, Ordinal: one.ordinal, CreatedAt: tx.Now,
		})
		if one.open != nil {
			one.open.Meter(tx, tools.Result{ToolError: one.parts[0].Error}, 0)
			e := one.open.Effect
			e.State, e.Outcome, e.SettledAt = models.EffectSettled, jsonx.MustEncode(turns.CallOutcome{Error: one.parts[0].Error}), tx.Now.Ptr()
			tx.SaveEffect(e)
		}
	}
	// It is no step: Takeovers stays as it is.
	c.done(tx, t)
	return nil
}
