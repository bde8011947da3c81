package resolvers

import (
	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
)

// encodeWaitEvent encodes what turns wait for, and what is decided and done about their calls.
func encodeWaitEvent(base model.EventBase, payload events.Payload) model.Event {
	switch p := payload.(type) {
	case events.TurnWaiting:
		waits := make([]*model.WaitSummary, len(p.Waits))
		for i, w := range p.Waits {
			waits[i] = &model.WaitSummary{
				ID: w.ID.String(), Kind: model.WaitKind(w.Kind), ToolCallID: w.ToolCallID, ToolName: w.ToolName,
				Question: nonEmpty(w.Question), Deadline: w.Deadline,
			}
		}
		return &model.TurnWaiting{EventBase: base, Waits: waits}
	case events.TurnResumed:
		return &model.TurnResumed{EventBase: base}
	case events.ToolCallsRequested:
		calls := make([]*model.RequestedToolCall, len(p.ToolCalls))
		for i, c := range p.ToolCalls {
			calls[i] = &model.RequestedToolCall{
				WaitID: c.WaitID.String(), ToolCallID: c.ToolCallID, ToolName: c.ToolName, DisplayName: c.DisplayName,
				Arguments: objectOr(c.Arguments), Deadline: c.Deadline,
			}
		}
		return &model.ToolCallsRequested{EventBase: base, ToolCalls: calls}
	case events.ToolCallRepaired:
		return &model.ToolCallRepaired{EventBase: base, ToolCallID: p.ToolCallID, ToolName: p.ToolName, Outcome: p.Outcome}
	case events.ApprovalRequested:
		return &model.ApprovalRequested{
			EventBase: base, WaitID: p.WaitID.String(), ToolCallID: p.ToolCallID, ToolName: p.ToolName, DisplayName: p.DisplayName,
			Arguments: objectOr(p.Arguments), Quorum: p.Quorum, Deadline: p.Deadline,
			Payment: encodeTerms(p.Payment),
		}
	case events.ApprovalDecided:
		return &model.ApprovalDecided{
			EventBase: base, WaitID: p.WaitID.String(), ToolCallID: p.ToolCallID, ToolName: p.ToolName, Outcome: p.Outcome,
			Approve: p.Approve, Note: nonEmpty(p.Note), Arguments: p.Arguments,
		}
	case events.TranscriptRepaired:
		return &model.TranscriptRepaired{EventBase: base, ToolCallID: p.ToolCallID, ToolName: p.ToolName, Action: p.Action}
	case events.HookRan:
		return &model.HookRan{
			EventBase: base, HookID: p.HookID, Event: p.Event, Decision: p.Decision, Reason: nonEmpty(p.Reason),
			ToolCallID: nonEmpty(p.ToolCallID), DurationMs: p.DurationMs, Error: nonEmpty(p.Error),
		}
	}
	return nil
}

// encodeTerms encodes a payment that people are asked about. What is no decimal was not written by this server.
func encodeTerms(p *events.PaymentTerms) *model.PaymentTerms {
	if p == nil {
		return nil
	}
	amount, err := decimal.NewFromString(p.Amount)
	if err != nil {
		return nil
	}
	return &model.PaymentTerms{Amount: amount, Currency: p.Currency, Host: p.Host, Purpose: p.Purpose}
}
