package payments

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Payments above what their policy allows by itself are for a person to approve. While somebody is asked there is no payment: nothing is held
// of budgets, and nothing counts against the limits of the policy, so that nobody else waits for a person who may be asleep. The wait of
// the call is all there is, and it ends as other approvals do: by a decision, by its deadline, with its turn. When the call runs again, it asks for the
// payment again, and all is checked as if it had never been: an approval opens no way around limits and budgets.

// approved returns the approval by which a payment may be made that the limits of the policy allow; nil for one that needs none. What was
// denied stays so, also when the policy has come to ask for less meanwhile. The order is then paid for what was approved.
func approved(tx *gorm.DB, p *models.PaymentPolicy, o *tools.PaymentOrder) (*models.WaitID, error) {
	terms := models.PaymentTerms{Key: o.IdempotencyKey, Tool: o.ToolID, Host: o.Host, Amount: o.Amount, Purpose: o.Purpose}
	id := turns.PaymentWaitID(o.TurnID, &terms)
	w, err := store.First[models.Wait](store.Of(tx, o.OrgID).Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("look for the approval of payment %s: %w", o.IdempotencyKey, err)
	}
	if w == nil {
		if p.ApprovalAbove == nil || o.Amount <= *p.ApprovalAbove {
			return nil, nil
		}
		return nil, &tools.ApprovalNeededError{Terms: terms}
	}
	asked := turns.ReadRequest(*w).Payment
	if asked == nil {
		return nil, fmt.Errorf("the approval %s of payment %s is for other terms", id, o.IdempotencyKey)
	}
	if asked.Host != o.Host || asked.Amount != o.Amount || asked.Tool != o.ToolID {
		return nil, refusal(tools.PaymentInvalid, "This step of the call has already requested another payment: %s usd to %s.", usd(asked.Amount), asked.Host)
	}
	switch w.State {
	case models.WaitOK:
		// What people have read is what the rail is told.
		o.Purpose = asked.Purpose
		return &w.ID, nil
	case models.WaitError:
		return nil, refusal(tools.PaymentDenied, "%s", turns.ReadResolution(*w).ErrorMessage)
	case models.WaitOpen:
		return nil, &tools.ApprovalNeededError{Terms: *asked}
	case models.WaitTimeout, models.WaitCancelled:
	}
	return nil, refusal(tools.PaymentApprovalExpired, "The approval of this payment expired, so nothing was paid. Tell the user.")
}
