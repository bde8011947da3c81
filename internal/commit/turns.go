package commit

import (
	"errors"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// These put a command off to the next transaction, which reads more: most turns end with nothing behind them, so that the
// first one doesn't look, where that would cost something. In the second one they can't happen, unless the command hasn't said
// in Needs.Ends that it ends a turn, or the session's counters are wrong.
var (
	errNoNext  = errors.New("the next queued turn was not loaded")
	errNoInbox = errors.New("the inbox was not loaded")
)

// AddTurn adds a turn for an input message, whose event was the last one emitted: at the head of the line when the session
// is at rest, else behind the others. It reports whether the turn is at the head.
func (tx *Tx) AddTurn(t models.Turn) (head bool) {
	t.OrgID, t.SessionID, t.QueuedAt = tx.org, tx.sessionID, tx.Now
	t.Status, t.Phase, t.QueuePosition = models.TurnQueued, models.PhaseInput, tx.Session.LastSequence
	tx.w.newTurns = append(tx.w.newTurns, t.ID)
	if tx.Session.CurrentTurnID != nil {
		tx.Session.QueuedTurns++
		if tx.Session.QueuedTurns == 1 {
			tx.next = &t
		}
		tx.w.turns = append(tx.w.turns, &t)
		tx.Emit(&t.ID, events.TurnQueued{InputMessageID: t.InputMessageID})
		return false
	}
	tx.inbox, tx.inboxComplete = []waiting{{t.InputMessageID, tx.Session.LastSequence}}, true
	tx.toHead(&t)
	return true
}

// Steer puts the message whose event was the last one emitted into the inbox of the current turn.
func (tx *Tx) Steer(id models.MessageID) {
	tx.Session.InputSequence = tx.Session.LastSequence
	tx.inbox = append(tx.inbox, waiting{id, tx.Session.LastSequence})
}

// SteerModel makes the current turn ask another model from its next step on.
func (tx *Tx) SteerModel(id *models.ModelID) {
	tx.Turn.ModelID = id
}

// toHead makes a turn the current one, ready to be claimed.
func (tx *Tx) toHead(t *models.Turn) {
	t.ReadyAt = tx.Now.Ptr()
	tx.Session.CurrentTurnID = &t.ID
	tx.Session.InputSequence = t.QueuePosition
	if n := len(tx.inbox); n > 0 {
		tx.Session.InputSequence = tx.inbox[n-1].sequence
	}
	tx.Turn = t
	tx.w.turns = append(tx.w.turns, t)
	tx.w.ready = true
}

// ClaimTurn gives the lease of the turn at the head of the line to a runner, in the transaction that made it ready.
func (tx *Tx) ClaimTurn(runner models.RunnerID) {
	tx.Turn.ReadyAt = nil
	tx.Turn.RunnerID = &runner
	tx.Turn.LeaseEpoch++
	tx.Turn.Status = models.TurnRunning
	tx.w.ready = false
}

// InboxEmpty reports whether the current turn has been shown every message that was received for it.
func (tx *Tx) InboxEmpty() bool { return tx.Session.InputSequence <= tx.Turn.ConsumedThrough }

// ConsumeInbox brings all waiting messages of the current turn into the conversation, at the position of the next event.
func (tx *Tx) ConsumeInbox() {
	if tx.InboxEmpty() {
		return
	}
	tx.w.consumes = append(tx.w.consumes, consume{
		turn: tx.Turn.ID, after: tx.Turn.ConsumedThrough, through: tx.Session.InputSequence,
		position: tx.Session.LastSequence + 1,
	})
	tx.Turn.ConsumedThrough = tx.Session.InputSequence
	tx.inbox, tx.inboxComplete = nil, true
}

// EndTurn ends the current turn with the event that says how and gives up the lease. In the same transaction the line moves on:
// to a turn for the messages that still wait in the inbox, so that none is stranded however a turn ends; else to the
// next queued turn; else the session comes to rest. The command must have said so in Needs.Ends.
//
// An error of EndTurn must be returned by the command. One of them, which Submit never gives, puts the command off: a batch
// ends one turn of a session, because what is behind the next one wasn't read.
func (tx *Tx) EndTurn(status models.TurnStatus, reason models.StopReason, end events.Payload) error {
	if tx.ended {
		return errNextBatch
	}
	tx.ended = true
	t := tx.Turn
	tx.w.turns = append(tx.w.turns, t)
	t.Status, t.StopReason, t.Phase = status, &reason, models.PhaseEnd
	t.FinishedAt = tx.Now.Ptr()
	t.RunnerID, t.ReadyAt, t.OutputMessageID = nil, nil, nil
	t.PendingCalls = 0
	tx.Emit(&t.ID, end)

	switch {
	case !tx.InboxEmpty():
		return tx.turnForInbox(t)
	case tx.Session.QueuedTurns > 0:
		if tx.next == nil {
			return errNoNext
		}
		n := tx.next
		tx.next = nil
		tx.Session.QueuedTurns--
		tx.inbox, tx.inboxComplete = []waiting{{n.InputMessageID, n.QueuePosition}}, true
		tx.toHead(n)
		return nil
	}
	tx.Turn, tx.Session.CurrentTurnID = nil, nil
	tx.Session.Status = models.SessionIdle
	tx.Emit(&t.ID, events.SessionIdled{Usage: tx.Session.Usage})
	return nil
}

func (tx *Tx) turnForInbox(ended *models.Turn) error {
	if !tx.inboxComplete || len(tx.inbox) == 0 {
		return errNoInbox
	}
	t := models.Turn{
		OrgID: tx.org, ID: models.NewID[models.TurnEntity](), SessionID: tx.sessionID, InputMessageID: tx.inbox[0].id,
		ModelID: ended.ModelID, MaxTokens: ended.MaxTokens, QueuedAt: tx.Now, QueuePosition: tx.inbox[0].sequence,
		Status: models.TurnQueued, Phase: models.PhaseInput,
	}
	tx.w.newTurns = append(tx.w.newTurns, t.ID)
	tx.w.moves = append(tx.w.moves, move{ended.ID, t.ID})
	tx.toHead(&t)
	return nil
}
