package resolvers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit" //nolint:depguard // these tests need the whole way down
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// Each mutation of an operation shows what it has done itself, not what an earlier one has read.
func TestEditsInOneOperationAreShown(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		at := clock.NewManual(time.UnixMilli(1_700_000_000_000))
		committer := commit.New(commit.Config{DB: db, Clock: at})
		t.Cleanup(committer.Stop)
		a.resolver.Sessions = sessions.New(sessions.Config{DB: db, Committer: committer, Catalog: a.resolver.Catalog, Clock: at})
		session, _ := a.get(`mutation { createSession(input: {title: "t"}) { session { id } } }`, nil, "createSession", "session", "id").(string)
		send := fmt.Sprintf(`mutation { sendMessage(input: {sessionId: %q, content: [{text: "x"}], delivery: QUEUE}) { turn { id } } }`, session)
		a.get(send, nil)
		turn, _ := a.get(send, nil, "sendMessage", "turn", "id").(string)
		edit := func(text string) string {
			return fmt.Sprintf(`editQueuedTurn(turnId: %q, content: [{text: %q}]) { turn { inputMessage { content { ... on TextPart { text } } } } userErrors { message } }`, turn, text)
		}
		got, err := a.run(`mutation { one: `+edit("first")+` two: `+edit("second")+` }`, nil)
		want := `{"one":{"turn":{"inputMessage":{"content":[{"text":"first"}]}},"userErrors":[]},"two":{"turn":{"inputMessage":{"content":[{"text":"second"}]}},"userErrors":[]}}`
		if err != nil || got != want {
			t.Errorf("got %s, %v", got, err)
		}
	})
}
