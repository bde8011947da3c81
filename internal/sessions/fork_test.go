package sessions

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// wantForkOf checks a fork that has added nothing: its log is that of the original through a sequence, and where it comes from.
func (e *env) wantForkOf(f, of *models.Session, through int64) {
	e.t.Helper()
	if f.ForkedFromID == nil || *f.ForkedFromID != of.ID || f.BaseSequence != through || f.LastSequence != through+1 ||
		f.Status != models.SessionIdle || f.CurrentTurnID != nil || f.QueuedTurns != 0 || f.ParentID != nil ||
		f.RootID == nil || *f.RootID != rootOf(of) {
		e.t.Fatalf("the fork through %d is %+v", through, f)
	}
	log, original := e.log(f.ID), e.log(of.ID)
	wantOwn(e.t, f, log)
	if !slices.Equal(eventIDs(log[:through]), eventIDs(original[:through])) {
		e.t.Fatalf("the history of the fork is\n%s, want that of\n%s", e.kinds(f.ID), e.kinds(of.ID))
	}
	p, err := events.Decode(log[through].Kind, log[through].Data)
	if started, ok := p.(events.SessionStarted); err != nil || !ok || started.ForkedFromID == nil || *started.ForkedFromID != of.ID || started.ThroughSequence != through {
		e.t.Fatalf("the fork begins with %s %s", log[through].Kind, log[through].Data)
	}
	if log[through].FeedPosition == nil {
		e.t.Fatal("the beginning of the fork is not in the feed")
	}
	if err := events.CheckLog(log); err != nil {
		e.t.Fatal(err)
	}
}

// rootOf is the session whose budgets one draws on.
func rootOf(s *models.Session) models.SessionID {
	if s.RootID != nil {
		return *s.RootID
	}
	return s.ID
}

// Rules: K1.
func TestForkAtEachTurn(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create()
		var ids []models.TurnID
		for i := range 3 {
			ids = append(ids, e.wholeTurn(s.ID, fmt.Sprint("m", i), put("/workspace/f", fmt.Sprint("f", i)), put(fmt.Sprintf("/workspace/d%d/g", i), "g")))
		}
		before := e.get(s.ID)
		for i, id := range ids {
			turn, err := e.svc.Turn(t.Context(), e.by.OrgID, id)
			if err != nil {
				t.Fatal(err)
			}
			f := e.fork(s.ID, id)
			e.wantForkOf(f, s, *turn.EndedSequence)
			var want []string
			for n := range i + 1 {
				want = append(want, fmt.Sprint("Um", n), "Aok")
			}
			for _, page := range []int{1, 2, 100} {
				for _, back := range []bool{false, true} {
					if got := texts(e.messages(f, back, page)); !slices.Equal(got, want) {
						t.Errorf("messages are %v, want %v", got, want)
					}
					if got := e.turnIDs(f, back, page); !slices.Equal(got, ids[:i+1]) {
						t.Errorf("turns are %v, want %v", got, ids[:i+1])
					}
				}
			}
			files := e.entries(f.ID)
			if len(files) != 1+2*(i+1) {
				t.Errorf("after turn %d the files are %v", i, files)
			}
			_, content, err := e.svc.File(t.Context(), e.by.OrgID, f.ID, "/workspace/f")
			if err != nil || string(content) != fmt.Sprint("f", i) {
				t.Errorf("after turn %d the file holds %q, %v", i, content, err)
			}
			if n, err := e.svc.CountMessages(t.Context(), e.by.OrgID, f.ID, f.BaseSequence); err != nil || n != len(want) {
				t.Errorf("%d messages are counted, %v", n, err)
			}
			if n, err := e.svc.CountTurns(t.Context(), e.by.OrgID, f.ID, f.BaseSequence); err != nil || n != i+1 {
				t.Errorf("%d turns are counted, %v", n, err)
			}
		}
		whole := e.fork(s.ID)
		e.wantForkOf(whole, s, before.LastSequence)
		wantEntries(t, e.entries(whole.ID), e.entries(s.ID))
		if after := e.get(s.ID); !reflect.DeepEqual(before, after) {
			t.Errorf("forks changed the original: it was %+v, and is %+v", before, after)
		}
		if err := events.CheckLog(e.log(s.ID)); err != nil {
			t.Error(err)
		}
	})
}

func TestForksGoOnIndependently(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create()
		first := e.wholeTurn(s.ID, "one", put("/workspace/a", "1"))
		second := e.wholeTurn(s.ID, "two", put("/workspace/a", "2"))
		f := e.fork(s.ID, first)
		mine := e.wholeTurn(f.ID, "other two", put("/workspace/a", "b"), put("/workspace/n", "n"))
		e.wholeTurn(s.ID, "three")
		again := e.fork(f.ID, mine)
		last := e.wholeTurn(again.ID, "last", edit{path: "/workspace/a"})
		// A turn that lies before the fork of a fork.
		back := e.fork(again.ID, first)
		for _, c := range []struct {
			session  models.SessionID
			messages []string
			turns    []models.TurnID
			a        string
		}{
			{f.ID, []string{"Uone", "Aok", "Uother two", "Aok"}, []models.TurnID{first, mine}, "b"},
			{again.ID, []string{"Uone", "Aok", "Uother two", "Aok", "Ulast", "Aok"}, []models.TurnID{first, mine, last}, ""},
			{back.ID, []string{"Uone", "Aok"}, []models.TurnID{first}, "1"},
			{s.ID, []string{"Uone", "Aok", "Utwo", "Aok", "Uthree", "Aok"}, nil, "2"},
		} {
			row := e.get(c.session)
			for _, page := range []int{1, 2, 3, 100} {
				for _, back := range []bool{false, true} {
					if got := texts(e.messages(row, back, page)); !slices.Equal(got, c.messages) {
						t.Errorf("messages are %v, want %v", got, c.messages)
					}
					if got := e.turnIDs(row, back, page); c.turns != nil && !slices.Equal(got, c.turns) {
						t.Errorf("turns are %v, want %v", got, c.turns)
					}
				}
				log := e.wholeLog(t.Context(), c.session, page)
				wantOwn(t, row, log)
				if err := events.CheckLog(log); err != nil {
					t.Error(err)
				}
			}
			_, content, err := e.svc.File(t.Context(), e.by.OrgID, c.session, "/workspace/a")
			if c.a == "" {
				wantFault(t, err, fault.NotFound, "path")
			} else if err != nil || string(content) != c.a {
				t.Errorf("the file holds %q, %v; want %q", content, err, c.a)
			}
			e.entries(c.session)
		}
		if back.BaseSequence >= f.LastSequence {
			t.Errorf("the fork of a fork's fork begins at %d", back.BaseSequence)
		}
		// Turns of others keep their session.
		turn, err := e.svc.Turns(t.Context(), e.by.OrgID, again.ID, again.BaseSequence, true, nil, 1)
		if err != nil || turn[0].SessionID != s.ID {
			t.Errorf("the first turn is %+v, %v", turn, err)
		}
		_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: f.ID, ThroughTurnID: &second})
		wantFault(t, err, fault.Invalid, "input.throughTurnId")
		_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, ThroughTurnID: &mine})
		wantFault(t, err, fault.Invalid, "input.throughTurnId")
	})
}

func TestForkWhileTheOriginalWorks(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create()
		_, err := e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID})
		if err != nil {
			t.Fatalf("a session without a turn can't be forked: %v", err)
		}
		first := e.wholeTurn(s.ID, "one", put("/workspace/a", "1"))
		active := e.say(s.ID, "two")
		queued := e.say(s.ID, "three")
		e.play(s.ID, true, false, e.changes(s.ID, put("/workspace/a", "2"), put("/workspace/d/b", "b")))
		_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID})
		wantFault(t, err, fault.Conflict, "input.sessionId")
		for _, id := range []models.TurnID{active, queued} {
			_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, ThroughTurnID: &id})
			wantFault(t, err, fault.Conflict, "input.throughTurnId")
		}
		f := e.fork(s.ID, first)
		if got := texts(e.messages(f, false, 10)); !slices.Equal(got, []string{"Uone", "Aok"}) {
			t.Errorf("messages are %v", got)
		}
		if err := events.CheckLog(e.log(f.ID)); err != nil {
			t.Error(err)
		}
		if got := e.entries(f.ID); len(got) != 1 {
			t.Errorf("the files are %v", got)
		}
		// One that was cancelled in the line has ended in the middle of another one.
		if _, err := e.svc.CancelTurn(t.Context(), e.by, queued, nil); err != nil {
			t.Fatal(err)
		}
		_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, ThroughTurnID: &queued})
		wantFault(t, err, fault.Invalid, "input.throughTurnId")
		e.say(s.ID, "four")
		e.play(s.ID, false, true, NewChanges())
		// What was queued at the end of the turn is not part of the fork, though it runs in the original.
		f = e.fork(s.ID, active)
		if got := texts(e.messages(f, true, 10)); !slices.Equal(got, []string{"Uone", "Aok", "Utwo", "Aok"}) {
			t.Errorf("messages are %v", got)
		}
		list, err := e.svc.QueuedTurns(t.Context(), e.by.OrgID, f.ID)
		if err != nil || len(list) != 0 || f.QueuedTurns != 0 {
			t.Errorf("%d turns are queued, %v", len(list), err)
		}
		if err := events.CheckLog(e.log(f.ID)); err != nil {
			t.Error(err)
		}
		e.wholeTurn(f.ID, "goes on")
		if err := events.CheckLog(e.log(f.ID)); err != nil {
			t.Error(err)
		}
	})
}

func TestForkTakesOverWhatTheSessionIs(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		a, err := e.catalog.CreateAgent(t.Context(), e.by, catalog.NewAgent{Name: "helper", SystemPrompt: "Help."})
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.svc.Create(t.Context(), e.by, NewSession{
			AgentID: &a.ID, Title: ptr("first"), Tags: []string{"x", "y"}, Locale: ptr("de"), CustomerKey: ptr("c"),
		})
		if err != nil {
			t.Fatal(err)
		}
		e.clock.Advance(time.Minute)
		f := e.fork(s.ID)
		if f.CreatedAt != s.CreatedAt+60_000 || f.UpdatedAt != f.CreatedAt || f.CreatedByKind != models.ActorUser || f.Usage != (models.Usage{}) {
			t.Errorf("the fork is %+v", f)
		}
		if *f.Title != "first" || !slices.Equal(f.Tags, s.Tags) || *f.Locale != "de" || *f.CustomerKey != "c" || *f.AgentID != a.ID || f.HarnessID != s.HarnessID {
			t.Errorf("the fork is %+v", f)
		}
		byTag, err := e.svc.List(t.Context(), e.by.OrgID, Filter{Tag: ptr("y")}, Sorting{}, nil, 10)
		if err != nil || len(byTag) != 2 {
			t.Errorf("%d sessions are found by tag, %v", len(byTag), err)
		}
		titled, err := e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, Title: ptr("second"), IdempotencyKey: ptr("k")})
		if err != nil || *titled.Title != "second" {
			t.Fatalf("the fork is %+v, %v", titled, err)
		}
		again, err := e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, Title: ptr("second"), IdempotencyKey: ptr("k")})
		if err != nil || again.ID != titled.ID {
			t.Errorf("repeated, the fork is %+v, %v", again, err)
		}
		_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, Title: ptr("third"), IdempotencyKey: ptr("k")})
		wantFault(t, err, fault.IdempotencyMismatch, "input.idempotencyKey")
		e.clock.Advance(25 * time.Hour)
		later, err := e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, Title: ptr("third"), IdempotencyKey: ptr("k")})
		if err != nil || later.ID == titled.ID {
			t.Errorf("a day later, the fork is %+v, %v", later, err)
		}

		_, err = e.svc.Fork(t.Context(), e.theirs, NewFork{SessionID: s.ID})
		wantFault(t, err, fault.NotFound, "input.sessionId")
		foreign := e.wholeTurn(s.ID, "m")
		unknown := models.NewID[models.TurnEntity]()
		_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, ThroughTurnID: &unknown})
		wantFault(t, err, fault.NotFound, "input.throughTurnId")
		theirs, err := e.svc.Create(t.Context(), e.theirs, NewSession{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.svc.Fork(t.Context(), e.theirs, NewFork{SessionID: theirs.ID, ThroughTurnID: &foreign})
		wantFault(t, err, fault.NotFound, "input.throughTurnId")
		_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, IdempotencyKey: ptr("")})
		wantFault(t, err, fault.Invalid, "input.idempotencyKey")
		if _, err := e.catalog.ArchiveAgent(t.Context(), e.by, a.ID); err != nil {
			t.Fatal(err)
		}
		_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID})
		wantFault(t, err, fault.Dependency, "input.sessionId")
	})
}

func TestForkTakesOverThePlan(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create()
		first := e.plan(s.ID, "one")
		e.clock.Advance(time.Second)
		second := e.wholeTurn(s.ID, "m")
		e.clock.Advance(time.Second)
		third := e.plan(s.ID, "two")
		for _, c := range []struct {
			through models.TurnID
			want    string
		}{{first, ""}, {second, ""}, {third, "two"}} {
			todos, err := e.svc.Todos(t.Context(), e.by.OrgID, e.fork(s.ID, c.through).ID)
			if err != nil || (c.want == "") != (len(todos) == 0) || (c.want != "" && todos[0].Content != c.want) {
				t.Errorf("the plan is %v, %v; want %q", todos, err, c.want)
			}
		}
		// Later turns that leave the plan alone don't lose it.
		e.clock.Advance(time.Second)
		e.wholeTurn(s.ID, "m")
		if todos, err := e.svc.Todos(t.Context(), e.by.OrgID, e.fork(s.ID, third).ID); err != nil || len(todos) != 1 {
			t.Errorf("the plan is %v, %v", todos, err)
		}
	})
}

// A line of forks may be long, but not endless; the longest one is read like any other.
func TestALineOfForksHasAnEnd(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create()
		first := e.wholeTurn(s.ID, "m")
		want := eventIDs(e.log(s.ID))
		for range events.MaxPieces {
			s = e.fork(s.ID)
			own := e.wholeOwn(s)
			if len(own) != 1 {
				t.Fatalf("a fork holds %d events", len(own))
			}
			want = append(want, own[0].ID)
		}
		_, err := e.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, ThroughTurnID: &first})
		wantFault(t, err, fault.LimitReached, "input.sessionId")
		log := e.wholeLog(t.Context(), s.ID, 100)
		wantOwn(t, s, log)
		if !slices.Equal(eventIDs(log), want) {
			t.Error("the log is not that of the line")
		}
		if got := texts(e.messages(s, true, 100)); !slices.Equal(got, []string{"Um", "Aok"}) {
			t.Errorf("messages are %v", got)
		}
		theirs, err := e.svc.log.Page(t.Context(), e.theirs.OrgID, s.ID, events.PageQuery{Base: s.BaseSequence, Limit: 10})
		if err != nil || len(theirs) != 0 {
			t.Errorf("others read %d events, %v", len(theirs), err)
		}
	})
}

// wholeOwn returns what a session itself holds of its log.
func (e *env) wholeOwn(s *models.Session) []models.Event {
	e.t.Helper()
	list, err := e.svc.log.Page(e.t.Context(), e.by.OrgID, s.ID, events.PageQuery{Base: s.BaseSequence, After: &s.BaseSequence, Limit: 500})
	if err != nil {
		e.t.Fatal(err)
	}
	return list
}
