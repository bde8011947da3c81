package resolvers_test

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// storedID is an id as the sums of usage have it: the zero one is no NULL there.
type storedID [16]byte

func (id storedID) Value() (driver.Value, error) { return id[:], nil }

// uses puts sums of usage into the database, of an hour in days since 1970.
func (a *api) uses(day int64, model models.ModelID, agent models.AgentID, user models.UserID, customer, tool string, sums models.UsageSums) {
	a.t.Helper()
	row := map[string]any{
		"org_id": a.principal.OrgID, "hour": day*86_400_000 + 3_600_000, "model_id": storedID(model), "agent_id": storedID(agent), "user_id": storedID(user),
		"customer_key": customer, "tool": tool, "input_tokens": sums.InputTokens, "output_tokens": sums.OutputTokens, "cache_read_tokens": sums.CacheReadTokens,
		"cache_write_tokens": sums.CacheWriteTokens, "reasoning_tokens": sums.ReasoningTokens, "cost_nanos": sums.CostNanos,
		"unpriced_calls": sums.UnpricedCalls, "model_calls": sums.ModelCalls, "tool_calls": sums.ToolCalls, "turns": sums.Turns,
	}
	if err := a.db.WriteAcross(a.t.Context(), func(tx *gorm.DB) error { return tx.Table("usage_hours").Create(row).Error }); err != nil {
		a.t.Fatal(err)
	}
}

func TestUsageThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.as("Ada")
		a.resolver.Usage = books.NewUsage(db, nil)
		agent, err := models.ParseID[models.AgentEntity](a.agent(map[string]any{"name": "writer", "systemPrompt": ""}))
		if err != nil {
			t.Fatal(err)
		}
		model, err := models.ParseID[models.ModelEntity](a.get(`{ models(first: 1) { nodes { id } } }`, nil, "models", "nodes").([]any)[0].(map[string]any)["id"].(string))
		if err != nil {
			t.Fatal(err)
		}
		const day = 20_000 // 2024-10-04
		user := a.principal.UserID
		a.uses(day, model, agent, user, "acme", "", models.UsageSums{
			InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5, CostNanos: 1_500_000_001, ModelCalls: 6, Turns: 7,
		})
		a.uses(day, models.ModelID{}, agent, user, "acme", "read_file", models.UsageSums{ToolCalls: 8})
		// A model that is gone, in a call without a price, of nobody.
		gone := models.NewID[models.ModelEntity]()
		a.uses(day+1, gone, models.AgentID{}, models.UserID{}, "", "", models.UsageSums{InputTokens: 10, CostNanos: 5, UnpricedCalls: 1, ModelCalls: 2})

		const around = `from: "2024-10-04T01:59:59Z", to: "2024-10-05T01:00:01Z"`
		for query, want := range map[string]string{
			`{ usage(groupBy: [DAY], ` + around + `) { nodes { day model { name } agent { name } user { name } session { id } customerKey tool turns modelCalls toolCalls
				usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens reasoningTokens costUsd } } pageInfo { hasNextPage hasPreviousPage } } }`: `{"usage":{"nodes":[` +
				`{"day":"2024-10-04","model":null,"agent":null,"user":null,"session":null,"customerKey":null,"tool":null,"turns":7,"modelCalls":6,"toolCalls":8,` +
				`"usage":{"inputTokens":1,"outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":4,"reasoningTokens":5,"costUsd":"1.500000001"}},` +
				`{"day":"2024-10-05","model":null,"agent":null,"user":null,"session":null,"customerKey":null,"tool":null,"turns":0,"modelCalls":2,"toolCalls":0,` +
				`"usage":{"inputTokens":10,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0,"reasoningTokens":0,"costUsd":null}}],` +
				`"pageInfo":{"hasNextPage":false,"hasPreviousPage":false}}}`,
			`{ usage(groupBy: [TOOL, CUSTOMER, USER, AGENT], ` + around + `) { nodes { tool customerKey user { name } agent { name } modelCalls toolCalls } } }`: `{"usage":{"nodes":[` +
				`{"tool":null,"customerKey":null,"user":null,"agent":null,"modelCalls":2,"toolCalls":0},` +
				`{"tool":null,"customerKey":"acme","user":{"name":"Ada"},"agent":{"name":"writer"},"modelCalls":6,"toolCalls":0},` +
				`{"tool":"read_file","customerKey":"acme","user":{"name":"Ada"},"agent":{"name":"writer"},"modelCalls":0,"toolCalls":8}]}}`,
			`{ usage(groupBy: [DAY, MODEL], ` + around + `) { nodes { day model { name } toolCalls usage { costUsd } } } }`: `{"usage":{"nodes":[` +
				`{"day":"2024-10-04","model":null,"toolCalls":8,"usage":{"costUsd":"0"}},` +
				`{"day":"2024-10-04","model":{"name":"sim-default"},"toolCalls":0,"usage":{"costUsd":"1.500000001"}},` +
				`{"day":"2024-10-05","model":null,"toolCalls":0,"usage":{"costUsd":null}}]}}`,
			`{ usage(groupBy: [MODEL], from: "2024-10-04T02:00:00Z", to: "2024-10-05T01:00:00Z") { nodes { turns } edges { cursor } } }`: `{"usage":{"nodes":[],"edges":[]}}`,
			`{ usage(groupBy: [SESSION], ` + around + `) { nodes { turns } } }`:                                                          `{"usage":{"nodes":[]}}`,
		} {
			if data, err := a.run(query, nil); err != nil || data != want {
				t.Errorf("%s:\ngot  %s, %v\nwant %s", query, data, err, want)
			}
		}
		for query, want := range map[string]string{
			`groupBy: [], ` + around:                                                   "groupBy needs 1 to 4 groups, not 0",
			`groupBy: [DAY, DAY], ` + around:                                           "groupBy has DAY twice",
			`groupBy: [DAY], first: 0, ` + around:                                      "first must be from 1 to 100",
			`groupBy: [DAY], first: 101, ` + around:                                    "first must be from 1 to 100",
			`groupBy: [DAY], after: "AQ", ` + around:                                   "The cursor does not belong to this list",
			`groupBy: [DAY], from: "2024-10-05T00:00:00Z", to: "2024-10-05T00:00:00Z"`: "from must be before to",
			`groupBy: [DAY], from: "2023-10-05T00:00:00Z", to: "2024-12-05T00:00:00Z"`: "400 days",
		} {
			if _, err := a.run(`{ usage(`+query+`) { nodes { day } } }`, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", query, err, want)
			}
		}
		other := newAPIIn(a, "other")
		if data, err := other.run(`{ usage(groupBy: [DAY], `+around+`) { nodes { day } } }`, nil); err != nil || data != `{"usage":{"nodes":[]}}` {
			t.Errorf("another organization sees %s, %v", data, err)
		}
	})
}

// Pages of usage join without a gap, whatever the groups are called, and are as many statements however long they are.
func TestPagesOfUsage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.resolver.Usage = books.NewUsage(db, nil)
		customers := []string{"", " ", "Z", "a", "ä", "\u2028", strings.Repeat("😀", 200)}
		var want []string
		for i, customer := range customers {
			for _, tool := range []string{"", "t"} {
				a.uses(int64(20_000+i), models.NewID[models.ModelEntity](), models.NewID[models.AgentEntity](), models.UserID{}, customer, tool, models.UsageSums{ToolCalls: 1})
				want = append(want, customer+"/"+tool)
			}
		}
		statements := a.statements()
		for _, size := range []int{1, 3, 13, 14} {
			var got []string
			var after any
			for {
				statements.Store(0)
				page := a.get(`query($n: Int!, $after: Cursor) { usage(groupBy: [DAY, CUSTOMER, TOOL, MODEL], from: "2024-01-01T00:00:00Z", to: "2025-01-01T00:00:00Z", first: $n, after: $after) {
					edges { cursor node { customerKey tool model { name } } } pageInfo { hasNextPage endCursor } } }`, map[string]any{"n": size, "after": after}, "usage").(map[string]any)
				if n := statements.Load(); n != 2 {
					t.Errorf("a page of %d takes %d statements, want 2", size, n)
				}
				for _, e := range page["edges"].([]any) {
					node := e.(map[string]any)["node"].(map[string]any)
					text := func(v any) string {
						if v == nil {
							return ""
						}
						return v.(string)
					}
					got = append(got, text(node["customerKey"])+"/"+text(node["tool"]))
				}
				info := page["pageInfo"].(map[string]any)
				if info["hasNextPage"] == false {
					break
				}
				after = info["endCursor"]
			}
			if !slices.Equal(got, want) {
				t.Errorf("pages of %d: got %q, want %q", size, got, want)
			}
		}
		// A cursor is good for the same groups alone.
		cursor := a.get(`{ usage(groupBy: [DAY, MODEL], from: "2024-01-01T00:00:00Z", to: "2025-01-01T00:00:00Z", first: 1) { pageInfo { endCursor } } }`, nil, "usage", "pageInfo", "endCursor")
		for _, groups := range []string{"MODEL, DAY", "DAY", "DAY, AGENT", "DAY, MODEL, TOOL"} {
			query := fmt.Sprintf(`query($after: Cursor) { usage(groupBy: [%s], from: "2024-01-01T00:00:00Z", to: "2025-01-01T00:00:00Z", after: $after) { nodes { day } } }`, groups)
			if data, err := a.run(query, map[string]any{"after": cursor}); err == nil || !strings.Contains(err.Error(), "The cursor does not belong to this list") {
				t.Errorf("%s: got %s, %v", groups, data, err)
			}
		}
	})
}

func TestPriceHistoryThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		id := a.models(1)[0]
		for _, price := range []any{map[string]any{"input": "0.000000001", "output": "9000000000", "cacheRead": "0.3"}, nil} {
			a.get(`mutation($id: ID!, $p: ModelPriceInput) { updateModel(id: $id, input: {price: $p}) { model { id } userErrors { message } } }`, map[string]any{"id": id, "p": price}, "updateModel", "model", "id")
		}
		versions := func(first string) string {
			t.Helper()
			data, err := a.run(`query($id: ID!) { node(id: $id) { ... on Model { priceHistory`+first+` { validFrom price { input output cacheRead cacheWrite } } } } }`, map[string]any{"id": id})
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		const newest = `{"validFrom":"2023-11-14T22:13:20.002Z","price":null}`
		const all = `{"node":{"priceHistory":[` + newest + `,{"validFrom":"2023-11-14T22:13:20.001Z","price":{"input":"0.000000001","output":"9000000000","cacheRead":"0.3","cacheWrite":null}},` +
			`{"validFrom":"2023-11-14T22:13:20.000Z","price":{"input":"0.1","output":"0.4","cacheRead":"0.01","cacheWrite":"0.125"}}]}}`
		if got := versions(""); got != all {
			t.Errorf("got  %s\nwant %s", got, all)
		}
		if got, want := versions("(first: 1)"), `{"node":{"priceHistory":[`+newest+`]}}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if _, err := a.run(`{ models(first: 1) { nodes { priceHistory(first: 101) { validFrom } } } }`, nil); err == nil || !strings.Contains(err.Error(), "first must be from 1 to 100") {
			t.Errorf("got %v", err)
		}
	})
}
