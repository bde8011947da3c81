package runtime

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

// settled waits until a node remembers the conversation of a session at rest.
func (n *node) settled(s models.SessionID) {
	n.w.t.Helper()
	n.w.idle(s)
	n.w.eventually("the conversation is remembered", func() bool { return n.engine.conversations.session(n.w.org, s) != nil })
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
//
// Rules: P20.
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

// TestAMessageThatABudgetStoppedIsShownLater has a budget seal a turn, in the commit of its message or in the next one. Its run has seen nothing
// of it: the next turn's model is shown that message all the same.
//
// Rules: P20.
func TestAMessageThatABudgetStoppedIsShownLater(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("usd", 1_000_000)
		n, other := w.start(priced()), w.start(priced())
		s := w.newSession(n)
		n.puppet.on(replies(took(1, 1, "one"), took(1, 1, "three")))
		other.puppet.on(replies(took(1, 1, "five")))
		n.send(s, "first")
		n.settled(s)
		for _, one := range []struct {
			at      *node
			commits int64
		}{{n, 1}, {other, 2}} {
			w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = b.Spent + 10 })
			one.at.commits.Store(0)
			sealed := one.at.send(s, "stopped")
			w.idle(s)
			if row := w.turn(sealed); row.Status != models.TurnSealed || row.ModelCalls != 0 || one.at.commits.Load() != one.commits {
				t.Errorf("after %d commits the turn is %+v", one.at.commits.Load(), row)
			}
			one.at.settled(s)
			w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = 1_000_000 })
			turn := one.at.send(s, "go on")
			w.idle(s)
			if shown := shownTo(one.at); shown[len(shown)-1] != storedBefore(w, s, turn) {
				t.Errorf("the model was shown %s, stored is %s", shown[len(shown)-1], storedBefore(w, s, turn))
			}
			one.at.settled(s)
		}
	})
}

// TestWhatIsBeingAcceptedIsKnown has the runner look for turns that it has never heard of while the commit that begins one waits
// for its reply: it must not be taken for such a turn, or the model would be asked twice.
func TestWhatIsBeingAcceptedIsKnown(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.puppet.on(echoing)
		var once sync.Once
		n.faults.on(func(point string) error {
			if point == "committed" {
				once.Do(func() {
					if n.engine.releaseUnheard(context.Background()) {
						t.Error("whether the turn is at work here is settled before the reply")
					}
					n.engine.Wake()
				})
			}
			return nil
		})
		n.send(s, "hello")
		log := w.idle(s)
		if err := n.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if asked := len(n.puppet.requests()); asked != 1 || count(log, models.EventReasonRecovered) != 0 {
			t.Errorf("the model was asked %d times:\n%s", asked, kinds(log))
		}
	})
}

// TestShownIsWhatIsStored lets two processes take messages of one session, some that steer and some that queue, while commits fail and
// replies are lost. Whatever each of them remembers of the session, in the end the model is shown just what is stored.
//
// Rules: P20.
func TestShownIsWhatIsStored(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		nodes := []*node{w.start(), w.start()}
		var mu sync.Mutex
		made := 0
		everySixth := func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if made++; made%6 == 0 {
				return errFault
			}
			return nil
		}
		for _, n := range nodes {
			n.puppet.on(func(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
				if last := req.Messages[len(req.Messages)-1]; last.Role == models.MessageUser && len(last.Parts[0].Text)%2 == 0 {
					return answer(llm.FinishToolCalls, textPart("Let me see."), callPart("", "once", `{"tag":"x"}`)), nil
				}
				return answer(llm.FinishStop, textPart("Done.")), nil
			})
			n.faults.on(everySixth)
		}
		for range 4 {
			s := w.newSession(nodes[0])
			for burst := range 6 {
				var sending sync.WaitGroup
				for i := range 1 + burst%4 {
					sending.Go(func() {
						m := sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text(fmt.Sprintf("%d.%0*d", burst, i+1, i))}, Delivery: turns.Steer}
						if i == 2 {
							m.Delivery = turns.Queue
						}
						if _, _, err := nodes[(burst/2+i/3)%2].sessions.Send(t.Context(), w.by, m); err != nil {
							t.Error(err)
						}
					})
				}
				sending.Wait()
				if burst%2 == 0 {
					w.idle(s)
				}
			}
			w.idle(s)
			for _, n := range nodes {
				turn := n.send(s, "What was said?")
				w.idle(s)
				// Several requests may be of this turn, and it may run on either node; the last one of all ends it.
				stored := storedBefore(w, s, turn)
				if !slices.ContainsFunc(nodes, func(n *node) bool { return slices.Contains(shownTo(n), stored) }) {
					t.Fatalf("stored is %s, and the model was never shown that", stored)
				}
			}
		}
	})
}

// shownTo returns what each request to the model of a node has shown.
func shownTo(n *node) (all []string) {
	for _, r := range n.puppet.requests() {
		shown := ""
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				shown += fmt.Sprintf("%s %s %s|", m.Role, p.Text, p.ToolCallID)
			}
		}
		all = append(all, shown)
	}
	return all
}

// storedBefore returns the same for what is stored of a session before the last answer of a turn.
func storedBefore(w *world, s models.SessionID, turn models.TurnID) (stored string) {
	final := *w.turn(turn).FinalMessageID
	for _, m := range w.messages(s) {
		if m.ID == final {
			break
		}
		for _, p := range m.Content {
			stored += fmt.Sprintf("%s %s %s|", m.Role, p.Text, p.ToolCallID)
		}
	}
	return stored
}
