package e2e

import (
	"strings"
	"testing"
)

// TestBudgetsByRole has everybody read budgets, and only those manage them who may.
func TestBudgetsByRole(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		owner := newTenant(t, signIn(t, start(t, place.env)))
		vars := map[string]any{"id": owner.ids["bdgt"], "session": owner.ids["sess"]}
		reads := map[string]string{
			`query($id: ID!) { budget(id: $id) { limit credits ledger { nodes { amount } } } }`:              `{"budget":{"limit":"1000000","credits":"5","ledger":{"nodes":[{"amount":"-5"}]}}}`,
			`query($id: ID!) { node(id: $id) { ... on Budget { subject subjectId } } }`:                      `{"node":{"subject":"CUSTOMER","subjectId":"somebody"}}`,
			`{ budgets { totalCount nodes { currency } } }`:                                                  `{"budgets":{"totalCount":1,"nodes":[{"currency":"tokens"}]}}`,
			`query($session: ID!) { budgetCheck(sessionId: $session) { status budgets { budget { id } } } }`: `{"budgetCheck":{"status":"NO_BUDGETS","budgets":[]}}`,
		}
		manages := []string{
			`mutation { createBudget(input: {subject: CUSTOMER, subjectId: "x", currency: "usd", limit: "1"}) { budget { id } userErrors { code message } } }`,
			`mutation($id: ID!) { updateBudget(id: $id, input: {limit: "1000000"}) { budget { id } userErrors { code message } } }`,
			`mutation($id: ID!) { topUpBudget(input: {budgetId: $id, amount: "1"}) { budget { id } userErrors { code message } } }`,
			`mutation($session: ID!) { resumeSession(sessionId: $session) { session { id } userErrors { code message } } }`,
			`mutation($id: ID!) { disableBudget(id: $id) { budget { id } userErrors { code message } } }`,
		}
		ask := func(c *client, query string) string {
			t.Helper()
			given := map[string]any{}
			for name, value := range vars {
				if strings.Contains(query, "$"+name+":") {
					given[name] = value
				}
			}
			return string(c.overPost(t, query, given).Body)
		}
		// The administrator comes last: what is done then changes what is read.
		for _, role := range []string{"VIEWER", "MEMBER", "ADMIN"} {
			c, _ := owner.newMember(t, strings.ToLower(role)+"@budgets.example.com", role)
			for query, want := range reads {
				if got := ask(c, query); !strings.Contains(got, `"data":`+want) {
					t.Errorf("%s: %s: got %s, want %s", role, query, got, want)
				}
			}
			for _, query := range manages {
				got := ask(c, query)
				if refused := strings.Contains(got, `"code":"FORBIDDEN"`); refused != (role != "ADMIN") || role == "ADMIN" && !strings.Contains(got, `"userErrors":[]`) {
					t.Errorf("%s: %s: %s", role, query, got)
				}
			}
		}
	})
}
