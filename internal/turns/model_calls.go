package turns

import (
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// Uncounted is what the model calls of a reason step took, until a commit counts it.
type Uncounted struct {
	// Made is how many calls there were. The command that began the step has counted one already.
	Made int
	// AskedAt is when the newest one was made; nil before the first.
	AskedAt *models.Millis
	// Through is the position of the newest message that its model was shown.
	Through int64
	// calls are those that took something; Usage is that of all, Newest that of the newest alone.
	calls         []MeteredCall
	Usage, Newest models.Usage
}

// Add takes in a call that took something.
func (u *Uncounted) Add(c MeteredCall) {
	u.Newest, u.Usage = c.Usage, u.Usage.Add(c.Usage)
	u.calls = append(u.calls, c)
}

// count adds it to the turn and its session, takes it off budgets, and records each call, but for the last one if the command records that as
// the answer. Its error must be returned by the command.
func (u *Uncounted) count(tx *commit.Tx, answered bool) error {
	if u == nil {
		return nil
	}
	if err := u.meter(tx, answered); err != nil {
		return err
	}
	tx.Turn.ModelCalls += u.Made - 1
	return nil
}

// FailureFields is what programs are told of a model that failed.
type FailureFields struct {
	// Provider and Model are the names of those that were asked last.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Status is the HTTP status of the last answer; 0 when there was none.
	Status int `json:"status,omitempty"`
	// Attempts is how many calls the step has made, of all models.
	Attempts int `json:"attempts"`
}

// MeteredCall is a model call that has ended.
type MeteredCall struct {
	// N counts the calls since the last commit that counted some, from 1.
	N          int
	Model      *models.Model
	Usage      models.Usage
	DurationMs int64
	// Retries counts the calls of the step that failed before it.
	Retries int
}

func (c *MeteredCall) fact(turn models.TurnID, number int) hold.Fact {
	return hold.ModelCall(turn, number, models.JournalEntry{
		ModelID: c.Model.ID.Ptr(), Model: c.Model.Name, Usage: c.Usage, DurationMs: c.DurationMs, ProviderCost: c.Usage.ProviderCost,
	})
}

// meter journals and records the calls, and takes what they cost off what the turn holds; see count. The command that began the step has
// counted the first call.
func (u *Uncounted) meter(tx *commit.Tx, answered bool) error {
	t := tx.Turn
	for i, c := range u.calls {
		if err := hold.Meter(tx, c.fact(t.ID, t.ModelCalls+c.N-1)); err != nil {
			return err
		}
		if answered && i == len(u.calls)-1 {
			break
		}
		tx.Emit(&t.ID, events.GenerationRecorded{
			MessageID: *t.OutputMessageID, Model: c.Model.Name, ModelID: c.Model.ID, Usage: c.Usage, DurationMs: c.DurationMs,
			FinishReason: FinishInterrupted, PromptThrough: u.Through, Retries: c.Retries,
		})
	}
	t.Usage, tx.Session.Usage = t.Usage.Add(u.Usage), tx.Session.Usage.Add(u.Usage)
	return nil
}

// countSoFar is count while another call is to follow.
func (u *Uncounted) countSoFar(tx *commit.Tx) error {
	if err := u.meter(tx, false); err != nil {
		return err
	}
	tx.Turn.ModelCalls += u.Made
	return nil
}

// Counted forgets what a commit has counted.
func (u *Uncounted) Counted() { u.Made, u.calls, u.Usage = 0, nil, models.Usage{} }
