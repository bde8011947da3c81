package turns

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
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
	// DecideLost means that it was begun under a later lease: the present one is lost, though the runner may not have noticed.
	DecideLost
)

// MismatchError means that a key of the journal stands for another input than before. What was done is not what would be done now, so
// that nothing can be made of either: the turn fails.
type MismatchError struct {
	// Key is the effect's in the journal, Have the hash of the input that it was claimed with, and Got that of the one that is asked
	// for now.
	Key       string
	Have, Got []byte
}

// CodeMismatch is the code of a MismatchError, for tools and for users.
const CodeMismatch = "replay_mismatch"

// maxNamedKey is how much of a key users are shown, in bytes: tools choose the ids of their steps.
const maxNamedKey = 200

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: %s was claimed with input %s and is now asked for with input %s",
		CodeMismatch, e.Key, hex.EncodeToString(e.Have), hex.EncodeToString(e.Got))
}

// mismatchFields is what programs are told of a mismatch. The hashes are in hexadecimal digits.
type mismatchFields struct {
	Effect   string `json:"effect"`
	Recorded string `json:"recorded"`
	Asked    string `json:"asked"`
}

// Failure is how the turn fails.
func (e *MismatchError) Failure() Failed {
	have, got, key := hex.EncodeToString(e.Have), hex.EncodeToString(e.Got), tools.Shorten(texts.Clean(e.Key), maxNamedKey)
	return Failed{Stop: models.StopError, Failure: models.Failure{
		Code: CodeMismatch,
		Message: fmt.Sprintf("The effect log has %s with another input: the hash was %s and is now %s. What was done before is therefore unknown, "+
			"and the call was stopped. Check what the tool did, then send a message to continue.", key, have, got),
		Fields: jsonx.MustEncode(mismatchFields{Effect: key, Recorded: have, Asked: got}),
	}}
}

// ClaimRequest is what a runner wants to do about an effect.
type ClaimRequest struct {
	// InputHash is that of what it would do.
	InputHash []byte
	// Epoch is the runner's lease.
	Epoch int64
	// Repeatable reports whether it may be done twice.
	Repeatable bool
}

// DecideClaim decides what a runner does about an effect of which the journal has row; nil when it has none. It is pure.
func DecideClaim(row *models.Effect, r ClaimRequest) (Decision, error) {
	if row == nil {
		return DecideRun, nil
	}
	if !bytes.Equal(row.InputHash, r.InputHash) {
		return DecideBusy, &MismatchError{Key: row.ReplayKey, Have: row.InputHash, Got: r.InputHash}
	}
	switch {
	case row.State == models.EffectSettled && failedStep(row):
		return DecideRunAgain, nil
	case row.State == models.EffectSettled:
		return DecideReplay, nil
	case row.State == models.EffectClaimed:
		return DecideRun, nil
	case row.State == models.EffectWaiting:
		return DecideWait, nil
	case row.Epoch > r.Epoch:
		return DecideLost, nil
	case row.Epoch == r.Epoch:
		return DecideBusy, nil
	case r.Repeatable:
		return DecideRunAgain, nil
	}
	return DecideInterrupted, nil
}

// failedStep reports whether an entry is a step that failed: a later attempt does it again.
func failedStep(row *models.Effect) bool {
	if row.Kind != models.EffectStep {
		return false
	}
	var out StepOutcome
	return json.Unmarshal(row.Outcome, &out) == nil && out.Error != ""
}

// StepOutcome is what came of a step, as the journal keeps it.
type StepOutcome struct {
	Value models.JSON `json:"value,omitempty"`
	// Code and Error tell why it failed.
	Code  string `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}

// SaveStep journals what came of a step.
type SaveStep struct {
	Writer
	Effect models.Effect
}

// Needs implements commit.Command.
func (c *SaveStep) Needs() commit.Needs { return c.needs(512+2*len(c.Effect.Outcome), false) }

// Apply implements commit.Command.
func (c *SaveStep) Apply(tx *commit.Tx) error {
	if !failedStep(&c.Effect) {
		// One that fails each time would let a turn go on for ever whose runners die of it.
		tx.Turn.Takeovers = 0
	}
	// It makes no event, by which a lost reply could be told from a failed commit, so that it may be applied again.
	tx.PutEffect(c.Effect)
	return nil
}
