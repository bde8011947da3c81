package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/graph/resolvers"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/files"
)

// api runs operations against the catalog as one principal.
type api struct {
	t         *testing.T
	db        *store.DB
	resolver  *resolvers.Resolver
	exec      *executor.Executor
	principal *auth.Principal
	generic   models.HarnessID
}

func newAPI(t *testing.T, db *store.DB) *api {
	t.Helper()
	registry, err := tools.NewRegistry(core.Capability(), files.Capability(), budget.Capability())
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	svc, err := catalog.New(catalog.Config{DB: db, Registry: registry, Keeper: keeper, Clock: clock.NewManual(time.UnixMilli(1_700_000_000_000))})
	if err != nil {
		t.Fatal(err)
	}
	a := &api{t: t, db: db, resolver: &resolvers.Resolver{Catalog: svc, Sessions: sessions.New(sessions.Config{DB: db, Catalog: svc}), ModelViews: runtime.NewModelViews(db, svc)}}
	a.exec = executor.New(generated.NewExecutableSchema(generated.Config{Resolvers: a.resolver}))
	a.principal = &auth.Principal{
		OrgID: models.NewID[models.OrgEntity](), Role: models.RoleOwner, Permissions: auth.RolePermissions(models.RoleOwner, false),
	}
	err = db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		row := models.Org{ID: a.principal.OrgID, Name: "o", Slug: "o", CreatedAt: 1}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		harness, model, err := svc.SeedOrg(t.Context(), tx, row.ID, 1)
		if err != nil {
			return err
		}
		a.generic = harness
		return tx.Model(&models.Org{}).Where("id = ?", row.ID).Updates(models.Org{DefaultHarnessID: &harness, DefaultModelID: &model}).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// run returns the answer as JSON, or the errors as text.
func (a *api) run(query string, variables map[string]any) (string, error) {
	a.t.Helper()
	ctx := a.resolver.OperationContext(auth.WithPrincipal(a.t.Context(), a.principal))
	return execute(ctx, a.exec, query, variables)
}

func execute(ctx context.Context, exec *executor.Executor, query string, variables map[string]any) (string, error) {
	op, errs := exec.CreateOperationContext(graphql.StartOperationTrace(ctx), &graphql.RawParams{Query: query, Variables: variables})
	if errs != nil {
		return "", errs
	}
	handler, ctx := exec.DispatchOperation(ctx, op)
	resp := handler(ctx)
	if len(resp.Errors) > 0 {
		return string(resp.Data), resp.Errors
	}
	return string(resp.Data), nil
}

// get returns a value inside the answer of an operation that must not fail.
func (a *api) get(query string, variables map[string]any, path ...string) any {
	a.t.Helper()
	data, err := a.run(query, variables)
	if err != nil {
		a.t.Fatalf("%s: %v", query, err)
	}
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		a.t.Fatal(err)
	}
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			a.t.Fatalf("there is no %v in %s", path, data)
		}
		v = m[p]
	}
	return v
}

// statements counts what is read from the database from now on.
func (a *api) statements() *atomic.Int64 {
	a.t.Helper()
	var n atomic.Int64
	note := func(tx *gorm.DB) {
		if !tx.DryRun { // a statement inside of another one is not run
			n.Add(1)
		}
	}
	handles := []*gorm.DB{a.db.Read(a.t.Context(), models.OrgID{})}
	if a.db.Pool != nil { // with SQLite it is the same
		handles = append(handles, a.db.ReadAcross(a.t.Context()))
	}
	for _, db := range handles {
		cb := db.Callback()
		if err := errors.Join(cb.Query().After("gorm:query").Register("test:count", note), cb.Row().After("gorm:row").Register("test:count", note)); err != nil {
			a.t.Fatal(err)
		}
	}
	return &n
}

const (
	createHarness = `mutation($in: CreateHarnessInput!) { createHarness(input: $in) { harness { id } userErrors { code message path } } }`
	createAgent   = `mutation($in: CreateAgentInput!) { createAgent(input: $in) { agent { id revision } userErrors { code message path } } }`
)

func (a *api) harness(in map[string]any) string {
	a.t.Helper()
	return a.get(createHarness, map[string]any{"in": in}, "createHarness", "harness", "id").(string)
}

func (a *api) agent(in map[string]any) string {
	a.t.Helper()
	return a.get(createAgent, map[string]any{"in": in}, "createAgent", "agent", "id").(string)
}

// session adds a session of an agent, on the generic harness.
func (a *api) session(agent string) string {
	a.t.Helper()
	id, err := models.ParseID[models.AgentEntity](agent)
	if err != nil {
		a.t.Fatal(err)
	}
	row := models.Session{
		OrgID: a.principal.OrgID, ID: models.NewID[models.SessionEntity](), HarnessID: a.generic, AgentID: &id, Tags: []string{},
		Status: models.SessionStarted,
	}
	if err := a.db.WriteAcross(a.t.Context(), func(tx *gorm.DB) error { return tx.Create(&row).Error }); err != nil {
		a.t.Fatal(err)
	}
	return row.ID.String()
}

func TestTheSessionsOfAgents(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		one, two := a.agent(map[string]any{"name": "one", "systemPrompt": ""}), a.agent(map[string]any{"name": "two", "systemPrompt": ""})
		a.agent(map[string]any{"name": "none", "systemPrompt": ""})
		s := []string{a.session(one), a.session(two), a.session(one), a.session(one)}
		data, err := a.run(`{ agents { nodes { name sessions(first: 2) { totalCount nodes { id } pageInfo { hasNextPage } } } } }`, nil)
		want := fmt.Sprintf(`{"agents":{"nodes":[`+
			`{"name":"none","sessions":{"totalCount":0,"nodes":[],"pageInfo":{"hasNextPage":false}}},`+
			`{"name":"two","sessions":{"totalCount":1,"nodes":[{"id":%q}],"pageInfo":{"hasNextPage":false}}},`+
			`{"name":"one","sessions":{"totalCount":3,"nodes":[{"id":%q},{"id":%q}],"pageInfo":{"hasNextPage":true}}},`+
			`{"name":"demo","sessions":{"totalCount":0,"nodes":[],"pageInfo":{"hasNextPage":false}}}]}}`, s[1], s[3], s[2])
		if err != nil || data != want {
			t.Errorf("got %s, %v\nwant %s", data, err, want)
		}
		after := a.get(`query($id: ID!) { agent(id: $id) { sessions(first: 2) { pageInfo { endCursor } } } }`, map[string]any{"id": one},
			"agent", "sessions", "pageInfo", "endCursor")
		data, err = a.run(`query($id: ID!, $after: Cursor) { agent(id: $id) { sessions(after: $after) { nodes { id } } } }`, map[string]any{"id": one, "after": after})
		if want := fmt.Sprintf(`{"agent":{"sessions":{"nodes":[{"id":%q}]}}}`, s[0]); err != nil || data != want {
			t.Errorf("got %s, %v\nwant %s", data, err, want)
		}
		// A session's own preview, and one of nobody's session.
		data, err = a.run(`query($id: ID!, $no: ID!) { a: previewEffectiveConfig(sessionId: $id) { maxIterations } b: previewEffectiveConfig(sessionId: $no) { maxIterations } }`,
			map[string]any{"id": s[0], "no": models.NewID[models.SessionEntity]().String()})
		if err != nil || data != `{"a":{"maxIterations":100},"b":null}` {
			t.Errorf("got %s, %v", data, err)
		}
	})
}

// The number of statements follows from the shape of a query, not from the length of its pages.
func TestStatementsDoNotGrowWithThePage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		provider := a.get(`{ providers { nodes { id } } }`, nil, "providers", "nodes").([]any)[0].(map[string]any)["id"]
		// More than gqlgen resolves at once.
		const long = 70
		for i := range long {
			m := a.get(`mutation($in: CreateModelInput!) { createModel(input: $in) { model { id } userErrors { message } } }`,
				map[string]any{"in": map[string]any{"providerId": provider, "name": fmt.Sprint("sim-lorem:", 1000+i)}}, "createModel", "model", "id")
			root := a.harness(map[string]any{"name": fmt.Sprint("root-", i), "defaultModelId": m})
			leaf := a.harness(map[string]any{"name": fmt.Sprint("leaf-", i), "parentId": root})
			agent := a.agent(map[string]any{"name": fmt.Sprint("agent-", i), "systemPrompt": "", "harnessId": leaf, "defaultModelId": m})
			a.session(agent)
		}
		n := a.statements()
		for name, c := range map[string]struct {
			query string
			most  int64
		}{
			"agents":    {`query($n: Int) { agents(first: $n) { totalCount nodes { name harness { name parent { name defaultModel { name } } } defaultModel { name provider { name } } } } }`, 6},
			"edges":     {`query($n: Int) { agents(first: $n) { edges { cursor node { harness { defaultModel { name } chain { name defaultModel { provider { name } } } } } } } }`, 5},
			"harnesses": {`query($n: Int) { harnesses(first: $n) { totalCount nodes { chain { name } parent { name parent { name } } defaultModel { name } } } }`, 4},
			"models":    {`query($n: Int) { models(first: $n) { totalCount nodes { name provider { name } price { input } } } }`, 3},
			"sessions":  {`query($n: Int) { agents(first: $n) { nodes { sessions(first: 3) { totalCount nodes { title agent { name } harness { name } } } } } }`, 4},
			"providers": {`query($n: Int) { providers(first: $n) { totalCount nodes { name hasCredentials } } }`, 2},
		} {
			for _, size := range []int{2, long} {
				n.Store(0)
				a.get(c.query, map[string]any{"n": size})
				if got := n.Load(); got > c.most {
					t.Errorf("%s, %d: %d statements, at most %d are due", name, size, got, c.most)
				}
			}
		}
		n.Store(0)
		a.get(`{ agents(first: 5) { nodes { name } } }`, nil)
		if n.Load() != 1 {
			t.Errorf("a plain page takes %d statements", n.Load())
		}
	})
}

func TestWithoutLoadersEdgesWorkAsWell(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t))
	a.agent(map[string]any{"name": "a", "systemPrompt": "", "harnessId": a.generic.String()})
	data, err := execute(auth.WithPrincipal(t.Context(), a.principal), a.exec, `{ agents(first: 1) { nodes { harness { name parent { name } chain { name } } } } }`, nil)
	if want := `{"agents":{"nodes":[{"harness":{"name":"generic","parent":{"name":"base"},"chain":[{"name":"base"},{"name":"generic"}]}}]}}`; err != nil || data != want {
		t.Fatalf("got %s, %v", data, err)
	}
}

func TestCatalogThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		id := a.agent(map[string]any{
			"name": "Writer", "systemPrompt": "Write.", "harnessId": a.generic.String(), "tags": []any{"x"},
			"capabilities": []any{map[string]any{"id": "files", "config": map[string]any{}}},
		})
		update := func(in string) string {
			t.Helper()
			data, err := a.run(fmt.Sprintf(`mutation { updateAgent(id: %q, input: %s) {
				agent { displayName description harness { name } tags systemPrompt revision } userErrors { code path } } }`, id, in), nil)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSuffix(strings.TrimPrefix(data, `{"updateAgent":`), "}")
		}
		for _, c := range [][2]string{
			{`{description: "d", revision: 1}`, `{"agent":{"displayName":"Writer","description":"d","harness":{"name":"generic"},"tags":["x"],"systemPrompt":"Write.","revision":2},"userErrors":[]}`},
			{`{displayName: "W", revision: 1}`, `{"agent":null,"userErrors":[{"code":"CONFLICT","path":["input","revision"]}]}`},
			{`{description: null, harnessId: null, tags: null, systemPrompt: null}`, `{"agent":{"displayName":"Writer","description":null,"harness":null,"tags":[],"systemPrompt":"","revision":3},"userErrors":[]}`},
			{`{harnessId: "agent_00"}`, `{"agent":null,"userErrors":[{"code":"NOT_FOUND","path":["input","harnessId"]}]}`},
			{`{capabilities: [{id: "files"}, {id: "nope"}]}`, `{"agent":null,"userErrors":[{"code":"INVALID","path":["input","capabilities","1","id"]}]}`},
			{`{}`, `{"agent":{"displayName":"Writer","description":null,"harness":null,"tags":[],"systemPrompt":"","revision":3},"userErrors":[]}`},
		} {
			if got := update(c[0]); got != c[1] {
				t.Errorf("%s:\n got %s\nwant %s", c[0], got, c[1])
			}
		}
		for query, want := range map[string]string{
			`{ agent(id: "nonsense") { id } harness(id: "harn_00") { id } }`:                                                `{"agent":null,"harness":null}`,
			`{ agent(id: "` + models.NewID[models.AgentEntity]().String() + `") { id } }`:                                   `{"agent":null}`,
			`{ previewEffectiveConfig(harnessId: "x") { maxIterations } }`:                                                  `{"previewEffectiveConfig":null}`,
			`{ previewEffectiveConfig { maxIterations model { name } capabilities { id } } }`:                               `{"previewEffectiveConfig":{"maxIterations":100,"model":{"name":"sim-default"},"capabilities":[{"id":"core"},{"id":"files"},{"id":"budget"}]}}`,
			`{ previewEffectiveConfig(agent: {name: "", systemPrompt: "", maxIterations: 9}) { maxIterations } }`:           `{"previewEffectiveConfig":{"maxIterations":9}}`,
			`{ capabilities { id risk status dependsOn } }`:                                                                 `{"capabilities":[{"id":"core","risk":"LOW","status":"AVAILABLE","dependsOn":[]},{"id":"files","risk":"LOW","status":"AVAILABLE","dependsOn":[]},{"id":"budget","risk":"LOW","status":"AVAILABLE","dependsOn":[]}]}`,
			`{ models(first: 1) { nodes { name price { input output cacheRead cacheWrite } } totalCount } }`:                `{"models":{"nodes":[{"name":"sim-default","price":{"input":"0.1","output":"0.4","cacheRead":"0.01","cacheWrite":"0.125"}}],"totalCount":5}}`,
			`{ models(providerId: "x") { nodes { name } totalCount } }`:                                                     `{"models":{"nodes":[],"totalCount":0}}`,
			`mutation { archiveHarness(id: "` + a.generic.String() + `") { harness { id } userErrors { code path } } }`:     `{"archiveHarness":{"harness":null,"userErrors":[{"code":"FORBIDDEN","path":["id"]}]}}`,
			`mutation { archiveAgent(id: "` + id + `") { agent { lifecycle } userErrors { code } } }`:                       `{"archiveAgent":{"agent":{"lifecycle":"ARCHIVED"},"userErrors":[]}}`,
			`mutation { createProvider(input: {name: "p", kind: SIMULATED, apiKey: "k"}) { provider { hasCredentials } } }`: `{"createProvider":{"provider":{"hasCredentials":true}}}`,
		} {
			if got, err := a.run(query, nil); err != nil || got != want {
				t.Errorf("%s:\n got %s, %v\nwant %s", query, got, err, want)
			}
		}
	})
}

// What a mutation changed is read anew by the fields after it.
func TestEdgesAfterAMutationAreFresh(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t))
	h := a.harness(map[string]any{"name": "h"})
	agent := a.agent(map[string]any{"name": "a", "systemPrompt": "", "harnessId": h})
	data, err := a.run(fmt.Sprintf(`mutation {
		a: updateAgent(id: %[1]q, input: {description: "1"}) { agent { harness { displayName } } }
		b: updateHarness(id: %[2]q, input: {displayName: "new"}) { harness { displayName } }
		c: updateAgent(id: %[1]q, input: {description: "2"}) { agent { harness { displayName } } }
	}`, agent, h), nil)
	want := `{"a":{"agent":{"harness":{"displayName":"h"}}},"b":{"harness":{"displayName":"new"}},"c":{"agent":{"harness":{"displayName":"new"}}}}`
	if err != nil || data != want {
		t.Fatalf("got %s, %v", data, err)
	}
}

func TestPagesFollowEachOther(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t))
	for i := range 5 {
		a.agent(map[string]any{"name": fmt.Sprint("a", i), "systemPrompt": ""})
	}
	const query = `query($after: Cursor) { agents(first: 2, after: $after, search: "A") {
		totalCount edges { cursor } nodes { name } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`
	names := make([]string, 0, 5)
	var after any
	for range 3 {
		page := a.get(query, map[string]any{"after": after}, "agents").(map[string]any)
		info := page["pageInfo"].(map[string]any)
		edges := page["edges"].([]any)
		for _, n := range page["nodes"].([]any) {
			names = append(names, n.(map[string]any)["name"].(string))
		}
		if info["hasPreviousPage"] != (after != nil) || info["hasNextPage"] != (len(names) < 5) || page["totalCount"] != 5.0 ||
			info["endCursor"] != edges[len(edges)-1].(map[string]any)["cursor"] {
			t.Errorf("the page is %v", page)
		}
		after = info["endCursor"]
	}
	if got := strings.Join(names, " "); got != "a4 a3 a2 a1 a0" {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{
		`{ agents(first: 0) { totalCount } }`, `{ agents(first: 101) { totalCount } }`, `{ agents(first: -1) { totalCount } }`,
		`{ agents(after: "x") { totalCount } }`, `{ agents(after: "") { totalCount } }`, fmt.Sprintf(`{ harnesses(after: %q) { totalCount } }`, after),
		`{ agents(after: "` + strings.Repeat("A", 10_000) + `") { totalCount } }`,
	} {
		if data, err := a.run(bad, nil); err == nil {
			t.Errorf("%.80s gives %s", bad, data)
		}
	}
}
