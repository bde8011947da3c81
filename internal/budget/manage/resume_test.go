package manage_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

func TestCheck(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		agent, key := w.agent(w.by, models.LifecycleActive), "acme"
		root := w.session(w.by, func(s *models.Session) { s.AgentID, s.CustomerKey = &agent, &key })
		child := w.session(w.by, func(s *models.Session) {
			s.ParentID, s.RootID, s.CustomerKey, s.OwnerID = &root, &root, new("other"), nil
		})
		bare := w.session(w.by, func(s *models.Session) { s.OwnerID = nil })
		report, err := w.Check(t.Context(), w.by.OrgID, root)
		if err != nil || report.Status != budget.CheckNoBudgets || len(report.Lines) != 0 || report.Hint == "" {
			t.Errorf("without budgets: %+v, %v", report, err)
		}
		in := func(kind models.BudgetSubject, id string) models.BudgetID {
			return w.create(w.by, manage.NewBudget{Subject: kind, SubjectID: id, Currency: "tokens", Limit: d("100")}).ID
		}
		ofOrg, ofUser, ofAgent := in(models.SubjectOrg, w.by.OrgID.String()), in(models.SubjectUser, w.by.UserID.String()), in(models.SubjectAgent, agent.String())
		ofSession, ofCustomer, ofOther := in(models.SubjectSession, root.String()), in(models.SubjectCustomer, key), in(models.SubjectCustomer, "other")
		in(models.SubjectSession, w.session(w.by).String())
		in(models.SubjectAgent, w.agent(w.by, models.LifecycleActive).String())
		gone := in(models.SubjectOrg, w.by.OrgID.String())
		if _, err := w.Disable(t.Context(), w.by, gone); err != nil {
			t.Fatal(err)
		}
		for session, want := range map[models.SessionID][]models.BudgetID{
			root:  {ofOrg, ofUser, ofAgent, ofSession, ofCustomer},
			child: {ofOrg, ofSession, ofOther},
			bare:  {ofOrg},
		} {
			report, err := w.Check(t.Context(), w.by.OrgID, session)
			if err != nil {
				t.Fatal(err)
			}
			var got []models.BudgetID
			for _, l := range report.Lines {
				got = append(got, l.Budget.ID)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || report.Status != budget.CheckActive {
				t.Errorf("%s: got %v, want %v", session, got, want)
			}
			// They are those that the engine locks.
			w.submit(&on{org: w.by.OrgID, session: session, apply: func(tx *commit.Tx) error {
				list, known := tx.Budgets()
				if !known {
					return commit.ErrMore
				}
				if len(list) != len(want) {
					t.Errorf("%s: the engine locks %d, want %d", session, len(list), len(want))
				}
				return nil
			}})
		}
		w.spend(w.by, bare, 80)
		if report, err := w.Check(t.Context(), w.by.OrgID, root); err != nil || report.Status != budget.CheckWarning || report.Lines[0].PercentRemaining != 20 {
			t.Errorf("got %+v, %v", report, err)
		}
	})
}

// parked makes a session whose turn waits for a budget, and returns the wait.
func (w *world) parked(session models.SessionID, b models.BudgetID, paused bool) models.WaitID {
	w.t.Helper()
	wait := models.NewID[models.WaitEntity]()
	w.submit(&on{org: w.by.OrgID, session: session, waits: true, apply: func(tx *commit.Tx) error {
		request, err := json.Marshal(models.WaitRequest{Parked: true, Budget: &models.BudgetWait{Budget: b, Paused: paused, Need: 1}})
		if err != nil {
			return err
		}
		tx.Turn.Status, tx.Turn.ReadyAt = models.TurnRunning, nil
		tx.Emit(&tx.Turn.ID, events.TurnStarted{InputMessageID: tx.Turn.InputMessageID})
		tx.AddWait(models.Wait{ID: wait, Kind: models.WaitBudget, Identity: "budget", Request: request})
		tx.Park(nil)
		return nil
	}})
	return wait
}

// told counts the events of a kind in a session.
func (w *world) told(session models.SessionID, kind models.EventKind) (n int64) {
	w.t.Helper()
	q := store.Of(w.db.Read(w.t.Context(), w.by.OrgID).Model(&models.Event{}), w.by.OrgID)
	if err := q.Where("session_id = ? AND kind = ?", session, kind).Count(&n).Error; err != nil {
		w.t.Fatal(err)
	}
	return n
}

// message begins a turn in a session.
func (w *world) message(session models.SessionID) {
	w.t.Helper()
	w.submit(&on{org: w.by.OrgID, session: session, waits: true, apply: func(tx *commit.Tx) error {
		kind, actor := w.by.Actor()
		turn := models.NewID[models.TurnEntity]()
		m := models.Message{
			OrgID: w.by.OrgID, ID: models.NewID[models.MessageEntity](), SessionID: session, TurnID: turn, Role: models.MessageUser,
			Content: []models.Part{{Type: models.PartText, Text: "hi"}}, CreatedAt: tx.Now, AuthorKind: &kind, AuthorID: &actor,
		}
		m.Sequence = tx.Emit(&turn, events.MessageReceived{Message: events.Message{ID: m.ID, Role: m.Role, Content: m.Content, CreatedAt: m.CreatedAt}})
		tx.AddMessage(m)
		t := models.Turn{
			OrgID: w.by.OrgID, ID: turn, SessionID: session, InputMessageID: m.ID, QueuedAt: tx.Now, Status: models.TurnQueued,
			StartedByKind: kind, StartedByID: &actor,
		}
		tx.AddTurn(t)
		return nil
	}})
}

func (w *world) state(session models.SessionID, wait models.WaitID) (s models.Session, t models.Turn, state models.Wait) {
	w.t.Helper()
	db := w.db.Read(w.t.Context(), w.by.OrgID)
	if err := store.Of(db, w.by.OrgID).Where("id = ?", session).Take(&s).Error; err != nil {
		w.t.Fatal(err)
	}
	if err := store.Of(db, w.by.OrgID).Where("session_id = ?", session).Take(&t).Error; err != nil {
		w.t.Fatal(err)
	}
	if err := store.Of(db, w.by.OrgID).Where("id = ?", wait).Take(&state).Error; err != nil {
		w.t.Fatal(err)
	}
	return s, t, state
}

func TestResumeSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := ofOrg(w.by, "100")
		in.SoftLimit = dp("50")
		b, session := w.create(w.by, in), w.session(w.by)
		// Nothing holds it up, so nothing is recorded.
		if err := w.ResumeSession(background(t), w.by, session); err != nil {
			t.Fatal(err)
		}
		w.spend(w.by, session, 51)
		w.message(session)
		wait := w.parked(session, b.ID, true)
		if s, turn, have := w.state(session, wait); s.ResumedAt != nil || turn.Status != models.TurnWaiting || have.State != models.WaitOpen {
			t.Fatalf("got %+v, %+v, %+v", s, turn, have)
		}
		w.woken.take()
		w.clock.Advance(time.Second)
		for i := range 3 { // what is done once is not done again
			if err := w.ResumeSession(background(t), w.by, session); err != nil {
				t.Fatal(err)
			}
			s, turn, have := w.state(session, wait)
			if s.ResumedAt == nil || *s.ResumedAt != models.MillisOf(start.Add(time.Second)) || turn.Status != models.TurnRunning || turn.ReadyAt == nil ||
				have.State != models.WaitOK || !strings.Contains(string(have.Resolution), w.by.UserID.String()) {
				t.Errorf("%d: got %+v, %+v, %+v", i, s, turn, have)
			}
			w.clock.Advance(time.Second)
		}
		if n := w.told(session, models.EventBudgetResumed); n != 1 {
			t.Errorf("that the turn goes on is told %d times", n)
		}
		actions, last := w.recorded(w.by)
		if actions != "budget.created session.resumed" || fmt.Sprint(last["budgets"]) != "["+b.ID.String()+"]" {
			t.Errorf("recorded %s, %v", actions, last)
		}
		if woken := w.woken.take(); len(woken) != 1 || woken[0] != b.ID {
			t.Errorf("woke %v", woken)
		}
		// The limit that is passed anew holds it up again.
		w.topUp(w.by, b.ID, "20")
		w.spend(w.by, session, 25)
		w.clock.Advance(time.Second)
		if err := w.ResumeSession(background(t), w.by, session); err != nil {
			t.Fatal(err)
		}
		if s, _, _ := w.state(session, wait); *s.ResumedAt != models.MillisOf(start.Add(5*time.Second)) {
			t.Errorf("resumed at %v", s.ResumedAt.Time())
		}
		if actions, _ := w.recorded(w.by); actions != "budget.created session.resumed budget.topped_up session.resumed" {
			t.Errorf("recorded %s", actions)
		}
	})
}

// A turn that waits for what others hold is not paused, so that nothing is to be let go on.
func TestResumeLeavesOtherWaits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b, session := w.create(w.by, ofOrg(w.by, "100")), w.session(w.by)
		w.message(session)
		wait := w.parked(session, b.ID, false)
		if err := w.ResumeSession(t.Context(), w.by, session); err != nil {
			t.Fatal(err)
		}
		if s, turn, have := w.state(session, wait); s.ResumedAt != nil || turn.Status != models.TurnWaiting || have.State != models.WaitOpen {
			t.Errorf("got %+v, %+v, %+v", s, turn, have)
		}
	})
}

// A soft limit that was passed by the clock of a node that is ahead doesn't hold a session up that was resumed since.
func TestResumeGoesBehindAClockThatIsAhead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := ofOrg(w.by, "100")
		in.SoftLimit = dp("50")
		b, session := w.create(w.by, in), w.session(w.by)
		w.clock.Advance(time.Minute)
		w.spend(w.by, session, 60)
		w.clock.Advance(-time.Minute)
		for range 2 {
			if err := w.ResumeSession(t.Context(), w.by, session); err != nil {
				t.Fatal(err)
			}
		}
		w.submit(&on{org: w.by.OrgID, session: session, apply: func(tx *commit.Tx) error {
			list, _ := tx.Budgets()
			if len(list) == 0 {
				return commit.ErrMore
			}
			if v := budget.Reserve(list, budget.Call{InputTokens: 1, MaxTokens: 1}, budget.Asker{Resumed: tx.Session.ResumedAt}, false); v.Kind != budget.Go {
				t.Errorf("got %+v of %s", v, b.ID)
			}
			return nil
		}})
		if actions, _ := w.recorded(w.by); actions != "budget.created session.resumed" {
			t.Errorf("recorded %s", actions)
		}
	})
}
