package payments

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// duePayments returns up to limit payments that have not ended and that somebody has to look after by now, of all organizations, the most
// overdue first.
func duePayments(ctx context.Context, db *store.DB, now models.Millis, limit int) ([]models.Payment, error) {
	var list []models.Payment
	err := store.CrossOrg(db.ReadAcross(ctx)).Where("due_at <= ?", now).Order("due_at").Limit(limit).Find(&list).Error
	if err != nil {
		return nil, fmt.Errorf("look for payments that are due: %w", err)
	}
	return list, nil
}
