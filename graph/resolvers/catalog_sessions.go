package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

// sessionsOfAgent returns a page of an agent's sessions. First pages are read together for all agents of a list; those that
// follow are one agent's own.
func (r *Resolver) sessionsOfAgent(ctx context.Context, agent models.AgentID, first *int, after *string) (*model.SessionConnection, error) {
	if after != nil {
		return r.sessionsBy(ctx, first, after, sessions.Filter{AgentID: &agent}, sessions.Sorting{})
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
	return connection(rows, w, func(s *models.Session) string { return idCursor(s.ID) }, r.encodeSession(ctx), func() (int, error) { return l.agentSessions.count(ctx, agent) }), nil
}
