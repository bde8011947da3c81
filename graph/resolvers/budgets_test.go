package resolvers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit" //nolint:depguard // these tests put together what the program does
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

const (
	createBudget  = `mutation($in: CreateBudgetInput!) { createBudget(input: $in) { budget { id } userErrors { code message path } } }`
	updateBudget  = `mutation($id: ID!, $in: UpdateBudgetInput!) { updateBudget(id: $id, input: $in) { budget { limit softLimit spent period { kind unit seconds timezone } } userErrors { code path } } }`
	disableBudget = `mutation($id: ID!) { disableBudget(id: $id) { budget { status } userErrors { code path } } }`
	topUpBudget   = `mutation($in: TopUpBudgetInput!) { topUpBudget(input: $in) { budget { balance credits status } userErrors { code path } } }`
	resumeSession = `mutation($id: ID!) { resumeSession(sessionId: $id) { session { id } userErrors { code path } } }`
	allOfBudget   = `id subject subjectId currency limit softLimit balance reserved spent credits period { kind unit seconds timezone } periodStartedAt periodEndsAt status createdAt updatedAt`
)

// withBudgets returns the API budgets, and a committer that sessions are made with.
func withBudgets(t *testing.T, a *api) *clock.Manual {
	t.Helper()
	at := clock.NewManual(time.UnixMilli(1_700_000_000_000))
	c := commit.New(commit.Config{DB: a.db, Clock: at})
	t.Cleanup(c.Stop)
	var err error
	if a.resolver.Spending, err = manage.New(manage.Config{DB: a.db, Committer: c, Clock: at}); err != nil {
		t.Fatal(err)
	}
	a.resolver.Sessions = sessions.New(sessions.Config{DB: a.db, Committer: c, Catalog: a.resolver.Catalog, Clock: at})
	return at
}

// budget makes a budget of 100 tokens for the organization, but for what is said, and returns its id.
func (a *api) budget(change map[string]any) string {
	a.t.Helper()
	in := map[string]any{"subject": "ORG", "subjectId": a.principal.OrgID.String(), "currency": "tokens", "limit": "100"}
	maps.Copy(in, change)
	made := a.get(createBudget, map[string]any{"in": in}, "createBudget").(map[string]any)
	if made["budget"] == nil {
		a.t.Fatalf("got %v", made)
	}
	return made["budget"].(map[string]any)["id"].(string)
}

func TestBudgetsOverTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		at := withBudgets(t, a)
		a.asOwner()
		id := a.budget(map[string]any{"currency": "usd", "limit": "12.50", "softLimit": "10", "period": map[string]any{"kind": "CALENDAR", "unit": "MONTH", "timezone": "Europe/Berlin"}})
		want := fmt.Sprintf(`{"id":%q,"subject":"ORG","subjectId":%q,"currency":"usd","limit":"12.5","softLimit":"10","balance":"12.5","reserved":"0","spent":"0","credits":"0",`+
			`"period":{"kind":"CALENDAR","unit":"MONTH","seconds":null,"timezone":"Europe/Berlin"},"periodStartedAt":"2023-10-31T23:00:00.000Z","periodEndsAt":"2023-11-30T23:00:00.000Z",`+
			`"status":"ACTIVE","createdAt":"2023-11-14T22:13:20.000Z","updatedAt":"2023-11-14T22:13:20.000Z"}`, id, a.principal.OrgID)
		for name, query := range map[string]string{
			"budget": `query($id: ID!) { budget(id: $id) { ` + allOfBudget + ` } }`,
			"node":   `query($id: ID!) { node(id: $id) { ... on Budget { ` + allOfBudget + ` } } }`,
		} {
			if data, err := a.run(query, map[string]any{"id": id}); err != nil || data != `{"`+name+`":`+want+`}` {
				t.Errorf("got  %s, %v\nwant %s", data, err, want)
			}
		}

		// What is left out stays, null takes away.
		for _, c := range []struct {
			in   map[string]any
			want string
		}{
			{map[string]any{"limit": "20"}, `{"limit":"20","softLimit":"10","spent":"0","period":{"kind":"CALENDAR","unit":"MONTH","seconds":null,"timezone":"Europe/Berlin"}}`},
			{map[string]any{"softLimit": nil, "limit": nil}, `{"limit":"20","softLimit":null,"spent":"0","period":{"kind":"CALENDAR","unit":"MONTH","seconds":null,"timezone":"Europe/Berlin"}}`},
			{map[string]any{"period": map[string]any{"kind": "ROLLING", "seconds": 3600}}, `{"limit":"20","softLimit":null,"spent":"0","period":{"kind":"ROLLING","unit":null,"seconds":3600,"timezone":null}}`},
			{map[string]any{"period": map[string]any{"kind": "CALENDAR", "unit": "DAY"}}, `{"limit":"20","softLimit":null,"spent":"0","period":{"kind":"CALENDAR","unit":"DAY","seconds":null,"timezone":"UTC"}}`},
			{map[string]any{"period": nil, "softLimit": "0.000000001"}, `{"limit":"20","softLimit":"0.000000001","spent":"0","period":null}`},
		} {
			if data, err := a.run(updateBudget, map[string]any{"id": id, "in": c.in}); err != nil || data != `{"updateBudget":{"budget":`+c.want+`,"userErrors":[]}}` {
				t.Errorf("%v: got %s, %v\nwant %s", c.in, data, err, c.want)
			}
		}

		for i := range 3 {
			data, err := a.run(topUpBudget, map[string]any{"in": map[string]any{"budgetId": id, "amount": fmt.Sprint(i+1, ".5"), "description": "d", "idempotencyKey": fmt.Sprint(i)}})
			if err != nil || !strings.Contains(data, `"status":"ACTIVE"},"userErrors":[]`) {
				t.Errorf("%s, %v", data, err)
			}
			at.Advance(time.Millisecond)
		}
		ledger := `query($id: ID!, $after: Cursor) { budget(id: $id) { balance ledger(first: 2, after: $after) { totalCount nodes { id amount currency source overrun sessionId turnId description createdAt }
			edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage endCursor } } } }`
		data, err := a.run(ledger, map[string]any{"id": id})
		if err != nil || !strings.Contains(data, `"balance":"27.5"`) || !strings.Contains(data, `"totalCount":3`) || !strings.Contains(data, `"amount":"-3.5","currency":"usd","source":"TOP_UP","overrun":"0",`+
			`"sessionId":null,"turnId":null,"description":"d","createdAt":"2023-11-14T22:13:20.002Z"}`) || !strings.Contains(data, `"hasNextPage":true`) {
			t.Errorf("the newest are %s, %v", data, err)
		}
		cursor := a.get(ledger, map[string]any{"id": id}, "budget", "ledger", "pageInfo", "endCursor")
		data, err = a.run(ledger, map[string]any{"id": id, "after": cursor})
		if err != nil || strings.Count(data, `"amount"`) != 1 || !strings.Contains(data, `"amount":"-1.5"`) || !strings.Contains(data, `"totalCount":3`) || !strings.Contains(data, `"hasNextPage":false,"hasPreviousPage":true`) {
			t.Errorf("the rest is %s, %v", data, err)
		}
		if _, err := a.run(ledger, map[string]any{"id": id, "after": "AQ"}); err == nil || !strings.Contains(err.Error(), "cursor does not belong to this list") {
			t.Errorf("a cursor of nothing: %v", err)
		}
		posting := a.get(ledger, map[string]any{"id": id}, "budget", "ledger", "nodes").([]any)[0].(map[string]any)["id"].(string)
		node := `query($id: ID!) { node(id: $id) { ... on LedgerEntry { amount currency } ... on Budget { currency } } }`
		if data, err := a.run(node, map[string]any{"id": posting}); err != nil || data != `{"node":{"amount":"-3.5","currency":"usd"}}` {
			t.Errorf("got %s, %v", data, err)
		}

		session := a.get(`mutation { createSession(input: {customerKey: "acme"}) { session { id } userErrors { code } } }`, nil, "createSession", "session", "id").(string)
		ofCustomer := a.budget(map[string]any{"subject": "CUSTOMER", "subjectId": "acme", "currency": "tool_calls", "limit": "3"})
		data, err = a.run(`query($id: ID!) { budgetCheck(sessionId: $id) { status hint budgets { percentRemaining budget { id } } } }`, map[string]any{"id": session})
		if err != nil || !strings.Contains(data, `"status":"ACTIVE","hint":"More than`) || !strings.Contains(data, fmt.Sprintf(`{"percentRemaining":100,"budget":{"id":%q}}]`, ofCustomer)) ||
			strings.Count(data, "percentRemaining") != 2 {
			t.Errorf("got %s, %v", data, err)
		}
		if data, err := a.run(resumeSession, map[string]any{"id": session}); err != nil || data != fmt.Sprintf(`{"resumeSession":{"session":{"id":%q},"userErrors":[]}}`, session) {
			t.Errorf("got %s, %v", data, err)
		}

		list := `query($subject: BudgetSubject, $id: String, $after: Cursor) { budgets(first: 1, subject: $subject, subjectId: $id, after: $after) { totalCount nodes { id } pageInfo { hasNextPage endCursor } } }`
		for subject, want := range map[string]string{"": ofCustomer, "ORG": id, "CUSTOMER": ofCustomer, "USER": ""} {
			in := map[string]any{}
			if subject != "" {
				in["subject"] = subject
			}
			data, err := a.run(list, in)
			if err != nil || want == "" && !strings.Contains(data, `"totalCount":0,"nodes":[]`) || want != "" && !strings.Contains(data, `"nodes":[{"id":"`+want+`"}]`) {
				t.Errorf("%s: %s, %v", subject, data, err)
			}
		}
		cursor = a.get(list, nil, "budgets", "pageInfo", "endCursor")
		if data, err := a.run(list, map[string]any{"after": cursor}); err != nil || !strings.Contains(data, `"totalCount":2,"nodes":[{"id":"`+id+`"}],"pageInfo":{"hasNextPage":false`) {
			t.Errorf("got %s, %v", data, err)
		}
		if _, err := a.run(list, map[string]any{"id": "acme"}); err == nil || !strings.Contains(err.Error(), "subjectId needs subject") {
			t.Errorf("an id of what: %v", err)
		}
		if data, err := a.run(disableBudget, map[string]any{"id": id}); err != nil || data != `{"disableBudget":{"budget":{"status":"DISABLED"},"userErrors":[]}}` {
			t.Errorf("got %s, %v", data, err)
		}
	})
}

func TestBudgetsRefuseBadInput(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withBudgets(t, a)
		a.asOwner()
		id := a.budget(nil)
		org := a.principal.OrgID.String()
		for _, c := range []struct {
			document, in, errors string
		}{
			{createBudget, `{"subject":"ORG","subjectId":"` + org + `","currency":"tokens","limit":"1.5"}`, `INVALID input limit`},
			{createBudget, `{"subject":"ORG","subjectId":"` + org + `","currency":"usd","limit":"9000000001"}`, `INVALID input limit`},
			{createBudget, `{"subject":"ORG","subjectId":"` + org + `","currency":"usd","limit":"1","softLimit":"2"}`, `INVALID input softLimit`},
			{createBudget, `{"subject":"ORG","subjectId":"` + org + `","currency":"EUR","limit":"1"}`, `INVALID input currency`},
			{createBudget, `{"subject":"AGENT","subjectId":"` + org + `","currency":"usd","limit":"1"}`, `NOT_FOUND input subjectId`},
			{createBudget, `{"subject":"ORG","subjectId":"` + org + `","currency":"usd","limit":"1","period":{"kind":"FIXED"}}`, `INVALID input period`},
			{updateBudget, `{"limit":"-1"}`, `INVALID input limit`},
			{updateBudget, `{"period":{"kind":"CALENDAR","seconds":60}}`, `INVALID input period`},
			{topUpBudget, `{"budgetId":"` + id + `","amount":"0"}`, `INVALID input amount`},
			{topUpBudget, `{"budgetId":"` + id + `","amount":"0.1"}`, `INVALID input amount`},
			{topUpBudget, `{"budgetId":"` + id + `","amount":"1","idempotencyKey":""}`, `INVALID input idempotencyKey`},
			{topUpBudget, `{"budgetId":"bdgt_x","amount":"1"}`, `NOT_FOUND input budgetId`},
		} {
			var in map[string]any
			if err := json.Unmarshal([]byte(c.in), &in); err != nil {
				t.Fatal(err)
			}
			data, err := a.run(c.document, map[string]any{"id": id, "in": in})
			code, path, _ := strings.Cut(c.errors, " ")
			want := `"path":["` + strings.ReplaceAll(path, " ", `","`) + `"]`
			if err != nil || !strings.Contains(data, `"budget":null,"userErrors":[{"code":"`+code+`"`) || !strings.Contains(data, want) {
				t.Errorf("%s: %s, %v; want %s", c.in, data, err, c.errors)
			}
		}
		for _, limit := range []string{`"1e3"`, `"NaN"`, `1.5`, `"` + strings.Repeat("9", 41) + `"`, `""`} {
			_, err := a.run(`mutation { createBudget(input: {subject: ORG, subjectId: "`+org+`", currency: "usd", limit: `+limit+`}) { budget { id } } }`, nil)
			if err == nil || !strings.Contains(err.Error(), "Decimal") {
				t.Errorf("a limit of %s: %v", limit, err)
			}
		}
		if n := a.get(`{ budgets { totalCount nodes { ledger { totalCount } } } }`, nil, "budgets", "totalCount"); n != 1.0 {
			t.Errorf("there are %v budgets", n)
		}
	})
}

// Another organization's ids are as good as none.
func TestBudgetsOfOthersOverTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withBudgets(t, a)
		a.asOwner()
		id := a.budget(nil)
		a.get(topUpBudget, map[string]any{"in": map[string]any{"budgetId": id, "amount": "1"}})
		posting := a.get(`query($id: ID!) { budget(id: $id) { ledger { nodes { id } } } }`, map[string]any{"id": id}, "budget", "ledger", "nodes").([]any)[0].(map[string]any)["id"].(string)
		session := a.get(`mutation { createSession(input: {}) { session { id } } }`, nil, "createSession", "session", "id").(string)
		b := newAPIIn(a, "strangers")
		for _, unknown := range []string{id, models.NewID[models.BudgetEntity]().String(), "bdgt_x", posting} {
			for document, path := range map[string]string{updateBudget: `["id"]`, disableBudget: `["id"]`, topUpBudget: `["input","budgetId"]`} {
				in := map[string]any{"limit": "5"}
				if document == topUpBudget {
					in = map[string]any{"budgetId": unknown, "amount": "1"}
				}
				data, err := b.run(document, map[string]any{"id": unknown, "in": in})
				if err != nil || !strings.Contains(data, `{"budget":null,"userErrors":[{"code":"NOT_FOUND","path":`+path+`}]}`) {
					t.Errorf("%s: %s, %v", unknown, data, err)
				}
			}
			for _, query := range []string{`query($id: ID!) { found: budget(id: $id) { id } }`, `query($id: ID!) { found: node(id: $id) { id } }`} {
				if data, err := b.run(query, map[string]any{"id": unknown}); err != nil || data != `{"found":null}` {
					t.Errorf("%s: %s, %v", unknown, data, err)
				}
			}
		}
		for _, unknown := range []string{session, models.NewID[models.SessionEntity]().String(), "sess_x"} {
			data, err := b.run(resumeSession, map[string]any{"id": unknown})
			if err != nil || data != `{"resumeSession":{"session":null,"userErrors":[{"code":"NOT_FOUND","path":["sessionId"]}]}}` {
				t.Errorf("%s: %s, %v", unknown, data, err)
			}
			if _, err := b.run(`query($id: ID!) { budgetCheck(sessionId: $id) { status } }`, map[string]any{"id": unknown}); err == nil || !strings.Contains(err.Error(), "There is no session") &&
				!strings.Contains(err.Error(), "is not an id") {
				t.Errorf("%s: %v", unknown, err)
			}
		}
		if data, err := b.run(`{ budgets { totalCount nodes { id } } }`, nil); err != nil || data != `{"budgets":{"totalCount":0,"nodes":[]}}` {
			t.Errorf("got %s, %v", data, err)
		}
		if data, err := a.run(`query($id: ID!) { budget(id: $id) { limit credits status } }`, map[string]any{"id": id}); err != nil || data != `{"budget":{"limit":"100","credits":"1","status":"ACTIVE"}}` {
			t.Errorf("got %s, %v", data, err)
		}
	})
}

// A page of budgets with their ledgers is three statements, however many there are.
func TestBudgetsWithLedgersTakeFewStatements(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withBudgets(t, a)
		a.asOwner()
		n := a.statements()
		made := 0
		for _, count := range []int{1, 7} {
			for ; made < count; made++ {
				id := a.budget(nil)
				a.get(topUpBudget, map[string]any{"in": map[string]any{"budgetId": id, "amount": "1"}})
			}
			before := n.Load()
			data, err := a.run(`{ budgets(first: 100) { nodes { limit ledger(first: 5) { totalCount nodes { amount } } } } }`, nil)
			if got := n.Load() - before; got != 3 || err != nil || strings.Count(data, `"totalCount":1,"nodes":[{"amount":"-1"}]`) != count {
				t.Errorf("%d budgets: %d statements, %s, %v", count, got, data, err)
			}
		}
	})
}

func TestAllowUnpricedModelsOverTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.asOwner()
		update := `mutation($in: UpdateOrgInput!) { updateOrg(input: $in) { org { name allowUnpricedModels } userErrors { code path } } }`
		for _, c := range []struct {
			in   map[string]any
			want string
		}{
			{map[string]any{"name": "o"}, `{"org":{"name":"o","allowUnpricedModels":false},"userErrors":[]}`},
			{map[string]any{"allowUnpricedModels": true}, `{"org":{"name":"o","allowUnpricedModels":true},"userErrors":[]}`},
			{map[string]any{"name": "p"}, `{"org":{"name":"p","allowUnpricedModels":true},"userErrors":[]}`},
			{map[string]any{"allowUnpricedModels": nil}, `{"org":null,"userErrors":[{"code":"INVALID","path":["input","allowUnpricedModels"]}]}`},
			{map[string]any{"allowUnpricedModels": false}, `{"org":{"name":"p","allowUnpricedModels":false},"userErrors":[]}`},
		} {
			if data, err := a.run(update, map[string]any{"in": c.in}); err != nil || data != `{"updateOrg":`+c.want+`}` {
				t.Errorf("%v: got %s, %v", c.in, data, err)
			}
		}
	})
}

// A price that can't be kept is told with its path, and changes nothing.
func TestPricesThatCantBeKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		id := a.get(`{ models(first: 1) { nodes { id } } }`, nil, "models", "nodes").([]any)[0].(map[string]any)["id"].(string)
		price := `query($id: ID!) { node(id: $id) { ... on Model { price { input output cacheRead cacheWrite } } } }`
		before, err := a.run(price, map[string]any{"id": id})
		if err != nil {
			t.Fatal(err)
		}
		update := `mutation($id: ID!, $price: ModelPriceInput) { updateModel(id: $id, input: {price: $price}) { model { price { input output cacheRead cacheWrite } } userErrors { code path } } }`
		for field, value := range map[string]string{"input": "0.0000000001", "output": "9000000001", "cacheRead": "-9000000001", "cacheWrite": "1.0000000005"} {
			in := map[string]any{"input": "1", "output": "1"}
			in[field] = value
			data, err := a.run(update, map[string]any{"id": id, "price": in})
			if err != nil || data != `{"updateModel":{"model":null,"userErrors":[{"code":"INVALID","path":["input","price","`+field+`"]}]}}` {
				t.Errorf("%s of %s: %s, %v", field, value, data, err)
			}
		}
		if after, err := a.run(price, map[string]any{"id": id}); err != nil || after != before {
			t.Errorf("got %s, %v; it was %s", after, err, before)
		}
		in := map[string]any{"input": "3.00", "output": "15", "cacheRead": "0.300000001", "cacheWrite": "0"}
		data, err := a.run(update, map[string]any{"id": id, "price": in})
		if err != nil || data != `{"updateModel":{"model":{"price":{"input":"3","output":"15","cacheRead":"0.300000001","cacheWrite":"0"}},"userErrors":[]}}` {
			t.Errorf("got %s, %v", data, err)
		}
	})
}
