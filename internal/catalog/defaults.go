package catalog

import (
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// CheckDefaultHarness checks that a harness can be the default of its organization: fault.NotFound for one that the organization doesn't
// have, fault.Dependency for one that can't be used, each at input, defaultHarnessId.
func CheckDefaultHarness(tx *gorm.DB, org models.OrgID, id models.HarnessID) error {
	_, err := checkHarness(tx, org, id, "defaultHarnessId")
	return err
}

// CheckDefaultModel is CheckDefaultHarness for a model, at input, defaultModelId.
func CheckDefaultModel(tx *gorm.DB, org models.OrgID, id models.ModelID) error {
	return checkModel(tx, org, id, "defaultModelId")
}

// DefaultsChanged reports that an organization has other defaults now, so that what this process remembers of it is forgotten. Other
// processes notice within Staleness.
func (s *Service) DefaultsChanged(org models.OrgID) { s.cache.forget(org) }
