package catalog

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// recordPrices appends what models cost from their last change on to their histories, in the transaction that has written them. What was
// rated before keeps its cost, which stands in the journal.
func recordPrices(tx *gorm.DB, rows ...models.Model) error {
	list := make([]models.ModelPrice, len(rows))
	for i := range rows {
		m := &rows[i]
		list[i] = models.ModelPrice{
			OrgID: m.OrgID, ModelID: m.ID, ValidFrom: m.UpdatedAt,
			Input: m.PriceInput, Output: m.PriceOutput, CacheRead: m.PriceCacheRead, CacheWrite: m.PriceCacheWrite,
		}
	}
	if err := tx.Create(&list).Error; err != nil {
		return fmt.Errorf("record the prices of %d models of %s: %w", len(rows), rows[0].OrgID, err)
	}
	return nil
}

// samePrices reports whether two states of a model cost the same.
func samePrices(a, b *models.Model) bool {
	return equalPtr(a.PriceInput, b.PriceInput) && equalPtr(a.PriceOutput, b.PriceOutput) &&
		equalPtr(a.PriceCacheRead, b.PriceCacheRead) && equalPtr(a.PriceCacheWrite, b.PriceCacheWrite)
}

// PriceHistories returns the prices that models have had, newest first, up to limit of each, in one statement.
func (s *Service) PriceHistories(ctx context.Context, org models.OrgID, ids []models.ModelID, limit int) (map[models.ModelID][]models.ModelPrice, error) {
	var rows []struct {
		Place             int
		models.ModelPrice `gorm:"embedded"`
	}
	// The place of a model stands for its id, which needs no type of either database then.
	const columns = "valid_from, input, output, cache_read, cache_write"
	branch := "SELECT place, " + columns + " FROM (SELECT CAST(? AS INTEGER) AS place, " + columns +
		" FROM model_prices WHERE org_id = ? AND model_id = ? ORDER BY valid_from DESC LIMIT ?) AS branch"
	args := make([]any, 0, 4*len(ids))
	for i, id := range ids {
		args = append(args, i, org, id, limit)
	}
	query := "SELECT place, " + columns + " FROM (" + branches(branch, len(ids)) + ") AS newest ORDER BY place, valid_from DESC"
	if err := s.db.Read(ctx, org).Raw(query, args...).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("list the prices of %d models of %s: %w", len(ids), org, err)
	}
	found := make(map[models.ModelID][]models.ModelPrice, len(ids))
	for _, id := range ids {
		found[id] = nil
	}
	for _, row := range rows {
		id := ids[row.Place]
		row.OrgID, row.ModelID = org, id
		found[id] = append(found[id], row.ModelPrice)
	}
	return found, nil
}
