package catalog_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestBadAgentsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		before := must(e.svc.CountAgents(t.Context(), e.mine.id, catalog.Filter{IncludeArchived: true}))(t)
		tags := make([]string, 21)
		for i := range tags {
			tags[i] = strings.Repeat("x", i+1)
		}
		config := func(id, c string) []models.CapabilityRef {
			return []models.CapabilityRef{{ID: "files"}, {ID: id, Config: models.JSON(c)}}
		}
		for name, c := range map[string]struct {
			in   catalog.NewAgent
			code fault.Code
			path string
		}{
			"no name":                {catalog.NewAgent{Name: " "}, fault.Invalid, "input.name"},
			"a long name":            {catalog.NewAgent{Name: strings.Repeat("a", 101)}, fault.Invalid, "input.name"},
			"no identifier":          {catalog.NewAgent{Name: "My Agent!"}, fault.Invalid, "input.name"},
			"a leading hyphen":       {catalog.NewAgent{Name: "-agent"}, fault.Invalid, "input.name"},
			"a foreign letter":       {catalog.NewAgent{Name: "ärmel"}, fault.Invalid, "input.name"},
			"a line break":           {catalog.NewAgent{Name: "a\nb"}, fault.Invalid, "input.name"},
			"NUL in the name":        {catalog.NewAgent{Name: "a\x00b"}, fault.Invalid, "input.name"},
			"invalid UTF-8":          {catalog.NewAgent{Name: "a\xff"}, fault.Invalid, "input.name"},
			"empty display name":     {catalog.NewAgent{Name: "a", DisplayName: new("")}, fault.Invalid, "input.displayName"},
			"NUL in the description": {catalog.NewAgent{Name: "a", Description: new("\x00")}, fault.Invalid, "input.description"},
			"a long description":     {catalog.NewAgent{Name: "a", Description: new(strings.Repeat("x", 2001))}, fault.Invalid, "input.description"},
			"NUL in the prompt":      {catalog.NewAgent{Name: "a", SystemPrompt: "x\x00"}, fault.Invalid, "input.systemPrompt"},
			"a prompt not in UTF-8":  {catalog.NewAgent{Name: "a", SystemPrompt: "x\xc3"}, fault.Invalid, "input.systemPrompt"},
			"a long prompt":          {catalog.NewAgent{Name: "a", SystemPrompt: strings.Repeat("x", 256<<10+1)}, fault.Invalid, "input.systemPrompt"},
			"too many tags":          {catalog.NewAgent{Name: "a", Tags: tags}, fault.Invalid, "input.tags"},
			"an empty tag":           {catalog.NewAgent{Name: "a", Tags: []string{" "}}, fault.Invalid, "input.tags"},
			"a long tag":             {catalog.NewAgent{Name: "a", Tags: []string{strings.Repeat("x", 51)}}, fault.Invalid, "input.tags"},
			"NUL in a tag":           {catalog.NewAgent{Name: "a", Tags: []string{"\x00"}}, fault.Invalid, "input.tags"},
			"no iterations":          {catalog.NewAgent{Name: "a", MaxIterations: new(0)}, fault.Invalid, "input.maxIterations"},
			"too many iterations":    {catalog.NewAgent{Name: "a", MaxIterations: new(1001)}, fault.Invalid, "input.maxIterations"},
			"an unknown harness":     {catalog.NewAgent{Name: "a", HarnessID: new(models.NewID[models.HarnessEntity]())}, fault.NotFound, "input.harnessId"},
			"another org's harness":  {catalog.NewAgent{Name: "a", HarnessID: &e.theirs.generic}, fault.NotFound, "input.harnessId"},
			"an unknown model":       {catalog.NewAgent{Name: "a", DefaultModelID: new(models.NewID[models.ModelEntity]())}, fault.NotFound, "input.defaultModelId"},
			"another org's model":    {catalog.NewAgent{Name: "a", DefaultModelID: &e.theirs.model}, fault.NotFound, "input.defaultModelId"},
			"an unknown capability":  {catalog.NewAgent{Name: "a", Capabilities: refs("files", "nope")}, fault.Invalid, "input.capabilities.1.id"},
			"a capability twice":     {catalog.NewAgent{Name: "a", Capabilities: refs("files", "files")}, fault.Invalid, "input.capabilities"},
			"settings of none":       {catalog.NewAgent{Name: "a", Capabilities: config("risky", `{"x":1}`)}, fault.Invalid, "input.capabilities.1.config"},
			"bad settings":           {catalog.NewAgent{Name: "a", Capabilities: config("tuned", `{"level":0}`)}, fault.Invalid, "input.capabilities.1.config.level"},
			"settings not JSON":      {catalog.NewAgent{Name: "a", Capabilities: config("tuned", `{"level"`)}, fault.Invalid, "input.capabilities"},
			"NUL in settings":        {catalog.NewAgent{Name: "a", Capabilities: config("tuned", `{"note":"a\u0000"}`)}, fault.Invalid, "input.capabilities"},
			"settings out of bounds": {catalog.NewAgent{Name: "a", Capabilities: config("tuned", `{"note":"`+strings.Repeat("x", 64<<10)+`"}`)}, fault.Invalid, "input.capabilities"},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := e.svc.CreateAgent(t.Context(), e.mine.admin, c.in)
				wantFault(t, err, c.code, c.path)
				f := fault.As(err)
				if len(f.Message) > 600 || strings.ContainsRune(f.Message, 0) || !utf8.ValidString(f.Message) {
					t.Fatalf("the message is %q", f.Message)
				}
			})
		}
		if after := must(e.svc.CountAgents(t.Context(), e.mine.id, catalog.Filter{IncludeArchived: true}))(t); after != before {
			t.Fatalf("%d agents were made", after-before)
		}
	})
}

func TestTheLargestAgentFits(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.agent(catalog.NewAgent{
			Name: strings.Repeat("a", 100), SystemPrompt: strings.Repeat("x", 256<<10), Description: new(strings.Repeat("ß", 2000)), MaxIterations: new(1000),
		})
	})
}

func TestBadProvidersAndModelsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		provider := must(e.svc.Model(ctx, e.mine.id, e.mine.model))(t).ProviderID
		foreign := must(e.svc.Model(ctx, e.theirs.id, e.theirs.model))(t).ProviderID
		for name, c := range map[string]struct {
			in   catalog.NewProvider
			path string
		}{
			"kind":     {catalog.NewProvider{Name: "p", Kind: "MAGIC"}, "input.kind"},
			"name":     {catalog.NewProvider{Name: ""}, "input.name"},
			"relative": {catalog.NewProvider{Name: "p", BaseURL: new("example.com/v1")}, "input.baseUrl"},
			"scheme":   {catalog.NewProvider{Name: "p", BaseURL: new("ftp://example.com")}, "input.baseUrl"},
			"host":     {catalog.NewProvider{Name: "p", BaseURL: new("https:///v1")}, "input.baseUrl"},
			"user":     {catalog.NewProvider{Name: "p", BaseURL: new("https://me:key@example.com")}, "input.baseUrl"},
			"query":    {catalog.NewProvider{Name: "p", BaseURL: new("https://example.com?key=x")}, "input.baseUrl"},
			"fragment": {catalog.NewProvider{Name: "p", BaseURL: new("https://example.com#x")}, "input.baseUrl"},
			"NUL":      {catalog.NewProvider{Name: "p", BaseURL: new("https://example.com/\x00")}, "input.baseUrl"},
			"key":      {catalog.NewProvider{Name: "p", APIKey: new("two words")}, "input.apiKey"},
			"no key":   {catalog.NewProvider{Name: "p", APIKey: new("")}, "input.apiKey"},
		} {
			if c.in.Kind == "" {
				c.in.Kind = models.ProviderSimulated
			}
			_, err := e.svc.CreateProvider(ctx, e.mine.admin, c.in)
			t.Run("provider "+name, func(t *testing.T) { wantFault(t, err, fault.Invalid, c.path) })
		}
		_, err := e.svc.CreateProvider(ctx, e.mine.admin, catalog.NewProvider{Name: "Simulated", Kind: models.ProviderSimulated})
		wantFault(t, err, fault.Taken, "input.name")
		for name, c := range map[string]struct {
			in   catalog.NewModel
			code fault.Code
			path string
		}{
			"unknown name":     {catalog.NewModel{ProviderID: provider, Name: "gpt"}, fault.Invalid, "input.name"},
			"foreign provider": {catalog.NewModel{ProviderID: foreign, Name: "sim-echo"}, fault.NotFound, "input.providerId"},
			"negative price":   {catalog.NewModel{ProviderID: provider, Name: "sim-lorem:5", Prices: catalog.Give(&catalog.Prices{Input: -1})}, fault.Invalid, "input.price"},
			"no context":       {catalog.NewModel{ProviderID: provider, Name: "sim-lorem:5", ContextWindowTokens: catalog.Give(new(0))}, fault.Invalid, "input.contextWindowTokens"},
		} {
			_, err := e.svc.CreateModel(ctx, e.mine.admin, c.in)
			t.Run("model "+name, func(t *testing.T) { wantFault(t, err, c.code, c.path) })
		}
	})
}

// Whatever one does with an id of another organization, the answer is the one for an id that doesn't exist.
func TestForeignIDsLookUnknown(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		theirAgent := must(e.svc.CreateAgent(ctx, e.theirs.admin, catalog.NewAgent{Name: "a"}))(t)
		theirHarness := must(e.svc.CreateHarness(ctx, e.theirs.admin, catalog.NewHarness{Name: "h"}))(t)
		theirModel := must(e.svc.Model(ctx, e.theirs.id, e.theirs.model))(t)
		attempt := func(h models.HarnessID, a models.AgentID, m models.ModelID, p models.ProviderID) map[string]error {
			errs := map[string]error{}
			_, errs["harness"] = e.svc.Harness(ctx, e.mine.id, h)
			_, errs["agent"] = e.svc.Agent(ctx, e.mine.id, a)
			_, errs["model"] = e.svc.Model(ctx, e.mine.id, m)
			_, errs["provider"] = e.svc.Provider(ctx, e.mine.id, p)
			_, errs["update harness"] = e.svc.UpdateHarness(ctx, e.mine.admin, h, catalog.HarnessChange{})
			_, errs["update agent"] = e.svc.UpdateAgent(ctx, e.mine.admin, a, catalog.AgentChange{})
			_, errs["update model"] = e.svc.UpdateModel(ctx, e.mine.admin, m, catalog.ModelChange{})
			_, errs["update provider"] = e.svc.UpdateProvider(ctx, e.mine.admin, p, catalog.ProviderChange{})
			_, errs["archive harness"] = e.svc.ArchiveHarness(ctx, e.mine.admin, h)
			_, errs["archive agent"] = e.svc.ArchiveAgent(ctx, e.mine.admin, a)
			_, errs["archive provider"] = e.svc.ArchiveProvider(ctx, e.mine.admin, p)
			_, errs["unarchive harness"] = e.svc.UnarchiveHarness(ctx, e.mine.admin, h)
			_, errs["unarchive agent"] = e.svc.UnarchiveAgent(ctx, e.mine.admin, a)
			_, errs["parent"] = e.svc.CreateHarness(ctx, e.mine.admin, catalog.NewHarness{Name: "x", ParentID: &h})
			_, errs["preview"] = e.svc.Preview(ctx, e.mine.id, catalog.Draft{HarnessID: &h})
			_, errs["session harness"] = e.svc.CheckSession(ctx, e.mine.member, catalog.Choice{HarnessID: &h})
			_, errs["session agent"] = e.svc.CheckSession(ctx, e.mine.member, catalog.Choice{AgentID: &a})
			_, errs["session model"] = e.svc.CheckSession(ctx, e.mine.member, catalog.Choice{ModelID: &m})
			return errs
		}
		h, a := models.NewID[models.HarnessEntity](), models.NewID[models.AgentEntity]()
		m, p := models.NewID[models.ModelEntity](), models.NewID[models.ProviderEntity]()
		same := strings.NewReplacer(h.String(), "H", theirHarness.ID.String(), "H", a.String(), "A", theirAgent.ID.String(), "A",
			m.String(), "M", theirModel.ID.String(), "M", p.String(), "P", theirModel.ProviderID.String(), "P")
		foreign := attempt(theirHarness.ID, theirAgent.ID, theirModel.ID, theirModel.ProviderID)
		for name, err := range attempt(h, a, m, p) {
			u, f := fault.As(err), fault.As(foreign[name])
			if u == nil || f == nil || u.Code != fault.NotFound || f.Code != fault.NotFound ||
				same.Replace(u.Message) != same.Replace(f.Message) || strings.Join(u.Path, ".") != strings.Join(f.Path, ".") {
				t.Errorf("%s: an unknown id gives %v, a foreign one %v", name, err, foreign[name])
			}
		}
		if got := must(e.svc.Agent(ctx, e.theirs.id, theirAgent.ID))(t); got.Revision != 1 {
			t.Errorf("their agent became %+v", got)
		}
	})
}
