package resolvers_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// as makes a person of that name the one who asks.
func (a *api) as(name string) {
	a.t.Helper()
	row := models.User{ID: models.NewID[models.UserEntity](), Name: name, Email: name + "@example.com", CreatedAt: 1}
	if err := a.db.WriteAcross(a.t.Context(), func(tx *gorm.DB) error { return tx.Create(&row).Error }); err != nil {
		a.t.Fatal(err)
	}
	a.principal.UserID = row.ID

	clk := clock.NewManual(time.UnixMilli(1_700_000_000_000))
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		a.t.Fatal(err)
	}
	keys, err := auth.OpenKeys(a.t.Context(), a.db, keeper.SigningKeys(), clk)
	if err != nil {
		a.t.Fatal(err)
	}
	tokens, err := auth.NewAccessTokens(keys, clk, auth.TokenConfig{Issuer: "https://ostler.test", Audience: "ostler"})
	if err != nil {
		a.t.Fatal(err)
	}
	a.resolver.Orgs, err = orgs.New(orgs.Config{
		DB: a.db, Clock: clk, Passwords: auth.NewPasswords(), Tokens: tokens, Secrets: keeper, Seeder: a.resolver.Catalog,
		Limits: limits.New(limits.Config{DB: a.db, Clock: clk, Usual: limits.Values{Sessions: 100, Sockets: 20}}),
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *api) models(n int) []any {
	a.t.Helper()
	provider := a.get(`{ providers { nodes { id } } }`, nil, "providers", "nodes").([]any)[0].(map[string]any)["id"]
	ids := make([]any, n)
	for i := range ids {
		ids[i] = a.get(`mutation($in: CreateModelInput!) { createModel(input: $in) { model { id } userErrors { message } } }`,
			map[string]any{"in": map[string]any{"providerId": provider, "name": fmt.Sprint("sim-lorem:", 1000+i)}}, "createModel", "model", "id")
	}
	return ids
}

func TestHistoryThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.as("Ada")
		id := a.agent(map[string]any{"name": "a", "systemPrompt": "one"})
		for _, q := range []string{
			`mutation($id: ID!) { updateAgent(id: $id, input: {systemPrompt: "two", tags: ["t"], reason: "because"}) { userErrors { message } } }`,
			`mutation($id: ID!) { archiveAgent(id: $id) { userErrors { message } } }`,
			`mutation($id: ID!) { unarchiveAgent(id: $id) { userErrors { message } } }`,
		} {
			a.get(q, map[string]any{"id": id})
		}
		data, err := a.run(`mutation($id: ID!) { restoreAgent(id: $id, revision: 1, reason: "back") { agent { revision systemPrompt
			history(first: 1) { totalCount nodes { number } } } userErrors { code } } }`, map[string]any{"id": id})
		if want := `{"restoreAgent":{"agent":{"revision":5,"systemPrompt":"one","history":{"totalCount":5,"nodes":[{"number":5}]}},"userErrors":[]}}`; err != nil || data != want {
			t.Errorf("got %s, %v", data, err)
		}
		const query = `query($id: ID!, $after: Cursor) { agent(id: $id) { history(first: 2, after: $after) { totalCount
			edges { cursor } nodes { number reason actor { kind name } changes { field before after } } pageInfo { hasNextPage hasPreviousPage endCursor } } } }`
		var pages []string
		var after any
		for range 3 {
			page := a.get(query, map[string]any{"id": id, "after": after}, "agent", "history").(map[string]any)
			info := page["pageInfo"].(map[string]any)
			edges := page["edges"].([]any)
			if info["hasPreviousPage"] != (after != nil) || info["endCursor"] != edges[len(edges)-1].(map[string]any)["cursor"] || page["totalCount"] != 5.0 {
				t.Errorf("the page is %v", page)
			}
			for _, n := range page["nodes"].([]any) {
				n := n.(map[string]any)
				line := fmt.Sprint(n["number"], " ", n["reason"], " ", n["actor"].(map[string]any)["kind"], " ", n["actor"].(map[string]any)["name"])
				for _, c := range n["changes"].([]any) {
					c := c.(map[string]any)
					line += fmt.Sprint(" ", c["field"], ":", c["before"], ">", c["after"])
				}
				pages = append(pages, line)
			}
			pages = append(pages, fmt.Sprint(info["hasNextPage"]))
			after = info["endCursor"]
		}
		want := []string{
			"5 back USER Ada systemPrompt:two>one tags:[t]>[]", "4 <nil> USER Ada lifecycle:ARCHIVED>ACTIVE", "true",
			"3 <nil> USER Ada lifecycle:ACTIVE>ARCHIVED", "2 because USER Ada systemPrompt:one>two tags:[]>[t]", "true", "1 <nil> USER Ada", "false",
		}
		if got := strings.Join(pages, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
		data, err = a.run(`query($id: ID!) { harness(id: $id) { history { totalCount nodes { number actor { kind id name } changes { field } snapshot } } } }`,
			map[string]any{"id": a.generic.String()})
		if err != nil || !strings.HasPrefix(data, `{"harness":{"history":{"totalCount":1,"nodes":[{"number":1,"actor":{"kind":"SYSTEM","id":null,"name":"`) ||
			!strings.Contains(data, `"changes":[],"snapshot":{"name":"generic","displayName":"Generic"`) {
			t.Errorf("got %s, %v", data, err)
		}
		for query, want := range map[string]string{
			`mutation { restoreAgent(id: "x", revision: 1) { agent { id } userErrors { code path } } }`:                                            `{"restoreAgent":{"agent":null,"userErrors":[{"code":"NOT_FOUND","path":["id"]}]}}`,
			`mutation { restoreHarness(id: "x", revision: 1) { harness { id } userErrors { code path } } }`:                                        `{"restoreHarness":{"harness":null,"userErrors":[{"code":"NOT_FOUND","path":["id"]}]}}`,
			`mutation { restoreHarness(id: "` + a.generic.String() + `", revision: 1) { harness { id } userErrors { code path } } }`:               `{"restoreHarness":{"harness":null,"userErrors":[{"code":"FORBIDDEN","path":["id"]}]}}`,
			`mutation { restoreAgent(id: "` + id + `", revision: 9) { agent { id } userErrors { code path } } }`:                                   `{"restoreAgent":{"agent":null,"userErrors":[{"code":"NOT_FOUND","path":["revision"]}]}}`,
			`mutation { updateAgent(id: "` + id + `", input: {fallbackModelIds: ["x"]}) { agent { id } userErrors { code path } } }`:               `{"updateAgent":{"agent":null,"userErrors":[{"code":"NOT_FOUND","path":["input","fallbackModelIds","0"]}]}}`,
			`mutation { createHarness(input: {name: "x", fallbackModelIds: ["model_0"]}) { harness { id } userErrors { code path } } }`:            `{"createHarness":{"harness":null,"userErrors":[{"code":"NOT_FOUND","path":["input","fallbackModelIds","0"]}]}}`,
			`mutation { updateHarness(id: "` + a.generic.String() + `", input: {fallbackModelIds: null}) { harness { id } userErrors { code } } }`: `{"updateHarness":{"harness":null,"userErrors":[{"code":"FORBIDDEN"}]}}`,
		} {
			if got, err := a.run(query, nil); err != nil || got != want {
				t.Errorf("%s:\n got %s, %v\nwant %s", query, got, err, want)
			}
		}
		agents := a.get(`{ agents(first: 1) { pageInfo { endCursor } } }`, nil, "agents", "pageInfo", "endCursor")
		for _, bad := range []string{`first: 0`, `first: 101`, `after: ""`, `after: "x"`, fmt.Sprintf(`after: %q`, agents)} {
			if data, err := a.run(fmt.Sprintf(`{ agent(id: %q) { history(%s) { nodes { number } } } }`, id, bad), nil); err == nil {
				t.Errorf("%s gives %s", bad, data)
			}
		}
	})
}

func TestFallbackModelsThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		ids := a.models(3)
		h := a.harness(map[string]any{"name": "h", "fallbackModelIds": []any{ids[2], ids[0]}})
		id := a.agent(map[string]any{"name": "a", "systemPrompt": "", "harnessId": h, "fallbackModelIds": []any{ids[1]}})
		data, err := a.run(`query($h: ID!, $a: ID!, $m: ID!) { harness(id: $h) { fallbackModels { name } } agent(id: $a) { fallbackModels { name } }
			with: previewEffectiveConfig(harnessId: $h) { fallbackModels { name } }
			own: previewEffectiveConfig(agent: {name: "x", systemPrompt: "", harnessId: $h, defaultModelId: $m, fallbackModelIds: [$m]}) { model { name } fallbackModels { name } } }`,
			map[string]any{"h": h, "a": id, "m": ids[1]})
		want := `{"harness":{"fallbackModels":[{"name":"sim-lorem:1002"},{"name":"sim-lorem:1000"}]},"agent":{"fallbackModels":[{"name":"sim-lorem:1001"}]},` +
			`"with":{"fallbackModels":[{"name":"sim-lorem:1002"},{"name":"sim-lorem:1000"}]},"own":{"model":{"name":"sim-lorem:1001"},"fallbackModels":[]}}`
		if err != nil || data != want {
			t.Errorf("got %s, %v", data, err)
		}
		data, err = a.run(`mutation($a: ID!, $list: [ID!]) { kept: updateAgent(id: $a, input: {description: "d"}) { agent { fallbackModels { name } } }
			set: updateAgent(id: $a, input: {fallbackModelIds: $list}) { agent { fallbackModels { name } } }
			cleared: updateAgent(id: $a, input: {fallbackModelIds: null}) { agent { revision fallbackModels { name } } } }`,
			map[string]any{"a": id, "list": []any{ids[0], ids[1]}})
		want = `{"kept":{"agent":{"fallbackModels":[{"name":"sim-lorem:1001"}]}},"set":{"agent":{"fallbackModels":[{"name":"sim-lorem:1000"},{"name":"sim-lorem:1001"}]}},` +
			`"cleared":{"agent":{"revision":4,"fallbackModels":[]}}}`
		if err != nil || data != want {
			t.Errorf("got %s, %v", data, err)
		}
	})
}

// Histories and fallback models of a whole page are read together.
func TestHistoriesTakeAStatementForEachList(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.as("Ada")
		ids := a.models(2)
		const long = 70
		for i := range long {
			h := a.harness(map[string]any{"name": fmt.Sprint("h", i), "fallbackModelIds": ids})
			id := a.agent(map[string]any{"name": fmt.Sprint("a", i), "systemPrompt": "", "harnessId": h, "fallbackModelIds": []any{ids[i%2]}})
			a.get(`mutation($id: ID!) { updateAgent(id: $id, input: {systemPrompt: "x"}) { userErrors { message } } }`, map[string]any{"id": id})
		}
		n := a.statements()
		for name, c := range map[string]struct {
			query string
			most  int64
		}{
			"histories": {`query($n: Int) { agents(first: $n) { nodes { history { totalCount nodes { number actor { name } changes { field } } } } } }`, 4},
			"fallbacks": {`query($n: Int) { agents(first: $n) { nodes { fallbackModels { name } harness { fallbackModels { name } history { nodes { number } } } } } }`, 5},
			"harnesses": {`query($n: Int) { harnesses(first: $n) { nodes { fallbackModels { name provider { name } } history { totalCount nodes { actor { name } } } } } }`, 6},
		} {
			for _, size := range []int{2, long} {
				n.Store(0)
				a.get(c.query, map[string]any{"n": size})
				if got := n.Load(); got > c.most {
					t.Errorf("%s, %d: %d statements, at most %d are due", name, size, got, c.most)
				}
			}
		}
		id := a.get(`{ agents(first: 1) { nodes { id } } }`, nil, "agents", "nodes").([]any)[0].(map[string]any)["id"]
		after := a.get(`query($id: ID!) { agent(id: $id) { history(first: 1) { pageInfo { endCursor } } } }`, map[string]any{"id": id},
			"agent", "history", "pageInfo", "endCursor")
		// Each begins with the statement that finds the agent.
		for query, want := range map[string]int64{
			`query($id: ID!) { agent(id: $id) { history(first: 5) { nodes { number } } } }`:                                                   2,
			`query($id: ID!, $after: Cursor) { agent(id: $id) { history(after: $after) { totalCount nodes { number changes { field } } } } }`: 3,
		} {
			n.Store(0)
			a.get(query, map[string]any{"id": id, "after": after})
			if n.Load() != want {
				t.Errorf("%s: %d statements", query, n.Load())
			}
		}
	})
}
