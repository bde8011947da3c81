package commit

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
)

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
	tx.w.payments = append(tx.w.payments, p)
}

// CountPayment adds to what a policy has paid on a day, or takes off.
func (tx *Tx) CountPayment(policy models.PaymentPolicyID, day int64, amount models.Amount) {
	tx.w.paid = append(tx.w.paid, models.PaymentDay{OrgID: tx.org, PolicyID: policy, Day: day, Amount: amount})
}

// payments writes each payment once, as the last command left it, and the sums of the days, which sessions share, in the order of their
// keys. Those who ask for payments lock a policy and then a day, and nothing that a batch waits for.
func (g *gathering) payments() {
	g.add(tables.updatePayment, func(s *state, yield func(...any)) {
		last := map[models.PaymentID]models.Payment{}
		for _, p := range s.w.payments {
			last[p.ID] = p
		}
		for _, p := range last {
			yield(paymentUpdateRow(p)...)
		}
	})
	sums := map[models.PaymentDay]models.Amount{}
	for _, s := range g.states {
		for _, d := range s.w.paid {
			k := d
			k.Amount = 0
			sums[k] += d.Amount
		}
	}
	days := slices.SortedFunc(maps.Keys(sums), func(a, b models.PaymentDay) int {
		return cmp.Or(bytes.Compare(a.OrgID[:], b.OrgID[:]), bytes.Compare(a.PolicyID[:], b.PolicyID[:]), cmp.Compare(a.Day, b.Day))
	})
	addRows(g, tables.addPaymentDay, days, func(d models.PaymentDay) []any {
		return []any{id(d.OrgID), id(d.PolicyID), d.Day, int64(sums[d])}
	})
}

func paymentUpdateRow(p models.Payment) []any {
	var paid any
	if p.Paid != nil {
		paid = int64(*p.Paid)
	}
	return []any{
		id(p.OrgID), id(p.ID), paid, string(p.Status), doc(p.Lines), optText(p.Reference), optText(p.Error), p.Attempts, optInt(p.DueAt),
		optInt(p.SettledAt),
	}
}

const (
	paymentColumns = "p.org_id, p.id, p.policy_id, p.session_id, p.turn_id, p.wait_id, p.idempotency_key, p.capability, p.tool, p.host, p.purpose, p.amount, p.paid, " +
		"p.status, p.day, p.lines, p.reference, p.error, p.attempts, p.due_at, p.created_at, p.settled_at"
	readPayment   = "SELECT " + paymentColumns + " FROM payments p WHERE p.org_id = $1 AND p.id = $2 AND p.session_id = $3"
	sqlitePayment = "SELECT " + paymentColumns + " FROM payments p WHERE p.org_id = ? AND p.id = ? AND p.session_id = ?"
)

func scanPayment(r scanner) (models.Payment, error) {
	var p models.Payment
	err := r.Scan(into(&p.OrgID), into(&p.ID), into(&p.PolicyID), into(&p.SessionID), into(&p.TurnID), &p.WaitID, &p.IdempotencyKey, &p.Capability, &p.Tool,
		&p.Host, &p.Purpose, &p.Amount, &p.Paid, &p.Status, &p.Day, &p.Lines, &p.Reference, &p.Error, &p.Attempts, &p.DueAt, &p.CreatedAt, &p.SettledAt)
	if err != nil {
		return p, fmt.Errorf("read a payment: %w", err)
	}
	return p, nil
}

func (l *loaded) addPayment(r scanner) error {
	p, err := scanPayment(r)
	if l.payments == nil {
		l.payments = map[models.PaymentID]models.Payment{}
	}
	l.payments[p.ID] = p
	return err
}
