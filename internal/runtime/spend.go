package runtime

import (
	"context"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// defaultOutput is the output limit of a call under a budget for which nothing else says one: without a limit nobody could tell what
	// it may cost.
	defaultOutput = 8192
	// toolBytes is what a tool takes of a prompt beside its texts.
	toolBytes = 64
	// inboxBytes is what is reserved for messages that join the conversation with the step: they aren't read before. If they take more,
	// it is reserved before the call.
	inboxBytes = 4096
)

// budgeted reports whether the present step may have to do with budgets.
func (r *turnRun) budgeted() bool {
	return r.turn.Reservation != nil || r.session != nil && r.session.budgeted
}

// demand bounds what a call of a model takes, with so many bytes that the conversation is still to get.
func (r *turnRun) demand(m *models.Model, grows int) *budget.Call {
	return r.callOf(m, r.conversation.size(contextBytes(r.step.effective, m))+grows)
}

// callOf bounds what a call of a model takes that is shown so many bytes of a conversation. A token is a byte at least.
func (r *turnRun) callOf(m *models.Model, shown int) *budget.Call {
	eff := r.step.effective
	input := len(eff.SystemPrompt) + shown
	for t := range eff.Toolset.Manifests() {
		input += len(t.Name) + len(t.Description) + len(t.InputSchema) + toolBytes
	}
	output := outputLimit(m, r.turn.MaxTokens)
	if output == 0 {
		output = defaultOutput
	}
	return &budget.Call{
		InputTokens: int64(input), MaxTokens: output,
		Input: m.PriceInput, Output: m.PriceOutput, CacheRead: m.PriceCacheRead, CacheWrite: m.PriceCacheWrite,
	}
}

// outputLimit is the smaller one of what a model can and what the message asks for; 0 for none.
func outputLimit(m *models.Model, asked *int) int {
	limit := models.Value(m.MaxOutputTokens)
	if asked != nil && (limit == 0 || *asked < limit) {
		limit = *asked
	}
	return limit
}

// Demand implements ask.Turn.
func (r *turnRun) Demand(m *models.Model) *budget.Call {
	if !r.budgeted() {
		return nil
	}
	return r.demand(m, 0)
}

// Reserve implements ask.Turn.
func (r *turnRun) Reserve(ctx context.Context, c *turns.ReserveAgain) error {
	c.Writer = r.writer()
	_, err := r.submit(ctx, c, &c.Writer)
	return err
}
