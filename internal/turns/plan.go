package turns

import "github.com/ostler-dev/ostler/internal/models"

// The planner decides what a turn does next. It is pure: no clock, no I/O, no randomness (docs/architecture.md, "What must stay true"). Commands ask
// it inside of their Apply, with facts that hold under the session's lock.

// State is where a turn stands.
type State struct {
	// Iteration is the present one, counted from 1; 0 before the first step.
	Iteration int
	// MaxIterations is the cap: one iteration is one reason and its act.
	MaxIterations int
}

// Outcome is how a step ended. Exactly one of the kinds below.
type Outcome interface{ outcome() }

type (
	// Begun means that the turn was claimed and nothing has happened yet.
	Begun struct{}
	// Reasoned means that the model has answered.
	Reasoned struct {
		// Calls is how many tool calls the answer has.
		Calls int
		// Stop is the stop reason of the turn, were this its last answer.
		Stop models.StopReason
		// CutOff is true when the answer was cut off, so that its calls may be incomplete.
		CutOff bool
	}
	// Acted means that all calls of the step have their results.
	Acted struct{}
	// Failed means that the step can't be done.
	Failed struct {
		Stop    models.StopReason
		Failure models.Failure
	}
	// Spent means that a budget can't hold what the step takes.
	Spent struct{ Failure models.Failure }
	// Stuck means that the turn was taken over too often without getting on.
	Stuck struct{ Takeovers int }
)

func (Begun) outcome()    {}
func (Reasoned) outcome() {}
func (Acted) outcome()    {}
func (Failed) outcome()   {}
func (Spent) outcome()    {}
func (Stuck) outcome()    {}

// facts are what has to be known beside the outcome.
type facts struct {
	// InboxEmpty is true when the model has been shown every message received for this turn.
	InboxEmpty bool
	// Blocked is why no further step can begin; nil when one can.
	Blocked *Failed
	// Cancelled is true when somebody has asked for the turn's end.
	Cancelled bool
}

// Plan is what comes next. Exactly one of the kinds below.
type Plan interface{ plan() }

type (
	// Reason asks the model, as the given iteration.
	Reason struct{ Iteration int }
	// Act runs the tools that the model asked for.
	Act struct{}
	// End ends the turn. Failure is nil when it is COMPLETED.
	End struct {
		Status  models.TurnStatus
		Stop    models.StopReason
		Failure *models.Failure
	}
)

func (Reason) plan() {}
func (Act) plan()    {}
func (End) plan()    {}

// next decides what follows a step. What keeps further steps from beginning doesn't keep a turn from ending well; a cancel that was
// accepted does.
func next(s State, o Outcome, f facts) Plan {
	if f.Cancelled {
		return End{Status: models.TurnCancelled, Stop: models.StopCancelled}
	}
	p := s.next(o, f)
	if _, ends := p.(End); !ends && f.Blocked != nil {
		return f.Blocked.end()
	}
	return p
}

func (s State) next(o Outcome, f facts) Plan {
	switch o := o.(type) {
	case Begun:
		return Reason{Iteration: 1}
	case Reasoned:
		// Calls that were cut off never run (docs/architecture.md, "When a model fails").
		if o.Calls > 0 && !o.CutOff {
			return Act{}
		}
		if f.InboxEmpty {
			return End{Status: models.TurnCompleted, Stop: o.Stop}
		}
		return s.again()
	case Acted:
		return s.again()
	case Failed:
		return o.end()
	case Spent:
		return o.end()
	case Stuck:
		return End{Status: models.TurnSealed, Stop: models.StopNoProgress, Failure: &models.Failure{
			Code: "no_progress",
			Message: "The turn was taken over several times in a row without progress, so it was stopped. " +
				"Nothing is lost: send a message to continue.",
		}}
	}
	panic("turns: unknown outcome")
}

func (f Failed) end() Plan { return End{Status: models.TurnFailed, Stop: f.Stop, Failure: &f.Failure} }

func (s Spent) end() Plan {
	return End{Status: models.TurnSealed, Stop: models.StopBudget, Failure: &s.Failure}
}

// again asks the model once more, unless the cap is reached. Reaching it is not a completion.
func (s State) again() Plan {
	if s.Iteration < s.MaxIterations {
		return Reason{Iteration: s.Iteration + 1}
	}
	return End{Status: models.TurnSealed, Stop: models.StopIterationLimit, Failure: &models.Failure{
		Code: "iteration_limit",
		Message: "The turn reached its limit of iterations and was stopped before it had an answer. " +
			"Send a message to continue, or raise maxIterations of the agent or harness.",
	}}
}
