package clock

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// follow starts a clock that measures when the function that it gives is called, which returns after that.
func follow(t *testing.T, machine Clock, source Source) (f *Following, measure func()) {
	t.Helper()
	ticks := make(chan time.Time)
	f, err := Follow(context.Background(), FollowConfig{
		Source: source, Machine: machine, Ticks: ticks, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f, func() {
		// The second one is taken only after the first measurement; what it measures finds the same.
		ticks <- time.Time{}
		ticks <- time.Time{}
	}
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// Two processes, one on a machine whose clock is an hour ahead and one an hour behind, tell the time of their database.
//
// Rules: Q2.
func TestTheDatabasesClockIsFollowed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		t.Parallel()
		now := func() time.Time {
			t.Helper()
			at, err := db.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		before := now()
		fast, _ := follow(t, NewManual(time.Now().Add(time.Hour)), db.Now)
		slow, _ := follow(t, NewManual(time.Now().Add(-time.Hour)), db.Now)
		a, b, after := fast.Now(), slow.Now(), now()
		if a.Before(before) || b.Before(a) || after.Before(b) {
			t.Errorf("one process says that it is %v and then another %v, the database %v before and %v after", a, b, before, after)
		}
	})
}

// What it costs to tell the time: no question to the database, and no step back, whoever asks.
//
// Rules: Q2.
func TestTellingTheTimeAsksNobody(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		t.Parallel()
		var mu sync.Mutex
		asked := 0
		f, measure := follow(t, nil, func(ctx context.Context) (time.Time, error) {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return db.Now(ctx)
		})
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return asked
		}
		first := count()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				last := f.Now()
				for range 10_000 {
					now := f.Now()
					if now.Before(last) {
						t.Errorf("%v comes after %v", now, last)
						return
					}
					last = now
				}
			})
		}
		wg.Wait()
		if n := count(); n != first {
			t.Errorf("the database was asked %d times", n-first)
		}
		measure()
		if n := count(); n == first {
			t.Error("the database was never asked again")
		}
	})
}

// Somebody sets the other clock: ahead or far back, which this one follows at once, and a little back, where it stands still until it
// is that late again.
//
// Rules: Q2.
func TestAClockThatIsSet(t *testing.T) {
	t.Parallel()
	machine := NewManual(noon)
	var mu sync.Mutex
	ahead := time.Minute
	var fails error
	f, measure := follow(t, machine, func(context.Context) (time.Time, error) {
		mu.Lock()
		defer mu.Unlock()
		return machine.Now().Add(ahead), fails
	})
	set := func(to time.Duration, err error) {
		mu.Lock()
		ahead, fails = to, err
		mu.Unlock()
		measure()
	}
	is := func(what string, want time.Duration) {
		t.Helper()
		if got := f.Now().Sub(noon); got != want {
			t.Errorf("%s: it is %v past noon, want %v", what, got, want)
		}
	}
	is("at the start", time.Minute)
	set(time.Hour, nil)
	is("set ahead", time.Hour)
	set(time.Hour-900*time.Millisecond, nil)
	is("a little back", time.Hour)
	machine.Advance(800 * time.Millisecond)
	is("still a little back", time.Hour)
	machine.Advance(1200 * time.Millisecond)
	is("caught up", time.Hour+1100*time.Millisecond)
	set(-time.Hour, nil)
	is("far back", -time.Hour+2*time.Second)
	set(0, errors.New("the database is away"))
	is("nobody answers", -time.Hour+2*time.Second)
	machine.Advance(time.Second)
	is("time passes without an answer", -time.Hour+3*time.Second)
	set(time.Minute, nil)
	f.Stop()
	f.Stop()
	machine.Advance(time.Minute)
	is("after the end", 2*time.Minute+3*time.Second)
}

func TestAClockThatCanNotBeAsked(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	f, err := Follow(t.Context(), FollowConfig{
		Source: func(context.Context) (time.Time, error) { return noon, away }, Logger: slog.New(slog.DiscardHandler),
	})
	if f != nil || !errors.Is(err, away) {
		t.Errorf("got %v, %v", f, err)
	}
}

// However long question and answer take: the clock is wrong by no more than half of the shortest way that it has seen lately, and never
// goes back.
//
// Rules: Q2.
func TestTheShortestWayCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		machine := NewManual(noon)
		ahead := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(rt, "ahead"))
		leg := rapid.Int64Range(0, int64(time.Second))
		var ways []time.Duration
		f := newFollowing(FollowConfig{Machine: machine, Source: func(context.Context) (time.Time, error) {
			there, back := time.Duration(leg.Draw(rt, "there")), time.Duration(leg.Draw(rt, "back"))
			machine.Advance(there)
			told := machine.Now().Add(ahead)
			machine.Advance(back)
			ways = append(ways, there+back)
			return told, nil
		}})
		var last time.Time
		for range rapid.IntRange(1, 3*followWindow).Draw(rt, "measurements") {
			if err := f.measure(t.Context()); err != nil {
				rt.Fatal(err)
			}
			if now := f.Now(); now.Before(last) {
				rt.Fatalf("%v comes after %v", now, last)
			}
			machine.Advance(2 * time.Second) // more than it may have to stand still
			last = f.Now()
			shortest := slices.Min(ways[max(0, len(ways)-followWindow):])
			if off := last.Sub(machine.Now().Add(ahead)).Abs(); off > (shortest+1)/2 {
				rt.Fatalf("it is wrong by %v, with ways of %v", off, ways)
			}
		}
	})
}
