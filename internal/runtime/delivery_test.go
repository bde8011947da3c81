package runtime

import (
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

func message(s models.SessionID, text string, d turns.Delivery) sessions.NewMessage {
	return sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text(text)}, Delivery: d}
}

// inputs returns the texts that turns began with, in the order in which they began.
func (w *world) inputs(log []models.Event) (texts []string) {
	received := map[models.MessageID]string{}
	for _, e := range log {
		p, err := events.Decode(e.Kind, e.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		switch p := p.(type) {
		case events.MessageReceived:
			received[p.Message.ID] = p.Message.Content[0].Text
		case events.MessageEdited:
			received[p.Message.ID] = p.Message.Content[0].Text
		case events.TurnStarted:
			texts = append(texts, received[p.InputMessageID])
		}
	}
	return texts
}

// Delivery: INTERRUPT cancels and goes to the head of the queue; what had waited for the cancelled turn goes with it.
//
// Rules: D5.
func TestInterrupt(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := n.speaks("half")
		first := n.send(s, "one")
		<-g.arrived
		n.deliver(message(s, "queued", turns.Queue))
		n.deliver(message(s, "steered", turns.Steer))
		n.puppet.on(echoing)
		urgent := n.deliver(message(s, "urgent", turns.Interrupt))
		log := w.idle(s)
		w.cancelled(first, log)
		if got := w.inputs(log); !slices.Equal(got, []string{"one", "urgent", "queued"}) {
			t.Errorf("the turns began with %v", got)
		}
		for _, m := range w.messages(s) {
			if m.Role == models.MessageUser && m.Content[0].Text == "steered" && m.TurnID != urgent {
				t.Errorf("the message that steered is of turn %s", m.TurnID)
			}
		}
	})
}

// Delivery: INTERRUPT of a session at rest is a turn as any other.
//
// Rules: D5.
func TestInterruptAtRest(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		n.puppet.on(echoing)
		s := w.newSession(n)
		turn := n.deliver(message(s, "one", turns.Interrupt))
		w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnCompleted {
			t.Errorf("the turn is %+v", row)
		}
	})
}

// Delivery: REJECT is refused while a turn is active, and nothing of it is kept.
//
// Rules: D7.
func TestReject(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := n.speaks("half")
		n.send(s, "one")
		<-g.arrived
		if _, _, err := n.sessions.Send(t.Context(), w.by, message(s, "two", turns.Reject)); !fault.Is(err, fault.SessionBusy) {
			t.Fatalf("it was answered with %v", err)
		}
		g.open()
		log := w.idle(s)
		if count(log, models.EventMessageReceived) != 1 {
			t.Error("what was refused was kept")
		}
		n.puppet.on(echoing)
		n.deliver(message(s, "three", turns.Reject))
		w.idle(s)
	})
}

// Delivery: queued turns run in their order, which can be changed; they can be edited and removed while they wait.
//
// Rules: D8.
func TestQueuedTurnsAreEdited(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := n.speaks("half")
		active := n.send(s, "active")
		<-g.arrived
		ids := map[string]models.TurnID{}
		for _, text := range []string{"a", "b", "c", "d"} {
			ids[text] = n.deliver(message(s, text, turns.Queue))
		}
		move := func(text, before string) {
			t.Helper()
			var at *models.TurnID
			if before != "" {
				id := ids[before]
				at = &id
			}
			if _, err := n.sessions.MoveQueuedTurn(t.Context(), w.by, ids[text], at); err != nil {
				t.Fatal(err)
			}
		}
		move("d", "a") // d a b c
		move("a", "")  // d b c a
		for range 40 { // more often than there is room between two
			move("c", "b")
			move("b", "c")
		}
		move("c", "b") // d c b a
		if _, err := n.sessions.EditQueuedTurn(t.Context(), w.by, ids["b"], []sessions.NewPart{sessions.Text("b, edited")}); err != nil {
			t.Fatal(err)
		}
		n.cancel(ids["c"], "")
		if _, err := n.sessions.MoveQueuedTurn(t.Context(), w.by, ids["c"], nil); !fault.Is(err, fault.Conflict) {
			t.Errorf("a removed turn is moved: %v", err)
		}
		if _, err := n.sessions.EditQueuedTurn(t.Context(), w.by, active, []sessions.NewPart{sessions.Text("x")}); !fault.Is(err, fault.Conflict) {
			t.Errorf("the active turn is edited: %v", err)
		}
		n.puppet.on(echoing)
		g.open()
		w.until("the session comes to rest", func() bool { return w.session(s).CurrentTurnID == nil })
		log := w.events(s)
		if err := events.CheckLog(log); err != nil {
			t.Fatalf("%v\n%s", err, kinds(log))
		}
		if got := w.inputs(log); !slices.Equal(got, []string{"active", "d", "b, edited", "a"}) {
			t.Errorf("the turns began with %v", got)
		}
		asked := n.puppet.requests()[2].Messages
		if last := asked[len(asked)-1].Parts[0].Text; last != "b, edited" {
			t.Errorf("the model was shown %q", last)
		}
	})
}
