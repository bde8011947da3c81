package sessions

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
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
