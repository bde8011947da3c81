package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
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

// AgentChange is a change of an agent. An agent keeps its name.
type AgentChange struct {
	DisplayName      Opt[*string]
	Description      Opt[*string]
	HarnessID        Opt[*models.HarnessID]
	SystemPrompt     Opt[*string]
	Capabilities     Opt[[]models.CapabilityRef]
	DefaultModelID   Opt[*models.ModelID]
	FallbackModelIDs Opt[[]models.ModelID]
	MaxIterations    Opt[*int]
	ClientTools      Opt[[]models.ClientTool]
	Tags             Opt[[]string]
	// Revision is the one that the change was made from; nil to change whatever is there.
	Revision *int
	// Reason is kept with the revision that the change makes.
	Reason *string
}

var agentColumns = []string{
	"display_name", "description", "harness_id", "system_prompt", "capabilities", "default_model_id", "fallback_model_ids", "max_iterations", "tags",
	"client_tools", "lifecycle", "revision", "updated_at",
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
	now := clock.Millis(s.clock)
	row := models.Agent{
		OrgID: by.OrgID, ID: models.NewID[models.AgentEntity](), Lifecycle: models.LifecycleActive, Revision: 1,
		CreatedAt: now, UpdatedAt: now,
	}
	var err error
	if row.Name, err = cleanName(in.Name); err != nil {
		return nil, err
	}
	row.NameKey = strings.ToLower(row.Name)
	empty := row
	if err := fillAgent(&row, in.change()); err != nil {
		return nil, err
	}
	most := s.limits.Of(ctx, by.OrgID).Agents
	err = s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		if err := roomForAgent(tx, by.OrgID, most); err != nil {
			return err
		}
		if err := s.checkAgentRefs(tx, by, &empty, &row); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if err := recordAgent(tx, person(by, nil), nil, &row); err != nil {
			return err
		}
		return s.record(ctx, tx, by, "agent.created", row.ID.String(), map[string]any{"name": row.Name, "revision": row.Revision})
	})
	if err != nil {
		return nil, taken(fmt.Errorf("create an agent in %s: %w", by.OrgID, err), "an agent", row.Name)
	}
	return &row, nil
}

// change gives the change that makes an empty agent this one.
func (in NewAgent) change() AgentChange {
	return AgentChange{
		DisplayName: Give(in.DisplayName), Description: Give(in.Description), HarnessID: Give(in.HarnessID),
		SystemPrompt: Give(&in.SystemPrompt), Capabilities: Give(in.Capabilities), DefaultModelID: Give(in.DefaultModelID),
		FallbackModelIDs: Give(in.FallbackModelIDs), MaxIterations: Give(in.MaxIterations),
		ClientTools: Give(in.ClientTools), Tags: Give(in.Tags),
	}
}

// UpdateAgent changes an agent. Its sessions follow from their next step on, within a second.
func (s *Service) UpdateAgent(ctx context.Context, by *auth.Principal, id models.AgentID, in AgentChange) (*models.Agent, error) {
	reason, err := cleanReason(in.Reason, "input", "reason")
	if err != nil {
		return nil, err
	}
	return s.changeAgent(ctx, by, id, deed{verb: "updated", reason: reason}, func(tx *gorm.DB, row, next *models.Agent) error {
		if err := checkRevision(in.Revision, row.Revision); err != nil {
			return err
		}
		if err := checkActive("agent", row.Lifecycle); err != nil {
			return err
		}
		if err := fillAgent(next, in); err != nil {
			return err
		}
		return s.checkAgentRefs(tx, by, row, next)
	})
}

// ArchiveAgent takes an agent out of use: new sessions can't have it, and turns that run with it stop at their next
// step. Archiving an archived one changes nothing.
func (s *Service) ArchiveAgent(ctx context.Context, by *auth.Principal, id models.AgentID) (*models.Agent, error) {
	return s.changeAgent(ctx, by, id, deed{verb: "archived"}, func(_ *gorm.DB, row, next *models.Agent) error {
		return move(&next.Lifecycle, "agent", row.Lifecycle, models.LifecycleArchived)
	})
}

// UnarchiveAgent brings an archived agent back. What it refers to may have gone meanwhile; that shows in its
// effective configuration.
func (s *Service) UnarchiveAgent(ctx context.Context, by *auth.Principal, id models.AgentID) (*models.Agent, error) {
	return s.changeAgent(ctx, by, id, deed{verb: "unarchived"}, func(_ *gorm.DB, row, next *models.Agent) error {
		return move(&next.Lifecycle, "agent", row.Lifecycle, models.LifecycleActive)
	})
}

// changeAgent lets edit change a copy of the row and stores it, as the next revision, when anything came of it.
func (s *Service) changeAgent(ctx context.Context, by *auth.Principal, id models.AgentID, d deed,
	edit func(tx *gorm.DB, row, next *models.Agent) error,
) (*models.Agent, error) {
	var next models.Agent
	err := s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		row, err := lock[models.Agent](tx, by.OrgID, id)
		if err != nil {
			return err
		}
		next = *row
		if err := edit(tx, row, &next); err != nil {
			return err
		}
		if sameAgent(row, &next) {
			return nil
		}
		if err := s.keepAgentGuards(tx, by, row, &next); err != nil {
			return d.blame(err)
		}
		next.Revision, next.UpdatedAt = row.Revision+1, s.now(row.UpdatedAt)
		if err := change(tx, by.OrgID, id, "revision", row.Revision, &next, agentColumns...); err != nil {
			return err
		}
		if err := recordAgent(tx, person(by, d.reason), row, &next); err != nil {
			return err
		}
		return s.recordAgentDeed(ctx, tx, by, d, row, &next)
	})
	if err != nil {
		return nil, err
	}
	return &next, nil
}

func fillAgent(row *models.Agent, in AgentChange) error {
	var err error
	if in.DisplayName.Given {
		if row.DisplayName, err = cleanDisplayName(in.DisplayName.Value, row.Name); err != nil {
			return err
		}
	}
	if in.Description.Given {
		if row.Description, err = cleanDescription(in.Description.Value); err != nil {
			return err
		}
	}
	if in.HarnessID.Given {
		row.HarnessID = in.HarnessID.Value
	}
	if in.SystemPrompt.Given {
		row.SystemPrompt = ""
		if in.SystemPrompt.Value != nil {
			row.SystemPrompt = *in.SystemPrompt.Value
		}
		if err := checkPrompt(row.SystemPrompt); err != nil {
			return err
		}
	}
	if in.Capabilities.Given {
		if row.Capabilities, err = cleanRefs(in.Capabilities.Value); err != nil {
			return err
		}
	}
	if in.DefaultModelID.Given {
		row.DefaultModelID = in.DefaultModelID.Value
	}
	if in.FallbackModelIDs.Given {
		if row.FallbackModelIDs, err = cleanFallbacks(in.FallbackModelIDs.Value); err != nil {
			return err
		}
	}
	if in.MaxIterations.Given {
		if err := checkMaxIterations(in.MaxIterations.Value); err != nil {
			return err
		}
		row.MaxIterations = in.MaxIterations.Value
	}
	if in.ClientTools.Given {
		row.ClientTools = CleanClientTools(in.ClientTools.Value)
	}
	if in.Tags.Given {
		row.Tags, err = cleanTags(in.Tags.Value)
	}
	return err
}

// checkAgentRefs checks what an agent newly refers to; see checkHarnessRefs.
func (s *Service) checkAgentRefs(tx *gorm.DB, by *auth.Principal, row, next *models.Agent) error {
	if !equalPtr(row.HarnessID, next.HarnessID) && next.HarnessID != nil {
		if _, err := checkHarness(tx, by.OrgID, *next.HarnessID, "harnessId"); err != nil {
			return err
		}
	}
	if !equalPtr(row.DefaultModelID, next.DefaultModelID) && next.DefaultModelID != nil {
		if err := checkModel(tx, by.OrgID, *next.DefaultModelID, "defaultModelId"); err != nil {
			return err
		}
	}
	if err := checkFallbacks(tx, by.OrgID, row.FallbackModelIDs, next.FallbackModelIDs); err != nil {
		return err
	}
	if !sameRefs(row.Capabilities, next.Capabilities) {
		if err := s.checkRefs(by, row.Capabilities, next.Capabilities); err != nil {
			return err
		}
	}
	return s.checkAgentTools(tx, row, next)
}

func sameAgent(a, b *models.Agent) bool {
	return a.DisplayName == b.DisplayName && equalPtr(a.Description, b.Description) && equalPtr(a.HarnessID, b.HarnessID) &&
		a.SystemPrompt == b.SystemPrompt && sameRefs(a.Capabilities, b.Capabilities) &&
		equalPtr(a.DefaultModelID, b.DefaultModelID) && slices.Equal(a.FallbackModelIDs, b.FallbackModelIDs) && equalPtr(a.MaxIterations, b.MaxIterations) &&
		sameClientTools(a.ClientTools, b.ClientTools) && slices.Equal(a.Tags, b.Tags) && a.Lifecycle == b.Lifecycle
}
