package resolvers

import (
	"fmt"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// encodeEvent gives an event as the API shows it. It is made once for all who share the item. It fails with
// events.ErrUnknownKind for kinds that another version, running beside this one, has written.
func encodeEvent(item *events.Item) (model.Event, error) {
	v, err := item.Rendered(func(item *events.Item) (any, error) { return renderEvent(item) })
	if err != nil {
		return nil, err
	}
	ev, ok := v.(model.Event)
	if !ok {
		return nil, fmt.Errorf("encode event %d of %s: it was rendered as %T", item.Event.Sequence, item.Event.SessionID, v)
	}
	return ev, nil
}

func renderEvent(item *events.Item) (model.Event, error) {
	payload, err := item.Payload()
	if err != nil {
		return nil, fmt.Errorf("encode event %d of %s: %w", item.Event.Sequence, item.Event.SessionID, err)
	}
	data, err := item.Data()
	if err != nil {
		return nil, err
	}
	if data, err = shownData(payload, data); err != nil {
		return nil, err
	}
	return eventOf(item.Event, payload, data)
}

func eventOf(e models.Event, payload events.Payload, data models.JSON) (model.Event, error) {
	base := model.EventBase{
		ID: e.ID.String(), Kind: model.EventKind(e.Kind), Cursor: eventCursor(&e),
		OccurredAt: e.OccurredAt, SessionID: idOrNull(&e.SessionID), TurnID: idOrNull(e.TurnID), Data: data,
	}
	if base.SessionID != nil { // CAUGHT_UP in a feed is about no session
		base.Sequence = new(int(e.Sequence))
	}
	if ev := encodeStep(base, payload); ev != nil {
		return ev, nil
	}
	if ev := encodeTurnEvent(base, payload); ev != nil {
		return ev, nil
	}
	if ev := encodeSessionEvent(base, payload, e); ev != nil {
		return ev, nil
	}
	if ev := encodeBudgetEvent(base, payload); ev != nil {
		return ev, nil
	}
	if ev := encodeWaitEvent(base, payload); ev != nil {
		return ev, nil
	}
	return nil, fmt.Errorf("encode event %d of %s: no type for %s", e.Sequence, e.SessionID, e.Kind)
}

// shownData gives the payload without what only the provider may see again.
func shownData(payload events.Payload, data models.JSON) (models.JSON, error) {
	switch p := payload.(type) {
	case events.MessageReceived:
		if withoutMetadata(&p.Message) {
			return marshal(p)
		}
	case events.MessageEdited:
		if withoutMetadata(&p.Message) {
			return marshal(p)
		}
	case events.OutputCompleted:
		if withoutMetadata(&p.Message) {
			return marshal(p)
		}
	}
	return data, nil
}

// withoutMetadata takes the parts' metadata out of the message, whose parts others share. It reports whether there was any.
func withoutMetadata(m *events.Message) bool {
	found := false
	for _, p := range m.Content {
		found = found || len(p.Metadata) > 0
	}
	if found {
		m.Content = append([]models.Part(nil), m.Content...)
		for i := range m.Content {
			m.Content[i].Metadata, m.Content[i].Origin = nil, ""
		}
	}
	return found
}

func marshal(v any) (models.JSON, error) {
	doc, err := jsonx.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("encode the data of an event: %w", err)
	}
	return models.JSON(doc), nil
}

// encodeSessionEvent encodes what is said of the session itself.
func encodeSessionEvent(base model.EventBase, payload events.Payload, e models.Event) model.Event {
	switch p := payload.(type) {
	case events.MessageReceived:
		return &model.MessageReceived{EventBase: base, Message: encodeEventMessage(p.Message, e)}
	case events.SessionStarted:
		return &model.SessionStarted{EventBase: base, ForkedFromID: idOrNull(p.ForkedFromID)}
	case events.MessageEdited:
		return &model.MessageEdited{EventBase: base, Message: encodeEventMessage(p.Message, e)}
	case events.SessionWaiting:
		return &model.SessionWaiting{EventBase: base}
	case events.SessionResumed:
		return &model.SessionResumed{EventBase: base}
	case events.QueueReordered:
		ids := make([]string, len(p.TurnIDs))
		for i, id := range p.TurnIDs {
			ids[i] = id.String()
		}
		return &model.QueueReordered{EventBase: base, TurnIDs: ids}
	case events.SessionActivated:
		return &model.SessionActivated{EventBase: base}
	case events.SessionIdled:
		return &model.SessionIdled{EventBase: base, Usage: encodeUsage(p.Usage)}
	case events.SessionTitleChanged:
		return &model.SessionTitleChanged{EventBase: base, Title: p.Title}
	case events.SessionModelChanged:
		return &model.SessionModelChanged{EventBase: base, ModelID: idOrNull(p.ModelID)}
	case events.OutputCompleted:
		out := &model.OutputCompleted{EventBase: base, Message: encodeEventMessage(p.Message, e)}
		if p.Usage != nil {
			out.Usage = encodeUsage(*p.Usage)
		}
		return out
	case events.FileWritten:
		return &model.FileWritten{EventBase: base, Path: p.Path, Hash: nonEmpty(p.Hash), Size: p.Size, Deleted: p.Deleted}
	case events.CaughtUp:
		return &model.CaughtUp{EventBase: base}
	}
	return nil
}

// encodeTurnEvent encodes what is said of a turn as a whole.
func encodeTurnEvent(base model.EventBase, payload events.Payload) model.Event {
	switch p := payload.(type) {
	case events.TurnQueued:
		return &model.TurnQueued{EventBase: base}
	case events.TurnStarted:
		return &model.TurnStarted{EventBase: base, InputMessageID: p.InputMessageID.String(), InputPreview: nonEmpty(p.InputPreview)}
	case events.TurnCompleted:
		return &model.TurnCompleted{
			EventBase: base, StopReason: model.StopReason(p.StopReason), Iterations: p.Iterations, ToolCalls: p.ToolCalls,
			FinalMessageID: idOrNull(p.FinalMessageID), AnswerPreview: nonEmpty(p.AnswerPreview), Usage: encodeUsage(p.Usage),
			ModelCalls: p.ModelCalls, DurationMs: p.DurationMs, TimeToFirstTokenMs: p.TimeToFirstTokenMs,
		}
	case events.TurnCancelled:
		return &model.TurnCancelled{EventBase: base, StopReason: model.StopReason(p.StopReason), Reason: nonEmpty(p.Reason)}
	case events.TurnFailed:
		return &model.TurnFailed{EventBase: base, Error: encodeFailure(&p.Error)}
	case events.TurnSealed:
		return &model.TurnSealed{EventBase: base, StopReason: model.StopReason(p.StopReason), Error: encodeFailure(&p.Error)}
	case events.GenerationRetrying:
		return &model.GenerationRetrying{
			EventBase: base, MessageID: p.MessageID.String(), Model: p.Model, Code: p.Code, Message: p.Message,
			NextModel: p.NextModel, Attempt: p.Attempt, DelayMs: p.DelayMs,
		}
	case events.GenerationRecorded:
		return &model.GenerationRecorded{
			EventBase: base, MessageID: p.MessageID.String(), Model: p.Model, Usage: encodeUsage(p.Usage), DurationMs: p.DurationMs,
			TimeToFirstTokenMs: p.TimeToFirstTokenMs, FinishReason: p.FinishReason, Retries: p.Retries, Estimated: p.Estimated,
		}
	}
	return nil
}

func idOrNull[E models.Entity](id *models.ID[E]) *string {
	if id == nil || id.IsZero() {
		return nil
	}
	return new(id.String())
}
