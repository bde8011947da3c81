package runtime

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

const gpuSecond = models.Amount(1_000_000_000)

// tooks has a tool measure what it took of gpu_seconds.
func tooks(amount models.Amount) tools.Result {
	return tools.Result{JSON: []byte(`{}`), Measures: tools.Meters{"gpu_seconds": amount}}
}

// The calls of an answer that have to wait for what other turns hold are parked: they keep no runner, nothing of the answer is lost, the model is
// not asked again, and they go on when there is room, with what they take held for them.
//
// Rules: P7.
func TestCallsWaitForWhatOthersHold(t *testing.T) {
	for name, c := range map[string]struct {
		// took is what the call takes in the end that holds the budget.
		took    models.Amount
		change  func(w *world, n, other *node, id models.BudgetID, turn models.TurnID)
		approve bool
		status  models.TurnStatus
		says    string
	}{
		"what others hold comes back":  {took: 2 * gpuSecond, status: models.TurnCompleted},
		"it has to be approved":        {took: 2 * gpuSecond, approve: true, status: models.TurnCompleted},
		"others take nearly all of it": {took: 35 * gpuSecond, status: models.TurnSealed, says: "interrupted: The turn was stopped before this call began. It had no effect."},
		"it is topped up": {
			took: 35 * gpuSecond, status: models.TurnCompleted,
			change: func(w *world, n, _ *node, id models.BudgetID, _ models.TurnID) {
				w.topUp(id, 30*gpuSecond)
				n.parked.Load().Wake(w.org, id)
			},
		},
		"it is cancelled": {
			took: 2 * gpuSecond, status: models.TurnCancelled, says: "cancelled: ",
			change: func(_ *world, n, _ *node, _ models.BudgetID, turn models.TurnID) { n.cancel(turn, "enough") },
		},
		"its runner dies": {
			took: 2 * gpuSecond, status: models.TurnCompleted,
			change: func(_ *world, _, other *node, _ models.BudgetID, _ models.TurnID) { other.die() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				id := w.budget("gpu_seconds", 40*gpuSecond)
				n := w.start()
				n.looksAfterParked()
				g := n.faults.add()
				w.probe.on("holds", func(context.Context, *tools.Call) tools.Result {
					g.hold()
					return tooks(c.took)
				})
				w.probe.on("waits", func(context.Context, *tools.Call) tools.Result { return tooks(3 * gpuSecond) })
				holder := w.newSession(n)
				n.send(holder, script(t, says(callTool("metered", "holds")), says(text("done"))))
				<-g.arrived
				other := w.start()
				s := w.newSession(other)
				if c.approve {
					s = w.newSessionOn(other, w.harnessWith("asking", ref("approvals", `{"default":"always"}`)))
				}
				turn := other.send(s, script(t, says(text("Wait."), callTool("metered", "waits")), says(text("done"))))
				w.until("its calls wait", func() bool { return w.session(s).Status == models.SessionWaiting })
				row := w.turn(turn)
				if row.RunnerID != nil || row.Reservation != nil || row.PendingCalls != 1 || row.WaitingCalls != 0 || row.ModelCalls != 1 {
					t.Errorf("the turn that waits is %+v", row)
				}
				log := w.events(s)
				if count(log, models.EventToolStarted) != 0 || count(log, models.EventApprovalRequested) != 0 || count(log, models.EventOutputCompleted) != 1 {
					t.Errorf("before there is money it has %d calls begun, %d approvals asked for and %d answers",
						count(log, models.EventToolStarted), count(log, models.EventApprovalRequested), count(log, models.EventOutputCompleted))
				}
				if w.probe.ran("waits") != 0 {
					t.Error("the call has run without money")
				}
				if c.change != nil {
					c.change(w, n, other, id, turn)
				}
				g.open()
				w.idle(holder)
				if c.approve {
					w.until("the approval is asked for", func() bool { return count(w.events(s), models.EventApprovalRequested) == 1 })
					waits := w.parked(s)
					if held := w.held(id, w.budgetRow(id).PeriodStartedAt); held != 30*gpuSecond {
						t.Errorf("%d are held while people decide", held)
					}
					if err := n.decide(waits[0], true, ""); err != nil {
						t.Fatal(err)
					}
				}
				log = w.idle(s)
				row = w.turn(turn)
				if row.Status != c.status {
					t.Fatalf("the turn is %+v", row)
				}
				ran := map[bool]int{true: 1}[c.status == models.TurnCompleted]
				if w.probe.ran("waits") != ran || row.ModelCalls != 1+ran {
					t.Errorf("the call ran %d times, the model was asked %d times", w.probe.ran("waits"), row.ModelCalls)
				}
				done := the[events.ToolCompleted](t, log)
				if done.Success != (ran == 1) || !strings.HasPrefix(done.Error, c.says) {
					t.Errorf("the call ended as %+v", done)
				}
				var spent []models.Amount
				for _, p := range w.ledger(id) {
					if p.TurnID != nil && *p.TurnID == turn {
						spent = append(spent, p.Amount)
					}
				}
				if want := []models.Amount{3 * gpuSecond}[:ran]; !slices.Equal(spent, want) {
					t.Errorf("the ledger has %v, want %v", spent, want)
				}
				if b := w.budgetRow(id); b.Reserved != 0 {
					t.Errorf("%d are held at the end", b.Reserved)
				}
			})
		})
	}
}

// Who is let go on has what it has waited for before its runner comes, so that nobody who comes later takes it; and who has to wait again, for
// another budget, keeps its place.
//
// Rules: P7.
func TestAWaitingTurnKeepsItsPlace(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("usd", 10_000_000)
		n := w.start(priced())
		holder, first, second := w.newSession(n), w.newSession(n), w.newSession(n)
		for _, s := range []models.SessionID{holder, first, second} {
			w.heldInput(n, s, id)
		}
		g := n.puppet.add()
		n.puppet.on(replies(reply{heard: g, resp: took(1, 1, "held").resp}))
		n.send(holder, "hold")
		<-g.arrived
		w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = b.Spent + b.Reserved + 10 })
		one, two := n.send(first, "go"), n.send(second, "go")
		waits := func(turn models.TurnID) (list []models.Wait) {
			t.Helper()
			q := store.Of(w.db.Read(t.Context(), w.org), w.org)
			if err := q.Where("turn_id = ? AND kind = 'BUDGET'", turn[:]).Order("created_at, id").Find(&list).Error; err != nil {
				t.Fatal(err)
			}
			return list
		}
		for _, turn := range []models.TurnID{one, two} {
			w.until("it waits", func() bool { return len(waits(turn)) == 1 })
		}
		n.die()
		// There is room for one of them, and nobody who runs turns.
		need := turns.ReadRequest(waits(one)[0]).Budget.Need
		w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = b.Spent + b.Reserved + need })
		w.newNode(priced()).looksAfterParkedAt(make(chan time.Time)).Wake(w.org, id)
		w.until("the first one is let go on", func() bool { return w.turn(one).Status == models.TurnRunning })
		held := w.turn(one).Reservation
		if held == nil || len(held.Lines) != 1 || held.Lines[0].Amount != need || held.Waited != waits(one)[0].ID || w.turn(two).Status != models.TurnWaiting {
			t.Fatalf("the first one holds %+v, the second one is %s", held, w.turn(two).Status)
		}
		if b := w.budgetRow(id); budget.Available(&b) != 0 {
			t.Errorf("%d are left for others", budget.Available(&b))
		}
		// Now there are no tokens for either, and dollars for both.
		tokens := w.budget("tokens", 10_000_000)
		w.changeBudget(tokens, func(b *models.Budget) { b.LimitAmount, b.SoftLimit = 10_000_000, new(models.Amount(0)) })
		w.execute("UPDATE budgets SET spent = 1, soft_passed_at = 1 WHERE id = ?", tokens[:])
		w.unposted = true
		w.changeBudget(id, func(b *models.Budget) { b.LimitAmount = 10_000_000 })
		next := w.start(priced(), func(cfg *Config) { cfg.Heartbeat = 20 * time.Millisecond })
		next.puppet.on(func(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
			return took(5, 5, "done").resp, nil
		})
		next.looksAfterParked()
		for _, turn := range []models.TurnID{one, two} {
			w.until("it waits for tokens", func() bool { return len(waits(turn)) == 2 })
			if list := waits(turn); !bytes.Equal(list[0].ID[:8], list[1].ID[:8]) || list[0].ID == list[1].ID {
				t.Errorf("it has waited as %s, and waits as %s", list[0].ID, list[1].ID)
			}
		}
		w.changeBudget(tokens, func(b *models.Budget) { b.SoftLimit = nil })
		next.parked.Load().Wake(w.org, tokens)
		g.open()
		for _, s := range []models.SessionID{holder, first, second} {
			w.idle(s)
		}
		if a, b := w.turn(one).Status, w.turn(two).Status; a != models.TurnCompleted || b != models.TurnCompleted {
			t.Errorf("the turns are %s and %s", a, b)
		}
	})
}

// A key that a call had asked for before its server died may be used while calls wait for a budget. They wait on: the key is no money.
//
// Rules: P7.
func TestALateKeyIsNoMoney(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("gpu_seconds", 40*gpuSecond)
		n := w.start()
		n.looksAfterParked()
		g := n.faults.add()
		w.probe.on("holds", func(context.Context, *tools.Call) tools.Result {
			g.hold()
			return tooks(2 * gpuSecond)
		})
		w.probe.on("waits", func(context.Context, *tools.Call) tools.Result { return tooks(3 * gpuSecond) })
		holder := w.newSession(n)
		n.send(holder, script(t, says(callTool("metered", "holds")), says(text("done"))))
		<-g.arrived
		other := w.start()
		lost := other.faults.add()
		defer lost.open()
		w.probe.on("lost", func(ctx context.Context, c *tools.Call) tools.Result {
			if _, err := c.DurableCompletionKey(ctx); err != nil {
				t.Error(err)
			}
			lost.hold()
			return tools.Success(nil)
		})
		s := w.newSession(other)
		turn := other.send(s, script(t, says(callTool("once", "lost")), says(callTool("metered", "waits")), says(text("done"))))
		<-lost.arrived
		other.die()
		var waits []models.Wait
		for _, wait := range w.parked(s) {
			if wait.Kind == models.WaitCompletion {
				waits = append(waits, wait)
			}
		}
		if len(waits) != 1 {
			t.Fatalf("the keys that nobody waits for are %+v", waits)
		}
		n.answer(waits[0], `"late"`)
		if row := w.turn(turn); row.Status != models.TurnWaiting || row.ReadyAt != nil {
			t.Errorf("the key has let the turn go on: %+v", row)
		}
		g.open()
		w.idle(holder)
		w.idle(s)
		if row := w.turn(turn); row.Status != models.TurnCompleted || w.probe.ran("waits") != 1 {
			t.Errorf("the turn is %s after %d runs", row.Status, w.probe.ran("waits"))
		}
		if b := w.budgetRow(id); b.Spent != 5*gpuSecond || b.Reserved != 0 {
			t.Errorf("%d are spent and %d held at the end", b.Spent, b.Reserved)
		}
	})
}

// Who is looked at in vain leaves the budget as it is: everybody who waits would be looked at again, without end.
//
// Rules: P7, L7.
func TestALookInVainChangesNoBudget(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("gpu_seconds", 40*gpuSecond)
		n := w.start()
		g := n.faults.add()
		w.probe.on("holds", func(context.Context, *tools.Call) tools.Result {
			g.hold()
			return tooks(2 * gpuSecond)
		})
		w.probe.on("waits", func(context.Context, *tools.Call) tools.Result { return tooks(3 * gpuSecond) })
		holder, s := w.newSession(n), w.newSession(n)
		n.send(holder, script(t, says(callTool("metered", "holds")), says(text("done"))))
		<-g.arrived
		n.send(s, script(t, says(callTool("metered", "waits")), says(text("done"))))
		wait := w.parked(s)[0]
		w.execute("UPDATE budgets SET updated_at = 1 WHERE id = ?", id[:])
		var goesOn bool
		err := n.change(wait, func(tx *commit.Tx, wait models.Wait) (err error) {
			goesOn, err = turns.WakeForBudget(tx, wait)
			return err
		})
		if b := w.budgetRow(id); err != nil || goesOn || b.UpdatedAt != 1 || !b.Contended {
			t.Errorf("a look in vain gives %v, %v, and leaves %+v", goesOn, err, b)
		}
		n.looksAfterParked()
		g.open()
		w.idle(holder)
		w.idle(s)
	})
}

// A call that finds room where it has waited, and none at another budget, takes nothing: those behind it find that room.
//
// Rules: P7.
func TestWhoHasToWaitElsewhereLeavesTheRoom(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		id := w.budget("gpu_seconds", 40*gpuSecond)
		n := w.start()
		n.looksAfterParkedAt(make(chan time.Time))
		g := n.faults.add()
		w.probe.on("holds", func(context.Context, *tools.Call) tools.Result {
			g.hold()
			return tooks(2 * gpuSecond)
		})
		w.probe.on("waits", func(context.Context, *tools.Call) tools.Result { return tooks(3 * gpuSecond) })
		holder, first, second := w.newSession(n), w.newSession(n), w.newSession(n)
		n.send(holder, script(t, says(callTool("metered", "holds")), says(text("done"))))
		<-g.arrived
		for _, s := range []models.SessionID{first, second} {
			n.send(s, script(t, says(callTool("metered", "waits")), says(text("done"))))
			w.parked(s)
		}
		// What the first one may call at all is held by somebody else, too.
		own := w.budget("tool_calls", 10, func(b *models.Budget) {
			subject := models.SubjectID(first)
			b.Subject, b.SubjectID = models.SubjectSession, &subject
		})
		w.execute("UPDATE budgets SET reserved = 10 WHERE id = ?", own[:])
		w.unposted = true
		g.open()
		w.idle(holder)
		w.idle(second)
		// It waits for the one of the two that it was last found to lack room of.
		if need := turns.ReadRequest(w.parked(first)[0]).Budget; !need.Calls || w.probe.ran("waits") != 1 {
			t.Errorf("the first one waits for %+v after %d runs", need, w.probe.ran("waits"))
		}
		w.execute("UPDATE budgets SET reserved = 0 WHERE id = ?", own[:])
		n.parked.Load().Wake(w.org, own)
		w.idle(first)
		if b := w.budgetRow(id); b.Spent != 8*gpuSecond || b.Reserved != 0 || w.probe.ran("waits") != 2 {
			t.Errorf("%d are spent and %d held after %d runs", b.Spent, b.Reserved, w.probe.ran("waits"))
		}
	})
}
