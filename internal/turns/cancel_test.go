package turns

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

func (s *scene) cancel(id models.TurnID) error {
	return s.try(func(tx *commit.Tx) error {
		return Cancel(tx, id, models.Cancel{At: tx.Now, Reason: "enough", ByKind: models.ActorUser})
	})
}

// TestCancel goes through all that a turn can be doing: it ends at once, unless a runner has to end it.
//
// Rules: C2, C5.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name string
			make func(s *scene)
			want models.TurnStatus
			// results are what its calls bring.
			results []string
		}{
			{"nobody has claimed it", func(*scene) {}, models.TurnCancelled, nil},
			{"it waits", func(s *scene) {
				s.claim()
				s.act(client(), approval(1), question(), outside(models.WaitCompletion), outside(models.WaitCustom))
			}, models.TurnCancelled, []string{"cancelled: ", "cancelled: ", "cancelled: ", "cancelled: ", "cancelled: "}},
			{"it waited, and nobody has gone on with it yet", func(s *scene) {
				s.claim()
				waits := s.act(approval(1), client())
				err := s.on(waits[0], func(tx *commit.Tx, w models.Wait) error {
					return Resolve(tx, w, models.WaitOK, models.WaitResolution{})
				})
				if err != nil {
					s.t.Fatal(err)
				}
			}, models.TurnCancelled, []string{"cancelled: ", "cancelled: "}},
			{"its calls run", func(s *scene) {
				s.claim()
				s.act(made{}, client())
			}, models.TurnRunning, nil},
			{"its runner has been lost amid its calls", func(s *scene) {
				s.claim()
				s.act(made{}, client())
				s.do(func(tx *commit.Tx) error {
					tx.Turn.RunnerID, tx.Turn.ReadyAt = nil, tx.Now.Ptr()
					return nil
				})
			}, models.TurnCancelled, []string{"cancelled: ", "cancelled: "}},
		} {
			s := w.newScene(t)
			c.make(s)
			next := s.send()
			if err := s.cancel(s.turn); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			s.sound()
			row := s.row()
			if row.Status != c.want || row.Cancel == nil || row.Cancel.Reason != "enough" {
				t.Errorf("%s: the turn is %+v", c.name, row)
			}
			for i, want := range c.results {
				if done := s.result(i); done == nil || done.Success || !strings.HasPrefix(done.Error, want) {
					t.Errorf("%s: call %d brought %+v", c.name, i, done)
				}
			}
			ended := c.want == models.TurnCancelled
			if head := s.read().CurrentTurnID; (*head == next) != ended {
				t.Errorf("%s: the next turn is at the head: %v", c.name, *head == next)
			}
			if !ended && !row.Attention {
				t.Errorf("%s: its runner is not told", c.name)
			}
			if open := rows[models.Wait](s, "turn_id = ? AND state = ?", s.turn, models.WaitOpen); ended && len(open) != 0 {
				t.Errorf("%s: %d waits are left open", c.name, len(open))
			}
			// The first request stays; when it has ended there is nothing to cancel.
			before := len(s.log())
			if err := s.cancel(s.turn); errors.Is(err, ErrEnded) != ended || len(s.log()) != before {
				t.Errorf("%s: the second time: %v", c.name, err)
			}
		}
	})
}

// TestCancelOfTheQueue takes turns out of the line that have not begun, and knows no others.
//
// Rules: D8, C2.
func TestCancelOfTheQueue(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newScene(t)
		s.claim()
		a, b := s.send(), s.send()
		if err := s.cancel(a); err != nil {
			t.Fatal(err)
		}
		s.sound()
		if got := rows[models.Turn](s, "id = ?", a)[0]; got.Status != models.TurnCancelled || s.read().QueuedTurns != 1 {
			t.Errorf("the turn is %s, %d are queued", got.Status, s.read().QueuedTurns)
		}
		for name, id := range map[string]models.TurnID{"again": a, "unknown": models.NewID[models.TurnEntity]()} {
			if err := s.cancel(id); !errors.Is(err, ErrEnded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := rows[models.Turn](s, "id = ?", b)[0].Status; got != models.TurnQueued {
			t.Errorf("the other one is %s", got)
		}
		if got := s.row(); got.Status != models.TurnRunning || got.Cancel != nil {
			t.Errorf("the active one is %+v", got)
		}
	})
}

// TestRest parks a turn when all that is left of it waits or is its client's to do, and only then.
//
// Rules: L7, W6.
func TestRest(t *testing.T) {
	kinds := []made{{}, client(), question(), approval(1), payment(), outside(models.WaitCompletion), {kind: models.WaitCompletion, announced: true}}
	each(t, func(t *testing.T, w *world) {
		for a, first := range kinds {
			for b, second := range kinds {
				if first.announced && second.announced {
					continue
				}
				s := w.newScene(t)
				s.claim()
				s.act(first, second)
				s.sound()
				rests := true
				for _, m := range []made{first, second} {
					rests = rests && m.kind != "" && !m.announced
				}
				row := s.row()
				if (row.Status == models.TurnWaiting) != rests || s.count(models.EventTurnWaiting) != map[bool]int{true: 1}[rests] {
					t.Errorf("with calls %d and %d the turn is %s", a, b, row.Status)
				}
				// The client is asked when nothing else is left to run.
				asks := rests && (first.client || second.client)
				if got := s.count(models.EventToolCallsRequested); got != map[bool]int{true: 1}[asks] {
					t.Errorf("with calls %d and %d the client was asked %d times", a, b, got)
				}
				if rests && row.LeaseEpoch != 2 {
					t.Errorf("who has parked the turn may still write to it, under epoch %d", row.LeaseEpoch)
				}
			}
		}
	})
}

// TestWhateverHappensToAParkedTurn has anybody do anything to turns that wait, in any order: rows and log agree after each of it, whoever
// comes late is told, and in the end nothing is left open.
//
// Rules: L1, W1.
func TestWhateverHappensToAParkedTurn(t *testing.T) {
	kinds := []made{
		client(), question(), approval(1), approval(2), payment(), outside(models.WaitCompletion), outside(models.WaitCustom),
		{kind: models.WaitApproval, client: true, approval: Approval{Quorum: 1}}, {kind: models.WaitApproval, question: true, approval: Approval{Quorum: 1}},
		outside(models.WaitCompletion).until(time.Minute), {kind: models.WaitCompletion, failTurn: true, deadline: models.Millis(1_800_000_060_000).Ptr()},
	}
	each(t, func(t *testing.T, w *world) {
		rapid.Check(t, func(r *rapid.T) {
			s := w.newScene(r)
			s.claim()
			s.act(rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 4).Draw(r, "calls")...)
			if rapid.Bool().Draw(r, "queued") {
				s.send()
			}
			for range rapid.IntRange(1, 8).Draw(r, "events") {
				s.happens(r)
				s.sound()
			}
			_ = s.cancel(s.turn)
			s.sound()
			// Who holds the turn would have to end it; here nobody does.
			if row := s.row(); row.FinishedAt == nil {
				r.Fatalf("in the end the turn is %+v", row)
			}
			if open := rows[models.Wait](s, "state = ?", models.WaitOpen); len(open) != 0 {
				r.Fatalf("in the end %d waits are open", len(open))
			}
		})
	})
}

// happens does one thing to the session.
func (s *scene) happens(r *rapid.T) {
	s.t.Helper()
	waits := rows[models.Wait](s, "")
	slices.SortFunc(waits, func(a, b models.Wait) int { return strings.Compare(a.Identity, b.Identity) })
	w := waits[rapid.IntRange(0, len(waits)-1).Draw(r, "wait")]
	var err, late error
	switch what := rapid.SampledFrom([]string{"resolve", "decide", "expire", "steer", "run", "cancel"}).Draw(r, "event"); what {
	case "resolve":
		state := rapid.SampledFrom([]models.WaitState{models.WaitOK, models.WaitError, models.WaitTimeout, models.WaitCancelled}).Draw(r, "state")
		late = ErrResolved
		err = s.on(w.ID, func(tx *commit.Tx, w models.Wait) error { return Resolve(tx, w, state, models.WaitResolution{}) })
	case "decide":
		if w.Kind != models.WaitApproval {
			return
		}
		d := models.ApprovalDecision{
			ActorID: models.NewID[models.ActorEntity](), ActorKind: models.ActorUser, Approve: rapid.Bool().Draw(r, "approve"),
			Arguments: models.JSON(rapid.SampledFrom([]string{"", `{"n":9}`}).Draw(r, "arguments")),
		}
		late = ErrResolved
		err = s.on(w.ID, func(tx *commit.Tx, w models.Wait) error { return Decide(tx, w, d) })
	case "expire":
		after := rapid.SampledFrom([]models.Millis{0, 60_000}).Draw(r, "after")
		err = s.on(w.ID, func(tx *commit.Tx, w models.Wait) error {
			tx.Now += after
			return Expire(tx, w)
		})
	case "steer":
		if s.row().FinishedAt != nil {
			return
		}
		_, err = s.steer()
	case "run":
		err = s.try(s.run)
	case "cancel":
		late = ErrEnded
		err = s.cancel(s.turn)
	}
	open := w.State == models.WaitOpen
	if errors.Is(late, ErrEnded) {
		open = !slices.ContainsFunc(rows[models.Turn](s, "id = ?", s.turn), func(t models.Turn) bool { return t.FinishedAt != nil }) || err == nil
	}
	if err != nil && (open || !errors.Is(err, late)) {
		s.t.Fatalf("%s: %v", w.Kind, err)
	}
	if err == nil && errors.Is(late, ErrResolved) && !open {
		s.t.Fatalf("a wait that was %s has been resolved again", w.State)
	}
}

// run has the calls that may run bring a result, as a runner would, and the turn rest again when others still wait.
func (s *scene) run(tx *commit.Tx) error {
	t := tx.Turn
	if t == nil || t.ID != s.turn || t.Status != models.TurnRunning || t.PendingCalls == 0 {
		return nil
	}
	open, err := openCalls(tx)
	if err != nil {
		return err
	}
	for _, c := range open {
		if c.Effect.State == models.EffectWaiting {
			continue
		}
		t.PendingCalls--
		c.Settle(tx, tools.Success("done"), 1)
	}
	if t.PendingCalls == 0 {
		tx.Emit(&t.ID, events.ActCompleted{Iteration: t.Iteration})
		return nil
	}
	if err := Rest(tx, nil); err != nil {
		return err
	}
	if t.Status != models.TurnWaiting {
		return fmt.Errorf("the turn doesn't rest: %d of %d wait", t.WaitingCalls, t.PendingCalls)
	}
	return nil
}
