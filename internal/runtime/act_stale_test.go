package runtime

import (
	"errors"
	"testing"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Law 8. A runner stands still between its claim and its look into the journal, and its successor goes on meanwhile: then the calls that it
// finds are the successor's, at work at this moment. It must not run them too.
func TestCallsOfASuccessorAreLeftAlone(t *testing.T) {
	for _, state := range []models.EffectState{models.EffectRunning, models.EffectClaimed} {
		mine := turns.Call{
			Effect: models.Effect{ReplayKey: "call/mine", State: models.EffectClaimed, Epoch: 2},
			Record: turns.Record{CallID: "mine", Frozen: tools.Frozen{Name: "look", Hints: tools.Hints{ReadOnly: true}}},
		}
		theirs := mine
		theirs.Record.CallID, theirs.Effect.ReplayKey, theirs.Effect.State, theirs.Effect.Epoch = "theirs", "call/theirs", state, 3
		for _, o := range []*turns.Call{&mine, &theirs} {
			o.Effect.InputHash = o.Record.Frozen.InputHash()
		}
		e := &Engine{cfg: Config{Workspace: sessions.NewWorkspace(nil, clock.System{}, nil), Clock: clock.System{}}, scheduling: scheduling{spawn: func(func()) { t.Errorf("a call runs that a successor has %s", state) }}}
		a := &actRun{r: &turnRun{e: e, turn: models.Turn{LeaseEpoch: 2}, session: &sessionInfo{}}, running: map[string]int{}, known: map[string]bool{}, done: make(chan *finished, 2)}
		if err := a.admit([]turns.Call{mine, theirs}); !errors.Is(err, commit.ErrLeaseLost) {
			t.Errorf("%s by a successor: %v", state, err)
		}
	}
}
