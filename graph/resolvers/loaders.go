package resolvers

import (
	"context"
	"maps"
	"sync"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

// maxBatch bounds how many rows one statement of a loader asks for.
const maxBatch = 500

// loader reads the objects behind edges, many in one statement, each once per operation.
//
// Who encodes a row says by expect which objects its edges lead to. The first edge that is really followed then reads all
// that are expected. So the number of statements depends on the shape of a query alone: not on the length of a
// page, nor on a timer, nor on which elements of a list gqlgen happens to resolve at once (it does 64 at a time).
type loader[K comparable, V any] struct {
	fetch func(ctx context.Context, keys []K) (map[K]V, error)
	// then is told what was read; nil for nobody.
	then func(V)

	// loading makes those who load wait for each other, until what is read leads on. It is taken before mu.
	loading sync.Mutex

	mu       sync.Mutex
	expected map[K]struct{}
	found    map[K]V
	// absent are those that were looked for and are not there.
	absent map[K]struct{}
}

func newLoader[K comparable, V any](fetch func(ctx context.Context, keys []K) (map[K]V, error)) *loader[K, V] {
	return &loader[K, V]{fetch: fetch, expected: map[K]struct{}{}, found: map[K]V{}, absent: map[K]struct{}{}}
}

// expect notes that an edge leads to the object; nil leads nowhere.
func (l *loader[K, V]) expect(key *K) {
	if key == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.found[*key]; !ok {
		l.expected[*key] = struct{}{}
	}
}

// put notes an object that was read by other means.
func (l *loader[K, V]) put(key K, v V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found[key] = v
	delete(l.expected, key)
	delete(l.absent, key)
}

// load returns the object; false when there is none. Those who ask meanwhile wait, and find theirs read as well.
func (l *loader[K, V]) load(ctx context.Context, key K) (V, bool, error) {
	l.loading.Lock()
	defer l.loading.Unlock()
	v, known, keys := l.next(key)
	if keys == nil {
		return v, known, nil
	}
	found, err := l.fetch(ctx, keys)
	if err != nil {
		return v, false, err
	}
	l.mu.Lock()
	maps.Copy(l.found, found)
	for _, k := range keys {
		if _, ok := found[k]; !ok {
			l.absent[k] = struct{}{}
		}
	}
	l.mu.Unlock()
	if l.then != nil {
		for _, f := range found {
			l.then(f)
		}
	}
	v, ok := found[key]
	return v, ok, nil
}

// next returns what is known of the object, or the keys to read when nothing is yet: its own and the expected ones.
func (l *loader[K, V]) next(key K) (v V, there bool, keys []K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v, there = l.found[key]; there {
		return v, true, nil
	}
	if _, absent := l.absent[key]; absent {
		return v, false, nil
	}
	delete(l.expected, key)
	keys = []K{key}
	for k := range l.expected {
		if len(keys) == maxBatch {
			break
		}
		keys = append(keys, k)
		delete(l.expected, k)
	}
	return v, false, keys
}

// forget drops everything, because it may have changed.
func (l *loader[K, V]) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.found)
	clear(l.absent)
}

// loaders are those of one operation.
type loaders struct {
	providers *loader[models.ProviderID, *models.Provider]
	models    *loader[models.ModelID, *models.Model]
	byName    *loader[catalog.ModelName, *models.Model]
	harnesses *loader[models.HarnessID, *models.Harness]
	agents    *loader[models.AgentID, *models.Agent]
	sessions  *loader[models.SessionID, *models.Session]
	turns     *loader[models.TurnID, *models.Turn]
	messages  *loader[models.MessageID, *models.Message]
	users     *loader[models.UserID, *models.User]
	stored    *loader[models.OrgID, int64]
	keys      *loader[models.APIKeyID, *models.APIKey]
	// waits are the open ones of turns.
	waits     *loader[models.TurnID, []models.Wait]
	decisions *loader[models.WaitID, []models.ApprovalDecision]
	feedback  *loader[models.TurnID, []models.Feedback]
	// clientTools are those that sessions bring, by the hashes of their setups.
	clientTools *loader[string, []models.ClientTool]

	// queued are the turns that wait in sessions, todos their plans.
	queued *loader[models.SessionID, []models.Turn]
	todos  *loader[models.SessionID, []models.Todo]
	// indexed is what lists show of sessions, matches what a search finds in their messages.
	indexed *loader[models.SessionID, *models.IndexedSession]
	matches *family[string, models.SessionID, sessions.Match]

	// Of forks these have what is their own, so only sessions that are none ask them.
	newestTurns   *firstPages[models.SessionID, models.Turn]
	firstMessages *firstPages[models.SessionID, models.Message]
	lastMessages  *firstPages[models.SessionID, models.Message]

	agentSessions  *firstPages[models.AgentID, models.Session]
	agentHistory   *firstPages[models.AgentID, catalog.Revision]
	harnessHistory *firstPages[models.HarnessID, catalog.Revision]
	deliveries     *firstPages[models.WebhookID, models.WebhookDelivery]
	bodies         *loader[models.DeliveryID, string]
	ledgers        *firstPages[models.BudgetID, models.LedgerEntry]
	prices         *firstPages[models.ModelID, models.ModelPrice]
}

type loadersKey struct{}

// OperationContext returns a context in which edges are read in batches. The server calls it once for every query or
// mutation, after the principal is known. It must not span events of a subscription: what is read is kept until the
// operation ends. Without it everything works, one statement per edge.
func (r *Resolver) OperationContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, loadersKey{}, r.newLoaders())
}

// loadersOf returns the loaders of the operation.
func (r *Resolver) loadersOf(ctx context.Context) *loaders {
	if l, ok := ctx.Value(loadersKey{}).(*loaders); ok {
		return l
	}
	return r.newLoaders()
}

func (r *Resolver) newLoaders() *loaders {
	l := &loaders{
		providers: newLoader(batch(r.Catalog.ProvidersByID, func(p *models.Provider) models.ProviderID { return p.ID })),
		models:    newLoader(batch(r.Catalog.ModelsByID, func(m *models.Model) models.ModelID { return m.ID })),
		byName: newLoader(batch(r.Catalog.ModelsByName, func(m *models.Model) catalog.ModelName {
			return catalog.ModelName{ProviderID: m.ProviderID, Name: m.Name}
		})),
		harnesses:   newLoader(batch(r.Catalog.HarnessesByID, func(h *models.Harness) models.HarnessID { return h.ID })),
		agents:      newLoader(batch(r.Catalog.AgentsByID, func(a *models.Agent) models.AgentID { return a.ID })),
		sessions:    newLoader(batch(r.Sessions.ByID, func(s *models.Session) models.SessionID { return s.ID })),
		turns:       newLoader(batch(r.Sessions.TurnsByID, func(t *models.Turn) models.TurnID { return t.ID })),
		messages:    newLoader(batch(r.Sessions.MessagesByID, func(m *models.Message) models.MessageID { return m.ID })),
		users:       newLoader(r.usersByID),
		stored:      newLoader(r.Orgs.StoredBytes),
		keys:        newLoader(batch(r.Orgs.APIKeysByID, func(k *models.APIKey) models.APIKeyID { return k.ID })),
		waits:       newLoader(ofPrincipal(r.Sessions.WaitsOfTurns)),
		decisions:   newLoader(ofPrincipal(r.Sessions.Decisions)),
		feedback:    newLoader(ofPrincipal(r.Sessions.FeedbackOf)),
		clientTools: newLoader(ofPrincipal(r.Sessions.ClientTools)),

		queued: newLoader(ofPrincipal(r.Sessions.QueuedTurnsOf)),
		todos:  newLoader(ofPrincipal(r.Sessions.TodosOf)),

		indexed: newLoader(batch(r.Sessions.IndexedByID, func(s *models.IndexedSession) models.SessionID { return s.SessionID })),
		matches: newFamily(pageOfPrincipal(r.Sessions.Matches)),

		newestTurns:   newFirstPages(pageOfPrincipal(r.Sessions.NewestTurns), ofPrincipal(r.Sessions.CountTurnsOf)),
		firstMessages: newFirstPages(pageOfPrincipal(r.Sessions.FirstMessages), ofPrincipal(r.Sessions.CountMessagesOf)),
		lastMessages:  newFirstPages(pageOfPrincipal(r.Sessions.LastMessages), ofPrincipal(r.Sessions.CountMessagesOf)),

		agentSessions:  newFirstPages(pageOfPrincipal(r.Sessions.NewestOfAgents), ofPrincipal(r.Sessions.CountOfAgents)),
		agentHistory:   newFirstPages(pageOfPrincipal(r.Catalog.NewestOfAgents), ofPrincipal(r.Catalog.CountOfAgents)),
		harnessHistory: newFirstPages(pageOfPrincipal(r.Catalog.NewestOfHarnesses), ofPrincipal(r.Catalog.CountOfHarnesses)),
		deliveries:     newFirstPages(pageOfPrincipal(r.Hooks.NewestDeliveries), uncounted[models.WebhookID]),
		bodies:         newLoader(ofPrincipal(r.Hooks.Bodies)),
		ledgers:        newFirstPages(pageOfPrincipal(r.Spending.NewestPostings), ofPrincipal(r.Spending.CountPostings)),
		prices:         newFirstPages(pageOfPrincipal(r.Catalog.PriceHistories), uncounted[models.ModelID]),
	}
	// What is read leads on, so that every level of a query is one statement and not only the first.
	l.models.then = l.expectModel
	l.byName.then = l.expectModel
	l.harnesses.then = l.expectHarness
	l.agents.then = l.expectAgent
	l.sessions.then = l.expectSession
	l.turns.then = l.expectTurn
	l.messages.then = l.expectMessage
	l.waits.then = func(list []models.Wait) {
		for i := range list {
			l.expectWait(&list[i])
		}
	}
	l.queued.then = func(list []models.Turn) {
		for i := range list {
			l.expectTurn(&list[i])
		}
	}
	l.indexed.then = func(s *models.IndexedSession) { l.models.expect(s.ModelID) }
	l.decisions.then = func(list []models.ApprovalDecision) {
		for i := range list {
			l.expectActor(list[i].ActorKind, list[i].ActorID.Ptr())
		}
	}
	l.feedback.then = func(list []models.Feedback) {
		for i := range list {
			l.expectActor(list[i].ActorKind, list[i].ActorID.Ptr())
		}
	}
	return l
}

// batch makes a loader's fetch of a service's call. The organization is always that of the principal.
func batch[K comparable, V any](
	read func(ctx context.Context, org models.OrgID, ids []K) ([]V, error), id func(*V) K,
) func(ctx context.Context, keys []K) (map[K]*V, error) {
	return func(ctx context.Context, keys []K) (map[K]*V, error) {
		rows, err := read(ctx, auth.FromContext(ctx).OrgID, keys)
		if err != nil {
			return nil, err
		}
		found := make(map[K]*V, len(rows))
		for i := range rows {
			found[id(&rows[i])] = &rows[i]
		}
		return found, nil
	}
}

// forgetAll drops what mutations may have changed.
func (l *loaders) forgetAll() {
	l.providers.forget()
	l.models.forget()
	l.byName.forget()
	l.harnesses.forget()
	l.agents.forget()
	l.sessions.forget()
	l.turns.forget()
	l.messages.forget()
	l.users.forget()
	l.keys.forget()
	l.waits.forget()
	l.decisions.forget()
	l.feedback.forget()
	l.clientTools.forget()
	l.queued.forget()
	l.todos.forget()
	l.indexed.forget()
	l.matches.forget()
	l.newestTurns.forget()
	l.firstMessages.forget()
	l.lastMessages.forget()
	l.agentSessions.forget()
	l.agentHistory.forget()
	l.harnessHistory.forget()
	l.deliveries.forget()
	l.bodies.forget()
	l.ledgers.forget()
	l.prices.forget()
}

func (l *loaders) expectModel(m *models.Model) {
	l.providers.expect(&m.ProviderID)
	l.prices.expect(m.ID)
}

func (l *loaders) expectHarness(h *models.Harness) {
	l.harnesses.expect(h.ParentID)
	l.models.expect(h.DefaultModelID)
	l.expectModels(h.FallbackModelIDs)
	l.harnessHistory.expect(h.ID)
}

func (l *loaders) expectAgent(a *models.Agent) {
	l.harnesses.expect(a.HarnessID)
	l.models.expect(a.DefaultModelID)
	l.expectModels(a.FallbackModelIDs)
	l.agentSessions.expect(a.ID)
	l.agentHistory.expect(a.ID)
}

func (l *loaders) expectModels(ids []models.ModelID) {
	for _, id := range ids {
		l.models.expect(&id)
	}
}
