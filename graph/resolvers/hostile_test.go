package resolvers_test

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // these tests put rows below the services
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// A list that says the same more often than a statement has room for parameters is no error of the server's.
func TestFiltersThatRepeatThemselves(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.resolver.Sessions = sessions.New(sessions.Config{DB: db, Catalog: a.resolver.Catalog, Clock: clock.System{}, Secrets: plainSecrets{}})
		a.resolver.Log = events.NewLog(db)
		withWaits(t, a, 1)
		many := func(what string) []any {
			list := make([]any, 70_000)
			for i := range list {
				list[i] = what
			}
			return list
		}
		for query, one := range map[string]string{
			`query($l: [WaitKind!]) { waits(kinds: $l) { totalCount nodes { kind } } }`:                         "APPROVAL",
			`query($l: [SessionStatus!]) { sessions(filter: {status: $l}) { totalCount nodes { status } } }`:    "ACTIVE",
			`query($l: [EventKind!]) { sessions { nodes { events(first: 3, kinds: $l) { nodes { kind } } } } }`: "SESSION_STARTED",
		} {
			want, err := a.run(query, map[string]any{"l": []any{one}})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := a.run(query, map[string]any{"l": many(one)}); err != nil || got != want {
				t.Errorf("%s: got %.200s, not %s, %v", query, got, want, err)
			}
		}
	})
}
