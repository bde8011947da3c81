package catalog

import (
	"context"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

// NewHarness is what a harness is made from.
type NewHarness struct {
	Name           string
	DisplayName    *string
	Description    *string
	ParentID       *models.HarnessID
	SystemPrompt   *string
	Capabilities   []models.CapabilityRef
	DefaultModelID *models.ModelID
	// FallbackModelIDs are asked in this order when the chosen model can't be reached; at most 5. None leaves it to the parent.
	FallbackModelIDs []models.ModelID
	MaxIterations    *int
	// StreamRecovery tells what becomes of an answer that its runner did not live to finish; nil leaves it to the parent.
	StreamRecovery *models.StreamRecovery
}

var harnesses = definition[models.Harness, models.HarnessEntity]{
	noun: "harness", article: "a", history: "harness_revisions", owner: "harness_id",
	columns: []string{
		"display_name", "description", "system_prompt", "capabilities", "default_model_id", "fallback_model_ids", "max_iterations",
		"stream_recovery", "lifecycle", "revision", "updated_at",
	},
	revision: func(h *models.Harness, r models.Revision) any {
		return &models.HarnessRevision{OrgID: h.OrgID, HarnessID: h.ID, Number: h.Revision, Revision: r}
	},
	shared: func(h *models.Harness) shared[models.HarnessEntity] {
		return shared[models.HarnessEntity]{
			h.OrgID, h.ID, &h.Name, &h.NameKey, &h.DisplayName, &h.Description, &h.Capabilities, &h.DefaultModelID, &h.FallbackModelIDs,
			&h.MaxIterations, &h.Lifecycle, &h.Revision, &h.CreatedAt, &h.UpdatedAt,
		}
	},
	fillOwn: func(h *models.Harness, in *Change) error {
		if in.SystemPrompt.Given {
			h.SystemPrompt = in.SystemPrompt.Value
		}
		if in.StreamRecovery.Given {
			h.StreamRecovery = in.StreamRecovery.Value
		}
		return nil
	},
	snapshotOwn: func(h *models.Harness, s *snapshot) {
		s.ParentID, s.SystemPrompt, s.StreamRecovery = &h.ParentID, h.SystemPrompt, h.StreamRecovery
	},
}

// Harness reads a harness, archived ones too.
func (s *Service) Harness(ctx context.Context, org models.OrgID, id models.HarnessID) (*models.Harness, error) {
	return get[models.Harness](s.db.Read(ctx, org), org, id)
}

// CreateHarness adds a harness.
func (s *Service) CreateHarness(ctx context.Context, by *auth.Principal, in NewHarness) (*models.Harness, error) {
	row := &models.Harness{OrgID: by.OrgID, ID: models.NewID[models.HarnessEntity](), ParentID: in.ParentID}
	err := harnesses.create(ctx, s, by, row, in.Name, Change{
		DisplayName: Give(in.DisplayName), Description: Give(in.Description), SystemPrompt: Give(in.SystemPrompt),
		Capabilities: Give(in.Capabilities), DefaultModelID: Give(in.DefaultModelID),
		FallbackModelIDs: Give(in.FallbackModelIDs), MaxIterations: Give(in.MaxIterations), StreamRecovery: Give(in.StreamRecovery),
	}, func(tx *gorm.DB) error {
		if in.ParentID == nil {
			return nil
		}
		chain, err := checkHarness(tx, by.OrgID, *in.ParentID, "parentId")
		if err == nil && len(chain) >= maxDepth {
			err = invalid("parentId", "Harnesses can inherit over at most %d levels. Choose a parent with fewer.", maxDepth)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return row, nil
}

// UpdateHarness changes a harness. Agents, sessions and harnesses that inherit from it follow within a second.
func (s *Service) UpdateHarness(ctx context.Context, by *auth.Principal, id models.HarnessID, in Change) (*models.Harness, error) {
	return harnesses.update(ctx, s, by, id, in)
}

// RestoreHarness makes an earlier revision the current state, as a new revision. It is checked like an update: what the old
// state refers to must still be there. The name, the parent and the lifecycle stay as they are.
func (s *Service) RestoreHarness(ctx context.Context, by *auth.Principal, id models.HarnessID, revision int, reason *string) (*models.Harness, error) {
	return harnesses.restore(ctx, s, by, id, revision, reason)
}

// ArchiveHarness takes a harness out of use: new sessions can't have it, and turns that run with it stop at their next
// step. Archiving an archived one changes nothing.
func (s *Service) ArchiveHarness(ctx context.Context, by *auth.Principal, id models.HarnessID) (*models.Harness, error) {
	return harnesses.move(ctx, s, by, id, "archived", models.LifecycleArchived)
}

// UnarchiveHarness brings an archived harness back. What it refers to may have gone meanwhile; that shows in
// its effective configuration.
func (s *Service) UnarchiveHarness(ctx context.Context, by *auth.Principal, id models.HarnessID) (*models.Harness, error) {
	return harnesses.move(ctx, s, by, id, "unarchived", models.LifecycleActive)
}
