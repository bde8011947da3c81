package runtime

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// countingRail is a rail that counts what it is asked for.
func countingRail(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(out, `{"status":"paid","reference":"r"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func aboveTwo(p *payments.NewPolicy) { p.ApprovalAbove = new(models.Amount(2)) }

// buys is a tool that pays 5, and shows what comes of it.
func buys(ctx context.Context, c *tools.Call) tools.Result {
	receipt, err := c.Pay(ctx, tools.PaymentRequest{Host: "example.com", Amount: 5, Purpose: "a test", Step: "pay"})
	if err != nil {
		return tools.Fail(err.Error())
	}
	return tools.Success(receipt.Reference)
}

// payments returns those of the organization.
func (w *world) payments() (list []models.Payment) {
	w.t.Helper()
	if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Order("id").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

// wantUnpaid checks that nothing is paid, counted or held.
func (w *world) wantUnpaid(what string, asked *atomic.Int64, b models.BudgetID) {
	w.t.Helper()
	if list := w.payments(); len(list) > 0 || asked.Load() > 0 || w.budgetRow(b).Reserved != 0 {
		w.t.Errorf("%s: %d requests, %+v", what, asked.Load(), list)
	}
}

// TestPaymentsThatPeopleDecide has a tool pay more than it may without approval. While people think there is nothing but the wait; then the
// call runs again, and the model reads what came of it.
//
// Rules: L7, W3.
func TestPaymentsThatPeopleDecide(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		url, asked := countingRail(t)
		n := w.start(w.paying(url, aboveTwo))
		b := w.budget("usd", 1_000_000_000_000)
		for name, c := range map[string]struct {
			decide func(wait models.Wait) error
			error  string
			paid   bool
		}{
			"approved": {func(wait models.Wait) error { return n.decide(wait, true, "") }, "", true},
			"denied":   {func(wait models.Wait) error { return n.decide(wait, false, "") }, tools.PaymentDenied + ": The payment was not approved, so nothing was paid.", false},
			"expired": {func(wait models.Wait) error {
				w.clock.Advance(24 * time.Hour)
				return n.change(wait, turns.Expire)
			}, tools.PaymentApprovalExpired, false},
		} {
			asked.Store(0)
			w.execute("DELETE FROM payments")
			w.probe.on(name, buys)
			s := w.newSession(n)
			turn := n.send(s, script(t, says(callTool("once", name)), says(text("done"))))
			waits := w.parked(s)
			if len(waits) != 1 || waits[0].Kind != models.WaitApproval {
				t.Fatalf("%s: it waits for %+v", name, waits)
			}
			w.wantUnpaid(name, asked, b)
			told := the[events.ApprovalRequested](t, w.events(s))
			if p := told.Payment; told.WaitID != waits[0].ID || told.Role != models.RoleMember || p == nil || *p != (events.PaymentTerms{
				Amount: "0.000000005", Currency: "usd", Host: "example.com", Purpose: "a test",
			}) {
				t.Errorf("%s: people are told %+v", name, told)
			}
			if err := c.decide(waits[0]); err != nil {
				t.Fatal(err)
			}
			log := w.idle(s)
			the[events.TurnCompleted](t, log)
			the[events.ToolStarted](t, log)
			done := the[events.ToolCompleted](t, log)
			if done.Success != c.paid || !strings.HasPrefix(done.Error, c.error) || w.probe.ran(name) != 2 {
				t.Errorf("%s: after %d runs the model was shown %+v", name, w.probe.ran(name), done)
			}
			list := w.payments()
			switch {
			case !c.paid:
				w.wantUnpaid(name, asked, b)
			case len(list) != 1 || list[0].Status != models.PaymentPaid || list[0].WaitID == nil || *list[0].WaitID != waits[0].ID || list[0].TurnID != turn || asked.Load() != 1:
				t.Errorf("%s: after %d requests there are %+v", name, asked.Load(), list)
			}
		}
	})
}

// TestACancelledPayment has the turn end while somebody is asked: whoever decides later is too late, and nothing is paid.
func TestACancelledPayment(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		url, asked := countingRail(t)
		n := w.start(w.paying(url, aboveTwo))
		b := w.budget("usd", 1_000_000_000_000)
		w.probe.on("x", buys)
		s := w.newSession(n)
		turn := n.send(s, script(t, says(callTool("once", "x")), says(text("done"))))
		wait := w.parked(s)[0]
		n.cancel(turn, "no more")
		w.idle(s)
		if err := n.decide(wait, true, ""); err == nil {
			t.Error("a payment of a turn that has ended was approved")
		}
		if w.probe.ran("x") != 1 {
			t.Errorf("the call ran %d times", w.probe.ran("x"))
		}
		w.wantUnpaid("cancelled", asked, b)
	})
}

// TestDeathAroundAnApproval has the process die wherever a payment may stand when people have to approve it: it is asked about at most once,
// and paid at most once. A call that may run at most once is interrupted where it was at work; nobody is asked about it then.
//
// Rules: L8, W1.
func TestDeathAroundAnApproval(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			tool, name string
			// run is the execution of the tool that the process dies in, after it has asked for the payment; 0 for while people think.
			run int
			// asks tells that people are asked, paid that it is paid in the end.
			asks, paid bool
		}{
			{"once", "before people are asked", 1, false, false},
			{"again", "before people are asked, again", 1, true, true},
			{"once", "while people think", 0, true, true},
			{"once", "after it was paid", 2, true, true},
			{"again", "after it was paid, again", 2, true, true},
		} {
			w.execute("DELETE FROM payments")
			url, asked := countingRail(t)
			w.execute("UPDATE payment_policies SET url = ?", url)
			n := w.start(w.paying(url, aboveTwo))
			g := newGate()
			w.probe.on(c.name, func(ctx context.Context, call *tools.Call) tools.Result {
				r := buys(ctx, call)
				if w.probe.ran(c.name) == c.run {
					g.hold()
				}
				return r
			})
			s := w.newSession(n)
			n.send(s, script(t, says(callTool(c.tool, c.name)), says(text("done"))))
			dies := func() {
				n.die()
				g.open()
				n = w.start(w.paying(url, aboveTwo))
			}
			if c.run == 1 {
				<-g.arrived
				dies()
			}
			if c.asks {
				waits := w.parked(s)
				if len(waits) != 1 || asked.Load() != 0 {
					t.Fatalf("%s: %d requests, it waits for %+v", c.name, asked.Load(), waits)
				}
				if c.run == 0 {
					dies()
				}
				if err := n.decide(waits[0], true, ""); err != nil {
					t.Fatal(err)
				}
			}
			if c.run == 2 {
				<-g.arrived
				dies()
			}
			log := w.idle(s)
			the[events.TurnCompleted](t, log)
			if got := count(log, models.EventApprovalRequested) == 1; got != c.asks {
				t.Errorf("%s: people were asked: %v", c.name, got)
			}
			done := the[events.ToolCompleted](t, log)
			interrupted := strings.HasPrefix(done.Error, "interrupted: ")
			if interrupted != (c.tool == "once" && c.run > 0) || !interrupted && !done.Success {
				t.Errorf("%s: the model was shown %+v", c.name, done)
			}
			if list := w.payments(); (len(list) == 1 && list[0].Status == models.PaymentPaid && asked.Load() == 1) != c.paid || len(list) > 1 || asked.Load() > 1 {
				t.Errorf("%s: %d requests, %+v", c.name, asked.Load(), list)
			}
			n.stop()
		}
	})
}

// TestTheReplyToAPaymentThatWaitsIsLost has the committer lose the reply to the commit that asks people, while another call runs: they are
// asked once.
func TestTheReplyToAPaymentThatWaitsIsLost(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		url, asked := countingRail(t)
		n := w.start(w.paying(url, aboveTwo))
		other := newGate()
		defer other.open()
		w.probe.on("other", func(context.Context, *tools.Call) tools.Result {
			other.hold()
			return tools.Success(nil)
		})
		var lost atomic.Bool
		w.probe.on("x", func(ctx context.Context, c *tools.Call) tools.Result {
			<-other.arrived
			r := buys(ctx, c)
			if w.probe.ran("x") == 1 {
				// The next commit is the one that asks people.
				n.faults.on(func(point string) error {
					if point == "committed" && !lost.Swap(true) {
						return errFault
					}
					return nil
				})
			}
			return r
		})
		s := w.newSession(n)
		turn := n.send(s, script(t, says(callTool("again", "other"), callTool("once", "x")), says(text("done"))))
		w.until("the call waits", func() bool {
			w.news.spread()
			return lost.Load() && w.turn(turn).WaitingCalls > 0
		})
		other.open()
		waits := w.parked(s)
		if row := w.turn(turn); len(waits) != 1 || row.WaitingCalls != 1 || row.PendingCalls != 1 {
			t.Fatalf("it waits for %+v; %d of %d calls wait", waits, row.WaitingCalls, row.PendingCalls)
		}
		if err := n.decide(waits[0], true, ""); err != nil {
			t.Fatal(err)
		}
		log := w.idle(s)
		if count(log, models.EventApprovalRequested) != 1 || count(log, models.EventTurnCompleted) != 1 || w.probe.ran("x") != 2 || asked.Load() != 1 || len(w.payments()) != 1 {
			t.Errorf("%d requests, the log is\n%s", asked.Load(), kinds(log))
		}
	})
}

// TestAPaymentIsApprovedWhileOthersRun has people decide while the turn is at work on other calls: the call goes on at once.
func TestAPaymentIsApprovedWhileOthersRun(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		url, asked := countingRail(t)
		n := w.start(w.paying(url, aboveTwo))
		slow := w.probe.add()
		w.probe.on("slow", func(ctx context.Context, _ *tools.Call) tools.Result {
			slow.pass(ctx)
			return tools.Success(map[string]string{})
		})
		paid := make(chan struct{})
		w.probe.on("x", func(ctx context.Context, c *tools.Call) tools.Result {
			r := buys(ctx, c)
			if w.probe.ran("x") == 2 {
				close(paid)
			}
			return r
		})
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("again", "slow"), callTool("once", "x")), says(text("done"))))
		<-slow.arrived
		w.until("people are asked", func() bool { return count(w.events(s), models.EventApprovalRequested) == 1 })
		var wait models.Wait
		if err := store.Of(w.db.ReadAcross(t.Context()), w.org).Where("session_id = ?", s).Take(&wait).Error; err != nil {
			t.Fatal(err)
		}
		if err := n.decide(wait, true, ""); err != nil {
			t.Fatal(err)
		}
		<-paid
		slow.open()
		log := w.idle(s)
		if count(log, models.EventTurnWaiting) != 0 || count(log, models.EventTurnCompleted) != 1 || asked.Load() != 1 {
			t.Errorf("%d requests, the log is\n%s", asked.Load(), kinds(log))
		}
	})
}
