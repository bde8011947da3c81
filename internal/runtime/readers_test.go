package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

func (w *world) session(id models.SessionID) *models.Session {
	w.t.Helper()
	var s models.Session
	if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Where("id = ?", id).Take(&s).Error; err != nil {
		w.t.Fatal(err)
	}
	return &s
}

func (w *world) turns(session models.SessionID) []models.Turn {
	w.t.Helper()
	var list []models.Turn
	if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Where("session_id = ?", session).Order("queue_position").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) turn(id models.TurnID) *models.Turn {
	w.t.Helper()
	var t models.Turn
	if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Where("id = ?", id).Take(&t).Error; err != nil {
		w.t.Fatal(err)
	}
	return &t
}

// messages returns the messages as the model is shown them.
func (w *world) messages(session models.SessionID) []models.Message {
	w.t.Helper()
	var list []models.Message
	q := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Where("session_id = ?", session).Order("position, ordinal, sequence")
	if err := q.Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) events(session models.SessionID) []models.Event {
	w.t.Helper()
	var all []models.Event
	for {
		page, err := w.log.Read(w.t.Context(), w.org, session, int64(len(all)), events.Limit{Events: 500, Bytes: 1 << 20})
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, page...)
		if len(page) < 500 {
			return all
		}
	}
}

// kinds returns the kinds of events, one per line.
func kinds(list []models.Event) string {
	var b bytes.Buffer
	for _, e := range list {
		fmt.Fprintf(&b, "%d %s %.200s\n", e.Sequence, e.Kind, e.Data)
	}
	return b.String()
}

func count(list []models.Event, kind models.EventKind) int {
	n := 0
	for _, e := range list {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// payloads returns what the events of a kind carry.
func payloads[P events.Payload](t *testing.T, list []models.Event) []P {
	t.Helper()
	var all []P
	var kind P
	for _, e := range list {
		if e.Kind != kind.Kind() {
			continue
		}
		p, err := events.Decode(e.Kind, e.Data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p.(P))
	}
	return all
}

// the returns what the only event of a kind carries.
func the[P events.Payload](t *testing.T, list []models.Event) P {
	t.Helper()
	all := payloads[P](t, list)
	if len(all) != 1 {
		var kind P
		t.Fatalf("there are %d %s, want one:\n%s", len(all), kind.Kind(), kinds(list))
	}
	return all[0]
}

// wantKinds compares the kinds of the events past the first, which says that the session was created.
func wantKinds(t *testing.T, list []models.Event, want ...models.EventKind) {
	t.Helper()
	var got []models.EventKind
	for _, e := range list[1:] {
		got = append(got, e.Kind)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the events are\n%s\nwant %v", kinds(list), want)
	}
}

// errFault is what injected faults fail with.
var errFault = errors.New("injected")
