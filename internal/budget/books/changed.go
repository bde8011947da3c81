package books

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// budgetBatch is how many budgets are looked at in one statement.
const budgetBatch = 500

// changedSince goes through the budgets that were written at a time or later, by organization and id, in groups of one organization. It reads
// the key of the table in pages: an index by the time of the last write would cost every posting more than this does once in an hour.
func changedSince(ctx context.Context, db *store.DB, since models.Millis, visit func(org models.OrgID, ids []models.BudgetID) error) error {
	var last models.Budget
	for {
		q := store.CrossOrg(db.ReadAcross(ctx)).Select("org_id", "id", "updated_at")
		if !last.ID.IsZero() {
			q = q.Where("(org_id, id) > (?, ?)", last.OrgID, last.ID)
		}
		var page []models.Budget
		if err := q.Order("org_id, id").Limit(budgetBatch).Find(&page).Error; err != nil {
			return fmt.Errorf("look for budgets that have changed: %w", err)
		}
		more := len(page) == budgetBatch
		for len(page) > 0 {
			org := page[0].OrgID
			var ids []models.BudgetID
			for len(page) > 0 && page[0].OrgID == org {
				if page[0].UpdatedAt >= since {
					ids = append(ids, page[0].ID)
				}
				last, page = page[0], page[1:]
			}
			if len(ids) > 0 {
				if err := visit(org, ids); err != nil {
					return err
				}
			}
		}
		if !more {
			return nil
		}
	}
}
