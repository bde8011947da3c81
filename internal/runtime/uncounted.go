package runtime

import (
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// uncounted is what the model calls of a reason step took, until a commit counts it.
type uncounted struct {
	// made is how many calls there were. The command that began the step has counted one already.
	made int
	// askedAt is when the newest one was made; nil before the first.
	askedAt *models.Millis
	// through is the position of the newest message that its model was shown.
	through int64
	// calls are those that took something; usage is that of all, newest that of the newest alone.
	calls         []meteredCall
	usage, newest models.Usage
}

// add takes in a call that took something.
func (u *uncounted) add(c meteredCall) {
	u.newest, u.usage = c.usage, u.usage.Add(c.usage)
	u.calls = append(u.calls, c)
}

// count adds it to the turn and its session, takes it off budgets, and records each call, but for the last one if the command records that as
// the answer. Its error must be returned by the command.
func (u *uncounted) count(tx *commit.Tx, answered bool) error {
	if u == nil {
		return nil
	}
	if err := u.meter(tx, answered); err != nil {
		return err
	}
	tx.Turn.ModelCalls += u.made - 1
	return nil
}

// failureFields is what programs are told of a model that failed.
type failureFields struct {
	// Provider and Model are the names of those that were asked last.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Status is the HTTP status of the last answer; 0 when there was none.
	Status int `json:"status,omitempty"`
	// Attempts is how many calls the step has made, of all models.
	Attempts int `json:"attempts"`
}

// meteredCall is a model call that has ended.
type meteredCall struct {
	// n counts the calls since the last commit that counted some, from 1.
	n          int
	model      *models.Model
	usage      models.Usage
	durationMs int64
	// retries counts the calls of the step that failed before it.
	retries int
}

func (c *meteredCall) fact(turn models.TurnID, number int) hold.Fact {
	return hold.ModelCall(turn, number, models.JournalEntry{
		ModelID: c.model.ID.Ptr(), Model: c.model.Name, Usage: c.usage, DurationMs: c.durationMs, ProviderCost: c.usage.ProviderCost,
	})
}

// meter journals and records the calls, and takes what they cost off what the turn holds; see count. The command that began the step has
// counted the first call.
func (u *uncounted) meter(tx *commit.Tx, answered bool) error {
	t := tx.Turn
	for i, c := range u.calls {
		if err := hold.Meter(tx, c.fact(t.ID, t.ModelCalls+c.n-1)); err != nil {
			return err
		}
		if answered && i == len(u.calls)-1 {
			break
		}
		tx.Emit(&t.ID, events.GenerationRecorded{
			MessageID: *t.OutputMessageID, Model: c.model.Name, ModelID: c.model.ID, Usage: c.usage, DurationMs: c.durationMs,
			FinishReason: finishInterrupted, PromptThrough: u.through, Retries: c.retries,
		})
	}
	t.Usage, tx.Session.Usage = t.Usage.Add(u.usage), tx.Session.Usage.Add(u.usage)
	return nil
}

// countSoFar is count while another call is to follow.
func (u *uncounted) countSoFar(tx *commit.Tx) error {
	if err := u.meter(tx, false); err != nil {
		return err
	}
	tx.Turn.ModelCalls += u.made
	return nil
}

// counted forgets what a commit has counted.
func (u *uncounted) counted() { u.made, u.calls, u.usage = 0, nil, models.Usage{} }
