package sessions

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// clientTools is a set of client tools, or a draft of an agent, as it is stored; the zero one is none.
type clientTools struct {
	hash []byte
	list models.ClientTools
	// draft is what a session tries; nil for none.
	draft models.JSON
	// bytes is about how much it takes.
	bytes int
}

// add stores the set, unless it is there.
func (c clientTools) add(tx *commit.Tx) {
	switch {
	case c.draft != nil:
		tx.AddDraft(c.hash, c.draft)
	case len(c.hash) > 0:
		tx.AddClientTools(c.hash, c.list)
	}
}

// clientTools checks the tools that a session of a harness and an agent brings.
func (s *Service) clientTools(
	ctx context.Context, org models.OrgID, harness models.HarnessID, agent *models.AgentID, list []models.ClientTool,
) (c clientTools, err error) {
	if len(list) == 0 {
		return c, nil
	}
	c.list = catalog.CleanClientTools(list)
	if err := s.cfg.Catalog.CheckClientTools(ctx, org, harness, agent, c.list); err != nil {
		return c, err
	}
	for _, t := range c.list {
		c.bytes += len(t.InputSchema) + len(t.Description) + 256
	}
	c.hash, err = catalog.ClientToolsHash(c.list)
	return c, err
}

// changedClientTools checks the tools that a session brings after a change: new ones, or those that it has, with another agent.
func (s *Service) changedClientTools(ctx context.Context, have *models.Session, ch Change) (clientTools, error) {
	if have.Trial && (ch.AgentID.Given || ch.ClientTools.Given) {
		return clientTools{}, fault.New(fault.Conflict, "The session tries a draft, which stays as it is. Create a session to use another agent or other client tools.").
			At("input")
	}
	agent := have.AgentID
	if ch.AgentID.Given {
		agent = ch.AgentID.Value
	}
	if ch.ClientTools.Given {
		return s.clientTools(ctx, have.OrgID, have.HarnessID, agent, ch.ClientTools.Value)
	}
	if !ch.AgentID.Given || len(have.ClientTools) == 0 {
		return clientTools{}, nil
	}
	sets, err := s.ClientToolsets(ctx, have.OrgID, []string{string(have.ClientTools)})
	if err != nil {
		return clientTools{}, err
	}
	err = s.cfg.Catalog.CheckClientTools(ctx, have.OrgID, have.HarnessID, agent, sets[string(have.ClientTools)])
	return clientTools{}, fault.At(err, "input", "agentId")
}

// ClientToolsets returns sets of client tools by their hashes, as strings of bytes. Those that the organization doesn't have are left out.
func (s *Service) ClientToolsets(ctx context.Context, org models.OrgID, hashes []string) (map[string][]models.ClientTool, error) {
	keys := make([][]byte, len(hashes))
	for i, h := range hashes {
		keys[i] = []byte(h)
	}
	var rows []models.ClientToolset
	if len(keys) > 0 {
		if err := s.of(ctx, org).Where("hash IN ?", keys).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("read %d sets of client tools: %w", len(hashes), err)
		}
	}
	found := make(map[string][]models.ClientTool, len(rows))
	for _, row := range rows {
		found[string(row.Hash)] = row.Tools
	}
	return found, nil
}
