package resolvers

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

func itemOf(t *testing.T, p events.Payload) *events.Item {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return events.NewItem(models.Event{
		OrgID: models.NewID[models.OrgEntity](), SessionID: models.NewID[models.SessionEntity](), Sequence: 7,
		ID: models.NewID[models.EventEntity](), Kind: p.Kind(), TurnID: new(models.NewID[models.TurnEntity]()), Data: data, OccurredAt: 3,
	})
}

// eventBase is what all events have.
type eventBase struct {
	ID, Cursor        string
	Kind              model.EventKind
	Sequence          *int
	OccurredAt        models.Millis
	SessionID, TurnID *string
	Data              models.JSON
}

// baseOf returns what all events have of one.
func baseOf(ev model.Event) (base eventBase) {
	to, from := reflect.ValueOf(&base).Elem(), reflect.ValueOf(ev).Elem()
	for i := range to.NumField() {
		to.Field(i).Set(from.FieldByName(to.Type().Field(i).Name))
	}
	return base
}

func TestEveryKindHasItsOwnType(t *testing.T) {
	for _, row := range events.Table() {
		item := itemOf(t, row.Payload)
		ev, err := encodeEvent(item)
		if err != nil {
			t.Errorf("%s: %v", row.Kind(), err)
			continue
		}
		name := strings.ToUpper(reflect.TypeOf(ev).Elem().Name())
		if base := baseOf(ev); name != strings.ReplaceAll(string(row.Kind()), "_", "") || string(base.Kind) != string(row.Kind()) {
			t.Errorf("%s became %s of kind %s", row.Kind(), name, base.Kind)
		}
		e, base := item.Event, baseOf(ev)
		if base.ID != e.ID.String() || *base.Sequence != 7 || base.OccurredAt != 3 || *base.SessionID != e.SessionID.String() ||
			*base.TurnID != e.TurnID.String() || base.Cursor != sequenceCursor(7) || string(base.Data) != string(e.Data) {
			t.Errorf("%s: got %+v", row.Kind(), ev)
		}
		if again, err := encodeEvent(item); err != nil || again != ev {
			t.Errorf("%s was encoded twice", row.Kind())
		}
	}
}

func TestWhatOnlyTheProviderMaySeeIsNotShown(t *testing.T) {
	message := events.Message{ID: models.NewID[models.MessageEntity](), Role: models.MessageAgent, Content: []models.Part{
		{Type: models.PartThinking, Text: "hm", Metadata: models.JSON(`{"signature":"secret"}`)},
		{Type: models.PartText, Text: "<b>"},
		{Type: models.PartToolCall, ToolCallID: "c", ToolName: "t"},
		{Type: models.PartToolResult, ToolCallID: "c", ToolName: "t", Error: "no"},
		{Type: "later"},
	}}
	for _, p := range []events.Payload{events.MessageReceived{Message: message}, events.OutputCompleted{Message: message}} {
		item := itemOf(t, p)
		ev, err := encodeEvent(item)
		if err != nil {
			t.Fatal(err)
		}
		if data := string(baseOf(ev).Data); strings.Contains(data, "secret") || !strings.Contains(data, `"<b>"`) {
			t.Errorf("%s shows %s", p.Kind(), data)
		}
		if !strings.Contains(string(item.Event.Data), "secret") {
			t.Errorf("%s: the row was changed", p.Kind())
		}
	}
	parts := encodeParts(message.Content)
	want := []model.ContentPart{
		&model.ThinkingPart{Text: "hm"}, &model.TextPart{Text: "<b>"},
		&model.ToolCallPart{ToolCallID: "c", ToolName: "t", Arguments: models.JSON("{}")},
		&model.ToolResultPart{ToolCallID: "c", ToolName: "t", Error: new("no")},
	}
	if !reflect.DeepEqual(parts, want) {
		t.Errorf("got %+v", parts)
	}
}

func TestCostIsNullWhenAPartHadNoPrice(t *testing.T) {
	u := models.Usage{InputTokens: 1, CostNanos: 5}
	if got := encodeUsage(u); got.CostUsd == nil || got.CostUsd.String() != "0.000000005" || got.InputTokens != 1 {
		t.Errorf("got %+v", got)
	}
	u.Unpriced = true
	if got := encodeUsage(u); got.CostUsd != nil {
		t.Errorf("got %+v", got)
	}
}

func TestKindsOfALaterVersion(t *testing.T) {
	item := events.NewItem(models.Event{Kind: "KIND_OF_TOMORROW", Data: models.JSON(`{}`)})
	if _, err := encodeEvent(item); !errors.Is(err, events.ErrUnknownKind) {
		t.Errorf("got %v", err)
	}
}

// moonRose is the payload of a kind of event that only this test declares.
type moonRose struct {
	CallID models.TurnID  `json:"callId"`
	ByID   *models.TurnID `json:"byId,omitempty"`
	Phase  string         `json:"phase,omitempty"`
	Usage  models.Usage   `json:"usage"`
	Hidden int            `json:"hidden"`
}

func (moonRose) Kind() models.EventKind { return "MOON_ROSE" }

// moonRoseEvent is what gqlgen makes of `type MoonRose implements Event { … callId: ID! byId: ID phase: String usage: Usage! }`.
type moonRoseEvent struct {
	ID         string          `json:"id"`
	Kind       model.EventKind `json:"kind"`
	Sequence   *int            `json:"sequence,omitempty"`
	Cursor     string          `json:"cursor"`
	OccurredAt models.Millis   `json:"occurredAt"`
	SessionID  *string         `json:"sessionId,omitempty"`
	TurnID     *string         `json:"turnId,omitempty"`
	Data       models.JSON     `json:"data"`
	CallID     string          `json:"callId"`
	ByID       *string         `json:"byId,omitempty"`
	Phase      *string         `json:"phase,omitempty"`
	Usage      *model.Usage    `json:"usage"`
}

func (moonRoseEvent) IsEvent() {}

func TestAKindNeedsNoEncoderOfItsOwn(t *testing.T) {
	encode, err := newEventEncoder(reflect.TypeFor[moonRose](), reflect.TypeFor[moonRoseEvent]())
	if err != nil {
		t.Fatal(err)
	}
	p := moonRose{CallID: models.NewID[models.TurnEntity](), Phase: "full", Usage: models.Usage{InputTokens: 3}, Hidden: 1}
	e := models.Event{ID: models.NewID[models.EventEntity](), SessionID: models.NewID[models.SessionEntity](), Kind: p.Kind(), Sequence: 7, OccurredAt: 3}
	want := &moonRoseEvent{
		ID: e.ID.String(), Kind: "MOON_ROSE", Sequence: new(7), Cursor: eventCursor(&e, events.Mark{}), OccurredAt: 3, SessionID: new(e.SessionID.String()),
		Data: models.JSON(`{}`), CallID: p.CallID.String(), Phase: new("full"), Usage: encodeUsage(p.Usage),
	}
	if got := encode(events.NewItem(e), p, models.JSON(`{}`)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestAFieldThatNoPayloadHasIsRefused(t *testing.T) {
	for _, payload := range []any{events.TurnResumed{}, events.HookRan{}} {
		if _, err := newEventEncoder(reflect.TypeOf(payload), reflect.TypeFor[moonRoseEvent]()); err == nil {
			t.Errorf("%T can be shown as another kind", payload)
		}
	}
}
