package orgs

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
)

func from(address string) source { return source{address: address} }

func TestThrottleDelaysGrowToALimit(t *testing.T) {
	th, err := newThrottle()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for i, want := range append(make([]int, freePerAccount-1), 1, 2, 4, 8, 16, 32, 60, 60) {
		// Another address each time: this is about the account.
		if _, _, err := th.begin(now, "a@b", from("192.0.2."+strconv.Itoa(i))); err != nil {
			t.Fatalf("attempt %d: %v", i, err)
		}
		got := 0
		if probe, _, err := th.begin(now, "a@b", from("198.51.100.1")); err == nil {
			probe.undo()
		} else if f := fault.As(err); f != nil {
			got = f.RetryAfterSeconds
		}
		if got != want {
			t.Errorf("after attempt %d: the wait is %d s, want %d", i+1, got, want)
		}
		now = now.Add(time.Duration(got) * time.Second)
	}
	if _, _, err := th.begin(now.Add(time.Hour), "a@b", from("192.0.2.1")); err != nil {
		t.Errorf("after an hour: %v", err)
	}
}

func TestThrottleCountsAttemptsThatRunAtOnce(t *testing.T) {
	th, err := newThrottle()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	var in atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, _, err := th.begin(now, "a@b", from("192.0.2.1")); err == nil {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != freePerPair {
		t.Errorf("%d attempts were let in, want %d", in.Load(), freePerPair)
	}
}

func TestOnesOwnSuccessGivesNoFreeGuessesAtOthers(t *testing.T) {
	th, err := newThrottle()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	guesses := 0
	for i := range 100 {
		if _, _, err := th.begin(now, "victim"+strconv.Itoa(i), from("192.0.2.1")); err == nil {
			guesses++
		}
		if own, _, err := th.begin(now, "attacker", from("192.0.2.1")); err == nil {
			own.succeeded()
		}
	}
	if guesses != freePerNetwork {
		t.Errorf("%d guesses were let in, want %d", guesses, freePerNetwork)
	}
}

func TestUndoneAttemptsDoNotCount(t *testing.T) {
	th, err := newThrottle()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for i := range 100 {
		a, _, err := th.begin(now, "a@b", from("192.0.2.1"))
		if err != nil {
			t.Fatalf("attempt %d: %v", i, err)
		}
		a.undo()
	}
}

func TestThrottleIsBounded(t *testing.T) {
	th, err := newThrottle()
	if err != nil {
		t.Fatal(err)
	}
	for i := range throttleEntries + 100 {
		_, _, _ = th.begin(time.Unix(1_800_000_000, 0), strconv.Itoa(i), from(strconv.Itoa(i)))
	}
	if th.accounts.Len() > throttleEntries || th.networks.Len() > throttleEntries || th.pairs.Len() > throttleEntries {
		t.Errorf("%d accounts, %d networks and %d pairs are kept", th.accounts.Len(), th.networks.Len(), th.pairs.Len())
	}
}
