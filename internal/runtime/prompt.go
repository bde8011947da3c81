package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// submitPrompts has hooks see the user's messages that the model has not been shown, those that steered included, before it is. A rewritten
// message stays rewritten. A blocked one ends the turn; then the error is errEnded. What was decided in this step is not decided
// again by a runner that takes it over.
func (r *turnRun) submitPrompts(ctx context.Context) error {
	unseen := r.conversation.unseen()
	if len(unseen) == 0 || !r.hasHooks(tools.HookUserPromptSubmit) {
		return nil
	}
	key := fmt.Sprintf("prompt/%d", r.turn.Iteration)
	if r.recovered {
		row, err := r.e.readEffect(ctx, r.turn.OrgID, r.turn.ID, key)
		if err != nil || row != nil {
			return err
		}
	}
	c := &turns.SubmitPrompts{Key: key}
	for _, m := range unseen {
		e := r.event(tools.HookUserPromptSubmit, m.id.String())
		e.MessageID, e.Message = &m.id, turns.Joined(m.Parts, models.PartText)
		out, err := r.runHooks(ctx, e)
		if err != nil {
			return err
		}
		c.Runs = append(c.Runs, out.Runs...)
		switch out.Decision {
		case hooks.Block:
			return r.blockPrompt(ctx, out, c.Runs)
		case hooks.Mutate:
			c.Rewritten = append(c.Rewritten, turns.Rewritten{ID: m.id, Parts: withText(m.Parts, texts.Clean(out.Message))})
		case hooks.Allow:
		}
	}
	c.Writer = r.writer()
	if _, err := r.submit(ctx, c, &c.Writer); err != nil {
		return err
	}
	for _, m := range c.Rewritten {
		r.conversation.replace(m.ID, m.Parts)
	}
	return nil
}

// withText puts one text in the place of all texts of a message.
func withText(parts []models.Part, text string) []models.Part {
	rest := slices.DeleteFunc(slices.Clone(parts), func(p models.Part) bool { return p.Type == models.PartText })
	return append([]models.Part{{Type: models.PartText, Text: text}}, rest...)
}

// blockPrompt ends the turn: the model is not asked, and the user is told why.
func (r *turnRun) blockPrompt(ctx context.Context, out hooks.Outcome, runs []hooks.Ran) error {
	text := strings.TrimSpace(texts.Clean(out.Shown()))
	if text == "" {
		text = "The message was blocked."
	}
	c := &turns.EndTurn{
		Writer: r.writer(), Partial: []models.Part{{Type: models.PartText, Text: text}}, Runs: runs, Unasked: true,
		Why: turns.Failed{Stop: models.StopBlocked, Failure: models.Failure{
			Code: "blocked_by_hook", Message: text, Fields: jsonx.MustEncode(map[string]string{"hook": out.HookID}),
		}},
	}
	if _, err := r.submit(ctx, c, &c.Writer); err != nil {
		return err
	}
	return errEnded
}
