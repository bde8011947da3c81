package runtime

import (
	"runtime"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

// settled waits until a node remembers the conversation of a session at rest.
func (n *node) settled(s models.SessionID) {
	n.w.t.Helper()
	n.w.idle(s)
	for n.engine.conversations.session(n.w.org, s) == nil {
		runtime.Gosched()
	}
}

// TestBeginsWithWhatTheSessionSaysNow changes the session's model between two turns: what the first turn ran with is remembered,
// and must not decide what the second one runs with.
func TestBeginsWithWhatTheSessionSaysNow(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.send(s, script(t, says(text("One."))))
		n.settled(s)
		if _, err := n.sessions.Update(t.Context(), w.by, s, sessions.Change{ModelID: catalog.Give(&w.echo)}); err != nil {
			t.Fatal(err)
		}
		n.send(s, "two")
		started := payloads[events.OutputStarted](t, w.idle(s))
		if len(started) != 2 || started[0].Model != "sim-script" || started[1].Model != "sim-echo" {
			t.Errorf("the outputs began as %+v", started)
		}
	})
}

// TestShowsWhatOthersHaveAdded lets two processes take turns in a session: what each remembers of it misses what the other
// has added.
func TestShowsWhatOthersHaveAdded(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		first, second := w.start(), w.start()
		s := w.newSessionOn(first, w.harness)
		for i, n := range []*node{first, second, first, first, second} {
			n.puppet.on(echoing)
			n.send(s, string(rune('a'+i)))
			n.settled(s)
		}
		var said string
		requests := second.puppet.requests()
		for _, m := range requests[len(requests)-1].Messages {
			if m.Role == models.MessageUser {
				said += m.Parts[0].Text
			}
		}
		if said != "abcde" {
			t.Errorf("of a to e the model was shown %q", said)
		}
	})
}
