package runtime

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// took is an answer that took so many tokens of input and output; with a price of a million per million tokens each costs a nano-dollar.
func took(input, output int64, text string) reply {
	return reply{resp: llm.Response{
		Usage: models.Usage{InputTokens: input, OutputTokens: output}, Parts: []models.Part{textPart(text)}, FinishReason: llm.FinishStop,
	}}
}

// priced has a node ask a model whose tokens cost a nano-dollar each.
func priced() nodeOption {
	return stage(&staging{model: madeUp("m", models.ProviderSimulated, 1_000_000)})
}

func (w *world) ledger(id models.BudgetID) []models.LedgerEntry {
	w.t.Helper()
	var list []models.LedgerEntry
	if err := store.Of(w.db.Read(w.t.Context(), w.org), w.org).Where("budget_id = ?", id).Order("created_at, id").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

// paused waits until a session is parked by a soft limit.
func (w *world) paused(s models.SessionID) {
	w.t.Helper()
	w.until("the session is paused", func() bool { return w.session(s).Status == models.SessionPaused })
	if t := w.turn(*w.session(s).CurrentTurnID); t.Status != models.TurnWaiting || t.RunnerID != nil || t.ReadyAt != nil || t.Reservation != nil {
		w.t.Fatalf("the paused turn is %+v", t)
	}
	if err := events.CheckPrefix(w.events(s)); err != nil {
		w.t.Fatal(err)
	}
}

// While a call is made its worst case is held, and afterwards just what it took is spent; the same in every currency.
//
// Rules: P7.
func TestACallHoldsItsWorstCaseAndSettlesWhatItTook(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		usd, tokens, credits := w.budget("usd", 1_000_000), w.budget("tokens", 1_000_000), w.budget("credits", 1_000_000_000_000)
		calls, other := w.budget("tool_calls", 5), w.budget("usd", 5, func(b *models.Budget) {
			stranger := models.SubjectID(models.NewID[models.AgentEntity]())
			b.Subject, b.SubjectID = models.SubjectAgent, &stranger
		})
		n := w.start(priced())
		s := w.newSession(n)
		g := n.puppet.add()
		n.puppet.on(replies(reply{heard: g, resp: took(700, 30, "done").resp}))
		turn := n.send(s, "go")
		<-g.arrived
		held := w.turn(turn).Reservation
		if held == nil || len(held.Lines) != 3 || held.MaxTokens != defaultOutput || held.InputTokens < 700 {
			t.Fatalf("the turn holds %+v", held)
		}
		worst := models.Amount(held.InputTokens + defaultOutput)
		for id, want := range map[models.BudgetID]models.Amount{usd: worst, tokens: worst, credits: worst * 1_000_000, calls: 0, other: 0} {
			if b := w.budgetRow(id); b.Reserved != want || b.Spent != 0 {
				t.Errorf("of %s %d are held, want %d; %d are spent", b.Currency, b.Reserved, want, b.Spent)
			}
		}
		g.open()
		w.idle(s)
		for id, want := range map[models.BudgetID]models.Amount{usd: 730, tokens: 730, credits: 730_000_000, calls: 0, other: 0} {
			if b := w.budgetRow(id); b.Reserved != 0 || b.Spent != want {
				t.Errorf("of %s %d are held; %d are spent, want %d", b.Currency, b.Reserved, b.Spent, want)
			}
		}
		if list := w.ledger(usd); len(list) != 1 || list[0].Amount != 730 || list[0].Overrun != 0 || *list[0].TurnID != turn || *list[0].SessionID != s {
			t.Errorf("the ledger has %+v", list)
		}
	})
}

// A call that outlives the period that it was granted in is charged to that one: the next one, of which others have all by then, is left alone.
// Rules: P7.
func TestACallThatOutlivesItsPeriodIsChargedToIt(t *testing.T) {
	for name, c := range map[string]struct {
		next, cancel bool
		charged      models.Amount
	}{
		"others have begun the next":                  {next: true, charged: 730},
		"nobody has begun the next":                   {charged: 730},
		"others have begun the next, it is cancelled": {next: true, cancel: true},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				fixed := models.PeriodFixed
				id := w.budget("usd", 1, func(b *models.Budget) { b.PeriodKind, b.PeriodSeconds = &fixed, new(int64(1)) })
				w.topUp(id, 1_000_000)
				first := w.budgetRow(id).PeriodStartedAt
				n := w.start(priced())
				s, other := w.newSession(n), w.newSession(n)
				g := n.puppet.add()
				n.puppet.on(replies(reply{heard: g, resp: took(700, 30, "done").resp}, took(700, 30, "done")))
				turn := n.send(s, "go")
				<-g.arrived
				w.clock.Advance(time.Second)
				spent := models.Amount(0)
				if c.next {
					w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = 20_000 })
					n.send(other, "go")
					w.idle(other)
					spent = 730
					if b := w.budgetRow(id); b.Spent != spent || b.Reserved != 0 || b.Credits != 0 || b.PeriodStartedAt == first {
						t.Fatalf("the next period has spent %d, holds %d and has %d of top-ups", b.Spent, b.Reserved, b.Credits)
					}
				}
				if c.cancel {
					n.cancel(turn, "enough")
				}
				g.open()
				w.idle(s)
				b := w.budgetRow(id)
				if budget.Roll(&b, models.MillisOf(w.clock.Now())); b.Spent != spent || b.Reserved != 0 {
					t.Errorf("the next period has spent %d and holds %d, want %d and 0", b.Spent, b.Reserved, spent)
				}
				var charged models.Amount
				for _, p := range w.ledger(id) {
					if p.TurnID != nil && *p.TurnID == turn && p.PeriodStartedAt == first && p.Overrun == 0 {
						charged += p.Amount
					}
				}
				if charged != c.charged && !c.cancel {
					t.Errorf("the first period is charged %d, want %d", charged, c.charged)
				}
			})
		})
	}
}

// The output limit is lowered to what fits, and no farther than to 256; what doesn't fit then is refused before the call, and the user is told
// what happened and what helps.
//
// Rules: S3.
func TestAnOutputLimitIsLoweredToWhatFits(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(priced())
		s := w.newSession(n)
		n.puppet.on(replies(took(1, 1, "one"), took(1, 1, "two")))
		n.send(s, "go")
		w.idle(s)
		before := n.puppet.requests()[0]
		if before.MaxTokens != 0 {
			t.Fatalf("without a budget the limit is %d", before.MaxTokens)
		}
		big := w.budget("usd", 1_000_000)
		n.send(s, "go")
		w.idle(s)
		bound := w.heldInput(n, s, big)
		w.changeBudget(big, func(b *models.Budget) { b.LimitAmount = b.Spent + models.Amount(bound) + 300 })
		n.puppet.on(replies(took(1, 1, "three")))
		n.send(s, "go")
		w.idle(s)
		requests := n.puppet.requests()
		if got := requests[len(requests)-1].MaxTokens; got < budget.MinOutput || got > 300+int(bound) {
			t.Errorf("the limit is %d", got)
		}
		w.changeBudget(big, func(b *models.Budget) { b.LimitAmount = b.Spent + 200 })
		turn := n.send(s, "go")
		log := w.idle(s)
		row := w.turn(turn)
		if row.Status != models.TurnSealed || *row.StopReason != models.StopBudget || row.Error.Code != "budget_exhausted" || row.ModelCalls != 0 {
			t.Errorf("the turn is %+v", row)
		}
		if len(n.puppet.requests()) != len(requests) {
			t.Error("the model was asked without money")
		}
		the[events.BudgetExhausted](t, log)
		last := w.messages(s)
		told := last[len(last)-1]
		if told.Error == nil || told.Error.Code != "budget_exhausted" || !strings.Contains(told.Error.Message, "Top up the budget") {
			t.Errorf("the user is told %+v", told)
		}
		// A message later goes on, when there is money again.
		w.changeBudget(big, func(b *models.Budget) { b.LimitAmount = 10_000_000 })
		n.puppet.on(replies(took(1, 1, "four")))
		if row := w.turn(n.send(s, "go")); row.ID == turn {
			t.Error("the sealed turn goes on")
		}
		w.idle(s)
	})
}

// heldInput returns the bound of the prompt of a session's next call.
func (w *world) heldInput(n *node, s models.SessionID, id models.BudgetID) int64 {
	w.t.Helper()
	g := n.puppet.add()
	n.puppet.on(replies(reply{heard: g, resp: took(1, 1, "measured").resp}))
	turn := n.send(s, "go")
	<-g.arrived
	bound := w.turn(turn).Reservation.InputTokens
	g.open()
	w.idle(s)
	return bound + 64 // the answer, and the next message
}

// Past the soft limit a turn is parked before its next call, and goes on after a top-up, a higher limit, a new period, or when somebody lets it:
// with nothing lost.
//
// Rules: E6, D4.
func TestASoftLimitParksAndGoesOn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		day, unit, zone := models.PeriodCalendar, models.UnitDay, "UTC"
		for name, goOn := range map[string]func(id models.BudgetID, s models.SessionID){
			"a top-up": func(id models.BudgetID, _ models.SessionID) { w.topUp(id, 1000) },
			"a higher limit": func(id models.BudgetID, _ models.SessionID) {
				w.changeBudget(id, func(b *models.Budget) { *b.SoftLimit += 1000 })
			},
			"a new period": func(models.BudgetID, models.SessionID) { w.clock.Advance(24 * 3600 * 1e9) },
		} {
			t.Run(name, func(t *testing.T) {
				w := w.within(t)
				id := w.budget("usd", 1_000_000, func(b *models.Budget) {
					b.SoftLimit, b.PeriodKind, b.PeriodUnit, b.Timezone = new(models.Amount(500)), &day, &unit, &zone
				})
				defer w.changeBudget(id, func(b *models.Budget) { b.DisabledAt = b.CreatedAt.Ptr() })
				n := w.start(priced())
				parked := n.looksAfterParked()
				s := w.newSession(n)
				n.puppet.on(replies(took(600, 1, "one"), took(10, 10, "two")))
				n.send(s, "first")
				w.idle(s)
				turn := n.send(s, "second")
				w.paused(s)
				if same := n.send(s, "third"); same != turn {
					t.Error("a message to a paused session is carried by another turn")
				}
				parked.Wake(w.org, id)
				goOn(id, s)
				parked.Wake(w.org, id)
				log := w.idle(s)
				if row := w.turn(turn); row.Status != models.TurnCompleted || row.ModelCalls != 1 {
					t.Errorf("the turn is %+v", row)
				}
				shown := n.puppet.requests()[1].Messages
				if last := shown[len(shown)-1].Parts[0].Text; last != "third" {
					t.Errorf("the last that the model was shown is %q", last)
				}
				for _, kind := range []models.EventKind{models.EventBudgetPaused, models.EventSessionPaused, models.EventBudgetResumed, models.EventSessionResumed, models.EventTurnResumed} {
					if count(log, kind) != 1 {
						t.Errorf("%s was told %d times", kind, count(log, kind))
					}
				}
			})
		}
	})
}

// What is only held by others is waited for, and comes back: no turn is stopped by it, and the oldest goes on first.
//
// Rules: P7.
func TestATurnWaitsForWhatOthersHold(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		probe := w.budget("usd", 10_000_000)
		n := w.start(priced())
		n.looksAfterParked()
		first, second := w.newSession(n), w.newSession(n)
		bound := w.heldInput(n, first, probe)
		w.heldInput(n, second, probe)
		// One worst case with the least output, and not two.
		w.changeBudget(probe, func(b *models.Budget) { b.LimitAmount = b.Spent + models.Amount(bound)*3/2 })
		g := n.puppet.add()
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			g.pass(ctx)
			return took(5, 5, "done").resp, nil
		})
		n.send(first, "go")
		<-g.arrived
		turn := n.send(second, "go")
		w.until("the second one waits", func() bool { return w.session(second).Status == models.SessionWaiting })
		if row := w.turn(turn); row.Status != models.TurnWaiting || row.Reservation != nil || row.ModelCalls != 0 {
			t.Errorf("the waiting turn is %+v", row)
		}
		g.open()
		w.idle(first)
		w.idle(second)
		if row := w.turn(turn); row.Status != models.TurnCompleted {
			t.Errorf("the second turn is %+v", row)
		}
	})
}

// What a provider reports above the reservation is posted in full, marked, and blocks the next call.
func TestAnOverrunIsPostedInFull(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("usd", 40_000)
		n := w.start(priced())
		s := w.newSession(n)
		n.puppet.on(replies(took(1_000_000, 7, "dear")))
		n.send(s, "go")
		log := w.idle(s)
		list := w.ledger(id)
		if len(list) != 1 || list[0].Amount != 1_000_007 || list[0].Overrun <= 0 || list[0].Overrun >= 1_000_007 {
			t.Errorf("the ledger has %+v", list)
		}
		the[events.BudgetWarned](t, log)
		turn := n.send(s, "again")
		w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnSealed || row.ModelCalls != 0 {
			t.Errorf("the next turn is %+v", row)
		}
	})
}

// Each attempt at a call is paid for once, and the next one holds its own worst case; when that isn't there, the turn ends without it.
//
// Rules: P7.
func TestRetriesAreReservedForThemselves(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("usd", 10_000_000)
		n := w.start(priced())
		s := w.newSession(n)
		n.puppet.on(replies(reply{resp: llm.Response{Usage: models.Usage{InputTokens: 100}}, err: down()},
			reply{resp: llm.Response{Usage: models.Usage{InputTokens: 200}}, err: down()}, took(300, 1, "done")))
		turn := n.send(s, "go")
		w.idle(s)
		var sum models.Amount
		for _, p := range w.ledger(id) {
			sum += p.Amount
		}
		if row := w.turn(turn); row.Status != models.TurnCompleted || row.ModelCalls != 3 || sum != 601 || len(w.ledger(id)) != 3 {
			t.Errorf("the turn is %+v, the ledger has %d in %d postings", row, sum, len(w.ledger(id)))
		}
		bound := w.heldInput(n, s, id)
		w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = b.Spent + models.Amount(bound) + 600 })
		n.puppet.on(replies(reply{resp: llm.Response{Usage: models.Usage{InputTokens: bound}}, err: down()}, took(1, 1, "too late")))
		before := len(n.puppet.requests())
		turn = n.send(s, "go")
		log := w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnSealed || row.Error.Code != "budget_exhausted" || len(n.puppet.requests()) != before+1 {
			t.Errorf("the turn is %+v after %d calls", row, len(n.puppet.requests())-before)
		}
		the[events.BudgetExhausted](t, log)
	})
}

// A model without a price doesn't run under a budget in dollars, unless the organization says so.
func TestAModelWithoutAPrice(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		free := madeUp("free", models.ProviderSimulated, 0)
		free.Model.PriceInput, free.Model.PriceOutput = nil, nil
		id := w.budget("usd", 1000)
		n := w.start(stage(&staging{model: free}))
		s := w.newSession(n)
		turn := n.send(s, "go")
		w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnFailed || row.Error.Code != "provider_misconfigured" || !strings.Contains(row.Error.Message, "price") || row.ModelCalls != 0 {
			t.Errorf("the turn is %+v", row)
		}
		w.execute("UPDATE orgs SET allow_unpriced = ? WHERE id = ?", true, w.org)
		n.puppet.on(replies(took(1, 1, "done")))
		turn = n.send(s, "go")
		w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnCompleted || !row.Usage.Unpriced || len(w.ledger(id)) != 0 {
			t.Errorf("the turn is %+v", row)
		}
	})
}

// What a process took with it when it died is paid for once, and what it had held comes back.
//
// Rules: P7.
func TestADeadRunnersReservation(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("usd", 10_000_000)
		n := w.start(priced())
		s := w.newSession(n)
		g := n.freezes(llm.Delta{Text: "half"})
		turn := n.send(s, "go")
		<-g.arrived
		held := w.budgetRow(id).Reserved
		other := w.start(priced())
		other.puppet.on(replies(took(40, 2, "done")))
		n.die()
		log := w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnCompleted || row.ModelCalls != 2 || held == 0 {
			t.Errorf("the turn is %+v; %d were held", row, held)
		}
		recorded := payloads[events.GenerationRecorded](t, log)
		var sum models.Amount
		for _, p := range w.ledger(id) {
			sum += p.Amount
		}
		if len(recorded) != 2 || !recorded[0].Estimated || sum != models.Amount(recorded[0].Usage.CostNanos+recorded[1].Usage.CostNanos) {
			t.Errorf("the ledger has %d, recorded are %+v", sum, recorded)
		}
		g.open()
	})
}

// Each tool call takes one of tool_calls. What an answer asks for is held before any of its calls runs; when it doesn't fit, none of them runs,
// what the model has said is kept, and the turn ends. What is used up doesn't keep the model from answering.
//
// Rules: P7.
func TestToolCallsAreHeldAndTaken(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("tool_calls", 3)
		n := w.start()
		s := w.newSession(n)
		turn := n.send(s, script(t, says(callTool("once", "a"), callTool("once", "b")), says(callTool("once", "c")), says(text("done"))))
		w.idle(s)
		if row, b := w.turn(turn), w.budgetRow(id); row.Status != models.TurnCompleted || b.Spent != 3 || b.Reserved != 0 || len(w.ledger(id)) != 3 {
			t.Errorf("the turn is %+v; %d are spent and %d held", row, b.Spent, b.Reserved)
		}
		turn = n.send(s, script(t, says(text("I will "), callTool("once", "d")), says(text("done"))))
		log := w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnSealed || row.Error.Code != "budget_exhausted" || w.probe.ran("d") != 0 {
			t.Errorf("the turn is %+v; the tool ran %d times", row, w.probe.ran("d"))
		}
		the[events.BudgetExhausted](t, log)
		turn = n.send(s, script(t, says(text("just words"))))
		w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnCompleted {
			t.Errorf("the turn that calls no tool is %+v", row)
		}
	})
}

// A fork draws on the budget of the session that its line began with.
//
// Rules: K3.
func TestAForkDrawsOnItsOriginalsBudget(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(priced())
		s := w.newSession(n)
		n.puppet.on(replies(took(1, 1, "one"), took(40, 2, "two")))
		n.send(s, "go")
		w.idle(s)
		subject := models.SubjectID(s)
		id := w.budget("usd", 1_000_000, func(b *models.Budget) { b.Subject, b.SubjectID = models.SubjectSession, &subject })
		again := n.fork(n.fork(s).ID).ID
		n.send(again, "go")
		w.idle(again)
		if b := w.budgetRow(id); b.Spent != 42 || b.Reserved != 0 {
			t.Errorf("the fork of a fork has taken %d, and holds %d", b.Spent, b.Reserved)
		}
	})
}
