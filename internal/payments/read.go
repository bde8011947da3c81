package payments

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Policies returns the policies of an organization, oldest first: in the order in which they are tried. There are MaxPolicies at most.
func (s *Service) Policies(ctx context.Context, org models.OrgID) ([]models.PaymentPolicy, error) {
	return policies(s.cfg.DB.Read(ctx, org), org)
}

func policies(db *gorm.DB, org models.OrgID) ([]models.PaymentPolicy, error) {
	var list []models.PaymentPolicy
	if err := live(db, org).Order("id").Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the payment policies of %s: %w", org, err)
	}
	return list, nil
}

// List returns the payments of an organization, newest first: at most limit of those after a position. Ids are in the order of creation.
func (s *Service) List(ctx context.Context, org models.OrgID, after *models.PaymentID, limit int) ([]models.Payment, error) {
	q := store.Of(s.cfg.DB.Read(ctx, org), org)
	if after != nil {
		q = q.Where("id < ?", *after)
	}
	var list []models.Payment
	if err := q.Order("id DESC").Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the payments of %s: %w", org, err)
	}
	return list, nil
}

// Count returns how many payments an organization has, up to one more than maxCount.
func (s *Service) Count(ctx context.Context, org models.OrgID) (int, error) {
	const maxCount = 10_000
	var n int64
	some := store.Of(s.cfg.DB.Read(ctx, org).Model(&models.Payment{}), org).Select("1").Limit(maxCount + 1)
	if err := s.cfg.DB.Read(ctx, org).Table("(?) AS counted", some).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count the payments of %s: %w", org, err)
	}
	return int(n), nil
}

// Payment returns a payment of an organization.
func (s *Service) Payment(ctx context.Context, org models.OrgID, id models.PaymentID) (*models.Payment, error) {
	found, err := store.First[models.Payment](store.Of(s.cfg.DB.Read(ctx, org), org).Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("read payment %s of %s: %w", id, org, err)
	}
	if found == nil {
		return nil, fault.New(fault.NotFound, "There is no payment with the id %s.", id).At("id")
	}
	return found, nil
}

// live limits a statement to the policies of an organization that weren't deleted.
func live(db *gorm.DB, org models.OrgID) *gorm.DB {
	return store.Of(db, org).Where("deleted_at IS NULL")
}

func policyByID(db *gorm.DB, org models.OrgID, id models.PaymentPolicyID) (models.PaymentPolicy, error) {
	found, err := store.First[models.PaymentPolicy](live(db, org).Where("id = ?", id))
	if err != nil {
		return models.PaymentPolicy{}, fmt.Errorf("read payment policy %s of %s: %w", id, org, err)
	}
	if found == nil {
		return models.PaymentPolicy{}, fault.New(fault.NotFound, "There is no payment policy with the id %s.", id).At("id")
	}
	return *found, nil
}

// lockPolicy returns a policy that nobody else changes, and by which nobody else asks for a payment, until the transaction ends.
func lockPolicy(tx *gorm.DB, org models.OrgID, id models.PaymentPolicyID) (models.PaymentPolicy, error) {
	return policyByID(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), org, id)
}
