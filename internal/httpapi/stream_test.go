package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// publish commits a change of the session's title.
func (d *delivery) publish(session models.SessionID, sequence int64, title string) {
	d.hub.Publish(d.org, session, []models.Event{d.tape.record(models.Event{
		OrgID: d.org, SessionID: session, Sequence: sequence, ID: models.NewID[models.EventEntity](),
		Kind: models.EventSessionTitleChanged, Data: models.JSON(`{"title":` + quote(title) + `}`),
	})})
}

func (w *wire) expect(want string) {
	w.Helper()
	if got := string(w.receive()); got != want {
		w.Fatalf("got %s, want %s", got, want)
	}
}

func TestStreamsAtRestHaveNoGoroutine(t *testing.T) {
	d := newDelivery(t)
	w := d.open()
	session := models.NewID[models.SessionEntity]()
	w.subscribe(0, session)
	before := runtime.NumGoroutine()
	for n := range 100 {
		w.subscribe(1+n, models.NewID[models.SessionEntity]())
	}
	for runtime.NumGoroutine() > before+2 { // what is left of the last ones is about to end
		runtime.Gosched()
	}
	d.publish(session, 1, "a")
	w.expect(`{"id":"0","type":"next","payload":{"data":{"sessionEvents":{"kind":"SESSION_TITLE_CHANGED","sequence":1,"data":{"title":"a"}}}}}`)
	for n := range 101 { // at rest
		w.send(fmt.Sprintf(`{"id":"%d","type":"complete"}`, n))
	}
	for d.hub.Subscribers() > 0 {
		runtime.Gosched()
	}
	w.subscribe(0, models.NewID[models.SessionEntity]()) // the id is free
	d.hub.Stop()
	if got := string(w.receive()); !strings.Contains(got, `"error"`) || !strings.Contains(got, codeUnavailable) {
		t.Errorf("the hub stopped: %s", got)
	}
}

// TestAnswersAreSharedByThoseWhoAskTheSame has subscribers of one session who ask for different things of its events.
func TestAnswersAreSharedByThoseWhoAskTheSame(t *testing.T) {
	d := newDelivery(t)
	session := models.NewID[models.SessionEntity]()
	subscribe := func(declared, selection, fragment, variables string) *wire {
		w := d.open()
		query := fmt.Sprintf(`subscription%s { sessionEvents(sessionId: %q, after: 0) { %s } } %s`, declared, session, selection, fragment)
		w.send(`{"id":"x","type":"subscribe","payload":{"query":` + quote(query) + `,"variables":` + variables + `}}`)
		if got := string(w.receive()); !strings.Contains(got, "sessionEvents") {
			t.Fatalf("got %s", got)
		}
		return w
	}
	answers := map[*wire]string{}
	for range 3 {
		answers[subscribe(``, `sequence`, ``, `{}`)] = `{"sequence":1}`
		answers[subscribe(``, `__typename ...f`, `fragment f on SessionTitleChanged { name: title }`, `{}`)] = `{"__typename":"SessionTitleChanged","name":"a"}`
		answers[subscribe(`($x: Boolean!)`, `kind sequence @include(if: $x)`, ``, `{"x":true}`)] = `{"kind":"SESSION_TITLE_CHANGED","sequence":1}`
		answers[subscribe(`($x: Boolean!)`, `kind sequence @include(if: $x)`, ``, `{"x":false}`)] = `{"kind":"SESSION_TITLE_CHANGED"}`
	}
	d.publish(session, 1, "a")
	for w, want := range answers {
		w.expect(`{"id":"x","type":"next","payload":{"data":{"sessionEvents":` + want + `}}}`)
	}
}

// TestRenderersAreNeverMixedUp has many sessions whose subscribers share renderers; the race detector looks on.
func TestRenderersAreNeverMixedUp(t *testing.T) {
	d := newDelivery(t)
	var all sync.WaitGroup
	for range 20 {
		session := models.NewID[models.SessionEntity]()
		first, second := d.open(), d.open()
		first.subscribe(1, session)
		second.subscribe(2, session)
		all.Go(func() {
			for n := range int64(50) {
				d.publish(session, n+1, session.String())
			}
		})
		for id, w := range map[int]*wire{1: first, 2: second} {
			all.Go(func() {
				for n := range 50 {
					want := fmt.Sprintf(`{"id":"%d","type":"next","payload":{"data":{"sessionEvents":{"kind":"SESSION_TITLE_CHANGED","sequence":%d,"data":{"title":%q}}}}}`, id, n+1, session)
					if got := string(w.receive()); got != want {
						t.Errorf("got %s, want %s", got, want)
						return
					}
				}
			})
		}
	}
	all.Wait()
}

func TestShareable(t *testing.T) {
	types := generated.NewExecutableSchema(generated.Config{}).Schema()
	a, err := newAuthorizer(types, false)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{types: types, authorizer: a}
	for selection, want := range map[string]bool{
		`kind sequence data`: true,
		`__typename ... on TurnCompleted { stopReason usage { inputTokens } }`: true,
		`... on MessageReceived { message { id } }`:                            false,
		`kind @skip(if: false)`:                                                false,
		`... @include(if: true) { kind }`:                                      false,
		`...f`:                                                                 true,
		`...g`:                                                                 false,
	} {
		text := `subscription a { sessionEvents(sessionId: 1) { ` + selection + ` } }
			subscription b { sessionEvents(sessionId: 1) { ...f ...g } }
			fragment f on Event { id } fragment g on MessageReceived { message { id } }`
		doc, errs := gqlparser.LoadQueryWithRules(types, text, nil)
		if errs != nil {
			t.Fatal(errs)
		}
		if got := e.shareable(doc.Operations[0]); got != want {
			t.Errorf("%s: got %v", selection, got)
		}
	}
}

func TestFramesOfAllSizes(t *testing.T) {
	for size, head := range map[int]string{
		0: "\x81\x00", 125: "\x81\x7d", 126: "\x81\x7e\x00\x7e", 65535: "\x81\x7e\xff\xff",
		65536: "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00",
	} {
		var out bytes.Buffer
		writeHead(&out, make([]byte, size))
		if out.String() != head {
			t.Errorf("%d bytes begin with %q", size, out.String())
		}
	}
}

// TestAnswersAreWrittenAsTheyAreExecuted has one subscriber ask for nothing but what all events have, whose answers are written
// without executing anything, and one ask for the same with a fragment that adds nothing: they get the same bytes.
func TestAnswersAreWrittenAsTheyAreExecuted(t *testing.T) {
	d := newDelivery(t)
	session := models.NewID[models.SessionEntity]()
	const fields = `data turn: turnId id kind n: sequence cursor occurredAt sessionId sequence`
	subscribe := func(fragment string) *wire {
		w := d.open()
		query := fmt.Sprintf(`subscription { s: sessionEvents(sessionId: %q) { %s %s } }`, session, fields, fragment)
		w.send(`{"id":"x","type":"subscribe","payload":{"query":` + quote(query) + `}}`)
		return w
	}
	written, executed := subscribe(``), subscribe(`... on SessionStarted { id }`)
	for d.hub.Subscribers() < 2 {
		runtime.Gosched()
	}
	eventID := regexp.MustCompile(`evt_[0-9a-f]{32}`)
	sequence := int64(0)
	turn := models.NewID[models.TurnEntity]()
	for _, row := range events.Table() {
		switch {
		case row.Durable:
			sequence++
			data, err := json.Marshal(row.Payload)
			if err != nil {
				t.Fatal(err)
			}
			d.hub.Publish(d.org, session, []models.Event{{
				OrgID: d.org, SessionID: session, Sequence: sequence, ID: models.NewID[models.EventEntity](), Kind: row.Kind(), TurnID: turn.Ptr(),
				Data: data, OccurredAt: 1_234_567_890_123,
			}})
		case row.Kind() == models.EventToolProgress:
			d.hub.PublishProgress(d.org, session, turn, events.ToolProgress{Message: "<é>\n\"half\""})
		default:
			continue
		}
		got, want := string(written.receive()), string(executed.receive())
		if !row.Durable {
			// What is live only is told to each subscriber under an id of its own, or under one that it shares.
			got, want = eventID.ReplaceAllString(got, "evt"), eventID.ReplaceAllString(want, "evt")
		}
		if got != want || !strings.Contains(got, `{"s":{"data":{`) {
			t.Errorf("%s: written is\n%s\nexecuted is\n%s", row.Kind(), got, want)
		}
	}
	if sequence < 20 {
		t.Errorf("only %d kinds were compared", sequence)
	}
}
