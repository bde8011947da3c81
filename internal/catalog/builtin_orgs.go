package catalog

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// harnessPosition is a place in the list of all built-in harnesses; the zero one is its start.
type harnessPosition struct {
	OrgID models.OrgID
	ID    models.HarnessID
}

// builtInRows reads the built-in harnesses of all organizations, at most limit of those after a position, so that the
// start of a new version can refresh them.
func builtInRows(ctx context.Context, db *store.DB, after harnessPosition, limit int) ([]models.Harness, error) {
	var rows []models.Harness
	q := store.CrossOrg(db.ReadAcross(ctx)).Where("built_in")
	if after != (harnessPosition{}) {
		q = q.Where("org_id >= ? AND (org_id > ? OR id > ?)", after.OrgID, after.OrgID, after.ID)
	}
	err := q.Order("org_id, id").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the built-in harnesses: %w", err)
	}
	return rows, nil
}
