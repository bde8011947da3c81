package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
)

func TestAnAgentIsMadeChangedAndReadBack(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		a := e.agent(catalog.NewAgent{
			Name: "  Writer ", Description: new(" writes "), HarnessID: &e.mine.generic, SystemPrompt: "Write.", Tags: []string{"b", " a", "b"},
			Capabilities:   []models.CapabilityRef{{ID: "tuned", Config: models.JSON(` {"note":"x", "level": 2.0}`)}},
			DefaultModelID: &e.mine.model, MaxIterations: new(7),
		})
		if a.Name != "Writer" || a.DisplayName != "Writer" || *a.Description != "writes" || a.Revision != 1 ||
			strings.Join(a.Tags, ",") != "b,a" || string(a.Capabilities[0].Config) != `{"level":2,"note":"x"}` {
			t.Fatalf("made %+v", a)
		}
		e.clock.Advance(1e9)
		b := must(e.svc.UpdateAgent(ctx, e.mine.member, a.ID, catalog.AgentChange{
			DisplayName: catalog.Give(new("The Writer")), Description: catalog.Give[*string](nil), HarnessID: catalog.Give[*models.HarnessID](nil),
			SystemPrompt: catalog.Give[*string](nil), Tags: catalog.Give([]string(nil)), MaxIterations: catalog.Give(new(8)), Revision: new(1),
		}))(t)
		got := must(e.svc.Agent(ctx, e.mine.id, a.ID))(t)
		if got.DisplayName != "The Writer" || got.Description != nil || got.HarnessID != nil || got.SystemPrompt != "" ||
			len(got.Tags) != 0 || *got.MaxIterations != 8 || got.Revision != 2 || got.UpdatedAt <= a.UpdatedAt ||
			*got.DefaultModelID != e.mine.model || len(got.Capabilities) != 1 {
			t.Fatalf("changed to %+v", got)
		}
		if b.Revision != got.Revision || b.UpdatedAt != got.UpdatedAt {
			t.Fatalf("answered %+v, stored %+v", b, got)
		}
		// A display name that is cleared is the name again, and a change that changes nothing is no revision.
		c := must(e.svc.UpdateAgent(ctx, e.mine.member, a.ID, catalog.AgentChange{DisplayName: catalog.Give[*string](nil)}))(t)
		d := must(e.svc.UpdateAgent(ctx, e.mine.member, a.ID, catalog.AgentChange{
			DisplayName: catalog.Give(new("Writer")), Capabilities: catalog.Give([]models.CapabilityRef{{ID: "tuned", Config: models.JSON(`{"note":"x","level":2}`)}}),
		}))(t)
		if c.DisplayName != "Writer" || c.Revision != 3 || d.Revision != 3 || d.UpdatedAt != c.UpdatedAt {
			t.Fatalf("got %+v and %+v", c, d)
		}
	})
}

func TestAnOldRevisionIsRefused(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		a := e.agent(catalog.NewAgent{Name: "a"})
		h := e.harness(catalog.NewHarness{Name: "h"})
		for _, r := range []int{0, 2} {
			_, err := e.svc.UpdateAgent(t.Context(), e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("x")), Revision: &r})
			wantFault(t, err, fault.Conflict, "input.revision")
			_, err = e.svc.UpdateHarness(t.Context(), e.mine.admin, h.ID, catalog.HarnessChange{SystemPrompt: catalog.Give(new("x")), Revision: &r})
			wantFault(t, err, fault.Conflict, "input.revision")
		}
		if got := must(e.svc.Agent(t.Context(), e.mine.id, a.ID))(t); got.Revision != 1 || got.SystemPrompt != "" {
			t.Fatalf("changed to %+v", got)
		}
	})
}

func TestOfChangesFromOneRevisionOneWins(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		a := e.agent(catalog.NewAgent{Name: "a"})
		const n = 8
		var wg sync.WaitGroup
		errs := make([]error, n)
		for i := range n {
			wg.Go(func() {
				_, errs[i] = e.svc.UpdateAgent(t.Context(), e.mine.admin, a.ID, catalog.AgentChange{
					SystemPrompt: catalog.Give(new(fmt.Sprint("from ", i))), Revision: new(1),
				})
			})
		}
		wg.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won < 0:
				won = i
			case err == nil:
				t.Errorf("both %d and %d won", won, i)
			default:
				wantFault(t, err, fault.Conflict, "input.revision")
			}
		}
		got := must(e.svc.Agent(t.Context(), e.mine.id, a.ID))(t)
		if got.Revision != 2 || got.SystemPrompt != fmt.Sprint("from ", won) {
			t.Fatalf("winner %d, stored %+v", won, got)
		}
		// Without a revision all of them count, one after the other.
		for i := range n {
			wg.Go(func() {
				_, errs[i] = e.svc.UpdateAgent(t.Context(), e.mine.admin, a.ID, catalog.AgentChange{Tags: catalog.Give([]string{fmt.Sprint(i)})})
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if got := must(e.svc.Agent(t.Context(), e.mine.id, a.ID))(t); got.Revision != 2+n {
			t.Fatalf("%d changes led to revision %d", n, got.Revision)
		}
	})
}

func TestArchivedOnesAreReadOnly(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		a, h := e.agent(catalog.NewAgent{Name: "a"}), e.harness(catalog.NewHarness{Name: "h"})
		for range 2 { // the second time changes nothing
			if a = must(e.svc.ArchiveAgent(ctx, e.mine.member, a.ID))(t); a.Lifecycle != models.LifecycleArchived || a.Revision != 2 {
				t.Fatalf("archived %+v", a)
			}
			if h = must(e.svc.ArchiveHarness(ctx, e.mine.member, h.ID))(t); h.Lifecycle != models.LifecycleArchived || h.Revision != 2 {
				t.Fatalf("archived %+v", h)
			}
		}
		_, err := e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("x"))})
		wantFault(t, err, fault.Conflict, "id")
		_, err = e.svc.UpdateHarness(ctx, e.mine.admin, h.ID, catalog.HarnessChange{SystemPrompt: catalog.Give(new("x"))})
		wantFault(t, err, fault.Conflict, "id")
		_, err = e.svc.CreateAgent(ctx, e.mine.admin, catalog.NewAgent{Name: "b", HarnessID: &h.ID})
		wantFault(t, err, fault.Dependency, "input.harnessId")
		_, err = e.svc.CreateHarness(ctx, e.mine.admin, catalog.NewHarness{Name: "b", ParentID: &h.ID})
		wantFault(t, err, fault.Dependency, "input.parentId")
		_, err = e.svc.CreateAgent(ctx, e.mine.admin, catalog.NewAgent{Name: "a"})
		wantFault(t, err, fault.Taken, "input.name")

		if a = must(e.svc.UnarchiveAgent(ctx, e.mine.member, a.ID))(t); a.Lifecycle != models.LifecycleActive || a.Revision != 3 {
			t.Fatalf("unarchived %+v", a)
		}
		if h = must(e.svc.UnarchiveHarness(ctx, e.mine.member, h.ID))(t); h.Lifecycle != models.LifecycleActive {
			t.Fatalf("unarchived %+v", h)
		}
		must(e.svc.CreateAgent(ctx, e.mine.admin, catalog.NewAgent{Name: "b", HarnessID: &h.ID}))(t)
	})
}

func TestAChangeDoesNotFailForWhatItLeavesAlone(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		h := e.harness(catalog.NewHarness{Name: "h"})
		a := e.agent(catalog.NewAgent{Name: "a", HarnessID: &h.ID, DefaultModelID: &e.mine.model})
		must(e.svc.ArchiveHarness(ctx, e.mine.admin, h.ID))(t)
		must(e.svc.UpdateModel(ctx, e.mine.admin, e.mine.model, catalog.ModelChange{Enabled: catalog.Give(new(false))}))(t)
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{
			Description: catalog.Give(new("d")), HarnessID: catalog.Give(&h.ID), DefaultModelID: catalog.Give(&e.mine.model),
		}))(t)
		_, err := e.svc.CreateAgent(ctx, e.mine.admin, catalog.NewAgent{Name: "b", DefaultModelID: &e.mine.model})
		wantFault(t, err, fault.Dependency, "input.defaultModelId")
	})
}

func TestHighRiskNeedsAnAdministrator(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		for _, c := range [][]models.CapabilityRef{refs("files", "risky"), refs("files", "drags")} {
			_, err := e.svc.CreateAgent(ctx, e.mine.member, catalog.NewAgent{Name: "m", Capabilities: c})
			want := "input.capabilities.1"
			if c[1].ID == "drags" {
				want = "input.capabilities"
			}
			wantFault(t, err, fault.Forbidden, want)
		}
		a := e.agent(catalog.NewAgent{Name: "a", Capabilities: refs("risky")})
		// A member may change the rest of it, and detach.
		must(e.svc.UpdateAgent(ctx, e.mine.member, a.ID, catalog.AgentChange{Capabilities: catalog.Give(refs("risky", "files"))}))(t)
		must(e.svc.UpdateAgent(ctx, e.mine.member, a.ID, catalog.AgentChange{Capabilities: catalog.Give(refs("files"))}))(t)
		_, err := e.svc.UpdateAgent(ctx, e.mine.member, a.ID, catalog.AgentChange{Capabilities: catalog.Give(refs("risky"))})
		wantFault(t, err, fault.Forbidden, "input.capabilities.0")
	})
}

// Who may not change a policy may not take it away either, however it came there.
func TestAPolicyIsDetachedByAnAdministrator(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		for _, id := range []string{"policy", "guarded"} {
			a := e.agent(catalog.NewAgent{Name: "of." + id})
			change := func(by *auth.Principal, list []models.CapabilityRef) error {
				_, err := e.svc.UpdateAgent(ctx, by, a.ID, catalog.AgentChange{Capabilities: catalog.Give(list)})
				return err
			}
			if err := change(e.mine.admin, refs(id)); err != nil {
				t.Fatal(err)
			}
			wantFault(t, change(e.mine.member, nil), fault.Forbidden, "input.capabilities")
			wantFault(t, change(e.mine.member, refs("files")), fault.Forbidden, "input.capabilities")
			_, err := e.svc.RestoreAgent(ctx, e.mine.member, a.ID, 1, nil)
			wantFault(t, err, fault.Forbidden, "revision.capabilities")
			if err := change(e.mine.member, refs("files", id)); err != nil {
				t.Error(err)
			}
			if err := change(e.mine.admin, nil); err != nil {
				t.Error(err)
			}

			h := e.harness(catalog.NewHarness{Name: "of-" + id, Capabilities: refs(id)})
			_, err = e.svc.UpdateHarness(ctx, e.mine.member, h.ID, catalog.HarnessChange{Capabilities: catalog.Give(refs("files"))})
			wantFault(t, err, fault.Forbidden, "input.capabilities")
		}
	})
}

func TestInheritanceEndsAtEightLevels(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		var parent *models.HarnessID
		for i := range 8 {
			h := e.harness(catalog.NewHarness{Name: fmt.Sprint("level-", i+1), ParentID: parent, SystemPrompt: new(fmt.Sprint("p", i+1))})
			parent = &h.ID
		}
		_, err := e.svc.CreateHarness(t.Context(), e.mine.admin, catalog.NewHarness{Name: "level-9", ParentID: parent})
		wantFault(t, err, fault.Invalid, "input.parentId")
		eff := must(e.svc.EffectiveForSession(t.Context(), e.mine.id, catalog.Run{HarnessID: *parent}))(t)
		if !strings.HasPrefix(eff.SystemPrompt, "p1\n\np2\n\np3\n\np4\n\np5\n\np6\n\np7\n\np8") {
			t.Fatalf("got %q", eff.SystemPrompt)
		}
	})
}

func TestTheKeyOfAProviderIsSealedWhereItLies(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		const key = "sk-very-secret"
		p := must(e.svc.CreateProvider(ctx, e.mine.admin, catalog.NewProvider{
			Name: "p", Kind: models.ProviderSimulated, BaseURL: new(" https://example.com/v1 "), APIKey: new(key),
		}))(t)
		if strings.Contains(string(p.Credentials), key) || *p.BaseURL != "https://example.com/v1" {
			t.Fatalf("made %+v", p)
		}
		place := secrets.Place{Org: e.mine.id, Table: "providers", Column: "credentials", Row: p.ID.String()}
		if got := must(e.keeper.Open(p.Credentials, place))(t); string(got) != key {
			t.Fatalf("opened %q", got)
		}
		place.Org = e.theirs.id
		if _, err := e.keeper.Open(p.Credentials, place); err == nil {
			t.Fatal("it opens in another organization")
		}
		p = must(e.svc.UpdateProvider(ctx, e.mine.admin, p.ID, catalog.ProviderChange{APIKey: catalog.Give[*string](nil), Name: catalog.Give(new("q"))}))(t)
		if p.Credentials != nil || p.Name != "q" || p.BaseURL == nil {
			t.Fatalf("changed to %+v", p)
		}
		p = must(e.svc.ArchiveProvider(ctx, e.mine.admin, p.ID))(t)
		if p.Lifecycle != models.LifecycleArchived {
			t.Fatalf("archived %+v", p)
		}
		_, err := e.svc.UpdateProvider(ctx, e.mine.admin, p.ID, catalog.ProviderChange{Name: catalog.Give(new("r"))})
		wantFault(t, err, fault.Conflict, "id")
		_, err = e.svc.CreateModel(ctx, e.mine.admin, catalog.NewModel{ProviderID: p.ID, Name: "sim-echo"})
		wantFault(t, err, fault.Dependency, "input.providerId")
	})
}

func TestAModelKeepsExactPrices(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		seeded := must(e.svc.Model(ctx, e.mine.id, e.mine.model))(t)
		if seeded.Name != "sim-default" || !seeded.Enabled {
			t.Fatalf("the default model is %+v", seeded)
		}
		m := must(e.svc.CreateModel(ctx, e.mine.admin, catalog.NewModel{
			ProviderID: seeded.ProviderID, Name: "sim-lorem:7", MaxOutputTokens: catalog.Give(new(10)),
			Prices: catalog.Give(&catalog.Prices{Input: 1, Output: 9_000_000_000_000_000_000, CacheRead: new(models.Nanos(0))}),
		}))(t)
		got := must(e.svc.Model(ctx, e.mine.id, m.ID))(t)
		if *got.PriceInput != 1 || *got.PriceOutput != 9_000_000_000_000_000_000 || *got.PriceCacheRead != 0 || got.PriceCacheWrite != nil ||
			got.DisplayName != "sim-lorem:7" || !got.Enabled {
			t.Fatalf("stored %+v", got)
		}
		m = must(e.svc.UpdateModel(ctx, e.mine.admin, m.ID, catalog.ModelChange{Prices: catalog.Give[*catalog.Prices](nil), Enabled: catalog.Give(new(false))}))(t)
		if m.PriceInput != nil || m.Enabled || *m.MaxOutputTokens != 10 {
			t.Fatalf("changed to %+v", m)
		}
		_, err := e.svc.CreateModel(ctx, e.mine.admin, catalog.NewModel{ProviderID: seeded.ProviderID, Name: "sim-lorem:7"})
		wantFault(t, err, fault.Taken, "input.name")
	})
}
