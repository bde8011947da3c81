package turns

import (
	"slices"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// Begin marks the current turn as started, once.
func Begin(tx *commit.Tx) {
	t := tx.Turn
	if t.StartedAt != nil {
		return
	}
	t.StartedAt = tx.Now.Ptr()
	if tx.Session.Status != models.SessionActive {
		tx.Session.Status = models.SessionActive
		tx.Emit(&t.ID, events.SessionActivated{})
	}
	tx.Emit(&t.ID, events.TurnStarted{InputMessageID: t.InputMessageID})
}

// explain tells the user in a message of the agent why the turn ends before its next step, which begins and fails with it. The model is
// the one that would have been asked.
func explain(tx *commit.Tx, model string, f *models.Failure) {
	t := tx.Turn
	iteration, output := t.Iteration+1, models.NewID[models.MessageEntity]()
	tx.Emit(&t.ID, events.ReasonStarted{Iteration: iteration})
	tx.Emit(&t.ID, events.OutputStarted{MessageID: output, Model: model, Iteration: iteration})
	AddMessage(tx, models.Message{
		ID: output, TurnID: t.ID, Role: models.MessageAgent, Content: []models.Part{}, Error: f, CreatedAt: tx.Now,
	}, nil)
	t.FinalMessageID = &output
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: iteration})
}

// AddMessage adds a message of the agent at the sequence of the event that carries it, and at the same position of the
// conversation.
func AddMessage(tx *commit.Tx, m models.Message, usage *models.Usage) int64 {
	m.Sequence = tx.Emit(&m.TurnID, events.OutputCompleted{
		Message: events.Message{
			ID: m.ID, Role: m.Role, Content: shownParts(m.Content), CreatedAt: m.CreatedAt, Error: m.Error, Interrupted: m.Interrupted,
		}, Usage: usage,
	})
	m.Position = &m.Sequence
	tx.AddMessage(m)
	return m.Sequence
}

// shownParts returns parts without what only their provider may see: events are shown as they are stored.
func shownParts(parts []models.Part) []models.Part {
	return WithoutMetadata(parts, func(p *models.Part) bool { return len(p.Metadata) > 0 || p.Origin != "" })
}

// WithoutMetadata returns parts without the metadata of those that the condition holds for. The parts that it gets may be shared, so they
// are copied when there is something to change.
func WithoutMetadata(parts []models.Part, drop func(*models.Part) bool) []models.Part {
	copied := false
	for i := range parts {
		if !drop(&parts[i]) {
			continue
		}
		if !copied {
			parts, copied = slices.Clone(parts), true
		}
		parts[i].Metadata, parts[i].Origin = nil, ""
	}
	return parts
}

// Fail ends a turn that is parked, or between two steps, with a message that tells why. What is open is closed. Needs must load calls and
// waits.
func Fail(tx *commit.Tx, model string, stop models.StopReason, f models.Failure) error {
	if err := closeFor(tx, model, "The turn has failed.", f); err != nil {
		return err
	}
	return tx.EndTurn(models.TurnFailed, stop, events.TurnFailed{StopReason: stop, Error: f})
}

// Seal is Fail for a turn that may not go on, though nothing is wrong with it.
func Seal(tx *commit.Tx, model string, stop models.StopReason, f models.Failure) error {
	if err := closeFor(tx, model, "The turn was stopped.", f); err != nil {
		return err
	}
	return tx.EndTurn(models.TurnSealed, stop, events.TurnSealed{StopReason: stop, Error: f})
}

// closeFor closes what is open of a turn, and tells why.
func closeFor(tx *commit.Tx, model, why string, f models.Failure) error {
	t := tx.Turn
	Begin(tx)
	closeWaits(tx, why)
	if err := closeCalls(tx, (*Call).Interrupted); err != nil {
		return err
	}
	// It says so in a step of its own, for which it must not wait.
	if t.Status == models.TurnWaiting {
		tx.Resume()
	}
	t.Error = &f
	explain(tx, model, &f)
	return nil
}
