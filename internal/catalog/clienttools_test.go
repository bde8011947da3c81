package catalog_test

import (
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

func clientTool(name string) models.ClientTool {
	return models.ClientTool{Name: name, Description: "Does " + name + ".", InputSchema: models.JSON(`{ "type": "object" }`)}
}

func namesOf(eff *catalog.Effective) (names []string) {
	for m := range eff.Toolset.Manifests() {
		if m.Hints.Client {
			names = append(names, m.Name+": "+m.Description)
		}
	}
	return names
}

func TestClientToolsOfAnAgentAndASession(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		a := e.agent(catalog.NewAgent{Name: "a", ClientTools: []models.ClientTool{clientTool("measure"), clientTool("weigh")}})
		if a.ClientTools[0].DisplayName != "measure" || string(a.ClientTools[0].InputSchema) != `{"type":"object"}` {
			t.Errorf("stored are %+v", a.ClientTools)
		}
		run := catalog.Run{HarnessID: e.mine.generic, AgentID: &a.ID}
		alone := must(e.svc.EffectiveForSession(ctx, e.mine.id, run))(t)
		if got := namesOf(alone); !slices.Equal(got, []string{"measure: Does measure.", "weigh: Does weigh."}) {
			t.Errorf("the agent has %v", got)
		}
		own := clientTool("weigh")
		own.Description = "Weighs better."
		list := catalog.CleanClientTools([]models.ClientTool{own, clientTool("paint")})
		hash := must(catalog.ClientToolsHash(list))(t)
		e.put(&models.SessionSetup{OrgID: e.mine.id, Hash: hash, Tools: list})
		run.Setup = hash
		both := must(e.svc.EffectiveForSession(ctx, e.mine.id, run))(t)
		if got := namesOf(both); !slices.Equal(got, []string{"measure: Does measure.", "weigh: Weighs better.", "paint: Does paint."}) || both.Hash == alone.Hash {
			t.Errorf("with those of the session it has %v", got)
		}
		if again := must(e.svc.EffectiveForSession(ctx, e.mine.id, catalog.Run{HarnessID: e.mine.generic, AgentID: &a.ID}))(t); len(namesOf(again)) != 2 {
			t.Errorf("another session has %v", namesOf(again))
		}
		// The other organization has no such set.
		if _, err := e.svc.EffectiveForSession(ctx, e.theirs.id, catalog.Run{HarnessID: e.theirs.generic, Setup: hash}); err == nil {
			t.Error("a set of another organization was found")
		}
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{ClientTools: catalog.Give([]models.ClientTool(nil))}))(t)
		if got := namesOf(must(e.svc.EffectiveForSession(ctx, e.mine.id, run))(t)); len(got) != 2 {
			t.Errorf("after the agent lost its own: %v", got)
		}
		back := must(e.svc.RestoreAgent(ctx, e.mine.admin, a.ID, 1, nil))(t)
		if len(back.ClientTools) != 2 || back.Revision != 3 {
			t.Errorf("restored: %+v", back)
		}
	})
}

func TestTwoToolsOfOneNameAreRefused(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		create := func(in catalog.NewAgent) error {
			_, err := e.svc.CreateAgent(ctx, e.mine.admin, in)
			return err
		}
		bad := clientTool("x")
		bad.InputSchema = models.JSON(`{"type":"string"}`)
		wantFault(t, create(catalog.NewAgent{Name: "b", ClientTools: []models.ClientTool{clientTool("x"), bad}}), fault.Invalid, "input.clientTools.1.name")
		wantFault(t, create(catalog.NewAgent{Name: "b", ClientTools: []models.ClientTool{bad}}), fault.Invalid, "input.clientTools.0.inputSchema")
		wantFault(t, create(catalog.NewAgent{
			Name: "b", Capabilities: refs("files"), ClientTools: []models.ClientTool{clientTool("x"), clientTool("read_file")},
		}), fault.Invalid, "input.clientTools.1.name")

		bare := e.harness(catalog.NewHarness{Name: "bare"})
		a := e.agent(catalog.NewAgent{Name: "a", HarnessID: &bare.ID, ClientTools: []models.ClientTool{clientTool("read_file")}})
		_, err := e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{Capabilities: catalog.Give(refs("files"))})
		wantFault(t, err, fault.Invalid, "input.capabilities")
		with := e.harness(catalog.NewHarness{Name: "with", Capabilities: refs("files")})
		_, err = e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{HarnessID: catalog.Give(&with.ID)})
		wantFault(t, err, fault.Invalid, "input.harnessId")

		check := func(harness models.HarnessID, agent *models.AgentID, list ...models.ClientTool) error {
			return e.svc.CheckClientTools(ctx, e.mine.id, harness, agent, list)
		}
		wantFault(t, check(with.ID, nil, clientTool("x"), clientTool("read_file")), fault.Invalid, "input.clientTools.1.name")
		if err := check(bare.ID, &a.ID, clientTool("read_file")); err != nil {
			t.Errorf("in the place of the agent's: %v", err)
		}
		// The harness gets a tool of the same name later: turns stop, and say why.
		must(e.svc.UpdateHarness(ctx, e.mine.admin, bare.ID, catalog.HarnessChange{Capabilities: catalog.Give(refs("files"))}))(t)
		_, err = e.svc.EffectiveForSession(ctx, e.mine.id, catalog.Run{HarnessID: bare.ID, AgentID: &a.ID})
		if dep, ok := err.(*catalog.DependencyError); !ok || dep.Reason == "" || dep.Error() != dep.Reason { //nolint:errorlint // as it is
			t.Errorf("got %v", err)
		}
	})
}

func TestTheNearestStreamRecoveryWins(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		finalize, restart := models.RecoveryFinalize, models.RecoveryRestart
		root := e.harness(catalog.NewHarness{Name: "root", StreamRecovery: &finalize})
		leaf := e.harness(catalog.NewHarness{Name: "leaf", ParentID: &root.ID})
		of := func(id models.HarnessID) *catalog.Effective {
			t.Helper()
			return must(e.svc.EffectiveForSession(ctx, e.mine.id, catalog.Run{HarnessID: id}))(t)
		}
		if of(e.mine.generic).StreamRecovery != restart || of(leaf.ID).StreamRecovery != finalize {
			t.Errorf("got %s and %s", of(e.mine.generic).StreamRecovery, of(leaf.ID).StreamRecovery)
		}
		before := of(leaf.ID).Hash
		changed := must(e.svc.UpdateHarness(ctx, e.mine.admin, leaf.ID, catalog.HarnessChange{StreamRecovery: catalog.Give(&restart)}))(t)
		if changed.Revision != 2 || of(leaf.ID).StreamRecovery != restart || of(leaf.ID).Hash == before {
			t.Errorf("got %+v", changed)
		}
		if back := must(e.svc.RestoreHarness(ctx, e.mine.admin, leaf.ID, 1, nil))(t); back.StreamRecovery != nil {
			t.Errorf("restored: %+v", back)
		}
	})
}

func (e *env) put(row any) {
	e.t.Helper()
	e.writeOwn(func(tx *gorm.DB) error { return tx.Create(row).Error })
}
