package events_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// moonRose is the payload of a kind of event that only this test declares.
type moonRose struct {
	Phase string `json:"phase"`
	Note  string `json:"note,omitempty"`
}

func (moonRose) Kind() models.EventKind { return "MOON_ROSE" }

// TestAKindIsDeclaredOnce adds a kind by its payload and its row, and nothing else.
func TestAKindIsDeclaredOnce(t *testing.T) {
	rows := append(events.Table(), events.Row{Payload: moonRose{}, Durable: true, Meaning: "The moon rose."})

	want := moonRose{Phase: "full"}
	got, err := events.DecodeBy(rows, "MOON_ROSE", models.JSON(`{"phase":"full"}`))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded is %+v, %v", got, err)
	}
	if _, err := events.Decode("MOON_ROSE", models.JSON(`{}`)); !errors.Is(err, events.ErrUnknownKind) {
		t.Errorf("without its row: %v", err)
	}
	if !strings.Contains(documentOf(rows), "| `MOON_ROSE` | durable |  |  | phase, note? | The moon rose. |\n") {
		t.Error("the document lacks it")
	}
	session := models.NewID[models.SessionEntity]()
	log := []models.Event{
		{Sequence: 1, ID: models.NewID[models.EventEntity](), SessionID: session, Kind: models.EventSessionStarted, Data: models.JSON(`{}`)},
		{Sequence: 2, ID: models.NewID[models.EventEntity](), SessionID: session, Kind: "MOON_ROSE", Data: models.JSON(`{"phase":"new"}`)},
	}
	if err := events.CheckBy(rows, log); err != nil {
		t.Errorf("the check refuses it: %v", err)
	}
	if err := events.CheckPrefix(log); err == nil {
		t.Error("the check accepts it without its row")
	}
}
