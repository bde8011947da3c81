package catalog_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// agentHistory returns the whole history of an agent of mine, newest first.
func (e *env) agentHistory(id models.AgentID) []catalog.Revision {
	e.t.Helper()
	return must(e.svc.AgentRevisions(e.t.Context(), e.mine.id, id, math.MaxInt32, 1000))(e.t)
}

func (e *env) harnessHistory(id models.HarnessID) []catalog.Revision {
	e.t.Helper()
	return must(e.svc.HarnessRevisions(e.t.Context(), e.mine.id, id, math.MaxInt32, 1000))(e.t)
}

// story tells of each revision, newest first, who made it, why, and what it changed.
func story(t *testing.T, list []catalog.Revision) []string {
	t.Helper()
	out := make([]string, 0, len(list))
	for i, r := range list {
		line := fmt.Sprint(r.Number, " ", r.ActorKind)
		if r.Reason != nil {
			line += fmt.Sprintf(" %q", *r.Reason)
		}
		if i+1 < len(list) {
			for _, c := range must(catalog.Differences(list[i+1].Snapshot, r.Snapshot))(t) {
				line += fmt.Sprintf(" %s:%s>%s", c.Field, c.Before, c.After)
			}
		}
		out = append(out, line)
	}
	return out
}

func wantStory(t *testing.T, list []catalog.Revision, want ...string) {
	t.Helper()
	if got := strings.Join(story(t, list), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the history is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestEveryChangeIsARevision(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.mine.admin.UserID = e.user("Ada")
		a := e.agent(catalog.NewAgent{
			Name: "Writer", SystemPrompt: "Write <b> & \u2028.", Tags: []string{"x"}, HarnessID: &e.mine.generic, DefaultModelID: &e.mine.model,
			Capabilities: []models.CapabilityRef{{ID: "tuned", Config: models.JSON(`{"level":1}`)}},
		})
		e.clock.Advance(1e9)
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{
			Description: catalog.Give(new("d")), MaxIterations: catalog.Give(new(3)), Reason: new("  too long \n"),
		}))(t)
		// Nothing changes, so there is nothing to keep.
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{MaxIterations: catalog.Give(new(3)), Reason: new("nothing")}))(t)
		must(e.svc.ArchiveAgent(ctx, e.mine.admin, a.ID))(t)
		must(e.svc.ArchiveAgent(ctx, e.mine.admin, a.ID))(t)
		must(e.svc.UnarchiveAgent(ctx, e.mine.admin, a.ID))(t)
		list := e.agentHistory(a.ID)
		wantStory(t, list,
			`4 USER lifecycle:"ARCHIVED">"ACTIVE"`,
			`3 USER lifecycle:"ACTIVE">"ARCHIVED"`,
			`2 USER "too long" description:null>"d" maxIterations:null>3`,
			`1 USER`)
		want := fmt.Sprintf(`{"name":"Writer","displayName":"Writer","description":null,"harnessId":%q,"systemPrompt":"Write <b> & \u2028.",`+
			`"capabilities":[{"id":"tuned","config":{"level":1}}],"defaultModelId":%q,"fallbackModelIds":[],"maxIterations":null,"tags":["x"],"lifecycle":"ACTIVE"}`,
			e.mine.generic, e.mine.model)
		first := list[len(list)-1]
		if string(first.Snapshot) != want || first.CreatedAt != a.CreatedAt || first.ActorID == nil || *first.ActorID != models.ActorID(e.mine.admin.UserID) {
			t.Errorf("the first revision is %+v\n%s\nwant\n%s", first, first.Snapshot, want)
		}
		if got := must(e.svc.Agent(ctx, e.mine.id, a.ID))(t); list[0].CreatedAt != got.UpdatedAt || list[0].Number != got.Revision {
			t.Errorf("the last revision is %+v, the agent %+v", list[0], got)
		}

		h := e.harness(catalog.NewHarness{Name: "h", ParentID: &e.mine.generic})
		must(e.svc.UpdateHarness(ctx, e.mine.admin, h.ID, catalog.HarnessChange{SystemPrompt: catalog.Give(new("p")), Reason: new("r")}))(t)
		must(e.svc.ArchiveHarness(ctx, e.mine.admin, h.ID))(t)
		history := e.harnessHistory(h.ID)
		wantStory(t, history, `3 USER lifecycle:"ACTIVE">"ARCHIVED"`, `2 USER "r" systemPrompt:null>"p"`, `1 USER`)
		if want := fmt.Sprintf(`{"name":"h","displayName":"h","description":null,"parentId":%q,"systemPrompt":null,"capabilities":[],`+
			`"defaultModelId":null,"fallbackModelIds":[],"maxIterations":null,"lifecycle":"ACTIVE"}`, e.mine.generic); string(history[2].Snapshot) != want {
			t.Errorf("got  %s\nwant %s", history[2].Snapshot, want)
		}
		wantStory(t, e.harnessHistory(e.mine.generic), `1 SYSTEM`)
	})
}

func TestARefusedChangeLeavesNoRevision(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		a, h := e.agent(catalog.NewAgent{Name: "a"}), e.harness(catalog.NewHarness{Name: "h"})
		for _, reason := range []string{strings.Repeat("ä", 501), "a\x00", "a\xff"} {
			_, err := e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("x")), Reason: &reason})
			wantFault(t, err, fault.Invalid, "input.reason")
			_, err = e.svc.UpdateHarness(ctx, e.mine.admin, h.ID, catalog.HarnessChange{SystemPrompt: catalog.Give(new("x")), Reason: &reason})
			wantFault(t, err, fault.Invalid, "input.reason")
			_, err = e.svc.RestoreAgent(ctx, e.mine.admin, a.ID, 1, &reason)
			wantFault(t, err, fault.Invalid, "reason")
			_, err = e.svc.RestoreHarness(ctx, e.mine.admin, h.ID, 1, &reason)
			wantFault(t, err, fault.Invalid, "reason")
		}
		_, err := e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("x")), Revision: new(7)})
		wantFault(t, err, fault.Conflict, "input.revision")
		wantStory(t, e.agentHistory(a.ID), `1 USER`)
		wantStory(t, e.harnessHistory(h.ID), `1 USER`)
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("x")), Reason: new(strings.Repeat("ä", 500))}))(t)
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("y")), Reason: new(" ")}))(t)
		if list := e.agentHistory(a.ID); *list[1].Reason != strings.Repeat("ä", 500) || list[0].Reason != nil {
			t.Errorf("the reasons are %v and %v", list[1].Reason, list[0].Reason)
		}
	})
}

// What was made before there were histories has the state before its first change in it, too.
func TestTheStateBeforeTheFirstKeptChangeIsKept(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		a, h := e.agent(catalog.NewAgent{Name: "a", SystemPrompt: "old"}), e.harness(catalog.NewHarness{Name: "h", SystemPrompt: new("old")})
		e.writeOwn(func(tx *gorm.DB) error {
			for _, id := range []models.HarnessID{h.ID, e.mine.generic} {
				if err := tx.Where("org_id = ? AND harness_id = ?", e.mine.id, id).Delete(&models.HarnessRevision{}).Error; err != nil {
					return err
				}
			}
			if err := tx.Model(&models.Harness{}).Where("org_id = ? AND id = ?", e.mine.id, e.mine.generic).
				Updates(map[string]any{"system_prompt": "as shipped long ago", "revision": 4}).Error; err != nil {
				return err
			}
			return tx.Where("org_id = ? AND agent_id = ?", e.mine.id, a.ID).Delete(&models.AgentRevision{}).Error
		})
		for _, prompt := range []string{"new", "newer"} {
			must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(&prompt)}))(t)
			must(e.svc.UpdateHarness(ctx, e.mine.admin, h.ID, catalog.HarnessChange{SystemPrompt: catalog.Give(&prompt)}))(t)
		}
		want := []string{`3 USER systemPrompt:"new">"newer"`, `2 USER systemPrompt:"old">"new"`, `1 SYSTEM`}
		wantStory(t, e.agentHistory(a.ID), want...)
		wantStory(t, e.harnessHistory(h.ID), want...)
		if got := must(e.svc.RestoreAgent(ctx, e.mine.admin, a.ID, 1, nil))(t); got.SystemPrompt != "old" || got.Revision != 4 {
			t.Errorf("restored to %+v", got)
		}

		for range 2 {
			if err := e.svc.RefreshBuiltIns(ctx); err != nil {
				t.Fatal(err)
			}
		}
		list := e.harnessHistory(e.mine.generic)
		if len(list) != 2 || list[0].Number != 5 || list[1].Number != 4 || list[0].ActorKind != models.ActorSystem || list[0].ActorID != nil ||
			!strings.Contains(string(list[1].Snapshot), "as shipped long ago") {
			t.Errorf("the history of a refreshed harness is %v", story(t, list))
		}
	})
}

func TestARevisionIsRestored(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		e.mine.member.UserID = e.user("Bob")
		provider := must(e.svc.Model(ctx, e.mine.id, e.mine.model))(t).ProviderID
		m := must(e.svc.CreateModel(ctx, e.mine.admin, catalog.NewModel{ProviderID: provider, Name: "sim-lorem:1"}))(t)
		h := e.harness(catalog.NewHarness{
			Name: "h", DisplayName: new("H"), Description: new("d"), ParentID: &e.mine.generic, SystemPrompt: new("p"), DefaultModelID: &m.ID,
			FallbackModelIDs: []models.ModelID{e.mine.model}, MaxIterations: new(4), Capabilities: refs("tuned"),
		})
		a := e.agent(catalog.NewAgent{
			Name: "a", DisplayName: new("A"), Description: new("d"), HarnessID: &h.ID, SystemPrompt: "p", DefaultModelID: &m.ID,
			FallbackModelIDs: []models.ModelID{e.mine.model, m.ID}, MaxIterations: new(4), Tags: []string{"t"},
			Capabilities: []models.CapabilityRef{{ID: "tuned", Config: models.JSON(`{"level":2}`)}},
		})
		must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{
			DisplayName: catalog.Give[*string](nil), Description: catalog.Give[*string](nil), HarnessID: catalog.Give[*models.HarnessID](nil),
			SystemPrompt: catalog.Give[*string](nil), Capabilities: catalog.Give[[]models.CapabilityRef](nil), DefaultModelID: catalog.Give[*models.ModelID](nil),
			FallbackModelIDs: catalog.Give[[]models.ModelID](nil), MaxIterations: catalog.Give[*int](nil), Tags: catalog.Give[[]string](nil),
		}))(t)
		must(e.svc.UpdateHarness(ctx, e.mine.admin, h.ID, catalog.HarnessChange{
			DisplayName: catalog.Give[*string](nil), Description: catalog.Give[*string](nil), SystemPrompt: catalog.Give[*string](nil),
			Capabilities: catalog.Give[[]models.CapabilityRef](nil), DefaultModelID: catalog.Give[*models.ModelID](nil),
			FallbackModelIDs: catalog.Give[[]models.ModelID](nil), MaxIterations: catalog.Give[*int](nil),
		}))(t)
		back := must(e.svc.RestoreAgent(ctx, e.mine.member, a.ID, 1, new(" it was better ")))(t)
		again := must(e.svc.RestoreAgent(ctx, e.mine.member, a.ID, 1, nil))(t)
		backH := must(e.svc.RestoreHarness(ctx, e.mine.member, h.ID, 1, new("too")))(t)
		if back.Revision != 3 || again.Revision != 3 || backH.Revision != 3 {
			t.Errorf("restored to %+v, %+v and %+v", back, again, backH)
		}
		for _, list := range [][]catalog.Revision{e.agentHistory(a.ID), e.harnessHistory(h.ID)} {
			if len(list) != 3 || string(list[0].Snapshot) != string(list[2].Snapshot) || string(list[1].Snapshot) == string(list[0].Snapshot) ||
				list[0].Reason == nil || list[0].ActorID == nil || *list[0].ActorID != models.ActorID(e.mine.member.UserID) {
				t.Errorf("the history is %v", story(t, list))
			}
		}
		// The row is what its last snapshot tells.
		got := must(e.svc.Agent(ctx, e.mine.id, a.ID))(t)
		if got.DisplayName != "A" || *got.HarnessID != h.ID || len(got.FallbackModelIDs) != 2 || got.Tags[0] != "t" || string(got.Capabilities[0].Config) != `{"level":2}` {
			t.Errorf("stored %+v", got)
		}
	})
}

func TestWhatCannotBeRestored(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		provider := must(e.svc.Model(ctx, e.mine.id, e.mine.model))(t).ProviderID
		m := must(e.svc.CreateModel(ctx, e.mine.admin, catalog.NewModel{ProviderID: provider, Name: "sim-lorem:1"}))(t)
		h := e.harness(catalog.NewHarness{Name: "h", DefaultModelID: &m.ID})
		must(e.svc.UpdateHarness(ctx, e.mine.admin, h.ID, catalog.HarnessChange{DefaultModelID: catalog.Give[*models.ModelID](nil)}))(t)
		fallback := e.agent(catalog.NewAgent{Name: "f", FallbackModelIDs: []models.ModelID{e.mine.model, m.ID}})
		must(e.svc.UpdateAgent(ctx, e.mine.admin, fallback.ID, catalog.AgentChange{FallbackModelIDs: catalog.Give[[]models.ModelID](nil)}))(t)
		on := e.harness(catalog.NewHarness{Name: "on"})
		hosted := e.agent(catalog.NewAgent{Name: "hosted", HarnessID: &on.ID})
		must(e.svc.UpdateAgent(ctx, e.mine.admin, hosted.ID, catalog.AgentChange{HarnessID: catalog.Give[*models.HarnessID](nil)}))(t)
		risky := e.agent(catalog.NewAgent{Name: "risky", Capabilities: refs("risky")})
		must(e.svc.UpdateAgent(ctx, e.mine.admin, risky.ID, catalog.AgentChange{Capabilities: catalog.Give[[]models.CapabilityRef](nil)}))(t)
		must(e.svc.UpdateModel(ctx, e.mine.admin, m.ID, catalog.ModelChange{Enabled: catalog.Give(new(false))}))(t)
		must(e.svc.ArchiveHarness(ctx, e.mine.admin, on.ID))(t)
		archived := e.agent(catalog.NewAgent{Name: "archived"})
		must(e.svc.ArchiveAgent(ctx, e.mine.admin, archived.ID))(t)
		vanished := e.agent(catalog.NewAgent{Name: "vanished"})
		must(e.svc.UpdateAgent(ctx, e.mine.admin, vanished.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("x"))}))(t)
		e.snapshot(vanished.ID, 1, `{"name":"vanished","displayName":"v","systemPrompt":"","capabilities":[{"id":"of-old"}],"tags":[]}`)
		unknown := e.agent(catalog.NewAgent{Name: "unknown"})
		must(e.svc.UpdateAgent(ctx, e.mine.admin, unknown.ID, catalog.AgentChange{SystemPrompt: catalog.Give(new("x"))}))(t)
		e.snapshot(unknown.ID, 1, fmt.Sprintf(`{"name":"unknown","displayName":"v","systemPrompt":"","fallbackModelIds":[%q]}`, models.NewID[models.ModelEntity]()))

		restoreAgent := func(id models.AgentID, n int) error {
			_, err := e.svc.RestoreAgent(ctx, e.mine.member, id, n, nil)
			return err
		}
		restoreHarness := func(id models.HarnessID, n int) error {
			_, err := e.svc.RestoreHarness(ctx, e.mine.member, id, n, nil)
			return err
		}
		wantFault(t, restoreHarness(h.ID, 1), fault.Dependency, "revision.defaultModelId")
		wantFault(t, restoreAgent(fallback.ID, 1), fault.Dependency, "revision.fallbackModelIds.1")
		wantFault(t, restoreAgent(hosted.ID, 1), fault.Dependency, "revision.harnessId")
		wantFault(t, restoreAgent(risky.ID, 1), fault.Forbidden, "revision.capabilities.0")
		wantFault(t, restoreAgent(vanished.ID, 1), fault.Invalid, "revision.capabilities.0.id")
		wantFault(t, restoreAgent(unknown.ID, 1), fault.Dependency, "revision.fallbackModelIds.0")
		wantFault(t, restoreAgent(archived.ID, 1), fault.Conflict, "id")
		wantFault(t, restoreHarness(on.ID, 1), fault.Conflict, "id")
		wantFault(t, restoreHarness(e.mine.generic, 1), fault.Forbidden, "id")
		for _, n := range []int{-1, 0, 3, math.MaxInt32} {
			wantFault(t, restoreAgent(risky.ID, n), fault.NotFound, "revision")
			wantFault(t, restoreHarness(h.ID, n), fault.NotFound, "revision")
		}
		wantFault(t, restoreAgent(models.NewID[models.AgentEntity](), 1), fault.NotFound, "id")
		if got := must(e.svc.Agent(ctx, e.mine.id, risky.ID))(t); got.Revision != 2 {
			t.Errorf("it became %+v", got)
		}
		// A restore brings nothing back from the archive, nor does it archive.
		must(e.svc.UnarchiveAgent(ctx, e.mine.admin, archived.ID))(t)
		if got := must(e.svc.RestoreAgent(ctx, e.mine.admin, archived.ID, 2, nil))(t); got.Lifecycle != models.LifecycleActive || got.Revision != 3 {
			t.Errorf("it became %+v", got)
		}
	})
}

func TestHistoriesStayInTheirOrganization(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		theirs := must(e.svc.CreateAgent(ctx, e.theirs.admin, catalog.NewAgent{Name: "a"}))(t)
		theirHarness := must(e.svc.CreateHarness(ctx, e.theirs.admin, catalog.NewHarness{Name: "h"}))(t)
		if list := e.agentHistory(theirs.ID); len(list) != 0 {
			t.Errorf("their history: %v", story(t, list))
		}
		if list := e.harnessHistory(theirHarness.ID); len(list) != 0 {
			t.Errorf("their history: %v", story(t, list))
		}
		if m := must(e.svc.NewestOfAgents(ctx, e.mine.id, []models.AgentID{theirs.ID}, 5))(t); len(m[theirs.ID]) != 0 {
			t.Errorf("their newest: %v", m)
		}
		if m := must(e.svc.NewestOfHarnesses(ctx, e.mine.id, []models.HarnessID{theirHarness.ID}, 5))(t); len(m[theirHarness.ID]) != 0 {
			t.Errorf("their newest: %v", m)
		}
		if m := must(e.svc.CountOfAgents(ctx, e.mine.id, []models.AgentID{theirs.ID}))(t); m[theirs.ID] != 0 {
			t.Errorf("their count: %v", m)
		}
		if m := must(e.svc.CountOfHarnesses(ctx, e.mine.id, []models.HarnessID{theirHarness.ID}))(t); m[theirHarness.ID] != 0 {
			t.Errorf("their count: %v", m)
		}
		_, err := e.svc.RestoreAgent(ctx, e.mine.admin, theirs.ID, 1, nil)
		wantFault(t, err, fault.NotFound, "id")
		_, err = e.svc.RestoreHarness(ctx, e.mine.admin, theirHarness.ID, 1, nil)
		wantFault(t, err, fault.NotFound, "id")
		if m := must(e.svc.NewestOfAgents(ctx, e.theirs.id, []models.AgentID{theirs.ID}, 5))(t); len(m[theirs.ID]) != 1 {
			t.Errorf("their own newest: %v", m)
		}
	})
}

func TestHistoriesOfSeveralAreReadTogether(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		ids := make([]models.AgentID, 0, 3)
		for i := range 3 {
			a := e.agent(catalog.NewAgent{Name: fmt.Sprint(i)})
			for n := range i * 2 {
				must(e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{MaxIterations: catalog.Give(new(n + 1))}))(t)
			}
			ids = append(ids, a.ID)
		}
		n := e.statements()
		found := must(e.svc.NewestOfAgents(ctx, e.mine.id, ids, 2))(t)
		count := must(e.svc.CountOfAgents(ctx, e.mine.id, ids))(t)
		if n.Load() != 2 {
			t.Errorf("%d statements", n.Load())
		}
		for i, want := range []string{"1", "3 2", "5 4"} {
			got := make([]string, 0, 2)
			for _, r := range found[ids[i]] {
				got = append(got, fmt.Sprint(r.Number))
			}
			if strings.Join(got, " ") != want || count[ids[i]] != i*2+1 {
				t.Errorf("%d: %v of %d", i, got, count[ids[i]])
			}
		}
	})
}

// Of changes and restores that happen at once, each that succeeds is one revision, and the last one is what is stored.
func TestConcurrentChangesAreAllKept(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		a := e.agent(catalog.NewAgent{Name: "a", SystemPrompt: "start"})
		const n = 6
		var wg sync.WaitGroup
		errs := make([]error, 2*n)
		for i := range n {
			wg.Go(func() {
				_, errs[i] = e.svc.UpdateAgent(ctx, e.mine.admin, a.ID, catalog.AgentChange{
					SystemPrompt: catalog.Give(new(fmt.Sprint("from ", i))), Revision: new(1), Reason: new(fmt.Sprint(i)),
				})
			})
			wg.Go(func() { _, errs[n+i] = e.svc.RestoreAgent(ctx, e.mine.admin, a.ID, 1, new("restore")) })
		}
		wg.Wait()
		won := 0
		for i, err := range errs {
			switch {
			case err == nil && i < n:
				won++
			case err == nil:
			case i < n:
				wantFault(t, err, fault.Conflict, "input.revision")
			default:
				t.Errorf("a restore failed: %v", err)
			}
		}
		got := must(e.svc.Agent(ctx, e.mine.id, a.ID))(t)
		list := e.agentHistory(a.ID)
		var last struct {
			SystemPrompt string `json:"systemPrompt"`
		}
		if err := json.Unmarshal(list[0].Snapshot, &last); err != nil {
			t.Fatal(err)
		}
		if won != 1 || len(list) != got.Revision || list[0].Number != got.Revision || last.SystemPrompt != got.SystemPrompt {
			t.Errorf("%d updates won, the agent is %+v, its history %v", won, got, story(t, list))
		}
	})
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{"a":1,"b":"x"}`, `{"a":1,"b":"x"}`, ``},
		{`{"a":1,"b":"x"}`, `{"b":"y","a":2}`, `b:"x">"y" a:1>2`},
		{`{"a":1}`, `{"a":1,"new":[]}`, `new:null>[]`},
		{`{"gone":true,"n":null}`, `{}`, `gone:true>null`},
	} {
		got := make([]string, 0, 2)
		for _, d := range must(catalog.Differences(models.JSON(c[0]), models.JSON(c[1])))(t) {
			got = append(got, fmt.Sprintf("%s:%s>%s", d.Field, d.Before, d.After))
		}
		if strings.Join(got, " ") != c[2] {
			t.Errorf("%s to %s: %v", c[0], c[1], got)
		}
	}
	if _, err := catalog.Differences(models.JSON(`[`), models.JSON(`{}`)); err == nil {
		t.Error("what is no snapshot has differences")
	}
}

// user adds a person.
func (e *env) user(name string) models.UserID {
	e.t.Helper()
	row := models.User{ID: models.NewID[models.UserEntity](), Name: name, Email: name + "@example.com", CreatedAt: 1}
	e.write(func(tx *gorm.DB) error { return tx.Create(&row).Error })
	return row.ID
}

// snapshot changes what a history holds, as if an older version had written it.
func (e *env) snapshot(id models.AgentID, number int, doc string) {
	e.t.Helper()
	e.writeOwn(func(tx *gorm.DB) error {
		return tx.Model(&models.AgentRevision{}).Where("org_id = ? AND agent_id = ? AND number = ?", e.mine.id, id, number).
			Update("snapshot", models.JSON(doc)).Error
	})
}
