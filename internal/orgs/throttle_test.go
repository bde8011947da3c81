package orgs

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
)

func TestThrottleDelaysGrowToALimit(t *testing.T) {
	th, err := newThrottle()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for i, want := range []int{0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60} {
		// Another address each time: this is about the account.
		if _, err := th.begin(now, "a@b", "192.0.2."+strconv.Itoa(i)); err != nil {
			t.Fatalf("attempt %d: %v", i, err)
		}
		got := 0
		if probe, err := th.begin(now, "a@b", "198.51.100.1"); err == nil {
			probe.undo()
		} else if f := fault.As(err); f != nil {
			got = f.RetryAfterSeconds
		}
		if got != want {
			t.Errorf("after attempt %d: the wait is %d s, want %d", i+1, got, want)
		}
		now = now.Add(time.Duration(got) * time.Second)
	}
	if _, err := th.begin(now.Add(time.Hour), "a@b", "192.0.2.1"); err != nil {
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
			if _, err := th.begin(now, "a@b", "192.0.2.1"); err == nil {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != freePerAccount {
		t.Errorf("%d attempts were let in, want %d", in.Load(), freePerAccount)
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
		if _, err := th.begin(now, "victim"+strconv.Itoa(i), "192.0.2.1"); err == nil {
			guesses++
		}
		if own, err := th.begin(now, "attacker", "192.0.2.1"); err == nil {
			own.succeeded()
		}
	}
	if guesses != freePerAddress {
		t.Errorf("%d guesses were let in, want %d", guesses, freePerAddress)
	}
}

func TestUndoneAttemptsDoNotCount(t *testing.T) {
	th, err := newThrottle()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for i := range 100 {
		a, err := th.begin(now, "a@b", "192.0.2.1")
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
		_, _ = th.begin(time.Unix(1_800_000_000, 0), strconv.Itoa(i), strconv.Itoa(i))
	}
	if th.accounts.Len() > throttleEntries || th.addresses.Len() > throttleEntries {
		t.Errorf("%d accounts and %d addresses are kept", th.accounts.Len(), th.addresses.Len())
	}
}
