package resolvers_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
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

// followed is an organization whose feed is written by the test.
type followed struct {
	*api
	position int64
	last     map[models.SessionID]int64
}

func withFeed(t *testing.T, a *api) *followed {
	t.Helper()
	bus := events.NewLocalBus()
	a.resolver.Log = events.NewLog(a.db)
	a.resolver.Events = events.NewHub(events.Config{Log: a.resolver.Log, Bus: bus})
	t.Cleanup(func() {
		a.resolver.Events.Stop()
		_ = bus.Close()
	})
	return &followed{api: a, last: map[models.SessionID]int64{}}
}

// newSession returns a session with an agent of its own.
func (f *followed) newSession(name string) (session models.SessionID, agent string) {
	f.t.Helper()
	agent = f.agent(map[string]any{"name": name, "systemPrompt": ""})
	session, err := models.ParseID[models.SessionEntity](f.session(agent))
	if err != nil {
		f.t.Fatal(err)
	}
	return session, agent
}

// happens commits a title, which is in the feed, and a file, which isn't.
func (f *followed) happens(session models.SessionID, agent string) {
	f.t.Helper()
	id, err := models.ParseID[models.AgentEntity](agent)
	if err != nil {
		f.t.Fatal(err)
	}
	f.position++
	f.last[session] += 2
	n := f.last[session]
	event := func(sequence int64, kind models.EventKind, data string, position *int64) models.Event {
		return models.Event{
			OrgID: f.principal.OrgID, SessionID: session, Sequence: sequence, ID: models.NewID[models.EventEntity](), Kind: kind,
			Data: models.JSON(data), OccurredAt: 1, FeedPosition: position, AgentID: &id,
		}
	}
	rows := []models.Event{
		event(n-1, models.EventSessionTitleChanged, `{"title":"t"}`, new(f.position)), event(n, models.EventFileWritten, `{"path":"/f"}`, nil),
	}
	err = f.db.WriteAcross(f.t.Context(), func(tx *gorm.DB) error {
		if err := tx.Create(&rows).Error; err != nil {
			return err
		}
		if f.position == 1 {
			if err := tx.Create(&models.OrgFeed{OrgID: f.principal.OrgID, Position: 1}).Error; err != nil {
				return err
			}
		} else if err := store.OneRow(store.Of(tx.Model(&models.OrgFeed{}), f.principal.OrgID).Update("position", f.position)); err != nil {
			return err
		}
		return store.OneRow(store.Of(tx.Model(&models.Session{}), f.principal.OrgID).Where("id = ?", session).Update("last_sequence", n))
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.resolver.Events.Publish(f.principal.OrgID, session, rows)
}

type feedEvent struct {
	Kind      string  `json:"kind"`
	Cursor    string  `json:"cursor"`
	Sequence  *int    `json:"sequence"`
	SessionID *string `json:"sessionId"`
}

// follow reads the organization's feed; next gives an event of it.
func (f *followed) follow(ctx context.Context, args string) (next func() feedEvent, end *auth.Stream) {
	f.t.Helper()
	if args != "" {
		args = "(" + args + ")"
	}
	answer, end, err := f.stream(ctx, `subscription { orgEvents`+args+` { kind cursor sequence sessionId } }`)
	if err != nil {
		f.t.Fatal(err)
	}
	return func() feedEvent {
		f.t.Helper()
		var out struct {
			OrgEvents feedEvent `json:"orgEvents"`
		}
		if text := answer(); text != "" {
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				f.t.Fatalf("%s: %v", text, err)
			}
		}
		return out.OrgEvents
	}, end
}

func (f *followed) expect(next func() feedEvent, sessions ...models.SessionID) (last feedEvent) {
	f.t.Helper()
	for i, s := range sessions {
		last = next()
		if s.IsZero() {
			if last.Kind != "CAUGHT_UP" || last.SessionID != nil || last.Sequence != nil {
				f.t.Fatalf("no. %d: got %+v, want CAUGHT_UP", i, last)
			}
		} else if last.Kind != "SESSION_TITLE_CHANGED" || *last.SessionID != s.String() || last.Sequence == nil {
			f.t.Fatalf("no. %d: got %+v, want one of %s", i, last, s)
		}
	}
	return last
}

// A cursor knows its event: after a restore another one is at its position. Cursors of earlier versions don't.
func TestACursorOfAFeedThatWasRestored(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := withFeed(t, newAPI(t, db))
		var caughtUp models.SessionID
		one, agent := f.newSession("one")
		for range 3 {
			f.happens(one, agent)
		}
		all, _ := f.follow(t.Context(), `after: "start"`)
		first, second := f.expect(all, one), f.expect(all, one)
		end := f.expect(all, one, caughtUp)
		key, err := base64.RawURLEncoding.DecodeString(end.Cursor)
		if err != nil {
			t.Fatal(err)
		}
		mark := len(key) - len(events.Mark{})
		old := base64.RawURLEncoding.EncodeToString(key[:mark])
		key[mark]++ // the client has seen another one there
		replaced := base64.RawURLEncoding.EncodeToString(key)
		for cursor, rest := range map[string][]models.SessionID{
			first.Cursor: {one, one, caughtUp}, second.Cursor: {one, caughtUp}, end.Cursor: {caughtUp}, old: {caughtUp},
		} {
			next, _ := f.follow(t.Context(), fmt.Sprintf(`after: %q`, cursor))
			f.expect(next, rest...)
		}
		next, ended := f.follow(t.Context(), fmt.Sprintf(`after: %q`, replaced))
		if e := next(); e.Kind != "" || ended.Err() == nil || !strings.Contains(ended.Err().Error(), "another event") {
			t.Errorf("got %+v, %v", e, ended.Err())
		}
	})
}

func TestTheEventsOfAnOrganization(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := withFeed(t, newAPI(t, db))
		var caughtUp models.SessionID
		one, agent := f.newSession("one")
		two, other := f.newSession("two")
		empty, _ := f.follow(t.Context(), `after: "start"`)
		zero := f.expect(empty, caughtUp)
		f.happens(one, agent)
		f.happens(two, other)
		f.happens(one, agent)
		f.expect(empty, one, two, one)
		all, _ := f.follow(t.Context(), `after: "start"`)
		first := f.expect(all, one)
		f.expect(all, two, one, caughtUp)
		// Every cursor of the feed resumes it, also those of CAUGHT_UP.
		again, _ := f.follow(t.Context(), fmt.Sprintf(`after: %q`, zero.Cursor))
		f.expect(again, one, two, one, caughtUp)
		rest, _ := f.follow(t.Context(), fmt.Sprintf(`after: %q`, first.Cursor))
		end := f.expect(rest, two, one, caughtUp)
		live, _ := f.follow(t.Context(), ``)
		mine, _ := f.follow(t.Context(), fmt.Sprintf(`after: "start", agentId: %q`, agent))
		f.expect(mine, one, one, caughtUp)
		none, _ := f.follow(t.Context(), `after: "start", kinds: [TURN_STARTED]`)
		f.expect(none, caughtUp)
		f.happens(two, other)
		f.happens(one, agent)
		for _, next := range []func() feedEvent{empty, all, rest, again, live} {
			f.expect(next, two, one)
		}
		f.expect(mine, one)
		tail, _ := f.follow(t.Context(), fmt.Sprintf(`after: %q`, end.Cursor))
		f.expect(tail, two, one, caughtUp)

		// The cursor that an event has in its session's log is the one that it has in the feed, and works in both.
		data := f.get(`query($id: ID!) { session(id: $id) { events(first: 3) { nodes { cursor } } } }`, map[string]any{"id": one.String()},
			"session", "events", "nodes")
		nodes, _ := data.([]any)
		cursorOf := func(i int) string { n, _ := nodes[i].(map[string]any); c, _ := n["cursor"].(string); return c }
		if cursorOf(0) != first.Cursor {
			t.Errorf("the log gives the cursor %s, the feed %s", cursorOf(0), first.Cursor)
		}
		page := f.get(`query($id: ID!, $after: Cursor) { session(id: $id) { events(first: 1, after: $after) { nodes { sequence } } } }`,
			map[string]any{"id": one.String(), "after": first.Cursor}, "session", "events", "nodes")
		if got := fmt.Sprint(page); got != "[map[sequence:2]]" {
			t.Errorf("after the first: %s", got)
		}
		refused := map[string]string{
			fmt.Sprintf(`after: %q`, cursorOf(1)): "not in the organization's feed",
			`after: "nonsense"`:                   "not the cursor of an event",
			`after: ""`:                           "not the cursor of an event",
			`agentId: "nonsense"`:                 string(fault.NotFound),
			fmt.Sprintf(`agentId: %q`, models.NewID[models.AgentEntity]()): string(fault.NotFound),
		}
		for args, want := range refused {
			if err := f.refusal(args); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", args, err, want)
			}
		}

		// Another organization has another feed, and neither agent nor cursor leads into this one.
		unknown := f.refusal(fmt.Sprintf(`agentId: %q`, models.NewID[models.AgentEntity]()))
		elsewhere := *f.principal
		elsewhere.OrgID = models.NewID[models.OrgEntity]()
		f.principal = &elsewhere
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Create(&models.Org{ID: elsewhere.OrgID, Name: "other", Slug: "other", CreatedAt: 1}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		nothing, _ := f.follow(t.Context(), `after: "start"`)
		if got := f.expect(nothing, caughtUp); got.Cursor != zero.Cursor {
			t.Errorf("the other feed begins at %s, not at %s", got.Cursor, zero.Cursor)
		}
		if err := f.refusal(fmt.Sprintf(`after: %q`, first.Cursor)); err == nil || !strings.Contains(err.Error(), "ends before the given cursor, at 0") {
			t.Errorf("a cursor of another feed: %v", err)
		}
		if err := f.refusal(fmt.Sprintf(`agentId: %q`, agent)); err == nil || digits.ReplaceAllString(err.Error(), "") != digits.ReplaceAllString(unknown.Error(), "") {
			t.Errorf("a foreign agent: %v, an unknown one: %v", err, unknown)
		}
	})
}

// A transport that has no memory for an answer is told the cursor before the event, with which it comes again.
func TestAnEventOfAFeedThatIsNotDeliveredComesAgain(t *testing.T) {
	f := withFeed(t, newAPI(t, storetest.SQLite(t)))
	session, agent := f.newSession("one")
	for range 3 {
		f.happens(session, agent)
	}
	feed := &events.Feed{Wake: func() {}}
	defer feed.Close()
	if _, _, err := f.stream(events.WithFeed(t.Context(), feed), `subscription { orgEvents(after: "start") { id } }`); err != nil {
		t.Fatal(err)
	}
	source, _, _ := feed.Taken()
	for {
		item, err := source.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ended, ok := source.Undelivered(item).(*gqlerror.Error) //nolint:errorlint // the transport is given it as it is
		if !ok || ended.Extensions["code"] != "SUBSCRIPTION_LAGGED" || ended.Extensions["limit"] != "MEMORY" {
			t.Fatalf("got %v", ended)
		}
		again, _ := f.follow(t.Context(), fmt.Sprintf(`after: %q`, ended.Extensions["lastCursor"]))
		if got := again(); got.Kind != string(item.Event.Kind) || !item.Ephemeral && (got.Sequence == nil || int64(*got.Sequence) != item.Event.Sequence) {
			t.Fatalf("got %+v, want %s %d", got, item.Event.Kind, item.Event.Sequence)
		}
		if item.Ephemeral { // CAUGHT_UP
			return
		}
	}
}

var digits = regexp.MustCompile(`agent_[0-9a-f]{32}`)

// refusal gives the error that a subscription is refused with.
func (f *followed) refusal(args string) error {
	f.t.Helper()
	ctx := auth.WithPrincipal(f.t.Context(), f.principal)
	op, errs := f.exec.CreateOperationContext(graphql.StartOperationTrace(ctx), &graphql.RawParams{Query: `subscription { orgEvents(` + args + `) { id } }`})
	if errs != nil {
		return errs
	}
	handler, ctx := f.exec.DispatchOperation(graphql.StartOperationTrace(ctx), op)
	if resp := handler(ctx); resp != nil && len(resp.Errors) > 0 {
		return resp.Errors
	}
	return nil
}

func TestASlowReaderOfAFeedIsToldItsCursor(t *testing.T) {
	f := withFeed(t, newAPI(t, storetest.SQLite(t)))
	session, agent := f.newSession("one")
	next, end := f.follow(t.Context(), `after: "start"`)
	next() // CAUGHT_UP
	for range 600 {
		f.happens(session, agent)
	}
	var last feedEvent
	count := 0
	for got := next(); got.Cursor != ""; got = next() {
		last, count = got, count+1
	}
	lagged, ok := end.Err().(*gqlerror.Error) //nolint:errorlint // the transport is given it as it is
	if !ok || lagged.Extensions["code"] != "SUBSCRIPTION_LAGGED" {
		t.Fatalf("got %v", end.Err())
	}
	// The reader's own cursor has the sequence, too; both lead to the same place.
	rest, _ := f.follow(t.Context(), fmt.Sprintf(`after: %q`, lagged.Extensions["lastCursor"]))
	same, _ := f.follow(t.Context(), fmt.Sprintf(`after: %q`, last.Cursor))
	for range 600 - count {
		if a, b := rest(), same(); a.Cursor != b.Cursor || a.Kind == "CAUGHT_UP" {
			t.Fatalf("got %+v and %+v", a, b)
		}
	}
	if got := rest(); got.Kind != "CAUGHT_UP" {
		t.Fatalf("got %+v after all 600", got)
	}
}
