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

// HarnessChange is a change of a harness. A harness keeps its name and its parent.
type HarnessChange struct {
	DisplayName      Opt[*string]
	Description      Opt[*string]
	SystemPrompt     Opt[*string]
	Capabilities     Opt[[]models.CapabilityRef]
	DefaultModelID   Opt[*models.ModelID]
	FallbackModelIDs Opt[[]models.ModelID]
	MaxIterations    Opt[*int]
	StreamRecovery   Opt[*models.StreamRecovery]
	// Revision is the one that the change was made from; nil to change whatever is there.
	Revision *int
	// Reason is kept with the revision that the change makes.
	Reason *string
}

var harnessColumns = []string{
	"display_name", "description", "system_prompt", "capabilities", "default_model_id", "fallback_model_ids", "max_iterations",
	"stream_recovery", "lifecycle", "revision", "updated_at",
}

// Harness reads a harness, archived ones too.
func (s *Service) Harness(ctx context.Context, org models.OrgID, id models.HarnessID) (*models.Harness, error) {
	return get[models.Harness](s.db.Read(ctx, org), org, id)
}

// CreateHarness adds a harness.
func (s *Service) CreateHarness(ctx context.Context, by *auth.Principal, in NewHarness) (*models.Harness, error) {
	now := clock.Millis(s.clock)
	row := models.Harness{
		OrgID: by.OrgID, ID: models.NewID[models.HarnessEntity](), ParentID: in.ParentID, Capabilities: []models.CapabilityRef{},
		Lifecycle: models.LifecycleActive, Revision: 1, CreatedAt: now, UpdatedAt: now,
	}
	var err error
	if row.Name, err = cleanName(in.Name); err != nil {
		return nil, err
	}
	row.NameKey = strings.ToLower(row.Name)
	empty := row
	if err := fillHarness(&row, HarnessChange{
		DisplayName: Give(in.DisplayName), Description: Give(in.Description), SystemPrompt: Give(in.SystemPrompt),
		Capabilities: Give(in.Capabilities), DefaultModelID: Give(in.DefaultModelID),
		FallbackModelIDs: Give(in.FallbackModelIDs), MaxIterations: Give(in.MaxIterations), StreamRecovery: Give(in.StreamRecovery),
	}); err != nil {
		return nil, err
	}
	err = s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		if in.ParentID != nil {
			chain, err := checkHarness(tx, by.OrgID, *in.ParentID, "parentId")
			if err != nil {
				return err
			}
			if len(chain) >= maxDepth {
				return invalid("parentId", "Harnesses inherit over at most %d levels, and this one would be one too many.", maxDepth)
			}
		}
		if err := s.checkHarnessRefs(tx, by, &empty, &row); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if err := recordHarness(tx, person(by, nil), nil, &row); err != nil {
			return err
		}
		return s.record(ctx, tx, by, "harness.created", row.ID.String(), map[string]any{"name": row.Name, "revision": row.Revision})
	})
	if err != nil {
		return nil, taken(fmt.Errorf("create a harness in %s: %w", by.OrgID, err), "a harness", row.Name)
	}
	return &row, nil
}

// UpdateHarness changes a harness. Agents, sessions and harnesses that inherit from it follow within a second.
func (s *Service) UpdateHarness(ctx context.Context, by *auth.Principal, id models.HarnessID, in HarnessChange) (*models.Harness, error) {
	reason, err := cleanReason(in.Reason, "input", "reason")
	if err != nil {
		return nil, err
	}
	return s.changeHarness(ctx, by, id, deed{verb: "updated", reason: reason}, func(tx *gorm.DB, row, next *models.Harness) error {
		if err := checkRevision(in.Revision, row.Revision); err != nil {
			return err
		}
		if err := checkActive("harness", row.Lifecycle); err != nil {
			return err
		}
		if err := fillHarness(next, in); err != nil {
			return err
		}
		return s.checkHarnessRefs(tx, by, row, next)
	})
}

// ArchiveHarness takes a harness out of use: new sessions can't have it, and turns that run with it stop at their next
// step. Archiving an archived one changes nothing.
func (s *Service) ArchiveHarness(ctx context.Context, by *auth.Principal, id models.HarnessID) (*models.Harness, error) {
	return s.changeHarness(ctx, by, id, deed{verb: "archived"}, func(_ *gorm.DB, row, next *models.Harness) error {
		return move(&next.Lifecycle, "harness", row.Lifecycle, models.LifecycleArchived)
	})
}

// UnarchiveHarness brings an archived harness back. What it refers to may have gone meanwhile; that shows in
// its effective configuration.
func (s *Service) UnarchiveHarness(ctx context.Context, by *auth.Principal, id models.HarnessID) (*models.Harness, error) {
	return s.changeHarness(ctx, by, id, deed{verb: "unarchived"}, func(_ *gorm.DB, row, next *models.Harness) error {
		return move(&next.Lifecycle, "harness", row.Lifecycle, models.LifecycleActive)
	})
}

// changeHarness lets edit change a copy of the row and stores it, as the next revision, when anything came of it.
func (s *Service) changeHarness(ctx context.Context, by *auth.Principal, id models.HarnessID, d deed,
	edit func(tx *gorm.DB, row, next *models.Harness) error,
) (*models.Harness, error) {
	var next models.Harness
	err := s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		row, err := lock[models.Harness](tx, by.OrgID, id)
		if err != nil {
			return err
		}
		if row.BuiltIn {
			return fault.New(fault.Forbidden,
				"The harness %s is built in and can't be changed. Create a harness with it as the parent instead.", row.Name).At("id")
		}
		next = *row
		if err := edit(tx, row, &next); err != nil {
			return err
		}
		if sameHarness(row, &next) {
			return nil
		}
		next.Revision, next.UpdatedAt = row.Revision+1, s.now(row.UpdatedAt)
		if err := change(tx, by.OrgID, id, "revision", row.Revision, &next, harnessColumns...); err != nil {
			return err
		}
		if err := recordHarness(tx, person(by, d.reason), row, &next); err != nil {
			return err
		}
		return s.recordHarnessDeed(ctx, tx, by, d, row, &next)
	})
	if err != nil {
		return nil, err
	}
	return &next, nil
}

// move changes a lifecycle between active and archived.
func move(to *models.Lifecycle, what string, from, target models.Lifecycle) error {
	if from == models.LifecycleDeleted {
		return checkActive(what, from)
	}
	*to = target
	return nil
}

func fillHarness(row *models.Harness, in HarnessChange) error {
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
	if in.SystemPrompt.Given {
		if p := in.SystemPrompt.Value; p != nil {
			if err := checkPrompt(*p); err != nil {
				return err
			}
		}
		row.SystemPrompt = in.SystemPrompt.Value
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
	if in.StreamRecovery.Given {
		row.StreamRecovery = in.StreamRecovery.Value
	}
	return nil
}

// checkHarnessRefs checks what a harness newly refers to. What it referred to before is left alone: a change of the
// description must not fail because a model was disabled meanwhile.
func (s *Service) checkHarnessRefs(tx *gorm.DB, by *auth.Principal, row, next *models.Harness) error {
	if !equalPtr(row.DefaultModelID, next.DefaultModelID) && next.DefaultModelID != nil {
		if err := checkModel(tx, by.OrgID, *next.DefaultModelID, "defaultModelId"); err != nil {
			return err
		}
	}
	if err := checkFallbacks(tx, by.OrgID, row.FallbackModelIDs, next.FallbackModelIDs); err != nil {
		return err
	}
	if sameRefs(row.Capabilities, next.Capabilities) {
		return nil
	}
	return s.checkRefs(by, row.Capabilities, next.Capabilities)
}

func sameHarness(a, b *models.Harness) bool {
	return a.DisplayName == b.DisplayName && equalPtr(a.Description, b.Description) && equalPtr(a.SystemPrompt, b.SystemPrompt) &&
		sameRefs(a.Capabilities, b.Capabilities) && equalPtr(a.DefaultModelID, b.DefaultModelID) &&
		slices.Equal(a.FallbackModelIDs, b.FallbackModelIDs) && equalPtr(a.MaxIterations, b.MaxIterations) &&
		equalPtr(a.StreamRecovery, b.StreamRecovery) && a.Lifecycle == b.Lifecycle
}

func sameRef(a, b models.CapabilityRef) bool {
	return a.ID == b.ID && string(a.Config) == string(b.Config)
}

func sameRefs(a, b []models.CapabilityRef) bool { return slices.EqualFunc(a, b, sameRef) }
