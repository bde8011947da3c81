package ask

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Rules: F2, F3.
func TestWhatFollowsAFailure(t *testing.T) {
	const s = time.Second
	transient := callFailure{transient: true}
	for _, c := range []struct {
		name    string
		at      attempts
		failure callFailure
		elapsed time.Duration
		random  float64
		want    nextCall
	}{
		{"the first wait is up to a second", attempts{calls: 1}, transient, 0, 0.5, callAgain{s / 2}},
		{"the second up to two", attempts{calls: 2}, transient, s, 0.5, callAgain{s}},
		{"the third up to four", attempts{calls: 3}, transient, 3 * s, 0.5, callAgain{2 * s}},
		{"it may be none at all", attempts{calls: 3}, transient, 3 * s, 0, callAgain{0}},
		{"four calls are enough", attempts{calls: 4}, transient, 3 * s, 0.5, giveUp{}},
		{"then the fallback", attempts{calls: 4, others: 1}, transient, 3 * s, 0.5, fallBack{}},
		{"a permanent failure", attempts{calls: 1, others: 1}, callFailure{}, 0, 0, giveUp{}},
		{"a permanent failure that names a time", attempts{calls: 1, others: 1}, callFailure{retryAfter: s}, 0, 0, giveUp{}},
		{"the wait that was asked for, and more", attempts{calls: 1}, callFailure{transient: true, retryAfter: 5 * s}, 0, 0.5, callAgain{5*s + s/2}},
		{"it just fits", attempts{calls: 1}, callFailure{transient: true, retryAfter: 60 * s}, 0, 0.5, callAgain{60 * s}},
		{"it is too long", attempts{calls: 1}, callFailure{transient: true, retryAfter: 61 * s}, 0, 0, giveUp{}},
		{"it is too long, and there is another", attempts{calls: 1, others: 2}, callFailure{transient: true, retryAfter: 61 * s}, 0, 0, fallBack{}},
		{"it is longer than what is left", attempts{calls: 2, others: 2}, callFailure{transient: true, retryAfter: 11 * s}, 50 * s, 0, fallBack{}},
		{"the window is almost over", attempts{calls: 3}, transient, 59 * s, 0.9, giveUp{}},
		{"a short wait still fits", attempts{calls: 3}, transient, 59 * s, 0.2, callAgain{4 * s / 5}},
		{"the window is over", attempts{calls: 1}, transient, 3600 * s, 0.1, giveUp{}},
		{"the fallback is asked however late it is", attempts{calls: 1, others: 1}, transient, 3600 * s, 0.1, fallBack{}},
		{"nobody may ask it now", attempts{}, callFailure{transient: true, refused: true}, 0, 0, giveUp{}},
		{"nobody may ask it now, and there is another", attempts{others: 1}, callFailure{transient: true, refused: true}, 0, 0, fallBack{}},
		{"a clock that was set back", attempts{calls: 1}, transient, -3600 * s, 0.5, callAgain{s / 2}},
	} {
		if got := c.at.next(c.failure, c.elapsed, c.random); got != c.want {
			t.Errorf("%s: %#v, want %#v", c.name, got, c.want)
		}
	}
}

// TestRetriesEnd plays steps whose every call fails, with calls and demands of random lengths: each ends, with at most four calls of each
// model and all models called, no wait ends outside of the window, and none is shorter than the provider asks for.
//
// Rules: F2.
func TestRetriesEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		models := 1 + rng.IntN(4)
		at := attempts{others: models - 1}
		var elapsed time.Duration
		used, ended := 1, false
		for step := 0; !ended; step++ {
			if step > MaxAttempts*models {
				t.Fatalf("a step with %d models goes on for ever", models)
			}
			f := callFailure{transient: true, refused: rng.IntN(10) == 0}
			if rng.IntN(3) == 0 {
				f.retryAfter = time.Duration(rng.Int64N(int64(2 * retryWindow)))
			}
			if !f.refused {
				at.calls++
				elapsed += time.Duration(rng.Int64N(int64(20 * time.Second)))
			}
			switch n := at.next(f, elapsed, rng.Float64()).(type) {
			case callAgain:
				if n.after < f.retryAfter || n.after < 0 || elapsed+n.after > retryWindow || at.calls >= MaxAttempts || f.refused {
					t.Fatalf("after %v and %d calls, %+v is followed by a wait of %v", elapsed, at.calls, f, n.after)
				}
				elapsed += n.after
			case fallBack:
				used++
				at = attempts{others: at.others - 1}
			case giveUp:
				ended = true
			}
		}
		if used != models {
			t.Fatalf("%d of %d models were asked", used, models)
		}
	}
}
