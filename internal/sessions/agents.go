package sessions

import (
	"context"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

// NewestOfAgents returns the newest sessions of several agents, up to limit of each, in one statement. It has an entry for
// every agent. Each agent is a branch of its own, which reads no more of the index than its limit; partitions of one
// query would read all sessions of all of them.
func (s *Service) NewestOfAgents(
	ctx context.Context, org models.OrgID, agents []models.AgentID, limit int,
) (map[models.AgentID][]models.Session, error) {
	//nolint:unqueryvet // GORM's rows take all columns
	const branch = `SELECT * FROM (SELECT * FROM sessions WHERE org_id = ? AND agent_id = ? ORDER BY id DESC LIMIT ?) AS branch`
	found := make(map[models.AgentID][]models.Session, len(agents))
	args := make([]any, 0, 3*len(agents))
	for _, a := range agents {
		found[a] = nil
		args = append(args, org, a, limit)
	}
	var rows []models.Session
	//nolint:unqueryvet // as above
	query := "SELECT * FROM (" + union(branch, len(agents)) + ") AS newest ORDER BY id DESC"
	if err := s.cfg.DB.Read(ctx, org).Raw(query, args...).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("list the sessions of %d agents: %w", len(agents), err)
	}
	for _, row := range rows {
		found[*row.AgentID] = append(found[*row.AgentID], row)
	}
	return found, nil
}

// CountOfAgents counts the sessions of several agents in one statement, each as far as one more than 10 000. It has an
// entry for every agent.
func (s *Service) CountOfAgents(ctx context.Context, org models.OrgID, agents []models.AgentID) (map[models.AgentID]int, error) {
	// The place of an agent stands for its id, which needs no type of either database then.
	const branch = `SELECT CAST(? AS INTEGER) AS place, count(*) AS n
FROM (SELECT 1 FROM sessions WHERE org_id = ? AND agent_id = ? LIMIT ?) AS branch`
	args := make([]any, 0, 4*len(agents))
	for i, a := range agents {
		args = append(args, i, org, a, maxCount+1)
	}
	var rows []struct{ Place, N int }
	if err := s.cfg.DB.Read(ctx, org).Raw(union(branch, len(agents)), args...).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("count the sessions of %d agents: %w", len(agents), err)
	}
	found := make(map[models.AgentID]int, len(agents))
	for _, row := range rows {
		found[agents[row.Place]] = row.N
	}
	return found, nil
}

func union(branch string, n int) string {
	return strings.TrimSuffix(strings.Repeat(branch+"\nUNION ALL\n", n), "\nUNION ALL\n")
}
