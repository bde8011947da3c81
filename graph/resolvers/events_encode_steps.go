package resolvers

import (
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
)

// encodeStep encodes what happens within the steps of a turn.
func encodeStep(base model.EventBase, payload events.Payload) model.Event {
	switch p := payload.(type) {
	case events.ReasonStarted:
		return &model.ReasonStarted{EventBase: base, Iteration: p.Iteration}
	case events.ReasonCompleted:
		return &model.ReasonCompleted{EventBase: base, Iteration: p.Iteration, Success: p.Success}
	case events.ReasonRecovered:
		return &model.ReasonRecovered{EventBase: base, Iteration: p.Iteration, Policy: p.Policy, Recoveries: p.Recoveries}
	case events.OutputStarted:
		return &model.OutputStarted{EventBase: base, MessageID: p.MessageID.String(), Model: p.Model, Iteration: p.Iteration}
	case events.OutputDelta:
		return &model.OutputDelta{EventBase: base, MessageID: p.MessageID.String(), Offset: p.Offset, Delta: p.Delta}
	case events.ThinkingDelta:
		return &model.ThinkingDelta{EventBase: base, MessageID: p.MessageID.String(), Offset: p.Offset, Delta: p.Delta}
	case events.ThinkingCompleted:
		return &model.ThinkingCompleted{EventBase: base, MessageID: p.MessageID.String(), Text: p.Text}
	case events.ActStarted:
		ids := p.ToolCallIDs
		if ids == nil {
			ids = []string{}
		}
		return &model.ActStarted{EventBase: base, Iteration: p.Iteration, ToolCallIDs: ids}
	case events.ActCompleted:
		return &model.ActCompleted{EventBase: base, Iteration: p.Iteration}
	case events.ToolStarted:
		return &model.ToolStarted{
			EventBase: base, ToolCallID: p.ToolCallID, ToolName: p.ToolName, DisplayName: p.DisplayName,
			Arguments: objectOr(p.Arguments), Narration: nonEmpty(p.Narration),
		}
	case events.ToolProgress:
		return &model.ToolProgress{
			EventBase: base, ToolCallID: p.ToolCallID, ToolName: p.ToolName, DisplayName: p.DisplayName, Message: p.Message,
		}
	case events.ToolCompleted:
		return &model.ToolCompleted{
			EventBase: base, ToolCallID: p.ToolCallID, ToolName: p.ToolName, Success: p.Success, Result: p.Result,
			Error: nonEmpty(p.Error), DurationMs: p.DurationMs, Narration: nonEmpty(p.Narration),
			ConnectionRequired: nonEmpty(p.ConnectionRequired),
		}
	}
	return nil
}
