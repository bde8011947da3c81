package sessions

import (
	"bytes"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

func clientToolNamed(name string) models.ClientTool {
	return models.ClientTool{Name: name, Description: "Does " + name + ".", InputSchema: models.JSON(`{"type":"object"}`)}
}

func TestSessionsBringClientTools(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		in := NewSession{ClientTools: []models.ClientTool{clientToolNamed("measure")}}
		one, err := e.svc.Create(ctx, e.by, in)
		if err != nil {
			t.Fatal(err)
		}
		two, err := e.svc.Create(ctx, e.by, in)
		if err != nil || len(one.Setup) != 32 || !bytes.Equal(one.Setup, two.Setup) {
			t.Fatalf("%x, %x, %v", one.Setup, two.Setup, err)
		}
		sets, err := e.svc.ClientTools(ctx, e.by.OrgID, []string{string(one.Setup)})
		if err != nil || len(sets[string(one.Setup)]) != 1 {
			t.Fatalf("%+v, %v", sets, err)
		}
		if theirs, err := e.svc.ClientTools(ctx, e.theirs.OrgID, []string{string(one.Setup)}); err != nil || len(theirs) != 0 {
			t.Fatalf("others have %+v, %v", theirs, err)
		}
		offered := func(id models.SessionID) bool {
			t.Helper()
			eff, err := e.catalog.PreviewSession(ctx, e.by.OrgID, id)
			if err != nil {
				t.Fatal(err)
			}
			m, ok := eff.Toolset.ByName("measure")
			return ok && m.Hints.Client
		}
		if !offered(one.ID) {
			t.Fatal("the tool is not offered")
		}
		change := func(list ...models.ClientTool) (*models.Session, error) {
			return e.svc.Update(ctx, e.by, one.ID, Change{ClientTools: catalog.Give(list)})
		}
		if s, err := change(); err != nil || len(s.Setup) != 0 || offered(one.ID) || !offered(two.ID) {
			t.Fatalf("%+v, %v", s, err)
		}
		if s, err := e.svc.Update(ctx, e.by, two.ID, Change{Title: catalog.Give(ptr("t"))}); err != nil || len(s.Setup) == 0 {
			t.Fatalf("another change took the tools away: %+v, %v", s, err)
		}
		_, err = change(clientToolNamed("x"), clientToolNamed("read_file"))
		wantFault(t, err, fault.Invalid, "input.clientTools.1.name")
		_, err = e.svc.Create(ctx, e.by, NewSession{ClientTools: []models.ClientTool{clientToolNamed("no good")}})
		wantFault(t, err, fault.Invalid, "input.clientTools.0.name")
	})
}

func TestAnAgentWhoseToolsClashWithTheSessions(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		bare, err := e.catalog.CreateHarness(ctx, e.by, catalog.NewHarness{Name: "bare"})
		if err != nil {
			t.Fatal(err)
		}
		agent, err := e.catalog.CreateAgent(ctx, e.by, catalog.NewAgent{Name: "files", HarnessID: &bare.ID, Capabilities: []models.CapabilityRef{{ID: "files"}}})
		if err != nil {
			t.Fatal(err)
		}
		in := NewSession{HarnessID: &bare.ID, ClientTools: []models.ClientTool{clientToolNamed("read_file")}}
		s, err := e.svc.Create(ctx, e.by, in)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.svc.Update(ctx, e.by, s.ID, Change{AgentID: catalog.Give(&agent.ID)})
		wantFault(t, err, fault.Invalid, "input.agentId")
		in.AgentID = &agent.ID
		_, err = e.svc.Create(ctx, e.by, in)
		wantFault(t, err, fault.Invalid, "input.clientTools.0.name")
		// Both at once.
		got, err := e.svc.Update(ctx, e.by, s.ID, Change{AgentID: catalog.Give(&agent.ID), ClientTools: catalog.Give([]models.ClientTool(nil))})
		if err != nil || len(got.Setup) != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}
