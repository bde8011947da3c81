package resolvers

import (
	"context"
	"sync"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

// agentSessions reads the first page of the sessions of all agents that an operation has met, in one statement for each
// size of page that it asks for.
type agentSessions struct {
	newest func(ctx context.Context, keys []models.AgentID, limit int) (map[models.AgentID][]models.Session, error)
	counts *loader[models.AgentID, int]

	mu     sync.Mutex
	agents map[models.AgentID]struct{}
	pages  map[int]*loader[models.AgentID, []models.Session]
}

func newAgentSessions(s *sessions.Service) *agentSessions {
	return &agentSessions{
		newest: func(ctx context.Context, keys []models.AgentID, limit int) (map[models.AgentID][]models.Session, error) {
			return s.NewestOfAgents(ctx, auth.FromContext(ctx).OrgID, keys, limit)
		},
		counts: newLoader(func(ctx context.Context, keys []models.AgentID) (map[models.AgentID]int, error) {
			return s.CountOfAgents(ctx, auth.FromContext(ctx).OrgID, keys)
		}),
		agents: map[models.AgentID]struct{}{},
		pages:  map[int]*loader[models.AgentID, []models.Session]{},
	}
}

// expect notes that the operation has met an agent, whose sessions it may ask for.
func (a *agentSessions) expect(id models.AgentID) {
	a.counts.expect(&id)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agents[id] = struct{}{}
	for _, p := range a.pages {
		p.expect(&id)
	}
}

// forget drops everything that was read, because it may have changed.
func (a *agentSessions) forget() {
	a.counts.forget()
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.pages)
}

// page gives the loader for the first limit sessions of agents; then is told of all that it reads.
func (a *agentSessions) page(limit int, then func(*models.Session)) *loader[models.AgentID, []models.Session] {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.pages[limit]; ok {
		return p
	}
	p := newLoader(func(ctx context.Context, keys []models.AgentID) (map[models.AgentID][]models.Session, error) {
		return a.newest(ctx, keys, limit)
	})
	p.then = func(rows []models.Session) {
		for i := range rows {
			then(&rows[i])
		}
	}
	for id := range a.agents {
		p.expect(&id)
	}
	a.pages[limit] = p
	return p
}

// sessionsOfAgent gives a page of an agent's sessions. First pages are read together for all agents of a list; those that
// follow are one agent's own.
func (r *Resolver) sessionsOfAgent(ctx context.Context, agent models.AgentID, first *int, after *string) (*model.SessionConnection, error) {
	if after != nil {
		return r.sessionsBy(ctx, first, after, sessions.Filter{AgentID: &agent})
	}
	w, err := idWindow[models.SessionEntity](first, nil, 20)
	if err != nil {
		return nil, err
	}
	l := r.loadersOf(ctx)
	rows, _, err := l.agentSessions.page(w.Limit+1, l.expectSession).load(ctx, agent)
	if err != nil {
		return nil, err
	}
	return r.sessionConnection(ctx, rows, w, func() (*int, error) {
		n, _, err := l.agentSessions.counts.load(ctx, agent)
		return counted(n, err)
	}), nil
}
