package ask

import (
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// BreakerFailures is how many failures within breakerWindow open a breaker.
	BreakerFailures = 5
	breakerWindow   = 30 * time.Second
	// BreakerRest is how long an open breaker lets nobody through; then one call is the probe.
	BreakerRest = 15 * time.Second
	// BreakerMemory is how long a breaker that nobody asks is remembered after its rest.
	BreakerMemory = 10 * time.Minute
)

// breaker keeps the turns of an organization from a provider that is down. It is a state machine without a clock of its own; the zero
// value is closed.
//
// It is closed until as many failures came within the window, with no answer between them: a provider that answers others is
// not down. Then it is open for the rest. After that it is half open: one call goes through, and what becomes of it closes the
// breaker or opens it again.
type breaker struct {
	// failures are when the last calls failed since the last answer, oldest first.
	failures [BreakerFailures]time.Time
	count    int
	// until is when the rest ends; zero when the breaker is closed.
	until time.Time
	// probing is true when the probe is under way.
	probing bool
}

// Pass is the right to make one call. What became of the call must be reported with it.
type Pass struct{ Probe bool }

// callOutcome is what a call says about its provider.
type callOutcome int

const (
	// outcomeUnknown is that of a call that was cut short, or failed on this side.
	outcomeUnknown callOutcome = iota
	// outcomeAnswered is any answer, also that the request is wrong.
	outcomeAnswered
	// OutcomeFailed is a failure that may pass.
	OutcomeFailed
)

// admit asks for a call. When the call is refused it tells until when.
func (b *breaker) admit(now time.Time) (p Pass, ok bool, until time.Time) {
	switch {
	case b.until.IsZero():
		return Pass{}, true, time.Time{}
	case now.Before(b.until):
		return Pass{}, false, b.until
	case b.probing:
		return Pass{}, false, now
	}
	b.probing = true
	return Pass{Probe: true}, true, time.Time{}
}

// report takes in what became of a call. Calls that began before the breaker opened change nothing any more.
func (b *breaker) report(p Pass, o callOutcome, now time.Time) {
	switch {
	case p.Probe:
		b.probing = false
		switch o {
		case outcomeAnswered:
			*b = breaker{}
		case OutcomeFailed:
			b.until = now.Add(BreakerRest)
		case outcomeUnknown:
			// The next call is the probe.
		}
	case !b.until.IsZero():
	case o == outcomeAnswered:
		b.count = 0
	case o == OutcomeFailed:
		b.fail(now)
	}
}

// fail notes a failure and forgets those that have left the window.
func (b *breaker) fail(now time.Time) {
	kept := 0
	for _, at := range b.failures[:b.count] {
		if now.Sub(at) < breakerWindow {
			b.failures[kept] = at
			kept++
		}
	}
	b.failures[kept] = now
	if b.count = kept + 1; b.count == BreakerFailures {
		b.count, b.until = 0, now.Add(BreakerRest)
	}
}

// calm reports whether the breaker can be forgotten: it would behave like a new one, or nobody has asked for long.
func (b *breaker) calm(now time.Time) bool {
	if !b.until.IsZero() {
		return !b.probing && now.Sub(b.until) >= BreakerMemory
	}
	return b.count == 0 || now.Sub(b.failures[b.count-1]) >= breakerWindow
}

// Breakers are the breakers of one process, by organization and provider. Other processes have their own: a provider that is down is
// noticed by each of them, which costs a few calls more and needs nobody to agree.
//
// Only providers that have failed lately have an entry.
type Breakers struct {
	mu      sync.Mutex
	list    map[BreakerKey]*breaker
	sweptAt time.Time
}

// BreakerKey names a breaker.
type BreakerKey struct {
	Org      models.OrgID
	Provider models.ProviderID
}

func newBreakers() *Breakers { return &Breakers{list: map[BreakerKey]*breaker{}} }

// Admit reports whether a call may be made now; if not, until is when the next one may.
func (s *Breakers) Admit(k BreakerKey, now time.Time) (p Pass, ok bool, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return Pass{}, true, time.Time{}
	}
	s.sweep(now)
	if b := s.list[k]; b != nil {
		return b.admit(now)
	}
	return Pass{}, true, time.Time{}
}

// rests reports whether a call at a time to come would be refused, for all that is known now, and until when.
func (s *Breakers) rests(k BreakerKey, at time.Time) (until time.Time, rests bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.list[k]; b != nil && at.Before(b.until) {
		return b.until, true
	}
	return time.Time{}, false
}

// Report tells what became of a call that was admitted.
func (s *Breakers) Report(k BreakerKey, p Pass, o callOutcome, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.list[k]
	if b == nil {
		if o != OutcomeFailed {
			return
		}
		b = &breaker{}
		s.list[k] = b
	}
	b.report(p, o, now)
	if b.calm(now) {
		delete(s.list, k)
	}
}

// sweep forgets the calm ones, once in a window.
func (s *Breakers) sweep(now time.Time) {
	if since := now.Sub(s.sweptAt); since >= 0 && since < breakerWindow {
		return
	}
	s.sweptAt = now
	for k, b := range s.list {
		if b.calm(now) {
			delete(s.list, k)
		}
	}
}
