package catalog

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// seedDemo adds to a new organization an agent to talk to at once: its model needs no provider. From then on it is an agent like any other, which
// may be changed or archived, and is never made again.
func seedDemo(tx *gorm.DB, org models.OrgID, harness models.HarnessID, model models.ModelID, now models.Millis) error {
	row := models.Agent{
		OrgID: org, ID: models.NewID[models.AgentEntity](), Name: "demo", NameKey: "demo", DisplayName: "Demo",
		Description:  new("Uses tools and keeps files, on a simulated model that needs no API key."),
		HarnessID:    &harness,
		SystemPrompt: "You show what an agent can do here. Use your tools, and say what you did with them.",
		Capabilities: []models.CapabilityRef{}, DefaultModelID: &model, Tags: []string{},
		Lifecycle: models.LifecycleActive, Revision: 1, CreatedAt: now, UpdatedAt: now,
	}
	if err := tx.Create(&row).Error; err != nil {
		return fmt.Errorf("create the demo agent of %s: %w", org, err)
	}
	return agents.record(tx, system(), nil, &row)
}
