package catalog

import (
	"fmt"
	"slices"
	"strconv"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// maxFallbacks is how many models may be tried after the chosen one.
const maxFallbacks = 5

const modelsSQL = modelColumns + `WHERE m.org_id = ? AND m.id IN ?`

// loadModels reads models with their providers, in the order of ids, in one statement; none without ids. Those that the
// organization doesn't have are left out.
func loadModels(db *gorm.DB, org models.OrgID, ids []models.ModelID) ([]*RunModel, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var found []*RunModel
	if err := db.Raw(modelsSQL, org, ids).Scan(&found).Error; err != nil {
		return nil, fmt.Errorf("read models of %s: %w", org, err)
	}
	slices.SortFunc(found, func(a, b *RunModel) int {
		return slices.Index(ids, a.Model.ID) - slices.Index(ids, b.Model.ID)
	})
	return found, nil
}

// cleanFallbacks checks the form of a list of fallback models. Whether there are such models is checkFallbacks' business.
func cleanFallbacks(ids []models.ModelID) (models.ModelIDs, error) {
	if len(ids) > maxFallbacks {
		return nil, invalid("fallbackModelIds", "There are %d fallback models; at most %d are allowed.", len(ids), maxFallbacks)
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return nil, invalid("fallbackModelIds", "The model %s is listed twice.", id).At("input", "fallbackModelIds", strconv.Itoa(i))
		}
	}
	return slices.Clone(ids), nil
}

// checkFallbacks checks that fallback models exist and can be chosen. Those that were there before are left alone.
func checkFallbacks(db *gorm.DB, org models.OrgID, had, ids []models.ModelID) error {
	added := slices.DeleteFunc(slices.Clone(ids), func(id models.ModelID) bool { return slices.Contains(had, id) })
	found, err := loadModels(db, org, added)
	if err != nil {
		return err
	}
	for _, id := range added {
		path := []string{"input", "fallbackModelIds", strconv.Itoa(slices.Index(ids, id))}
		at := slices.IndexFunc(found, func(m *RunModel) bool { return m.Model.ID == id })
		if at < 0 {
			return unknown(id).At(path...)
		}
		if problem := found[at].problem(); problem != nil {
			return problem.Fault("fallbackModelIds").At(path...)
		}
	}
	return nil
}

// usableFallbacks returns those that can be asked when the chosen model, which may be nil, can't be reached.
func usableFallbacks(all []*RunModel, chosen *RunModel) []*RunModel {
	return slices.DeleteFunc(slices.Clone(all), func(m *RunModel) bool {
		return m.problem() != nil || (chosen != nil && m.Model.ID == chosen.Model.ID)
	})
}
