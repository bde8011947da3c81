package runtime

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// A turn whose first step has no money ends as one that was sealed, whatever waits behind it in the line; and so does each of those.
func TestAFirstStepWithoutMoneyMovesTheLineOn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.budget("usd", 40_000)
		n := w.start(priced())
		s := w.newSession(n)
		g := n.puppet.add()
		n.puppet.on(replies(reply{heard: g, resp: took(1_000_000, 7, "dear").resp}))
		n.send(s, "go")
		<-g.arrived
		var behind []models.TurnID
		for range 3 {
			behind = append(behind, n.deliver(sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text("more")}, Delivery: turns.Queue}))
		}
		g.open()
		w.idle(s)
		for i, id := range behind {
			if row := w.turn(id); row.Status != models.TurnSealed || *row.StopReason != models.StopBudget || row.Error.Code != "budget_exhausted" {
				t.Errorf("turn %d behind is %s: %+v", i+1, row.Status, row.Error)
			}
		}
		if len(n.puppet.requests()) != 1 {
			t.Errorf("the model was asked %d times", len(n.puppet.requests()))
		}
	})
}

// What a provider says that a call cost is taken off budgets in dollars, also where nothing could be held for it: from a model that costs
// nothing by its price, and from one without a price that the organization lets run.
func TestACostThatNobodyCouldExpectIsPosted(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		unpriced := madeUp("unpriced", models.ProviderSimulated, 0)
		unpriced.Model.PriceInput, unpriced.Model.PriceOutput = nil, nil
		w.execute("UPDATE orgs SET allow_unpriced = ? WHERE id = ?", true, w.org)
		for name, model := range map[string]nodeOption{
			"free": stage(&staging{model: madeUp("free", models.ProviderSimulated, 0)}), "without a price": stage(&staging{model: unpriced}),
		} {
			t.Run(name, func(t *testing.T) {
				w := w.within(t)
				id := w.budget("usd", 1000)
				defer w.changeBudget(id, func(b *models.Budget) { b.DisabledAt = b.CreatedAt.Ptr() })
				n := w.start(model)
				s := w.newSession(n)
				n.puppet.on(replies(reply{resp: llm.Response{
					Usage: models.Usage{InputTokens: 5, OutputTokens: 5, CostNanos: 1500, ProviderCost: true}, Parts: []models.Part{textPart("done")}, FinishReason: llm.FinishStop,
				}}))
				n.send(s, "go")
				w.idle(s)
				if b, list := w.budgetRow(id), w.ledger(id); b.Spent != 1500 || b.Reserved != 0 || len(list) != 1 || list[0].Overrun != 1500 {
					t.Errorf("%d are spent, %d held, the ledger has %+v", b.Spent, b.Reserved, list)
				}
				turn := n.send(s, "again")
				w.idle(s)
				if row := w.turn(turn); row.Status != models.TurnSealed {
					t.Errorf("past the limit the turn is %s: %+v", row.Status, row.Error)
				}
				n.stop()
			})
		}
	})
}

// A runner that waits in the middle of a step, for what other turns hold, has made no call that could be lost with it; and it doesn't keep others
// from asking the provider.
func TestWaitingForAnotherAttemptCostsNothing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("usd", 10_000_000)
		p := &naps{clock: w.clock}
		m := madeUp("m", models.ProviderSimulated, 1_000_000)
		n := w.start(stage(&staging{model: m}), rest(p))
		holder, s := w.newSession(n), w.newSession(n)
		busy, failing := n.puppet.add(), n.puppet.add()
		n.puppet.on(func(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
			if last := req.Messages[len(req.Messages)-1]; last.Parts[0].Text == "hold" {
				busy.pass(ctx)
				return took(10, 1, "held").resp, nil
			}
			failing.pass(ctx)
			return llm.Response{Usage: models.Usage{InputTokens: 100}}, down()
		})
		n.send(holder, "hold")
		<-busy.arrived
		turn := n.send(s, "go")
		<-failing.arrived
		// There is room for one of them at a time.
		w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = b.Spent + w.held(id, b.PeriodStartedAt)/2 + 500 })
		asleep := n.puppet.add()
		p.mu.Lock()
		p.hold = asleep
		p.mu.Unlock()
		failing.open()
		<-asleep.arrived // it waits before the next attempt, as failures are
		// The next call is the one that tells whether the provider is back.
		key := ask.BreakerKey{Org: w.org, Provider: m.Provider.ID}
		for range ask.BreakerFailures {
			n.engine.models.Breakers.Report(key, ask.Pass{}, ask.OutcomeFailed, w.clock.Now().Add(-ask.BreakerRest))
		}
		p.mu.Lock()
		waits := n.puppet.add()
		p.hold = waits
		p.mu.Unlock()
		asleep.open()
		<-waits.arrived // and for the budget
		if row := w.turn(turn); row.Reservation != nil || row.Usage.InputTokens != 100 {
			t.Fatalf("the turn that waits for the other one is %+v", row)
		}
		if probe, ok, _ := n.engine.models.Breakers.Admit(key, w.clock.Now()); !ok || !probe.Probe {
			t.Error("a turn that waits for money keeps others from the provider")
		}
		other := w.start(priced())
		other.puppet.on(func(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
			return took(40, 2, "done").resp, nil
		})
		// The one that is at work must not die with it: it has its answer before.
		busy.open()
		w.idle(holder)
		n.die()
		log := w.idle(s)
		waits.open()
		for _, g := range payloads[events.GenerationRecorded](t, log) {
			if g.Estimated {
				t.Errorf("a call was made up: %+v", g)
			}
		}
		if row := w.turn(turn); row.Status != models.TurnCompleted || row.ModelCalls != 2 || row.Usage.InputTokens != 140 {
			t.Errorf("the turn is %s after %d calls with %d tokens of input", row.Status, row.ModelCalls, row.Usage.InputTokens)
		}
	})
}

// Turns that can't go on yet don't keep others from going on behind them, however many there are: the sweep finds one whose budget has room
// although nobody has told of it.
func TestTheSweepFindsATurnBehindOthers(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(priced())
		n.puppet.on(func(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
			return took(5, 5, "done").resp, nil
		})
		ofSession := func(s models.SessionID) models.BudgetID {
			return w.budget("usd", 1_000_000, func(b *models.Budget) {
				subject := models.SubjectID(s)
				b.Subject, b.SubjectID, b.SoftLimit = models.SubjectSession, &subject, new(models.Amount(0))
			})
		}
		var last models.SessionID
		var id models.BudgetID
		for range 18 {
			last = w.newSession(n)
			id = ofSession(last)
			n.send(last, "first")
			w.idle(last)
			n.send(last, "second")
			w.paused(last)
		}
		// Nobody is told.
		w.execute("UPDATE budgets SET soft_limit = ?, soft_passed_at = NULL WHERE id = ?", 500_000, id)
		ticks := make(chan time.Time)
		n.looksAfterParkedAt(ticks)
		ticks <- time.Time{}
		w.idle(last)
		// One that its budget no longer binds is found, too, after a while.
		gone := w.newSession(n)
		agents := ofSession(gone)
		n.send(gone, "first")
		w.idle(gone)
		n.send(gone, "second")
		w.paused(gone)
		w.execute("UPDATE budgets SET disabled_at = 1 WHERE id = ?", agents)
		ticks <- time.Time{}
		w.idle(gone)
	})
}

// One whose needs fit goes on behind others of the same budget that need more.
func TestATurnThatFitsGoesOnBehindOthers(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("usd", 1_000_000_000)
		n := w.start(priced())
		n.puppet.on(func(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
			return took(5, 5, "done").resp, nil
		})
		const more = 5000
		var large []models.SessionID
		for range 17 {
			s := w.newSession(n)
			n.send(s, strings.Repeat("x", more))
			w.idle(s)
			large = append(large, s)
		}
		holder, small := w.newSession(n), w.newSession(n)
		bound := models.Amount(w.heldInput(n, holder, id))
		g := n.puppet.add()
		n.puppet.on(replies(reply{heard: g, resp: took(1, 1, "held").resp}))
		n.send(holder, "hold")
		<-g.arrived
		// It holds all but the prompt of a small one; a large one would fit without it.
		held := w.held(id, w.budgetRow(id).PeriodStartedAt)
		w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = b.Spent + held + 100 })
		for _, s := range append(large, small) {
			n.send(s, "go")
			w.until("it waits", func() bool { return w.session(s).Status == models.SessionWaiting })
		}
		n.puppet.on(func(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
			return took(5, 5, "done").resp, nil
		})
		w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = b.Spent + held + bound + 1000 })
		// Nobody tells of anything later.
		n.looksAfterParkedAt(make(chan time.Time)).Wake(w.org, id)
		w.idle(small)
		g.open()
		for _, s := range append(large, holder) {
			w.idle(s)
		}
	})
}

// Forks draw on the budgets of the session that they come from, and forks of forks: nobody gets more by forking.
// Rules: K3.
func TestForksDrawOnTheirRoot(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(priced())
		s := w.newSession(n)
		id := w.budget("usd", 1_000_000, func(b *models.Budget) {
			subject := models.SubjectID(s)
			b.Subject, b.SubjectID = models.SubjectSession, &subject
		})
		n.puppet.on(func(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
			return took(100, 1, "done").resp, nil
		})
		at := s
		for i := range 3 {
			n.send(at, "go")
			w.idle(at)
			if b := w.budgetRow(id); b.Spent != models.Amount(101*(i+1)) {
				t.Errorf("after fork %d %d are spent", i, b.Spent)
			}
			fork, err := n.sessions.Fork(t.Context(), w.by, sessions.NewFork{SessionID: at})
			if err != nil {
				t.Fatal(err)
			}
			if at = fork.ID; fork.RootID == nil || *fork.RootID != s {
				t.Errorf("the root of fork %d is %v", i+1, fork.RootID)
			}
		}
		w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = b.Spent })
		turn := n.send(at, "go")
		w.idle(at)
		if row := w.turn(turn); row.Status != models.TurnSealed {
			t.Errorf("the turn of the last fork is %s", row.Status)
		}
	})
}

// What a tool says that it took is taken off the budgets in that unit, also when it has not declared it before.
func TestUnitsThatWereNotDeclaredAreTaken(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id, calls := w.budget("gpu_seconds", 5_000_000_000), w.budget("tool_calls", 10)
		n := w.start()
		s := w.newSession(n)
		w.probe.on("measured", func(context.Context, *tools.Call) tools.Result {
			r := tools.Success(map[string]string{})
			r.Measures = tools.Meters{"gpu_seconds": 1_500_000_000}
			return r
		})
		n.send(s, script(t, says(callTool("once", "measured"), callTool("once", "plain")), says(text("done"))))
		w.idle(s)
		if b, list := w.budgetRow(id), w.ledger(id); b.Spent != 1_500_000_000 || b.Reserved != 0 || len(list) != 1 || list[0].Overrun != 1_500_000_000 {
			t.Errorf("%d are spent, %d held, the ledger has %+v", b.Spent, b.Reserved, list)
		}
		if b := w.budgetRow(calls); b.Spent != 2 || b.Reserved != 0 {
			t.Errorf("%d calls are spent, %d held", b.Spent, b.Reserved)
		}
	})
}
