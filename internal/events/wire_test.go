package events

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

func wireEvent(key Key, sequence int64, data string) models.Event {
	e := models.Event{
		OrgID: key.Org, SessionID: key.Session, Sequence: sequence, ID: models.NewID[models.EventEntity](),
		Kind: models.EventTurnStarted, Data: models.JSON(data), OccurredAt: 1_700_000_000_123,
	}
	if sequence%2 == 0 {
		e.TurnID = new(models.NewID[models.TurnEntity]())
	}
	return e
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	key := Key{models.NewID[models.OrgEntity](), models.NewID[models.SessionEntity]()}
	node := NodeID{7}
	list := []models.Event{wireEvent(key, 41, `{}`), wireEvent(key, 42, `{"a":"é"}`)}
	from, kind, body, err := readHeader(encodeEvents(node, key, list))
	if err != nil || from != node || kind != wireEvents {
		t.Fatalf("header: %v %v %v", from, kind, err)
	}
	if got, err := decodeEvents(key, body); err != nil || !reflect.DeepEqual(got, list) {
		t.Fatalf("got %+v, %v", got, err)
	}

	d := Delta{
		OrgID: key.Org, SessionID: key.Session, TurnID: models.NewID[models.TurnEntity](),
		MessageID: models.NewID[models.MessageEntity](), Epoch: 3, Attempt: 2, Thinking: true, Offset: 900, Text: "é😀",
	}
	_, kind, body, _ = readHeader(encodeDelta(node, d))
	if got, err := decodeDelta(key, body); err != nil || kind != wireDelta || got != d {
		t.Fatalf("got %+v, %v", got, err)
	}

	p := ToolProgress{ToolCallID: "c", ToolName: "t", DisplayName: "T", Message: "half"}
	_, kind, body, _ = readHeader(encodeProgress(node, d.TurnID, p))
	if turn, got, err := decodeProgress(body); err != nil || kind != wireProgress || got != p || turn != d.TurnID {
		t.Fatalf("got %+v, %v", got, err)
	}

	again := GenerationRetrying{
		MessageID: d.MessageID, Model: "m", Code: "c", Message: "é😀", NextModel: "n", Attempt: 3, DelayMs: 1234,
	}
	_, kind, body, _ = readHeader(encodeRetrying(node, d.TurnID, again))
	if turn, got, err := decodeRetrying(body); err != nil || kind != wireRetrying || got != again || turn != d.TurnID {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestWhatIsTooLargeForTheBusBecomesANotice(t *testing.T) {
	key := Key{models.NewID[models.OrgEntity](), models.NewID[models.SessionEntity]()}
	message := encodeEvents(NodeID{}, key, []models.Event{wireEvent(key, 8, `{}`), wireEvent(key, 9, `"`+strings.Repeat("x", wireLimit)+`"`)})
	_, kind, body, err := readHeader(message)
	r := wireReader{rest: body}
	if last := r.number(); err != nil || kind != wireNotice || last != 9 || r.bad {
		t.Fatalf("got type %d, sequence %d, %v", kind, last, err)
	}
}

func FuzzMessagesFromTheBus(f *testing.F) {
	key := Key{models.NewID[models.OrgEntity](), models.NewID[models.SessionEntity]()}
	f.Add(encodeEvents(NodeID{1}, key, []models.Event{wireEvent(key, 1, `{}`), wireEvent(key, 2, `{}`)}))
	f.Add(encodeDelta(NodeID{1}, Delta{Text: "x", Offset: 4}))
	f.Add(encodeProgress(NodeID{1}, models.TurnID{}, ToolProgress{Message: "m"}))
	f.Add(encodeRetrying(NodeID{1}, models.TurnID{}, GenerationRetrying{Message: "m", Attempt: 2}))
	f.Fuzz(func(t *testing.T, message []byte) {
		_, _, body, err := readHeader(message)
		if err != nil {
			return
		}
		if list, err := decodeEvents(key, body); err == nil {
			for _, e := range list {
				if e.OrgID != key.Org || e.SessionID != key.Session {
					t.Fatal("a message decided whose events it has")
				}
			}
		}
		if d, err := decodeDelta(key, body); err == nil && d.Offset < 0 {
			t.Fatal("a delta before the text")
		}
		_, _, _ = decodeProgress(body)
		_, _, _ = decodeRetrying(body)
	})
}
