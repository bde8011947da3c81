package runtime

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/turns"
)

// lostCall finds out what became of the present reason step before this lease; nil when it has begun under this lease, so that nothing
// of it is lost. What a commit has counted is never found again: that commit has ended the step, or has made it one of its own lease.
func (r *turnRun) lostCall(ctx context.Context) (*turns.LostCall, error) {
	if r.turn.Phase != models.PhaseReason {
		return nil, nil
	}
	key := turns.ReasonKey(r.turn.Iteration)
	row, err := r.e.readEffect(ctx, r.turn.OrgID, r.turn.ID, key)
	if err != nil {
		return nil, fmt.Errorf("read %s of turn %s from the effect log: %w", key, r.turn.ID, err)
	}
	if row == nil || row.State == models.EffectSettled || row.Epoch >= r.turn.LeaseEpoch {
		return nil, nil
	}
	l := &turns.LostCall{StartedAt: row.StartedAt}
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
		if err := l.Read(saved); err != nil {
			return nil, err
		}
	}
	return l, r.weigh(ctx, l)
}

// weigh works out what the lost call took. The step was shown what is in the conversation now: nothing has joined since.
func (r *turnRun) weigh(ctx context.Context, l *turns.LostCall) error {
	prompt, err := r.promptTokens(ctx)
	switch {
	case ctx.Err() != nil && err != nil:
		return err
	case err != nil:
		// What can't be worked out must not keep the turn from its end.
		r.e.cfg.Logger.Error("the prompt of a lost model call can't be estimated", "org", r.turn.OrgID, "turn", r.turn.ID, "error", err)
	}
	l.Through = r.conversation.through()
	thought := guessTokens(len(l.Thinking))
	answer := guessTokens(len(l.Text)) + thought
	if l.Said == nil {
		l.Usage, l.Estimated = models.Usage{InputTokens: prompt}, true
	} else {
		l.Usage = *l.Said
	}
	if answer > l.Usage.OutputTokens {
		// Providers tell at the start what the prompt takes, and of the answer at its end.
		l.Usage.OutputTokens, l.Usage.ReasoningTokens, l.Estimated = answer, max(l.Usage.ReasoningTokens, thought), true
	}
	l.Usage = ask.Rated(l.Asked.Prices(), l.Usage)
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
	for t := range eff.Toolset.Manifests() {
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

// takeOver goes on with a reason step that another lease has begun.
func (r *turnRun) takeOver(ctx context.Context) (*turns.Writer, error) {
	l, err := r.lostCall(ctx)
	if err != nil {
		return nil, err
	}
	if l.Keeps(r.step.effective.StreamRecovery) {
		if err := r.readConversation(ctx, false); err != nil {
			return nil, err
		}
		c := &turns.FinalizeReason{Writer: r.writer(), Lost: l}
		w, err := r.submit(ctx, c, &c.Writer)
		if err == nil {
			r.conversation.add(c.MessageAt, 0, models.MessageAgent, c.Content())
		}
		return w, err
	}
	c := &turns.RecoverReason{Writer: r.writer(), Lost: l}
	w, err := r.submit(ctx, c, &c.Writer)
	if err != nil {
		return nil, err
	}
	r.recovered = true
	// What the dead one has said is taken back at once: the model may take its time.
	r.e.models.Withdraw(&r.turn, r.turn.ModelCalls)
	return w, nil
}
