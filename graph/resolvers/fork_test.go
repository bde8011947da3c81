package resolvers_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit" //nolint:depguard // these tests need the whole way down
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// forked is what these tests ask of a session.
type forked struct {
	ID            string
	ForkedThrough int
	ForkedFrom    *struct{ ID string }
	Events        struct {
		Edges []struct{ Cursor string }
		Nodes []struct {
			Sequence     int
			SessionID    string
			Kind         string
			ForkedFromID *string
		}
	}
}

type forkAnswer struct {
	ForkSession struct {
		Session    *forked
		UserErrors []struct {
			Code string
			Path []string
		}
	}
}

const sessionFields = `id forkedThrough forkedFrom { id } events(first: 10, after: $after) { edges { cursor }
  nodes { sequence sessionId kind ... on SessionStarted { forkedFromId } } }`

func TestForkSession(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		at := clock.NewManual(time.UnixMilli(1_700_000_000_000))
		committer := commit.New(commit.Config{DB: db, Clock: at})
		t.Cleanup(committer.Stop)
		a.resolver.Sessions = sessions.New(sessions.Config{DB: db, Committer: committer, Catalog: a.resolver.Catalog, Clock: at})
		a.resolver.Log = events.NewLog(db)
		ask := func(query string, variables map[string]any, into any) {
			t.Helper()
			answer, err := a.run(query, variables)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(answer), into); err != nil {
				t.Fatalf("%s: %v", answer, err)
			}
		}
		fork := func(input map[string]any) forkAnswer {
			t.Helper()
			var got forkAnswer
			ask(`mutation($in: ForkSessionInput!, $after: Cursor) { forkSession(input: $in) { session { `+sessionFields+` } userErrors { code path } } }`,
				map[string]any{"in": input}, &got)
			return got
		}
		var made struct {
			CreateSession struct{ Session forked }
		}
		ask(`mutation($after: Cursor) { createSession(input: {title: "t"}) { session { `+sessionFields+` } } }`, nil, &made)
		s := made.CreateSession.Session
		if s.ForkedFrom != nil || s.ForkedThrough != 0 || len(s.Events.Nodes) != 1 || s.Events.Nodes[0].ForkedFromID != nil {
			t.Fatalf("the original is %+v", s)
		}

		f := fork(map[string]any{"sessionId": s.ID}).ForkSession.Session
		if f == nil || f.ForkedFrom == nil || f.ForkedFrom.ID != s.ID || f.ForkedThrough != 1 || len(f.Events.Nodes) != 2 {
			t.Fatalf("the fork is %+v", f)
		}
		for i, n := range f.Events.Nodes {
			if n.Sequence != i+1 || n.SessionID != f.ID || n.Kind != "SESSION_STARTED" || (n.ForkedFromID == nil) != (i == 0) {
				t.Errorf("event %d is %+v", i+1, n)
			}
		}
		// A cursor of the original, and the same one as the fork gives it, lead on in the fork.
		for _, cursor := range []string{s.Events.Edges[0].Cursor, f.Events.Edges[0].Cursor} {
			var got struct{ Session forked }
			ask(`query($id: ID!, $after: Cursor) { session(id: $id) { `+sessionFields+` } }`, map[string]any{"id": f.ID, "after": cursor}, &got)
			if nodes := got.Session.Events.Nodes; len(nodes) != 1 || nodes[0].Sequence != 2 || *nodes[0].ForkedFromID != s.ID {
				t.Errorf("after the cursor come %+v", nodes)
			}
		}
		for field, input := range map[string]map[string]any{
			"sessionId":     {"sessionId": models.NewID[models.SessionEntity]().String()},
			"throughTurnId": {"sessionId": s.ID, "throughTurnId": "nonsense"},
		} {
			got := fork(input).ForkSession
			if got.Session != nil || len(got.UserErrors) != 1 || got.UserErrors[0].Code != "NOT_FOUND" || got.UserErrors[0].Path[1] != field {
				t.Errorf("%s: the answer is %+v", field, got)
			}
		}
	})
}
