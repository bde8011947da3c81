package ask

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// breakerRun plays calls on a breaker.
type breakerRun struct {
	*testing.T
	b   breaker
	now time.Time
}

func newBreakerRun(t *testing.T) *breakerRun {
	t.Helper()
	return &breakerRun{T: t, now: time.UnixMilli(1_800_000_000_000)}
}

func (r *breakerRun) pass(d time.Duration) { r.now = r.now.Add(d) }

// begin makes a call that must go through.
func (r *breakerRun) begin() Pass {
	r.Helper()
	p, ok, until := r.b.admit(r.now)
	if !ok {
		r.Fatalf("a call is refused until %v, at %v", until, r.now)
	}
	return p
}

func (r *breakerRun) call(outcomes ...callOutcome) {
	r.Helper()
	for _, o := range outcomes {
		r.b.report(r.begin(), o, r.now)
	}
}

// refused makes a call that must not go through, and checks when the next one may.
func (r *breakerRun) refused(in time.Duration) {
	r.Helper()
	if p, ok, until := r.b.admit(r.now); ok || until.Sub(r.now) != in {
		r.Fatalf("the call goes through: %v %+v; or may after %v, want %v", ok, p, until.Sub(r.now), in)
	}
}

// Rules: F7.
func TestBreaker(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(r *breakerRun)
	}{
		{"five failures open it", func(r *breakerRun) {
			r.call(OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed)
			r.refused(BreakerRest)
			r.pass(BreakerRest - 1)
			r.refused(1)
		}},
		{"four don't", func(r *breakerRun) {
			r.call(OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed)
			r.begin()
		}},
		{"nor five in a longer time", func(r *breakerRun) {
			for range 20 {
				r.call(OutcomeFailed)
				r.pass(breakerWindow / 4)
			}
			r.begin()
		}},
		{"failures leave the window one by one", func(r *breakerRun) {
			r.call(OutcomeFailed, OutcomeFailed)
			r.pass(breakerWindow - 1)
			r.call(OutcomeFailed, OutcomeFailed)
			r.pass(1)
			r.call(OutcomeFailed, OutcomeFailed)
			r.call(OutcomeFailed)
			r.refused(BreakerRest)
		}},
		{"an answer between them says that the provider is there", func(r *breakerRun) {
			r.call(OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed, outcomeAnswered)
			r.call(OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed)
			r.begin()
		}},
		{"a call that was cut short says nothing", func(r *breakerRun) {
			r.call(OutcomeFailed, OutcomeFailed, outcomeUnknown, OutcomeFailed, OutcomeFailed, outcomeUnknown, OutcomeFailed)
			r.refused(BreakerRest)
		}},
		{"the probe's answer closes it", func(r *breakerRun) {
			r.call(OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed)
			r.pass(BreakerRest)
			probe := r.begin()
			r.refused(0)
			r.pass(time.Hour)
			r.refused(0)
			r.b.report(probe, outcomeAnswered, r.now)
			r.call(OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed)
			r.begin()
		}},
		{"the probe's failure opens it again", func(r *breakerRun) {
			r.call(OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed)
			r.pass(BreakerRest)
			probe := r.begin()
			r.pass(time.Second)
			r.b.report(probe, OutcomeFailed, r.now)
			r.refused(BreakerRest)
			r.pass(BreakerRest)
			r.call(outcomeAnswered)
			r.begin()
		}},
		{"a probe that was cut short leaves its place to the next", func(r *breakerRun) {
			r.call(OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed)
			r.pass(BreakerRest)
			r.b.report(r.begin(), outcomeUnknown, r.now)
			if p := r.begin(); !p.Probe {
				r.Error("the next call is no probe")
			}
			r.refused(0)
		}},
		{"calls that began before it opened change nothing", func(r *breakerRun) {
			early := []Pass{r.begin(), r.begin(), r.begin()}
			r.call(OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed, OutcomeFailed)
			r.b.report(early[0], outcomeAnswered, r.now)
			r.pass(time.Second)
			r.b.report(early[1], OutcomeFailed, r.now)
			r.refused(BreakerRest - time.Second)
			r.pass(BreakerRest)
			r.begin()
			r.b.report(early[2], outcomeAnswered, r.now)
			r.refused(0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.play(newBreakerRun(t)) })
	}
}

// TestBreakerAlwaysComesBack plays random calls: a breaker never refuses for longer than its rest once no call is under way, lets at most
// one through while it is half open, and doesn't open before the failures are there.
//
// Rules: F7.
func TestBreakerAlwaysComesBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		r := newBreakerRun(t)
		var under []Pass
		probes, failures := 0, 0
		for range 200 {
			r.pass(time.Duration(rng.Int64N(int64(3 * time.Second))))
			if len(under) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(under))
				p, o := under[i], callOutcome(rng.IntN(3))
				under = append(under[:i], under[i+1:]...)
				if p.Probe {
					probes--
				}
				switch {
				case o == OutcomeFailed:
					failures++
				case o == outcomeAnswered && r.b.until.IsZero():
					failures = 0
				}
				r.b.report(p, o, r.now)
				continue
			}
			p, ok, until := r.b.admit(r.now)
			if !ok {
				if until.Sub(r.now) > BreakerRest || until.Before(r.now) || failures < BreakerFailures {
					t.Fatalf("after %d failures it refuses for %v", failures, until.Sub(r.now))
				}
				continue
			}
			under = append(under, p)
			if p.Probe {
				probes++
			}
			if probes > 1 {
				t.Fatal("two probes are under way")
			}
		}
		for _, p := range under {
			r.b.report(p, outcomeUnknown, r.now)
		}
		r.pass(BreakerRest)
		r.call(outcomeAnswered)
		r.begin()
	}
}

// TestBreakersAreForgotten has many providers fail: what is kept of them goes when they are calm, and one tenant's say nothing of
// another's.
//
// Rules: F7.
func TestBreakersAreForgotten(t *testing.T) {
	s, now := newBreakers(), time.UnixMilli(1_800_000_000_000)
	key := func() BreakerKey {
		return BreakerKey{models.NewID[models.OrgEntity](), models.NewID[models.ProviderEntity]()}
	}
	fail := func(k BreakerKey, times int) {
		t.Helper()
		for range times {
			p, ok, _ := s.Admit(k, now)
			if !ok {
				t.Fatal("a call is refused")
			}
			s.Report(k, p, OutcomeFailed, now)
		}
	}
	calm := key()
	for range 100 {
		s.Report(calm, Pass{}, outcomeAnswered, now)
		s.Report(calm, Pass{}, outcomeUnknown, now)
	}
	if len(s.list) != 0 {
		t.Errorf("of providers that answer are kept %d", len(s.list))
	}
	down := key()
	fail(down, BreakerFailures)
	if _, ok, _ := s.Admit(down, now); ok {
		t.Error("the provider that is down is asked")
	}
	if until, rests := s.rests(down, now.Add(BreakerRest-1)); !rests || until.Sub(now) != BreakerRest {
		t.Errorf("it rests: %v, until %v", rests, until)
	}
	if _, rests := s.rests(down, now.Add(BreakerRest)); rests {
		t.Error("it rests for too long")
	}
	for _, other := range []BreakerKey{{down.Org, models.NewID[models.ProviderEntity]()}, {models.NewID[models.OrgEntity](), down.Provider}} {
		if _, ok, _ := s.Admit(other, now); !ok {
			t.Error("another one isn't asked")
		}
	}
	for range 1000 {
		fail(key(), 1)
	}
	if len(s.list) != 1001 {
		t.Errorf("%d are known", len(s.list))
	}
	now = now.Add(breakerWindow)
	if p, ok, _ := s.Admit(down, now); !ok || !p.Probe || len(s.list) != 1 {
		t.Errorf("after the window %d are known; the one that is down: %v %+v", len(s.list), ok, p)
	}
	s.Report(down, Pass{Probe: true}, outcomeUnknown, now)
	now = now.Add(BreakerMemory)
	s.Admit(calm, now)
	if len(s.list) != 0 {
		t.Errorf("in the end %d are known", len(s.list))
	}
	answered := key()
	fail(answered, 2)
	s.Report(answered, Pass{}, outcomeAnswered, now)
	if len(s.list) != 0 {
		t.Error("a provider that answers again is kept")
	}
}
