package resolvers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // the tests bring the database
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// TestTheCapabilityBudgetThroughTheAPI attaches the capability as users do: its tool and its prompt show before anything runs, and settings
// that can't be are refused with a path.
func TestTheCapabilityBudgetThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		schema, err := a.run(`{ capabilities { id configSchema } }`, nil)
		if err != nil || !strings.Contains(schema, `"target"`) {
			t.Errorf("its settings are described as %s, %v", schema, err)
		}
		base, err := a.run(`{ harnesses(search: "base") { nodes { id } } }`, nil)
		if err != nil {
			t.Fatal(err)
		}
		var harnesses struct {
			Harnesses struct {
				Nodes []struct {
					ID string `json:"id"`
				} `json:"nodes"`
			} `json:"harnesses"`
		}
		if err := json.Unmarshal([]byte(base), &harnesses); err != nil || len(harnesses.Harnesses.Nodes) != 1 {
			t.Fatalf("the harness base: %s, %v", base, err)
		}
		plain := harnesses.Harnesses.Nodes[0].ID
		preview := func(capabilities string) string {
			t.Helper()
			data, err := a.run(fmt.Sprintf(`{ previewEffectiveConfig(harnessId: %q, agent: {name: "a", systemPrompt: "", capabilities: %s}) {
				systemPrompt tools { name displayName } capabilities { id config } } }`, plain, capabilities), nil)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		if got := preview(`[]`); strings.Contains(got, "check_budget") {
			t.Errorf("without the capability there is %s", got)
		}
		const guide = "The target for this work is to stay within 2.5 usd."
		got := preview(`[{id: "budget"}]`)
		if !strings.Contains(got, `{"name":"check_budget","displayName":"Check the budget"}`) || !strings.Contains(got, "Call check_budget") || strings.Contains(got, "The target") {
			t.Errorf("with the capability there is %s", got)
		}
		if got := preview(`[{id: "budget", config: {target: {amount: "2.50", currency: "usd"}}}]`); !strings.Contains(got, guide) {
			t.Errorf("with a target there is %s", got)
		}
		create := func(config string) string {
			t.Helper()
			data, err := a.run(fmt.Sprintf(`mutation { createAgent(input: {name: "b", systemPrompt: "", harnessId: %q, capabilities: [{id: "budget", config: %s}]}) {
				agent { capabilities { id config } } userErrors { code path } } }`, plain, config), nil)
			if err != nil {
				return err.Error()
			}
			return data
		}
		for config, path := range map[string]string{
			`{target: {amount: "0", currency: "usd"}}`:      `"target","amount"`,
			`{target: {amount: "0.5", currency: "tokens"}}`: `"target","amount"`,
			`{target: {amount: "1", currency: "$"}}`:        `"target","currency"`,
			`{limit: 1}`:                                    `"limit"`,
		} {
			want := `{"createAgent":{"agent":null,"userErrors":[{"code":"INVALID","path":["input","capabilities","0","config",` + path + `]}]}}`
			if got := create(config); got != want {
				t.Errorf("%s: got %s, want %s", config, got, want)
			}
		}
		want := `{"createAgent":{"agent":{"capabilities":[{"id":"budget","config":{"target":{"amount":"2.50","currency":"usd"}}}]},"userErrors":[]}}`
		if got := create(`{target: {amount: "2.50", currency: "usd"}}`); got != want {
			t.Errorf("attached is %s", got)
		}
	})
}
