package httpapi

import (
	"fmt"
	"testing"

	"github.com/vektah/gqlparser/v2"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/internal/models"
)

// TestAnswersOfAFeedAreShared has followers of one organization with filters of their own: what they see of an event is made
// once, and whether they see it is up to each.
func TestAnswersOfAFeedAreShared(t *testing.T) {
	d := newDelivery(t)
	query := `subscription($kinds: [EventKind!]) { orgEvents(after: "start", kinds: $kinds) { kind sequence data } }`
	subscribe := func(kinds string) *wire {
		w := d.open()
		w.send(`{"id":"x","type":"subscribe","payload":{"query":` + quote(query) + `,"variables":{"kinds":` + kinds + `}}}`)
		w.expect(`{"id":"x","type":"next","payload":{"data":{"orgEvents":{"kind":"CAUGHT_UP","sequence":null,"data":{}}}}}`)
		return w
	}
	all := []*wire{subscribe(`null`), subscribe(`null`), subscribe(`["SESSION_TITLE_CHANGED"]`), subscribe(`["SESSION_TITLE_CHANGED", "TURN_FAILED"]`)}
	none := subscribe(`["TURN_FAILED"]`)
	event := func(position int64, kind models.EventKind, data string) {
		d.hub.Publish(d.org, models.NewID[models.SessionEntity](), []models.Event{{
			OrgID: d.org, SessionID: models.NewID[models.SessionEntity](), Sequence: 7, ID: models.NewID[models.EventEntity](), Kind: kind,
			Data: models.JSON(data), FeedPosition: &position,
		}})
	}
	event(1, models.EventSessionTitleChanged, `{"title":"a"}`)
	event(2, models.EventTurnFailed, `{"stopReason":"ERROR"}`)
	answer := func(kind, data string) string {
		return fmt.Sprintf(`{"id":"x","type":"next","payload":{"data":{"orgEvents":{"kind":%q,"sequence":7,"data":%s}}}}`, kind, data)
	}
	for _, w := range all {
		w.expect(answer("SESSION_TITLE_CHANGED", `{"title":"a"}`))
	}
	none.expect(answer("TURN_FAILED", `{"stopReason":"ERROR"}`))
	all[3].expect(answer("TURN_FAILED", `{"stopReason":"ERROR"}`))
}

func TestFeedsAreShareable(t *testing.T) {
	types := generated.NewExecutableSchema(generated.Config{}).Schema()
	a, err := newAuthorizer(types, false)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{types: types, authorizer: a}
	for _, query := range []string{
		`subscription { orgEvents { cursor data } }`, `subscription { orgEvents(after: "start", kinds: [TURN_STARTED]) { cursor data } }`,
		`subscription($after: Cursor, $kinds: [EventKind!], $agent: ID) { orgEvents(after: $after, kinds: $kinds, agentId: $agent) { cursor data } }`,
	} {
		doc, errs := gqlparser.LoadQueryWithRules(types, query, nil)
		if errs != nil {
			t.Fatal(errs)
		}
		if !e.shareable(doc.Operations[0]) {
			t.Errorf("each subscriber has answers of its own: %s", query)
		}
	}
}
