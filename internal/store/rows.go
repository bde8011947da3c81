package store

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// MaxCount is how far lists are counted; a count of one more means that there are more.
const MaxCount = 10_000

// Page reads rows of an organization in the order of their ids, newest first: at most limit of those after a position.
func Page[T any, E models.Entity](q *gorm.DB, org models.OrgID, after *models.ID[E], limit int) ([]T, error) {
	q = Of(q, org)
	if after != nil {
		q = q.Where("id < ?", *after)
	}
	var rows []T
	if err := q.Order("id DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list %T of %s: %w", rows, org, err)
	}
	return rows, nil
}

// CountTo counts the rows of a query of db no further than to most, so that it never takes time in proportion to a table.
func CountTo(db, q *gorm.DB, most int) (int, error) {
	var n int64
	err := db.Table("(?) AS counted", q.Select("1").Limit(most)).Count(&n).Error
	return int(n), err
}

// Count counts the rows of an organization that a query of db finds, as far as one more than MaxCount.
func Count[T any](db, q *gorm.DB, org models.OrgID) (int, error) {
	n, err := CountTo(db, Of(q.Model(new(T)), org), MaxCount+1)
	if err != nil {
		return 0, fmt.Errorf("count %T of %s: %w", *new(T), org, err)
	}
	return n, nil
}

// ByIDs reads rows of an organization by their ids, in one statement. Ids that it doesn't have are left out.
func ByIDs[T any, E models.Entity](db *gorm.DB, org models.OrgID, ids []models.ID[E]) ([]T, error) {
	var rows []T
	if len(ids) == 0 {
		return nil, nil
	}
	if err := Of(db, org).Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read %T of %s: %w", rows, org, err)
	}
	return rows, nil
}
