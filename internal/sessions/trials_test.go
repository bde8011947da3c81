package sessions

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestASessionTriesADraft(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		agent, err := e.catalog.CreateAgent(ctx, e.by, catalog.NewAgent{Name: "saved", SystemPrompt: "As it is saved."})
		if err != nil {
			t.Fatal(err)
		}
		draft := catalog.NewAgent{Name: "draft", SystemPrompt: "As it is typed.", ClientTools: []models.ClientTool{clientToolNamed("measure")}}
		key := "once"
		in := NewSession{AgentID: &agent.ID, Draft: &draft, IdempotencyKey: &key}
		s, err := e.svc.Create(ctx, e.by, in)
		if err != nil || !s.Trial || *s.AgentID != agent.ID {
			t.Fatalf("%+v, %v", s, err)
		}
		if again, err := e.svc.Create(ctx, e.by, in); err != nil || again.ID != s.ID {
			t.Errorf("the same again: %+v, %v", again, err)
		}
		runs := func(id models.SessionID) *catalog.Effective {
			t.Helper()
			eff, err := e.catalog.PreviewSession(ctx, e.by.OrgID, id)
			if err != nil || eff == nil {
				t.Fatalf("%+v, %v", eff, err)
			}
			return eff
		}
		prompt := "Another draft."
		for range 2 {
			eff := runs(s.ID)
			_, measures := eff.Toolset.ByName("measure")
			if !strings.Contains(eff.SystemPrompt, "As it is typed.") || strings.Contains(eff.SystemPrompt, "saved") || !measures || eff.AgentRevision != nil {
				t.Errorf("it runs with %+v", eff)
			}
			// What is saved meanwhile is not what is tried.
			if _, err := e.catalog.UpdateAgent(ctx, e.by, agent.ID, catalog.AgentChange{SystemPrompt: catalog.Give(&prompt)}); err != nil {
				t.Fatal(err)
			}
		}
		fork, err := e.svc.Fork(ctx, e.by, NewFork{SessionID: s.ID})
		if err != nil || !fork.Trial || !strings.Contains(runs(fork.ID).SystemPrompt, "As it is typed.") {
			t.Errorf("a fork is %+v, %v", fork, err)
		}
		_, err = e.svc.Update(ctx, e.by, s.ID, Change{ClientTools: catalog.Give([]models.ClientTool{})})
		wantFault(t, err, fault.Conflict, "input")
		_, err = e.svc.Update(ctx, e.by, s.ID, Change{AgentID: catalog.Give[*models.AgentID](nil)})
		wantFault(t, err, fault.Conflict, "input")
		if s, err := e.svc.Update(ctx, e.by, s.ID, Change{Title: catalog.Give(ptr("t"))}); err != nil || !s.Trial {
			t.Errorf("with a title it is %+v, %v", s, err)
		}

		// Of a new agent, on the default harness.
		alone, err := e.svc.Create(ctx, e.by, NewSession{Draft: &draft})
		if err != nil || !alone.Trial || alone.AgentID != nil || !strings.Contains(runs(alone.ID).SystemPrompt, "As it is typed.") {
			t.Errorf("a draft of a new agent: %+v, %v", alone, err)
		}

		// Lists leave trials out, unless they are asked for.
		plain := e.create()
		for f, want := range map[*Filter][]models.SessionID{
			{}:                                {plain.ID},
			{Trial: true}:                     {alone.ID, fork.ID, s.ID},
			{Trial: true, AgentID: &agent.ID}: {fork.ID, s.ID},
			{AgentID: &agent.ID}:              {},
			{Search: ptr("t"), Trial: true}:   {s.ID},
			{Search: ptr("t")}:                {},
			{Search: ptr(s.ID.String())}:      {s.ID},
		} {
			list, err := e.svc.List(ctx, e.by.OrgID, *f, Sorting{}, nil, 10)
			n, err2 := e.svc.Count(ctx, e.by.OrgID, *f)
			got := make([]models.SessionID, 0, len(list))
			for _, each := range list {
				got = append(got, each.ID)
			}
			if err != nil || err2 != nil || n != len(want) || !slices.Equal(got, want) {
				t.Errorf("%+v: %v and %d, %v, %v; want %v", f, got, n, err, err2, want)
			}
		}
		if of, err := e.svc.CountOfAgents(ctx, e.by.OrgID, []models.AgentID{agent.ID}); err != nil || of[agent.ID] != 0 {
			t.Errorf("the agent has %v, %v", of, err)
		}
		if of, err := e.svc.NewestOfAgents(ctx, e.by.OrgID, []models.AgentID{agent.ID}, 5); err != nil || len(of[agent.ID]) != 0 {
			t.Errorf("the agent has %v, %v", of, err)
		}
		if theirs, err := e.svc.List(ctx, e.theirs.OrgID, Filter{Trial: true}, Sorting{}, nil, 10); err != nil || len(theirs) != 0 {
			t.Errorf("another organization sees %v, %v", theirs, err)
		}
	})
}

// A word finds so many of the newest sessions: trials must not take the places of others.
func TestWordsOfTrialsAreNotIndexed(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		trial, err := e.svc.Create(t.Context(), e.by, NewSession{Title: ptr("Pudding"), Draft: &catalog.NewAgent{}})
		if err != nil {
			t.Fatal(err)
		}
		e.wholeTurn(trial.ID, "thin ice")
		e.index()
		if words := e.words(); len(words) > 0 {
			t.Errorf("%v are indexed", words)
		}
		e.wantFound(Filter{Trial: true, Search: ptr("thin")})
		e.wantFound(Filter{Trial: true, Search: ptr("pud")}, trial.ID)
		e.wantFound(Filter{Search: ptr(trial.ID.String())}, trial.ID)
		for _, by := range []Order{ByCost, ByActivity} {
			if got := e.listed(Filter{Trial: true}, Sorting{By: by}); !slices.Equal(got, []models.SessionID{trial.ID}) {
				t.Errorf("trials by %s are %v", by, got)
			}
			if got := e.listed(Filter{}, Sorting{By: by}); len(got) > 0 {
				t.Errorf("others by %s are %v", by, got)
			}
			if got := e.listed(Filter{Search: ptr(trial.ID.String())}, Sorting{By: by}); !slices.Equal(got, []models.SessionID{trial.ID}) {
				t.Errorf("by its id, by %s, are %v", by, got)
			}
		}
	})
}

func TestWhoMayTryWhat(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		guarded, err := e.catalog.CreateAgent(ctx, e.by, catalog.NewAgent{Name: "guarded", Capabilities: []models.CapabilityRef{{ID: "watched"}}})
		if err != nil {
			t.Fatal(err)
		}
		foreign, err := e.catalog.CreateAgent(ctx, e.theirs, catalog.NewAgent{Name: "theirs"})
		if err != nil {
			t.Fatal(err)
		}
		harness, err := e.catalog.CreateHarness(ctx, e.theirs, catalog.NewHarness{Name: "theirs"})
		if err != nil {
			t.Fatal(err)
		}
		as := func(role models.Role) *auth.Principal {
			return &auth.Principal{OrgID: e.by.OrgID, Role: role, Permissions: auth.RolePermissions(role, false)}
		}
		plain := &catalog.NewAgent{}
		for name, c := range map[string]struct {
			by   *auth.Principal
			in   NewSession
			code fault.Code
			path string
		}{
			"who may not change agents":    {as(models.RoleViewer), NewSession{Draft: plain}, fault.Forbidden, "input.draft"},
			"another's agent":              {e.by, NewSession{AgentID: &foreign.ID, Draft: plain}, fault.NotFound, "input.agentId"},
			"another's harness":            {e.by, NewSession{Draft: &catalog.NewAgent{HarnessID: &harness.ID}}, fault.NotFound, "input.draft.harnessId"},
			"no such model":                {e.by, NewSession{Draft: &catalog.NewAgent{DefaultModelID: ptr(models.NewID[models.ModelEntity]())}}, fault.NotFound, "input.draft.defaultModelId"},
			"what administrators attach":   {as(models.RoleMember), NewSession{Draft: &catalog.NewAgent{Capabilities: []models.CapabilityRef{{ID: "watching"}}}}, fault.Forbidden, "input.draft.capabilities.0"},
			"what administrators take off": {as(models.RoleMember), NewSession{AgentID: &guarded.ID, Draft: plain}, fault.Forbidden, "input.draft.capabilities"},
			"what a trial must keep":       {e.by, NewSession{AgentID: &guarded.ID, Draft: plain}, fault.Dependency, "input.draft.capabilities"},
			"a harness beside the draft":   {e.by, NewSession{HarnessID: &harness.ID, Draft: plain}, fault.Invalid, "input.draft"},
		} {
			_, err := e.svc.Create(ctx, c.by, c.in)
			t.Log(name)
			wantFault(t, err, c.code, c.path)
		}
		if n, err := e.svc.Count(ctx, e.by.OrgID, Filter{Trial: true}); err != nil || n != 0 {
			t.Errorf("%d were made, %v", n, err)
		}
		if _, err := e.svc.Create(ctx, as(models.RoleMember), NewSession{Draft: plain}); err != nil {
			t.Errorf("a member: %v", err)
		}
		if _, err := e.catalog.ArchiveAgent(ctx, e.by, guarded.ID); err != nil {
			t.Fatal(err)
		}
		_, err = e.svc.Create(ctx, e.by, NewSession{AgentID: &guarded.ID, Draft: plain})
		wantFault(t, err, fault.Dependency, "input.agentId")
	})
}

// What comes to control an agent later holds for the trials of its drafts, too, in whatever way it comes and in whichever process.
func TestATrialHasTheLaterGuardsOfItsAgent(t *testing.T) {
	guard := []models.CapabilityRef{{ID: "watched"}}
	for name, test := range map[string]struct {
		onDefault bool // the agent has no harness of its own
		guard     func(e *env, agent models.AgentID, harness, parent, other models.HarnessID) error
	}{
		"on the agent": {false, func(e *env, agent models.AgentID, _, _, _ models.HarnessID) error {
			_, err := e.catalog.UpdateAgent(e.t.Context(), e.by, agent, catalog.AgentChange{Capabilities: catalog.Give(guard)})
			return err
		}},
		"on its harness": {false, func(e *env, _ models.AgentID, harness, _, _ models.HarnessID) error {
			_, err := e.catalog.UpdateHarness(e.t.Context(), e.by, harness, catalog.HarnessChange{Capabilities: catalog.Give(guard)})
			return err
		}},
		"on a parent of its harness": {false, func(e *env, _ models.AgentID, _, parent, _ models.HarnessID) error {
			_, err := e.catalog.UpdateHarness(e.t.Context(), e.by, parent, catalog.HarnessChange{Capabilities: catalog.Give(guard)})
			return err
		}},
		"by another harness": {false, func(e *env, agent models.AgentID, _, _, other models.HarnessID) error {
			_, err := e.catalog.UpdateAgent(e.t.Context(), e.by, agent, catalog.AgentChange{HarnessID: catalog.Give(&other)})
			return err
		}},
		"by another default harness": {true, func(e *env, _ models.AgentID, _, _, other models.HarnessID) error {
			return e.db.WriteAcross(e.t.Context(), func(tx *gorm.DB) error {
				return tx.Model(&models.Org{}).Where("id = ?", e.by.OrgID).Update("default_harness_id", other).Error
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, e *env) {
				ctx := t.Context()
				harnessOf := func(in catalog.NewHarness) models.HarnessID {
					h, err := e.catalog.CreateHarness(ctx, e.by, in)
					if err != nil {
						t.Fatal(err)
					}
					return h.ID
				}
				parent := harnessOf(catalog.NewHarness{Name: "parent"})
				harness := harnessOf(catalog.NewHarness{Name: "its", ParentID: &parent})
				other, plain := harnessOf(catalog.NewHarness{Name: "other", Capabilities: guard}), harnessOf(catalog.NewHarness{Name: "plain"})
				in := catalog.NewAgent{Name: "agent", HarnessID: &harness}
				if test.onDefault {
					in.HarnessID = nil
				}
				agent, err := e.catalog.CreateAgent(ctx, e.by, in)
				if err != nil {
					t.Fatal(err)
				}
				trial, err := e.svc.Create(ctx, e.by, NewSession{AgentID: &agent.ID, Draft: &catalog.NewAgent{HarnessID: &plain}})
				if err != nil {
					t.Fatal(err)
				}
				elsewhere := e.anotherCatalog()
				run := catalog.Run{HarnessID: trial.HarnessID, AgentID: trial.AgentID, Setup: trial.Setup}
				for range 2 {
					if _, err := elsewhere.EffectiveForSession(ctx, e.by.OrgID, run); err != nil {
						t.Fatal(err)
					}
					e.clock.Advance(catalog.Staleness)
				}
				if err := test.guard(e, agent.ID, harness, parent, other); err != nil {
					t.Fatal(err)
				}
				if eff, err := elsewhere.EffectiveForSession(ctx, e.by.OrgID, run); err == nil {
					t.Errorf("a trial runs without a later guard of its agent: %+v", eff)
				}
			})
		})
	}
}
