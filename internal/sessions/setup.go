package sessions

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// setup is what a session brings; the zero one is nothing.
type setup struct {
	models.SessionSetup

	// bytes is about how much it takes.
	bytes int
}

// add stores it, unless it is there.
func (b setup) add(tx *commit.Tx) {
	if len(b.Hash) > 0 {
		tx.AddSetup(b.SessionSetup)
	}
}

// ofDraft is what a session brings that tries a draft.
func ofDraft(draft models.JSON) setup {
	sum := sha256.Sum256(draft)
	return setup{models.SessionSetup{Hash: sum[:], Tools: models.ClientTools{}, Draft: draft}, len(draft)}
}

// ofClientTools checks the tools that a session of a harness and an agent brings.
func (s *Service) ofClientTools(
	ctx context.Context, org models.OrgID, harness models.HarnessID, agent *models.AgentID, list []models.ClientTool,
) (b setup, err error) {
	if len(list) == 0 {
		return b, nil
	}
	b.Tools = catalog.CleanClientTools(list)
	if err := s.cfg.Catalog.CheckClientTools(ctx, org, harness, agent, b.Tools); err != nil {
		return b, err
	}
	for _, t := range b.Tools {
		b.bytes += len(t.InputSchema) + len(t.Description) + 256
	}
	b.Hash, err = catalog.ClientToolsHash(b.Tools)
	return b, err
}

// changedSetup checks what a session brings after a change: new client tools, or those that it has, with another agent.
func (s *Service) changedSetup(ctx context.Context, have *models.Session, ch Change) (setup, error) {
	if have.Trial && (ch.AgentID.Given || ch.ClientTools.Given) {
		return setup{}, fault.New(fault.Conflict, "The session tries a draft, which stays as it is. Create a session to use another agent or other client tools.").
			At("input")
	}
	agent := have.AgentID
	if ch.AgentID.Given {
		agent = ch.AgentID.Value
	}
	if ch.ClientTools.Given {
		return s.ofClientTools(ctx, have.OrgID, have.HarnessID, agent, ch.ClientTools.Value)
	}
	if !ch.AgentID.Given || len(have.Setup) == 0 {
		return setup{}, nil
	}
	sets, err := s.ClientTools(ctx, have.OrgID, []string{string(have.Setup)})
	if err != nil {
		return setup{}, err
	}
	err = s.cfg.Catalog.CheckClientTools(ctx, have.OrgID, have.HarnessID, agent, sets[string(have.Setup)])
	return setup{}, fault.At(err, "input", "agentId")
}

// ClientTools returns the client tools that sessions bring, by the hashes of their setups, as strings of bytes. Those that the organization doesn't have are left out.
func (s *Service) ClientTools(ctx context.Context, org models.OrgID, hashes []string) (map[string][]models.ClientTool, error) {
	keys := make([][]byte, len(hashes))
	for i, h := range hashes {
		keys[i] = []byte(h)
	}
	var rows []models.SessionSetup
	if len(keys) > 0 {
		if err := s.of(ctx, org).Where("hash IN ?", keys).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("read the client tools of %d setups: %w", len(hashes), err)
		}
	}
	found := make(map[string][]models.ClientTool, len(rows))
	for _, row := range rows {
		found[string(row.Hash)] = row.Tools
	}
	return found, nil
}
