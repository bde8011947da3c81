package runtime

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// TestTheInboxRace has many senders of every delivery race with a runner that ends turns as fast as it can: each message that was accepted
// is in the log and in the conversation once, in one turn, which ended once; of one that was refused there is nothing.
//
// Rules: L6, D5.
func TestTheInboxRace(t *testing.T) {
	deliveries := []turns.Delivery{turns.Steer, turns.Queue, turns.Interrupt, turns.Reject}
	const each = 6
	eachWorld(t, func(t *testing.T, w *world) {
		n, other := w.start(), w.newNode()
		for _, one := range []*node{n, other} {
			one.puppet.on(echoing)
		}
		s := w.newSession(n)
		var mu sync.Mutex
		accepted, refused := map[models.MessageID]string{}, 0
		var all sync.WaitGroup
		for i, d := range slices.Concat(deliveries, deliveries) {
			by := []*node{n, other}[i%2]
			all.Go(func() {
				for j := range each {
					text := fmt.Sprintf("%s %d/%d", d, i, j)
					m, turn, err := by.sessions.Send(context.Background(), w.by, message(s, text, d))
					mu.Lock()
					switch {
					case err == nil && turn.SessionID == s:
						accepted[m.ID] = text
					case d == turns.Reject && fault.Is(err, fault.SessionBusy):
						refused++
					default:
						t.Errorf("%s: %v", text, err)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		log := w.idle(s)
		if len(accepted)+refused != 2*each*len(deliveries) || len(accepted) < 2*each*(len(deliveries)-1) {
			t.Fatalf("%d were accepted, %d refused", len(accepted), refused)
		}
		ends := map[models.TurnID]models.TurnStatus{}
		for _, turn := range w.turns(s) {
			if turn.FinishedAt == nil {
				t.Errorf("turn %s has not ended", turn.ID)
			}
			ends[turn.ID] = turn.Status
		}
		begun := map[models.MessageID]bool{}
		for _, e := range payloads[events.TurnStarted](t, log) {
			if begun[e.InputMessageID] {
				t.Errorf("two turns began with %s", accepted[e.InputMessageID])
			}
			begun[e.InputMessageID] = true
		}
		seen := map[models.MessageID]bool{}
		for _, m := range w.messages(s) {
			if m.Role != models.MessageUser {
				continue
			}
			text, known := accepted[m.ID]
			if !known || seen[m.ID] || m.Content[0].Text != text || ends[m.TurnID] == "" {
				t.Errorf("there is %q of turn %s, %s", m.Content[0].Text, m.TurnID, ends[m.TurnID])
			}
			seen[m.ID] = true
		}
		if received := payloads[events.MessageReceived](t, log); len(seen) != len(accepted) || len(received) != len(accepted) {
			t.Errorf("%d messages and %d events of %d that were accepted", len(seen), len(received), len(accepted))
		}
		// The last turn was shown all of them, each once.
		n.send(s, "last")
		w.idle(s)
		list := n.puppet.requests()
		shown := map[string]int{}
		for _, m := range list[len(list)-1].Messages {
			if m.Role == models.MessageUser {
				for _, p := range m.Parts {
					shown[p.Text]++
				}
			}
		}
		for _, text := range accepted {
			if shown[text] != 1 {
				t.Errorf("%q was shown %d times", text, shown[text])
			}
		}
	})
}
