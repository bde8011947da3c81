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

func TestEveryKindHasItsOwnType(t *testing.T) {
	for _, row := range events.Table() {
		item := itemOf(t, row.Payload)
		ev, err := encodeEvent(item)
		if err != nil {
			t.Errorf("%s: %v", row.Kind(), err)
			continue
		}
		name := strings.ToUpper(reflect.TypeOf(ev).Elem().Name())
		if name != strings.ReplaceAll(string(row.Kind()), "_", "") || string(ev.GetKind()) != string(row.Kind()) {
			t.Errorf("%s became %s of kind %s", row.Kind(), name, ev.GetKind())
		}
		e := item.Event
		if ev.GetID() != e.ID.String() || *ev.GetSequence() != 7 || ev.GetOccurredAt() != 3 || *ev.GetSessionID() != e.SessionID.String() ||
			*ev.GetTurnID() != e.TurnID.String() || ev.GetCursor() != sequenceCursor(7) || string(ev.GetData()) != string(e.Data) {
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
		if data := string(ev.GetData()); strings.Contains(data, "secret") || !strings.Contains(data, `"<b>"`) {
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
