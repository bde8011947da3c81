package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// audited returns what the audit log of an organization has to tell, as "action details".
func (e *env) audited(org models.OrgID, target string) []string {
	e.t.Helper()
	var list []models.AuditEntry
	if err := store.Of(e.db.ReadAcross(e.t.Context()), org).Where("target_id = ?", target).Order("position").Find(&list).Error; err != nil {
		e.t.Fatal(err)
	}
	var out []string
	for _, a := range list {
		if a.ActorKind != models.ActorUser || a.ActorID == nil || *a.ActorID != models.ActorID(e.mine.admin.UserID) {
			e.t.Errorf("%s: got the actor %s %v", a.Action, a.ActorKind, a.ActorID)
		}
		out = append(out, a.Action+" "+a.Details)
	}
	return out
}

func TestTheCatalogIsAudited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e := newEnv(t, db)
		e.mine.admin.UserID = models.NewID[models.UserEntity]()
		ctx, by := t.Context(), e.mine.admin
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		text := func(s string) *string { return &s }

		p, err := e.svc.CreateProvider(ctx, by, catalog.NewProvider{Name: "own", Kind: models.ProviderOpenAI, APIKey: text("sk-secret-1")})
		must(err)
		for range 2 { // a name that it has already is no change
			_, err = e.svc.UpdateProvider(ctx, by, p.ID, catalog.ProviderChange{Name: catalog.Give(text("renamed"))})
			must(err)
		}
		_, err = e.svc.UpdateProvider(ctx, by, p.ID, catalog.ProviderChange{APIKey: catalog.Give(text("sk-secret-2"))})
		must(err)
		m, err := e.svc.CreateModel(ctx, by, catalog.NewModel{ProviderID: p.ID, Name: "some-model"})
		must(err)
		off := false
		for range 2 {
			_, err = e.svc.UpdateModel(ctx, by, m.ID, catalog.ModelChange{Enabled: catalog.Give(&off)})
			must(err)
		}
		for range 2 {
			_, err = e.svc.ArchiveProvider(ctx, by, p.ID)
			must(err)
		}
		h, err := e.svc.CreateHarness(ctx, by, catalog.NewHarness{Name: "mine"})
		must(err)
		a, err := e.svc.CreateAgent(ctx, by, catalog.NewAgent{Name: "agent", SystemPrompt: "One."})
		must(err)
		for range 2 {
			_, err = e.svc.UpdateHarness(ctx, by, h.ID, catalog.HarnessChange{SystemPrompt: catalog.Give(text("Two.")), Description: catalog.Give(text("d"))})
			must(err)
			_, err = e.svc.UpdateAgent(ctx, by, a.ID, catalog.AgentChange{SystemPrompt: catalog.Give(text("Two."))})
			must(err)
		}
		_, err = e.svc.RestoreHarness(ctx, by, h.ID, 1, nil)
		must(err)
		_, err = e.svc.RestoreAgent(ctx, by, a.ID, 1, nil)
		must(err)
		for range 2 {
			_, err = e.svc.ArchiveHarness(ctx, by, h.ID)
			must(err)
			_, err = e.svc.ArchiveAgent(ctx, by, a.ID)
			must(err)
		}
		_, err = e.svc.UnarchiveHarness(ctx, by, h.ID)
		must(err)
		_, err = e.svc.UnarchiveAgent(ctx, by, a.ID)
		must(err)

		for target, want := range map[string][]string{
			p.ID.String(): {
				`provider.created {"kind":"OPENAI","name":"own"}`, `provider.updated {"fields":["name"]}`, `provider.updated {"fields":["apiKey"]}`,
				`provider.archived {}`,
			},
			m.ID.String(): {
				fmt.Sprintf(`model.created {"name":"some-model","provider":%q}`, p.ID), `model.updated {"fields":["enabled"]}`,
			},
			h.ID.String(): {
				`harness.created {"name":"mine","revision":1}`, `harness.updated {"fields":["description","systemPrompt"],"revision":2}`,
				`harness.restored {"fields":["description","systemPrompt"],"from":1,"revision":3}`,
				`harness.archived {"fields":["lifecycle"],"revision":4}`, `harness.unarchived {"fields":["lifecycle"],"revision":5}`,
			},
			a.ID.String(): {
				`agent.created {"name":"agent","revision":1}`, `agent.updated {"fields":["systemPrompt"],"revision":2}`,
				`agent.restored {"fields":["systemPrompt"],"from":1,"revision":3}`,
				`agent.archived {"fields":["lifecycle"],"revision":4}`, `agent.unarchived {"fields":["lifecycle"],"revision":5}`,
			},
		} {
			if got := e.audited(e.mine.id, target); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		}
	})
}

func TestWhatFailedIsNotAudited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		e := newEnv(t, db)
		ctx, by := t.Context(), e.mine.admin
		count := func() int64 {
			var n int64
			if err := store.Of(db.ReadAcross(ctx).Model(&models.AuditEntry{}), e.mine.id).Count(&n).Error; err != nil {
				t.Fatal(err)
			}
			return n
		}
		a, err := e.svc.CreateAgent(ctx, by, catalog.NewAgent{Name: "agent"})
		if err != nil {
			t.Fatal(err)
		}
		before := count()
		if _, err := e.svc.CreateAgent(ctx, by, catalog.NewAgent{Name: "agent"}); !fault.Is(err, fault.Taken) {
			t.Errorf("a name in use: got %v", err)
		}
		if _, err := e.svc.ArchiveAgent(ctx, e.theirs.admin, a.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("another organization's agent: got %v", err)
		}
		old := 7
		if _, err := e.svc.UpdateAgent(ctx, by, a.ID, catalog.AgentChange{Revision: &old}); !fault.Is(err, fault.Conflict) {
			t.Errorf("another revision: got %v", err)
		}
		if after := count(); before != 1 || after != before {
			t.Errorf("there are %d entries, and were %d", after, before)
		}
	})
}
