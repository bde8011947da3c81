package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/files"
)

func TestWhatATurnRunsWith(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		root := e.harness(catalog.NewHarness{Name: "root", SystemPrompt: new("Root.\n"), Capabilities: refs("tuned", "files"), MaxIterations: new(5)})
		leaf := e.harness(catalog.NewHarness{Name: "leaf", ParentID: &root.ID})
		a := e.agent(catalog.NewAgent{
			Name: "a", HarnessID: &leaf.ID, SystemPrompt: "Agent.", MaxIterations: new(6),
			Capabilities: []models.CapabilityRef{{ID: "tuned", Config: models.JSON(`{"level":3}`)}},
		})
		eff := must(e.svc.EffectiveForSession(ctx, e.mine.id, catalog.Run{HarnessID: leaf.ID, AgentID: &a.ID}))(t)
		if !strings.HasPrefix(eff.SystemPrompt, "Root.\n\nAgent.\n\n") || !strings.Contains(eff.SystemPrompt, "\n\nMind the level.") {
			t.Errorf("the prompt is %q", eff.SystemPrompt)
		}
		ids := make([]string, 0, 3)
		for _, r := range eff.Toolset.Refs() {
			ids = append(ids, r.ID+string(r.Config))
		}
		if !slices.Equal(ids, []string{"core", `tuned{"level":3}`, "files"}) {
			t.Errorf("the capabilities are %v", ids)
		}
		if eff.MaxIterations != 6 || eff.HarnessRevision != 1 || *eff.AgentRevision != 1 || eff.Model.Model.Name != "sim-default" ||
			eff.Model.Provider.Kind != models.ProviderSimulated || len(slices.Collect(eff.Toolset.Manifests())) != 12 {
			t.Errorf("got %+v", eff)
		}
		if want := []catalog.Origin{
			{Of: "systemPrompt", Source: catalog.FromHarness, Name: root.DisplayName}, {Of: "systemPrompt", Source: catalog.FromAgent, Name: a.DisplayName},
			{Of: "model", Source: catalog.FromOrg}, {Of: "fallbackModels", Source: catalog.FromServer},
			{Of: "maxIterations", Source: catalog.FromAgent, Name: a.DisplayName}, {Of: "streamRecovery", Source: catalog.FromServer},
			{Of: "capabilities.core", Source: catalog.FromServer}, {Of: "capabilities.tuned", Source: catalog.FromAgent, Name: a.DisplayName},
			{Of: "capabilities.files", Source: catalog.FromHarness, Name: root.DisplayName},
		}; !slices.Equal(eff.Origins, want) {
			t.Errorf("they come from %+v, want %+v", eff.Origins, want)
		}
		chosen := must(e.svc.EffectiveForSession(ctx, e.mine.id, catalog.Run{HarnessID: leaf.ID, SessionModelID: &e.mine.model}))(t)
		if want := (catalog.Origin{Of: "model", Source: catalog.FromSession}); !slices.Contains(chosen.Origins, want) {
			t.Errorf("a model of the session comes from %+v", chosen.Origins)
		}
		alone := must(e.svc.EffectiveForSession(ctx, e.mine.id, catalog.Run{HarnessID: leaf.ID}))(t)
		if alone.AgentRevision != nil || alone.MaxIterations != 5 || alone.Hash == eff.Hash {
			t.Errorf("without an agent: %+v", alone)
		}
		base := must(e.svc.EffectiveForSession(ctx, e.mine.id, catalog.Run{HarnessID: e.mine.generic}))(t)
		if base.MaxIterations != catalog.DefaultIterations {
			t.Errorf("by default %d iterations", base.MaxIterations)
		}
	})
}

func TestTheModelThatIsNearestWins(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		provider := must(e.svc.Model(ctx, e.mine.id, e.mine.model))(t).ProviderID
		model := func(name string) *models.ModelID {
			return &must(e.svc.CreateModel(ctx, e.mine.admin, catalog.NewModel{ProviderID: provider, Name: name}))(t).ID
		}
		root := e.harness(catalog.NewHarness{Name: "root", DefaultModelID: model("sim-lorem:1")})
		leaf := e.harness(catalog.NewHarness{Name: "leaf", ParentID: &root.ID, DefaultModelID: model("sim-lorem:2")})
		plain := e.harness(catalog.NewHarness{Name: "plain", ParentID: &root.ID})
		bare := e.harness(catalog.NewHarness{Name: "bare"})
		a := &e.agent(catalog.NewAgent{Name: "a", DefaultModelID: model("sim-lorem:3")}).ID
		session, message := model("sim-lorem:4"), model("sim-lorem:5")
		for _, c := range []struct {
			run  catalog.Run
			want string
		}{
			{catalog.Run{HarnessID: bare.ID}, "sim-default"},
			{catalog.Run{HarnessID: plain.ID}, "sim-lorem:1"},
			{catalog.Run{HarnessID: leaf.ID}, "sim-lorem:2"},
			{catalog.Run{HarnessID: leaf.ID, AgentID: a}, "sim-lorem:3"},
			{catalog.Run{HarnessID: leaf.ID, AgentID: a, SessionModelID: session}, "sim-lorem:4"},
			{catalog.Run{HarnessID: leaf.ID, AgentID: a, SessionModelID: session, MessageModelID: message}, "sim-lorem:5"},
		} {
			if got := must(e.svc.EffectiveForSession(ctx, e.mine.id, c.run))(t).Model.Model.Name; got != c.want {
				t.Errorf("want %s, got %s", c.want, got)
			}
		}
		// A model that can't be used is not replaced by something more general.
		wantModelError := func(run catalog.Run, reason catalog.ModelReason) {
			t.Helper()
			_, err := e.svc.EffectiveForSession(ctx, e.mine.id, run)
			if m, ok := errors.AsType[*catalog.ModelError](err); !ok || m.Reason != reason || m.Error() == "" {
				t.Errorf("want %s, got %v", reason, err)
			}
			if eff, err := e.svc.PreviewRun(ctx, e.mine.id, run); err != nil || eff == nil || eff.Model != nil {
				t.Errorf("a preview for %s: %+v, %v", reason, eff, err)
			}
		}
		must(e.svc.UpdateModel(ctx, e.mine.admin, *session, catalog.ModelChange{Enabled: catalog.Give(new(false))}))(t)
		wantModelError(catalog.Run{HarnessID: leaf.ID, SessionModelID: session}, catalog.ModelDisabled)
		wantModelError(catalog.Run{HarnessID: leaf.ID, SessionModelID: &e.theirs.model}, catalog.ModelGone)
		must(e.svc.ArchiveProvider(ctx, e.mine.admin, provider))(t)
		wantModelError(catalog.Run{HarnessID: bare.ID}, catalog.ModelProviderArchived)
		e.writeOwn(func(tx *gorm.DB) error {
			return tx.Model(&models.Org{}).Where("id = ?", e.mine.id).Update("default_model_id", nil).Error
		})
		e.clock.Advance(catalog.Staleness)
		wantModelError(catalog.Run{HarnessID: bare.ID}, catalog.ModelNone)
	})
}

// Rules: P5.
func TestADependencyThatIsGoneStopsTheTurn(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		root := e.harness(catalog.NewHarness{Name: "root"})
		leaf := e.harness(catalog.NewHarness{Name: "leaf", ParentID: &root.ID})
		a := e.agent(catalog.NewAgent{Name: "a", HarnessID: &leaf.ID, Capabilities: refs("files")})
		run := catalog.Run{HarnessID: leaf.ID, AgentID: &a.ID}
		want := func(svc *catalog.Service, run catalog.Run, dependency, id string, state models.Lifecycle) {
			t.Helper()
			_, err := svc.EffectiveForSession(ctx, e.mine.id, run)
			if d, ok := errors.AsType[*catalog.DependencyError](err); !ok || d.Dependency != dependency || d.ID != id || d.State != state || d.Error() == "" {
				t.Errorf("want %s %s, got %v", dependency, state, err)
			}
			if eff, err := svc.PreviewRun(ctx, e.mine.id, run); eff != nil || err != nil {
				t.Errorf("a preview gives %+v, %v", eff, err)
			}
		}
		must(e.svc.EffectiveForSession(ctx, e.mine.id, run))(t)
		must(e.svc.ArchiveAgent(ctx, e.mine.admin, a.ID))(t)
		want(e.svc, run, "agent", a.ID.String(), models.LifecycleArchived)
		_, err := e.svc.CheckSession(ctx, e.mine.member, catalog.Choice{AgentID: &a.ID})
		wantFault(t, err, fault.Dependency, "input.agentId")
		must(e.svc.UnarchiveAgent(ctx, e.mine.admin, a.ID))(t)
		must(e.svc.EffectiveForSession(ctx, e.mine.id, run))(t)

		must(e.svc.ArchiveHarness(ctx, e.mine.admin, root.ID))(t)
		want(e.svc, run, "harness", root.ID.String(), models.LifecycleArchived)
		_, err = e.svc.CheckSession(ctx, e.mine.member, catalog.Choice{HarnessID: &leaf.ID})
		wantFault(t, err, fault.Dependency, "input.harnessId")
		_, err = e.svc.CheckSession(ctx, e.mine.member, catalog.Choice{AgentID: &a.ID})
		wantFault(t, err, fault.Dependency, "input.agentId")
		must(e.svc.UnarchiveHarness(ctx, e.mine.admin, root.ID))(t)

		e.writeOwn(func(tx *gorm.DB) error {
			return tx.Model(&models.Agent{}).Where("org_id = ? AND id = ?", e.mine.id, a.ID).
				Updates(map[string]any{"lifecycle": models.LifecycleDeleted, "revision": 99}).Error
		})
		e.clock.Advance(catalog.Staleness)
		want(e.svc, run, "agent", a.ID.String(), models.LifecycleDeleted)
		want(e.svc, catalog.Run{HarnessID: e.theirs.generic}, "harness", e.theirs.generic.String(), models.LifecycleDeleted)

		risky := e.harness(catalog.NewHarness{Name: "risky", Capabilities: refs("risky")})
		without, err := tools.NewRegistry(core.Capability(), files.Capability(), budget.Capability())
		if err != nil {
			t.Fatal(err)
		}
		want(e.service(without), catalog.Run{HarnessID: risky.ID}, "capability", "risky", models.LifecycleDeleted)
	})
}

func TestHotTurnsHardlyAskTheDatabase(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		root := e.harness(catalog.NewHarness{Name: "root"})
		leaf := e.harness(catalog.NewHarness{Name: "leaf", ParentID: &root.ID})
		a := e.agent(catalog.NewAgent{Name: "a", SystemPrompt: "one"})
		run := catalog.Run{HarnessID: leaf.ID, AgentID: &a.ID}
		n := e.statements()
		step := func(what string, statements int64, prompt string) {
			t.Helper()
			n.Store(0)
			eff := must(e.svc.EffectiveForSession(ctx, e.mine.id, run))(t)
			if n.Load() != statements || !strings.HasPrefix(eff.SystemPrompt, prompt) {
				t.Errorf("%s: %d statements, want %d; the prompt is %q, want %q", what, n.Load(), statements, eff.SystemPrompt, prompt)
			}
		}
		step("cold", 3, "one")
		step("hot", 0, "one")
		e.clock.Advance(catalog.Staleness)
		step("after a second", 1, "one")
		step("hot again", 0, "one")
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("two"))}))(t)
		step("a change by this process", 3, "two")

		other := e.service(registry(t))
		must(other.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("three"))}))(t)
		step("a change by another process, at first", 0, "two")
		e.clock.Advance(catalog.Staleness)
		step("and a second later", 4, "three")
		// The clock is set back.
		e.clock.Advance(-catalog.Staleness * 3600)
		step("a clock that was set back", 1, "three")
	})
}

// All that an Effective is made from is noticed when another process changes it.
func TestEveryChangeIsNoticed(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		root := e.harness(catalog.NewHarness{Name: "root"})
		leaf := e.harness(catalog.NewHarness{Name: "leaf", ParentID: &root.ID})
		a := e.agent(catalog.NewAgent{Name: "a"})
		provider := must(e.svc.Model(ctx, e.mine.id, e.mine.model))(t).ProviderID
		m := must(e.svc.CreateModel(ctx, e.mine.admin, catalog.NewModel{ProviderID: provider, Name: "sim-lorem:1"}))(t)
		run := catalog.Run{HarnessID: leaf.ID, AgentID: &a.ID}
		other := e.service(registry(t))
		n := e.statements()
		for name, change := range map[string]func() error{
			"leaf": func() error {
				_, err := other.UpdateHarness(ctx, e.mine.admin, leaf.ID, catalog.HarnessChange{SystemPrompt: catalog.Give(new("l"))})
				return err
			},
			"root": func() error {
				_, err := other.UpdateHarness(ctx, e.mine.admin, root.ID, catalog.HarnessChange{SystemPrompt: catalog.Give(new("r"))})
				return err
			},
			"agent": func() error {
				_, err := other.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("a"))})
				return err
			},
			"model": func() error {
				_, err := other.UpdateModel(ctx, e.mine.admin, e.mine.model, catalog.ModelChange{DisplayName: catalog.Give(new("x"))})
				return err
			},
			"provider": func() error {
				_, err := other.UpdateProvider(ctx, e.mine.admin, provider, catalog.ProviderChange{Name: catalog.Give(new("x"))})
				return err
			},
		} {
			notice(t, e, n, run, name, change)
		}
		// Last, because afterwards the model is another one.
		notice(t, e, n, run, "default", func() error {
			return e.db.WriteAcross(ctx, func(tx *gorm.DB) error {
				return tx.Model(&models.Org{}).Where("id = ?", e.mine.id).Update("default_model_id", m.ID).Error
			})
		})
	})
}

func notice(t *testing.T, e *env, n *atomic.Int64, run catalog.Run, name string, change func() error) {
	t.Helper()
	must(e.svc.EffectiveForSession(t.Context(), e.mine.id, run))(t)
	if err := change(); err != nil {
		t.Fatal(err)
	}
	e.clock.Advance(catalog.Staleness)
	n.Store(0)
	must(e.svc.EffectiveForSession(t.Context(), e.mine.id, run))(t)
	if n.Load() != 4 {
		t.Errorf("%s: %d statements, want 1 that notices and 3 that read", name, n.Load())
	}
}

func TestAPreviewWritesNothingAndNeedsNoName(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		eff := must(e.svc.Preview(ctx, e.mine.id, catalog.Draft{Agent: &catalog.NewAgent{SystemPrompt: "Draft.", MaxIterations: new(3)}}))(t)
		if !strings.Contains(eff.SystemPrompt, "Draft.") || eff.MaxIterations != 3 || eff.Model == nil || len(slices.Collect(eff.Toolset.Manifests())) != 13 {
			t.Errorf("got %+v", eff)
		}
		base := must(e.svc.ListHarnesses(ctx, e.mine.id, catalog.Filter{Search: "base"}, nil, 1))(t)[0]
		eff = must(e.svc.Preview(ctx, e.mine.id, catalog.Draft{HarnessID: &base.ID}))(t)
		if len(slices.Collect(eff.Toolset.Manifests())) != 4 {
			t.Errorf("base has %d tools", len(slices.Collect(eff.Toolset.Manifests())))
		}
		_, err := e.svc.Preview(ctx, e.mine.id, catalog.Draft{Agent: &catalog.NewAgent{Capabilities: refs("nope")}})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("an unknown capability: %v", err)
		}
		if n := must(e.svc.CountAgents(ctx, e.mine.id, catalog.Filter{}))(t); n != 1 {
			t.Errorf("there are %d agents beside the demo", n-1)
		}
	})
}

func TestTheHarnessOfASession(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		h := e.harness(catalog.NewHarness{Name: "h"})
		with, without := e.agent(catalog.NewAgent{Name: "with", HarnessID: &h.ID}), e.agent(catalog.NewAgent{Name: "without"})
		for name, c := range map[string]struct {
			choice catalog.Choice
			want   models.HarnessID
		}{
			"nothing":               {catalog.Choice{}, e.mine.generic},
			"an agent":              {catalog.Choice{AgentID: &without.ID}, e.mine.generic},
			"an agent with its own": {catalog.Choice{AgentID: &with.ID, ModelID: &e.mine.model}, h.ID},
			"both":                  {catalog.Choice{AgentID: &with.ID, HarnessID: &e.mine.generic}, e.mine.generic},
		} {
			if got := must(e.svc.CheckSession(ctx, e.mine.member, c.choice))(t); got != c.want {
				t.Errorf("%s: got %s", name, got)
			}
		}
		must(e.svc.UpdateModel(ctx, e.mine.admin, e.mine.model, catalog.ModelChange{Enabled: catalog.Give(new(false))}))(t)
		_, err := e.svc.CheckSession(ctx, e.mine.member, catalog.Choice{ModelID: &e.mine.model})
		wantFault(t, err, fault.Dependency, "input.modelId")
		// Without a usable model the session can be made; its turns will say what is missing.
		must(e.svc.CheckSession(ctx, e.mine.member, catalog.Choice{}))(t)
	})
}
