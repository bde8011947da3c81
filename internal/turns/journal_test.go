package turns

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

// Rules: L8, J2, J3, J6.
func TestDecideClaim(t *testing.T) {
	const mine = 5
	type question struct {
		state      models.EffectState
		epoch      int64
		repeatable bool
	}
	want := map[question]Decision{}
	for _, repeatable := range []bool{false, true} {
		for _, epoch := range []int64{1, 4, 5, 6} {
			want[question{models.EffectSettled, epoch, repeatable}] = DecideReplay
			want[question{models.EffectClaimed, epoch, repeatable}] = DecideRun
		}
		want[question{models.EffectRunning, mine, repeatable}] = DecideBusy
		want[question{models.EffectRunning, mine + 1, repeatable}] = DecideLost
	}
	for _, epoch := range []int64{1, 4} {
		want[question{models.EffectRunning, epoch, true}] = DecideRunAgain
		want[question{models.EffectRunning, epoch, false}] = DecideInterrupted
	}
	for q, d := range want {
		t.Run(fmt.Sprintf("%s under %d, repeatable %v", q.state, q.epoch, q.repeatable), func(t *testing.T) {
			row := models.Effect{ReplayKey: "call/x", State: q.state, Epoch: q.epoch, InputHash: []byte{1}}
			if got, err := DecideClaim(&row, ClaimRequest{InputHash: []byte{1}, Epoch: mine, Repeatable: q.repeatable}); got != d || err != nil {
				t.Errorf("decided is %d, %v; want %d", got, err, d)
			}
			_, err := DecideClaim(&row, ClaimRequest{InputHash: []byte{2}, Epoch: mine, Repeatable: q.repeatable})
			if _, ok := errors.AsType[*MismatchError](err); !ok {
				t.Fatalf("another input gives %v, want a mismatch", err)
			}
			for _, part := range []string{"replay_mismatch", "call/x", hex.EncodeToString([]byte{1}), hex.EncodeToString([]byte{2})} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q doesn't name %s", err, part)
				}
			}
		})
	}
}

// TestDecideClaimOfEverything goes through all that an entry can be. Of the rules below just one holds for each; what has an outcome is
// never done again, and what may have happened and must not be repeated never is.
//
// Rules: L8, J2, J3, J6.
func TestDecideClaimOfEverything(t *testing.T) {
	const mine = 5
	type entry struct {
		kind       models.EffectKind
		state      models.EffectState
		epoch      int64
		due        models.Millis
		outcome    string
		repeatable bool
	}
	running := func(e entry) bool { return e.state == models.EffectRunning }
	dead := func(e entry) bool { return running(e) && e.epoch < mine }
	failed := func(e entry) bool { return e.kind == models.EffectStep && strings.Contains(e.outcome, "error") }
	rules := []struct {
		name  string
		holds func(entry) bool
		want  Decision
	}{
		{"claimed", func(e entry) bool { return e.state == models.EffectClaimed }, DecideRun},
		{"waiting", func(e entry) bool { return e.state == models.EffectWaiting }, DecideWait},
		{"settled", func(e entry) bool { return e.state == models.EffectSettled && !failed(e) }, DecideReplay},
		{"a step that failed", func(e entry) bool { return e.state == models.EffectSettled && failed(e) }, DecideRunAgain},
		{"running under this lease", func(e entry) bool { return running(e) && e.epoch == mine }, DecideBusy},
		{"running under a later one", func(e entry) bool { return running(e) && e.epoch > mine }, DecideLost},
		{"running, repeatable", func(e entry) bool { return dead(e) && e.repeatable }, DecideRunAgain},
		// When its next attempt was due is no matter: clocks differ.
		{"running, not repeatable", func(e entry) bool { return dead(e) && !e.repeatable }, DecideInterrupted},
	}
	seen := make([]int, len(rules))
	for _, kind := range []models.EffectKind{models.EffectModel, models.EffectTool, models.EffectStep, models.EffectHook} {
		for _, state := range []models.EffectState{models.EffectClaimed, models.EffectRunning, models.EffectSettled, models.EffectWaiting} {
			for _, epoch := range []int64{0, 1, 4, 5, 6} {
				for _, due := range []models.Millis{0, 1, math.MaxInt64} {
					for _, outcome := range []string{"", "{}", `{"value":1}`, `{"error":"it failed"}`, `{"code":"x","error":"it failed"}`} {
						for _, repeatable := range []bool{false, true} {
							e := entry{kind, state, epoch, due, outcome, repeatable}
							row := models.Effect{
								ReplayKey: "k", Kind: kind, State: state, Epoch: epoch, InputHash: []byte{1}, Outcome: models.JSON(outcome),
							}
							if due != 0 {
								row.DueAt = due.Ptr()
							}
							before := row
							request := ClaimRequest{InputHash: []byte{1}, Epoch: mine, Repeatable: repeatable}
							got, err := DecideClaim(&row, request)
							held := 0
							for i, r := range rules {
								if !r.holds(e) {
									continue
								}
								held++
								seen[i]++
								if got != r.want || err != nil {
									t.Fatalf("%+v: decided is %d, %v; it is %s, want %d", e, got, err, r.name, r.want)
								}
							}
							if held != 1 {
								t.Fatalf("%d rules hold for %+v", held, e)
							}
							request.InputHash = []byte{1, 2}
							if _, err := DecideClaim(&row, request); !isMismatch(err) {
								t.Fatalf("%+v: another input gives %v", e, err)
							}
							if !reflect.DeepEqual(row, before) {
								t.Fatalf("%+v: the entry was changed to %+v", e, row)
							}
						}
					}
				}
			}
		}
	}
	for i, n := range seen {
		if n == 0 {
			t.Errorf("nothing was %s", rules[i].name)
		}
	}
	for _, request := range []ClaimRequest{{}, {InputHash: []byte{1}, Epoch: mine, Repeatable: true}} {
		if got, err := DecideClaim(nil, request); got != DecideRun || err != nil {
			t.Errorf("without an entry decided is %d, %v", got, err)
		}
	}
}

func isMismatch(err error) bool {
	_, ok := errors.AsType[*MismatchError](err)
	return ok
}
