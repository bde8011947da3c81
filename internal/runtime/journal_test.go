package runtime

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

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
			// What was begun under a later lease is not this runner's business; the fence will tell it.
			want[question{models.EffectRunning, epoch, repeatable}] = DecideBusy
		}
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
