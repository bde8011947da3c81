package events_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// goodLog is the whole log of a session with two turns, the second queued during the first.
func goodLog() []models.Event {
	m := newMemory()
	one, two := models.NewID[models.TurnEntity](), models.NewID[models.TurnEntity]()
	ask, more, say, done := models.NewID[models.MessageEntity](), models.NewID[models.MessageEntity](), models.NewID[models.MessageEntity](), models.NewID[models.MessageEntity]()
	received := func(id models.MessageID) events.MessageReceived {
		return events.MessageReceived{Message: events.Message{ID: id}}
	}
	m.commit(models.TurnID{}, events.SessionStarted{})
	m.commit(one, received(ask), events.SessionActivated{}, events.TurnStarted{InputMessageID: ask},
		events.ReasonStarted{Iteration: 1}, events.OutputStarted{MessageID: say})
	m.commit(two, received(more), events.TurnQueued{InputMessageID: more})
	m.commit(one, events.ReasonRecovered{Iteration: 1}, events.ThinkingCompleted{MessageID: say}, events.OutputCompleted{Message: events.Message{ID: say}},
		events.GenerationRecorded{MessageID: say}, events.ReasonCompleted{Iteration: 1}, events.ActStarted{Iteration: 1},
		events.ToolStarted{ToolCallID: "a"}, events.ToolStarted{ToolCallID: "b"}, events.ToolCompleted{ToolCallID: "b"},
		events.FileWritten{}, events.ToolCompleted{ToolCallID: "a"}, events.ActCompleted{Iteration: 1},
		events.ReasonStarted{Iteration: 2}, events.OutputStarted{MessageID: done}, events.OutputCompleted{Message: events.Message{ID: done}},
		events.ReasonCompleted{Iteration: 2}, events.TurnCompleted{})
	m.commit(one, events.TurnRated{Rating: models.RatingUp})
	m.commit(two, events.TurnStarted{InputMessageID: more}, events.TurnFailed{}, events.SessionIdled{})
	return m.log
}

// at finds the n-th event of a kind.
func at(t *testing.T, log []models.Event, kind models.EventKind, n int) int {
	t.Helper()
	for i, e := range log {
		if e.Kind == kind {
			if n--; n < 0 {
				return i
			}
		}
	}
	t.Fatalf("no %s", kind)
	return -1
}

// renumber makes the sequences right again, so that only the fault that is meant is found.
func renumber(log []models.Event) []models.Event {
	log = slices.Clone(log)
	for i := range log {
		log[i].Sequence = int64(i + 1)
		log[i].ID = models.NewID[models.EventEntity]()
	}
	return log
}

func TestAGoodLogPasses(t *testing.T) {
	log := goodLog()
	if err := events.CheckLog(log); err != nil {
		t.Fatal(err)
	}
	for n := range log {
		if err := events.CheckPrefix(log[:n]); err != nil {
			t.Fatalf("the first %d: %v", n, err)
		}
	}
}

// TestWithoutAnyOneEventALogFails: every end and every beginning is needed.
//
// Rules: L5, E2, J13.
func TestWithoutAnyOneEventALogFails(t *testing.T) {
	free := []models.EventKind{models.EventFileWritten, models.EventReasonRecovered, models.EventGenerationRecorded,
		models.EventThinkingCompleted, models.EventTurnQueued, models.EventTurnRated}
	log := goodLog()
	for i, e := range log {
		if slices.Contains(free, e.Kind) {
			continue
		}
		if err := events.CheckLog(renumber(slices.Concat(log[:i], log[i+1:]))); err == nil {
			t.Errorf("nobody misses %s at %d", e.Kind, i+1)
		}
		if err := events.CheckLog(renumber(slices.Concat(log[:i+1], log[i:]))); err == nil && e.Kind != models.EventSessionActivated {
			t.Errorf("nobody minds %s at %d twice", e.Kind, i+1)
		}
		if err := events.CheckLog(slices.Concat(log[:i], log[i+1:])); err == nil {
			t.Errorf("nobody misses sequence %d", i+1)
		}
	}
}

// Rules: E2.
func TestFaultsOfALog(t *testing.T) {
	tests := []struct {
		name string
		want string
		harm func(log []models.Event) []models.Event
	}{
		{"a sequence twice", "the sequence should be 3", func(l []models.Event) []models.Event { l[2].Sequence = 2; return l }},
		{"an id twice", "is not its own", func(l []models.Event) []models.Event { l[2].ID = l[1].ID; return l }},
		{"another session", "another session", func(l []models.Event) []models.Event {
			l[2].SessionID = models.NewID[models.SessionEntity]()
			return l
		}},
		{"an ephemeral kind", "no durable events", func(l []models.Event) []models.Event { l[2].Kind = models.EventCaughtUp; return l }},
		{"unreadable data", "decode", func(l []models.Event) []models.Event { l[1].Data = models.JSON(`[]`); return l }},
		{"a turn before its message", "not received", func(l []models.Event) []models.Event {
			l[1], l[3] = l[3], l[1]
			return renumber(l)
		}},
		{"a turn that goes on after its end", "not the active one", func(l []models.Event) []models.Event {
			i := at(t, l, models.EventTurnCompleted, 0)
			l[i-1], l[i] = l[i], l[i-1]
			return renumber(l)
		}},
		{"a rating before the answer", "has not ended", func(l []models.Event) []models.Event {
			i := at(t, l, models.EventTurnRated, 0)
			return renumber(slices.Concat(l[:i-1], l[i:i+1], l[i-1:i], l[i+1:]))
		}},
		{"a tool outside of an act", "no act is open", func(l []models.Event) []models.Event {
			i := at(t, l, models.EventActStarted, 0)
			l[i], l[i+1] = l[i+1], l[i]
			return renumber(l)
		}},
		{"rest with a turn in the queue", "turns are queued", func(l []models.Event) []models.Event {
			end := len(l) - 1
			return renumber(slices.Concat(l[:end-2], l[end:], l[end-2:end]))
		}},
		{"never at rest", "work", func(l []models.Event) []models.Event { return l[:len(l)-1] }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := events.CheckLog(test.harm(goodLog()))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
