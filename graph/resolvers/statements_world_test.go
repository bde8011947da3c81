package resolvers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store" //nolint:depguard // see above
)

// world makes an organization in which every list has n members, those of each parent, too.
type world struct {
	*api
	n    int
	org  models.OrgID
	me   *models.ActorID
	rows []any
	// tools is the hash of what the sessions bring.
	tools []byte
	// session is the id of one.
	session string
}

func newWorld(t *testing.T, db *store.DB, n int) *world {
	t.Helper()
	a := newAPI(t, db)
	a.asOwner()
	withAudit(t, a)
	withWebhooks(t, a)
	withBudgets(t, a)
	a.resolver.Usage = books.NewUsage(db, nil)
	withPayments(t, a)
	a.resolver.Log = events.NewLog(db)
	a.resolver.Secrets = plainSecrets{}
	at := clock.NewManual(time.UnixMilli(1_700_000_000_000))
	a.resolver.Sessions = sessions.New(sessions.Config{DB: db, Catalog: a.resolver.Catalog, Clock: at, Secrets: plainSecrets{}})
	w := &world{api: a, n: n, org: a.principal.OrgID, me: models.ActorID(a.principal.UserID).Ptr(), tools: []byte(strings.Repeat("h", 32))}
	w.people()
	for i := range n {
		a.delivered(a.webhook(fmt.Sprint("https://example.com/", i)), n)
		a.asked(a.policy("https://example.com/"), new(models.NewID[models.WaitEntity]()))
	}
	clientTools := models.ClientTools{}
	for i := range n {
		clientTools = append(clientTools, models.ClientTool{Name: fmt.Sprint("tool_", i), Description: "d", InputSchema: models.JSON(`{"type":"object"}`)})
	}
	w.add(&models.SessionSetup{OrgID: w.org, Hash: w.tools, Tools: clientTools})
	catalog := make([]catalogLine, n)
	var all []string
	for i := range n {
		catalog[i].provider(w, i)
		all = append(all, catalog[i].model.String())
	}
	standard, err := models.ParseID[models.ModelEntity](a.get(`{ org { defaultModel { id } } }`, nil, "org", "defaultModel", "id").(string))
	if err != nil {
		t.Fatal(err)
	}
	w.prices(standard)
	w.write()
	var last *models.SessionID
	for i := range n {
		catalog[i].agents(w, i, all)
		w.add(&models.UsageHour{
			OrgID: w.org, Hour: models.Millis(i) * 3_600_000, ModelID: catalog[i].model, AgentID: catalog[i].agent, UserID: w.principal.UserID,
			UsageSums: models.UsageSums{Turns: 1, CostNanos: 1},
		})
		for range n {
			last = w.work(catalog[i], last)
		}
	}
	w.session = last.String()
	w.budgets()
	err = db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		return tx.Model(&models.Org{}).Where("id = ?", w.org).Update("default_harness_id", catalog[0].harness).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) add(rows ...any) { w.rows = append(w.rows, rows...) }

// write puts all rows that were added into the database.
func (w *world) write() {
	w.t.Helper()
	create := func(rows []any) func(tx *gorm.DB) error {
		return func(tx *gorm.DB) error {
			for _, row := range rows {
				if err := tx.Create(row).Error; err != nil {
					return fmt.Errorf("%T: %w", row, err)
				}
			}
			return nil
		}
	}
	var own []any // closed to the role that works across organizations
	all := slices.DeleteFunc(w.rows, func(row any) bool {
		switch row.(type) {
		case *models.SavedView, *models.MessageWord, *models.IndexedSession:
			own = append(own, row)
			return true
		}
		return false
	})
	if err := errors.Join(w.db.WriteAcross(w.t.Context(), create(all)), w.db.Write(w.t.Context(), w.org, create(own))); err != nil {
		w.t.Fatal(err)
	}
	w.rows = nil
}

// people makes members, invitations, keys, sign-ins, and other organizations of the one who asks.
func (w *world) people() {
	for i := range w.n {
		w.colleague(fmt.Sprint("m", i), models.RoleMember)
		w.newKey(fmt.Sprint("key ", i), "ORG_READ")
		other := models.Org{ID: models.NewID[models.OrgEntity](), Name: "x", Slug: fmt.Sprint("x-", i), CreatedAt: 1}
		w.add(&other,
			&models.Membership{OrgID: other.ID, ID: models.NewID[models.MembershipEntity](), UserID: w.principal.UserID, Role: models.RoleOwner, CreatedAt: 1},
			&models.Invitation{
				OrgID: w.org, ID: models.NewID[models.InvitationEntity](), Email: fmt.Sprint(i, "@b"), EmailKey: fmt.Sprint(i, "@b"), Role: models.RoleMember,
				TokenHash: fmt.Appendf(nil, "%032d", i), CreatedAt: 1, ExpiresAt: 1_800_000_000_000,
			},
			&models.SavedView{
				OrgID: w.org, UserID: w.principal.UserID, ID: models.NewID[models.SavedViewEntity](), Name: fmt.Sprint(i), NameKey: fmt.Sprint(i),
				Search: "q=x", CreatedAt: 1, UpdatedAt: 1,
			},
			&models.SignIn{ID: models.NewID[models.SignInEntity](), UserID: w.principal.UserID, OrgID: w.org, Transport: "BODY", CreatedAt: 1, LastUsedAt: 1_700_000_000_000})
	}
}

// catalogLine is a provider, a model, a harness with a parent and an agent that belong together.
type catalogLine struct {
	model   models.ModelID
	harness models.HarnessID
	agent   models.AgentID
}

func (c *catalogLine) provider(w *world, i int) {
	p := models.Provider{OrgID: w.org, ID: models.NewID[models.ProviderEntity](), Name: fmt.Sprint("p", i), Kind: models.ProviderSimulated, Lifecycle: models.LifecycleActive}
	c.model = models.NewID[models.ModelEntity]()
	w.add(&p, &models.Model{OrgID: w.org, ID: c.model, ProviderID: p.ID, Name: fmt.Sprint("sim-lorem:", 100+i), DisplayName: "m", Enabled: true, PriceInput: new(models.Nanos(1)), PriceOutput: new(models.Nanos(1))})
	w.prices(c.model)
}

// prices gives a model n prices that it has had.
func (w *world) prices(m models.ModelID) {
	for i := range w.n {
		w.add(&models.ModelPrice{OrgID: w.org, ModelID: m, ValidFrom: models.Millis(10 + i), Input: new(models.Nanos(1)), Output: new(models.Nanos(1))})
	}
}

// agents makes the rest, with n revisions of each.
func (c *catalogLine) agents(w *world, i int, fallbacks []string) {
	w.t.Helper()
	capabilities := []any{map[string]any{"id": "files"}}
	in := func(name string, more map[string]any) map[string]any {
		m := map[string]any{"name": fmt.Sprint(name, "-", i), "defaultModelId": c.model.String(), "fallbackModelIds": fallbacks, "capabilities": capabilities}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	root := w.harness(in("root", nil))
	leaf := w.harness(in("leaf", map[string]any{"parentId": root}))
	tools := []any{}
	for j := range w.n {
		tools = append(tools, map[string]any{"name": fmt.Sprint("own_", j), "description": "d", "inputSchema": map[string]any{"type": "object"}})
	}
	agent := w.agent(in("agent", map[string]any{"systemPrompt": "", "harnessId": leaf, "clientTools": tools, "tags": []any{"x"}}))
	for j := range w.n {
		change := map[string]any{"in": map[string]any{"description": fmt.Sprint("d", j)}}
		for id, update := range map[string]string{
			agent: `mutation($id: ID!, $in: UpdateAgentInput!) { updateAgent(id: $id, input: $in) { agent { id } userErrors { message } } }`,
			root:  `mutation($id: ID!, $in: UpdateHarnessInput!) { updateHarness(id: $id, input: $in) { harness { id } userErrors { message } } }`,
			leaf:  `mutation($id: ID!, $in: UpdateHarnessInput!) { updateHarness(id: $id, input: $in) { harness { id } userErrors { message } } }`,
		} {
			change["id"] = id
			w.get(update, change)
		}
	}
	var err error
	if c.harness, err = models.ParseID[models.HarnessEntity](leaf); err != nil {
		w.t.Fatal(err)
	}
	if c.agent, err = models.ParseID[models.AgentEntity](agent); err != nil {
		w.t.Fatal(err)
	}
}

// work makes a session with turns, messages, events, files, a plan, and things that its active turn waits for.
func (w *world) work(c catalogLine, parent *models.SessionID) *models.SessionID {
	id := models.NewID[models.SessionEntity]()
	session := models.Session{
		OrgID: w.org, ID: id, HarnessID: c.harness, AgentID: &c.agent, ModelID: &c.model, Tags: []string{"x"}, Status: models.SessionWaiting,
		CreatedByKind: models.ActorUser, CreatedByID: w.me, OwnerID: &w.principal.UserID, Setup: w.tools, ParentID: parent, RootID: parent,
		ForkedFromID: parent, QueuedTurns: w.n,
	}
	var sequence int64
	owners := []any{&session} // what belongs to them comes after them
	message := func(turn models.TurnID, role models.MessageRole) models.MessageID {
		sequence++
		m := models.Message{
			OrgID: w.org, ID: models.NewID[models.MessageEntity](), SessionID: id, TurnID: turn, Role: role, Sequence: sequence, Position: new(sequence),
			Content: []models.Part{{Type: models.PartText, Text: strings.Repeat("x y ", w.n)}}, Error: &models.Failure{Code: "x", Message: "x"},
		}
		w.add(&m, &models.Event{OrgID: w.org, SessionID: id, Sequence: sequence, ID: models.NewID[models.EventEntity](), Kind: models.EventSessionTitleChanged, Data: models.JSON(`{"title":"t"}`), OccurredAt: 1, TurnID: &turn})
		return m.ID
	}
	turn := func(status models.TurnStatus, position int) *models.Turn {
		t := &models.Turn{
			OrgID: w.org, ID: models.NewID[models.TurnEntity](), SessionID: id, Status: status, Phase: models.PhaseAct, QueuePosition: int64(position),
			StartedByKind: models.ActorUser, StartedByID: w.me, Error: &models.Failure{Code: "x", Message: "x"}, Iteration: 1,
		}
		t.InputMessageID = message(t.ID, models.MessageUser)
		sequence++
		w.add(&models.Event{
			OrgID: w.org, SessionID: id, Sequence: sequence, ID: models.NewID[models.EventEntity](), Kind: models.EventReasonStarted,
			Data: models.JSON(`{"iteration":1}`), OccurredAt: 1, TurnID: &t.ID,
		})
		answer := message(t.ID, models.MessageAgent)
		t.FinalMessageID = &answer
		for range w.n {
			w.add(&models.Feedback{OrgID: w.org, TurnID: t.ID, ActorID: models.NewID[models.ActorEntity](), ActorKind: models.ActorUser, SessionID: id, Rating: new(models.RatingDown)})
		}
		owners = append(owners, t)
		return t
	}
	for i := range w.n {
		turn(models.TurnCompleted, 0)
		turn(models.TurnQueued, i+1)
		w.add(&models.SessionFile{OrgID: w.org, SessionID: id, Path: fmt.Sprint("/workspace/f", i), Directory: true})
	}
	current := turn(models.TurnWaiting, 0)
	session.CurrentTurnID, session.LastSequence = &current.ID, sequence
	for i := range w.n {
		wait := models.Wait{
			OrgID: w.org, ID: models.NewID[models.WaitEntity](), SessionID: id, TurnID: current.ID, Kind: models.WaitApproval, Identity: fmt.Sprint(i),
			State: models.WaitOpen, ToolCallID: new("c"), ToolName: new("t"),
			Request: models.JSON(`{"arguments":{"a":1},"quorum":9,"payment":{"key":"k","tool":"t","host":"h.test","amount":1,"purpose":"p"}}`),
		}
		w.add(&wait)
		for range w.n {
			w.add(&models.ApprovalDecision{OrgID: w.org, WaitID: wait.ID, ActorID: models.NewID[models.ActorEntity](), ActorKind: models.ActorUser, Approve: true})
		}
	}
	plan := models.SessionTodos{OrgID: w.org, SessionID: id}
	for range w.n {
		plan.Items = append(plan.Items, models.Todo{Content: "x", Status: "PENDING"})
	}
	w.add(&models.MessageWord{OrgID: w.org, Word: "x", SessionID: id, Position: 1}, &models.IndexedSession{
		OrgID: w.org, SessionID: id, Position: sequence, Words: 1, Preview: new("x"), ActiveAt: 1, Outcome: new(models.TurnCompleted), ModelID: &c.model,
	})
	w.add(&plan, &models.SessionUsageHour{OrgID: w.org, Hour: 3_600_000, SessionID: id, ModelID: c.model, AgentID: c.agent, UserID: w.principal.UserID})
	w.rows = append(owners, w.rows...)
	w.write()
	return &id
}

// budgets makes budgets that bind the session, with postings.
func (w *world) budgets() {
	for range w.n {
		id := w.budget(map[string]any{"period": map[string]any{"kind": "CALENDAR", "unit": "DAY"}})
		for range w.n {
			w.get(topUpBudget, map[string]any{"in": map[string]any{"budgetId": id, "amount": "1"}})
		}
	}
}
