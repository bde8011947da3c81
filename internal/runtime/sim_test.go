//go:build !race

package runtime

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sampletest"
)

// play runs the history of a seed.
func play(seed uint64, s *simStore, box *toolbox, p planted, log func(string)) (problems []string, w *simulation) {
	w = newSimulation(seed, s, box, log)
	w.planted = p
	return w.run(), w
}

// One process at a time, which is killed, goes down, and starts again. The variables are those of TestSimulation.
//
// Rules: L5, L6, J6.
func TestSimulationOfOneProcess(t *testing.T) {
	tools, db := box(t, planted{}), newSimStore(t)
	first, seeds, one := seedsOf(t, "histories of one process", 40, 200)
	recovered, died := 0, 0
	for seed := first; seed < first+seeds; seed++ {
		w := newSimulation(seed, db, tools, nil)
		if one {
			w = newSimulation(seed, db, tools, func(line string) { t.Log(line) })
		}
		w.alone = true
		for _, p := range w.run() {
			t.Errorf("seed %d: %s", seed, p)
		}
		recovered += w.saw["REASON_RECOVERED"] + w.saw["interrupted"]
		died += w.born - 1
	}
	if seeds >= 200 && (recovered == 0 || died == 0) {
		t.Errorf("%d processes have ended, and %d steps were taken over", died, recovered)
	}
}

// seedsOf returns which seeds are tried: all, or fewer of them with -short, unless the environment says otherwise; or the one whose
// history is shown.
func seedsOf(t *testing.T, what string, fewer, all uint64) (first, seeds uint64, one bool) {
	t.Helper()
	number := func(name string, otherwise uint64) (uint64, bool) {
		n, err := strconv.ParseUint(os.Getenv(name), 10, 64)
		if err != nil {
			return otherwise, false
		}
		return n, true
	}
	if seed, one := number("OSTLER_SIM_SEED", 0); one {
		return seed, 1, true
	}
	if seeds, told := number("OSTLER_SIM_SEEDS", 0); told {
		first, _ = number("OSTLER_SIM_FIRST", 0) // so that nights don't repeat each other
		return first, seeds, false
	}
	first, seeds = sampletest.Part(t, what, fewer, all)
	return first, seeds, false
}

func box(t testing.TB, p planted) *toolbox {
	t.Helper()
	b, err := newToolbox(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSimulation plays whole histories of several processes, clients and people, and checks each against what must stay true
// (sim_check_test.go). OSTLER_SIM_SEEDS is how many seeds are tried, from OSTLER_SIM_FIRST on; OSTLER_SIM_SEED shows the history of one.
//
// Rules: L2, L3, L5, L6, L7, L8, S1, D9, D10, J6, W1, C5.
func TestSimulation(t *testing.T) {
	first, seeds, one := seedsOf(t, "histories of several processes", 300, 2000)
	tools := box(t, planted{})
	if one {
		problems, _ := play(first, newSimStore(t), tools, planted{}, func(line string) { t.Log(line) })
		for _, p := range problems {
			t.Error(p)
		}
		return
	}
	// Most of what is allotted is small, and gone after one history.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var next, failed atomic.Uint64
	var workers sync.WaitGroup
	var mu sync.Mutex
	saw := map[string]int{}
	for range runtime.GOMAXPROCS(0) {
		db := newSimStore(t)
		workers.Go(func() {
			for seed := next.Add(1) - 1; seed < seeds && failed.Load() < 5; seed = next.Add(1) - 1 {
				problems, w := play(first+seed, db, tools, planted{}, nil)
				for _, p := range problems {
					t.Errorf("seed %d: %s", first+seed, p)
				}
				if len(problems) > 0 {
					failed.Add(1)
				}
				if seed > 0 && seed%10_000 == 0 {
					t.Logf("%d seeds", seed)
				}
				mu.Lock()
				for what, n := range w.saw {
					saw[what] += n
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Log(saw)
	// A simulation in which nothing goes wrong proves nothing.
	for _, what := range wanted {
		if saw[what] == 0 && seeds >= 2000 {
			t.Errorf("never seen: %s", what)
		}
	}
}

// wanted are things that must happen in some of so many histories.
var wanted = []string{
	"turns", "call metered", "REASON_RECOVERED", "interrupted", "tool ran again", "tool tried again", "lease lost", "answered again", "inherited messages", "turn queued",
	string(models.StopEndTurn), string(models.StopMaxTokens), string(models.StopRefusal), string(models.StopIterationLimit),
	string(models.StopNoProgress), string(models.StopError), string(models.StopDependency), "parked", "timeouts", "an expiry that was due",
	"approval OK", "approval ERROR", "approval TIMEOUT", "approval CANCELLED", "a cancel of a QUEUED turn", "a cancel of a RUNNING turn",
	"a cancel of a WAITING turn", "ERROR for a COMPLETION", "OK for a COMPLETION", "OK for a CUSTOM", "OK for a QUESTION", "a result", "steps",
}

func TestSimulationIsDeterministic(t *testing.T) {
	tools, db := box(t, planted{}), newSimStore(t)
	for seed := range uint64(40) {
		var histories [2][]string
		var sums [2]uint64
		for i := range histories {
			_, w := play(seed, db, tools, planted{}, func(line string) {
				if !strings.HasPrefix(line, fromLogger) { // those tell the machine's time, and ids
					histories[i] = append(histories[i], line)
				}
			})
			sums[i] = w.sum()
		}
		first, second := histories[0], histories[1]
		for i := range min(len(first), len(second)) {
			if first[i] != second[i] {
				t.Fatalf("seed %d: line %d is %q and %q", seed, i, first[i], second[i])
			}
		}
		if len(first) != len(second) || sums[0] != sums[1] {
			t.Fatalf("seed %d: %d lines and %d lines, sums %x and %x", seed, len(first), len(second), sums[0], sums[1])
		}
	}
}

// The checks are worth nothing if they can't fail.
//
// Rules: L2, L8, J6.
func TestSimulationFindsPlantedBugs(t *testing.T) {
	db := newSimStore(t)
	for _, tc := range []struct {
		name string
		bug  planted
		want string
	}{
		{"who takes a turn over leaves its epoch", planted{keptEpochs: true}, "law 2"},
		{"turns are claimed that are held", planted{heldClaims: true}, ""},
		{"answers come before commits", planted{earlyAnswers: true}, "O1"},
		{"an event is not published", planted{lostNews: true}, "law 3: sequence"},
		{"all tools are repeated", planted{repeatableTools: true}, "law 8"},
		{"the journal forgets what has begun", planted{forgottenStarts: true}, "law 8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tools := box(t, tc.bug)
			for seed := range uint64(400) {
				problems, _ := play(seed, db, tools, tc.bug, nil)
				for _, p := range problems {
					if strings.Contains(p, tc.want) {
						t.Logf("seed %d: %.200s", seed, p)
						return
					}
				}
			}
			t.Error("nobody has noticed")
		})
	}
}

// Seeds that have found a bug are played for ever. A change of the simulation makes other histories of them, so that each bug has a
// test of its own, too.
//
// Rules: L6, L8.
func TestSimulationReplays(t *testing.T) {
	tools, db := box(t, planted{}), newSimStore(t)
	for _, r := range []struct {
		seed uint64
		bug  string
	}{
		// A runner froze between its claim and its look into the journal. Thawed, it found the calls that its successor was running, and
		// ran them as well (TestCallsOfASuccessorAreLeftAlone).
		{13263, "an at-most-once call ran twice"},
		// A runner that was declared dead claimed its own turn back under its new id, and the answer got lost; its earlier run made the
		// turn look as if it were at work (TestAClaimThatNobodyHeardOfIsToldFromAnEarlierOne).
		{16853, "a turn stood still for ever"},
		// The same with the slot of a message that was queued, whose sender had not heard of it yet.
		{87342, "a queued turn stood still for ever"},
		// An interrupting turn was taken back, and what it had carried came to a turn that had been shown newer messages
		// (TestWhatComesBackIsOlderThanWhatWasShown).
		{503088, "a message was stranded"},
		// A turn was sealed when its tool was about to run again, after a wait. The model was told that the call had not begun
		// (TestWhatACallIsToldThatIsInterrupted).
		{3982, "a call that had begun was told that it had no effect"},
	} {
		problems, _ := play(r.seed, db, tools, planted{}, nil)
		for _, p := range problems {
			t.Errorf("seed %d (%s): %s", r.seed, r.bug, p)
		}
	}
}
