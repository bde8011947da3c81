package turns

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/models"
)

// Rules: L4, S2, S4, P18, Q16, F9.
func TestNext(t *testing.T) {
	gone := Failed{Stop: models.StopDependency, Failure: models.Failure{Code: "dependency_unavailable"}}
	failed := End{Status: models.TurnFailed, Stop: models.StopDependency, Failure: &gone.Failure}
	completed := End{Status: models.TurnCompleted, Stop: models.StopEndTurn}
	atCap, before := State{Iteration: 3, MaxIterations: 3}, State{Iteration: 2, MaxIterations: 3}
	answer := Reasoned{Stop: models.StopEndTurn}
	for _, c := range []struct {
		name  string
		state State
		is    Outcome
		facts facts
		want  Plan
	}{
		{"a new turn asks", State{MaxIterations: 3}, Begun{}, facts{}, Reason{Iteration: 1}},
		{"an answer ends it", before, answer, facts{InboxEmpty: true}, completed},
		{"an answer at the cap ends it well", atCap, answer, facts{InboxEmpty: true}, completed},
		{"a message came meanwhile", before, answer, facts{}, Reason{Iteration: 3}},
		{"a message came at the cap", atCap, answer, facts{}, nil},
		{"calls are run", before, Reasoned{Calls: 1}, facts{InboxEmpty: true}, Act{}},
		{"calls go before messages", before, Reasoned{Calls: 1}, facts{}, Act{}},
		{"calls are run at the cap", atCap, Reasoned{Calls: 1}, facts{}, Act{}},
		{"calls that were cut off are not", before, Reasoned{Calls: 1, CutOff: true, Stop: models.StopMaxTokens}, facts{InboxEmpty: true}, End{Status: models.TurnCompleted, Stop: models.StopMaxTokens}},
		{"cut off, with a message", before, Reasoned{Calls: 1, CutOff: true}, facts{}, Reason{Iteration: 3}},
		{"results are shown", before, Acted{}, facts{InboxEmpty: true}, Reason{Iteration: 3}},
		{"results at the cap", atCap, Acted{}, facts{InboxEmpty: true}, nil},
		{"a failure", before, gone, facts{}, failed},
		{"blocked before it acts", before, Reasoned{Calls: 1}, facts{InboxEmpty: true, Blocked: &gone}, failed},
		{"blocked before it asks", before, Acted{}, facts{Blocked: &gone}, failed},
		{"blocked before it begins", State{MaxIterations: 3}, Begun{}, facts{Blocked: &gone}, failed},
		{"blocked when it is done", before, answer, facts{InboxEmpty: true, Blocked: &gone}, completed},
	} {
		got := next(c.state, c.is, c.facts)
		if c.want == nil {
			end, ok := got.(End)
			if !ok || end.Status != models.TurnSealed || end.Stop != models.StopIterationLimit || end.Failure.Code != "iteration_limit" {
				t.Errorf("%s: %+v, want it sealed", c.name, got)
			}
			continue
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	end, ok := next(before, Stuck{Takeovers: 3}, facts{}).(End)
	if !ok || end.Status != models.TurnSealed || end.Stop != models.StopNoProgress || end.Failure.Code != "no_progress" {
		t.Errorf("stuck: %+v, want it sealed", end)
	}
}

// Rules: L4.
func TestNextRefusesWhatItDoesNotKnow(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("nil is taken for an outcome")
		}
	}()
	next(State{}, nil, facts{})
}

// drawn returns an outcome that the plan can have.
func drawn(t *rapid.T, p Plan) Outcome {
	if _, acts := p.(Act); acts {
		return Acted{}
	}
	return rapid.SampledFrom([]Outcome{
		Reasoned{Stop: models.StopEndTurn}, Reasoned{Calls: 1}, Reasoned{Calls: 70}, Reasoned{Calls: 2, CutOff: true, Stop: models.StopMaxTokens},
		Reasoned{Stop: models.StopRefusal, CutOff: true},
	}).Draw(t, "outcome")
}

// TestPlansEnd plays turns with a model and a user who do what they like.
//
// Rules: L4, P1, C5, F9.
func TestPlansEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := State{MaxIterations: rapid.IntRange(1, 6).Draw(t, "cap")}
		var o Outcome = Begun{}
		reasons, acts := 0, 0
		for range 3*s.MaxIterations + 3 {
			f := facts{InboxEmpty: rapid.Bool().Draw(t, "inbox empty"), Cancelled: rapid.IntRange(0, 9).Draw(t, "cancelled") == 0}
			if rapid.IntRange(0, 9).Draw(t, "blocked") == 0 {
				f.Blocked = &Failed{Stop: models.StopDependency, Failure: models.Failure{Code: "dependency_unavailable"}}
			}
			p := next(s, o, f)
			if again := next(s, o, f); !reflect.DeepEqual(p, again) {
				t.Fatalf("the same question has two answers, %+v and %+v", p, again)
			}
			r, reasoned := o.(Reasoned)
			end, ends := p.(End)
			// A cancel that was accepted wins over everything.
			if f.Cancelled != (ends && end.Status == models.TurnCancelled) {
				t.Fatalf("with %+v follows %+v", f, p)
			}
			// What is missing keeps steps from beginning, and no turn from ending well.
			if f.Blocked != nil && !ends {
				t.Fatalf("it goes on with %+v, though %s", p, f.Blocked.Failure.Code)
			}
			if without := next(s, o, facts{InboxEmpty: f.InboxEmpty, Cancelled: f.Cancelled}); ends && end.Status == models.TurnFailed {
				if _, goesOn := without.(End); f.Blocked == nil || goesOn {
					t.Fatalf("it failed with %+v, without what blocks it follows %+v", f, without)
				}
			}
			switch p := p.(type) {
			case Reason:
				reasons++
				if p.Iteration != s.Iteration+1 || p.Iteration > s.MaxIterations {
					t.Fatalf("iteration %d follows %d of %d", p.Iteration, s.Iteration, s.MaxIterations)
				}
				if reasoned && f.InboxEmpty {
					t.Fatal("the model is asked again after its answer, with nothing to tell it")
				}
				s.Iteration = p.Iteration
			case Act:
				acts++
				if !reasoned || r.Calls == 0 || r.CutOff {
					t.Fatalf("it acts after %+v", o)
				}
			case End:
				if p.Status == models.TurnCompleted && (!reasoned || !f.InboxEmpty || p.Failure != nil) {
					t.Fatalf("it is completed after %+v with %+v", o, f)
				}
				if p.Status == models.TurnSealed && (s.Iteration != s.MaxIterations || p.Failure == nil) {
					t.Fatalf("it is sealed in iteration %d of %d", s.Iteration, s.MaxIterations)
				}
				if (p.Failure == nil) != (p.Status == models.TurnCompleted || p.Status == models.TurnCancelled) {
					t.Fatalf("it is %s with the failure %+v", p.Status, p.Failure)
				}
				if reasons > s.MaxIterations || acts > s.MaxIterations {
					t.Fatalf("%d reasons and %d acts with a cap of %d", reasons, acts, s.MaxIterations)
				}
				return
			}
			o = drawn(t, p)
		}
		t.Fatal("it never ends")
	})
}

// TestParkedTurnsEnd plays turns whose acts are interrupted: by a wait, a takeover or a restart. Whatever comes between, the planner is asked
// about the same step, and its answer depends on nothing else; so a turn that is parked at each act ends like one that never is.
//
// Rules: L4, L7, P18.
func TestParkedTurnsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(t, "cap")
		outcomes := rapid.SliceOfN(rapid.SampledFrom([]Outcome{
			Reasoned{Calls: 1}, Reasoned{Calls: 3}, Reasoned{Stop: models.StopEndTurn}, Reasoned{Calls: 1, CutOff: true, Stop: models.StopMaxTokens},
		}), limit, limit).Draw(t, "answers")
		inbox := rapid.SliceOfN(rapid.Bool(), 2*limit+1, 2*limit+1).Draw(t, "inbox empty")
		cancelled := rapid.IntRange(-1, 2*limit).Draw(t, "cancelled while parked")
		play := func(parked bool) (plans []Plan) {
			s := State{MaxIterations: limit}
			var o Outcome = Begun{}
			for i := 0; ; i++ {
				f := facts{InboxEmpty: inbox[i], Cancelled: i == cancelled}
				p := next(s, o, f)
				plans = append(plans, p)
				switch p := p.(type) {
				case End:
					return plans
				case Act:
					if parked {
						// What is known when it goes on comes from its row.
						s = State{Iteration: s.Iteration, MaxIterations: limit}
					}
					o = Acted{}
				case Reason:
					s.Iteration = p.Iteration
					o = outcomes[s.Iteration-1]
				}
			}
		}
		with, without := play(true), play(false)
		if !reflect.DeepEqual(with, without) {
			t.Fatalf("parked it goes %+v, else %+v", with, without)
		}
		if cancelled >= 0 && cancelled < len(with) {
			if end := with[cancelled].(End); cancelled != len(with)-1 || end.Status != models.TurnCancelled {
				t.Fatalf("after a cancel at %d it goes %+v", cancelled, with)
			}
		}
	})
}
