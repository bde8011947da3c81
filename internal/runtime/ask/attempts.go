package ask

import "time"

// What follows a failed model call is decided by a pure function, as the planner's decisions are: no clock, no I/O, and the
// randomness is handed in.

const (
	// MaxAttempts is how often each model of a step is called.
	MaxAttempts = 4
	// retryWindow is how long after the first failure of a step a wait may end.
	retryWindow = time.Minute
	// FirstDelay bounds the first wait; the bound doubles from one to the next.
	FirstDelay = time.Second
)

// attempts is how far the calls of a step have come.
type attempts struct {
	// calls is how often the present model was called.
	calls int
	// others is how many models are left to fall back to.
	others int
}

// callFailure is what matters of a failed call.
type callFailure struct {
	// transient is true when the same call may succeed later.
	transient bool
	// refused is true when the call was not made: the provider rests for longer than it makes sense to wait.
	refused bool
	// retryAfter is how long the provider asks to wait; 0 when it doesn't say.
	retryAfter time.Duration
}

// nextCall is what comes after a failed call. Exactly one of the kinds below.
type nextCall interface{ nextCall() }

type (
	// callAgain calls the same model after a wait.
	callAgain struct{ after time.Duration }
	// fallBack calls the next model at once.
	fallBack struct{}
	// giveUp ends the step with the failure.
	giveUp struct{}
)

func (callAgain) nextCall() {}
func (fallBack) nextCall()  {}
func (giveUp) nextCall()    {}

// next decides what follows a failure that came so long after the step's first one. The time before that doesn't count: an answer that
// breaks off after minutes, or a silence, is worth another call as well. random is from 0 to less than 1.
//
// The wait is drawn from the whole range up to its bound, so that turns that failed together don't come back together. One that the
// provider asks for is honoured, with as much added; when it is longer than what is left of the window, waiting for it is
// pointless, and the next model is asked. The window bounds the waits alone: every fallback is asked once, however late it is.
func (a attempts) next(f callFailure, elapsed time.Duration, random float64) nextCall {
	if !f.transient {
		return giveUp{}
	}
	left := retryWindow - max(elapsed, 0)
	if !f.refused && a.calls < MaxAttempts {
		wait := time.Duration(random * float64(FirstDelay<<max(a.calls-1, 0)))
		if f.retryAfter > 0 {
			wait = max(f.retryAfter, min(f.retryAfter+wait, left))
		}
		if wait <= left {
			return callAgain{after: wait}
		}
	}
	if a.others > 0 {
		return fallBack{}
	}
	return giveUp{}
}
