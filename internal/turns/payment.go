package turns

import (
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// paymentApproval is what a payment takes that is above what its policy allows without approval: one person, no program, and not who has
// started the turn. After a day it is refused.
var paymentApproval = Approval{
	Quorum: 1, Role: models.RoleMember, ExpiresIn: 24 * time.Hour, Reason: "The amount is above what the payment policy allows without approval.",
}

// PaymentWaitID returns the id of the approval of a payment: the same step of the same call is approved once.
func PaymentWaitID(turn models.TurnID, p *models.PaymentTerms) models.WaitID {
	return WaitID(turn, paymentIdentity(p))
}

func paymentIdentity(p *models.PaymentTerms) string { return "payment/" + p.Key }

// RequestPayment parks a call that has begun until a person has decided about a payment that it has asked for. Then it runs again from its
// start, and asks for the payment again. The question is there when the call waits for it and not before: an approval that came to a call
// which was interrupted would pay nothing.
func (c *Call) RequestPayment(tx *commit.Tx, p models.PaymentTerms) {
	c.ask(tx, PaymentWaitID(tx.Turn.ID, &p), paymentIdentity(&p), paymentApproval, &p)
}

// runsAgain reports whether a call that waits runs again from its start, whatever becomes of the wait: the tool is told.
func runsAgain(w models.Wait) bool {
	return w.Kind == models.WaitCustom || w.Kind == models.WaitApproval && ReadRequest(w).Payment != nil
}

// terms tells of a payment that people are asked about.
func terms(p *models.PaymentTerms) *events.PaymentTerms {
	if p == nil {
		return nil
	}
	return &events.PaymentTerms{
		Amount: budget.Decimal(models.CurrencyUSD, p.Amount).String(), Currency: models.CurrencyUSD, Host: p.Host, Purpose: p.Purpose,
	}
}
