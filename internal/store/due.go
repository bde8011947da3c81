package store

import (
	"context"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// DueAcross is a query of up to limit rows whose due_at has come, of all organizations but those in without, the most overdue first.
func (db *DB) DueAcross(ctx context.Context, now models.Millis, without []models.OrgID, limit int) *gorm.DB {
	q := CrossOrg(db.ReadAcross(ctx)).Where("due_at <= ?", now).Order("due_at").Limit(limit)
	if len(without) > 0 {
		q = q.Where("org_id NOT IN ?", without)
	}
	return q
}
