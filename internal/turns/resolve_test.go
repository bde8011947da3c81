package turns

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// TestResolve goes through all that can be waited for and all that can become of it: whatever that is, the turn goes on in the same commit as
// far as it can, and a second resolution changes nothing.
//
// Rules: E3, W1, W4.
func TestResolve(t *testing.T) {
	const value = `{"n":1}`
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name  string
			waits made
			state models.WaitState
			// what becomes of the call, and what it brings when it has ended.
			call  models.EffectState
			error string
			// again tells that it waits once more, so that the turn does too.
			again models.EventKind
		}{
			{"a result of the client", client(), models.WaitOK, models.EffectSettled, "", ""},
			{"a failure of the client", client(), models.WaitError, models.EffectSettled, "code: Message.", ""},
			{"a client that is too late", client(), models.WaitTimeout, models.EffectSettled, "timeout: ", ""},
			{"a client's call that is cancelled", client(), models.WaitCancelled, models.EffectSettled, "Message.", ""},
			{"an answer", question(), models.WaitOK, models.EffectSettled, "", ""},
			{"a question that is too late", question(), models.WaitTimeout, models.EffectSettled, "timeout: ", ""},
			{"a completion from outside", outside(models.WaitCompletion), models.WaitOK, models.EffectSettled, "", ""},
			{"a failure from outside", outside(models.WaitCompletion), models.WaitError, models.EffectSettled, "code: Message.", ""},
			{"nothing from outside", outside(models.WaitCompletion), models.WaitTimeout, models.EffectSettled, "timeout: ", ""},
			{"a name", outside(models.WaitCustom), models.WaitOK, models.EffectClaimed, "", ""},
			{"a name that fails", outside(models.WaitCustom), models.WaitError, models.EffectClaimed, "", ""},
			{"a name that is too late", outside(models.WaitCustom), models.WaitTimeout, models.EffectClaimed, "", ""},
			{"an approval", approval(1), models.WaitOK, models.EffectClaimed, "", ""},
			{"a denial", approval(1), models.WaitError, models.EffectSettled, "code: Message.", ""},
			{"an approval that nobody gives", approval(1), models.WaitTimeout, models.EffectSettled, "approval_expired: ", ""},
			{"an approved payment", payment(), models.WaitOK, models.EffectClaimed, "", ""},
			{"a denied payment", payment(), models.WaitError, models.EffectClaimed, "", ""},
			{"a payment that nobody decides about", payment(), models.WaitTimeout, models.EffectClaimed, "", ""},
			{"the approval of a client's call", made{kind: models.WaitApproval, client: true, approval: Approval{Quorum: 1}},
				models.WaitOK, models.EffectWaiting, "", models.EventToolCallsRequested},
			{"the approval of a question", made{kind: models.WaitApproval, question: true, approval: Approval{Quorum: 1}},
				models.WaitOK, models.EffectWaiting, "", models.EventToolStarted},
		} {
			s, waits := w.parked(t, c.waits)
			resolve := func(tx *commit.Tx, w models.Wait) error {
				r := models.WaitResolution{ErrorMessage: "Message."}
				switch c.state {
				case models.WaitOK:
					r = models.WaitResolution{}
					if c.waits.kind != models.WaitApproval {
						r.Value = models.JSON(value)
					}
				case models.WaitError:
					r.ErrorCode = "code"
				case models.WaitTimeout, models.WaitCancelled, models.WaitOpen:
				}
				return Resolve(tx, w, c.state, r)
			}
			if err := s.on(waits[0], resolve); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			s.sound()
			row := s.row()
			goesOn := row.Status == models.TurnRunning && row.ReadyAt != nil && s.count(models.EventTurnResumed) == 1
			if got := s.effect(0).State; got != c.call || goesOn != (c.again == "") {
				t.Errorf("%s: the call is %s, the turn %s", c.name, got, row.Status)
			}
			// The act is over with its last call, and not before.
			if acted := s.count(models.EventActCompleted) == 1; acted != (c.call == models.EffectSettled) {
				t.Errorf("%s: the act has ended: %v", c.name, acted)
			}
			done := s.result(0)
			switch {
			case c.call != models.EffectSettled:
				if done != nil {
					t.Errorf("%s: the call brought %+v", c.name, done)
				}
			case c.error != "":
				if done.Success || !strings.HasPrefix(done.Error, c.error) {
					t.Errorf("%s: the call brought %+v", c.name, done)
				}
			default:
				if !done.Success || string(done.Result) != value {
					t.Errorf("%s: the call brought %+v", c.name, done)
				}
			}
			if c.again != "" && s.count(c.again) != 1 {
				t.Errorf("%s: there is no %s", c.name, c.again)
			}
			before := len(s.log())
			if err := s.on(waits[0], resolve); !errors.Is(err, ErrResolved) || len(s.log()) != before {
				t.Errorf("%s: the second time: %v", c.name, err)
			}
		}
	})
}

// TestResolveOneOfSeveral has a turn go on with the last of what it waits for, or with the first call that can run.
//
// Rules: W4.
func TestResolveOneOfSeveral(t *testing.T) {
	ok := func(tx *commit.Tx, w models.Wait) error {
		return Resolve(tx, w, models.WaitOK, models.WaitResolution{})
	}
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name  string
			first made
			want  models.TurnStatus
		}{
			{"an answer doesn't stop the waiting for others", question(), models.TurnWaiting},
			{"nor does a result", client(), models.TurnWaiting},
			{"what is approved runs while others wait", approval(1), models.TurnRunning},
			{"what was waited for by name goes on while others wait", outside(models.WaitCustom), models.TurnRunning},
		} {
			s, waits := w.parked(t, c.first, client(), outside(models.WaitCompletion))
			if err := s.on(waits[0], ok); err != nil {
				t.Fatal(err)
			}
			s.sound()
			if got := s.row().Status; got != c.want {
				t.Errorf("%s: the turn is %s", c.name, got)
			}
			for _, id := range waits[1:] {
				if err := s.on(id, ok); err != nil {
					t.Fatal(err)
				}
				s.sound()
			}
			if row := s.row(); row.Status != models.TurnRunning || row.ReadyAt == nil || s.count(models.EventTurnResumed) != 1 {
				t.Errorf("%s: in the end the turn is %+v", c.name, row)
			}
		}
	})
}

// TestTheLastResultOfARunningTurnEndsItsAct has a cancelled turn, whose runner has not ended it yet, and of which all that is left waits:
// whoever resolves that ends the act, and the cancel finds nothing to close.
//
// Rules: E3, W4.
func TestTheLastResultOfARunningTurnEndsItsAct(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newScene(t)
		s.claim()
		waits := s.act(question(), made{})
		s.do(func(tx *commit.Tx) error {
			tx.Turn.Cancel = &models.Cancel{At: tx.Now, ByKind: models.ActorUser}
			for _, e := range tx.Calls() {
				if e.State != models.EffectRunning {
					continue
				}
				c, err := ReadCall(e)
				if err != nil {
					return err
				}
				c.Settle(tx, tools.Success("done"), 1)
				tx.Turn.PendingCalls--
			}
			return nil
		})
		s.sound()
		if row := s.row(); row.Status != models.TurnRunning || row.RunnerID == nil || row.PendingCalls != 1 || s.count(models.EventActCompleted) != 0 {
			t.Fatalf("the turn is %+v", row)
		}
		err := s.on(waits[0], func(tx *commit.Tx, w models.Wait) error {
			return Resolve(tx, w, models.WaitOK, models.WaitResolution{Value: models.JSON(`"a"`)})
		})
		if err != nil {
			t.Fatal(err)
		}
		s.sound()
		if row := s.row(); row.PendingCalls != 0 || !row.Attention || s.count(models.EventActCompleted) != 1 {
			t.Errorf("the turn is %+v, and its act has ended %d times", row, s.count(models.EventActCompleted))
		}
		s.do(func(tx *commit.Tx) error { return endCancelled(tx, nil) })
		s.sound()
		if row := s.row(); row.Status != models.TurnCancelled || s.count(models.EventActCompleted) != 1 {
			t.Errorf("the turn is %s, and its act has ended %d times", row.Status, s.count(models.EventActCompleted))
		}
	})
}

// TestResolveBeforeAnybodyWaits keeps what is resolved early, and leaves the turn to its runner.
//
// Rules: W2.
func TestResolveBeforeAnybodyWaits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newScene(t)
		s.claim()
		waits := s.act(made{kind: models.WaitCompletion, announced: true})
		err := s.on(waits[0], func(tx *commit.Tx, w models.Wait) error {
			return Resolve(tx, w, models.WaitOK, models.WaitResolution{Value: models.JSON(`"early"`)})
		})
		if err != nil {
			t.Fatal(err)
		}
		s.sound()
		if got := s.wait(waits[0]); got.State != models.WaitOK || string(ReadResolution(got).Value) != `"early"` {
			t.Errorf("kept is %+v", got)
		}
		if row := s.row(); row.Status != models.TurnRunning || row.RunnerID == nil || !row.Attention || s.effect(0).State != models.EffectRunning {
			t.Errorf("the turn is %+v", row)
		}
	})
}

// TestDecide plays decisions about one call. What is approved runs with just the arguments that were approved.
//
// Rules: W10, W11.
func TestDecide(t *testing.T) {
	type decision struct {
		approve   bool
		arguments string
	}
	own, other, third := decision{true, ""}, decision{true, `{"n":7}`}, decision{true, `{"n":8}`}
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name   string
			quorum int
			list   []decision
			// approvals are those that count at the end.
			state     models.WaitState
			approvals int
			arguments string
		}{
			{"one is enough", 1, []decision{own}, models.WaitOK, 1, `{"n":0}`},
			{"one of two", 2, []decision{own}, models.WaitOpen, 1, ""},
			{"two of two", 2, []decision{own, own}, models.WaitOK, 2, `{"n":0}`},
			{"a denial is enough", 3, []decision{{}}, models.WaitError, 0, ""},
			{"a denial after an approval", 2, []decision{own, {}}, models.WaitError, 1, ""},
			{"edited", 1, []decision{other}, models.WaitOK, 1, `{"n":7}`},
			{"an edit begins to count anew", 2, []decision{own, other}, models.WaitOpen, 1, ""},
			{"and the second for it is enough", 2, []decision{own, other, other}, models.WaitOK, 2, `{"n":7}`},
			{"each edit does", 2, []decision{other, third, own}, models.WaitOpen, 1, ""},
			{"those for the same arguments count, whenever they came", 2, []decision{other, third, other}, models.WaitOK, 2, `{"n":7}`},
		} {
			s, waits := w.parked(t, approval(c.quorum))
			before := s.effect(0)
			for _, d := range c.list {
				by := w.member(t)
				err := s.on(waits[0], func(tx *commit.Tx, w models.Wait) error {
					return Decide(tx, w, models.ApprovalDecision{
						ActorID: by, ActorKind: models.ActorUser, Approve: d.approve, Arguments: models.JSON(d.arguments),
					})
				})
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				s.sound()
			}
			if n := s.count(models.EventApprovalDecided); n != len(c.list) {
				t.Errorf("%s: %d decisions were told of", c.name, n)
			}
			wait, e := s.wait(waits[0]), s.effect(0)
			if wait.State != c.state {
				t.Errorf("%s: the approval is %s with %d", c.name, wait.State, wait.Approvals)
			}
			if c.state == models.WaitOpen && wait.Approvals != c.approvals {
				t.Errorf("%s: %d count", c.name, wait.Approvals)
			}
			var decided []models.ApprovalDecision
			if err := s.db.ReadAcross(t.Context()).Where("org_id = ? AND wait_id = ?", s.org, waits[0]).Find(&decided).Error; err != nil {
				t.Fatal(err)
			}
			for _, d := range decided {
				if d.ActorID.IsZero() || d.CreatedAt == 0 {
					t.Errorf("%s: kept of a decision is %+v", c.name, d)
				}
			}
			if len(decided) != len(c.list) {
				t.Errorf("%s: %d decisions are kept", c.name, len(decided))
			}
			if c.state != models.WaitOK {
				if !bytes.Equal(e.InputHash, before.InputHash) {
					t.Errorf("%s: the call has changed", c.name)
				}
				continue
			}
			call, err := ReadCall(e)
			if err != nil {
				t.Fatal(err)
			}
			canonical, err := jsonx.Canonical([]byte(c.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if string(call.Record.Frozen.Arguments) != string(canonical) || !bytes.Equal(e.InputHash, call.Record.Frozen.InputHash()) {
				t.Errorf("%s: it runs with %s, under another hash: %v", c.name, call.Record.Frozen.Arguments,
					!bytes.Equal(e.InputHash, call.Record.Frozen.InputHash()))
			}
		}
	})
}

// TestExpire ends what is past its time, and nothing else.
//
// Rules: W3.
func TestExpire(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		failing := func(m made) made { m.failTurn = true; return m }
		now := w.clock.Now().Sub(time.UnixMilli(1_800_000_000_000))
		for _, c := range []struct {
			name  string
			list  []made
			after time.Duration
			wait  models.WaitState
			turn  models.TurnStatus
		}{
			{"it has no deadline", []made{client()}, time.Hour, models.WaitOpen, models.TurnWaiting},
			{"a moment before it", []made{outside(models.WaitCompletion).until(now + time.Minute)}, time.Minute - time.Millisecond, models.WaitOpen, models.TurnWaiting},
			{"at its deadline", []made{outside(models.WaitCompletion).until(now + time.Minute)}, time.Minute, models.WaitTimeout, models.TurnRunning},
			{"long after it", []made{outside(models.WaitCompletion).until(now + time.Minute)}, time.Hour, models.WaitTimeout, models.TurnRunning},
			{"an approval", []made{approval(1).until(now + time.Minute)}, time.Minute, models.WaitTimeout, models.TurnRunning},
			{"a payment", []made{payment()}, 24 * time.Hour, models.WaitTimeout, models.TurnRunning},
			{"a moment before a payment is too late", []made{payment()}, 24*time.Hour - time.Millisecond, models.WaitOpen, models.TurnWaiting},
			{"others are waited for", []made{approval(1).until(now + time.Minute), client()}, time.Minute, models.WaitTimeout, models.TurnWaiting},
			{"the turn is to fail", []made{failing(approval(1).until(now + time.Minute))}, time.Minute, models.WaitTimeout, models.TurnFailed},
			{"the turn is to fail with all that it waits for", []made{failing(outside(models.WaitCompletion).until(now + time.Minute)), client(), question()},
				time.Minute, models.WaitTimeout, models.TurnFailed},
		} {
			s, waits := w.parked(t, c.list...)
			// Scenes have a clock in common, which only goes on.
			moved := models.MillisOf(w.clock.Now()) + models.Millis(c.after.Milliseconds())
			at := func(tx *commit.Tx, w models.Wait) error {
				tx.Now = moved
				return Expire(tx, w)
			}
			if err := s.on(waits[0], at); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			s.sound()
			row := s.row()
			if got := s.wait(waits[0]).State; got != c.wait || row.Status != c.turn {
				t.Errorf("%s: the wait is %s, the turn %s", c.name, got, row.Status)
			}
			if c.turn == models.TurnFailed {
				if row.Error == nil || row.Error.Code != "wait_timeout" || s.count(models.EventActCompleted) != 1 {
					t.Errorf("%s: the turn failed with %+v", c.name, row.Error)
				}
				for _, id := range waits[1:] {
					if got := s.wait(id).State; got != models.WaitCancelled {
						t.Errorf("%s: another wait is %s", c.name, got)
					}
				}
			}
			before := len(s.log())
			if err := s.on(waits[0], at); err != nil || len(s.log()) != before {
				t.Errorf("%s: the second time: %v", c.name, err)
			}
		}
	})
}

// TestInterrupt tells what a message wakes: a turn that waits for its client and for answers, and no other.
//
// Rules: D3, D4.
func TestInterrupt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name string
			list []made
			woke bool
		}{
			{"a client's result", []made{client()}, true},
			{"an answer", []made{question()}, true},
			{"both", []made{client(), question(), client()}, true},
			{"an approval", []made{approval(1)}, false},
			{"a completion from outside", []made{outside(models.WaitCompletion)}, false},
			{"a name", []made{outside(models.WaitCustom)}, false},
			{"an approval, and a client's result", []made{client(), approval(1)}, false},
			{"a completion, and an answer", []made{question(), outside(models.WaitCompletion)}, false},
		} {
			s, waits := w.parked(t, c.list...)
			woke, err := s.steer()
			if err != nil || woke != c.woke {
				t.Errorf("%s: it woke the turn: %v, %v", c.name, woke, err)
			}
			s.sound()
			row := s.row()
			if (row.Status == models.TurnRunning) != c.woke || len(rows[models.Turn](s, "")) != 1 {
				t.Errorf("%s: the turn is %s", c.name, row.Status)
			}
			for i, id := range waits {
				done := s.result(i)
				if got := s.wait(id).State; (got == models.WaitCancelled) != c.woke || (done != nil) != c.woke {
					t.Errorf("%s: a wait is %s", c.name, got)
				}
				if c.woke && (done.Success || !strings.HasPrefix(done.Error, "interrupted: ")) {
					t.Errorf("%s: a call brought %+v", c.name, done)
				}
			}
			// Whatever it waits for, the message waits for the turn.
			if s.read().InputSequence <= row.ConsumedThrough {
				t.Errorf("%s: the inbox is empty", c.name)
			}
		}
	})
}

// TestInterruptOfARunningTurn does nothing: its runner takes the message at the next step.
//
// Rules: D4.
func TestInterruptOfARunningTurn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newScene(t)
		s.claim()
		waits := s.act(question(), made{})
		if woke, err := s.steer(); err != nil || woke {
			t.Errorf("it was woken: %v, %v", woke, err)
		}
		s.sound()
		if got := s.wait(waits[0]).State; got != models.WaitOpen {
			t.Errorf("the question is %s", got)
		}
	})
}

// TestInterruptDespiteAnAnnouncement has a tool ask for a key and then bring its result itself: nobody waits for that key, so it doesn't keep
// a message from waking the turn.
//
// Rules: D3.
func TestInterruptDespiteAnAnnouncement(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newScene(t)
		s.claim()
		s.act(made{kind: models.WaitCompletion, announced: true}, question())
		s.do(func(tx *commit.Tx) error {
			open, err := openCalls(tx)
			if err != nil {
				return err
			}
			tx.Turn.PendingCalls--
			open[0].Settle(tx, tools.Success("by itself"), 1)
			if err := Rest(tx, nil); err != nil {
				return err
			}
			if tx.Turn.Status != models.TurnWaiting {
				return errors.New("the turn doesn't rest")
			}
			return nil
		})
		s.sound()
		if woke, err := s.steer(); err != nil || !woke {
			t.Errorf("it was woken: %v, %v", woke, err)
		}
		s.sound()
	})
}
