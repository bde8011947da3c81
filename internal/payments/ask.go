package payments

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

// dayMillis is the length of a day (UTC).
const dayMillis = 24 * 60 * 60 * 1000

// askedFor is how long a payment may stay ASKED: who has asked for it is about to hold what it takes. Later it is refused.
const askedFor = models.Millis(2 * 60 * 1000)

// ask returns the payment of an order: the one that was asked for before, or a new one, when a policy allows it. The limits are checked under
// the policy's lock, since sessions share them, and what is allowed counts from then on. It is a transaction of its own, and no command:
// the committer locks no policies. What becomes of a payment whose process dies here, see sweep.go.
func (s *Service) ask(ctx context.Context, o *tools.PaymentOrder) (models.Payment, error) {
	var found *models.Payment
	err := s.cfg.DB.Write(ctx, o.OrgID, func(tx *gorm.DB) (err error) {
		if found, err = byKey(tx, o); err != nil || found != nil {
			return err
		}
		policy, err := policyFor(tx, o)
		if err != nil {
			return err
		}
		// Whoever had the lock may have asked for the same.
		if found, err = byKey(tx, o); err != nil || found != nil {
			return err
		}
		now := clock.Millis(s.cfg.Clock)
		day := int64(now) / dayMillis
		if err := withinLimits(tx, policy, o, day); err != nil {
			return err
		}
		approval, err := approved(tx, policy, o)
		if err != nil {
			return err
		}
		found = &models.Payment{
			OrgID: o.OrgID, ID: models.NewID[models.PaymentEntity](), PolicyID: policy.ID, SessionID: o.SessionID, TurnID: o.TurnID,
			WaitID: approval, IdempotencyKey: o.IdempotencyKey, Capability: o.CapabilityID, Tool: o.ToolID, Host: o.Host, Purpose: o.Purpose, Amount: o.Amount,
			Status: models.PaymentAsked, Day: day, DueAt: (now + askedFor).Ptr(), CreatedAt: now,
		}
		// By another policy the same may have been asked for at once: then nothing is changed, and this is tried again.
		if err := tx.Create(found).Error; err != nil {
			return fmt.Errorf("store a payment: %w", err)
		}
		return count(tx, models.PaymentDay{OrgID: o.OrgID, PolicyID: policy.ID, Day: day, Amount: o.Amount})
	})
	if store.IsDuplicate(err) {
		if found, err = byKey(s.cfg.DB.Read(ctx, o.OrgID), o); err == nil && found == nil {
			err = fmt.Errorf("payment %s could be neither stored nor found", o.IdempotencyKey)
		}
	}
	if err != nil {
		return models.Payment{}, err
	}
	if found.Host != o.Host || found.Amount != o.Amount || found.Tool != o.ToolID {
		return models.Payment{}, refusal(tools.PaymentInvalid, "This step of the call has already requested another payment: %s usd to %s.", usd(found.Amount), found.Host)
	}
	return *found, nil
}

// byKey returns the payment that was asked for with the order's key; nil when there is none.
func byKey(db *gorm.DB, o *tools.PaymentOrder) (*models.Payment, error) {
	found, err := store.First[models.Payment](store.Of(db, o.OrgID).Where("idempotency_key = ?", o.IdempotencyKey))
	if err != nil {
		return nil, fmt.Errorf("look for payment %s: %w", o.IdempotencyKey, err)
	}
	return found, nil
}

// policyFor finds the oldest policy that lets the tool pay the host, and locks it.
func policyFor(tx *gorm.DB, o *tools.PaymentOrder) (*models.PaymentPolicy, error) {
	list, err := policies(tx, o.OrgID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if !matches(&list[i], o.CapabilityID, o.Host) {
			continue
		}
		// It may have been changed since it was read.
		locked, err := lockPolicy(tx, o.OrgID, list[i].ID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		if err == nil && matches(&locked, o.CapabilityID, o.Host) {
			return &locked, nil
		}
	}
	return nil, refusal(tools.PaymentNoPolicy, "No payment policy allows this tool to pay %s. Tell the user; an administrator can add one.", o.Host)
}

// withinLimits checks the order against the policy, which is locked: with what was paid, and what is about to be.
func withinLimits(tx *gorm.DB, p *models.PaymentPolicy, o *tools.PaymentOrder, day int64) error {
	if o.Amount > p.MaxRequest {
		return refusal(tools.PaymentOverLimit, "%s usd exceeds the maximum of one payment: %s usd.", usd(o.Amount), usd(p.MaxRequest))
	}
	var turn models.Amount
	err := store.Of(tx.Model(&models.Payment{}), o.OrgID).Where("turn_id = ? AND policy_id = ? AND status <> ?", o.TurnID, p.ID, models.PaymentRefused).
		Select("coalesce(sum(coalesce(paid, amount)), 0)").Row().Scan(&turn)
	if err != nil {
		return fmt.Errorf("add the payments of %s up: %w", o.TurnID, err)
	}
	if turn > p.MaxTurn-o.Amount {
		return refusal(tools.PaymentOverLimit, "This turn may pay %s usd, of which %s usd is spent or reserved: %s usd more is too much.",
			usd(p.MaxTurn), usd(turn), usd(o.Amount))
	}
	var days []models.Amount
	err = store.Of(tx.Model(&models.PaymentDay{}), o.OrgID).Where("policy_id = ? AND day = ?", p.ID, day).Pluck("amount", &days).Error
	if err != nil {
		return fmt.Errorf("read what %s has paid today: %w", p.ID, err)
	}
	if len(days) == 1 && days[0] > p.MaxDay-o.Amount || o.Amount > p.MaxDay {
		return refusal(tools.PaymentOverLimit, "%s usd would exceed what the organization may pay in a day (UTC) under this policy: %s usd.",
			usd(o.Amount), usd(p.MaxDay))
	}
	return nil
}

// count adds to what a policy has paid on a day. Commands add to it, too.
func count(tx *gorm.DB, d models.PaymentDay) error {
	err := tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "org_id"}, {Name: "policy_id"}, {Name: "day"}},
		DoUpdates: clause.Assignments(map[string]any{"amount": gorm.Expr("payment_days.amount + excluded.amount")}),
	}).Create(&d).Error
	if err != nil {
		return fmt.Errorf("count a payment of %s: %w", d.PolicyID, err)
	}
	return nil
}

func refusal(code, format string, args ...any) *tools.PaymentError {
	return &tools.PaymentError{Code: code, Message: fmt.Sprintf(format, args...)}
}
