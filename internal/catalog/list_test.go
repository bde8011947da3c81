package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestListsArePagedFilteredAndSearched(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		ids := make([]models.AgentID, 0, 8)
		for _, name := range []string{"Alpha", "alphabet", "Beta", "ALP-100", "al_x", "z.9"} {
			ids = append(ids, e.agent(catalog.NewAgent{Name: name}).ID)
		}
		must(e.svc.CreateAgent(ctx, e.theirs.admin, catalog.NewAgent{Name: "alpha-of-theirs"}))(t)
		must(e.svc.ArchiveAgent(ctx, e.mine.admin, ids[1]))(t)
		names := func(f catalog.Filter) string {
			t.Helper()
			var all []string
			var after *models.AgentID
			for {
				page := must(e.svc.ListAgents(ctx, e.mine.id, f, after, 2))(t)
				for _, a := range page {
					all = append(all, a.Name)
				}
				if len(page) < 2 {
					break
				}
				after = &page[1].ID
			}
			if n := must(e.svc.CountAgents(ctx, e.mine.id, f))(t); n != len(all) {
				t.Errorf("%+v: counted %d, listed %d", f, n, len(all))
			}
			return strings.Join(all, "|")
		}
		for f, want := range map[catalog.Filter]string{
			{}:                                       "z.9|al_x|ALP-100|Beta|Alpha|demo",
			{IncludeArchived: true}:                  "z.9|al_x|ALP-100|Beta|alphabet|Alpha|demo",
			{Search: "alp"}:                          "ALP-100|Alpha",
			{Search: "ALPHA", IncludeArchived: true}: "alphabet|Alpha",
			{Search: "al_"}:                          "al_x",
			{Search: "alp-100"}:                      "ALP-100",
			{Search: "%"}:                            "",
			{Search: "z."}:                           "z.9",
			{Search: "är"}:                           "",
			{Search: "\U0010FFFF"}:                   "",
			{Search: strings.Repeat("x", 5000)}:      "",
		} {
			if got := names(f); got != want {
				t.Errorf("%+v: got %q, want %q", f, got, want)
			}
		}
		for _, bad := range []string{"a\x00", "a\xff"} {
			_, err := e.svc.ListAgents(ctx, e.mine.id, catalog.Filter{Search: bad}, nil, 1)
			wantFault(t, err, fault.Invalid, "search")
		}
	})
}

func TestModelsOfArchivedProvidersAreListedOnlyWithTheirProvider(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		p := must(e.svc.CreateProvider(ctx, e.mine.admin, catalog.NewProvider{Name: "p", Kind: models.ProviderSimulated}))(t)
		must(e.svc.CreateModel(ctx, e.mine.admin, catalog.NewModel{ProviderID: p.ID, Name: "sim-echo"}))(t)
		list := func(of *models.ProviderID) []string {
			t.Helper()
			names := make([]string, 0, 6)
			for _, m := range must(e.svc.ListModels(ctx, e.mine.id, of, nil, 100))(t) {
				names = append(names, m.Name)
			}
			if n := must(e.svc.CountModels(ctx, e.mine.id, of))(t); n != len(names) {
				t.Errorf("counted %d, listed %d", n, len(names))
			}
			return names
		}
		if got := list(nil); len(got) != 6 || got[0] != "sim-echo" || got[1] != "sim-default" {
			t.Errorf("all models: %v", got)
		}
		must(e.svc.ArchiveProvider(ctx, e.mine.admin, p.ID))(t)
		if got := list(nil); len(got) != 5 || got[0] != "sim-default" {
			t.Errorf("without those of the archived provider: %v", got)
		}
		if got := list(&p.ID); !slices.Equal(got, []string{"sim-echo"}) {
			t.Errorf("of the archived provider: %v", got)
		}
		if got := must(e.svc.ListProviders(ctx, e.mine.id, nil, 10))(t); len(got) != 1 || got[0].Name != "Simulated" {
			t.Errorf("the providers are %v", got)
		}
	})
}

func TestTheDemoAgent(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		demo := must(e.svc.ListAgents(ctx, e.mine.id, catalog.Filter{}, nil, 10))(t)[0]
		// It needs neither a provider nor the organization's default model.
		e.writeOwn(func(tx *gorm.DB) error {
			return tx.Model(&models.Org{}).Where("id = ?", e.mine.id).Update("default_model_id", nil).Error
		})
		eff := must(e.svc.EffectiveForSession(ctx, e.mine.id, catalog.Run{HarnessID: *demo.HarnessID, AgentID: &demo.ID}))(t)
		if demo.Name != "demo" || eff.Model.Model.Name != "sim-default" || !strings.Contains(eff.SystemPrompt, demo.SystemPrompt) {
			t.Errorf("%+v runs with %+v", demo, eff)
		}
		if h := must(e.svc.AgentRevisions(ctx, e.mine.id, demo.ID, 100, 10))(t); len(h) != 1 || h[0].ActorKind != models.ActorSystem {
			t.Errorf("its history is %+v", h)
		}
		must(e.svc.ArchiveAgent(ctx, e.mine.member, demo.ID))(t)
		if err := e.svc.RefreshBuiltIns(ctx); err != nil {
			t.Fatal(err)
		}
		if n := must(e.svc.CountAgents(ctx, e.mine.id, catalog.Filter{}))(t); n != 0 {
			t.Errorf("there are %d agents once it is archived", n)
		}
		if n := must(e.svc.CountAgents(ctx, e.theirs.id, catalog.Filter{}))(t); n != 1 {
			t.Errorf("another organization has %d agents", n)
		}
	})
}

func TestBuiltInHarnesses(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		generic := must(e.svc.Harness(ctx, e.mine.id, e.mine.generic))(t)
		base := must(e.svc.Harness(ctx, e.mine.id, *generic.ParentID))(t)
		if generic.Name != "generic" || !generic.BuiltIn || len(generic.Capabilities) != 2 || generic.Capabilities[0].ID != "files" || generic.Capabilities[1].ID != "budget" ||
			base.Name != "base" || !base.BuiltIn || base.ParentID != nil || len(base.Capabilities) != 0 {
			t.Fatalf("seeded %+v on %+v", generic, base)
		}
		_, err := e.svc.UpdateHarness(ctx, e.mine.admin, generic.ID, catalog.HarnessChange{SystemPrompt: catalog.Give(new("x"))})
		wantFault(t, err, fault.Forbidden, "id")
		_, err = e.svc.ArchiveHarness(ctx, e.mine.admin, generic.ID)
		wantFault(t, err, fault.Forbidden, "id")
		_, err = e.svc.UnarchiveHarness(ctx, e.mine.admin, base.ID)
		wantFault(t, err, fault.Forbidden, "id")
	})
}

func TestBuiltInHarnessesAreRefreshed(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		own := e.harness(catalog.NewHarness{Name: "own", SystemPrompt: new("mine")})
		before := must(e.svc.Harness(ctx, e.theirs.id, e.theirs.generic))(t)
		e.writeOwn(func(tx *gorm.DB) error {
			return tx.Model(&models.Harness{}).Where("org_id = ? AND id = ?", e.mine.id, e.mine.generic).
				Updates(map[string]any{"system_prompt": "as shipped long ago", "revision": 4}).Error
		})
		for range 2 {
			if err := e.svc.RefreshBuiltIns(ctx); err != nil {
				t.Fatal(err)
			}
			mine := must(e.svc.Harness(ctx, e.mine.id, e.mine.generic))(t)
			if mine.Revision != 5 || *mine.SystemPrompt != *before.SystemPrompt {
				t.Fatalf("refreshed to %+v", mine)
			}
			if theirs := must(e.svc.Harness(ctx, e.theirs.id, e.theirs.generic))(t); theirs.Revision != 1 || theirs.UpdatedAt != before.UpdatedAt {
				t.Fatalf("what was up to date became %+v", theirs)
			}
			if got := must(e.svc.Harness(ctx, e.mine.id, own.ID))(t); got.Revision != 1 {
				t.Fatalf("an own harness became %+v", got)
			}
		}
	})
}

func TestRefreshingGoesThroughAllBatches(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		var last org
		e.write(func(tx *gorm.DB) error {
			// More than one batch of 500 rows, two per organization.
			for i := range 260 {
				o := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", Slug: "slug-" + models.NewID[models.OrgEntity]().String(), CreatedAt: 1}
				if err := tx.Create(&o).Error; err != nil {
					return err
				}
				h, _, err := e.svc.SeedOrg(t.Context(), tx, o.ID, 1)
				if err != nil {
					return err
				}
				if i == 259 {
					last = org{id: o.ID, generic: h}
				}
			}
			return tx.Model(&models.Harness{}).Where("org_id = ? AND id = ?", last.id, last.generic).Update("display_name", "old").Error
		})
		if err := e.svc.RefreshBuiltIns(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := must(e.svc.Harness(t.Context(), last.id, last.generic))(t); got.Revision != 2 || got.DisplayName != "Generic" {
			t.Fatalf("the last one is %+v", got)
		}
	})
}
