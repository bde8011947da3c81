package payments

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// duePayments returns up to limit payments that have not ended and that somebody has to look after by now, of all organizations, the most
// overdue first. Those of the organizations in without are left out.
func duePayments(ctx context.Context, db *store.DB, now models.Millis, without []models.OrgID, limit int) ([]models.Payment, error) {
	var list []models.Payment
	if err := db.DueAcross(ctx, now, without, limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("look for payments that are due: %w", err)
	}
	return list, nil
}
