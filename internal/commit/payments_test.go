package commit

import (
	"fmt"
	"reflect"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// put stores a row that no command makes.
func put[T any](w *world, row *T) {
	w.t.Helper()
	if err := write(w.db, func(tx *gorm.DB) error { return tx.Create(row).Error }); err != nil {
		w.t.Fatalf("store %T: %v", row, err)
	}
}

// get reads the rows of an organization.
func get[T any](w *world, org models.OrgID) (list []T) {
	w.t.Helper()
	if err := store.Of(w.db.ReadAcross(w.t.Context()), org).Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

// policy makes a policy of an organization.
func (w *world) policy(org models.OrgID) models.PaymentPolicyID {
	id := models.NewID[models.PaymentPolicyEntity]()
	put(w, &models.PaymentPolicy{OrgID: org, ID: id, Capabilities: []string{}, Hosts: []string{}, Secret: []byte{1}, MaxRequest: 1, MaxTurn: 1, MaxDay: 1})
	return id
}

// payment makes an open payment that holds something of budgets.
func (w *world) payment(s models.SessionID, policy models.PaymentPolicyID, held ...models.Held) models.Payment {
	id := models.NewID[models.PaymentEntity]()
	p := models.Payment{
		OrgID: w.org, ID: id, PolicyID: policy, SessionID: s, TurnID: models.NewID[models.TurnEntity](), IdempotencyKey: id.String(),
		Capability: "c", Tool: "t", Host: "h", Purpose: "p", Amount: 7, Status: models.PaymentPending, Day: 5, Lines: jsonx.MustEncode(held),
		Attempts: 1, DueAt: models.Millis(9).Ptr(), CreatedAt: 3,
	}
	put(w, &p)
	return p
}

func (w *world) putBudget(change func(*models.Budget)) models.Budget {
	subject := models.SubjectID(w.org)
	b := models.Budget{OrgID: w.org, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: &subject, Currency: "usd", LimitAmount: 100, CreatedAt: 1, UpdatedAt: 1}
	change(&b)
	put(w, &b)
	return b
}

// A payment is read as it is, by commands on its own session alone, and comes back as it was written; the sums of a day add up, also over
// the sessions of a batch.
func TestPaymentsAreReadAndWrittenUnderTheirSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, other := w.session(), w.session()
		policy := w.policy(w.org)
		p := w.payment(s, policy)
		strange := p.ID
		var seen models.Payment
		change := func(on models.SessionID, times int) *cmd {
			c := w.command(on, func(tx *Tx) error {
				for range times {
					tx.CountPayment(policy, 5, 10)
				}
				tx.CountPayment(policy, 6, -1)
				got, ok := tx.Payment(p.ID)
				if ok != (on == s) {
					return fmt.Errorf("a command on %s is given the payment: %v", on, ok)
				}
				if _, ok := tx.Payment(models.NewID[models.PaymentEntity]()); ok {
					return fmt.Errorf("there is a payment that there is not")
				}
				if !ok {
					return nil
				}
				seen = got
				paid, text := models.Amount(8), "text"
				got.Paid, got.Status, got.Lines, got.Reference, got.Error = &paid, models.PaymentPaid, jsonx.MustEncode([]models.Held{}), &text, &text
				got.Attempts++
				got.DueAt, got.SettledAt = nil, tx.Now.Ptr()
				tx.SavePayment(got)
				return nil
			})
			c.needs.Payments = []models.PaymentID{strange, p.ID}
			return c
		}
		must(t, batch(w.c, change(other, 1), change(s, 2), change(s, 0)))
		if seen.Attempts != 2 || seen.Status != models.PaymentPaid {
			t.Errorf("the second command of a batch doesn't see what the first one did: %+v", seen)
		}
		paid, text := models.Amount(8), "text"
		want := p
		want.Paid, want.Status, want.Lines, want.Reference, want.Error, want.Attempts, want.DueAt = &paid, models.PaymentPaid, jsonx.MustEncode([]models.Held{}), &text, &text, 3, nil
		want.SettledAt = models.MillisOf(w.clock.Now()).Ptr()
		if list := rows[models.Payment](w, s, "id"); len(list) != 1 || !reflect.DeepEqual(list[0], want) {
			t.Errorf("got\n%s, want\n%s", dump(list), dump(want))
		}
		sums := map[int64]models.Amount{}
		for _, d := range get[models.PaymentDay](w, w.org) {
			sums[d.Day] += d.Amount
		}
		if !reflect.DeepEqual(sums, map[int64]models.Amount{5: 30, 6: -3}) {
			t.Errorf("the days have %v", sums)
		}
		// The row is as the next command finds it.
		c := w.command(s, func(tx *Tx) error {
			if got, ok := tx.Payment(p.ID); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("the next command sees\n%s, want\n%s", dump(got), dump(want))
			}
			return nil
		})
		c.needs.Payments = []models.PaymentID{p.ID}
		w.do(c)
	})
}

// What an open payment holds is locked with the budgets that bind its session, though nothing else leads to it any more.
func TestBudgetsThatPaymentsHoldAreLocked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		binding := w.putBudget(func(*models.Budget) {})
		off := w.putBudget(func(b *models.Budget) { b.DisabledAt, b.Reserved = models.Millis(2).Ptr(), 7 })
		ended := w.putBudget(func(b *models.Budget) { b.DisabledAt = models.Millis(2).Ptr() })
		s, other := w.session(), w.session()
		policy := w.policy(w.org)
		w.payment(s, policy, models.Held{Budget: off.ID, Amount: 7})
		done := w.payment(s, policy, models.Held{Budget: ended.ID, Amount: 7})
		end := w.command(s, func(tx *Tx) error {
			p, _ := tx.Payment(done.ID)
			p.Status, p.DueAt = models.PaymentRefused, nil
			tx.SavePayment(p)
			return nil
		})
		end.needs.Payments = []models.PaymentID{done.ID}
		w.do(end)
		for _, on := range []models.SessionID{s, other} {
			c := w.command(on, func(tx *Tx) error {
				if list, known := tx.Budgets(); !known || len(list) != 1 || list[0].ID != binding.ID {
					t.Errorf("the session is bound by %+v, %v", list, known)
				}
				b, ok := tx.Budget(off.ID)
				if ok != (on == s) {
					t.Errorf("the budget that is held is locked: %v, for the session of the payment: %v", ok, on == s)
				}
				if _, ok := tx.Budget(ended.ID); ok {
					t.Error("a payment that has ended holds something")
				}
				if ok {
					b.Reserved -= 7
					tx.SaveBudget(b)
				}
				return nil
			})
			c.needs.Budgets = true
			w.do(c)
		}
		for _, b := range get[models.Budget](w, w.org) {
			if b.ID == off.ID && b.Reserved != 0 {
				t.Errorf("%d are held still", b.Reserved)
			}
		}
	})
}

// Another organization's payment is none.
func TestAPaymentOfOthersIsNone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		theirs := newWorld(t, w.db)
		s := w.session()
		id := theirs.session()
		p := theirs.payment(id, theirs.policy(theirs.org))
		for _, on := range []models.SessionID{s, id} {
			c := w.command(on, func(tx *Tx) error {
				if _, ok := tx.Payment(p.ID); ok {
					t.Error("it is given a payment of another organization")
				}
				return nil
			})
			c.needs.Payments = []models.PaymentID{p.ID}
			w.do(c)
		}
	})
}
