package runtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// TestWhatIsLeftOutIsSaid has a conversation grow out of its model's context window: an event says what is left out, whenever that has changed and
// not otherwise, whether or not the process remembers the session; and the model is told that there is more.
//
// Rules: P21.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		window := func(tokens int) {
			t.Helper()
			if _, err := w.catalog.UpdateModel(t.Context(), w.by, w.script, catalog.ModelChange{ContextWindowTokens: catalog.Give(&tokens)}); err != nil {
				t.Fatal(err)
			}
		}
		window(2_000)
		n := w.start()
		n.puppet.on(echoing)
		s := w.newSession(n)
		said := func() []events.ContextCompacted { return payloads[events.ContextCompacted](t, w.idle(s)) }
		told := func() bool {
			r := n.puppet.requests()
			return strings.HasSuffix(r[len(r)-1].System, omittedNote)
		}
		send := func(size int) {
			t.Helper()
			n.send(s, fmt.Sprintf("m%s", strings.Repeat("x", size)))
			w.idle(s)
		}
		send(1_000)
		send(1_000)
		if len(said()) != 0 || told() {
			t.Fatalf("everything fits, and %v is said", said())
		}
		var ends []int64
		for range 3 {
			before := len(said())
			send(1_500)
			list := said()
			if len(list) == before {
				continue
			}
			last := list[len(list)-1]
			through := int64(last.ThroughSequence)
			ends = append(ends, through)
			first := w.messages(s)[0]
			if len(list) != before+1 || last.Strategy != "TRIM" || *first.Position < int64(last.FromSequence) || !told() {
				t.Errorf("%v is said, and the model is told: %v", list, told())
			}
			for _, m := range w.messages(s) {
				shown := strings.Contains(n.shownLast(), m.Content[0].Text) && *m.Position > through
				if m.Role == models.MessageUser && shown != (*m.Position > through) {
					t.Errorf("the message at %d is shown: %v, with %v", *m.Position, shown, last)
				}
			}
		}
		if len(ends) < 2 || !slices.IsSorted(ends) {
			t.Fatalf("what is left out ends at %v", ends)
		}
		before := len(said())
		n.stop()
		n = w.start()
		n.puppet.on(echoing)
		send(0)
		if got := len(said()); got != before || !told() {
			t.Errorf("nothing more was left out, and it is said %d times after %d; the model is told: %v", got, before, told())
		}
		// The process has forgotten the oldest messages, and the model sees them again.
		window(100_000)
		send(0)
		list := said()
		if last := list[len(list)-1]; len(list) != before+1 || last.ThroughSequence != 0 || last.FromSequence != 1 || told() {
			t.Errorf("all is shown again, and %v is said; the model is told: %v", list, told())
		}
		w.wantWhole(s)
	})
}
