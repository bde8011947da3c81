package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// goodEvidence is a session with one turn that called append_once, as it should be.
func goodEvidence() *evidence {
	org, session := models.NewID[models.OrgEntity](), models.NewID[models.SessionEntity]()
	turn, input, output := models.NewID[models.TurnEntity](), models.NewID[models.MessageEntity](), models.NewID[models.MessageEntity]()
	answer := models.NewID[models.MessageEntity]()
	model := models.NewID[models.ModelEntity]()
	t := testimony{session: session.String(), messages: []*message{{key: "k", turn: turn.String()}}}
	add := func(p events.Payload, turn *models.TurnID) {
		data, err := json.Marshal(p)
		if err != nil {
			panic(err) // a payload of this file
		}
		e := models.Event{
			OrgID: org, SessionID: session, Sequence: int64(len(t.log) + 1), ID: models.NewID[models.EventEntity](), Kind: p.Kind(),
			TurnID: turn, Data: data, OccurredAt: models.Millis(1000 + len(t.log)),
		}
		if slices.ContainsFunc(events.Table(), func(r events.Row) bool { return r.Kind() == e.Kind && r.OrgFeed }) {
			position := int64(len(t.log) + 1)
			e.FeedPosition = &position
		}
		t.log = append(t.log, e)
		t.seen = append(t.seen, seen{e.Sequence, string(e.Kind), e.ID.String()})
	}
	add(events.SessionStarted{HarnessID: models.NewID[models.HarnessEntity]()}, nil)
	add(events.MessageReceived{Message: events.Message{ID: input, Role: "USER"}, Delivery: "STEER"}, &turn)
	add(events.SessionActivated{}, &turn)
	add(events.TurnStarted{InputMessageID: input}, &turn)
	for i, id := range []models.MessageID{output, answer} {
		add(events.ReasonStarted{Iteration: i + 1}, &turn)
		add(events.OutputStarted{MessageID: id, Model: "m", Iteration: i + 1}, &turn)
		add(events.OutputCompleted{Message: events.Message{ID: id, Role: "AGENT"}}, &turn)
		add(events.GenerationRecorded{MessageID: id, Model: "m", ModelID: model}, &turn)
		add(events.ReasonCompleted{Iteration: i + 1, Success: true}, &turn)
		if i == 0 {
			add(events.ActStarted{Iteration: 1, ToolCallIDs: []string{"c"}}, &turn)
			add(events.ToolStarted{ToolCallID: "c", ToolName: "append_once"}, &turn)
			add(events.ToolCompleted{ToolCallID: "c", ToolName: "append_once", Success: true}, &turn)
			add(events.ActCompleted{Iteration: 1}, &turn)
		}
	}
	add(events.TurnCompleted{StopReason: "END_TURN"}, &turn)
	add(events.SessionIdled{}, &turn)
	return &evidence{
		sessions: []testimony{t}, effects: map[string]int{session.String() + ":c:chaos.append_once": 1},
		left: map[string]int64{"turns": 0}, after: map[string]vitals{"node 1": {}},
	}
}

// TestOracles plants what each oracle is there to see.
//
// Rules: L5.
func TestOracles(t *testing.T) {
	t.Parallel()
	if v := judge(goodEvidence()); len(v.violations) != 0 || v.turns != 1 || v.calls != 1 {
		t.Fatalf("evidence without a fault gives %+v", v)
	}
	key := func(e *evidence) string { return e.sessions[0].session + ":c:chaos.append_once" }
	index := func(e *evidence, kind models.EventKind) int {
		return slices.IndexFunc(e.sessions[0].log, func(e models.Event) bool { return e.Kind == kind })
	}
	result := func(e *evidence, change func(*events.ToolCompleted)) {
		at := index(e, models.EventToolCompleted)
		var done events.ToolCompleted
		if err := json.Unmarshal(e.sessions[0].log[at].Data, &done); err != nil {
			panic(err)
		}
		change(&done)
		data, err := json.Marshal(done)
		if err != nil {
			panic(err)
		}
		e.sessions[0].log[at].Data = data
	}
	without := func(e *evidence, kind models.EventKind) {
		s := &e.sessions[0]
		at := index(e, kind)
		s.log, s.seen = slices.Delete(s.log, at, at+1), slices.Delete(s.seen, at, at+1)
		for i := range s.log {
			s.log[i].Sequence, s.seen[i].sequence = int64(i+1), int64(i+1)
		}
	}
	for name, c := range map[string]struct {
		oracle string
		plant  func(e *evidence)
	}{
		"a turn without an end":          {"O1", func(e *evidence) { without(e, models.EventTurnCompleted) }},
		"a turn that nobody asked for":   {"O1", func(e *evidence) { e.sessions[0].messages = nil }},
		"a message that is lost":         {"O1", func(e *evidence) { e.sessions[0].messages = append(e.sessions[0].messages, &message{turn: "turn_x"}) }},
		"one turn for two messages":      {"O1", func(e *evidence) { e.sessions[0].messages = append(e.sessions[0].messages, e.sessions[0].messages[0]) }},
		"a client that waits in vain":    {"O1", func(e *evidence) { e.stuck = []string{"x"} }},
		"a gap in the log":               {"O2", func(e *evidence) { e.sessions[0].log[3].Sequence = 9 }},
		"a step without an end":          {"O2", func(e *evidence) { without(e, models.EventActCompleted) }},
		"a follower that missed the end": {"O2", func(e *evidence) { e.sessions[0].seen = e.sessions[0].seen[:3] }},
		"a follower that saw another":    {"O2", func(e *evidence) { e.sessions[0].seen[2].id = "event_x" }},
		"a text that is another": {"O2", func(e *evidence) {
			e.sessions[0].texts = map[int64]string{int64(index(e, models.EventOutputCompleted) + 1): "x"}
		}},
		"an idempotent tool that was not run again": {"O3", func(e *evidence) {
			result(e, func(d *events.ToolCompleted) {
				d.ToolName, d.Success, d.Error = "append_idempotent", false, "interrupted: Nobody knows."
			})
		}},
		"a follower that complains":     {"O2", func(e *evidence) { e.sessions[0].wrong = []string{"x"} }},
		"a tool that ran twice":         {"O3", func(e *evidence) { e.effects[key(e)] = 2 }},
		"a success that did not happen": {"O3", func(e *evidence) { delete(e.effects, key(e)) }},
		"an effect of no call":          {"O3", func(e *evidence) { e.effects[e.sessions[0].session+":d:x"] = 1 }},
		"a failure": {"O3", func(e *evidence) {
			result(e, func(d *events.ToolCompleted) { d.Success, d.Error = false, "internal" })
		}},
		"no effect, it says": {"O3", func(e *evidence) {
			result(e, func(d *events.ToolCompleted) {
				d.Success, d.Error = false, "interrupted: It had no effect."
			})
			e.sessions[0].log[index(e, models.EventToolCompleted)].ID = models.NewID[models.EventEntity]()
		}},
		"an idempotent tool that did not run": {"O3", func(e *evidence) {
			result(e, func(d *events.ToolCompleted) { d.ToolName = "append_idempotent" })
			delete(e.effects, key(e))
		}},
		"two outcomes": {"O3", func(e *evidence) {
			s := &e.sessions[0]
			s.log = append(s.log, s.log[index(e, models.EventToolCompleted)])
		}},
		"something left":   {"O5", func(e *evidence) { e.left["turns"] = 1 }},
		"goroutines left":  {"O6", func(e *evidence) { e.after["node 1"] = vitals{goroutines: slackGoroutines + 1} }},
		"descriptors left": {"O6", func(e *evidence) { e.after["node 1"] = vitals{descriptors: slackDescriptors + 1} }},
		"memory left":      {"O6", func(e *evidence) { e.after["node 1"] = vitals{heap: slackHeap + 1} }},
	} {
		t.Run(name, func(t *testing.T) {
			e := goodEvidence()
			c.plant(e)
			if v := judge(e); len(v.violations[c.oracle]) == 0 {
				t.Errorf("%s was not seen: %v", name, v.violations)
			}
		})
	}
}

func TestInterruptedIsAllowed(t *testing.T) {
	t.Parallel()
	for _, ran := range []int{0, 1} {
		e := goodEvidence()
		s := &e.sessions[0]
		at := slices.IndexFunc(s.log, func(e models.Event) bool { return e.Kind == models.EventToolCompleted })
		s.log[at].Data = models.JSON(`{"toolCallId":"c","toolName":"append_once","success":false,"error":"interrupted: unknown","durationMs":0}`)
		for key := range e.effects {
			e.effects[key] = ran
		}
		if v := judge(e); len(v.violations) != 0 || v.interrupted != 1 {
			t.Errorf("an interrupted call that ran %d times: %+v", ran, v)
		}
	}
}

func TestUnanswered(t *testing.T) {
	t.Parallel()
	for broken, want := range map[int64]int{999: 0, 1001: 1, 2000: 1} { // the message was committed at 1001
		e := goodEvidence()
		e.sessions[0].messages[0].broken = time.UnixMilli(broken)
		if v := judge(e); v.unanswered != want {
			t.Errorf("a connection that broke at %d: %d unanswered, want %d", broken, v.unanswered, want)
		}
	}
}

// Rules: Q11.
func TestRecoveries(t *testing.T) {
	t.Parallel()
	e := goodEvidence()
	log := e.sessions[0].log
	i := interruption{at: time.UnixMilli(1003), ready: time.Millisecond, turns: []heldTurn{{SessionID: log[0].SessionID, ID: *log[1].TurnID}}}
	gaps, after := recoveries(e, []interruption{i})
	if fmt.Sprint(gaps, after) != "[1] [0]" {
		t.Errorf("got %v, %v", gaps, after)
	}
	i.at = time.UnixMilli(9999)
	if gaps, _ := recoveries(e, []interruption{i}); len(gaps) != 0 {
		t.Errorf("a turn that had ended gives %v", gaps)
	}
}

// TestFollowerSeesFaults hands a follower what a broken server could send.
func TestFollowerSeesFaults(t *testing.T) {
	t.Parallel()
	event := func(f *follower, sequence int64, id string) {
		f.Event(clientEvent("TURN_STARTED", sequence, `{},"id":"`+id+`"`))
	}
	f := &follower{a: &arena{ephemeral: ephemeralKinds()}, changed: make(chan struct{}), texts: texts{}, otherTexts: map[int64]string{}}
	for i := range int64(4) {
		event(f, i+1, fmt.Sprint("event_", i+1))
	}
	if len(f.wrong) != 0 || len(f.events) != 4 || f.events[3].id != "event_4" {
		t.Fatalf("a good stream gives %v, %v", f.wrong, f.events)
	}
	event(f, 3, "event_3")
	event(f, 2, "event_x")
	event(f, 7, "event_7")
	f.Event(clientEvent("OUTPUT_DELTA", 6, `{"messageId":"m","offset":0,"delta":"Hey"}`))
	if f.repeated != 1 || f.reordered != 1 || f.missing != 2 || len(f.wrong) != 4 {
		t.Errorf("repeated %d, reordered %d, missing %d: %s", f.repeated, f.reordered, f.missing, strings.Join(f.wrong, "; "))
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	m := texts{}
	for _, d := range []string{`{"messageId":"m","offset":0,"delta":"Whit"}`, `{"messageId":"m","offset":4,"delta":"e 🐎"}`, `{"messageId":"m","offset":2,"delta":"ite ho"}`} {
		if wrong := m.delta([]byte(d)); wrong != "" {
			t.Fatal(wrong)
		}
	}
	if wrong := m.completed([]byte(`{"message":{"id":"m","content":[{"type":"text","text":"White horses"}]}}`)); wrong != "" {
		t.Error(wrong)
	}
	if m.delta([]byte(`{"messageId":"n","offset":1,"delta":"x"}`)) == "" {
		t.Error("a delta behind a gap is taken")
	}
	_ = m.delta([]byte(`{"messageId":"n","offset":0,"delta":"Black"}`))
	if m.completed([]byte(`{"message":{"id":"n","content":[{"type":"text","text":"White horses"}]}}`)) == "" {
		t.Error("another text than that of the deltas is taken")
	}
}

func clientEvent(kind string, sequence int64, data string) client.Event {
	return client.Event{Kind: kind, Sequence: sequence, Data: []byte(data)}
}
