package commit

import "github.com/ostler-dev/ostler/internal/models"

// Payment returns a payment of the session that Needs.Payments named, as it stands now. Payments that were asked for are changed under the
// lock of their session alone, so that a row of their own needs none.
func (tx *Tx) Payment(id models.PaymentID) (models.Payment, bool) {
	p, ok := tx.payments[id]
	return p, ok
}

// SavePayment changes what a payment that Payment gave has come to.
func (tx *Tx) SavePayment(p models.Payment) {
	p.OrgID, p.SessionID = tx.org, tx.sessionID
	tx.payments[p.ID] = p
	updatePayment.put(tx.w, p)
}

// CountPayment adds to what a policy has paid on a day, or takes off.
func (tx *Tx) CountPayment(policy models.PaymentPolicyID, day int64, amount models.Amount) {
	addPaymentDay.put(tx.w, models.PaymentDay{OrgID: tx.org, PolicyID: policy, Day: day, Amount: amount})
}

// allOfPayment are all columns of a payment.
var allOfPayment = describe[models.Payment](shape{table: "payments"}, "org_id id", "")

func (l *loaded) addPayment(r scanner) error {
	var p models.Payment
	err := allOfPayment.scan(r, &p)
	if l.payments == nil {
		l.payments = map[models.PaymentID]models.Payment{}
	}
	l.payments[p.ID] = p
	return err
}
