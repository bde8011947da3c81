package runtime

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// lose takes results, and what the journal has of them, away from a session: what no commit of ours ever does.
func (w *world) lose(s models.SessionID, results, journal bool) {
	w.t.Helper()
	err := w.db.WriteAcross(w.t.Context(), func(tx *gorm.DB) error {
		if results {
			if err := store.Of(tx, w.org).Where("session_id = ? AND role = ?", s, models.MessageTool).Delete(&models.Message{}).Error; err != nil {
				return err
			}
		}
		if journal {
			return store.Of(tx, w.org).Where("session_id = ? AND kind = ?", s, models.EffectTool).Delete(&models.Effect{}).Error
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestTranscriptRepair has results vanish between two turns: the next one finds them in the journal, or says that nobody knows, in the
// place where they belong, once.
//
// Rules: J14.
func TestTranscriptRepair(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name    string
			journal bool
			action  string
			want    string
		}{
			{"the journal has them", false, "replay", `{"tag":"a"},{"tag":"b"}`},
			{"nobody has them", true, "synthesize", "interrupted:,interrupted:"},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := w.within(t)
				n := w.start()
				s := w.newSession(n)
				n.send(s, script(t, says(text("I look."), callTool("once", "a"), callTool("look", "b")), says(text("Done."))))
				before := w.idle(s)
				if count(before, models.EventTranscriptRepaired) != 0 {
					t.Errorf("something was repaired that was whole:\n%s", kinds(before))
				}
				w.lose(s, true, c.journal)
				other := w.newNode()
				if err := other.engine.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				n.stop()
				for range 2 {
					other.puppet.on(echoing)
					other.send(s, "go on")
					w.idle(s)
				}
				var repaired []string
				log := w.events(s)
				for _, p := range payloads[events.TranscriptRepaired](t, log) {
					repaired = append(repaired, p.ToolName+" "+p.Action)
				}
				if got, want := strings.Join(repaired, ", "), "once "+c.action+", look "+c.action; got != want {
					t.Errorf("repaired was %q, want %q", got, want)
				}
				for _, r := range other.puppet.requests() {
					var roles, results []string
					for _, m := range r.Messages {
						roles = append(roles, string(m.Role[0]))
						for _, p := range m.Parts {
							if p.Type == models.PartToolResult {
								said, _, _ := strings.Cut(p.Error, " ")
								results = append(results, string(p.Result)+said)
							}
						}
					}
					if got := strings.Join(results, ","); got != c.want {
						t.Errorf("the model was shown the results %s, want %s", got, c.want)
					}
					if got := strings.Join(roles, ""); !strings.HasPrefix(got, "UATTAU") {
						t.Errorf("the model was shown %s", got)
					}
				}
			})
		}
	})
}

// TestNothingToRepair has conversations that begin in the middle, and one that this process alone has wrong.
//
// Rules: J14.
func TestNothingToRepair(t *testing.T) {
	c := &conversation{}
	c.add(4, 0, models.MessageTool, []models.Part{{Type: models.PartToolResult, ToolCallID: "old"}})
	c.add(5, 0, models.MessageUser, textParts("a"))
	c.add(6, 0, models.MessageAgent, []models.Part{callPart("one", "look", "{}"), callPart("two", "look", "{}")})
	c.add(8, 1, models.MessageTool, []models.Part{{Type: models.PartToolResult, ToolCallID: "two"}})
	if got := c.unanswered(); len(got) != 1 || got[0].part.ToolCallID != "one" || got[0].position != 6 || got[0].index != 0 {
		t.Errorf("unanswered are %+v", got)
	}
	c.add(8, 0, models.MessageTool, []models.Part{{Type: models.PartToolResult, ToolCallID: "one"}})
	if got := c.unanswered(); len(got) != 0 {
		t.Errorf("unanswered are %+v, though all have results", got)
	}
	// What was forgotten is shown to nobody.
	c.add(9, 0, models.MessageAgent, []models.Part{callPart("three", "look", "{}")})
	c.add(20, 0, models.MessageUser, textParts(strings.Repeat("x", maxConversation)))
	if got := c.unanswered(); len(got) != 0 {
		t.Errorf("unanswered are %+v, which were forgotten", got)
	}
}

// TestWhatWasMissedIsNotRepaired has a process that has missed a result, which is in the database: nothing is written.
//
// Rules: J14.
func TestWhatWasMissedIsNotRepaired(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		turn := n.send(s, script(t, says(callTool("look", "a")), says(text("Done."))))
		w.idle(s)
		n.settled(s)
		kept := n.engine.conversations.take(*w.turn(turn))
		stale := &conversation{sequence: kept.sequence, session: kept.session, limit: kept.limit}
		for _, m := range kept.list {
			if m.Role != models.MessageTool {
				stale.add(m.position, m.ordinal, m.Role, m.Parts)
			}
		}
		n.engine.conversations.put(*w.turn(turn), stale)
		n.puppet.on(echoing)
		n.send(s, "go on")
		log := w.idle(s)
		requests := n.puppet.requests()
		if got := requests[len(requests)-1].Messages; len(got) != 5 || got[2].Role != models.MessageTool {
			t.Errorf("the model was shown %q", saidBy(got))
		}
		if count(log, models.EventTranscriptRepaired) != 0 {
			t.Errorf("what is there was repaired:\n%s", kinds(log))
		}
	})
}
