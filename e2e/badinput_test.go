package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
)

// tenant is an organization with one of each thing.
type tenant struct {
	*client
	ids map[string]string
}

func newTenant(t *testing.T, c *client) *tenant {
	t.Helper()
	tt := &tenant{c, map[string]string{"org": c.Org}}
	hook := c.webhook(t, "https://hooks.invalid/"+c.Org, "TURN_COMPLETED")
	agent := c.agent(t, "echo", "sim-echo", "core", "files")
	session := c.session(t, agent)
	s := c.subscribe(t, session, 0)
	turn := c.message(t, session, "hello")
	s.untilKind(t, "SESSION_IDLED", 1)
	tt.ids["hook"], tt.ids["dlv"] = hook, c.attempted(t, hook)
	var found struct {
		Turn struct {
			InputMessage struct{ ID string }
			Session      struct {
				Harness struct{ ID string }
			}
		}
		Models  struct{ Nodes []struct{ ID string } }
		Made    struct{ Harness struct{ ID string } }
		MadeToo struct{ Provider struct{ ID string } }
		Viewer  struct{ User struct{ ID, Email string } }
	}
	c.do(t, `query($id: ID!) { turn(id: $id) { inputMessage { id } session { harness { id } } } models { nodes { id } } viewer { user { id email } } }`,
		map[string]any{"id": turn}, &found)
	c.do(t, `mutation { made: createHarness(input: {name: "mine"}) { harness { id } userErrors { code message } }
		madeToo: createProvider(input: {name: "mine", kind: SIMULATED}) { provider { id } userErrors { code message } } }`, nil, &found)
	tt.ids["agent"], tt.ids["sess"] = agent, session
	tt.ids["msg"], tt.ids["harn"] = found.Turn.InputMessage.ID, found.Made.Harness.ID
	tt.ids["model"], tt.ids["prov"] = found.Models.Nodes[0].ID, found.MadeToo.Provider.ID
	tt.ids["img"] = c.upload(t, onePixel(t))
	_, key := c.apiKey(t, "ORG_READ")
	tt.ids["key"] = key.ID
	somebody, _ := c.newMember(t, c.Org+"@example.com", "VIEWER")
	var devices struct{ SignIns []struct{ ID string } }
	somebody.do(t, `{ signIns { id } }`, nil, &devices)
	tt.ids["signin"] = devices.SignIns[0].ID
	tt.ids["user"] = found.Viewer.User.ID
	tt.ids["mship"], tt.ids["inv"] = c.membership(t, found.Viewer.User.Email), c.invitation(t, "invited@example.com")
	var log struct {
		AuditEntries struct{ Nodes []struct{ ID string } }
	}
	c.do(t, `{ auditEntries(first: 1) { nodes { id } } }`, nil, &log)
	tt.ids["audit"] = log.AuditEntries.Nodes[0].ID

	tt.budget(t, map[string]any{"subject": "CUSTOMER", "subjectId": "somebody", "currency": "tokens", "limit": "1000000"}, "a gift")

	tt.policy(t, "https://pay.invalid/"+c.Org)
	var saved struct {
		SaveView struct{ View struct{ ID string } }
	}
	c.do(t, `mutation { saveView(input: {name: "mine", search: "status=IDLE"}) { view { id } userErrors { code message path } } }`, nil, &saved)
	tt.ids["view"] = saved.SaveView.View.ID

	// A session whose turn waits for an answer, with another turn in line.
	asking := c.session(t, c.agentOf(t, "asks", map[string]any{"capabilities": []any{map[string]any{"id": "ask_user"}}}))
	s = c.subscribe(t, asking, 0)
	tt.ids["turn"] = c.message(t, asking, script(`{"name": "ask_user", "arguments": {"question": "Which colour?"}}`))
	s.untilKind(t, "SESSION_WAITING", 1)
	tt.ids["wait"] = c.waits(t, asking)[0].ID
	var queued struct {
		SendMessage struct{ Turn struct{ ID string } }
	}
	c.do(t, `mutation($id: ID!) { sendMessage(input: {sessionId: $id, content: [{text: "next"}], delivery: QUEUE}) {
		turn { id } userErrors { code message } } }`, map[string]any{"id": asking}, &queued)
	tt.ids["asking"], tt.ids["queued"] = asking, queued.SendMessage.Turn.ID
	return tt
}

// budget makes a budget, tops it up, and keeps the ids of both in ids.
func (tt *tenant) budget(t *testing.T, in map[string]any, description string) {
	t.Helper()
	var out struct {
		CreateBudget struct{ Budget struct{ ID string } }
		TopUpBudget  struct {
			Budget struct {
				Ledger struct{ Nodes []struct{ ID string } }
			}
		}
	}
	tt.do(t, `mutation($in: CreateBudgetInput!) { createBudget(input: $in) { budget { id } userErrors { code message path } } }`, map[string]any{"in": in}, &out)
	tt.ids["bdgt"] = out.CreateBudget.Budget.ID
	tt.do(t, `mutation($in: TopUpBudgetInput!) { topUpBudget(input: $in) { budget { ledger { nodes { id } } } userErrors { code message path } } }`,
		map[string]any{"in": map[string]any{"budgetId": tt.ids["bdgt"], "amount": "5", "description": description}}, &out)
	tt.ids["ldgr"] = out.TopUpBudget.Budget.Ledger.Nodes[0].ID
}

// policy makes a payment policy, and keeps its id.
func (tt *tenant) policy(t *testing.T, url string) {
	t.Helper()
	var out struct {
		CreatePaymentPolicy struct{ Policy struct{ ID string } }
	}
	tt.do(t, `mutation($url: String!) { createPaymentPolicy(input: {name: "pays", capabilities: ["core"], hosts: ["shop.invalid"], url: $url,
		secret: "a secret of the rail, long enough", maxPerRequest: "1", maxPerTurn: "2", maxPerDay: "3"}) { policy { id } userErrors { code message path } } }`,
		map[string]any{"url": url}, &out)
	tt.ids["ppol"] = out.CreatePaymentPolicy.Policy.ID
	// No built-in tool pays, so that there is no payment: the id is one that there might be.
	tt.ids["pay"] = "pay_" + strings.TrimPrefix(tt.ids["ppol"], "ppol_")
}

// webhook makes a webhook.
func (c *client) webhook(t *testing.T, url string, kinds ...string) string {
	t.Helper()
	var out struct {
		CreateWebhook struct{ Webhook struct{ ID string } }
	}
	c.do(t, `mutation($in: CreateWebhookInput!) { createWebhook(input: $in) { webhook { id } userErrors { code message path } } }`,
		map[string]any{"in": map[string]any{"url": url, "kinds": kinds}}, &out)
	return out.CreateWebhook.Webhook.ID
}

// attempted waits for the first attempt of a webhook's delivery, and disables the webhook, so that it is the last one, too.
func (c *client) attempted(t *testing.T, hook string) (delivery string) {
	t.Helper()
	eventually(t, "the webhook is told of the turn", func() error {
		var out struct {
			Node struct {
				Deliveries struct {
					Nodes []struct {
						ID       string
						Attempts int
					}
				}
			}
		}
		c.do(t, `query($id: ID!) { node(id: $id) { ... on Webhook { deliveries { nodes { id attempts } } } } }`, map[string]any{"id": hook}, &out)
		if list := out.Node.Deliveries.Nodes; len(list) == 1 && list[0].Attempts > 0 {
			delivery = list[0].ID
			return nil
		}
		return errNotYet
	})
	c.do(t, `mutation($id: ID!) { updateWebhook(id: $id, input: {enabled: false}) { userErrors { code message } } }`, map[string]any{"id": hook}, nil)
	return delivery
}

// state is everything that a request could have changed, as one text.
func (tt *tenant) state(t *testing.T) string {
	t.Helper()
	var out json.RawMessage
	tt.do(t, `query($session: ID!, $asking: ID!, $agent: ID!, $harness: ID!) {
		viewer { org { name slug defaultHarness { id } defaultModel { id } limits { sessions agents requestsPerMinute sockets } } orgs { id } }
		apiKeys { nodes { id revokedAt } } org { members { nodes { id role } } } invitations { nodes { id revokedAt } }
		agents(includeArchived: true) { totalCount } harnesses(includeArchived: true) { totalCount }
		providers { totalCount nodes { id name lifecycle hasCredentials } } models { totalCount nodes { id displayName enabled } } sessions { totalCount }
		agent(id: $agent) { revision name displayName systemPrompt lifecycle updatedAt }
		harness(id: $harness) { revision name lifecycle updatedAt }
		session(id: $session) { title tags status lastSequence updatedAt agent { id } model { id } usage { inputTokens outputTokens }
			messages { totalCount } turns { totalCount nodes { id status } } queuedTurns { id } files { path hash } events(last: 1) { nodes { sequence kind } } }
		asking: session(id: $asking) { status lastSequence updatedAt turns { nodes { id status } } queuedTurns { id } waits { id state } }
		webhooks { id url kinds enabled deliveries { nodes { id attempts nextAttemptAt } } }
		budgets { totalCount nodes { id limit softLimit credits spent period { kind } status updatedAt ledger { totalCount } } }
	}`, map[string]any{"session": tt.ids["sess"], "asking": tt.ids["asking"], "agent": tt.ids["agent"], "harness": tt.ids["harn"]}, &out)
	return string(out)
}

// idCases are operations that take an id of each kind, one at a time: %s is where it goes. Together with the schema's test
// below they cover every argument and input field that is an id.
var idCases = []struct{ arg, prefix, query string }{
	{"Query.node(id)", "agent", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "sess", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "turn", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "wait", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "msg", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "harn", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "model", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "prov", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "key", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "org", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "mship", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "inv", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "audit", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "hook", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "bdgt", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.node(id)", "ldgr", `query($id: ID!) { node(id: $id) { id } }`},
	{"Query.budget(id)", "bdgt", `query($id: ID!) { budget(id: $id) { id } }`},
	{"Query.budgetCheck(sessionId)", "sess", `query($id: ID!) { budgetCheck(sessionId: $id) { status hint budgets { percentRemaining } } }`},
	{"Mutation.updateBudget(id)", "bdgt", `mutation($id: ID!) { updateBudget(id: $id, input: {limit: "7", softLimit: "1"}) { budget { id } userErrors { code path } } }`},
	{"Mutation.disableBudget(id)", "bdgt", `mutation($id: ID!) { disableBudget(id: $id) { budget { id } userErrors { code path } } }`},
	{"Mutation.updatePaymentPolicy(id)", "ppol", `mutation($id: ID!) { updatePaymentPolicy(id: $id, input: {enabled: false}) { policy { id } userErrors { code path } } }`},
	{"Mutation.deletePaymentPolicy(id)", "ppol", `mutation($id: ID!) { deletePaymentPolicy(id: $id) { deletedId userErrors { code path } } }`},
	{"Mutation.settlePayment(id)", "pay", `mutation($id: ID!) { settlePayment(id: $id, input: {paid: false}) { payment { id } userErrors { code path } } }`},
	{"TopUpBudgetInput.budgetId", "bdgt", `mutation($id: ID!) { topUpBudget(input: {budgetId: $id, amount: "1"}) { budget { id } userErrors { code path } } }`},
	{"Mutation.resumeSession(sessionId)", "sess", `mutation($id: ID!) { resumeSession(sessionId: $id) { session { id } userErrors { code path } } }`},
	{"Mutation.updateWebhook(id)", "hook", `mutation($id: ID!) { updateWebhook(id: $id, input: {enabled: true, rotateSecret: true}) { webhook { id } secret userErrors { code path } } }`},
	{"Mutation.deleteWebhook(id)", "hook", `mutation($id: ID!) { deleteWebhook(id: $id) { deletedId userErrors { code path } } }`},
	{"Mutation.saveView(id)", "view", `mutation($id: ID!) { saveView(id: $id, input: {name: "theirs", search: ""}) { view { id } userErrors { code path } } }`},
	{"Mutation.deleteSavedView(id)", "view", `mutation($id: ID!) { deleteSavedView(id: $id) { deletedId userErrors { code path } } }`},
	{"Mutation.testWebhook(id)", "hook", `mutation($id: ID!) { testWebhook(id: $id) { webhook { id } userErrors { code path } } }`},
	{"Webhook.delivery(id)", "dlv", `query($id: ID!, $hook: ID!) { node(id: $hook) { ... on Webhook { delivery(id: $id) { id payload } } } }`},
	{"Mutation.replayDelivery(id)", "dlv", `mutation($id: ID!) { replayDelivery(id: $id) { webhook { id } userErrors { code path } } }`},
	// Operators, as the person of this test is one, may name any organization. TestEveryFieldAsEverybody asks as an owner who is none.
	{"Mutation.updateOrgLimits(orgId)", "", `mutation($id: ID!) { updateOrgLimits(orgId: $id, input: {sessions: 1}) { org { id } userErrors { code path } } }`},
	// The person of this test is in both organizations.
	{"AuditFilter.actorId", "", `query($id: ID!) { auditEntries(filter: {actorId: $id}) { nodes { id } } }`},
	{"Query.models(providerId)", "prov", `query($id: ID!) { models(providerId: $id) { nodes { id } totalCount } }`},
	{"Query.previewEffectiveConfig(harnessId)", "harn", `query($id: ID!) { previewEffectiveConfig(harnessId: $id) { systemPrompt } }`},
	{"Query.previewEffectiveConfig(sessionId)", "sess", `query($id: ID!) { previewEffectiveConfig(sessionId: $id) { systemPrompt } }`},
	{"CreateAgentInput.harnessId", "harn", `query($id: ID!) { previewEffectiveConfig(agent: {name: "x", systemPrompt: "", harnessId: $id}) { systemPrompt } }`},
	{"CreateAgentInput.defaultModelId", "model", `query($id: ID!) { previewEffectiveConfig(agent: {name: "x", systemPrompt: "", defaultModelId: $id}) { systemPrompt model { id } } }`},
	{"Query.harness(id)", "harn", `query($id: ID!) { harness(id: $id) { id } }`},
	{"Query.agent(id)", "agent", `query($id: ID!) { agent(id: $id) { id } }`},
	{"Query.session(id)", "sess", `query($id: ID!) { session(id: $id) { id } }`},
	{"Query.turn(id)", "turn", `query($id: ID!) { turn(id: $id) { id } }`},
	{"SessionFilter.agentId", "agent", `query($id: ID!) { sessions(filter: {agentId: $id}) { nodes { id } totalCount } }`},
	{"SessionFilter.harnessId", "harn", `query($id: ID!) { sessions(filter: {harnessId: $id}) { nodes { id } totalCount } }`},
	{"SessionFilter.modelId", "model", `query($id: ID!) { sessions(filter: {modelId: $id}) { nodes { id } totalCount } }`},
	{"Mutation.revokeApiKey(id)", "key", `mutation($id: ID!) { revokeApiKey(id: $id) { apiKey { id } userErrors { code path } } }`},
	{"UpdateOrgInput.defaultHarnessId", "harn", `mutation($id: ID!) { updateOrg(input: {defaultHarnessId: $id}) { org { id } userErrors { code path } } }`},
	{"UpdateOrgInput.defaultModelId", "model", `mutation($id: ID!) { updateOrg(input: {defaultModelId: $id}) { org { id } userErrors { code path } } }`},
	{"Mutation.revokeSignIn(id)", "signin", `mutation($id: ID!) { revokeSignIn(id: $id) { ok userErrors { code path } } }`},
	{"Mutation.revokeInvitation(id)", "inv", `mutation($id: ID!) { revokeInvitation(id: $id) { invitation { id } userErrors { code message path } } }`},
	{"Mutation.setMemberRole(membershipId)", "mship", `mutation($id: ID!) { setMemberRole(membershipId: $id, role: VIEWER) { membership { id } userErrors { code message path } } }`},
	{"Mutation.removeMember(membershipId)", "mship", `mutation($id: ID!) { removeMember(membershipId: $id) { membership { id } userErrors { code message path } } }`},
	{"Mutation.updateProvider(id)", "prov", `mutation($id: ID!) { updateProvider(id: $id, input: {name: "changed"}) { provider { id } userErrors { code path } } }`},
	{"Mutation.archiveProvider(id)", "prov", `mutation($id: ID!) { archiveProvider(id: $id) { provider { id } userErrors { code path } } }`},
	{"TestProviderInput.id", "prov", `mutation($id: ID!) { testProvider(input: {id: $id}) { ok models userErrors { code path } } }`},
	{"Mutation.discoverModels(providerId)", "prov", `mutation($id: ID!) { discoverModels(providerId: $id) { models { name } userErrors { code path } } }`},
	{"ContentPartInput.imageId", "img", `mutation($id: ID!, $sess: ID!) { sendMessage(input: {sessionId: $sess, content: [{imageId: $id}]}) { message { id } turn { id } userErrors { code path } } }`},
	{"CreateModelInput.providerId", "prov", `mutation($id: ID!) { createModel(input: {providerId: $id, name: "sim-lorem:5"}) { model { id } userErrors { code path } } }`},
	{"Mutation.updateModel(id)", "model", `mutation($id: ID!) { updateModel(id: $id, input: {enabled: false}) { model { id } userErrors { code path } } }`},
	{"CreateHarnessInput.parentId", "harn", `mutation($id: ID!) { createHarness(input: {name: "x", parentId: $id}) { harness { id } userErrors { code path } } }`},
	{"CreateHarnessInput.defaultModelId", "model", `mutation($id: ID!) { createHarness(input: {name: "x", defaultModelId: $id}) { harness { id } userErrors { code path } } }`},
	{"CreateHarnessInput.fallbackModelIds", "model", `mutation($id: ID!) { createHarness(input: {name: "x", fallbackModelIds: [$id]}) { harness { id } userErrors { code path } } }`},
	{"UpdateHarnessInput.fallbackModelIds", "model", `mutation($id: ID!, $harn: ID!) { updateHarness(id: $harn, input: {fallbackModelIds: [$id]}) { harness { id } userErrors { code path } } }`},
	{"Mutation.restoreHarness(id)", "harn", `mutation($id: ID!) { restoreHarness(id: $id, revision: 1) { harness { id } userErrors { code path } } }`},
	{"Mutation.updateHarness(id)", "harn", `mutation($id: ID!) { updateHarness(id: $id, input: {description: "changed"}) { harness { id } userErrors { code path } } }`},
	{"UpdateHarnessInput.defaultModelId", "model", `mutation($id: ID!, $harn: ID!) { updateHarness(id: $harn, input: {defaultModelId: $id}) { harness { id } userErrors { code path } } }`},
	{"Mutation.archiveHarness(id)", "harn", `mutation($id: ID!) { archiveHarness(id: $id) { harness { id } userErrors { code path } } }`},
	{"Mutation.unarchiveHarness(id)", "harn", `mutation($id: ID!) { unarchiveHarness(id: $id) { harness { id } userErrors { code path } } }`},
	{"CreateAgentInput.harnessId", "harn", `mutation($id: ID!) { createAgent(input: {name: "x", systemPrompt: "", harnessId: $id}) { agent { id } userErrors { code path } } }`},
	{"CreateAgentInput.defaultModelId", "model", `mutation($id: ID!) { createAgent(input: {name: "x", systemPrompt: "", defaultModelId: $id}) { agent { id } userErrors { code path } } }`},
	{"CreateAgentInput.fallbackModelIds", "model", `mutation($id: ID!) { createAgent(input: {name: "x", systemPrompt: "", fallbackModelIds: [$id]}) { agent { id } userErrors { code path } } }`},
	{"UpdateAgentInput.fallbackModelIds", "model", `mutation($id: ID!, $agent: ID!) { updateAgent(id: $agent, input: {fallbackModelIds: [$id]}) { agent { id } userErrors { code path } } }`},
	{"Mutation.restoreAgent(id)", "agent", `mutation($id: ID!) { restoreAgent(id: $id, revision: 1) { agent { id } userErrors { code path } } }`},
	{"Mutation.updateAgent(id)", "agent", `mutation($id: ID!) { updateAgent(id: $id, input: {description: "changed"}) { agent { id } userErrors { code path } } }`},
	{"UpdateAgentInput.harnessId", "harn", `mutation($id: ID!, $agent: ID!) { updateAgent(id: $agent, input: {harnessId: $id}) { agent { id } userErrors { code path } } }`},
	{"UpdateAgentInput.defaultModelId", "model", `mutation($id: ID!, $agent: ID!) { updateAgent(id: $agent, input: {defaultModelId: $id}) { agent { id } userErrors { code path } } }`},
	{"Mutation.archiveAgent(id)", "agent", `mutation($id: ID!) { archiveAgent(id: $id) { agent { id } userErrors { code path } } }`},
	{"Mutation.unarchiveAgent(id)", "agent", `mutation($id: ID!) { unarchiveAgent(id: $id) { agent { id } userErrors { code path } } }`},
	{"CreateSessionInput.agentId", "agent", `mutation($id: ID!) { createSession(input: {agentId: $id}) { session { id } userErrors { code path } } }`},
	{"CreateSessionInput.harnessId", "harn", `mutation($id: ID!) { createSession(input: {harnessId: $id}) { session { id } userErrors { code path } } }`},
	{"CreateSessionInput.modelId", "model", `mutation($id: ID!) { createSession(input: {modelId: $id}) { session { id } userErrors { code path } } }`},
	{"Mutation.updateSession(id)", "sess", `mutation($id: ID!) { updateSession(id: $id, input: {title: "changed"}) { session { id } userErrors { code path } } }`},
	{"UpdateSessionInput.agentId", "agent", `mutation($id: ID!, $sess: ID!) { updateSession(id: $sess, input: {agentId: $id}) { session { id } userErrors { code path } } }`},
	{"UpdateSessionInput.modelId", "model", `mutation($id: ID!, $sess: ID!) { updateSession(id: $sess, input: {modelId: $id}) { session { id } userErrors { code path } } }`},
	{"SendMessageInput.sessionId", "sess", `mutation($id: ID!) { sendMessage(input: {sessionId: $id, content: [{text: "hi"}]}) { message { id } turn { id } userErrors { code path } } }`},
	{"SendMessageInput.modelId", "model", `mutation($id: ID!, $sess: ID!) { sendMessage(input: {sessionId: $sess, modelId: $id, content: [{text: "hi"}]}) { message { id } turn { id } userErrors { code path } } }`},
	{"Mutation.cancelTurn(turnId)", "turn", `mutation($id: ID!) { cancelTurn(turnId: $id) { turn { id } userErrors { code path } } }`},
	{"Mutation.editQueuedTurn(turnId)", "turn", `mutation($id: ID!) { editQueuedTurn(turnId: $id, content: [{text: "changed"}]) { turn { id } userErrors { code path } } }`},
	{"Mutation.moveQueuedTurn(turnId)", "turn", `mutation($id: ID!) { moveQueuedTurn(turnId: $id) { session { id } userErrors { code path } } }`},
	{"Mutation.moveQueuedTurn(before)", "turn", `mutation($id: ID!, $queued: ID!) { moveQueuedTurn(turnId: $queued, before: $id) { session { id } userErrors { code path } } }`},
	{"Mutation.answerQuestion(waitId)", "wait", `mutation($id: ID!) { answerQuestion(waitId: $id, answer: "red") { wait { id } userErrors { code path } } }`},
	{"DecideApprovalInput.waitId", "wait", `mutation($id: ID!) { decideApproval(input: {waitId: $id, approve: true}) { wait { id } userErrors { code path } } }`},
	{"SubmitToolResultsInput.turnId", "turn", `mutation($id: ID!) { submitToolResults(input: {turnId: $id, results: [{toolCallId: "call", result: 1}]}) { turn { id } userErrors { code path } } }`},
	{"ForkSessionInput.sessionId", "sess", `mutation($id: ID!) { forkSession(input: {sessionId: $id}) { session { id } userErrors { code path } } }`},
	{"RateTurnInput.turnId", "turn", `mutation($id: ID!) { rateTurn(input: {turnId: $id, rating: UP}) { turn { id } userErrors { code path } } }`},
	{"RerunTurnInput.turnId", "turn", `mutation($id: ID!) { rerunTurn(input: {turnId: $id}) { turn { id } userErrors { code path } } }`},
	{"RerunTurnInput.modelId", "model", `mutation($id: ID!, $turn: ID!) { rerunTurn(input: {turnId: $turn, modelId: $id}) { turn { id } userErrors { code path } } }`},
	{"ForkSessionInput.throughTurnId", "turn", `mutation($id: ID!, $sess: ID!) { forkSession(input: {sessionId: $sess, throughTurnId: $id}) { session { id } userErrors { code path } } }`},
	{"Mutation.writeSessionFile(sessionId)", "sess", `mutation($id: ID!) { writeSessionFile(sessionId: $id, path: "a.txt", content: "x") { file { path } userErrors { code path } } }`},
	{"Subscription.sessionEvents(sessionId)", "sess", `subscription($id: ID!) { sessionEvents(sessionId: $id, after: 0) { kind } }`},
	{"Subscription.orgEvents(agentId)", "agent", `subscription($id: ID!) { orgEvents(after: "start", agentId: $id) { kind } }`},
	// An organization that one doesn't belong to can only be unknown here: the person of this test is in both.
	{"Mutation.switchOrg(orgId)", "", `mutation($id: ID!) { switchOrg(orgId: $id) { tokens { expiresAt } userErrors { code path } } }`},
	{"SignInInput.orgId", "", `mutation($id: ID!) { signIn(input: {email: "` + ownerEmail + `", password: "` + ownerPassword + `", orgId: $id}) { tokens { expiresAt } userErrors { code path } } }`},
}

// TestEveryIDIsTried compares the table above with the schema.
func TestEveryIDIsTried(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, c := range idCases {
		have[c.arg] = true
	}
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	var want []string
	for name, def := range schema.Types {
		for _, field := range def.Fields {
			if def.Kind == ast.InputObject && field.Type.Name() == "ID" && !strings.HasPrefix(name, "CapabilityRef") {
				want = append(want, name+"."+field.Name)
			}
			for _, arg := range field.Arguments {
				if arg.Type.Name() == "ID" && !strings.HasPrefix(name, "__") {
					want = append(want, fmt.Sprintf("%s.%s(%s)", name, field.Name, arg.Name))
				}
			}
		}
	}
	for _, arg := range want {
		if !have[arg] {
			t.Errorf("no case tries a foreign id for %s", arg)
		}
		delete(have, arg)
	}
	for arg := range have {
		t.Errorf("the schema has no %s", arg)
	}
	t.Logf("%d arguments and fields take an id", len(want))
}

// variables returns those of the query's variables that it declares.
func (tt *tenant) variables(query, id string) map[string]any {
	vars := map[string]any{"id": id}
	for prefix, own := range tt.ids {
		if strings.Contains(query, "$"+prefix+":") {
			vars[prefix] = own
		}
	}
	return vars
}

// TestForeignIDs uses ids that nobody has, ids of another organization, and what is no id, wherever the API takes one. Foreign
// and unknown give the same answer, byte for byte but for the id.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		first := signIn(t, p)
		a, b := newTenant(t, first), newTenant(t, first.secondOrg(t, p, "Second"))
		before, beforeB := a.state(t), b.state(t)
		ask := func(query, id string) string {
			vars := a.variables(query, id)
			r := a.overSocket(t, query, vars)
			if !strings.HasPrefix(query, "subscription") {
				over := a.overPost(t, query, vars)
				if a, b := answerText(over, id), answerText(r, id); a != b {
					t.Errorf("%s\nover POST:      %s\nover a socket: %s", query, a, b)
				}
			}
			return answerText(r, id)
		}
		for _, test := range idCases {
			if strings.HasPrefix(test.arg, "SignInInput") {
				continue // each costs a password hash; see TestBadInput
			}
			prefix := test.prefix
			if prefix == "" {
				prefix = "org"
			}
			fresh, _ := uuid.NewV7()
			unknown := ask(test.query, prefix+"_"+strings.ReplaceAll(fresh.String(), "-", ""))
			if !denies(test.query, unknown) {
				t.Errorf("%s with an unknown id: %s", test.arg, unknown)
			}
			if test.prefix != "" {
				if foreign := ask(test.query, b.ids[test.prefix]); foreign != unknown {
					t.Errorf("%s tells a foreign id from an unknown one:\nforeign: %s\nunknown: %s", test.arg, foreign, unknown)
				}
			}
			own := a.ids[prefix]
			for _, malformed := range []string{"", "x", prefix, prefix + "_", own + "0", own[:len(own)-1], strings.ToUpper(own), "user" + own, " " + own, own + "' OR 1=1 --", strings.Repeat("é", 300)} {
				if got := ask(test.query, malformed); !denies(test.query, got) {
					t.Errorf("%s with %.60q: %s", test.arg, malformed, got)
				}
			}
		}
		if after := a.state(t); after != before {
			t.Errorf("something has changed:\nbefore: %s\nafter:  %s", before, after)
		}
		if after := b.state(t); after != beforeB {
			t.Errorf("something has changed in the other organization:\nbefore: %s\nafter:  %s", beforeB, after)
		}
	})
}

// denies reports whether an answer is null, an empty list, or NOT_FOUND as the contract has it.
func denies(query, answer string) bool {
	switch {
	case strings.Contains(answer, "INTERNAL"):
		return false
	case strings.HasPrefix(query, "mutation"):
		return strings.Contains(answer, `"code":"NOT_FOUND"`)
	case strings.HasPrefix(query, "subscription"):
		return strings.Contains(answer, "NOT_FOUND")
	}
	return strings.Contains(answer, `:null}`) || strings.Contains(answer, `"nodes":[],"totalCount":0`) || strings.Contains(answer, `"auditEntries":{"nodes":[]}`) || strings.Contains(answer, "NOT_FOUND")
}

var anyRequestID = regexp.MustCompile(`"requestId":"[^"]*"`)

func answerText(r *reply, id string) string {
	errs := ""
	for _, e := range r.Errors {
		errs += fmt.Sprintf(" %s %s %v", e.Code(), e.Message, e.Path)
	}
	text := string(r.Data) + errs
	if id != "" {
		text = strings.ReplaceAll(text, id, "ID")
	}
	return anyRequestID.ReplaceAllString(text, "")
}

func (c *client) overPost(t *testing.T, query string, variables map[string]any) *reply {
	t.Helper()
	r, err := c.send(document(query, variables))
	if err != nil {
		t.Fatalf("%.100s: %v", query, err)
	}
	return r
}

// overSocket runs an operation over a socket of its own; of a subscription it gives the first answer.
func (c *client) overSocket(t *testing.T, query string, variables map[string]any) *reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := c.Connect(ctx)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() { _ = conn.Conn.CloseNow() }()
	if err := conn.Subscribe(ctx, "1", query, variables); err != nil {
		t.Fatal(err)
	}
	r := &reply{}
	for {
		f, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("%.100s over a socket: %v", query, err)
		}
		r.Body = f.Payload
		switch f.Type {
		case "ping":
			continue
		case "error":
			err = json.Unmarshal(f.Payload, &r.Errors)
		case "next":
			err = json.Unmarshal(f.Payload, r)
		default:
			err = fmt.Errorf("unexpected %s", f.Type)
		}
		if err != nil {
			t.Fatalf("%.100s over a socket: %v", query, err)
		}
		return r
	}
}

const send = `mutation($input: SendMessageInput!) { sendMessage(input: $input) { message { id } turn { id } userErrors { code message path } } }`

// TestBadInput makes requests that are wrong in every way that comes to mind. Each gets a clear error of the contract's closed
// list, the same over POST and over a socket, and leaves nothing behind.
func TestBadInput(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := newTenant(t, signIn(t, p))
		session := c.ids["sess"]
		before := c.state(t)
		input := func(more map[string]any) map[string]any {
			in := map[string]any{"sessionId": session, "content": []any{map[string]any{"text": "hi"}}}
			maps.Copy(in, more)
			return map[string]any{"input": in}
		}
		content := func(parts ...any) map[string]any { return input(map[string]any{"content": parts}) }
		id := map[string]any{"id": session}

		for _, test := range []struct {
			name      string
			query     string
			variables map[string]any
			// want is a top-level code, or "userError " and a code of that list.
			want string
		}{
			{"no content", send, input(map[string]any{"content": []any{}}), "userError INVALID"},
			{"empty content", send, content(map[string]any{"text": ""}), "userError INVALID"},
			{"one part of two is empty", send, content(map[string]any{"text": "a"}, map[string]any{"text": ""}), "userError INVALID"},
			{"a part without anything", send, content(map[string]any{}), "userError INVALID"},
			{"a part that is null", send, content(nil), "BAD_USER_INPUT"},
			{"a part with null", send, content(map[string]any{"text": nil}), "userError INVALID"},
			{"a part with null in the document", `mutation($id: ID!) { sendMessage(input: {sessionId: $id, content: [{text: null}]}) { turn { id } userErrors { code } } }`, id, "GRAPHQL_VALIDATION_FAILED"},
			{"a part of an unknown kind", send, content(map[string]any{"video": "x"}), "BAD_USER_INPUT"},
			{"content that is a number", send, input(map[string]any{"content": 5}), "BAD_USER_INPUT"},
			{"content that is null", send, input(map[string]any{"content": nil}), "BAD_USER_INPUT"},
			{"text that is a number", send, content(map[string]any{"text": 5}), "BAD_USER_INPUT"},
			{"text that is an object", send, content(map[string]any{"text": map[string]any{}}), "BAD_USER_INPUT"},
			{"NUL in the text", send, content(map[string]any{"text": "a\x00b"}), "BAD_USER_INPUT"},
			{"NUL in a title", `mutation($id: ID!, $t: String) { updateSession(id: $id, input: {title: $t}) { session { id } userErrors { code } } }`, map[string]any{"id": session, "t": "\x00"}, "BAD_USER_INPUT"},
			{"NUL in the document", `mutation($id: ID!) { updateSession(id: $id, input: {title: "\u0000"}) { session { id } userErrors { code } } }`, id, "BAD_USER_INPUT"},
			{"half a megabyte of text", send, content(map[string]any{"text": strings.Repeat("x", 1<<19)}), "userError INVALID"},
			{"many parts that are too long together", send, content(map[string]any{"text": strings.Repeat("x", 200<<10)}, map[string]any{"text": strings.Repeat("y", 200<<10)}), "userError INVALID"},
			{"an unknown delivery", send, input(map[string]any{"delivery": "SHOUT"}), "BAD_USER_INPUT"},
			{"a delivery in lowercase", send, input(map[string]any{"delivery": "steer"}), "BAD_USER_INPUT"},
			{"maxTokens 0", send, input(map[string]any{"maxTokens": 0}), "userError INVALID"},
			{"maxTokens -1", send, input(map[string]any{"maxTokens": -1}), "userError INVALID"},
			{"maxTokens beyond Int", send, input(map[string]any{"maxTokens": 1 << 40}), "BAD_USER_INPUT"},
			{"maxTokens that is a text", send, input(map[string]any{"maxTokens": "many"}), "BAD_USER_INPUT"},
			{"maxTokens with a fraction", send, input(map[string]any{"maxTokens": 1.5}), "BAD_USER_INPUT"},
			{"an unknown field of the input", send, input(map[string]any{"priority": 1}), "BAD_USER_INPUT"},
			{"no input", send, nil, "BAD_USER_INPUT"},
			{"an input that is null", send, map[string]any{"input": nil}, "BAD_USER_INPUT"},
			{"an input that is a list", send, map[string]any{"input": []any{1}}, "BAD_USER_INPUT"},
			{"no session", send, map[string]any{"input": map[string]any{"content": []any{map[string]any{"text": "x"}}}}, "BAD_USER_INPUT"},
			{"a session that is a number", send, input(map[string]any{"sessionId": 5}), "userError NOT_FOUND"},
			{"a session that is a list", send, input(map[string]any{"sessionId": []any{session, session}}), "BAD_USER_INPUT"},
			{"an empty idempotency key", send, input(map[string]any{"idempotencyKey": ""}), "userError INVALID"},
			{"a long idempotency key", send, input(map[string]any{"idempotencyKey": strings.Repeat("k", 300)}), "userError INVALID"},

			{"an unknown field", `{ viewer { password } }`, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"an unknown root field", `{ secrets }`, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"an unknown argument", `{ sessions(limit: 5) { nodes { id } } }`, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"no selection", `{ viewer }`, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"an unused variable", `query($x: Int) { viewer { operator } }`, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"a text for a number", `{ sessions(first: "ten") { nodes { id } } }`, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"no document", ` `, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"half a document", `{ viewer {`, nil, "GRAPHQL_PARSE_FAILED"},
			{"no GraphQL", `SELECT * FROM users`, nil, "GRAPHQL_PARSE_FAILED"},
			{"two operations and no name", `query a { viewer { operator } } query b { viewer { operator } }`, nil, "BAD_USER_INPUT"},
			{"a document that is too long", `{ viewer { operator } } #` + strings.Repeat("x", 70<<10), nil, "QUERY_TOO_COMPLEX BYTES"},
			{"too many tokens", `{ viewer { ` + strings.Repeat("operator ", 4100) + ` } }`, nil, "QUERY_TOO_COMPLEX TOKENS"},
			{"too deep", strings.Repeat("{ viewer { org { defaultHarness { parent ", 1) + strings.Repeat("{ parent ", 20) + "{ id }" + strings.Repeat(" }", 20) + " } } } }", nil, "QUERY_TOO_COMPLEX DEPTH"},
			{"too many aliases", `{ viewer { ` + aliases(120) + ` } }`, nil, "QUERY_TOO_COMPLEX ALIASES"},
			{"too expensive", `{ sessions(first: 100) { nodes { turns(first: 100) { nodes { session { messages(first: 100) { nodes { id } } } } } } } }`, nil, "QUERY_TOO_COMPLEX COST"},

			{"first 0", `{ sessions(first: 0) { nodes { id } } }`, nil, "BAD_USER_INPUT PAGE"},
			{"first 101", `{ sessions(first: 101) { nodes { id } } }`, nil, "BAD_USER_INPUT PAGE"},
			{"first -1", `{ sessions(first: -1) { nodes { id } } }`, nil, "BAD_USER_INPUT PAGE"},
			{"first 101 in a variable", `query($n: Int) { agents(first: $n) { nodes { id } } }`, map[string]any{"n": 101}, "BAD_USER_INPUT PAGE"},
			{"first -1 of a child", `query($id: ID!) { session(id: $id) { messages(first: -1) { nodes { id } } } }`, id, "BAD_USER_INPUT PAGE"},
			{"last 0", `query($id: ID!) { session(id: $id) { messages(last: 0) { nodes { id } } } }`, id, "BAD_USER_INPUT PAGE"},
			{"last 101", `query($id: ID!) { session(id: $id) { events(last: 101) { nodes { id } } } }`, id, "BAD_USER_INPUT PAGE"},
			{"a cursor that is none", `{ sessions(after: "garbage") { nodes { id } } }`, nil, "BAD_USER_INPUT"},
			{"a cursor of another list", `query($c: Cursor) { sessions(after: $c) { nodes { id } } }`, map[string]any{"c": c.cursor(t, "agents")}, "BAD_USER_INPUT"},
			{"a cursor that is a number", `query($c: Cursor) { sessions(after: $c) { nodes { id } } }`, map[string]any{"c": 17}, "BAD_USER_INPUT"},
			{"an unknown status", `{ sessions(filter: {status: [ASLEEP]}) { nodes { id } } }`, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"a time that is none", `{ sessions(filter: {createdAfter: "yesterday"}) { nodes { id } } }`, nil, "BAD_USER_INPUT"},

			{"a path outside", `mutation($id: ID!) { writeSessionFile(sessionId: $id, path: "../../etc/passwd", content: "x") { file { path } userErrors { code } } }`, id, "userError INVALID"},
			{"an empty path", `mutation($id: ID!) { writeSessionFile(sessionId: $id, path: "", content: "x") { file { path } userErrors { code } } }`, id, "userError INVALID"},
			{"an unknown encoding", `mutation($id: ID!) { writeSessionFile(sessionId: $id, path: "a", content: "x", encoding: "hex") { file { path } userErrors { code } } }`, id, "userError INVALID"},
			{"base64 that is none", `mutation($id: ID!) { writeSessionFile(sessionId: $id, path: "a", content: "%", encoding: "base64") { file { path } userErrors { code } } }`, id, "userError INVALID"},
			{"another hash", `mutation($id: ID!) { writeSessionFile(sessionId: $id, path: "a", content: "x", expectedHash: "beef") { file { path } userErrors { code } } }`, id, "userError CONFLICT"},

			{"an agent without a name", `mutation { createAgent(input: {name: "", systemPrompt: ""}) { agent { id } userErrors { code } } }`, nil, "userError INVALID"},
			{"a name that is taken", `mutation { createAgent(input: {name: "echo", systemPrompt: ""}) { agent { id } userErrors { code } } }`, nil, "userError TAKEN"},
			{"an unknown capability", `mutation { createAgent(input: {name: "x", systemPrompt: "", capabilities: [{id: "nuclear"}]}) { agent { id } userErrors { code } } }`, nil, "userError INVALID"},
			{"iterations below 1", `mutation { createAgent(input: {name: "x", systemPrompt: "", maxIterations: 0}) { agent { id } userErrors { code } } }`, nil, "userError INVALID"},
			{"an old revision", `mutation($id: ID!) { updateAgent(id: $id, input: {description: "x", revision: 99}) { agent { id } userErrors { code } } }`, map[string]any{"id": c.ids["agent"]}, "userError CONFLICT"},
			{"a price that is no number", `mutation($id: ID!) { createModel(input: {providerId: $id, name: "sim-lorem:3", price: {input: "cheap", output: "1"}}) { model { id } userErrors { code } } }`, map[string]any{"id": c.ids["prov"]}, "BAD_USER_INPUT"},
			{"a negative price", `mutation($id: ID!) { createModel(input: {providerId: $id, name: "sim-lorem:3", price: {input: "-1", output: "1"}}) { model { id } userErrors { code } } }`, map[string]any{"id": c.ids["prov"]}, "userError INVALID"},
			{"an unknown kind of provider", `mutation { createProvider(input: {name: "x", kind: MAGIC}) { provider { id } userErrors { code } } }`, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"a tag that is empty", `mutation($id: ID!) { updateSession(id: $id, input: {tags: [""]}) { session { id } userErrors { code } } }`, id, "userError INVALID"},
			{"a locale that is none", `mutation { createSession(input: {locale: "not a locale"}) { session { id } userErrors { code } } }`, nil, "userError INVALID"},
			{"an organization without a name", `mutation { createOrg(input: {name: " "}) { org { id } userErrors { code } } }`, nil, "userError INVALID"},
			{"a slug with spaces", `mutation { createOrg(input: {name: "x", slug: "a b"}) { org { id } userErrors { code } } }`, nil, "userError INVALID"},
			{"a wrong present password", `mutation { changePassword(current: "wrong", new: "something quite long") { ok userErrors { code } } }`, nil, "userError INVALID_CREDENTIALS"},
			{"a refresh token that is none", `mutation { refreshTokens(refreshToken: "nonsense") { tokens { expiresAt } userErrors { code } } }`, nil, "userError INVALID_CREDENTIALS"},

			{"events after -1", `subscription($id: ID!) { sessionEvents(sessionId: $id, after: -1) { kind } }`, id, "BAD_USER_INPUT"},
			{"events of an unknown kind", `subscription($id: ID!) { sessionEvents(sessionId: $id, kinds: [PARTY]) { kind } }`, id, "GRAPHQL_VALIDATION_FAILED"},
			{"events of nothing", `subscription { sessionEvents { kind } }`, nil, "GRAPHQL_VALIDATION_FAILED"},
			{"two subscriptions in one", `subscription($id: ID!) { sessionEvents(sessionId: $id) { kind } b: sessionEvents(sessionId: $id) { kind } }`, id, "GRAPHQL_VALIDATION_FAILED"},
		} {
			answers := []*reply{c.overSocket(t, test.query, test.variables)}
			if !strings.HasPrefix(test.query, "subscription") {
				answers = append(answers, c.overPost(t, test.query, test.variables))
			}
			for _, r := range answers {
				if got := outcome(r); got != test.want {
					t.Errorf("%s: got %q, want %q: %.300s", test.name, got, test.want, r.Body)
				}
				for _, e := range r.Errors {
					if e.Message == "" || len(e.Message) > 400 {
						t.Errorf("%s: the message is %.500q", test.name, e.Message)
					}
				}
			}
		}
		if after := c.state(t); after != before {
			t.Errorf("something has changed:\nbefore: %s\nafter:  %s", before, after)
		}
		if out := p.out.String(); strings.Contains(out, "level=ERROR") || strings.Contains(out, "panic") {
			t.Error("bad input is no error of the server's")
		}
	})
}

func aliases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d: operator ", i)
	}
	return b.String()
}

// cursor returns one of another list.
func (c *client) cursor(t *testing.T, list string) string {
	t.Helper()
	var out map[string]struct {
		PageInfo struct{ EndCursor string }
	}
	c.do(t, `{ `+list+` { pageInfo { endCursor } } }`, nil, &out)
	return out[list].PageInfo.EndCursor
}

// outcome returns the code of an answer.
func outcome(r *reply) string {
	if len(r.Errors) > 0 {
		code := r.Errors[0].Code()
		if limit, ok := r.Errors[0].Extensions["limit"].(string); ok {
			code += " " + limit
		}
		return code
	}
	payloads := map[string]payload{}
	if json.Unmarshal(r.Data, &payloads) == nil {
		for _, p := range payloads {
			if len(p.UserErrors) > 0 {
				return "userError " + p.UserErrors[0].Code
			}
		}
	}
	return "no error"
}

// TestBadBodies sends what is no request at all.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	p := start(t, newPlace(t, "sqlite").env)
	c := newTenant(t, signIn(t, p))
	before := c.state(t)
	good := string(document(`mutation { createOrg(input: {name: "never"}) { org { id } } }`, nil))
	mega := string(document(send, map[string]any{"input": map[string]any{
		"sessionId": c.ids["sess"], "content": []any{map[string]any{"text": strings.Repeat("x", 1<<20)}},
	}}))
	for name, test := range map[string]struct {
		body   string
		status int
		want   string
		// close is the socket's close code for the same payload; 0 where it makes no sense there.
		close websocket.StatusCode
	}{
		"nothing":               {"", 400, "BAD_USER_INPUT", 0},
		"half an object":        {`{"query": "{ viewer`, 400, "BAD_USER_INPUT", 4400},
		"no object":             {`"{ viewer { operator } }"`, 400, "BAD_USER_INPUT", 4400},
		"a batch":               {`[` + good + `]`, 400, "BAD_USER_INPUT", 4400},
		"something after it":    {good + good, 400, "BAD_USER_INPUT", 4400},
		"a member twice":        {`{"query": "{ viewer { operator } }", "query": "mutation { signOut { ok } }"}`, 400, "BAD_USER_INPUT", 4400},
		"invalid UTF-8":         {strings.Replace(good, "never", "\xff\xfe", 1), 400, "BAD_USER_INPUT", 4400},
		"a query that is none":  {`{"query": 5}`, 400, "BAD_USER_INPUT", 4400},
		"variables in a list":   {`{"query": "{ viewer { operator } }", "variables": []}`, 400, "BAD_USER_INPUT", 4400},
		"a number too large":    {`{"query": "{ viewer { operator } }", "variables": {"x": 1e999}}`, 400, "BAD_USER_INPUT", 4400},
		"no query":              {`{"variables": {}}`, 400, "BAD_USER_INPUT", 4400},
		"a query by hash":       {`{"extensions": {"persistedQuery": {"version": 1, "sha256Hash": "x"}}}`, 200, "PERSISTED_QUERY_NOT_FOUND", 0},
		"a megabyte of text":    {mega, 413, "PAYLOAD_TOO_LARGE BODY", websocket.StatusMessageTooBig},
		"four megabytes of it":  {strings.Repeat(" ", 4<<20), 413, "PAYLOAD_TOO_LARGE BODY", websocket.StatusMessageTooBig},
		"ten thousand brackets": {`{"query": "` + strings.Repeat("{a", 10_000) + `"}`, 200, "GRAPHQL_PARSE_FAILED", 0},
		"deep variables":        {`{"query": "{ viewer { operator } }", "variables": {"x": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, 0, "", 0},
	} {
		r, err := c.send([]byte(test.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if test.want != "" && (r.Status != test.status || outcome(r) != test.want) {
			t.Errorf("%s: got %d %s, want %d %s: %.200s", name, r.Status, outcome(r), test.status, test.want, r.Body)
		}
		if test.close == 0 {
			continue
		}
		if code := c.closedBy(t, `{"id": "1", "type": "subscribe", "payload": `+test.body+`}`); code != test.close {
			t.Errorf("%s: the socket was closed with %d, want %d", name, code, test.close)
		}
	}
	if after := c.state(t); after != before {
		t.Errorf("something has changed:\nbefore: %s\nafter:  %s", before, after)
	}
	if strings.Contains(p.out.String(), "panic") {
		t.Error("there was a panic")
	}
}

// closedBy sends one message on a signed-in socket and returns the code that it is closed with.
func (c *client) closedBy(t *testing.T, message string) websocket.StatusCode {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := c.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Conn.CloseNow() }()
	_ = conn.Conn.Write(ctx, websocket.MessageText, []byte(message)) // it may be closed while it is written
	for {
		if _, err := conn.Next(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// TestIdempotency repeats messages and sessions under one key.
//
// Rules: D9, D10.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		first := signIn(t, p)
		c := newTenant(t, first)
		other := newTenant(t, first.secondOrg(t, p, "Second"))
		message := func(tt *tenant, text string) string {
			return answerText(tt.overPost(t, send, map[string]any{"input": map[string]any{
				"sessionId": tt.ids["sess"], "content": []any{map[string]any{"text": text}}, "idempotencyKey": "once",
			}}), "")
		}
		s := c.subscribe(t, c.ids["sess"], 0)
		one := message(c, "one")
		if !strings.Contains(one, `"userErrors":[]`) {
			t.Fatal(one)
		}
		s.untilKind(t, "SESSION_IDLED", 2)
		if again := message(c, "one"); again != one {
			t.Errorf("the same again:\n%s\n%s", one, again)
		}
		before := c.state(t)
		if got := message(c, "two"); !strings.Contains(got, "IDEMPOTENCY_MISMATCH") {
			t.Errorf("another input under the same key: %s", got)
		}
		if after := c.state(t); after != before {
			t.Errorf("something has changed:\nbefore: %s\nafter:  %s", before, after)
		}
		if got := message(other, "two"); !strings.Contains(got, `"userErrors":[]`) {
			t.Errorf("keys are an organization's own: %s", got)
		}

		create := func(title string) string {
			return answerText(c.overPost(t, `mutation($agent: ID!, $title: String) { createSession(input: {agentId: $agent, title: $title, idempotencyKey: "once"}) {
				session { id title } userErrors { code } } }`, map[string]any{"agent": c.ids["agent"], "title": title}), "")
		}
		made := create("A")
		if again := create("A"); again != made || !strings.Contains(made, `"userErrors":[]`) {
			t.Errorf("the same session again:\n%s\n%s", made, again)
		}
		if got := create("B"); !strings.Contains(got, "IDEMPOTENCY_MISMATCH") {
			t.Errorf("another session under the same key: %s", got)
		}

		// After a crash the answer is still the same.
		p.kill()
		p.again(t, place.env)
		if again := message(c, "one"); again != one {
			t.Errorf("the same after a restart:\n%s\n%s", one, again)
		}
	})
}

// TestBadTokens asks with tokens that are not good for anything.
func TestBadTokens(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := newTenant(t, signIn(t, p))
		before := c.state(t)
		parts := strings.Split(c.Token, ".")
		encode := func(v any) string { return base64.RawURLEncoding.EncodeToString(encode(v)) }
		claims := claimsOf(t, c.Token)
		claims["role"] = "OPERATOR"
		unsigned := encode(map[string]any{"alg": "none", "typ": "JWT"}) + "." + parts[1] + "."
		expired, elsewhere := issuedEarlier(t, place, p.url, claims)
		for name, token := range map[string]string{
			"no token":             "",
			"nonsense":             "nonsense",
			"three dots":           "...",
			"alg none":             unsigned,
			"alg None":             encode(map[string]any{"alg": "None"}) + "." + parts[1] + ".",
			"HS256 by the id":      encode(map[string]any{"alg": "HS256", "kid": "x"}) + "." + parts[1] + "." + parts[2],
			"changed claims":       parts[0] + "." + encode(claims) + "." + parts[2],
			"a cut signature":      c.Token[:len(c.Token)-4],
			"no signature":         parts[0] + "." + parts[1] + ".",
			"an expired token":     expired,
			"another audience":     elsewhere,
			"an API key":           "ost_" + strings.Repeat("a", 40),
			"ten thousand letters": strings.Repeat("a", 10_000),
		} {
			bad := newClient(p.url)
			bad.Token = token
			for _, query := range []string{`{ viewer { operator } }`, `mutation { createOrg(input: {name: "never"}) { org { id } userErrors { code } } }`} {
				r, err := bad.send(document(query, nil))
				if err != nil {
					t.Fatal(err)
				}
				if outcome(r) != "UNAUTHENTICATED" || r.Status != http.StatusOK || strings.Contains(string(r.Data), "operator") {
					t.Errorf("%s over POST: %d %s", name, r.Status, r.Body)
				}
			}
			if code := bad.initCode(t); code != 4403 {
				t.Errorf("%s over a socket: it was closed with %d, want 4403", name, code)
			}
		}
		// A bad token is no obstacle to signing in.
		bad := newClient(p.url)
		bad.Token = "nonsense"
		bad.do(t, `{ serverInfo { name } }`, nil, nil)

		// Who has not said who they are may not subscribe.
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		conn, _, err := newClient(p.url).Dial(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Conn.CloseNow() }()
		if err := conn.Subscribe(ctx, "1", sessionEvents, map[string]any{"id": c.ids["sess"]}); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(ctx); websocket.CloseStatus(err) != 4401 {
			t.Errorf("a subscription before connection_init: %v, want close code 4401", err)
		}
		// A subscription over POST is told where to go.
		r := c.overPost(t, sessionEvents, map[string]any{"id": c.ids["sess"]})
		if outcome(r) != "BAD_USER_INPUT" || r.Status != http.StatusBadRequest {
			t.Errorf("a subscription over POST: %d %s", r.Status, r.Body)
		}
		for name, in := range map[string]map[string]any{
			"a wrong password":          {"email": ownerEmail, "password": "wrong"},
			"an unknown e-mail":         {"email": "nobody@example.com", "password": ownerPassword},
			"an organization of others": {"email": ownerEmail, "password": ownerPassword, "orgId": "org_" + strings.Repeat("0", 32)},
		} {
			r := newClient(p.url).overPost(t, `mutation($input: SignInInput!) { signIn(input: $input) { tokens { accessToken } userErrors { code message path } } }`, map[string]any{"input": in})
			if outcome(r) != "userError INVALID_CREDENTIALS" {
				t.Errorf("%s: %s", name, r.Body)
			}
		}
		if after := c.state(t); after != before {
			t.Errorf("something has changed:\nbefore: %s\nafter:  %s", before, after)
		}
	})
}

// initCode opens a socket, says who it is, and returns the code that it is closed with.
func (c *client) initCode(t *testing.T) websocket.StatusCode {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := c.Dial(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Conn.CloseNow() }()
	if err := conn.Init(ctx, c.Token); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(ctx)
	return websocket.CloseStatus(err)
}

// database opens the database of a place beside its processes.
func (p *place) database(t *testing.T) *store.DB {
	t.Helper()
	url := p.env["OSTLER_DATABASE_URL"]
	if url == "" {
		url = "sqlite:" + p.env["OSTLER_DATA_DIR"] + "/ostler.db"
	}
	db, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// claimsOf reads what an access token says.
func claimsOf(t *testing.T, token string) map[string]any {
	t.Helper()
	claims := map[string]any{}
	parts := strings.Split(token, ".")
	if b, err := base64.RawURLEncoding.DecodeString(parts[1]); err != nil || json.Unmarshal(b, &claims) != nil {
		t.Fatalf("the token is none: %v", err)
	}
	return claims
}

// issuedEarlier returns tokens that the server's own key has signed: one an hour ago, and one for another audience.
func issuedEarlier(t *testing.T, place *place, issuer string, claims map[string]any) (expired, elsewhere string) {
	t.Helper()
	good := newClient(issuer)
	if good.Token = issue(t, place, issuer, claims, time.Now(), "ostler"); good.try(`{ viewer { operator } }`, nil, nil) != nil {
		t.Fatal("a token that is made this way must be good, or this test shows nothing")
	}
	return issue(t, place, issuer, claims, time.Now().Add(-time.Hour), "ostler"), issue(t, place, issuer, claims, time.Now(), "elsewhere")
}

// issue makes a token as if the server had done it at another time, or for somebody else.
func issue(t *testing.T, place *place, issuer string, claims map[string]any, at time.Time, audience string) string {
	t.Helper()
	db := place.database(t)
	defer func() { _ = db.Close() }()
	key, err := secrets.ParseKey(place.env["OSTLER_MASTER_KEY"])
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := secrets.NewKeeper(key)
	if err != nil {
		t.Fatal(err)
	}
	clk := clock.NewManual(at)
	keys, err := auth.OpenKeys(t.Context(), db, keeper.SigningKeys(), clk)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.NewAccessTokens(keys, clk, auth.TokenConfig{Issuer: issuer, Audience: audience})
	if err != nil {
		t.Fatal(err)
	}
	var c auth.Claims
	for _, err := range []error{
		parse(&c.UserID, claims["sub"]), parse(&c.OrgID, claims["org"]), parse(&c.SignInID, claims["sid"]),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c.Role = models.RoleOwner
	token, _, err := tokens.Issue(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func parse[E models.Entity](to *models.ID[E], from any) error {
	id, err := models.ParseID[E](fmt.Sprint(from))
	*to = id
	return err
}
