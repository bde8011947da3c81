package runtime

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// Decision is what to do with a call that is in the journal.
type Decision int

// The decisions.
const (
	// DecideRun means that the call has not begun: run it.
	DecideRun Decision = iota
	// DecideReplay means that it has an outcome: use that.
	DecideReplay
	// DecideRunAgain means that it had begun under a lease that is dead, and may be repeated.
	DecideRunAgain
	// DecideInterrupted means that it had begun under a lease that is dead, and must not be repeated: nobody knows
	// whether it happened.
	DecideInterrupted
	// DecideBusy means that it runs under the present lease.
	DecideBusy
	// DecideWait means that it waits for somebody: whoever resolves that decides what follows.
	DecideWait
)

// MismatchError means that a key of the journal stands for another input than before.
type MismatchError struct {
	Key       string
	Have, Got []byte
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("replay_mismatch: %s was claimed with input %s and is now asked for with input %s",
		e.Key, hex.EncodeToString(e.Have), hex.EncodeToString(e.Got))
}

// DecideClaim decides what a runner with the lease epoch does about a call of which the journal has row, and of which
// repeatable tells whether it may run twice. It is pure.
func DecideClaim(row models.Effect, inputHash []byte, epoch int64, repeatable bool) (Decision, error) {
	if !bytes.Equal(row.InputHash, inputHash) {
		return DecideBusy, &MismatchError{Key: row.ReplayKey, Have: row.InputHash, Got: inputHash}
	}
	switch {
	case row.State == models.EffectSettled:
		return DecideReplay, nil
	case row.State == models.EffectClaimed:
		return DecideRun, nil
	case row.State == models.EffectWaiting:
		return DecideWait, nil
	case row.Epoch >= epoch:
		return DecideBusy, nil
	case repeatable:
		return DecideRunAgain, nil
	}
	return DecideInterrupted, nil
}
