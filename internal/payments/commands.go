package payments

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// What payments take of budgets: all that this package does with the committer's budgets is in this file.
//
// While a payment is PENDING, its Lines are held of the budgets that they name, beside what turns hold. So whoever works out what a budget's
// `reserved` must be (reconcile) adds up Turn.Reservation of turns and Payment.Lines of payments with the status PENDING.

// errNoSession is of a payment whose session is gone, and with it who could settle it.
var errNoSession = errors.New("the session of the payment is gone")

// lease is how long whoever asks a rail has a payment for himself: longer than a rail is waited for.
const lease = models.Millis(60 * 1000)

// holdAmount makes an ASKED payment PENDING: from then on it holds its amount of all budgets in usd that bind the session. Without room for it
// the payment is refused. Any other payment it leaves as it is.
type holdAmount struct {
	order   *tools.PaymentOrder
	payment models.PaymentID
	// found is the payment as it stands then, held reports that this command has made it PENDING.
	found models.Payment
	held  bool
}

// Needs implements commit.Command.
func (c *holdAmount) Needs() commit.Needs {
	return commit.Needs{
		Org: c.order.OrgID, Session: c.order.SessionID, Lease: &commit.Lease{Execution: models.ExecutionOf(c.order.TurnID), Epoch: c.order.Epoch},
		Budgets: true, Payments: []models.PaymentID{c.payment}, Bytes: 1024,
	}
}

// Apply implements commit.Command.
func (c *holdAmount) Apply(tx *commit.Tx) error {
	c.held = false
	p, ok := tx.Payment(c.payment)
	if !ok {
		return fmt.Errorf("there is no payment %s in its session", c.payment)
	}
	c.found = p
	if p.Status != models.PaymentAsked {
		return nil
	}
	list, err := hold.Binding(tx)
	if err != nil {
		return err
	}
	v := budget.ReserveMeters(list, budget.Asker{Resumed: tx.Session.ResumedAt, Begun: true}, func(currency string) models.Amount {
		if currency == models.CurrencyUSD {
			return p.Amount
		}
		return 0
	})
	if v.Kind != budget.Go {
		c.found = finish(tx, p, models.PaymentRefused, 0, overBudget(v).Error())
		return nil
	}
	lines, err := hold.Lines(tx, v.Held)
	if err != nil {
		return err
	}
	text, err := json.Marshal(lines)
	if err != nil {
		return fmt.Errorf("write what payment %s holds: %w", p.ID, err)
	}
	p.Status, p.Lines, p.Attempts, p.DueAt = models.PaymentPending, text, 1, (tx.Now + lease).Ptr()
	tx.SavePayment(p)
	c.found, c.held = p, true
	return nil
}

func overBudget(v budget.Verdict) *tools.PaymentError {
	switch v.Kind {
	case budget.Wait:
		return refusal(tools.PaymentOverBudget, "Other turns have reserved what this payment needs of a budget. Nothing was paid; try again later.")
	case budget.Paused:
		return refusal(tools.PaymentOverBudget, "A budget is over its soft limit, and the session has not been resumed. Nothing was paid.")
	case budget.Go, budget.Exhausted, budget.Unpriced:
	}
	return refusal(tools.PaymentOverBudget, "Too little is left of a budget of this session for this payment. Nothing was paid; tell the user.")
}

// settlePayment ends a payment: what it holds is given back, and what was paid is posted to the budgets that held something, in the periods that it
// was held in.
// A payment that has ended, or isn't where the caller has seen it, it leaves as it is.
type settlePayment struct {
	seen models.Payment
	// paid is true when the rail has paid an amount, under its reference; else problem says why not.
	paid      bool
	amount    models.Amount
	reference string
	problem   string
	// entry is written to the audit log when it was a person who has said so.
	entry *models.AuditEntry
	// found is the payment as it stands then, done reports that this command has ended it.
	found models.Payment
	done  bool
}

// Needs implements commit.Command.
func (c *settlePayment) Needs() commit.Needs {
	return commit.Needs{
		Org: c.seen.OrgID, Session: c.seen.SessionID, Budgets: true, Payments: []models.PaymentID{c.seen.ID}, Bytes: 2048,
	}
}

// Apply implements commit.Command.
func (c *settlePayment) Apply(tx *commit.Tx) error {
	c.done = false
	if tx.Session == nil {
		return errNoSession
	}
	p, ok := tx.Payment(c.seen.ID)
	if !ok {
		return fmt.Errorf("there is no payment %s in its session", c.seen.ID)
	}
	if c.found = p; p.Status != c.seen.Status || p.DueAt == nil {
		return nil
	}
	var lines []models.Held
	if len(p.Lines) > 0 {
		if err := json.Unmarshal(p.Lines, &lines); err != nil {
			return fmt.Errorf("read what payment %s holds: %w", p.ID, err)
		}
	}
	// The id follows from the payment's, so that the database refuses a second one.
	f := hold.Fact{
		JournalEntry: models.JournalEntry{
			ID: models.JournalID(p.ID), Kind: models.JournalPayment, TurnID: &p.TurnID, Tool: p.Tool, DurationMs: max(int64(tx.Now-p.CreatedAt), 0),
		},
		Description: new(fmt.Sprintf("%s: %s", p.Host, p.Purpose)),
		Share:       func(_ string, held models.Amount) models.Amount { return held },
		Costs:       func(string) models.Amount { return 0 },
	}
	if c.paid {
		f.Costs = func(string) models.Amount { return c.amount }
	}
	for i := range lines {
		if err := hold.SettleLine(tx, &lines[i], f, turnAtWork(tx, p.TurnID)); err != nil {
			return err
		}
	}
	if c.paid {
		measures, err := json.Marshal(map[string]string{"payment": p.ID.String(), "host": p.Host, "reference": c.reference})
		if err != nil {
			return fmt.Errorf("write what payment %s was: %w", p.ID, err)
		}
		f.Usage, f.Measures = models.Usage{CostNanos: models.Nanos(c.amount)}, measures
		tx.Meter(f.JournalEntry, false)
		p.Reference = &c.reference
		c.found = finish(tx, p, models.PaymentPaid, c.amount, "")
	} else {
		c.found = finish(tx, p, models.PaymentRefused, 0, c.problem)
	}
	if c.entry != nil {
		tx.Record(*c.entry)
	}
	c.done = true
	return nil
}

// turnAtWork returns a turn for what is told of it; nil when it is over, as payments may outlast theirs.
func turnAtWork(tx *commit.Tx, id models.TurnID) *models.TurnID {
	if tx.Turn == nil || tx.Turn.ID != id {
		return nil
	}
	return &id
}

// finish ends a payment: the day counts what was paid instead of what was asked for.
func finish(tx *commit.Tx, p models.Payment, status models.PaymentStatus, paid models.Amount, problem string) models.Payment {
	if paid != p.Amount {
		tx.CountPayment(p.PolicyID, p.Day, paid-p.Amount)
	}
	p.Status, p.DueAt, p.SettledAt, p.Error = status, nil, tx.Now.Ptr(), nil
	if status == models.PaymentPaid {
		p.Paid = &paid
	}
	if problem != "" {
		p.Error = &problem
	}
	tx.SavePayment(p)
	return p
}
