package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// A model is never shown a call without its result: providers refuse such a conversation, and with it every later turn of the session. By
// the engine's own commits none can be missing. Should one be missing all the same, it is filled in before the model is asked.

// repairTranscript fills in the results that the conversation lacks. It costs nothing when none is missing.
func (r *turnRun) repairTranscript(ctx context.Context) error {
	if len(r.conversation.unanswered()) == 0 {
		return nil
	}
	// The database has the last word: a result that this process has missed must not be there twice.
	*r.conversation = conversation{}
	if err := r.readConversation(ctx, false); err != nil {
		return err
	}
	missing := r.conversation.unanswered()
	if len(missing) == 0 {
		return nil
	}
	c := &turns.RepairTranscript{Writer: r.writer()}
	for _, call := range missing {
		one, err := r.findResult(ctx, call)
		if err != nil {
			return err
		}
		r.e.cfg.Logger.Error("the result of a tool call was missing in the conversation and is filled in", "org", r.turn.OrgID,
			"session", r.turn.SessionID, "call", call.part.ToolCallID, "replayed", one.Replayed)
		c.List = append(c.List, one)
	}
	if _, err := r.submit(ctx, c, &c.Writer); err != nil {
		return err
	}
	for _, one := range c.List {
		r.conversation.add(one.Position, one.Ordinal, models.MessageTool, one.Parts)
	}
	return nil
}

// findResult looks a result up in the journal.
func (r *turnRun) findResult(ctx context.Context, missing unanswered) (turns.Repair, error) {
	// Without a journal the result comes right after the message of its call.
	one := turns.Repair{Call: missing.part, Position: missing.position, Ordinal: missing.index + 1}
	var row *models.Effect
	err := r.persist(ctx, "look up a missing result", func() error {
		turn, err := r.e.rows.turnAt(ctx, r.turn.OrgID, r.turn.SessionID, missing.position)
		if err != nil || turn.IsZero() {
			return err
		}
		row, err = r.e.rows.effect(ctx, r.turn.OrgID, turn, turns.CallKey(missing.part.ToolCallID))
		return err
	})
	if err != nil {
		return one, fmt.Errorf("look up the result of call %s: %w", missing.part.ToolCallID, err)
	}
	if row == nil {
		lost := turns.Call{Record: turns.Record{CallID: missing.part.ToolCallID, Frozen: tools.Frozen{Name: missing.part.ToolName}}}
		one.Parts = lost.Parts(turns.UnknownOutcome())
		return one, nil
	}
	o, err := turns.ReadCall(*row)
	if err != nil {
		return one, err
	}
	one.Position, one.Ordinal = o.Record.Position, o.Effect.Ordinal
	if o.Effect.State != models.EffectSettled {
		one.Parts, one.Open = o.Parts(o.Interrupted()), &o
		return one, nil
	}
	var out turns.CallOutcome
	if err := json.Unmarshal(o.Effect.Outcome, &out); err != nil {
		return one, fmt.Errorf("read the outcome of call %s: %w", missing.part.ToolCallID, err)
	}
	result := tools.Result{JSON: json.RawMessage(out.Result), ConnectionRequired: out.ConnectionRequired}
	if !out.Success {
		result.ToolError = out.Error
	}
	one.Parts, one.Replayed = o.Parts(result), true
	return one, nil
}

// unanswered is a call in the conversation that has no result.
type unanswered struct {
	part models.Part
	// position is that of its message, index counts the calls of the message before it.
	position int64
	index    int
}

// track keeps which calls have no result. Results come after their calls, so that a conversation which begins in the middle has results
// without calls, but never the other way round.
func (c *conversation) track(m *shown) {
	n := 0
	for _, p := range m.Parts {
		switch p.Type {
		case models.PartToolCall:
			if c.open == nil {
				c.open = map[string]unanswered{}
			}
			c.open[p.ToolCallID] = unanswered{part: p, position: m.position, index: n}
			n++
		case models.PartToolResult:
			delete(c.open, p.ToolCallID)
		case models.PartText, models.PartThinking, models.PartImage:
		}
	}
}

// unanswered returns the calls that have no result, in their order, as far as they were not forgotten.
func (c *conversation) unanswered() []unanswered {
	if len(c.open) == 0 {
		return nil
	}
	list := make([]unanswered, 0, len(c.open))
	for _, call := range c.open {
		if len(c.list) > 0 && call.position >= c.list[0].position {
			list = append(list, call)
		}
	}
	slices.SortFunc(list, func(a, b unanswered) int {
		return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.index, b.index), cmp.Compare(a.part.ToolCallID, b.part.ToolCallID))
	})
	return list
}
