package resolvers_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// withAudit adds a log to the API.
func withAudit(t *testing.T, a *api) {
	t.Helper()
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	if a.resolver.Audit, err = audit.NewLog(a.db, keeper); err != nil {
		t.Fatal(err)
	}
}

// records puts entries into the log of the organization.
func (a *api) records(list ...audit.Entry) {
	a.t.Helper()
	ctx := auth.WithRequest(a.t.Context(), &auth.RequestInfo{ID: "req-1", Address: "192.0.2.1"})
	err := a.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		for i, e := range list {
			e.Org = a.principal.OrgID
			if err := audit.Record(ctx, tx, models.Millis(1_700_000_000_000+1000*i), e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

func TestTheAuditLogThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withAudit(t, a)
		a.as("Ada")
		user, key := a.principal.UserID, models.NewID[models.ActorEntity]()
		keyID := strings.Replace(key.String(), "actor_", "key_", 1)
		a.records(
			audit.Entry{ActorKind: models.ActorSystem, Action: "signin.failed", Target: user.String()},
			audit.Entry{ActorKind: models.ActorUser, Actor: models.ActorID(user), Action: "agent.created", Target: "agent_1", Details: map[string]any{"name": "x"}},
			audit.Entry{ActorKind: "API_KEY", Actor: key, Action: "agent.updated", Target: "agent_1"},
			audit.Entry{ActorKind: models.ActorUser, Actor: models.ActorID(user), Action: "agent.updated"},
		)
		data, err := a.run(`{ auditEntries(first: 3) { nodes { position actor { kind id name } action targetId address requestId details createdAt }
			pageInfo { hasNextPage hasPreviousPage } } }`, nil)
		want := fmt.Sprintf(`{"auditEntries":{"nodes":[`+
			`{"position":4,"actor":{"kind":"USER","id":%q,"name":"Ada"},"action":"agent.updated","targetId":null,"address":"192.0.2.1","requestId":"req-1","details":{},"createdAt":"2023-11-14T22:13:23.000Z"},`+
			`{"position":3,"actor":{"kind":"API_KEY","id":%q,"name":""},"action":"agent.updated","targetId":"agent_1","address":"192.0.2.1","requestId":"req-1","details":{},"createdAt":"2023-11-14T22:13:22.000Z"},`+
			`{"position":2,"actor":{"kind":"USER","id":%q,"name":"Ada"},"action":"agent.created","targetId":"agent_1","address":"192.0.2.1","requestId":"req-1","details":{"name":"x"},"createdAt":"2023-11-14T22:13:21.000Z"}],`+
			`"pageInfo":{"hasNextPage":true,"hasPreviousPage":false}}}`, user, keyID, user)
		if err != nil || data != want {
			t.Errorf("got  %s, %v\nwant %s", data, err, want)
		}
		// The next page.
		after := a.get(`{ auditEntries(first: 3) { pageInfo { endCursor } } }`, nil, "auditEntries", "pageInfo", "endCursor")
		data, err = a.run(`query($after: Cursor) { auditEntries(first: 3, after: $after) { edges { node { position actor { kind id name } } } pageInfo { hasNextPage } } }`,
			map[string]any{"after": after})
		if want := `{"auditEntries":{"edges":[{"node":{"position":1,"actor":{"kind":"SYSTEM","id":null,"name":"Ostler"}}}],"pageInfo":{"hasNextPage":false}}}`; err != nil || data != want {
			t.Errorf("got  %s, %v\nwant %s", data, err, want)
		}
		for filter, want := range map[string]string{
			`null`:                              "4 3 2 1",
			`{}`:                                "4 3 2 1",
			`{action: "agent.updated"}`:         "4 3",
			`{action: "agent"}`:                 "",
			`{targetId: "agent_1"}`:             "3 2",
			fmt.Sprintf(`{actorId: %q}`, user):  "4 2",
			fmt.Sprintf(`{actorId: %q}`, keyID): "3",
			`{actorId: "nobody"}`:               "",
			`{actorId: "user_zz"}`:              "",
			`{from: "2023-11-14T22:13:21Z"}`:    "4 3 2",
			`{to: "2023-11-14T22:13:21Z"}`:      "1",
			`{from: "2023-11-14T22:13:21Z", to: "2023-11-14T22:13:23Z", action: "agent.updated"}`: "3",
			`{from: "0001-01-01T00:00:00Z", to: "9999-12-31T23:59:59Z"}`:                          "4 3 2 1",
		} {
			nodes := a.get(`{ auditEntries(filter: `+filter+`) { nodes { position } } }`, nil, "auditEntries", "nodes").([]any)
			var got []string
			for _, n := range nodes {
				got = append(got, fmt.Sprint(n.(map[string]any)["position"]))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: got %v, want %s", filter, got, want)
			}
		}
		for query, want := range map[string]string{
			`{ auditEntries(first: 101) { nodes { id } } }`:                                                         "first must be from 1 to 100",
			`{ auditEntries(after: "AXNlcQAAAAAAAAAAAQ") { nodes { id } } }`:                                        "The cursor does not belong to this list",
			`{ auditEntries(filter: {from: "2024-01-01T00:00:00Z", to: "2023-01-01T00:00:00Z"}) { nodes { id } } }`: "from is after to",
			`{ auditEntries(filter: {action: "\u0000"}) { nodes { id } } }`:                                         "NUL",
			`{ auditEntries(filter: {targetId: ""}) { nodes { id } } }`:                                             "targetId is empty",
		} {
			if _, err := a.run(query, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", query, err, want)
			}
		}
		if data, err := a.run(`{ verifyAudit { ok checkedFrom entries brokenAt problem } }`, nil); err != nil ||
			data != `{"verifyAudit":{"ok":true,"checkedFrom":1,"entries":4,"brokenAt":null,"problem":null}}` {
			t.Errorf("got %s, %v", data, err)
		}

		// By its id, for its own organization only.
		id := a.get(`{ auditEntries(first: 1) { nodes { id } } }`, nil, "auditEntries", "nodes").([]any)[0].(map[string]any)["id"].(string)
		byID := fmt.Sprintf(`{ node(id: %q) { id ... on AuditEntry { position hash } } }`, id)
		node := a.get(byID, nil, "node").(map[string]any)
		if node["id"] != id || fmt.Sprint(node["position"]) != "4" || len(node["hash"].(string)) != 64 {
			t.Errorf("got %v", node)
		}
		other := *a.principal
		other.OrgID = models.NewID[models.OrgEntity]()
		a.principal = &other
		if data, err := a.run(byID, nil); err != nil || data != `{"node":null}` {
			t.Errorf("another organization: got %s, %v", data, err)
		}
		if data, err := a.run(`{ auditEntries { nodes { id } } verifyAudit { ok entries } }`, nil); err != nil ||
			data != `{"auditEntries":{"nodes":[]},"verifyAudit":{"ok":true,"entries":0}}` {
			t.Errorf("another organization: got %s, %v", data, err)
		}
	})
}

func TestAnAuditLogThatIsBrokenSaysSo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withAudit(t, a)
		a.records(audit.Entry{ActorKind: models.ActorSystem, Action: "one.done"}, audit.Entry{ActorKind: models.ActorSystem, Action: "two.done"})
		if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Exec("UPDATE audit_heads SET position = 3 WHERE org_id = ?", a.principal.OrgID).Error
		}); err != nil {
			t.Fatal(err)
		}
		if data, err := a.run(`{ verifyAudit { ok checkedFrom entries brokenAt problem } }`, nil); err != nil ||
			data != `{"verifyAudit":{"ok":false,"checkedFrom":1,"entries":2,"brokenAt":3,"problem":"The entry is missing."}}` {
			t.Errorf("got %s, %v", data, err)
		}
	})
}

func TestTheStatementsOfTheAuditLogDoNotGrowWithThePage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withAudit(t, a)
		a.as("Ada")
		var list []audit.Entry
		for i := range 20 {
			e := audit.Entry{ActorKind: models.ActorUser, Actor: models.ActorID(a.principal.UserID), Action: "thing.done"}
			if i%2 == 0 {
				e.Actor = models.NewID[models.ActorEntity]()
			}
			list = append(list, e)
		}
		a.records(list...)
		n := a.statements()
		for _, first := range []int{2, 20} {
			n.Store(0)
			a.get(fmt.Sprintf(`{ auditEntries(first: %d) { nodes { actor { name } } } }`, first), nil)
			if got := n.Load(); got != 2 {
				t.Errorf("a page of %d took %d statements, want 2: the entries and their actors", first, got)
			}
		}
	})
}
