package crossorg

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// budgetBatch is how many budgets are looked at in one statement.
const budgetBatch = 500

// Budgets finds budgets of all organizations.
type Budgets struct{ db *store.DB }

// NewBudgets gives a Budgets.
func NewBudgets(db *store.DB) *Budgets { return &Budgets{db: db} }

// Changed goes through the budgets that were written at a time or later, by organization and id, in groups of one organization. It reads
// the key of the table in pages: an index by the time of the last write would cost every posting more than this does once in an hour.
func (b *Budgets) Changed(ctx context.Context, since models.Millis, visit func(org models.OrgID, ids []models.BudgetID) error) error {
	var last models.Budget
	for {
		q := store.CrossOrg(b.db.ReadAcross(ctx)).Select("org_id", "id", "updated_at")
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

// Orgs gives organizations by their ids: at most limit of those after one.
func (b *Budgets) Orgs(ctx context.Context, after models.OrgID, limit int) ([]models.Org, error) {
	q := b.db.ReadAcross(ctx).Select("id", "slug")
	if !after.IsZero() {
		q = q.Where("id > ?", after)
	}
	var list []models.Org
	if err := q.Order("id").Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the organizations: %w", err)
	}
	return list, nil
}

// Org gives the organization with a slug or an id; nil when there is none.
func (b *Budgets) Org(ctx context.Context, slugOrID string) (*models.Org, error) {
	where, arg := "slug = ?", any(slugOrID)
	if id, err := models.ParseID[models.OrgEntity](slugOrID); err == nil {
		where, arg = "id = ?", id
	}
	var found []models.Org
	if err := b.db.ReadAcross(ctx).Select("id", "slug").Where(where, arg).Limit(1).Find(&found).Error; err != nil {
		return nil, fmt.Errorf("look for an organization: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}
