package sessions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
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
		if list, err := e.svc.List(t.Context(), e.theirs.OrgID, Filter{Search: &text}, Sorting{}, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("the others, who have %s, find %v, %v", theirs.ID, list, err)
		}
	})
}

// words returns the rows of the index.
func (e *env) words() (list []models.MessageWord) {
	e.t.Helper()
	if err := store.Of(e.db.Read(e.t.Context(), e.by.OrgID), e.by.OrgID).Order("word, session_id").Find(&list).Error; err != nil {
		e.t.Fatal(err)
	}
	return list
}

func TestAnIndexThatIsMadeAnewIsTheSame(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session := e.create().ID
		for i := range 2*indexMessages + 1 {
			e.wholeTurn(session, fmt.Sprintf("word%d", i))
		}
		e.index()
		before := e.words()
		if len(before) < 2*indexMessages+1 {
			t.Fatalf("%d words are indexed", len(before))
		}
		e.wantFound(Filter{Search: ptr(fmt.Sprintf("word%d", 2*indexMessages))}, session)
		err := e.db.Write(t.Context(), e.by.OrgID, func(tx *gorm.DB) error {
			for _, table := range []any{&models.MessageWord{}, &models.IndexedSession{}, &models.WordFeed{}} {
				if err := store.Of(tx, e.by.OrgID).Delete(table).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		e.index()
		if after := e.words(); !slices.Equal(after, before) {
			t.Errorf("%d words became %d", len(before), len(after))
		}
	})
}

// An upgrade to a version with another index leaves the feed's end as its place, and what was there before to be gone through beside it.
func TestWhatIsNewIsIndexedBeforeWhatWasThere(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		old := e.create().ID
		e.wholeTurn(old, "thin ice")
		err := e.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Exec("INSERT INTO word_feeds (org_id, position, backfilled, backfill_through) SELECT org_id, position, 0, position FROM org_feeds").Error
		})
		if err != nil {
			t.Fatal(err)
		}
		later := e.create().ID
		e.wholeTurn(later, "thin air")
		if moved, err := NewIndexer(e.db, e.svc.log).step(t.Context(), e.by.OrgID); err != nil || !moved {
			t.Fatal(moved, err)
		}
		e.wantFound(Filter{Search: ptr("thin")}, later)
		e.index()
		e.wantFound(Filter{Search: ptr("thin")}, later, old)
		if orgs, err := unindexed(t.Context(), e.db, 10); err != nil || len(orgs) > 0 {
			t.Errorf("%v are still to be indexed, %v", orgs, err)
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
		if n := len(e.words()); n != maxSessionWords {
			t.Errorf("%d words are indexed", n)
		}
		e.wantFound(Filter{Search: ptr("w0x7")}, session)
		e.wantFound(Filter{Search: ptr(strings.Repeat("x", maxWord+1))})
	})
}

// Hooks may take something out of a message until the model is shown it.
func TestWhatNoModelHasSeenIsNotIndexed(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session := e.create().ID
		e.say(session, "secret")
		e.play(session, true, false, NewChanges())
		e.index()
		e.wantFound(Filter{Search: ptr("secret")})
		e.play(session, false, true, NewChanges())
		e.index()
		e.wantFound(Filter{Search: ptr("secret")}, session)
	})
}

func TestMessagesThatWaitedTogetherAreAllIndexed(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session := e.create().ID
		turn := e.say(session, "first")
		e.play(session, true, false, NewChanges())
		for i := range 2*indexMessages + 1 {
			in := NewMessage{SessionID: session, Content: []NewPart{Text(fmt.Sprintf("steer%d", i))}, Delivery: turns.Steer}
			if _, got, err := e.svc.Send(t.Context(), e.by, in); err != nil || got.ID != turn {
				t.Fatalf("message %d is in turn %v, %v", i, got, err)
			}
		}
		e.play(session, false, true, NewChanges())
		e.play(session, true, true, NewChanges())
		e.index()
		for i := range 2*indexMessages + 1 {
			e.wantFound(Filter{Search: ptr(fmt.Sprintf("steer%d", i))}, session)
		}
	})
}

func TestKnownWordsTakeNoRoom(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session := e.create().ID
		var text strings.Builder
		for i := range maxSessionWords - 5 {
			fmt.Fprintf(&text, "a%d ", i)
		}
		e.wholeTurn(session, text.String())
		e.index()
		e.wholeTurn(session, "a1 a2 a3 a4 a5 a6 a7 a8 zebra")
		e.index()
		e.wantFound(Filter{Search: ptr("zebra")}, session)
	})
}
