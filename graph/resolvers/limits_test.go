package resolvers_test

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // these tests put rows below the services
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

func TestLimitsThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.owner()
		other := newAPIIn(a, "other")
		id := other.principal.OrgID.String()
		const set = `mutation($id: ID!, $in: OrgLimitsInput!) { updateOrgLimits(orgId: $id, input: $in) {
			org { id limits { sessions sockets requestsPerMinute subscriptions apiKeys } } userErrors { code path retryAfterSeconds } } }`
		for _, step := range []struct {
			what, id string
			in       map[string]any
			want     string
		}{
			{"two of them", id, map[string]any{"sessions": 7, "sockets": 0, "apiKeys": 1},
				`{"org":{"id":"` + id + `","limits":{"sessions":7,"sockets":0,"requestsPerMinute":0,"subscriptions":0,"apiKeys":1}},"userErrors":[]}`},
			{"left out and null", id, map[string]any{"sockets": nil, "subscriptions": 5},
				`{"org":{"id":"` + id + `","limits":{"sessions":7,"sockets":20,"requestsPerMinute":0,"subscriptions":5,"apiKeys":1}},"userErrors":[]}`},
			{"negative", id, map[string]any{"sessions": 8, "agents": -1}, `{"org":null,"userErrors":[{"code":"INVALID","path":["input","agents"],"retryAfterSeconds":null}]}`},
			{"no such organization", models.NewID[models.OrgEntity]().String(), map[string]any{"sessions": 8},
				`{"org":null,"userErrors":[{"code":"NOT_FOUND","path":["orgId"],"retryAfterSeconds":null}]}`},
			{"no id", "other", map[string]any{"sessions": 8}, `{"org":null,"userErrors":[{"code":"NOT_FOUND","path":["orgId"],"retryAfterSeconds":null}]}`},
		} {
			if data, err := a.run(set, map[string]any{"id": step.id, "in": step.in}); err != nil || data != `{"updateOrgLimits":`+step.want+`}` {
				t.Errorf("%s: got %s, %v", step.what, data, err)
			}
		}
		for name, want := range map[*api]string{a: "100", other: "7"} {
			if data, err := name.run(`{ org { limits { sessions } } }`, nil); err != nil || data != `{"org":{"limits":{"sessions":`+want+`}}}` {
				t.Errorf("got %s, %v, want %s", data, err, want)
			}
		}
		// A key too many is a userError, and the key that there was room for is stored.
		a.get(set, map[string]any{"id": a.principal.OrgID.String(), "in": map[string]any{"apiKeys": 1}})
		a.newKey("first", "ORG_READ")
		data, err := a.run(createKey, map[string]any{"in": map[string]any{"name": "second", "permissions": []string{"ORG_READ"}}})
		if err != nil || !strings.Contains(data, "LIMIT_REACHED") || !strings.Contains(data, `"key":null`) {
			t.Errorf("got %s, %v", data, err)
		}
	})
}
