package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// lorem makes n models under a provider of their own.
func (e *env) lorem(provider string, n int) (*models.Provider, []models.ModelID) {
	e.t.Helper()
	p := must(e.svc.CreateProvider(e.t.Context(), e.mine.admin, catalog.NewProvider{Name: provider, Kind: models.ProviderSimulated}))(e.t)
	ids := make([]models.ModelID, n)
	for i := range ids {
		ids[i] = must(e.svc.CreateModel(e.t.Context(), e.mine.admin, catalog.NewModel{ProviderID: p.ID, Name: fmt.Sprint("sim-lorem:", i+1)}))(e.t).ID
	}
	return p, ids
}

func names(list []*catalog.RunModel) string {
	out := make([]string, 0, len(list))
	for _, m := range list {
		out = append(out, strings.TrimPrefix(m.Model.Name, "sim-lorem:"))
	}
	return strings.Join(out, " ")
}

func TestBadFallbackModelsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		_, ids := e.lorem("p", 6)
		gone, old := e.lorem("archived", 1)
		must(e.svc.ArchiveProvider(ctx, e.mine.admin, gone.ID))(t)
		must(e.svc.UpdateModel(ctx, e.mine.admin, ids[5], catalog.ModelChange{Enabled: catalog.Give(new(false))}))(t)
		a, h := e.agent(catalog.NewAgent{Name: "a"}), e.harness(catalog.NewHarness{Name: "h"})
		for name, c := range map[string]struct {
			list []models.ModelID
			code fault.Code
			path string
		}{
			"six":                     {ids, fault.Invalid, "input.fallbackModelIds"},
			"twice":                   {[]models.ModelID{ids[0], ids[1], ids[0]}, fault.Invalid, "input.fallbackModelIds.2"},
			"unknown":                 {[]models.ModelID{ids[0], models.NewID[models.ModelEntity]()}, fault.NotFound, "input.fallbackModelIds.1"},
			"another organization's":  {[]models.ModelID{e.theirs.model, ids[0]}, fault.NotFound, "input.fallbackModelIds.0"},
			"disabled":                {[]models.ModelID{ids[0], ids[5]}, fault.Dependency, "input.fallbackModelIds.1"},
			"of an archived provider": {old, fault.Dependency, "input.fallbackModelIds.0"},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := e.svc.CreateAgent(ctx, e.mine.admin, catalog.NewAgent{Name: "x", FallbackModelIDs: c.list})
				wantFault(t, err, c.code, c.path)
				_, err = e.svc.CreateHarness(ctx, e.mine.admin, catalog.NewHarness{Name: "x", FallbackModelIDs: c.list})
				wantFault(t, err, c.code, c.path)
				_, err = e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{FallbackModelIDs: catalog.Give(c.list)})
				wantFault(t, err, c.code, c.path)
				_, err = e.svc.UpdateHarness(ctx, e.mine.admin, h.ID, catalog.HarnessChange{FallbackModelIDs: catalog.Give(c.list)})
				wantFault(t, err, c.code, c.path)
			})
		}
		// What was good once is left alone, though it isn't usable any more.
		list := []models.ModelID{ids[1], ids[0]}
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{FallbackModelIDs: catalog.Give(list)}))(t)
		must(e.svc.UpdateModel(ctx, e.mine.admin, ids[0], catalog.ModelChange{Enabled: catalog.Give(new(false))}))(t)
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{FallbackModelIDs: catalog.Give([]models.ModelID{ids[0], ids[1], ids[2]})}))(t)
		got := must(e.svc.Agent(ctx, e.mine.id, a.ID))(t)
		if fmt.Sprint(got.FallbackModelIDs) != fmt.Sprint([]models.ModelID{ids[0], ids[1], ids[2]}) || got.Revision != 3 {
			t.Errorf("stored %+v", got)
		}
		same := must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{FallbackModelIDs: catalog.Give([]models.ModelID(got.FallbackModelIDs))}))(t)
		none := must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{FallbackModelIDs: catalog.Give[[]models.ModelID](nil)}))(t)
		if same.Revision != 3 || none.Revision != 4 || len(none.FallbackModelIDs) != 0 {
			t.Errorf("got %+v and %+v", same, none)
		}
	})
}

func TestFallbackModelsOfATurn(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		p, ids := e.lorem("p", 4)
		root := e.harness(catalog.NewHarness{Name: "root", FallbackModelIDs: []models.ModelID{ids[3], ids[0]}})
		leaf := e.harness(catalog.NewHarness{Name: "leaf", ParentID: &root.ID})
		own := e.agent(catalog.NewAgent{Name: "own", FallbackModelIDs: []models.ModelID{ids[2], ids[1], ids[0]}, DefaultModelID: &ids[1]})
		none := e.agent(catalog.NewAgent{Name: "none"})
		want := func(what string, run catalog.Run, want string) [32]byte {
			t.Helper()
			eff := must(e.svc.EffectiveForSession(ctx, e.mine.id, run))(t)
			if got := names(eff.Fallbacks); got != want {
				t.Errorf("%s: the fallback models are %q, want %q", what, got, want)
			}
			for _, m := range eff.Fallbacks {
				if m.Provider.ID != p.ID || m.Model.OrgID != e.mine.id {
					t.Errorf("%s: got %+v", what, m)
				}
			}
			return eff.Hash
		}
		inherited := catalog.Run{HarnessID: leaf.ID, AgentID: &none.ID}
		before := want("the harness's", inherited, "4 1")
		want("the agent's, without the chosen one", catalog.Run{HarnessID: leaf.ID, AgentID: &own.ID}, "3 1")
		want("another model for the session", catalog.Run{HarnessID: leaf.ID, AgentID: &own.ID, SessionModelID: &ids[2]}, "2 1")
		want("none", catalog.Run{HarnessID: e.mine.generic}, "")

		must(e.svc.UpdateModel(ctx, e.mine.admin, ids[3], catalog.ModelChange{Enabled: catalog.Give(new(false))}))(t)
		after := want("without the disabled one", inherited, "1")
		must(e.svc.UpdateModel(ctx, e.mine.admin, ids[3], catalog.ModelChange{Enabled: catalog.Give(new(true))}))(t)
		if again := want("with it again", inherited, "4 1"); before == after || again != before {
			t.Error("the hash does not tell what the turn can run with")
		}
		eff := must(e.svc.Preview(ctx, e.mine.id, catalog.Draft{HarnessID: &leaf.ID, Agent: &catalog.NewAgent{FallbackModelIDs: []models.ModelID{ids[1]}}}))(t)
		if names(eff.Fallbacks) != "2" {
			t.Errorf("a draft falls back to %s", names(eff.Fallbacks))
		}
		eff = must(e.svc.Preview(ctx, e.mine.id, catalog.Draft{Agent: &catalog.NewAgent{FallbackModelIDs: []models.ModelID{e.theirs.model}}}))(t)
		if len(eff.Fallbacks) != 0 {
			t.Errorf("a draft falls back to a model of others: %s", names(eff.Fallbacks))
		}
		must(e.svc.ArchiveProvider(ctx, e.mine.admin, p.ID))(t)
		want("of an archived provider", inherited, "")
		if got := must(e.svc.Harness(ctx, e.mine.id, root.ID))(t); len(got.FallbackModelIDs) != 2 || got.Revision != 1 {
			t.Errorf("the harness became %+v", got)
		}
	})
}

// With fallback models a cold call takes one statement more, a hot one still none; what happens to them is noticed.
func TestFallbackModelsAreRemembered(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		p, ids := e.lorem("p", 2)
		h := e.harness(catalog.NewHarness{Name: "h", FallbackModelIDs: ids})
		other := e.service(registry(t))
		n := e.statements()
		step := func(what string, statements int64, want string) {
			t.Helper()
			n.Store(0)
			eff := must(e.svc.EffectiveForSession(ctx, e.mine.id, catalog.Run{HarnessID: h.ID}))(t)
			if n.Load() != statements || names(eff.Fallbacks) != want {
				t.Errorf("%s: %d statements, want %d; falls back to %q, want %q", what, n.Load(), statements, names(eff.Fallbacks), want)
			}
		}
		enable := func(on bool) {
			must(other.UpdateModel(ctx, e.mine.admin, ids[0], catalog.ModelChange{Enabled: catalog.Give(&on)}))(t)
			e.clock.Advance(catalog.Staleness)
		}
		step("cold", 3, "1 2")
		step("hot", 0, "1 2")
		e.clock.Advance(catalog.Staleness)
		step("after a second", 1, "1 2")
		enable(false)
		step("one is disabled", 4, "2")
		e.clock.Advance(catalog.Staleness)
		step("nothing more", 1, "2")
		enable(true)
		step("it is enabled again", 4, "1 2")
		must(other.UpdateProvider(ctx, e.mine.admin, p.ID, catalog.ProviderChange{Name: catalog.Give(new("q"))}))(t)
		e.clock.Advance(catalog.Staleness)
		step("the provider is renamed", 4, "1 2")
		must(other.ArchiveProvider(ctx, e.mine.admin, p.ID))(t)
		e.clock.Advance(catalog.Staleness)
		step("the provider is archived", 4, "")
		step("and remembered", 0, "")
	})
}
