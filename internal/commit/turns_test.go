package commit

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// each runs a test of the contract on both databases.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		t.Parallel()
		test(t, newWorld(t, db))
	})
}

// Rules: D2, Q1.
func TestAMessageToARestingSessionStartsATurn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		m := newMessage()
		w.do(w.send(s, m))
		turn, session := w.readTurn(m.turn), w.readSession(s)
		if turn.Status != models.TurnQueued || turn.ReadyAt == nil || turn.LeaseEpoch != 0 || turn.QueuePosition != 2*positionStep || turn.InputSequence != 2 {
			t.Errorf("the turn is %+v", turn)
		}
		if *session.CurrentTurnID != m.turn || session.QueuedTurns != 0 || session.InputSequence != 2 {
			t.Errorf("the session is %+v", session)
		}
		if w.ready != 1 {
			t.Errorf("runners heard of %d turns", w.ready)
		}
	})
}

func TestATurnThatIsClaimedAtOnceIsNotAnnounced(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, l := w.working()
		turn := w.readTurn(models.TurnID(l.ID))
		if turn.Status != models.TurnRunning || turn.ReadyAt != nil || turn.LeaseEpoch != 1 || turn.RunnerID == nil {
			t.Errorf("the turn is %+v", turn)
		}
		if w.ready != 0 {
			t.Errorf("runners heard of %d turns", w.ready)
		}
	})
}

// Rules: S1.
func TestQueuedTurnsRunInTheirOrder(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		a, b := newMessage(), newMessage()
		a.queue, b.queue = true, true
		must(t, batch(w.c, w.send(s, a), w.send(s, b), w.step(s, l), w.end(s, l)))
		session := w.readSession(s)
		if *session.CurrentTurnID != a.turn || session.QueuedTurns != 1 {
			t.Fatalf("the session is %+v", session)
		}
		// A user's cancel ends the turn that nobody has claimed.
		must(t, batch(w.c, w.step(s, nil), w.cancel(s)))
		if session = w.readSession(s); *session.CurrentTurnID != b.turn || session.QueuedTurns != 0 {
			t.Fatalf("the session is %+v", session)
		}
		must(t, batch(w.c, w.step(s, nil), w.cancel(s)))
		if session = w.readSession(s); session.CurrentTurnID != nil || session.Status != models.SessionIdle {
			t.Fatalf("the session is %+v", session)
		}
		if kinds := w.kinds(s); kinds[len(kinds)-1] != models.EventSessionIdled {
			t.Errorf("the events are %v", kinds)
		}
	})
}

func TestTwoTurnsOfASessionEndInTwoTransactions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		var queued []*message
		for range 3 {
			m := newMessage()
			m.queue = true
			w.do(w.send(s, m))
			queued = append(queued, m)
		}
		late := newMessage()
		late.queue = true
		must(t, batch(w.c, w.step(s, l), w.end(s, l), w.step(s, nil), w.cancel(s), w.step(s, nil), w.cancel(s), w.send(s, late)))
		session := w.readSession(s)
		if *session.CurrentTurnID != queued[2].turn || session.QueuedTurns != 1 {
			t.Fatalf("the session is %+v", session)
		}
		for i, want := range []models.TurnStatus{models.TurnSealed, models.TurnSealed, models.TurnQueued} {
			if got := w.readTurn(queued[i].turn).Status; got != want {
				t.Errorf("turn %d is %s, want %s", i, got, want)
			}
		}
	})
}

// Law 6: whatever the order in which a message and the end of the turn come, the message is in a turn that is yet to run.
//
// Rules: L6.
func TestNoMessageIsStranded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, tc := range []struct {
			name  string
			order func(steer, queue, end Command) []Command
			// heir reports whether the steered message has a turn made for it, or is that of the message itself.
			heir bool
		}{
			{"steer, end", func(s, _, e Command) []Command { return []Command{s, e} }, true},
			{"end, steer", func(s, _, e Command) []Command { return []Command{e, s} }, false},
			{"steer, queue, end", func(s, q, e Command) []Command { return []Command{s, q, e} }, true},
			{"queue, steer, end", func(s, q, e Command) []Command { return []Command{q, s, e} }, true},
		} {
			s, l := w.working()
			w.do(w.step(s, l))
			steer, queue := newMessage(), newMessage()
			queue.queue = true
			cmds := tc.order(w.send(s, steer), w.send(s, queue), w.end(s, l))
			must(t, batch(w.c, cmds...))
			session := w.readSession(s)
			if session.CurrentTurnID == nil || *session.CurrentTurnID == models.TurnID(l.ID) {
				t.Fatalf("%s: the session is %+v", tc.name, session)
			}
			head := w.readTurn(*session.CurrentTurnID)
			if head.InputMessageID != steer.id || head.ReadyAt == nil || head.Status != models.TurnQueued {
				t.Errorf("%s: the next turn is %+v", tc.name, head)
			}
			if (head.ID != steer.turn) != tc.heir {
				t.Errorf("%s: the next turn is %s, the message came with %s", tc.name, head.ID, steer.turn)
			}
			for _, m := range rows[models.Message](w, s, "sequence") {
				if m.ID == steer.id && (m.TurnID != head.ID || m.Position != nil) {
					t.Errorf("%s: the message is %+v", tc.name, m)
				}
			}
			if want := len(cmds) - 2; session.QueuedTurns != want {
				t.Errorf("%s: %d turns are queued, want %d", tc.name, session.QueuedTurns, want)
			}
		}
	})
}

// Rules: L6.
func TestAllStrandedMessagesMoveTogetherAndAreConsumedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		w.do(w.step(s, l))
		first, second := newMessage(), newMessage()
		must(t, batch(w.c, w.send(s, first)))
		must(t, batch(w.c, w.send(s, second), w.end(s, l)))
		heir := w.readTurn(*w.readSession(s).CurrentTurnID)
		if heir.InputMessageID != first.id {
			t.Fatalf("the turn begins with %s, want %s", heir.InputMessageID, first.id)
		}
		must(t, batch(w.c, w.step(s, nil), w.step(s, nil)))
		var positions []int64
		for _, m := range rows[models.Message](w, s, "sequence") {
			if m.Position == nil {
				t.Fatalf("message %s waits still", m.ID)
			}
			positions = append(positions, *m.Position)
		}
		// 1 created, 2 message, 3 reason, 4 and 5 messages, 6 end, 7 reason
		if !slices.Equal(positions, []int64{3, 7, 7}) {
			t.Errorf("the positions are %v", positions)
		}
	})
}

// Rules: D1.
func TestMessagesThatComeBetweenTwoStepsOfABatchHaveTheirOwnPositions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		a, b := newMessage(), newMessage()
		must(t, batch(w.c, w.step(s, l), w.send(s, a), w.step(s, l), w.send(s, b), w.step(s, l)))
		var positions []int64
		for _, m := range rows[models.Message](w, s, "sequence") {
			positions = append(positions, *m.Position)
		}
		if !slices.Equal(positions, []int64{3, 5, 7}) {
			t.Errorf("the positions are %v", positions)
		}
	})
}

// Rules: L2.
func TestAWrongEpochIsRefusedAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		old, other, kind := *l, *l, *l
		old.Epoch--
		other.ID = models.NewID[models.ExecutionEntity]()
		kind.Kind = "chore"
		m := newMessage()
		errs := batch(w.c, w.step(s, &old), w.step(s, l), w.end(s, &other), w.send(s, m), w.step(s, &kind), w.end(s, l), w.step(s, l))
		for i, want := range []error{ErrLeaseLost, nil, ErrLeaseLost, nil, ErrLeaseLost, nil, ErrLeaseLost} {
			if !errors.Is(errs[i], want) {
				t.Errorf("command %d: %v, want %v", i, errs[i], want)
			}
		}
		w.kinds(s)
	})
}

// A turn that was taken over, or given back, is out of the reach of its former runner, even while nobody has claimed it.
//
// Rules: L2.
func TestATakenTurnIsOutOfReach(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		w.taken(models.TurnID(l.ID))
		if err := w.c.Submit(context.Background(), w.step(s, l)); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("under the old epoch: %v", err)
		}
	})
}

// Rules: L6.
func TestAnEndThatWasNotAnnouncedIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, queue := range []bool{true, false} {
			s, l := w.working()
			m := newMessage()
			m.queue = queue
			must(t, batch(w.c, w.step(s, l)))
			must(t, batch(w.c, w.send(s, m)))
			c := w.end(s, l)
			c.needs.Ends = false
			if err := w.c.Submit(context.Background(), c); !errors.Is(err, ErrMore) {
				t.Errorf("got %v", err)
			}
			if turn := w.readTurn(models.TurnID(l.ID)); turn.Status != models.TurnRunning {
				t.Errorf("the turn is %s", turn.Status)
			}
		}
	})
}

// A change of the turn or the session is written, with or without an event.
func TestChangesWithoutAnEventAreWritten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		w.do(w.command(s, func(tx *Tx) error { tx.Turn.Iteration = 7; return nil }).under(l))
		w.do(w.command(s, func(tx *Tx) error { tx.Session.Usage.InputTokens = 3; return nil }))
		w.do(w.command(s, func(tx *Tx) error {
			tx.PutFile(models.SessionFile{Path: "/workspace", Directory: true}, nil)
			return nil
		}).file(FileNeed{Path: "/workspace"}))
		if got := w.readTurn(models.TurnID(l.ID)).Iteration; got != 7 {
			t.Errorf("the iteration is %d", got)
		}
		if got := w.readSession(s).Usage.InputTokens; got != 3 {
			t.Errorf("the tokens are %d", got)
		}
		if got := rows[models.SessionFile](w, s, "path"); len(got) != 1 {
			t.Errorf("the files are %v", got)
		}
	})
}

// interrupt puts a message's turn before those that are queued, with what the current turn has not been shown.
func (w *world) interrupt(s models.SessionID, m *message) *cmd {
	c := w.command(s, func(tx *Tx) error {
		turn := models.Turn{ID: m.turn, SessionID: s, InputMessageID: m.id, StartedByKind: models.ActorUser}
		seq := tx.Emit(&m.turn, events.MessageReceived{Message: events.Message{ID: m.id, Role: models.MessageUser}})
		tx.AddMessage(models.Message{ID: m.id, TurnID: m.turn, Role: models.MessageUser, Sequence: seq, Content: []models.Part{}})
		tx.AddTurnFirst(turn)
		return nil
	})
	c.needs.Queue, c.needs.Ends = true, true
	return c
}

// unqueue cancels a turn that is queued.
func (w *world) unqueue(s models.SessionID, turn models.TurnID) *cmd {
	c := w.command(s, func(tx *Tx) error {
		found, err := tx.Unqueue(turn, events.TurnCancelled{StopReason: models.StopCancelled})
		if err == nil && !found {
			return errRefused
		}
		return err
	})
	c.needs.Queue = true
	return c
}

// Two messages interrupt a turn in one batch, and others steer it before, between and after: each goes where its sequence says.
//
// Rules: L6, D5.
func TestTwoInterruptionsInABatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, l := w.working()
		w.do(w.step(s, l))
		before, between, after, a, b := newMessage(), newMessage(), newMessage(), newMessage(), newMessage()
		w.do(w.send(s, before))
		must(t, batch(w.c, w.interrupt(s, a), w.send(s, between), w.interrupt(s, b), w.send(s, after)))
		want := map[models.MessageID]models.TurnID{before.id: a.turn, between.id: b.turn, after.id: models.TurnID(l.ID), a.id: a.turn, b.id: b.turn}
		for _, m := range rows[models.Message](w, s, "sequence") {
			turn, ours := want[m.ID]
			if ours && (m.TurnID != turn || m.Position != nil) {
				t.Errorf("the message at %d is of turn %s, want %s", m.Sequence, m.TurnID, turn)
			}
			if in := w.readTurn(m.TurnID); ours && m.TurnID != models.TurnID(l.ID) && m.Sequence > in.InputSequence {
				t.Errorf("the message at %d is never consumed: its turn looks up to %d", m.Sequence, in.InputSequence)
			}
		}
		must(t, batch(w.c, w.end(s, l)))
		for _, m := range rows[models.Message](w, s, "sequence") {
			if m.ID == after.id && m.TurnID == models.TurnID(l.ID) {
				t.Error("what came last is stranded in the turn that has ended")
			}
		}
	})
}

// A turn that has taken over what steered another one is taken back while a third one runs, which has been shown newer messages: it is shown
// the old ones all the same, and once.
//
// Rules: L6, D5, D8.
func TestWhatComesBackIsOlderThanWhatWasShown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, takeBack := range map[string]func(s models.SessionID, l *Lease, b *message){
			"between two steps": func(s models.SessionID, l *Lease, b *message) {
				w.do(w.step(s, l))
				w.do(w.unqueue(s, b.turn))
			},
			"with the step that shows them": func(s models.SessionID, l *Lease, b *message) {
				must(t, batch(w.c, w.unqueue(s, b.turn), w.step(s, l)))
			},
			"with the step before": func(s models.SessionID, l *Lease, b *message) {
				must(t, batch(w.c, w.step(s, l), w.unqueue(s, b.turn)))
			},
		} {
			s, first := w.working()
			w.do(w.step(s, first))
			before, a, b := newMessage(), newMessage(), newMessage()
			w.do(w.send(s, before))
			w.do(w.interrupt(s, b))
			w.do(w.interrupt(s, a))
			w.do(w.end(s, first))
			second := &Lease{models.ExecutionOf(a.turn), 1}
			w.do(w.command(s, func(tx *Tx) error { tx.ClaimTurn(models.NewID[models.RunnerEntity]()); return nil }))
			takeBack(s, second, b)
			if turn, session := w.readTurn(a.turn), w.readSession(s); turn.ConsumedThrough < session.InputSequence {
				w.do(w.step(s, second))
			}
			for _, m := range rows[models.Message](w, s, "sequence") {
				if m.ID == before.id && (m.TurnID != a.turn || m.Position == nil) {
					t.Errorf("%s: the message is of turn %s, want %s, and was shown: %v", name, m.TurnID, a.turn, m.Position != nil)
				}
			}
			// The turn ends for good: nothing is said to wait that is not there.
			w.do(w.end(s, second))
			if session := w.readSession(s); session.CurrentTurnID != nil || session.QueuedTurns != 0 {
				t.Errorf("%s: turn %v is current, %d are queued", name, session.CurrentTurnID, session.QueuedTurns)
			}
		}
	})
}

// The database itself refuses a second active turn of a session.
//
// Rules: S1.
func TestOneActiveTurn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, _ := w.working()
		m := newMessage()
		m.queue = true
		w.do(w.send(s, m))
		for _, status := range []models.TurnStatus{models.TurnRunning, models.TurnWaiting} {
			err := write(w.db, func(tx *gorm.DB) error {
				return store.Of(tx, w.org).Model(&models.Turn{}).Where("id = ?", m.turn).Update("status", status).Error
			})
			if !store.IsDuplicate(err) {
				t.Errorf("a second turn that is %s: %v", status, err)
			}
		}
	})
}

// Nobody hears of events, or of turns that are ready, before they are committed, nor ever of those that are not.
//
// Rules: L1, Q1, Q4.
func TestNothingIsToldBeforeTheCommit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, point := range []string{"begin", "loaded", "written", "committed"} {
			s := w.session()
			told := func() int {
				w.mu.Lock()
				defer w.mu.Unlock()
				return len(w.published[s]) + w.ready
			}
			before, reached := told(), false
			w.faults.set(func(at string) error {
				if at == point && !reached {
					reached = true
					if n := told(); n != before {
						t.Errorf("%s: %d were told", point, n-before)
					}
				}
				return nil
			})
			w.do(w.send(s, newMessage()))
			w.faults.set(nil)
			if n := told(); !reached || n < before+2 {
				t.Errorf("%s: it was reached: %v; then %d were told", point, reached, n-before)
			}
		}
	})
}
