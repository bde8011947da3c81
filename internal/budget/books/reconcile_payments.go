package books

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// payments compares the payments of the days from a time on with the journal, which has a fact of each that was paid, and with what their
// policies say to have paid on a day.
func (r *Reconciler) payments(ctx context.Context, org models.OrgID, since models.Millis, show func(UsageDifference) error) error {
	first := int64(since / usageDay)
	var list []UsageDifference
	differs := func(table string, day int64, row, column string, stored, computed models.Amount) {
		if stored != computed {
			list = append(list, UsageDifference{
				Org: org, Table: table, Hour: models.Millis(day) * usageDay, Row: " " + row, Column: column, Stored: int64(stored), Computed: int64(computed),
			})
		}
	}
	err := r.db.Snapshot(ctx, org, func(tx *gorm.DB) error {
		sums := map[models.PaymentDay]models.Amount{} // by their keys
		var after models.PaymentID
		for more := true; more; {
			var page []models.Payment
			q := store.Of(tx, org).Select("id", "policy_id", "day", "status", "amount", "paid").Where("day >= ?", first)
			if !after.IsZero() {
				q = q.Where("id > ?", after)
			}
			if err := q.Order("id").Limit(reconcileRows).Find(&page).Error; err != nil {
				return fmt.Errorf("read payments: %w", err)
			}
			cost, err := costs(tx, org, page)
			if err != nil {
				return err
			}
			for i := range page {
				p := &page[i]
				after = p.ID
				day := models.PaymentDay{OrgID: org, PolicyID: p.PolicyID, Day: p.Day}
				var paid models.Amount
				switch p.Status {
				case models.PaymentPaid:
					paid = models.Value(p.Paid)
					sums[day] += paid
				case models.PaymentAsked, models.PaymentPending:
					sums[day] += p.Amount
				case models.PaymentRefused:
				}
				differs("payments", p.Day, "payment="+p.ID.String(), "paid", paid, cost[p.ID])
			}
			more = len(page) == reconcileRows
		}
		var days []models.PaymentDay
		if err := store.Of(tx, org).Where("day >= ?", first).Order("day, policy_id").Find(&days).Error; err != nil {
			return fmt.Errorf("read the days of payments: %w", err)
		}
		for _, d := range days {
			stored := d.Amount
			d.Amount = 0
			differs("payment_days", d.Day, "policy="+d.PolicyID.String(), "amount", stored, sums[d])
			delete(sums, d)
		}
		for d, sum := range sums {
			differs("payment_days", d.Day, "policy="+d.PolicyID.String(), "amount", 0, sum)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reconcile the payments of %s: %w", org, err)
	}
	for _, d := range list {
		if err := show(d); err != nil {
			return err
		}
	}
	return nil
}

// costs returns what the facts of payments say that was paid. The id of a fact is that of its payment.
func costs(tx *gorm.DB, org models.OrgID, page []models.Payment) (map[models.PaymentID]models.Amount, error) {
	if len(page) == 0 {
		return nil, nil
	}
	ids := make([]models.JournalID, len(page))
	for i := range page {
		ids[i] = models.JournalID(page[i].ID)
	}
	var facts []models.JournalEntry
	if err := store.Of(tx, org).Select("id", "cost_nanos").Where("id IN ?", ids).Find(&facts).Error; err != nil {
		return nil, fmt.Errorf("read the usage records of payments: %w", err)
	}
	cost := make(map[models.PaymentID]models.Amount, len(facts))
	for i := range facts {
		cost[models.PaymentID(facts[i].ID)] = models.Amount(facts[i].Usage.CostNanos)
	}
	return cost, nil
}
