package sessions

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// shown writes a match with brackets around its words.
func shown(m Match) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Hit {
			b.WriteString("[" + p.Text + "]")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestAMatchShowsTheMessageThatFirstSaidMostWords(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session, other := e.create().ID, e.create().ID
		e.wholeTurn(session, "ice")
		best := e.wholeTurn(session, "The Crème\n\nis too thin.")
		e.wholeTurn(session, "crème, thin ice again")
		e.wholeTurn(other, "nothing of it")
		e.index()
		found, err := e.svc.Matches(t.Context(), e.by.OrgID, []models.SessionID{session, other}, "THIN crème ice")
		if err != nil || len(found) != 1 {
			t.Fatalf("%v, %v", found, err)
		}
		if m := found[session]; shown(m) != "The [Crème] is too [thin]." || m.Message.TurnID != best {
			t.Errorf("%q of %s, want that of %s", shown(m), m.Message.TurnID, best)
		}
		if found, err := e.svc.Matches(t.Context(), e.theirs.OrgID, []models.SessionID{session}, "thin"); err != nil || len(found) != 0 {
			t.Errorf("the others find %v, %v", found, err)
		}
		for _, none := range []string{"", " – ", "thi", session.String()} {
			if found, err := e.svc.Matches(t.Context(), e.by.OrgID, []models.SessionID{session}, none); err != nil || len(found) != 0 {
				t.Errorf("%q finds %v, %v", none, found, err)
			}
		}
		_, err = e.svc.Matches(t.Context(), e.by.OrgID, []models.SessionID{session}, "a\x00b")
		wantFault(t, err, fault.Invalid, "search")
	})
}

// Messages that a turn takes in together have one place in the conversation.
func TestAMatchIsInTheMessageThatHasTheWords(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session := e.create().ID
		e.say(session, "hello")
		e.play(session, true, false, NewChanges())
		for _, text := range []string{"wait", "thin crème", "ice", "thin ice", "ice, thin"} {
			if _, _, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: session, Content: []NewPart{Text(text)}, Delivery: turns.Steer}); err != nil {
				t.Fatal(err)
			}
		}
		e.play(session, false, true, NewChanges())
		e.play(session, true, true, NewChanges())
		e.index()
		for search, want := range map[string]string{"ice": "[ice]", "thin ice": "[thin] [ice]", "crème": "thin [crème]", "hello": "[hello]"} {
			found, err := e.svc.Matches(t.Context(), e.by.OrgID, []models.SessionID{session}, search)
			if err != nil || shown(found[session]) != want {
				t.Errorf("%q shows %q, want %q; %v", search, shown(found[session]), want, err)
			}
		}
	})
}

func TestASnippetIsAboutItsFirstWord(t *testing.T) {
	far := strings.Repeat("lorem ", 50)
	for said, want := range map[string]string{
		"word":                    "[word]",
		"a Word, and\nword again": "a [Word], and [word] again",
		"swords":                  "",
		far + "word.":             "…" + strings.Repeat("lorem ", 6) + "[word].",
		"word " + far:             "[word] " + strings.TrimRight(strings.Repeat("lorem ", 26)[:155], "") + "…",
	} {
		parts := snippet(said, []string{"word"})
		if got := shown(Match{Parts: parts}); got != want {
			t.Errorf("%.20q…: %q, want %q", said, got, want)
		}
	}
}
