package payments_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// unapproved expects that a person has to be asked.
func unapproved(t *testing.T, what string, err error) models.PaymentTerms {
	t.Helper()
	needed, ok := errors.AsType[*tools.ApprovalNeededError](err)
	if !ok {
		t.Errorf("%s: got %v, want a question to people", what, err)
		return models.PaymentTerms{}
	}
	return needed.Terms
}

// asked stores what has become of the question whether the tenant's turn may make a payment.
func (n *tenant) asked(terms models.PaymentTerms, state models.WaitState, r models.WaitResolution) {
	n.w.t.Helper()
	n.askedAs(turns.PaymentWaitID(n.turn, &terms), terms, state, r)
}

func (n *tenant) askedAs(id models.WaitID, terms models.PaymentTerms, state models.WaitState, r models.WaitResolution) {
	n.w.t.Helper()
	request, err := json.Marshal(models.WaitRequest{Quorum: 1, Payment: &terms})
	if err != nil {
		n.w.t.Fatal(err)
	}
	w := models.Wait{
		OrgID: n.by.OrgID, ID: id, SessionID: n.session, TurnID: n.turn, Kind: models.WaitApproval,
		Identity: "payment/" + terms.Key, State: state, Request: request, CreatedAt: 1,
	}
	if state != models.WaitOpen {
		if w.Resolution, err = json.Marshal(r); err != nil {
			n.w.t.Fatal(err)
		}
		w.ResolvedAt = models.Millis(2).Ptr()
	}
	n.store(&w)
}

// above makes a policy by which payments above 2 usd need approval.
func above(p *payments.NewPolicy) {
	limit := 2 * one
	p.ApprovalAbove = &limit
}

// TestApprovalsOfPayments goes through all that people may say. As long as they have not said yes there is no payment: nothing is held, and
// nothing counts.
func TestApprovalsOfPayments(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.policy(above)
		n.budget(20*one, nil)
		ask := func(key string) models.PaymentTerms {
			t.Helper()
			_, err := n.pay(key, 3*one)
			terms := unapproved(t, key, err)
			if terms.Amount != 3*one || terms.Host != "example.com" || terms.Purpose != "a test" || terms.Tool != "core.tool" {
				t.Errorf("%s: people are asked about %+v", key, terms)
			}
			return terms
		}
		for key, c := range map[string]struct {
			state      models.WaitState
			code, says string
		}{
			"denied":    {models.WaitError, tools.PaymentDenied, "Too dear."},
			"too late":  {models.WaitTimeout, tools.PaymentApprovalExpired, "expired"},
			"cancelled": {models.WaitCancelled, tools.PaymentApprovalExpired, "nothing was paid"},
		} {
			n.asked(ask(key), c.state, models.WaitResolution{ErrorCode: "denied", ErrorMessage: "Too dear."})
			_, err := n.pay(key, 3*one)
			if refused(t, key, err, c.code); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: the model reads %v", key, err)
			}
		}
		terms := ask("open")
		n.asked(terms, models.WaitOpen, models.WaitResolution{})
		ask("open")
		if list, days := n.sound(), rows[models.PaymentDay](n); len(list) != 0 || len(days) != 0 {
			t.Fatalf("without a yes there are %+v and %+v", list, days)
		}
		terms = ask("approved")
		terms.Purpose = "what people have read"
		n.asked(terms, models.WaitOK, models.WaitResolution{})
		_, err := n.pay("approved", 4*one)
		refused(t, "another amount than was approved", err, tools.PaymentInvalid)
		o := n.order("approved", 3*one)
		o.ToolID = "core.other"
		_, err = w.Pay(t.Context(), o)
		refused(t, "another tool than was approved", err, tools.PaymentInvalid)
		receipt := n.paid("approved", 3*one)
		list := n.sound()
		if len(list) != 1 || list[0].WaitID == nil || *list[0].WaitID != turns.PaymentWaitID(n.turn, &terms) || *list[0].Paid != 3*one || list[0].Purpose != terms.Purpose {
			t.Errorf("paid is %+v", list)
		}
		if w.rail.body["purpose"] != terms.Purpose || w.rail.body["amount"] != "3" {
			t.Errorf("the rail was told %v", w.rail.body)
		}
		if again := n.paid("approved", 3*one); again != receipt {
			t.Errorf("the second time it is %+v, not %+v", again, receipt)
		}
		if made, requests := w.rail.count(); made != 1 || requests != 1 {
			t.Errorf("%d payments were made by %d requests", made, requests)
		}
	})
}

// TestAnApprovalIsNoWayAround has limits, budgets and policies change between the yes and the payment: they hold as for any other.
func TestAnApprovalIsNoWayAround(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for what, c := range map[string]struct {
			code   string
			change func(n *tenant, p *models.PaymentPolicy) error
		}{
			"the day is full": {tools.PaymentOverLimit, func(n *tenant, p *models.PaymentPolicy) error {
				_, err := w.Update(t.Context(), n.by, p.ID, payments.Change{MaxDay: new(2 * one), MaxTurn: new(2 * one), MaxRequest: new(2 * one)})
				return err
			}},
			"the turn has paid": {tools.PaymentOverLimit, func(n *tenant, _ *models.PaymentPolicy) error {
				for _, key := range strings.Split("ABCDEFGHIJKL", "") {
					n.paid(key, 2*one)
				}
				return nil
			}},
			"no policy is left": {tools.PaymentNoPolicy, func(n *tenant, p *models.PaymentPolicy) error { return w.Delete(t.Context(), n.by, p.ID) }},
			"the budget is spent": {tools.PaymentOverBudget, func(n *tenant, _ *models.PaymentPolicy) error {
				n.budget(one, nil)
				return nil
			}},
		} {
			n := w.tenant()
			policy := n.policy(above)
			_, err := n.pay("k", 3*one)
			n.asked(unapproved(t, what, err), models.WaitOK, models.WaitResolution{})
			if err := c.change(n, policy); err != nil {
				t.Fatal(err)
			}
			_, err = n.pay("k", 3*one)
			refused(t, what, err, c.code)
			n.sound()
		}
		// What was denied stays denied when nobody would be asked any more.
		n := w.tenant()
		policy := n.policy(above)
		_, err := n.pay("k", 3*one)
		n.asked(unapproved(t, "denied", err), models.WaitError, models.WaitResolution{ErrorCode: "denied", ErrorMessage: "No."})
		none := (*models.Amount)(nil)
		if _, err := w.Update(t.Context(), n.by, policy.ID, payments.Change{ApprovalAbove: &none}); err != nil {
			t.Fatal(err)
		}
		_, err = n.pay("k", 3*one)
		refused(t, "denied, and the policy has changed", err, tools.PaymentDenied)
		// What was approved a day ago counts on the day of the payment.
		n = w.tenant()
		n.policy(above)
		_, err = n.pay("k", 3*one)
		n.asked(unapproved(t, "the day after", err), models.WaitOK, models.WaitResolution{})
		w.clock.Advance(24 * time.Hour)
		n.paid("k", 3*one)
		if days := rows[models.PaymentDay](n); len(days) != 1 || days[0].Day != w.clock.Now().Unix()/86_400 {
			t.Errorf("it counts on %+v", days)
		}
	})
}

// TestApprovalsOfOthers has another organization approve: it changes nothing.
func TestApprovalsOfOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, other := w.tenant(), w.tenant()
		n.policy(above)
		_, err := n.pay("k", 3*one)
		terms := unapproved(t, "first", err)
		other.askedAs(turns.PaymentWaitID(n.turn, &terms), terms, models.WaitOK, models.WaitResolution{})
		_, err = n.pay("k", 3*one)
		unapproved(t, "with a yes of others", err)
		if list := n.sound(); len(list) != 0 {
			t.Errorf("there are %+v", list)
		}
	})
}

// TestAnApprovalPaysOnce has many ask at once for what was approved, and processes die in between.
func TestAnApprovalPaysOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.policy(above)
		n.budget(20*one, nil)
		_, err := n.pay("k", 3*one)
		n.asked(unapproved(t, "first", err), models.WaitOK, models.WaitResolution{})
		for i, after := range []bool{false, true} {
			d := &dying{Committer: w.committer, n: 1 + i, after: after}
			if _, err := w.process(func(c *payments.Config) { c.Committer = d }).Pay(t.Context(), n.order("k", 3*one)); !errors.Is(err, errDied) {
				t.Fatalf("process %d: %v", i, err)
			}
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { n.paid("k", 3*one) })
		}
		all.Wait()
		if list := n.sound(); len(list) != 1 || list[0].Status != models.PaymentPaid {
			t.Errorf("there are %+v", list)
		}
		if made, _ := w.rail.count(); made != 1 {
			t.Errorf("%d payments were made", made)
		}
	})
}
