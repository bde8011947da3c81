package turns

import (
	"encoding/json"
	"fmt"

	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// RecoverReason takes a reason step over from a runner that has died: the model is asked again, under the same message id.
type RecoverReason struct {
	Writer
	// Lost is what the dead one's calls took; nil when that was counted.
	Lost *LostCall
}

// Needs implements commit.Command.
func (c *RecoverReason) Needs() commit.Needs { return c.needs(1024, false) }

// Apply implements commit.Command.
func (c *RecoverReason) Apply(tx *commit.Tx) error {
	t := tx.Turn
	// What is left of what the dead one held stays held for the next call, which makes it enough.
	if err := c.Lost.count(tx); err != nil {
		return err
	}
	t.ModelCalls++
	tx.Emit(&t.ID, events.ReasonRecovered{Iteration: t.Iteration, Policy: string(models.RecoveryRestart), Recoveries: t.Recoveries})
	// From here on the step is one of this lease: what was counted now is not found again.
	e := models.Effect{
		ScopeID: models.ExecutionID(t.ID), ReplayKey: ReasonKey(t.Iteration), State: models.EffectRunning, InputHash: modelInputHash(c.Config, t.ConsumedThrough),
		Request: jsonx.MustEncode(AskedOf(&c.Config.Model)), Epoch: c.Lease.Epoch, Attempt: t.ModelCalls, StartedAt: tx.Now.Ptr(),
	}
	tx.AmendEffect(e)
	tx.SaveEffect(e)
	tx.DropCheckpoint()
	// Taking over is no progress: Takeovers stays as it is.
	c.done(tx, t)
	c.Plan = Reason{Iteration: t.Iteration}
	return nil
}

// FinalizeReason ends a reason step whose runner has died with what the model had said until then.
type FinalizeReason struct {
	Writer
	Lost *LostCall
}

// Needs implements commit.Command.
func (c *FinalizeReason) Needs() commit.Needs {
	return c.needs(4096+3*(len(c.Lost.Text)+len(c.Lost.Thinking)), true)
}

// Apply implements commit.Command.
func (c *FinalizeReason) Apply(tx *commit.Tx) error {
	t := tx.Turn
	output := *t.OutputMessageID
	tx.Emit(&t.ID, events.ReasonRecovered{Iteration: t.Iteration, Policy: string(models.RecoveryFinalize), Recoveries: t.Recoveries})
	if c.Lost.Thinking != "" {
		tx.Emit(&t.ID, events.ThinkingCompleted{MessageID: output, Text: c.Lost.Thinking})
	}
	usage := c.Lost.Usage
	c.MessageAt = AddMessage(tx, models.Message{
		ID: output, TurnID: t.ID, Role: models.MessageAgent, Content: c.Content(), Interrupted: true, CreatedAt: tx.Now,
	}, &usage)
	if err := c.Lost.count(tx); err != nil {
		return err
	}
	if err := tx.Release(); err != nil {
		return err
	}
	t.OutputMessageID, t.FinalMessageID = nil, &output
	if text := preview(c.Lost.Text); text != "" {
		t.AnswerPreview = &text
	}
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: t.Iteration, Success: true})
	tx.SaveEffect(models.Effect{
		ScopeID: models.ExecutionID(t.ID), ReplayKey: ReasonKey(t.Iteration), State: models.EffectSettled, Epoch: c.Lease.Epoch, Attempt: t.ModelCalls,
		StartedAt: c.Lost.StartedAt, SettledAt: tx.Now.Ptr(),
		Outcome: jsonx.MustEncode(map[string]any{"finishReason": FinishInterrupted, "usage": usage}),
	})
	tx.DropCheckpoint()
	// The turn ends as one that has an answer: that it is cut off is said of the message.
	return c.follow(tx, Reasoned{Stop: models.StopEndTurn})
}

// Content is what the conversation keeps.
func (c *FinalizeReason) Content() []models.Part { return c.Lost.Parts() }

// FinishInterrupted is the reason to stop of a call that no answer came of.
const FinishInterrupted = "interrupted"

// AskedModel is the model that a call is made of, with its prices of that time, as the journal keeps it.
type AskedModel struct {
	Name       string         `json:"model"`
	ID         models.ModelID `json:"modelId,omitzero"`
	Input      *models.Nanos  `json:"priceInput,omitempty"`
	Output     *models.Nanos  `json:"priceOutput,omitempty"`
	CacheRead  *models.Nanos  `json:"priceCacheRead,omitempty"`
	CacheWrite *models.Nanos  `json:"priceCacheWrite,omitempty"`
	// Before counts the calls of the step that were counted before this one.
	Before int `json:"before,omitempty"`
	// Waiting is true when no call was made since: the runner waits until budgets have room for one.
	Waiting bool `json:"waiting,omitempty"`
}

// AskedOf returns what the journal keeps of a model.
func AskedOf(m *models.Model) AskedModel {
	return AskedModel{
		Name: m.Name, ID: m.ID, Input: m.PriceInput, Output: m.PriceOutput, CacheRead: m.PriceCacheRead, CacheWrite: m.PriceCacheWrite,
	}
}

// Prices are those that the model had.
func (a *AskedModel) Prices() *models.Model {
	return &models.Model{PriceInput: a.Input, PriceOutput: a.Output, PriceCacheRead: a.CacheRead, PriceCacheWrite: a.CacheWrite}
}

// Tally is what is known of the model calls of a reason step while they are under way, as the checkpoint keeps it.
type Tally struct {
	// Asked is the model of the present call, or of the next one.
	Asked AskedModel `json:"asked"`
	// At is when the present call was made; 0 before it was.
	At models.Millis `json:"at,omitempty"`
	// Ended counts the calls before it, Took is what they took.
	Ended int          `json:"ended,omitempty"`
	Took  models.Usage `json:"took,omitzero"`
	// Said is what the provider has said that the present call took; nil when it has said nothing.
	Said *models.Usage `json:"said,omitempty"`
	// Resting is true when no call is under way: the runner has stopped between two.
	Resting bool `json:"resting,omitempty"`
}

// LostCall is what is known of the model calls of a reason step whose runner has died, and that no commit has counted.
type LostCall struct {
	Tally

	Text, Thinking string
	// toolCall is true when a tool call had begun.
	toolCall bool
	// StartedAt is when the step began, or was taken over last.
	StartedAt *models.Millis
	// durationMs is that of the present call until its last sign of life; 0 when nothing was saved of it.
	durationMs int64
	// Through is the position of the newest message that the model was shown.
	Through int64
	// Usage is that of the present call; Estimated reports that the provider had not told all of it.
	Usage     models.Usage
	Estimated bool
}

// Read takes in what the checkpoint holds.
func (l *LostCall) Read(c *models.Checkpoint) error {
	l.Text, l.Thinking, l.toolCall = c.Text, c.Thinking, c.ToolCall
	if len(c.Usage) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.Usage, &l.Tally); err != nil {
		return fmt.Errorf("read the calls in the checkpoint of turn %s: %w", c.TurnID, err)
	}
	if l.At > 0 {
		l.durationMs = max(int64(c.UpdatedAt-l.At), 0)
	}
	return nil
}

// Parts returns what the model had said.
func (l *LostCall) Parts() []models.Part {
	if l == nil {
		return nil
	}
	var parts []models.Part
	if l.Thinking != "" {
		parts = append(parts, models.Part{Type: models.PartThinking, Text: l.Thinking})
	}
	if l.Text != "" {
		parts = append(parts, models.Part{Type: models.PartText, Text: l.Text})
	}
	return parts
}

// count adds what the lost calls took to the turn and its session, and takes it off budgets, in the commit that takes the step over or ends
// it. Its error must be returned by the command.
func (l *LostCall) count(tx *commit.Tx) error {
	if l == nil {
		return nil
	}
	t := tx.Turn
	// The command that began the step has counted one call already.
	took, first := l.Took, t.ModelCalls
	t.ModelCalls += l.Ended - 1
	if took != (models.Usage{}) {
		if err := hold.Meter(tx, l.fact(t.ID, first, took, 0, false)); err != nil {
			return err
		}
		l.record(tx, took, 0, l.Asked.Before+l.Ended-1, false)
	}
	if !l.Resting {
		if err := hold.Meter(tx, l.fact(t.ID, first+l.Ended, l.Usage, l.durationMs, l.Estimated)); err != nil {
			return err
		}
		t.ModelCalls++
		took = took.Add(l.Usage)
		l.record(tx, l.Usage, l.durationMs, l.Asked.Before+l.Ended, l.Estimated)
	}
	t.Usage, tx.Session.Usage = t.Usage.Add(took), tx.Session.Usage.Add(took)
	return nil
}

// record says what calls took that no answer came of.
func (l *LostCall) record(tx *commit.Tx, took models.Usage, durationMs int64, retries int, estimated bool) {
	tx.Emit(&tx.Turn.ID, events.GenerationRecorded{
		MessageID: *tx.Turn.OutputMessageID, Model: l.Asked.Name, ModelID: l.Asked.ID, Usage: took, DurationMs: durationMs,
		FinishReason: FinishInterrupted, PromptThrough: l.Through, Retries: retries, Estimated: estimated,
	})
}

func (l *LostCall) fact(turn models.TurnID, number int, took models.Usage, durationMs int64, estimated bool) hold.Fact {
	return hold.ModelCall(turn, number, models.JournalEntry{
		ModelID: l.Asked.ID.Ptr(), Model: l.Asked.Name, Usage: took, DurationMs: durationMs, Estimated: estimated, ProviderCost: took.ProviderCost,
	})
}

// Keeps reports whether what the model had said is to be the answer: there is some, and nothing else was to come of it.
func (l *LostCall) Keeps(policy models.StreamRecovery) bool {
	return policy == models.RecoveryFinalize && l != nil && l.Text != "" && !l.toolCall
}
