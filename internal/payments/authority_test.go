package payments_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
)

// A payment is held, made, journalled and posted; asked for again it is the same one.
func TestAPaymentIsMadeOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		policy := n.policy(nil)
		n.budget(100*one, nil)
		n.budget(100*one, nil)
		n.budget(5, func(b *models.Budget) { b.Currency = "tool_calls" })
		first := n.paid("a", 4*one)
		if again := n.paid("a", 4*one); again != first || first.Amount != 4*one || first.Reference != "ref-"+first.ID.String() {
			t.Errorf("got %+v, then %+v", first, again)
		}
		if made, requests := w.rail.count(); made != 1 || requests != 1 {
			t.Errorf("%d payments by %d requests", made, requests)
		}
		list := n.sound()
		if p := list[0]; len(list) != 1 || p.Status != models.PaymentPaid || p.PolicyID != policy.ID || p.SettledAt == nil || p.TurnID != n.turn {
			t.Errorf("stored is %+v", list)
		}
		ledger := rows[models.LedgerEntry](n)
		if len(ledger) != 2 || ledger[0].Source != models.JournalPayment || ledger[0].Overrun != 0 || *ledger[0].Description != "example.com: a test" || *ledger[0].TurnID != n.turn {
			t.Errorf("the ledger has %+v", ledger)
		}
		if j := rows[models.JournalEntry](n); j[0].Tool != "core.tool" || *j[0].SessionID != n.session {
			t.Errorf("the journal has %+v", j)
		}
		w.rail.mu.Lock()
		body := w.rail.body
		w.rail.mu.Unlock()
		for k, want := range map[string]any{
			"id": first.ID.String(), "orgId": n.by.OrgID.String(), "sessionId": n.session.String(), "turnId": n.turn.String(), "capability": "core",
			"tool": "core.tool", "host": "example.com", "purpose": "a test", "amount": "4", "currency": "usd", "createdAt": "2026-03-01T23:00:00Z",
		} {
			if body[k] != want {
				t.Errorf("the rail was asked %s = %v, want %v", k, body[k], want)
			}
		}
		_, err := n.pay("a", 5*one)
		refused(t, "another amount by the same key", err, tools.PaymentInvalid)
		o := n.order("a", 4*one)
		o.Host = "Example.COM."
		if again, err := w.Pay(t.Context(), o); err != nil || again != first {
			t.Errorf("the host in another form: %+v, %v", again, err)
		}
		for what, change := range map[string]func(*tools.PaymentOrder){
			"no amount": func(o *tools.PaymentOrder) { o.Amount = 0 }, "less": func(o *tools.PaymentOrder) { o.Amount = -one },
			"no purpose": func(o *tools.PaymentOrder) { o.Purpose = " " }, "a long purpose": func(o *tools.PaymentOrder) { o.Purpose = strings.Repeat("x", 501) },
			"no host": func(o *tools.PaymentOrder) { o.Host = "" }, "a pattern": func(o *tools.PaymentOrder) { o.Host = "*.example.com" },
			"an address": func(o *tools.PaymentOrder) { o.Host = "https://example.com" },
		} {
			o := n.order(what, one)
			change(&o)
			_, err := w.Pay(t.Context(), o)
			refused(t, what, err, tools.PaymentInvalid)
		}
	})
}

// Each limit lets through what it says, and not the smallest unit more; what may yet be paid counts, what was refused doesn't.
func TestLimitsOfPoliciesAtTheEdge(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.policy(nil)
		_, err := n.pay("too much", 10*one+1)
		refused(t, "a request", err, tools.PaymentOverLimit)
		n.paid("a", 10*one)
		w.rail.answers(always(http.StatusServiceUnavailable, "", false))
		_, err = n.pay("b", 10*one)
		refused(t, "no answer", err, tools.PaymentUnknown)
		w.rail.answers(always(http.StatusOK, `{"status":"refused","reason":"no\nfunds."}`, false))
		_, err = n.pay("c", 5*one)
		refused(t, "refused", err, tools.PaymentRefused)
		if !strings.Contains(err.Error(), "refused the payment: no funds. Nothing was paid.") {
			t.Errorf("the reason is lost: %v", err)
		}
		w.rail.answers(nil)
		_, err = n.pay("d", 5*one+1)
		refused(t, "a turn", err, tools.PaymentOverLimit)
		n.paid("e", 5*one)
		_, err = n.pay("f", 1)
		refused(t, "a turn that is full", err, tools.PaymentOverLimit)
		for turn := range 3 {
			n.newSession()
			for i, amount := range []models.Amount{10 * one, 10 * one, 5 * one} {
				n.paid(fmt.Sprint(turn, i), amount)
			}
		}
		n.newSession()
		_, err = n.pay("g", 1)
		refused(t, "a day that is full", err, tools.PaymentOverLimit)
		w.clock.Advance(59*time.Minute + 59*time.Second)
		_, err = n.pay("g", 1)
		refused(t, "the end of the day", err, tools.PaymentOverLimit)
		w.clock.Advance(time.Second)
		n.paid("g", 1)
		n.sound()
	})
}

func TestWhatAPolicyLetsThrough(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, other := w.tenant(), w.tenant()
		_, err := n.pay("no policy", one)
		refused(t, "no policy", err, tools.PaymentNoPolicy)
		other.policy(nil)
		_, err = n.pay("theirs", one)
		refused(t, "the policy of others", err, tools.PaymentNoPolicy)
		policy := n.policy(func(p *payments.NewPolicy) {
			p.Hosts = []string{"*.Example.com", "b.test"}
			above := 2 * one
			p.ApprovalAbove = &above
		})
		for host, ok := range map[string]bool{"example.com": false, "a.example.com": true, "a.b.example.com": true, "badexample.com": false, "b.test": true, "a.b.test": false, "b.test.evil": false} {
			o := n.order(host, one)
			o.Host = host
			if _, err := w.Pay(t.Context(), o); ok != (err == nil) {
				t.Errorf("%s: %v", host, err)
			} else if !ok {
				refused(t, host, err, tools.PaymentNoPolicy)
			}
		}
		o := n.order("other capability", one)
		o.Host, o.CapabilityID = "b.test", "callbacks"
		_, err = w.Pay(t.Context(), o)
		refused(t, "another capability", err, tools.PaymentNoPolicy)
		o.CapabilityID, o.Amount, o.IdempotencyKey = "core", 2*one, "edge"
		if _, err := w.Pay(t.Context(), o); err != nil {
			t.Errorf("without approval: %v", err)
		}
		o.Amount, o.IdempotencyKey = 2*one+1, "above"
		_, err = w.Pay(t.Context(), o)
		unapproved(t, "above", err)
		off := false
		if _, err := w.Update(t.Context(), n.by, policy.ID, payments.Change{Enabled: &off}); err != nil {
			t.Fatal(err)
		}
		o.Amount, o.IdempotencyKey = one, "disabled"
		_, err = w.Pay(t.Context(), o)
		refused(t, "a policy that is disabled", err, tools.PaymentNoPolicy)
		n.sound()
		if made, _ := w.rail.count(); made != 4 {
			t.Errorf("%d payments were made, want 4", made)
		}
	})
}

// Budgets that bind the session have the last word: what doesn't fit is refused before the rail hears of it, and holds nothing.
func TestBudgetsBindPayments(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for what, c := range map[string]struct {
			amount models.Amount
			change func(*models.Budget)
			code   string
		}{
			"exactly what is left": {6 * one, func(b *models.Budget) {}, ""},
			"more than is left":    {6*one + 1, func(b *models.Budget) {}, tools.PaymentOverBudget},
			"held by turns":        {6 * one, func(b *models.Budget) { b.Reserved = 1 }, tools.PaymentOverBudget},
			"past the soft limit":  {1, func(b *models.Budget) { b.SoftLimit = new(3 * one) }, tools.PaymentOverBudget},
			"disabled":             {9 * one, func(b *models.Budget) { b.DisabledAt = models.Millis(1).Ptr() }, ""},
			"of a period that is over": {9 * one, func(b *models.Budget) {
				kind, unit := models.PeriodCalendar, models.UnitDay
				b.PeriodKind, b.PeriodUnit, b.PeriodEndsAt = &kind, &unit, models.Millis(1).Ptr()
			}, ""},
		} {
			n := w.tenant()
			n.policy(nil)
			b := n.budget(10*one, func(b *models.Budget) { b.Spent = 4 * one; c.change(b) })
			_, err := n.pay(what, c.amount)
			after := rows[models.Budget](n)[0]
			if c.code == "" {
				if err != nil || after.Reserved != b.Reserved {
					t.Errorf("%s: %v; %+v", what, err, after)
				}
				continue
			}
			refused(t, what, err, c.code)
			_, again := n.pay(what, c.amount)
			if again == nil || again.Error() != err.Error() {
				t.Errorf("%s: asked again: %v, then %v", what, err, again)
			}
			if after.Reserved != b.Reserved || after.Spent != b.Spent {
				t.Errorf("%s: the budget has changed: %+v", what, after)
			}
			if days := rows[models.PaymentDay](n); len(days) != 1 || days[0].Amount != 0 {
				t.Errorf("%s: it counts: %+v", what, days)
			}
		}
		if made, _ := w.rail.count(); made != 3 {
			t.Errorf("%d payments were made, want 3", made)
		}
	})
}

// People are warned once of a budget that payments bring near its limit.
func TestPaymentsWarnOfABudget(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.policy(nil)
		n.budget(10*one, func(*models.Budget) {})
		for i, want := range []int{0, 1, 1} {
			if _, err := n.pay(fmt.Sprint("payment ", i), []models.Amount{7 * one, one, one}[i]); err != nil {
				t.Fatal(err)
			}
			told := 0
			for _, e := range rows[models.Event](n) {
				if e.Kind == models.EventBudgetWarned {
					told++
				}
			}
			if told != want {
				t.Errorf("after payment %d it was told %d times, want %d", i+1, told, want)
			}
		}
	})
}

// What the rail's answers come to: at first, and when an earlier request may have been paid.
func TestAnswersOfTheRail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			status       int
			body         string
			first, later models.PaymentStatus
		}{
			{200, `{"status":"paid","amount":"1.5"}`, "PAID", "PAID"},
			{200, `{"status":"paid","amount":3.25,"reference":"r"}`, "PAID", "PAID"},
			{201, `{"status":"paid","amount":0}`, "PAID", "PAID"},
			{200, `{"status":"paid","amount":"-1"}`, "PENDING", "PENDING"},
			{200, `{"status":"paid","amount":"much"}`, "PENDING", "PENDING"},
			{500, `{"status":"paid"}`, "PENDING", "PENDING"},
			{200, `{"status":"pending"}`, "PENDING", "PENDING"},
			{204, ``, "PENDING", "PENDING"},
			{200, `paid`, "PENDING", "PENDING"},
			{200, strings.Repeat(" ", 70_000) + `{"status":"paid"}`, "PENDING", "PENDING"},
			{200, `{"status":"refused"}`, "REFUSED", "REFUSED"},
			{402, `{"status":"refused","reason":"broke"}`, "REFUSED", "REFUSED"},
			{400, `what?`, "REFUSED", "PENDING"},
			{401, ``, "REFUSED", "PENDING"},
			{409, `{}`, "PENDING", "PENDING"},
			{429, ``, "PENDING", "PENDING"},
			{503, ``, "PENDING", "PENDING"},
			{302, ``, "PENDING", "PENDING"},
			{307, ``, "PENDING", "PENDING"}, // with an address, which egress doesn't follow
		} {
			what := fmt.Sprintf("%d %.40s", c.status, strings.TrimSpace(c.body))
			body := c.body
			if body == "" {
				body = " "
			}
			for _, first := range []bool{true, false} {
				n := w.tenant()
				n.policy(nil)
				n.budget(100*one, nil)
				w.rail.answers(func(_ string, request int) (int, string, bool) {
					if !first && request == 1 {
						return http.StatusBadGateway, " ", false
					}
					return c.status, body, false
				})
				_, err := n.pay(what, 2*one)
				want := c.first
				if !first {
					want = c.later
					_, err = n.pay(what, 2*one)
				}
				list := n.sound()
				if len(list) != 1 || list[0].Status != want || (err == nil) != (want == models.PaymentPaid) {
					t.Errorf("%s, first %v: got %+v, %v; want %s", what, first, list[0].Status, err, want)
				}
			}
		}
	})
}

// What was paid above what was held is posted in full, and told.
func TestARailThatPaysMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.policy(nil)
		n.budget(3*one, nil)
		w.rail.answers(always(http.StatusOK, `{"status":"paid","amount":"5"}`, true))
		if r := n.paid("a", 2*one); r.Amount != 5*one {
			t.Errorf("got %+v", r)
		}
		n.sound()
		if l := rows[models.LedgerEntry](n); len(l) != 1 || l[0].Amount != 5*one || l[0].Overrun != 3*one {
			t.Errorf("the ledger has %+v", l)
		}
		_, err := n.pay("b", 1)
		refused(t, "the next one", err, tools.PaymentOverBudget)
	})
}

// A process dies at each of the points where it can, and another one goes on: by the sweep, or because the call runs again. The rail is never
// made to pay twice, and the books are right at the end.
func TestAProcessDiesWithinAPayment(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			what  string
			n     int
			after bool
			// found is the state that is left, bySweep what the sweep makes of it; a call that runs again always pays.
			found, bySweep models.PaymentStatus
		}{
			{"before it holds anything", 1, false, "ASKED", "REFUSED"},
			{"before the rail is asked", 1, true, "PENDING", "PAID"},
			{"before the answer is settled", 2, false, "PENDING", "PAID"},
			{"after all is done", 2, true, "PAID", "PAID"},
		} {
			for _, again := range []bool{true, false} {
				n := w.tenant()
				n.policy(nil)
				n.budget(10*one, nil)
				before, _ := w.rail.count()
				doomed := w.process(func(cfg *payments.Config) { cfg.Committer = &dying{Committer: w.committer, n: c.n, after: c.after} })
				if _, err := doomed.Pay(t.Context(), n.order("a", 6*one)); !errors.Is(err, errDied) {
					t.Fatalf("%s: %v", c.what, err)
				}
				if p := n.sound(); len(p) != 1 || p[0].Status != c.found {
					t.Errorf("%s: it is left %+v, want %s", c.what, p, c.found)
				}
				want := c.bySweep
				if again {
					want = models.PaymentPaid
					if r := n.paid("a", 6*one); r.Amount != 6*one {
						t.Errorf("%s: got %+v", c.what, r)
					}
				} else {
					w.sweep(time.Second)
					if p := n.sound(); p[0].Status != c.found {
						t.Errorf("%s: the sweep has taken it from whoever is at it: %+v", c.what, p[0])
					}
					w.sweep(5 * time.Minute)
				}
				if p := n.sound(); p[0].Status != want || p[0].DueAt != nil {
					t.Errorf("%s, again %v: it ends %s, want %s", c.what, again, p[0].Status, want)
				}
				made, requests := w.rail.count()
				if paid := made - before; paid > 1 || (paid == 1) != (want == models.PaymentPaid) {
					t.Errorf("%s, again %v: %d payments were made", c.what, again, paid)
				}
				w.sweep(5 * time.Minute)
				if _, later := w.rail.count(); later != requests {
					t.Errorf("%s: the rail is asked when all is over", c.what)
				}
			}
		}
	})
}

// A rail without an answer is asked again, by one process at a time and ever more seldom, until it has one.
func TestARailIsAskedUntilItAnswers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.policy(nil)
		n.budget(10*one, nil)
		w.rail.answers(func(_ string, request int) (int, string, bool) {
			if request < 4 {
				return http.StatusServiceUnavailable, " ", true
			}
			return http.StatusOK, "", true
		})
		_, err := n.pay("a", 6*one)
		refused(t, "at first", err, tools.PaymentUnknown)
		_, err = n.pay("b", 6*one)
		refused(t, "what is held", err, tools.PaymentOverBudget)
		for i, step := range []struct {
			after    time.Duration
			requests int
		}{{9 * time.Second, 1}, {time.Second, 2}, {19 * time.Second, 2}, {time.Second, 3}, {39 * time.Second, 3}, {time.Second, 4}, {time.Hour, 4}} {
			w.clock.Advance(step.after)
			var all sync.WaitGroup
			for range 3 {
				s := w.process(nil)
				all.Go(func() {
					if err := s.Sweep(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if made, requests := w.rail.count(); made != 1 || requests != step.requests {
				t.Errorf("step %d: %d payments by %d requests, want %d", i, made, requests, step.requests)
			}
		}
		p := n.sound()[0]
		if p.Status != models.PaymentPaid || p.Attempts != 4 || p.Error != nil {
			t.Errorf("it ends as %+v", p)
		}
	})
}

// Of several at once with one key one pays; of several with keys of their own as many as the day has room for, whatever their sessions.
func TestPaymentsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.policy(func(p *payments.NewPolicy) { p.MaxTurn, p.MaxDay = 1000*one, 7*one })
		n.budget(100*one, nil)
		var all sync.WaitGroup
		ids := sync.Map{}
		for range 6 {
			all.Go(func() {
				r, err := n.pay("same", one)
				if err != nil {
					t.Error(err)
				}
				ids.Store(r.ID, true)
			})
		}
		all.Wait()
		different := 0
		ids.Range(func(any, any) bool { different++; return true })
		if made, _ := w.rail.count(); made != 1 || different != 1 {
			t.Errorf("%d payments were made, of %d ids", made, different)
		}
		var ok, over atomic.Int64
		for i := range 5 {
			n.newSession()
			for j := range 2 {
				o := n.order(fmt.Sprint(i, j), one)
				all.Go(func() {
					_, err := w.Pay(t.Context(), o)
					var refusal *tools.PaymentError
					switch {
					case err == nil:
						ok.Add(1)
					case errors.As(err, &refusal) && refusal.Code == tools.PaymentOverLimit:
						over.Add(1)
					default:
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if ok.Load() != 6 || over.Load() != 4 {
			t.Errorf("%d were paid and %d refused, want 6 and 4", ok.Load(), over.Load())
		}
		n.sound()
	})
}

// A runner that others have taken the turn from pays nothing.
func TestWhoHasLostTheTurnPaysNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.policy(nil)
		n.budget(10*one, nil)
		o := n.order("a", one)
		if _, err := storetest.Exec(t.Context(), w.db, "UPDATE turns SET lease_epoch = 2 WHERE id = ?", n.turn[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Pay(t.Context(), o); !errors.Is(err, commit.ErrLeaseLost) {
			t.Errorf("got %v", err)
		}
		if made, requests := w.rail.count(); made+requests != 0 {
			t.Error("the rail was asked")
		}
		o.Epoch = 2
		if _, err := w.Pay(t.Context(), o); err != nil {
			t.Errorf("who has the turn now: %v", err)
		}
		n.sound()
	})
}

// The rules of egress hold for rails: when a policy is written, and when one that was written under others is used.
func TestRailsAreReachedByTheRulesOfEgress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.budget(10*one, nil)
		n.policy(nil)
		strict := egress.New(egress.Config{})
		t.Cleanup(strict.CloseIdleConnections)
		s := w.process(func(cfg *payments.Config) { cfg.Addresses, cfg.Client = strict, strict.HTTP() })
		if _, err := s.Create(t.Context(), n.by, payments.NewPolicy{
			Name: "p", Capabilities: []string{"core"}, Hosts: []string{"a.test"}, URL: w.rail.url, Secret: secret, MaxRequest: 1, MaxTurn: 1, MaxDay: 1,
		}); err == nil || !strings.Contains(err.Error(), "can't be called") {
			t.Errorf("an address of this machine: %v", err)
		}
		_, err := s.Pay(t.Context(), n.order("a", one))
		refused(t, "an address that may not be reached", err, tools.PaymentRefused)
		if _, requests := w.rail.count(); requests != 0 {
			t.Error("it was reached")
		}
		if p := n.sound(); p[0].Status != models.PaymentRefused {
			t.Errorf("it is %+v", p[0])
		}
		// What may have been paid before isn't given up because it can't be reached any more.
		w.rail.answers(always(http.StatusBadGateway, " ", true))
		_, err = n.pay("b", one)
		refused(t, "no answer", err, tools.PaymentUnknown)
		_, err = s.Pay(t.Context(), n.order("b", one))
		refused(t, "not reached later", err, tools.PaymentUnknown)
		n.sound()
	})
}
