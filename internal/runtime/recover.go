package runtime

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// finishInterrupted is the reason to stop of a call that no answer came of.
const finishInterrupted = "interrupted"

// askedModel is the model that a call is made of, with its prices of that time, as the journal keeps it.
type askedModel struct {
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

func askedOf(m *models.Model) askedModel {
	return askedModel{
		Name: m.Name, ID: m.ID, Input: m.PriceInput, Output: m.PriceOutput, CacheRead: m.PriceCacheRead, CacheWrite: m.PriceCacheWrite,
	}
}

// price puts a price on usage.
func (a *askedModel) price(u models.Usage) models.Usage {
	m := models.Model{PriceInput: a.Input, PriceOutput: a.Output, PriceCacheRead: a.CacheRead, PriceCacheWrite: a.CacheWrite}
	u = catalog.Rate(&m, u)
	u.CostNanos = min(u.CostNanos, mostCost)
	return u
}

// tally is what is known of the model calls of a reason step while they are under way, as the checkpoint keeps it.
type tally struct {
	// Asked is the model of the present call, or of the next one.
	Asked askedModel `json:"asked"`
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

// lostCall is what is known of the model calls of a reason step whose runner has died, and that no commit has counted.
type lostCall struct {
	tally

	text, thinking string
	// toolCall is true when a tool call had begun.
	toolCall bool
	// startedAt is when the step began, or was taken over last.
	startedAt *models.Millis
	// durationMs is that of the present call until its last sign of life; 0 when nothing was saved of it.
	durationMs int64
	// through is the position of the newest message that the model was shown.
	through int64
	// usage is that of the present call; estimated, that the provider had not told all of it.
	usage     models.Usage
	estimated bool
}

// lostCall finds out what became of the present reason step before this lease; nil when it has begun under this lease, so that nothing
// of it is lost. What a commit has counted is never found again: that commit has ended the step, or has made it one of its own lease.
func (r *turnRun) lostCall(ctx context.Context) (*lostCall, error) {
	if r.turn.Phase != models.PhaseReason {
		return nil, nil
	}
	key := reasonKey(r.turn.Iteration)
	row, err := r.e.readEffect(ctx, r.turn.OrgID, r.turn.ID, key)
	if err != nil {
		return nil, fmt.Errorf("read %s of turn %s from the effect log: %w", key, r.turn.ID, err)
	}
	if row == nil || row.State == models.EffectSettled || row.Epoch >= r.turn.LeaseEpoch {
		return nil, nil
	}
	l := &lostCall{startedAt: row.StartedAt}
	if err := json.Unmarshal(row.Request, &l.Asked); err != nil {
		return nil, fmt.Errorf("read %s of turn %s from the effect log: %w", key, r.turn.ID, err)
	}
	l.Resting = l.Asked.Waiting
	saved, err := r.readCheckpoint(ctx)
	if err != nil {
		return nil, err
	}
	// One of another lease was counted, or came too late.
	if saved != nil && saved.Epoch == row.Epoch {
		if err := l.read(saved); err != nil {
			return nil, err
		}
	}
	return l, r.weigh(ctx, l)
}

// read takes in what the checkpoint holds.
func (l *lostCall) read(c *models.Checkpoint) error {
	l.text, l.thinking, l.toolCall = c.Text, c.Thinking, c.ToolCall
	if len(c.Usage) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.Usage, &l.tally); err != nil {
		return fmt.Errorf("read the calls in the checkpoint of turn %s: %w", c.TurnID, err)
	}
	if l.At > 0 {
		l.durationMs = max(int64(c.UpdatedAt-l.At), 0)
	}
	return nil
}

// weigh works out what the lost call took. The step was shown what is in the conversation now: nothing has joined since.
func (r *turnRun) weigh(ctx context.Context, l *lostCall) error {
	prompt, err := r.promptTokens(ctx)
	switch {
	case ctx.Err() != nil && err != nil:
		return err
	case err != nil:
		// What can't be worked out must not keep the turn from its end.
		r.e.cfg.Logger.Error("the prompt of a lost model call can't be estimated", "org", r.turn.OrgID, "turn", r.turn.ID, "error", err)
	}
	l.through = r.conversation.through()
	thought := guessTokens(len(l.thinking))
	answer := guessTokens(len(l.text)) + thought
	if l.Said == nil {
		l.usage, l.estimated = models.Usage{InputTokens: prompt}, true
	} else {
		l.usage = *l.Said
	}
	if answer > l.usage.OutputTokens {
		// Providers tell at the start what the prompt takes, and of the answer at its end.
		l.usage.OutputTokens, l.usage.ReasoningTokens, l.estimated = answer, max(l.usage.ReasoningTokens, thought), true
	}
	l.usage = l.Asked.price(plausible(l.usage))
	return nil
}

// promptTokens guesses what the present step's prompt takes, and reads the conversation for it. A turn that ends because what it runs with
// is gone has no more than the conversation.
func (r *turnRun) promptTokens(ctx context.Context) (int64, error) {
	if r.step == nil {
		if err := r.persist(ctx, "read the session", func() error { return r.readSession(ctx) }); err != nil && !lasting(err) {
			return 0, err
		}
		if r.session != nil {
			if _, err := r.resolve(ctx); err != nil && ctx.Err() != nil {
				return 0, err
			}
		}
	}
	eff := &catalog.Effective{Model: &catalog.RunModel{}}
	if r.step != nil {
		eff = r.step.effective
	}
	if err := r.readShown(ctx, eff, false); err != nil {
		return 0, err
	}
	n := guessTokens(len(eff.SystemPrompt))
	for _, t := range eff.Toolset.Manifests() {
		n += guessTokens(len(t.Name) + len(t.Description) + len(t.InputSchema))
	}
	for _, m := range r.conversation.messages(contextBytes(eff, &eff.Model.Model), "") {
		n += guessMessage(m)
	}
	return n, nil
}

// bytesPerGuess is how much text is taken for a token where nobody counts, as the simulated models do.
const bytesPerGuess = 4

func guessTokens(bytes int) int64 { return int64((bytes + bytesPerGuess - 1) / bytesPerGuess) }

func guessMessage(m llm.Message) (n int64) {
	for i := range m.Parts {
		p := &m.Parts[i]
		n += guessTokens(len(p.Text)) + guessTokens(len(p.ToolName)+len(p.Arguments)) + guessTokens(len(p.Result)+len(p.Error))
		if p.Type == models.PartImage {
			n += imageBytes / bytesPerToken
		}
	}
	return n
}

// parts returns what the model had said.
func (l *lostCall) parts() []models.Part {
	if l == nil {
		return nil
	}
	var parts []models.Part
	if l.thinking != "" {
		parts = append(parts, models.Part{Type: models.PartThinking, Text: l.thinking})
	}
	if l.text != "" {
		parts = append(parts, models.Part{Type: models.PartText, Text: l.text})
	}
	return parts
}

// count adds what the lost calls took to the turn and its session, and takes it off budgets, in the commit that takes the step over or ends
// it. Its error must be returned by the command.
func (l *lostCall) count(tx *commit.Tx) error {
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
		if err := hold.Meter(tx, l.fact(t.ID, first+l.Ended, l.usage, l.durationMs, l.estimated)); err != nil {
			return err
		}
		t.ModelCalls++
		took = took.Add(l.usage)
		l.record(tx, l.usage, l.durationMs, l.Asked.Before+l.Ended, l.estimated)
	}
	t.Usage, tx.Session.Usage = t.Usage.Add(took), tx.Session.Usage.Add(took)
	return nil
}

// record says what calls took that no answer came of.
func (l *lostCall) record(tx *commit.Tx, took models.Usage, durationMs int64, retries int, estimated bool) {
	tx.Emit(&tx.Turn.ID, events.GenerationRecorded{
		MessageID: *tx.Turn.OutputMessageID, Model: l.Asked.Name, ModelID: l.Asked.ID, Usage: took, DurationMs: durationMs,
		FinishReason: finishInterrupted, PromptThrough: l.through, Retries: retries, Estimated: estimated,
	})
}

func (l *lostCall) fact(turn models.TurnID, number int, took models.Usage, durationMs int64, estimated bool) hold.Fact {
	return hold.ModelCall(turn, number, models.JournalEntry{
		ModelID: l.Asked.ID.Ptr(), Model: l.Asked.Name, Usage: took, DurationMs: durationMs, Estimated: estimated, ProviderCost: took.ProviderCost,
	})
}

// keeps reports whether what the model had said is to be the answer: there is some, and nothing else was to come of it.
func (l *lostCall) keeps(policy models.StreamRecovery) bool {
	return policy == models.RecoveryFinalize && l != nil && l.text != "" && !l.toolCall
}

// takeOver goes on with a reason step that another lease has begun.
func (r *turnRun) takeOver(ctx context.Context) (*writer, error) {
	l, err := r.lostCall(ctx)
	if err != nil {
		return nil, err
	}
	if l.keeps(r.step.effective.StreamRecovery) {
		if err := r.readConversation(ctx, false); err != nil {
			return nil, err
		}
		c := &finalizeReason{writer: r.writer(), lost: l}
		w, err := r.submit(ctx, c, &c.writer)
		if err == nil {
			r.conversation.add(c.messageAt, 0, models.MessageAgent, c.content())
		}
		return w, err
	}
	c := &recoverReason{writer: r.writer(), lost: l}
	w, err := r.submit(ctx, c, &c.writer)
	if err != nil {
		return nil, err
	}
	r.recovered = true
	// What the dead one has said is taken back at once: the model may take its time.
	r.withdraw(r.turn.ModelCalls)
	return w, nil
}

// withdraw takes back what those who watch were shown of the present output, before a call of this number says anything.
func (r *turnRun) withdraw(attempt int) {
	r.e.cfg.Hub.PublishDelta(events.Delta{
		OrgID: r.turn.OrgID, SessionID: r.turn.SessionID, TurnID: r.turn.ID, MessageID: *r.turn.OutputMessageID, Epoch: r.turn.LeaseEpoch,
		Attempt: attempt,
	})
}
