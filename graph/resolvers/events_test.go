package resolvers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// withEvents adds a hub to the API, and a session whose log has n events: SESSION_STARTED, then titles.
func withEvents(t *testing.T, a *api, n int) models.SessionID {
	t.Helper()
	bus := events.NewLocalBus()
	a.resolver.Log = events.NewLog(a.db)
	a.resolver.Events = events.NewHub(events.Config{Log: a.resolver.Log, Bus: bus})
	t.Cleanup(func() {
		a.resolver.Events.Stop()
		_ = bus.Close()
	})
	session, err := models.ParseID[models.SessionEntity](a.session(a.agent(map[string]any{"name": "a", "systemPrompt": ""})))
	if err != nil {
		t.Fatal(err)
	}
	commitEvents(t, a, session, 1, n)
	return session
}

func commitEvents(t *testing.T, a *api, session models.SessionID, from, to int) {
	t.Helper()
	var rows []models.Event
	for i := from; i <= to; i++ {
		e := models.Event{
			OrgID: a.principal.OrgID, SessionID: session, Sequence: int64(i), ID: models.NewID[models.EventEntity](),
			Kind: models.EventSessionTitleChanged, Data: models.JSON(fmt.Sprintf(`{"title":"t%d"}`, i)), OccurredAt: 1,
		}
		if i == 1 {
			e.Kind, e.Data = models.EventSessionStarted, models.JSON(`{}`)
		}
		rows = append(rows, e)
	}
	err := a.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		if err := tx.Create(&rows).Error; err != nil {
			return err
		}
		return store.OneRow(store.Of(tx.Model(&models.Session{}), a.principal.OrgID).Where("id = ?", session).Update("last_sequence", to))
	})
	if err != nil {
		t.Fatal(err)
	}
	a.resolver.Events.Publish(a.principal.OrgID, session, rows)
}

func TestTheLogOfASession(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		session := withEvents(t, a, 5)
		page := func(args string) string {
			t.Helper()
			data, err := a.run(fmt.Sprintf(`{ session(id: %q) { events(%s) { nodes { sequence } pageInfo { hasNextPage hasPreviousPage } } } }`, session, args), nil)
			if err != nil {
				return err.Error()
			}
			return strings.TrimSuffix(strings.TrimPrefix(data, `{"session":{"events":`), `}}`)
		}
		cursor, _ := a.get(`query($id: ID!) { session(id: $id) { events(first: 2) { pageInfo { endCursor } } } }`, map[string]any{"id": session.String()},
			"session", "events", "pageInfo", "endCursor").(string)
		tests := map[string]string{
			`first: 2`: `{"nodes":[{"sequence":1},{"sequence":2}],"pageInfo":{"hasNextPage":true,"hasPreviousPage":false}}`,
			`last: 2`:  `{"nodes":[{"sequence":4},{"sequence":5}],"pageInfo":{"hasNextPage":false,"hasPreviousPage":true}}`,
			fmt.Sprintf(`first: 9, after: %q`, cursor): `{"nodes":[{"sequence":3},{"sequence":4},{"sequence":5}],"pageInfo":{"hasNextPage":false,"hasPreviousPage":true}}`,
			`kinds: [SESSION_STARTED, CAUGHT_UP]`:      `{"nodes":[{"sequence":1}],"pageInfo":{"hasNextPage":false,"hasPreviousPage":false}}`,
			`kinds: []`:                                `{"nodes":[],"pageInfo":{"hasNextPage":false,"hasPreviousPage":false}}`,
			fmt.Sprintf(`last: 1, before: %q`, cursor): `{"nodes":[{"sequence":1}],"pageInfo":{"hasNextPage":true,"hasPreviousPage":false}}`,
		}
		for args, want := range tests {
			if got := page(args); got != want {
				t.Errorf("%s: got %s, want %s", args, got, want)
			}
		}
		if got := page(`first: 101`); !strings.Contains(got, "first must be from 1 to 100") {
			t.Errorf("got %s", got)
		}
	})
}

// stream runs a subscription; next gives an answer, or "" at its end.
func (a *api) stream(ctx context.Context, query string) (next func() string, end *auth.Stream, err error) {
	ctx, end = auth.WithStream(auth.WithPrincipal(ctx, a.principal))
	op, errs := a.exec.CreateOperationContext(graphql.StartOperationTrace(ctx), &graphql.RawParams{Query: query})
	if errs != nil {
		return nil, end, errs
	}
	handler, ctx := a.exec.DispatchOperation(graphql.StartOperationTrace(ctx), op)
	return func() string {
		resp := handler(ctx)
		if resp == nil {
			return ""
		}
		if len(resp.Errors) > 0 {
			return resp.Errors.Error()
		}
		return string(resp.Data)
	}, end, nil
}

func TestTheEventsOfASession(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		session := withEvents(t, a, 3)
		ctx, cancel := context.WithCancel(t.Context())
		next, end, err := a.stream(ctx, fmt.Sprintf(
			`subscription { sessionEvents(sessionId: %q, after: 1, kinds: [SESSION_TITLE_CHANGED]) { __typename sequence ... on SessionTitleChanged { title } } }`, session))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			`{"sessionEvents":{"__typename":"SessionTitleChanged","sequence":2,"title":"t2"}}`,
			`{"sessionEvents":{"__typename":"SessionTitleChanged","sequence":3,"title":"t3"}}`,
			`{"sessionEvents":{"__typename":"CaughtUp","sequence":3}}`,
		}
		for _, w := range want {
			if got := next(); got != w {
				t.Fatalf("got %s, want %s", got, w)
			}
		}
		commitEvents(t, a, session, 4, 4)
		if got, w := next(), `{"sessionEvents":{"__typename":"SessionTitleChanged","sequence":4,"title":"t4"}}`; got != w {
			t.Fatalf("got %s, want %s", got, w)
		}
		cancel()
		if got := next(); got != "" || end.Err() != nil {
			t.Fatalf("after its end: %s, %v", got, end.Err())
		}
	})
}

func TestAStreamPastTheEndOfTheLogSaysWhereThatIs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		session := withEvents(t, a, 3)
		next, end, err := a.stream(t.Context(), fmt.Sprintf(`subscription { sessionEvents(sessionId: %q, after: 41) { sequence } }`, session))
		if err != nil {
			t.Fatal(err)
		}
		if got := next(); !strings.Contains(got, "ends at 3") || !strings.Contains(got, "after: 0") {
			t.Errorf("got %s, %v", got, end.Err())
		}
	})
}

func TestAStreamOfASlowReaderEndsWithItsPlace(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t))
	session := withEvents(t, a, 1)
	next, end, err := a.stream(t.Context(), fmt.Sprintf(`subscription { sessionEvents(sessionId: %q, after: 1) { sequence } }`, session))
	if err != nil {
		t.Fatal(err)
	}
	next() // CAUGHT_UP
	for i := 2; i < 600; i += 100 {
		for j := range 100 {
			commitEvents(t, a, session, i+j, i+j)
		}
	}
	last := "none"
	for got := next(); got != ""; got = next() {
		last = got
	}
	lagged, ok := end.Err().(*gqlerror.Error) //nolint:errorlint // the transport is given it as it is
	if !ok || lagged.Extensions["code"] != "SUBSCRIPTION_LAGGED" {
		t.Fatalf("got %v", end.Err())
	}
	if want := fmt.Sprintf(`{"sessionEvents":{"sequence":%d}}`, lagged.Extensions["lastSequence"]); last != want {
		t.Fatalf("the last was %s, the error says %s", last, want)
	}
}

func TestAStreamEndsWithTheHub(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t))
	session := withEvents(t, a, 1)
	next, end, err := a.stream(t.Context(), fmt.Sprintf(`subscription { sessionEvents(sessionId: %q) { sequence } }`, session))
	if err != nil {
		t.Fatal(err)
	}
	a.resolver.Events.Stop()
	next()
	if e, ok := end.Err().(*gqlerror.Error); !ok || e.Extensions["code"] != "UNAVAILABLE" { //nolint:errorlint // see above
		t.Fatalf("got %v", end.Err())
	}
}

func TestSubscriptionsThatAreRefused(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t))
	session := withEvents(t, a, 1)
	subscribe := func(args string) error {
		t.Helper()
		ctx := auth.WithPrincipal(t.Context(), a.principal)
		op, errs := a.exec.CreateOperationContext(graphql.StartOperationTrace(ctx), &graphql.RawParams{Query: `subscription { sessionEvents(` + args + `) { id } }`})
		if errs != nil {
			return errs
		}
		handler, ctx := a.exec.DispatchOperation(graphql.StartOperationTrace(ctx), op)
		if resp := handler(ctx); resp != nil && len(resp.Errors) > 0 {
			return resp.Errors
		}
		return nil
	}
	tests := map[string]fault.Code{
		`sessionId: "nonsense"`: fault.NotFound,
		fmt.Sprintf(`sessionId: %q`, models.NewID[models.SessionEntity]()): fault.NotFound,
		fmt.Sprintf(`sessionId: %q, after: -1`, session):                   fault.Invalid,
	}
	for args, want := range tests {
		if err := subscribe(args); err == nil || !strings.Contains(err.Error(), string(want)) {
			t.Errorf("%s: got %v", args, err)
		}
	}
	a.principal.OrgID = models.NewID[models.OrgEntity]()
	if err := subscribe(fmt.Sprintf(`sessionId: %q, after: 0`, session)); err == nil || !strings.Contains(err.Error(), string(fault.NotFound)) {
		t.Errorf("foreign: got %v", err)
	}
}
