package turns

import (
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Repair is a result that the conversation lacks.
type Repair struct {
	Call models.Part
	// Position and Ordinal are its place in the conversation.
	Position int64
	Ordinal  int
	Parts    []models.Part
	// Replayed is true when the journal had the result.
	Replayed bool
	// Open is the call in the journal, to be settled with the result; nil when there is nothing to settle.
	Open *Call
}

// RepairTranscript adds results that the conversation lacks.
type RepairTranscript struct {
	Writer
	List []Repair
}

// Needs implements commit.Command.
func (c *RepairTranscript) Needs() commit.Needs {
	n := 0
	for _, one := range c.List {
		n += 512 + 2*sizeOf(one.Parts)
	}
	return c.needs(n, false)
}

// Apply implements commit.Command.
func (c *RepairTranscript) Apply(tx *commit.Tx) error {
	t := tx.Turn
	for i := range c.List {
		one := &c.List[i]
		done := events.TranscriptRepaired{ToolCallID: one.Call.ToolCallID, ToolName: one.Call.ToolName, Action: "synthesize"}
		if one.Replayed {
			done.Action = "replay"
		}
		seq := tx.Emit(&t.ID, done)
		tx.AddMessage(models.Message{
			ID: models.NewID[models.MessageEntity](), TurnID: t.ID, Role: models.MessageTool, Content: one.Parts, Sequence: seq,
			Position: &one.Position, Ordinal: one.Ordinal, CreatedAt: tx.Now,
		})
		if one.Open != nil {
			one.Open.Meter(tx, tools.Result{ToolError: one.Parts[0].Error}, 0)
			e := one.Open.Effect
			e.State, e.Outcome, e.SettledAt = models.EffectSettled, jsonx.MustEncode(CallOutcome{Error: one.Parts[0].Error}), tx.Now.Ptr()
			tx.SaveEffect(e)
		}
	}
	// It is no step: Takeovers stays as it is.
	c.done(tx, t)
	return nil
}
