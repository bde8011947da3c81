package catalog

import (
	"context"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// NewAgent is what an agent is made from.
type NewAgent struct {
	Name           string
	DisplayName    *string
	Description    *string
	HarnessID      *models.HarnessID
	SystemPrompt   string
	Capabilities   []models.CapabilityRef
	DefaultModelID *models.ModelID
	// FallbackModelIDs are asked in this order when the chosen model can't be reached; at most 5. None leaves it to the parent.
	FallbackModelIDs []models.ModelID
	MaxIterations    *int
	// ClientTools are run by the caller's own program.
	ClientTools []models.ClientTool
	Tags        []string
}

var agents = definition[models.Agent, models.AgentEntity]{
	noun: "agent", article: "an", history: "agent_revisions", owner: "agent_id",
	columns: []string{
		"display_name", "description", "harness_id", "system_prompt", "capabilities", "default_model_id", "fallback_model_ids", "max_iterations",
		"tags", "client_tools", "lifecycle", "revision", "updated_at",
	},
	revision: func(a *models.Agent, r models.Revision) any {
		return &models.AgentRevision{OrgID: a.OrgID, AgentID: a.ID, Number: a.Revision, Revision: r}
	},
	shared: func(a *models.Agent) shared[models.AgentEntity] {
		return shared[models.AgentEntity]{
			a.OrgID, a.ID, &a.Name, &a.NameKey, &a.DisplayName, &a.Description, &a.Capabilities, &a.DefaultModelID, &a.FallbackModelIDs,
			&a.MaxIterations, &a.Lifecycle, &a.Revision, &a.CreatedAt, &a.UpdatedAt,
		}
	},
	fillOwn: func(a *models.Agent, in *Change) (err error) {
		if in.HarnessID.Given {
			a.HarnessID = in.HarnessID.Value
		}
		if in.SystemPrompt.Given {
			a.SystemPrompt = ""
			if p := in.SystemPrompt.Value; p != nil {
				a.SystemPrompt = *p
			}
		}
		if in.ClientTools.Given {
			a.ClientTools = CleanClientTools(in.ClientTools.Value)
		}
		if in.Tags.Given {
			a.Tags, err = cleanTags(in.Tags.Value)
		}
		return err
	},
	snapshotOwn: func(a *models.Agent, s *snapshot) {
		tags := orEmpty(a.Tags)
		s.HarnessID, s.SystemPrompt, s.ClientTools, s.Tags = &a.HarnessID, &a.SystemPrompt, a.ClientTools, &tags
	},
	checkOwn: func(s *Service, tx *gorm.DB, row, next *models.Agent) error {
		if next.HarnessID != nil && !equalPtr(row.HarnessID, next.HarnessID) {
			if _, err := checkHarness(tx, next.OrgID, *next.HarnessID, "harnessId"); err != nil {
				return err
			}
		}
		return s.checkAgentTools(tx, row, next)
	},
	keep: (*Service).keepAgentGuards,
}

// Agent reads an agent, archived ones too.
func (s *Service) Agent(ctx context.Context, org models.OrgID, id models.AgentID) (*models.Agent, error) {
	return get[models.Agent](s.db.Read(ctx, org), org, id)
}

// agentRow reads an agent; nil when there is none of this id, and without an id.
func agentRow(db *gorm.DB, org models.OrgID, id *models.AgentID) (*models.Agent, error) {
	if id == nil {
		return nil, nil
	}
	row, err := get[models.Agent](db, org, *id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return row, err
}

// CreateAgent adds an agent.
func (s *Service) CreateAgent(ctx context.Context, by *auth.Principal, in NewAgent) (*models.Agent, error) {
	row := &models.Agent{OrgID: by.OrgID, ID: models.NewID[models.AgentEntity]()}
	most := s.limits.Of(ctx, by.OrgID).Agents
	err := agents.create(ctx, s, by, row, in.Name, in.change(), func(tx *gorm.DB) error { return checkAgentQuota(tx, by.OrgID, most) })
	if err != nil {
		return nil, err
	}
	return row, nil
}

// change returns the change that makes an empty agent this one.
func (in NewAgent) change() Change {
	return Change{
		DisplayName: Give(in.DisplayName), Description: Give(in.Description), HarnessID: Give(in.HarnessID),
		SystemPrompt: Give(&in.SystemPrompt), Capabilities: Give(in.Capabilities), DefaultModelID: Give(in.DefaultModelID),
		FallbackModelIDs: Give(in.FallbackModelIDs), MaxIterations: Give(in.MaxIterations),
		ClientTools: Give(in.ClientTools), Tags: Give(in.Tags),
	}
}

// UpdateAgent changes an agent. Its sessions follow from their next step on, within a second.
func (s *Service) UpdateAgent(ctx context.Context, by *auth.Principal, id models.AgentID, in Change) (*models.Agent, error) {
	return agents.update(ctx, s, by, id, in)
}

// RestoreAgent is RestoreHarness for an agent.
func (s *Service) RestoreAgent(ctx context.Context, by *auth.Principal, id models.AgentID, revision int, reason *string) (*models.Agent, error) {
	return agents.restore(ctx, s, by, id, revision, reason)
}

// ArchiveAgent takes an agent out of use: new sessions can't have it, and turns that run with it stop at their next
// step. Archiving an archived one changes nothing.
func (s *Service) ArchiveAgent(ctx context.Context, by *auth.Principal, id models.AgentID) (*models.Agent, error) {
	return agents.move(ctx, s, by, id, "archived", models.LifecycleArchived)
}

// UnarchiveAgent brings an archived agent back. What it refers to may have gone meanwhile; that shows in its
// effective configuration.
func (s *Service) UnarchiveAgent(ctx context.Context, by *auth.Principal, id models.AgentID) (*models.Agent, error) {
	return agents.move(ctx, s, by, id, "unarchived", models.LifecycleActive)
}
