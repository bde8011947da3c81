package resolvers_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/simulated"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see catalog_test.go
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see catalog_test.go
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/files"
)

// offers stands for a provider's server.
type offers struct {
	list []llm.ModelInfo
	err  error
}

func (o *offers) Models(context.Context, llm.Endpoint) ([]llm.ModelInfo, error) { return o.list, o.err }

// onlineAPI is newAPI with providers that can be asked.
func onlineAPI(t *testing.T, db *store.DB) (*api, *offers) {
	t.Helper()
	a, o := newAPI(t, db), &offers{}
	registry, err := tools.NewRegistry(core.Capability(), files.Capability(), budget.Capability())
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	a.resolver.Catalog, err = catalog.New(catalog.Config{
		DB: db, Registry: registry, Keeper: keeper, Clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)),
		Limits:      limits.New(limits.Config{Clock: clock.NewManual(time.UnixMilli(1)), Usual: limits.Values{EnvironmentKeys: 1}}),
		Environment: map[models.ProviderKind]llm.Endpoint{models.ProviderGemini: {APIKey: "of-the-server"}},
		Listers: map[models.ProviderKind]llm.Lister{
			models.ProviderOpenAI: o, models.ProviderSimulated: simulated.New(simulated.Options{}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, o
}

func TestProvidersThroughTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, o := onlineAPI(t, db)
		made := a.get(`mutation { createProvider(input: {name: "mine", kind: OPENAI, apiKey: "sk-secret"}) { provider { id hasCredentials baseUrl } userErrors { code } } }`,
			nil, "createProvider", "provider").(map[string]any)
		id := made["id"].(string)
		if made["hasCredentials"] != true {
			t.Errorf("made %v", made)
		}
		o.list = []llm.ModelInfo{{Name: "gpt-4o"}, {Name: "own"}}
		a.get(`mutation($id: ID!) { createModel(input: {providerId: $id, name: "own"}) { model { id } userErrors { code } } }`, map[string]any{"id": id})
		steps := []struct{ name, query, want string }{
			{"the server's key", `mutation { createProvider(input: {name: "g", kind: GEMINI}) { provider { hasCredentials } } }`, `{"createProvider":{"provider":{"hasCredentials":true}}}`},
			{"the server's key, elsewhere", `mutation { createProvider(input: {name: "h", kind: GEMINI, baseUrl: "https://x.example.com"}) { provider { hasCredentials } } }`, `{"createProvider":{"provider":{"hasCredentials":false}}}`},
			{"no address", `mutation { createProvider(input: {name: "i", kind: OPENAI_COMPATIBLE}) { provider { id } userErrors { code path } } }`, `{"createProvider":{"provider":null,"userErrors":[{"code":"INVALID","path":["input","baseUrl"]}]}}`},
			{"a test that succeeds", `mutation { testProvider(input: {id: "` + id + `"}) { ok error { code } models durationMs userErrors { code } } }`, `{"testProvider":{"ok":true,"error":null,"models":2,"durationMs":0,"userErrors":[]}}`},
			{"a test without an id", `mutation { testProvider(input: {}) { ok models userErrors { code path } } }`, `{"testProvider":{"ok":false,"models":null,"userErrors":[{"code":"INVALID","path":["input"]}]}}`},
			{"a test elsewhere", `mutation { testProvider(input: {id: "` + id + `", baseUrl: "https://evil.example.com"}) { ok userErrors { code path } } }`, `{"testProvider":{"ok":false,"userErrors":[{"code":"INVALID","path":["input","apiKey"]}]}}`},
			{"a move without the key", `mutation { updateProvider(id: "` + id + `", input: {baseUrl: "https://evil.example.com"}) { provider { id } userErrors { code path } } }`, `{"updateProvider":{"provider":null,"userErrors":[{"code":"INVALID","path":["input","apiKey"]}]}}`},
			{"what it offers", `mutation { discoverModels(providerId: "` + id + `") { models { name displayName contextWindowTokens price { input cacheWrite } model { name provider { name } } } userErrors { code } } }`,
				`{"discoverModels":{"models":[{"name":"gpt-4o","displayName":"GPT-4o","contextWindowTokens":128000,"price":{"input":"2.5","cacheWrite":null},"model":null},` +
					`{"name":"own","displayName":"own","contextWindowTokens":null,"price":null,"model":{"name":"own","provider":{"name":"mine"}}}],"userErrors":[]}}`},
			{"what nobody offers", `mutation { discoverModels(providerId: "x") { models { name } userErrors { code path } } }`, `{"discoverModels":{"models":[],"userErrors":[{"code":"NOT_FOUND","path":["providerId"]}]}}`},
			{"a filled model", `mutation { createModel(input: {providerId: "` + id + `", name: "gpt-4o"}) { model { displayName maxOutputTokens price { output } } } }`, `{"createModel":{"model":{"displayName":"GPT-4o","maxOutputTokens":16384,"price":{"output":"10"}}}}`},
			{"an unknown price", `mutation { createModel(input: {providerId: "` + id + `", name: "gpt-4.1", price: null, maxOutputTokens: 5}) { model { maxOutputTokens contextWindowTokens price { output } } } }`, `{"createModel":{"model":{"maxOutputTokens":5,"contextWindowTokens":1047576,"price":null}}}`},
			{"known, of no provider", `{ knownModels(kind: SIMULATED) { name model { id } } compatible: knownModels(kind: OPENAI_COMPATIBLE) { name } }`,
				`{"knownModels":[{"name":"sim-default","model":null},{"name":"sim-echo","model":null},{"name":"sim-lorem:100","model":null},{"name":"sim-latency:300:20","model":null},{"name":"sim-script","model":null}],"compatible":[]}`},
		}
		for _, s := range steps {
			if got, err := a.run(s.query, nil); err != nil || got != s.want {
				t.Errorf("%s:\n got %s, %v\nwant %s", s.name, got, err, s.want)
			}
		}
		o.err = &llm.Error{Code: llm.CodeMisconfigured, Message: "The provider refused the API key."}
		got, err := a.run(`mutation { testProvider(input: {id: "`+id+`"}) { ok error { code message fields } models userErrors { code } } }`, nil)
		if want := `{"testProvider":{"ok":false,"error":{"code":"provider_misconfigured","message":"The provider refused the API key.","fields":null},"models":null,"userErrors":[]}}`; err != nil || got != want {
			t.Errorf("a test that fails: %s, %v", got, err)
		}
		all, err := a.run(`{ providers { nodes { id name kind baseUrl hasCredentials lifecycle } } }`, nil)
		if err != nil || strings.Contains(all, "sk-secret") || strings.Contains(all, "of-the-server") {
			t.Errorf("providers are shown as %s, %v", all, err)
		}
	})
}

// However many models a provider offers, those that were added are found with few statements.
func TestDiscoveringTakesFewStatements(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, o := onlineAPI(t, db)
		id := a.get(`mutation { createProvider(input: {name: "mine", kind: OPENAI, apiKey: "k"}) { provider { id } userErrors { code } } }`, nil, "createProvider", "provider", "id")
		for i := range 300 {
			o.list = append(o.list, llm.ModelInfo{Name: fmt.Sprint("m", i)})
		}
		for i := range 3 {
			a.get(`mutation($in: CreateModelInput!) { createModel(input: $in) { model { id } userErrors { code } } }`, map[string]any{"in": map[string]any{"providerId": id, "name": fmt.Sprint("m", i)}})
		}
		n := a.statements()
		models := a.get(`mutation($id: ID!) { discoverModels(providerId: $id) { models { name model { id provider { name } } } userErrors { code } } }`, map[string]any{"id": id}, "discoverModels", "models").([]any)
		added := 0
		for _, m := range models {
			if m.(map[string]any)["model"] != nil {
				added++
			}
		}
		// The provider, once more for its address, the models, and their provider.
		if got := n.Load(); got > 4 || len(models) != 300 || added != 3 {
			t.Errorf("%d statements for %d models, of which %d were added", got, len(models), added)
		}
	})
}
