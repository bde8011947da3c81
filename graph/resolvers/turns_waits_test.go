package resolvers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/graph/resolvers"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

type plainSecrets struct{}

func (plainSecrets) Get(_ context.Context, org models.OrgID, name string) ([]byte, error) {
	return append([]byte(name), org[:]...), nil
}

func (plainSecrets) Rotate(context.Context, models.OrgID, string) ([]byte, error) {
	return []byte("new"), nil
}

var _ resolvers.Secrets = plainSecrets{}

// withWaits puts n sessions whose turns wait for one thing of each kind. Who started the turns is the caller.
func withWaits(t *testing.T, a *api, n int) (turns []models.TurnID) {
	t.Helper()
	a.resolver.Sessions = sessions.New(sessions.Config{DB: a.db, Catalog: a.resolver.Catalog, Clock: clock.System{}, Secrets: plainSecrets{}})
	a.resolver.Secrets = plainSecrets{}
	agent := a.agent(map[string]any{"name": fmt.Sprint("a", n), "systemPrompt": ""})
	for range n {
		session, err := models.ParseID[models.SessionEntity](a.session(agent))
		if err != nil {
			t.Fatal(err)
		}
		org := a.principal.OrgID
		turn := models.Turn{
			OrgID: org, ID: models.NewID[models.TurnEntity](), SessionID: session, Status: models.TurnWaiting, Phase: models.PhaseAct,
			InputMessageID: models.NewID[models.MessageEntity](), StartedByKind: models.ActorUser, StartedByID: models.ActorID(a.principal.UserID).Ptr(),
		}
		turns = append(turns, turn.ID)
		rows := []any{&turn}
		for i, kind := range []models.WaitKind{models.WaitClientTool, models.WaitApproval, models.WaitQuestion, models.WaitCompletion} {
			w := models.Wait{
				OrgID: org, ID: models.NewID[models.WaitEntity](), SessionID: session, TurnID: turn.ID, Kind: kind, Identity: string(kind),
				State: models.WaitOpen, ToolCallID: new("c"), ToolName: new("t"), CreatedAt: models.Millis(i),
				Request: models.JSON(`{"arguments":{"a":1},"question":"Why?","options":["x"],"quorum":2,"role":"ADMIN","reason":"Rule 1."}`),
			}
			if kind == models.WaitApproval {
				w.Request = models.JSON(strings.TrimSuffix(string(w.Request), "}") +
					`,"payment":{"key":"k","tool":"t","host":"example.com","amount":12500000000,"purpose":"books"}}`)
			}
			rows = append(rows, &w)
			if kind == models.WaitApproval {
				rows = append(rows, &models.ApprovalDecision{OrgID: org, WaitID: w.ID, ActorID: models.NewID[models.ActorEntity](), ActorKind: models.ActorUser, Approve: true})
			}
		}
		err = a.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			for _, row := range rows {
				if err := tx.Create(row).Error; err != nil {
					return err
				}
			}
			return store.Of(tx.Model(&models.Session{}), org).Where("id = ?", session).Update("current_turn_id", turn.ID).Error
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return turns
}

const allOfWaits = `{ waits(first: 50) { totalCount nodes { id kind arguments payment { amount currency host purpose } question options quorum requiredRole state viewerMayResolve token
	session { id waits { id } } turn { id status waits { kind } } decisions { approve } } } }`

func TestWaitsOfTheOrganization(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		a.principal.UserID = models.NewID[models.UserEntity]()
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Create(&models.User{ID: a.principal.UserID, Email: "a@b", EmailKey: "a@b"}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		withWaits(t, a, 1)
		data, err := a.run(allOfWaits, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"totalCount":4`, `"quorum":2`, `"requiredRole":"ADMIN"`, `"arguments":{"a":1}`, `"options":["x"]`,
			`"payment":{"amount":"12.5","currency":"usd","host":"example.com","purpose":"books"}`, `"payment":null`, `"decisions":[{"approve":true}]`, `"token":"ostw_`} {
			if !strings.Contains(data, want) {
				t.Errorf("%s lacks %s", data, want)
			}
		}
		// One's own approval is not for oneself to decide, everything else is.
		if strings.Count(data, `"viewerMayResolve":true`) != 3 || strings.Count(data, `"token":null`) != 3 {
			t.Errorf("got %s", data)
		}
		some, err := a.run(`{ waits(kinds: [APPROVAL]) { totalCount nodes { id } } none: waits(kinds: []) { totalCount nodes { id } } }`, nil)
		if err != nil || strings.Count(some, `"id"`) != 1 || !strings.Contains(some, `"none":{"totalCount":0,"nodes":[]}`) {
			t.Errorf("%s, %v", some, err)
		}
		// Past approvals are a list of their own.
		past, err := a.run(`{ waits(decided: true) { totalCount nodes { id } } none: waits(decided: true, kinds: []) { totalCount } }`, nil)
		if err != nil || past != `{"waits":{"totalCount":0,"nodes":[]},"none":{"totalCount":0}}` {
			t.Errorf("%s, %v", past, err)
		}
		if _, err := a.run(`{ waits(decided: true, kinds: [QUESTION]) { totalCount } }`, nil); err == nil || !strings.Contains(err.Error(), "Only approvals") {
			t.Errorf("got %v", err)
		}
		err = db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return store.Of(tx.Model(&models.Wait{}), a.principal.OrgID).Where("kind = 'APPROVAL'").Update("state", models.WaitOK).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		past, err = a.run(`{ waits(decided: true, kinds: [APPROVAL]) { totalCount nodes { state reason decisions { approve } } } }`, nil)
		if err != nil || past != `{"waits":{"totalCount":1,"nodes":[{"state":"OK","reason":"Rule 1.","decisions":[{"approve":true}]}]}}` {
			t.Errorf("%s, %v", past, err)
		}
		err = db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return store.Of(tx.Model(&models.Wait{}), a.principal.OrgID).Where("kind = 'APPROVAL'").Update("state", models.WaitOpen).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		// Two pages.
		cursor, _ := a.get(`{ waits(first: 3) { pageInfo { hasNextPage endCursor } } }`, nil, "waits", "pageInfo", "endCursor").(string)
		page, err := a.run(`query($c: Cursor) { waits(first: 3, after: $c) { nodes { kind } pageInfo { hasNextPage } } }`, map[string]any{"c": cursor})
		if err != nil || page != `{"waits":{"nodes":[{"kind":"CLIENT_TOOL"}],"pageInfo":{"hasNextPage":false}}}` {
			t.Errorf("%s, %v", page, err)
		}

		// Viewers see what is waited for, and no tokens.
		a.principal.Role, a.principal.Permissions = models.RoleViewer, auth.RolePermissions(models.RoleViewer, false)
		data, err = a.run(allOfWaits, nil)
		if err != nil || strings.Contains(data, "ostw_") || strings.Contains(data, `"viewerMayResolve":true`) {
			t.Errorf("%s, %v", data, err)
		}
		id, _ := a.get(`{ waits(first: 1) { nodes { id } } }`, nil, "waits", "nodes").([]any)
		node := fmt.Sprintf(`{ node(id: %q) { id ... on Wait { kind } } }`, id[0].(map[string]any)["id"])
		if data, err = a.run(node, nil); err != nil || !strings.Contains(data, `"kind":"COMPLETION"`) {
			t.Errorf("%s, %v", data, err)
		}
		a.principal.OrgID = models.NewID[models.OrgEntity]()
		if data, err = a.run(node, nil); err != nil || data != `{"node":null}` {
			t.Errorf("%s, %v", data, err)
		}
		if data, err = a.run(allOfWaits, nil); err != nil || !strings.Contains(data, `"totalCount":0`) {
			t.Errorf("%s, %v", data, err)
		}
	})
}

func TestTheStatementsOfWaitsDoNotGrowWithThePage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withWaits(t, a, 1)
		n := a.statements()
		if _, err := a.run(allOfWaits, nil); err != nil {
			t.Fatal(err)
		}
		few := n.Swap(0)
		withWaits(t, a, 8)
		n.Store(0)
		if _, err := a.run(allOfWaits, nil); err != nil {
			t.Fatal(err)
		}
		if many := n.Load(); many != few {
			t.Errorf("%d statements for one session, %d for nine", few, many)
		}
	})
}

func TestTheHookSecretIsShownOnce(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t))
	a.resolver.Secrets = plainSecrets{}
	if got := a.get(`mutation { rotateHookSecret { secret userErrors { code } } }`, nil, "rotateHookSecret", "secret"); got != "bmV3" {
		t.Errorf("got %v", got)
	}
}
