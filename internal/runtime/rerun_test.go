package runtime

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

func (n *node) rerun(in sessions.NewRerun) (*models.Session, *models.Turn) {
	n.w.t.Helper()
	s, m, t, err := n.sessions.Rerun(n.w.t.Context(), n.w.by, in)
	if err != nil {
		n.w.t.Fatal(err)
	}
	if t.SessionID != s.ID || m.SessionID != s.ID || t.InputMessageID != m.ID {
		n.w.t.Fatalf("the fork is %+v, the message %+v, the turn %+v", s, m, t)
	}
	return s, t
}

// A turn is run again in a fork that knows what came before it, and nothing of it or of what came after: the first turn of a session, one that
// was queued behind another, and one of a fork, with the same words or others.
func TestTurnsAreRunAgain(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.write(s, "/workspace/before.txt", "kept")
		g := n.speaks("half")
		first := n.send(s, "one")
		<-g.arrived
		second := n.deliver(message(s, "two", "QUEUE"))
		n.puppet.on(answers(answer(llm.FinishStop, textPart("ok"))))
		g.open()
		w.idle(s)
		n.puppet.on(echoing)
		n.send(s, "three")
		w.idle(s)

		f, _ := n.rerun(sessions.NewRerun{TurnID: first})
		w.idle(f.ID)
		if got := n.shownLast(); got != "Uone" {
			t.Errorf("the first turn again is shown %s", got)
		}
		if _, content, err := n.engine.cfg.Workspace.Open(w.org, f.ID).Read(t.Context(), "/workspace/before.txt"); err != nil || string(content) != "kept" {
			t.Errorf("what was written before the turn is %q, %v", content, err)
		}
		title := "again"
		f, again := n.rerun(sessions.NewRerun{TurnID: second, Content: []sessions.NewPart{sessions.Text("TWO")}, ModelID: &w.echo, Title: &title})
		w.idle(f.ID)
		if got := n.shownLast(); got != "Uone Ahalf UTWO" || *f.Title != title || *w.turn(again.ID).ModelID != w.echo {
			t.Errorf("the second turn again is shown %s, in %+v", got, f)
		}
		f, _ = n.rerun(sessions.NewRerun{TurnID: again.ID})
		w.idle(f.ID)
		if got := n.shownLast(); got != "Uone Ahalf UTWO" {
			t.Errorf("the turn of the fork again is shown %s", got)
		}
		w.wantWhole(s, f.ID)
	})
}

// The same key with the same input makes one fork with one turn; with another input it is refused. What has not begun can't be run again, and nobody
// runs turns of another organization.
func TestTurnsAreRunAgainOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.puppet.on(echoing)
		first := n.send(s, "one")
		w.idle(s)
		key := "k"
		in := sessions.NewRerun{TurnID: first, IdempotencyKey: &key}
		f, turn := n.rerun(in)
		w.idle(f.ID)
		if again, same := n.rerun(in); again.ID != f.ID || same.ID != turn.ID {
			t.Errorf("the same key makes %s, %s, want %s, %s", again.ID, same.ID, f.ID, turn.ID)
		}
		w.idle(f.ID)
		if list := w.turns(f.ID); len(list) != 1 {
			t.Errorf("the fork has the turns %+v", list)
		}
		refused := func(by *world, in sessions.NewRerun, want fault.Code) {
			t.Helper()
			if got, _, _, err := n.sessions.Rerun(t.Context(), by.by, in); !fault.Is(err, want) {
				t.Errorf("want %s, got %+v, %v", want, got, err)
			}
		}
		in.ModelID = &w.echo
		refused(w, in, fault.IdempotencyMismatch)
		refused(w.another(), sessions.NewRerun{TurnID: first}, fault.NotFound)
		refused(w, sessions.NewRerun{TurnID: first, Content: []sessions.NewPart{}}, fault.Invalid)
		g := n.speaks("half")
		n.send(s, "two")
		<-g.arrived
		refused(w, sessions.NewRerun{TurnID: n.deliver(message(s, "three", "QUEUE"))}, fault.Conflict)
		g.open()
		w.idle(s)
	})
}
