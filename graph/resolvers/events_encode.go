package resolvers

import (
	"fmt"
	"reflect"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// encodeEvent returns an event as the API shows it. It is made once for all who share the item. It fails with
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
	encode := eventEncoders[reflect.TypeOf(payload)]
	if encode == nil {
		return nil, fmt.Errorf("encode event %d of %s: no type for %s", item.Event.Sequence, item.Event.SessionID, item.Event.Kind)
	}
	return encode(item, payload, data), nil
}

// shownData returns the payload without what only the provider may see again.
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

func idOrNull[E models.Entity](id *models.ID[E]) *string {
	if id == nil || id.IsZero() {
		return nil
	}
	return new(id.String())
}
