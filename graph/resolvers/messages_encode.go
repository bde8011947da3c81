package resolvers

import (
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// encodeMessage returns a message as the API shows it.
func encodeMessage(m models.Message) *model.Message {
	return &model.Message{
		ID: m.ID.String(), Role: model.MessageRole(m.Role), Content: encodeParts(m.Content), Sequence: int(m.Sequence),
		CreatedAt: m.CreatedAt, Error: encodeFailure(m.Error), Interrupted: m.Interrupted, TurnID: m.TurnID,
	}
}

// encodeEventMessage returns the message inside an event. The event is the one that completed the message, so the
// message's sequence is the event's.
func encodeEventMessage(m events.Message, e models.Event) *model.Message {
	msg := &model.Message{
		ID: m.ID.String(), Role: model.MessageRole(m.Role), Content: encodeParts(m.Content), Sequence: int(e.Sequence),
		CreatedAt: m.CreatedAt, Error: encodeFailure(m.Error), Interrupted: m.Interrupted,
	}
	if e.TurnID != nil {
		msg.TurnID = *e.TurnID
	}
	return msg
}

// encodeParts returns the pieces of a message. Pieces of a type that this version doesn't know are left out: another
// version, running beside this one, may have written them.
func encodeParts(parts []models.Part) []model.ContentPart {
	list := make([]model.ContentPart, 0, len(parts))
	for _, p := range parts {
		switch p.Type {
		case models.PartText:
			list = append(list, &model.TextPart{Text: p.Text})
		case models.PartImage:
			// Without an id it was written by something that is not this program; it names nothing that could be shown.
			if p.ImageID != nil {
				id := p.ImageID.String()
				list = append(list, &model.ImagePart{ImageID: id, MediaType: p.MediaType, URL: "/v1/images/" + id})
			}
		case models.PartThinking:
			list = append(list, &model.ThinkingPart{Text: p.Text})
		case models.PartToolCall:
			list = append(list, &model.ToolCallPart{ToolCallID: p.ToolCallID, ToolName: p.ToolName, Arguments: objectOr(p.Arguments)})
		case models.PartToolResult:
			list = append(list, &model.ToolResultPart{
				ToolCallID: p.ToolCallID, ToolName: p.ToolName, Success: p.Success, Result: p.Result, Error: nonEmpty(p.Error),
				ConnectionRequired: nonEmpty(p.ConnectionRequired),
			})
		}
	}
	return list
}

// encodeUsage returns a usage. Its cost is null when any part of it had no price.
func encodeUsage(u models.Usage) *model.Usage {
	out := &model.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens, ReasoningTokens: u.ReasoningTokens,
	}
	if !u.Unpriced {
		out.CostUsd = model.DollarsPtr(&u.CostNanos)
	}
	return out
}

// encodeFailure returns why a turn or a message failed; nil for one that did not.
func encodeFailure(f *models.Failure) *model.TurnError {
	if f == nil {
		return nil
	}
	return &model.TurnError{Code: f.Code, Message: f.Message, Fields: f.Fields}
}

// nonEmpty returns a text as a nullable field holds it: null when there is none.
func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// objectOr returns the arguments of a call; a call without any has none, which is an empty object.
func objectOr(j models.JSON) models.JSON {
	if len(j) == 0 {
		return models.JSON("{}")
	}
	return j
}
