package catalog_test

import (
	"context"
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const environmentKey = "sk-of-the-server"

// network stands for the servers of providers: it notes who was asked with which key.
type network struct {
	asked []llm.Endpoint
	list  []llm.ModelInfo
	err   error
	onAsk func()
}

func (n *network) Models(_ context.Context, at llm.Endpoint) ([]llm.ModelInfo, error) {
	n.asked = append(n.asked, at)
	if n.onAsk != nil {
		n.onAsk()
	}
	return n.list, n.err
}

// CheckURL refuses what lies inside.
func (n *network) CheckURL(u *url.URL) error {
	if strings.HasSuffix(u.Hostname(), ".internal") {
		return errors.New("the address is not a public one")
	}
	return nil
}

// online connects the service to a network, and keys of the server's own, which the first organization may use.
func (e *env) online() *network {
	e.t.Helper()
	n := &network{list: []llm.ModelInfo{{Name: "m"}}}
	listers := map[models.ProviderKind]llm.Lister{}
	for _, kind := range []models.ProviderKind{models.ProviderAnthropic, models.ProviderOpenAI, models.ProviderOpenAICompatible} {
		listers[kind] = n
	}
	svc, err := catalog.New(catalog.Config{
		DB: e.db, Registry: registry(e.t), Keeper: e.keeper, Clock: e.clock, URLs: n, Listers: listers,
		Limits: limits.New(limits.Config{DB: e.db, Clock: e.clock}),
		Environment: map[models.ProviderKind]llm.Endpoint{
			models.ProviderAnthropic: {APIKey: environmentKey},
			models.ProviderOpenAI:    {BaseURL: "https://gateway.example.com"},
		},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.svc = svc
	e.write(func(tx *gorm.DB) error {
		return tx.Create(&models.OrgLoad{OrgID: e.mine.id, Weight: 1, EnvironmentKeys: new(int64(1)), LimitsChangedAt: 1}).Error
	})
	return n
}

func (e *env) provider(in catalog.NewProvider) *models.Provider {
	e.t.Helper()
	return must(e.svc.CreateProvider(e.t.Context(), e.mine.admin, in))(e.t)
}

func TestProvidersOfAllKinds(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.online()
		ctx := t.Context()
		for _, kind := range []models.ProviderKind{models.ProviderAnthropic, models.ProviderOpenAI, models.ProviderGemini, models.ProviderSimulated} {
			if p := e.provider(catalog.NewProvider{Name: string(kind), Kind: kind}); p.BaseURL != nil {
				t.Errorf("made %+v", p)
			}
		}
		_, err := e.svc.CreateProvider(ctx, e.mine.admin, catalog.NewProvider{Name: "x", Kind: "OTHER"})
		wantFault(t, err, fault.Invalid, "input.kind")
		_, err = e.svc.CreateProvider(ctx, e.mine.admin, catalog.NewProvider{Name: "x", Kind: models.ProviderOpenAICompatible})
		wantFault(t, err, fault.Invalid, "input.baseUrl")
		p := e.provider(catalog.NewProvider{Name: "x", Kind: models.ProviderOpenAICompatible, BaseURL: new("https://llm.example.com/v1")})
		_, err = e.svc.UpdateProvider(ctx, e.mine.admin, p.ID, catalog.ProviderChange{BaseURL: catalog.Give[*string](nil)})
		wantFault(t, err, fault.Invalid, "input.baseUrl")
		for _, attempt := range []error{
			func() error {
				_, err := e.svc.CreateProvider(ctx, e.mine.admin, catalog.NewProvider{Name: "y", Kind: models.ProviderOpenAI, BaseURL: new("http://metadata.internal")})
				return err
			}(),
			func() error {
				_, err := e.svc.UpdateProvider(ctx, e.mine.admin, p.ID, catalog.ProviderChange{BaseURL: catalog.Give(new("http://metadata.internal"))})
				return err
			}(),
		} {
			wantFault(t, attempt, fault.Invalid, "input.baseUrl")
			if !strings.Contains(attempt.Error(), "not a public one") {
				t.Errorf("the refusal doesn't say why: %v", attempt)
			}
		}
	})
}

// A stored key must not get to a server that it was not given for, however the address is changed.
func TestAStoredKeyStaysWithItsServer(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.online()
		ctx := t.Context()
		p := e.provider(catalog.NewProvider{Name: "p", Kind: models.ProviderOpenAI, BaseURL: new("https://a.example.com/v1"), APIKey: new("k1")})
		update := func(c catalog.ProviderChange) error {
			_, err := e.svc.UpdateProvider(ctx, e.mine.admin, p.ID, c)
			return err
		}
		for _, base := range []*string{
			new("https://b.example.com/v1"), new("http://a.example.com/v1"), new("https://a.example.com:8443/v1"), new("https://a.example.com.evil.com/v1"), nil, new(""),
			// At gateways the path tells whose account is meant.
			new("https://a.example.com/evil/v1"), new("https://a.example.com/v1/evil"), new("https://a.example.com/V1"), new("https://a.example.com"),
		} {
			wantFault(t, update(catalog.ProviderChange{BaseURL: catalog.Give(base)}), fault.Invalid, "input.apiKey")
		}
		if stored := must(e.svc.Provider(ctx, e.mine.id, p.ID))(t); *stored.BaseURL != "https://a.example.com/v1" {
			t.Fatalf("the address became %s", *stored.BaseURL)
		}
		for _, c := range []catalog.ProviderChange{
			{BaseURL: catalog.Give(new("https://A.example.com:443/v1/"))},
			{BaseURL: catalog.Give(new("https://b.example.com")), APIKey: catalog.Give(new("k2"))},
			{BaseURL: catalog.Give(new("https://c.example.com")), APIKey: catalog.Give[*string](nil)},
			// Without a key there is nothing to keep.
			{BaseURL: catalog.Give(new("https://d.example.com"))},
			{BaseURL: catalog.Give[*string](nil), APIKey: catalog.Give(new("k3"))},
		} {
			if err := update(c); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
		wantFault(t, update(catalog.ProviderChange{BaseURL: catalog.Give(new("https://d.example.com"))}), fault.Invalid, "input.apiKey")
	})
}

func TestWhetherAProviderHasCredentials(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.online()
		for _, c := range []struct {
			in   catalog.NewProvider
			want bool
		}{
			{catalog.NewProvider{Name: "a", Kind: models.ProviderAnthropic}, true},
			{catalog.NewProvider{Name: "b", Kind: models.ProviderAnthropic, BaseURL: new("https://x.example.com")}, false},
			{catalog.NewProvider{Name: "c", Kind: models.ProviderAnthropic, BaseURL: new("https://x.example.com"), APIKey: new("k")}, true},
			{catalog.NewProvider{Name: "d", Kind: models.ProviderOpenAI}, false},
			{catalog.NewProvider{Name: "e", Kind: models.ProviderSimulated}, false},
		} {
			p := e.provider(c.in)
			at := must(e.svc.Endpoint(t.Context(), p))(t)
			if got := e.svc.HasCredentials(t.Context(), p); got != c.want || got != (at.APIKey != "") {
				t.Errorf("%s: hasCredentials %v, asked with %+v", c.in.Name, got, at)
			}
		}
	})
}

// The server's key serves the organizations that an operator has allowed it to: no other one gets it, by a turn or by a test of a provider.
func TestTheServersKeyIsForThoseWhoMayUseIt(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		n := e.online()
		ctx := t.Context()
		anthropic := models.ProviderAnthropic
		p := must(e.svc.CreateProvider(ctx, e.theirs.admin, catalog.NewProvider{Name: "a", Kind: anthropic}))(t)
		check := func(when string, want string) {
			t.Helper()
			if at := must(e.svc.Endpoint(ctx, p))(t); at.APIKey != want {
				t.Errorf("%s: asked with %q, want %q", when, at.APIKey, want)
			}
			if got := e.svc.HasCredentials(ctx, p); got != (want != "") {
				t.Errorf("%s: hasCredentials is %v", when, got)
			}
			n.asked = nil
			tests := 0
			if want != "" {
				tests = 3
			}
			for _, in := range []catalog.ProviderTest{{ID: &p.ID}, {Kind: &anthropic}} {
				if probe := must(e.svc.TestProvider(ctx, e.theirs.admin, in))(t); (probe.Failure == nil) != (want != "") {
					t.Errorf("%s: the test ends with %v", when, probe.Failure)
				}
			}
			if _, err := e.svc.Discover(ctx, e.theirs.admin, p.ID); want != "" && err != nil || want == "" && !fault.Is(err, fault.Dependency) {
				t.Errorf("%s: the discovery ends with %v", when, err)
			}
			for _, at := range n.asked {
				if at.APIKey != want {
					t.Errorf("%s: a test asked with %q, want %q", when, at.APIKey, want)
				}
			}
			if len(n.asked) != tests {
				t.Errorf("%s: the provider was asked %d times, want %d", when, len(n.asked), tests)
			}
		}
		check("before", "")
		allow := func(value *int64, at models.Millis) {
			e.write(func(tx *gorm.DB) error {
				if err := store.Of(tx, e.theirs.id).Delete(&models.OrgLoad{}).Error; err != nil {
					return err
				}
				return tx.Create(&models.OrgLoad{OrgID: e.theirs.id, Weight: 1, EnvironmentKeys: value, LimitsChangedAt: at}).Error
			})
			e.clock.Advance(2 * time.Second)
		}
		allow(new(int64(1)), 2)
		check("allowed", environmentKey)
		allow(nil, 3)
		check("taken away", "")
	})
}

func TestTestProviderAsksTheRightServerWithTheRightKey(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		n := e.online()
		stored := e.provider(catalog.NewProvider{Name: "s", Kind: models.ProviderOpenAI, BaseURL: new("https://a.example.com/v1/"), APIKey: new("stored")}).ID
		keyless := e.provider(catalog.NewProvider{Name: "k", Kind: models.ProviderOpenAICompatible, BaseURL: new("https://l.example.com")}).ID
		ours := e.provider(catalog.NewProvider{Name: "o", Kind: models.ProviderAnthropic}).ID
		theirs := must(e.svc.CreateProvider(t.Context(), e.theirs.admin, catalog.NewProvider{Name: "t", Kind: models.ProviderOpenAI, APIKey: new("theirs")}))(t).ID
		openAI, anthropic, compatible, gemini := models.ProviderOpenAI, models.ProviderAnthropic, models.ProviderOpenAICompatible, models.ProviderGemini
		other := models.ProviderKind("OTHER")
		for name, c := range map[string]struct {
			in   catalog.ProviderTest
			want llm.Endpoint
			// path is what is to blame, when the provider is not asked at all.
			code fault.Code
			path string
		}{
			"stored":                       {in: catalog.ProviderTest{ID: &stored}, want: llm.Endpoint{BaseURL: "https://a.example.com/v1", APIKey: "stored"}},
			"stored, empty address":        {in: catalog.ProviderTest{ID: &stored, BaseURL: new("")}, want: llm.Endpoint{BaseURL: "https://a.example.com/v1", APIKey: "stored"}},
			"stored, the same address":     {in: catalog.ProviderTest{ID: &stored, BaseURL: new("https://a.example.com/v1/")}, want: llm.Endpoint{BaseURL: "https://a.example.com/v1", APIKey: "stored"}},
			"stored, another key":          {in: catalog.ProviderTest{ID: &stored, APIKey: new("new")}, want: llm.Endpoint{BaseURL: "https://a.example.com/v1", APIKey: "new"}},
			"stored, another address, key": {in: catalog.ProviderTest{ID: &stored, BaseURL: new("https://b.example.com"), APIKey: new("new")}, want: llm.Endpoint{BaseURL: "https://b.example.com", APIKey: "new"}},
			"stored, another address":      {in: catalog.ProviderTest{ID: &stored, BaseURL: new("https://b.example.com")}, code: fault.Invalid, path: "input.apiKey"},
			"stored, another path":         {in: catalog.ProviderTest{ID: &stored, BaseURL: new("https://a.example.com/v2")}, code: fault.Invalid, path: "input.apiKey"},
			"keyless":                      {in: catalog.ProviderTest{ID: &keyless}, want: llm.Endpoint{BaseURL: "https://l.example.com"}},
			"keyless, another address":     {in: catalog.ProviderTest{ID: &keyless, BaseURL: new("https://m.example.com")}, want: llm.Endpoint{BaseURL: "https://m.example.com"}},
			"the server's key":             {in: catalog.ProviderTest{ID: &ours}, want: llm.Endpoint{APIKey: environmentKey}},
			"the server's key, moved":      {in: catalog.ProviderTest{ID: &ours, BaseURL: new("https://evil.example.com")}},
			"new":                          {in: catalog.ProviderTest{Kind: &compatible, BaseURL: new("https://n.example.com/v1"), APIKey: new("n")}, want: llm.Endpoint{BaseURL: "https://n.example.com/v1", APIKey: "n"}},
			"new, the server's key":        {in: catalog.ProviderTest{Kind: &anthropic}, want: llm.Endpoint{APIKey: environmentKey}},
			"new, elsewhere":               {in: catalog.ProviderTest{Kind: &anthropic, BaseURL: new("https://evil.example.com")}},
			"new, the server's address":    {in: catalog.ProviderTest{Kind: &openAI, APIKey: new("n")}, want: llm.Endpoint{BaseURL: "https://gateway.example.com", APIKey: "n"}},
			"new, inside":                  {in: catalog.ProviderTest{Kind: &openAI, BaseURL: new("http://db.internal")}, code: fault.Invalid, path: "input.baseUrl"},
			"stored, inside":               {in: catalog.ProviderTest{ID: &stored, BaseURL: new("http://db.internal"), APIKey: new("n")}, code: fault.Invalid, path: "input.baseUrl"},
			"no address":                   {in: catalog.ProviderTest{Kind: &compatible}, code: fault.Invalid, path: "input.baseUrl"},
			"bad address":                  {in: catalog.ProviderTest{ID: &stored, BaseURL: new("nowhere")}, code: fault.Invalid, path: "input.baseUrl"},
			"bad key":                      {in: catalog.ProviderTest{ID: &stored, APIKey: new("a b")}, code: fault.Invalid, path: "input.apiKey"},
			"nothing":                      {code: fault.Invalid, path: "input"},
			"id and kind":                  {in: catalog.ProviderTest{ID: &stored, Kind: &openAI}, code: fault.Invalid, path: "input"},
			"unknown kind":                 {in: catalog.ProviderTest{Kind: &other}, code: fault.Invalid, path: "input.kind"},
			"a kind without a driver":      {in: catalog.ProviderTest{Kind: &gemini}, code: fault.Invalid, path: "input.kind"},
			"of others":                    {in: catalog.ProviderTest{ID: &theirs}, code: fault.NotFound, path: "input.id"},
			"of nobody":                    {in: catalog.ProviderTest{ID: new(models.NewID[models.ProviderEntity]())}, code: fault.NotFound, path: "input.id"},
		} {
			n.asked = nil
			e.clock.Advance(time.Minute)
			probe, err := e.svc.TestProvider(t.Context(), e.mine.admin, c.in)
			if c.path != "" {
				wantFault(t, err, c.code, c.path)
				if len(n.asked) != 0 {
					t.Errorf("%s: %+v was asked", name, n.asked)
				}
				continue
			}
			if c.want == (llm.Endpoint{}) { // it would be asked without a key that it needs
				if err != nil || probe.Failure == nil || probe.Failure.Code != llm.CodeMisconfigured || len(n.asked) != 0 {
					t.Errorf("%s: asked %+v: %+v, %v", name, n.asked, probe, err)
				}
				continue
			}
			if err != nil || probe.Failure != nil || len(probe.Models) != 1 || !reflect.DeepEqual(n.asked, []llm.Endpoint{c.want}) {
				t.Errorf("%s: asked %+v, want %+v; %+v, %v", name, n.asked, c.want, probe, err)
			}
		}
	})
}

func TestTestProviderTellsWhatFailed(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		n := e.online()
		p := e.provider(catalog.NewProvider{Name: "s", Kind: models.ProviderOpenAI, APIKey: new("stored")})
		before := must(e.svc.Provider(t.Context(), e.mine.id, p.ID))(t)
		n.err, n.onAsk = &llm.Error{Code: llm.CodeMisconfigured, Message: "Check the key."}, func() { e.clock.Advance(250 * time.Millisecond) }
		probe, err := e.svc.TestProvider(t.Context(), e.mine.admin, catalog.ProviderTest{ID: &p.ID})
		if err != nil || probe.Failure == nil || probe.Failure.Code != llm.CodeMisconfigured || probe.Took != 250*time.Millisecond {
			t.Errorf("%+v, %v", probe, err)
		}
		_, err = e.svc.Discover(t.Context(), e.mine.admin, p.ID)
		wantFault(t, err, fault.Dependency, "providerId")
		n.err = &llm.Error{Code: llm.CodeRateLimited, Message: "Later.", RetryAfter: 1500 * time.Millisecond}
		_, err = e.svc.Discover(t.Context(), e.mine.admin, p.ID)
		wantFault(t, err, fault.RateLimited, "providerId")
		if fault.As(err).RetryAfterSeconds != 2 {
			t.Errorf("%+v", fault.As(err))
		}
		n.err = errors.New("a defect")
		if _, err = e.svc.TestProvider(t.Context(), e.mine.admin, catalog.ProviderTest{ID: &p.ID}); err == nil || fault.As(err) != nil {
			t.Errorf("a defect is told as %v", err)
		}
		if after := must(e.svc.Provider(t.Context(), e.mine.id, p.ID))(t); !reflect.DeepEqual(before, after) {
			t.Errorf("stored %+v, was %+v", after, before)
		}
		// However well it goes, nobody may ask without end.
		n.err = nil
		for i := 0; ; i++ {
			_, err := e.svc.TestProvider(t.Context(), e.mine.admin, catalog.ProviderTest{ID: &p.ID})
			if err == nil && i < 100 {
				continue
			}
			wantFault(t, err, fault.RateLimited, "")
			break
		}
	})
}

func TestDiscoverAddsWhatIsKnown(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		n := e.online()
		p := e.provider(catalog.NewProvider{Name: "s", Kind: models.ProviderOpenAI, APIKey: new("stored")})
		n.list = []llm.ModelInfo{
			{Name: "gpt-5-2025-08-07"}, {Name: "other", DisplayName: "Other", ContextWindowTokens: 5, MaxOutputTokens: -1}, {Name: "other"}, {Name: ""},
			{Name: "bad\x00name"}, {Name: strings.Repeat("x", 500)}, {Name: "gpt-4o", DisplayName: "line\nbreak", ContextWindowTokens: 7, MaxOutputTokens: 1 << 40},
		}
		list := must(e.svc.Discover(t.Context(), e.mine.admin, p.ID))(t)
		if len(list) != 3 {
			t.Fatalf("found %+v", list)
		}
		if m := list[0]; m.Name != "gpt-5-2025-08-07" || m.DisplayName != "GPT-5" || *m.ContextWindowTokens != 400_000 || m.Prices.Input != 1_250_000_000 || m.Prices.CacheWrite != nil {
			t.Errorf("found %+v", m)
		}
		if m := list[1]; m.Name != "other" || m.DisplayName != "Other" || *m.ContextWindowTokens != 5 || m.MaxOutputTokens != nil || m.Prices != nil {
			t.Errorf("found %+v", m)
		}
		// The provider knows its limits better than the table does.
		if m := list[2]; m.DisplayName != "GPT-4o" || *m.ContextWindowTokens != 7 || *m.MaxOutputTokens != 16384 {
			t.Errorf("found %+v", m)
		}
		n.list = make([]llm.ModelInfo, 0, 1100)
		for i := range 1100 {
			n.list = append(n.list, llm.ModelInfo{Name: "m" + strings.Repeat("x", i%150) + string(rune('a'+i/150))})
		}
		if list = must(e.svc.Discover(t.Context(), e.mine.admin, p.ID))(t); len(list) != 1000 {
			t.Errorf("found %d", len(list))
		}
		_, err := e.svc.Discover(t.Context(), e.theirs.admin, p.ID)
		wantFault(t, err, fault.NotFound, "providerId")

		made := must(e.svc.CreateModel(t.Context(), e.mine.admin, catalog.NewModel{ProviderID: p.ID, Name: "gpt-4o"}))(t)
		names := []catalog.ModelName{{ProviderID: p.ID, Name: "gpt-4o"}, {ProviderID: p.ID, Name: "other"}}
		if rows := must(e.svc.ModelsByName(t.Context(), e.mine.id, names))(t); len(rows) != 1 || rows[0].ID != made.ID {
			t.Errorf("added: %+v", rows)
		}
		if rows := must(e.svc.ModelsByName(t.Context(), e.theirs.id, names))(t); len(rows) != 0 {
			t.Errorf("others see %+v", rows)
		}
	})
}

func TestANewModelIsFilledFromTheTable(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.online()
		p := e.provider(catalog.NewProvider{Name: "s", Kind: models.ProviderAnthropic})
		m := must(e.svc.CreateModel(t.Context(), e.mine.admin, catalog.NewModel{ProviderID: p.ID, Name: "claude-sonnet-4-5-20250929"}))(t)
		if m.Name != "claude-sonnet-4-5-20250929" || m.DisplayName != "Claude Sonnet 4.5" || *m.ContextWindowTokens != 200_000 || *m.MaxOutputTokens != 64_000 ||
			*m.PriceInput != 3_000_000_000 || *m.PriceOutput != 15_000_000_000 || *m.PriceCacheRead != 300_000_000 || *m.PriceCacheWrite != 3_750_000_000 {
			t.Errorf("filled %+v", m)
		}
		m = must(e.svc.CreateModel(t.Context(), e.mine.admin, catalog.NewModel{
			ProviderID: p.ID, Name: "claude-sonnet-4-5", DisplayName: catalog.Give(new("Mine")), ContextWindowTokens: catalog.Give[*int](nil),
			MaxOutputTokens: catalog.Give(new(9)), Prices: catalog.Give[*catalog.Prices](nil),
		}))(t)
		if m.DisplayName != "Mine" || m.ContextWindowTokens != nil || *m.MaxOutputTokens != 9 || m.PriceInput != nil || m.PriceCacheRead != nil {
			t.Errorf("filled %+v over what was given", m)
		}
		m = must(e.svc.CreateModel(t.Context(), e.mine.admin, catalog.NewModel{
			ProviderID: p.ID, Name: "claude-haiku-4-5", Prices: catalog.Give(&catalog.Prices{Input: 1, Output: 2}),
		}))(t)
		if *m.PriceInput != 1 || m.PriceCacheRead != nil {
			t.Errorf("the given price was mixed with the known one: %+v", m)
		}
		m = must(e.svc.CreateModel(t.Context(), e.mine.admin, catalog.NewModel{ProviderID: p.ID, Name: "claude-of-tomorrow"}))(t)
		if m.DisplayName != "claude-of-tomorrow" || m.PriceInput != nil || m.ContextWindowTokens != nil {
			t.Errorf("invented %+v", m)
		}
	})
}
