package sessions

import (
	"context"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// NewestOfAgents returns the newest sessions of several agents, up to limit of each, in one statement. It has an entry for
// every agent.
func (s *Service) NewestOfAgents(
	ctx context.Context, org models.OrgID, agents []models.AgentID, limit int,
) (map[models.AgentID][]models.Session, error) {
	which := store.Owned{Table: "sessions", Owner: "agent_id", Where: "trial = false", Order: "id DESC", Limit: limit}
	return store.ListOf(ctx, s.cfg.DB, org, agents, which, func(s *models.Session) models.AgentID { return *s.AgentID })
}

// CountOfAgents counts the sessions of several agents in one statement, each as far as one more than 10 000. It has an
// entry for every agent.
func (s *Service) CountOfAgents(ctx context.Context, org models.OrgID, agents []models.AgentID) (map[models.AgentID]int, error) {
	return store.CountOf(ctx, s.cfg.DB, org, agents, store.Owned{Table: "sessions", Owner: "agent_id", Where: "trial = false", Limit: maxCount + 1})
}
