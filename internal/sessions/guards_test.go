package sessions

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// guardWorld is an organization whose catalog and sessions an administrator and a member change, and what each thing in it must be guarded by.
type guardWorld struct {
	*env
	t       *rapid.T
	admin   *auth.Principal
	member  *auth.Principal
	general models.HarnessID

	harnesses []models.HarnessID
	agents    []models.AgentID
	sessions  []models.SessionID
	// expected are the guards, with their settings, that each had when an administrator last changed anything, and has got since.
	expected map[string][]string
	refused  *int
}

var guardSettings = []models.CapabilityRef{
	{ID: "approvals", Config: models.JSON(`{"default":"always"}`)}, {ID: "approvals", Config: models.JSON(`{"default":"never"}`)},
	{ID: "watching"}, {ID: "watched"}, {ID: "files"}, {ID: "judge"},
}

func (w *guardWorld) refs() []models.CapabilityRef {
	var list []models.CapabilityRef
	for _, r := range rapid.SliceOfN(rapid.SampledFrom(guardSettings), 0, 3).Draw(w.t, "capabilities") {
		if !slices.ContainsFunc(list, func(x models.CapabilityRef) bool { return x.ID == r.ID }) {
			list = append(list, r)
		}
	}
	return list
}

// maybe draws one of a list, or nothing.
func maybe[T any](t *rapid.T, list []T, name string) *T {
	i := rapid.IntRange(-1, len(list)-1).Draw(t, name)
	if i < 0 {
		return nil
	}
	return &list[i]
}

// change makes one random change. It reports what was made, if anything was.
func (w *guardWorld) change(by *auth.Principal) (made string, err error) {
	ctx, t := w.env.t.Context(), w.t
	harness, agent, session := maybe(t, w.harnesses, "harness"), maybe(t, w.agents, "agent"), maybe(t, w.sessions, "session")
	name := fmt.Sprint("n", len(w.harnesses)+len(w.agents))
	switch rapid.IntRange(0, 8).Draw(t, "change") {
	case 0:
		h, err := w.catalog.CreateHarness(ctx, by, catalog.NewHarness{Name: name, ParentID: harness, Capabilities: w.refs()})
		if err != nil {
			return "", err
		}
		w.harnesses = append(w.harnesses, h.ID)
		return h.ID.String(), nil
	case 1:
		a, err := w.catalog.CreateAgent(ctx, by, catalog.NewAgent{Name: name, HarnessID: harness, Capabilities: w.refs()})
		if err != nil {
			return "", err
		}
		w.agents = append(w.agents, a.ID)
		return a.ID.String(), nil
	case 2:
		s, err := w.svc.Create(ctx, by, NewSession{HarnessID: harness, AgentID: agent})
		if err != nil {
			return "", err
		}
		w.sessions = append(w.sessions, s.ID)
		return s.ID.String(), nil
	case 3:
		if session == nil {
			return "", nil
		}
		s, err := w.svc.Fork(ctx, by, NewFork{SessionID: *session})
		if err != nil {
			return "", err
		}
		w.sessions = append(w.sessions, s.ID)
		return s.ID.String(), nil
	case 4:
		if session != nil {
			_, err = w.svc.Update(ctx, by, *session, Change{AgentID: catalog.Give(agent)})
		}
	case 5:
		if harness != nil {
			_, err = w.catalog.UpdateHarness(ctx, by, *harness, catalog.HarnessChange{Capabilities: catalog.Give(w.refs())})
		}
	case 6:
		if agent == nil {
			return "", nil
		}
		var in catalog.AgentChange
		if rapid.Bool().Draw(t, "moves") {
			in.HarnessID = catalog.Give(harness)
		}
		if rapid.Bool().Draw(t, "attaches") {
			in.Capabilities = catalog.Give(w.refs())
		}
		_, err = w.catalog.UpdateAgent(ctx, by, *agent, in)
	case 7:
		revision := rapid.IntRange(1, 3).Draw(t, "revision")
		if agent != nil && rapid.Bool().Draw(t, "of an agent") {
			_, err = w.catalog.RestoreAgent(ctx, by, *agent, revision, nil)
		} else if harness != nil {
			_, err = w.catalog.RestoreHarness(ctx, by, *harness, revision, nil)
		}
	case 8:
		if harness == nil {
			return "", nil
		}
		if rapid.Bool().Draw(t, "archives") {
			_, err = w.catalog.ArchiveHarness(ctx, by, *harness)
		} else {
			_, err = w.catalog.UnarchiveHarness(ctx, by, *harness)
		}
	}
	return "", err
}

// guards returns the guards of everything that can run; a session, or an agent on a harness that is archived, can't.
func (w *guardWorld) guards() map[string][]string {
	ctx := w.env.t.Context()
	found := map[string][]string{}
	add := func(id string, run catalog.Run) {
		eff, err := w.catalog.PreviewRun(ctx, w.by.OrgID, run)
		if err != nil {
			w.t.Fatal(err)
		}
		if eff == nil {
			return
		}
		found[id] = []string{}
		for _, r := range eff.Toolset.Refs() {
			if r.ID == "approvals" || r.ID == "watching" {
				found[id] = append(found[id], r.ID+string(r.Config))
			}
		}
	}
	for _, id := range w.harnesses {
		add(id.String(), catalog.Run{HarnessID: id})
	}
	for _, id := range w.agents {
		a, err := w.catalog.Agent(ctx, w.by.OrgID, id)
		if err != nil {
			w.t.Fatal(err)
		}
		harness := w.general
		if a.HarnessID != nil {
			harness = *a.HarnessID
		}
		add(id.String(), catalog.Run{HarnessID: harness, AgentID: &id})
	}
	for _, id := range w.sessions {
		s := w.get(id)
		add(id.String(), catalog.Run{HarnessID: s.HarnessID, AgentID: s.AgentID})
	}
	return found
}

// basis returns what something new can't have less guards than: a harness its parent, an agent its harness, a session its agent.
func (w *guardWorld) basis(id string) string {
	ctx := w.env.t.Context()
	if h, err := models.ParseID[models.HarnessEntity](id); err == nil {
		row, err := w.catalog.Harness(ctx, w.by.OrgID, h)
		if err != nil || row.ParentID == nil {
			return ""
		}
		return row.ParentID.String()
	}
	if a, err := models.ParseID[models.AgentEntity](id); err == nil {
		row, err := w.catalog.Agent(ctx, w.by.OrgID, a)
		if err != nil || row.HarnessID == nil {
			return ""
		}
		return row.HarnessID.String()
	}
	s, err := models.ParseID[models.SessionEntity](id)
	if err != nil {
		w.t.Fatal(err)
	}
	if row := w.get(s); row.AgentID != nil {
		return row.AgentID.String()
	}
	return ""
}

// begin makes a harness that guards and one that doesn't, an agent of each, an agent that is guarded by itself, and their sessions.
func (w *guardWorld) begin() {
	ctx := w.env.t.Context()
	for i, attached := range [][2][]models.CapabilityRef{{guardSettings[:1], nil}, {}, {nil, guardSettings[:1]}} {
		h, err := w.catalog.CreateHarness(ctx, w.admin, catalog.NewHarness{Name: fmt.Sprint("first-", i), Capabilities: attached[0]})
		if err != nil {
			w.t.Fatal(err)
		}
		w.harnesses = append(w.harnesses, h.ID)
		a, err := w.catalog.CreateAgent(ctx, w.admin, catalog.NewAgent{Name: fmt.Sprint("first-", i), HarnessID: &h.ID, Capabilities: attached[1]})
		if err != nil {
			w.t.Fatal(err)
		}
		w.agents = append(w.agents, a.ID)
		s, err := w.svc.Create(ctx, w.admin, NewSession{AgentID: &a.ID})
		if err != nil {
			w.t.Fatal(err)
		}
		w.sessions = append(w.sessions, s.ID)
	}
	w.expected = w.guards()
}

func (w *guardWorld) step() {
	if rapid.IntRange(0, 3).Draw(w.t, "who") == 0 {
		if _, err := w.change(w.admin); err != nil && fault.As(err) == nil {
			w.t.Fatal(err)
		}
		w.expected = w.guards()
		return
	}
	made, err := w.change(w.member)
	if err != nil && fault.As(err) == nil {
		w.t.Fatal(err)
	}
	if fault.Is(err, fault.Forbidden) {
		*w.refused++
	}
	now := w.guards()
	if made != "" {
		w.expected[made] = w.expected[w.basis(made)]
	}
	for id, want := range w.expected {
		have, runs := now[id]
		if !runs {
			continue
		}
		for _, g := range want {
			if !slices.Contains(have, g) {
				w.t.Fatalf("%s had the guards %v, and has %v after a change by a member", id, want, have)
			}
		}
	}
	for id, have := range now {
		w.expected[id] = have
	}
}

// Whatever somebody changes who may not attach guards: nothing that is guarded runs with fewer of them afterwards, or with other settings of one.
// What is made is guarded by what it is made of.
func TestNobodyTakesAGuardAwayByAnyChange(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		n, refused := 0, 0
		rapid.Check(t, func(r *rapid.T) {
			n++
			own := *e
			own.by = e.org(fmt.Sprint("o", n))
			w := &guardWorld{env: &own, t: r, admin: own.by, expected: map[string][]string{}, refused: &refused}
			w.member = &auth.Principal{OrgID: own.by.OrgID, Role: models.RoleMember, Permissions: auth.RolePermissions(models.RoleMember, false)}
			w.general = own.create().HarnessID
			w.begin()
			for range rapid.IntRange(5, 25).Draw(r, "steps") {
				w.step()
			}
		})
		if refused == 0 {
			t.Error("no change was refused, so nothing was tried")
		}
	})
}

// An agent's own harness guards it: who may not attach guards can neither move the agent nor start or change a session past them.
func TestAMemberCannotMoveAnAgentPastItsPolicy(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		member := &auth.Principal{OrgID: e.by.OrgID, Role: models.RoleMember, Permissions: auth.RolePermissions(models.RoleMember, false)}
		general := e.create().HarnessID
		for _, guard := range []models.CapabilityRef{guardSettings[0], {ID: "watching"}, {ID: "watched"}} {
			h, err := e.catalog.CreateHarness(ctx, e.by, catalog.NewHarness{Name: "h-" + guard.ID, Capabilities: []models.CapabilityRef{guard}})
			if err != nil {
				t.Fatal(err)
			}
			a, err := e.catalog.CreateAgent(ctx, e.by, catalog.NewAgent{Name: "a-" + guard.ID, HarnessID: &h.ID})
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range []*models.HarnessID{&general, nil} {
				_, err = e.catalog.UpdateAgent(ctx, member, a.ID, catalog.AgentChange{HarnessID: catalog.Give(to)})
				wantFault(t, err, fault.Forbidden, "input.harnessId")
			}
			_, err = e.svc.Create(ctx, member, NewSession{AgentID: &a.ID, HarnessID: &general})
			wantFault(t, err, fault.Forbidden, "input.harnessId")
			guarded, err := e.svc.Create(ctx, member, NewSession{AgentID: &a.ID})
			if err != nil {
				t.Fatal(err)
			}
			bare, err := e.svc.Create(ctx, member, NewSession{HarnessID: &general})
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.svc.Update(ctx, member, bare.ID, Change{AgentID: catalog.Give(&a.ID)})
			wantFault(t, err, fault.Forbidden, "input.agentId")

			// A session on another harness keeps what its agent attaches itself.
			own, err := e.catalog.CreateAgent(ctx, e.by, catalog.NewAgent{Name: "own-" + guard.ID, Capabilities: []models.CapabilityRef{guard}})
			if err != nil {
				t.Fatal(err)
			}
			if bare, err = e.svc.Update(ctx, member, bare.ID, Change{AgentID: catalog.Give(&own.ID)}); err != nil {
				t.Fatal(err)
			}
			_, err = e.svc.Update(ctx, member, bare.ID, Change{AgentID: catalog.Give[*models.AgentID](nil)})
			wantFault(t, err, fault.Forbidden, "input.agentId")

			// Guarded as before, the agent may go, and so may whoever administers.
			if _, err = e.svc.Update(ctx, member, guarded.ID, Change{AgentID: catalog.Give(&own.ID)}); err != nil {
				t.Error(err)
			}
			same, err := e.catalog.CreateHarness(ctx, member, catalog.NewHarness{Name: "same-" + guard.ID, ParentID: &h.ID})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = e.catalog.UpdateAgent(ctx, member, a.ID, catalog.AgentChange{HarnessID: catalog.Give(&same.ID)}); err != nil {
				t.Error(err)
			}
			if _, err = e.svc.Create(ctx, e.by, NewSession{AgentID: &a.ID, HarnessID: &general}); err != nil {
				t.Error(err)
			}
			if _, err = e.catalog.UpdateAgent(ctx, e.by, a.ID, catalog.AgentChange{HarnessID: catalog.Give(&general)}); err != nil {
				t.Error(err)
			}
			_, err = e.catalog.RestoreAgent(ctx, e.by, a.ID, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.catalog.RestoreAgent(ctx, member, a.ID, 3, nil)
			wantFault(t, err, fault.Forbidden, "revision.harnessId")
		}
	})
}
