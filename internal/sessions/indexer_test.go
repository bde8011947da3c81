package sessions

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// index takes the index of messages to the end of the feeds.
func (e *env) index() {
	e.t.Helper()
	if err := NewIndexer(e.db, e.svc.log).Index(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
}

func TestSessionsAreFoundByWhatIsSaidInThem(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		search := func(text string, want ...models.SessionID) {
			t.Helper()
			e.wantFound(Filter{Search: &text}, want...)
		}
		first, second := e.create().ID, e.create().ID
		e.wholeTurn(first, "The Crème is too thin")
		search("crème")
		e.index()
		search("CRÈME", first)
		search("thin crème", first)
		search("cre")
		e.wholeTurn(second, "thin ice")
		e.index()
		search("thin", second, first)
		search("thin ice", second)
		e.wantFound(Filter{Search: ptr("thin"), Status: []models.SessionStatus{models.SessionWaiting}})
		if _, err := e.svc.Update(t.Context(), e.by, first, Change{Title: catalog.Opt[*string]{Given: true, Value: ptr("Pudding")}}); err != nil {
			t.Fatal(err)
		}
		search("pud crème", first)

		theirs, err := e.svc.Create(t.Context(), e.theirs, NewSession{})
		if err != nil {
			t.Fatal(err)
		}
		text := "crème"
		if list, err := e.svc.List(t.Context(), e.theirs.OrgID, Filter{Search: &text}, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("the others, who have %s, find %v, %v", theirs.ID, list, err)
		}
	})
}

// words counts the rows of the index.
func (e *env) words() (n int64) {
	e.t.Helper()
	if err := store.Of(e.db.Read(e.t.Context(), e.by.OrgID).Model(&models.MessageWord{}), e.by.OrgID).Count(&n).Error; err != nil {
		e.t.Fatal(err)
	}
	return n
}

func TestAnIndexThatIsMadeAnewIsTheSame(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session := e.create().ID
		for i := range 2*indexMessages + 1 {
			e.wholeTurn(session, fmt.Sprintf("word%d", i))
		}
		e.index()
		before := e.words()
		if before < 2*indexMessages+1 {
			t.Fatalf("%d words are indexed", before)
		}
		e.wantFound(Filter{Search: ptr(fmt.Sprintf("word%d", 2*indexMessages))}, session)
		err := e.db.Write(t.Context(), e.by.OrgID, func(tx *gorm.DB) error {
			if err := store.Of(tx, e.by.OrgID).Delete(&models.WordSession{}).Error; err != nil {
				return err
			}
			return store.Of(tx, e.by.OrgID).Delete(&models.WordFeed{}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		e.index()
		if after := e.words(); after != before {
			t.Errorf("%d words became %d", before, after)
		}
	})
}

func TestTheIndexOfASessionIsBounded(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session := e.create().ID
		for turn := range 3 {
			var text strings.Builder
			for i := range maxSessionWords / 2 {
				fmt.Fprintf(&text, "w%dx%d ", turn, i)
			}
			e.wholeTurn(session, text.String()+strings.Repeat("x", maxWord+1))
		}
		e.index()
		if n := e.words(); n != maxSessionWords {
			t.Errorf("%d words are indexed", n)
		}
		e.wantFound(Filter{Search: ptr("w0x7")}, session)
		e.wantFound(Filter{Search: ptr(strings.Repeat("x", maxWord+1))})
	})
}
