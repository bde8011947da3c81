package commit

import (
	"slices"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// positionStep is the room between two turns of the line, so that others can be put in between.
const positionStep = 1 << 16

// AddTurn adds a turn for an input message, whose event was the last one emitted: at the head of the line when the session
// is at rest, else behind the others. It reports whether the turn is at the head.
func (tx *Tx) AddTurn(t models.Turn) (head bool) {
	if !tx.newTurn(&t, tx.Session.LastSequence*positionStep) {
		return true
	}
	tx.Session.QueuedTurns++
	if tx.queueComplete {
		tx.queue = append(tx.queue, &t)
	}
	tx.w.turns = append(tx.w.turns, &t)
	tx.Emit(&t.ID, events.TurnQueued{InputMessageID: t.InputMessageID})
	return false
}

// AddTurnFirst is AddTurn for a turn that comes before those that are queued, for commands whose Needs load the queue. The messages
// that the current turn has not been shown go with it.
func (tx *Tx) AddTurnFirst(t models.Turn) (head bool) {
	position := tx.Session.LastSequence * positionStep
	if len(tx.queue) > 0 {
		position = tx.queue[0].QueuePosition - positionStep
	}
	if !tx.newTurn(&t, position) {
		return true
	}
	if !tx.InboxEmpty() {
		moveInbox.put(tx.w, move{OrgID: tx.org, EndedID: tx.Turn.ID, Through: tx.Session.InputSequence, TurnID: t.ID})
		t.Carries, tx.displaced = tx.Session.InputSequence, true
		inherit(&t, tx.Turn)
		tx.Session.InputSequence = tx.Turn.ConsumedThrough
		tx.inbox, tx.inboxComplete = nil, true
	}
	tx.Session.QueuedTurns++
	tx.queue = append([]*models.Turn{&t}, tx.queue...)
	tx.w.turns = append(tx.w.turns, &t)
	tx.Emit(&t.ID, events.TurnQueued{InputMessageID: t.InputMessageID})
	return false
}

// newTurn fills in a turn that was added. It reports whether the turn has to wait: else it is at the head of the line.
func (tx *Tx) newTurn(t *models.Turn, position int64) (waits bool) {
	t.OrgID, t.SessionID, t.QueuedAt = tx.org, tx.sessionID, tx.Now
	t.Status, t.Phase, t.QueuePosition, t.InputSequence = models.TurnQueued, models.PhaseInput, position, tx.Session.LastSequence
	tx.w.newTurns = append(tx.w.newTurns, t.ID)
	if tx.Session.CurrentTurnID != nil {
		return true
	}
	tx.inbox, tx.inboxComplete = []waiting{{id: t.InputMessageID, sequence: tx.Session.LastSequence}}, true
	tx.toHead(t)
	return false
}

// Queue returns the turns behind the current one, in the order in which they will run, for commands whose Needs say so.
func (tx *Tx) Queue() []models.Turn {
	list := make([]models.Turn, len(tx.queue))
	for i, t := range tx.queue {
		list[i] = *t
	}
	return list
}

// Unqueue takes a turn out of the line and ends it: it is cancelled before it began. Needs must load the queue.
// An error must be returned by the command.
func (tx *Tx) Unqueue(id models.TurnID, end events.TurnCancelled) (found bool, err error) {
	i := tx.queued(id)
	if i < 0 {
		return false, nil
	}
	t := *tx.queue[i]
	if t.Carries > 0 && (tx.displaced || tx.consumed) {
		// What this batch has moved can't be moved back by it, and what it has shown to the turn at work was all there was for it.
		return false, tx.lacks(lackBatch)
	}
	tx.queue = slices.Delete(slices.Clone(tx.queue), i, i+1)
	tx.Session.QueuedTurns--
	reason := models.StopCancelled
	t.Status, t.StopReason, t.Phase, t.FinishedAt = models.TurnCancelled, &reason, models.PhaseEnd, tx.Now.Ptr()
	t.Cancel = &models.Cancel{At: tx.Now, Reason: end.Reason, ByKind: end.ByKind, ByID: end.ByID}
	t.EndedSequence = new(tx.Emit(&t.ID, end))
	tx.w.turns = append(tx.w.turns, &t)
	if t.Carries > 0 && tx.Turn != nil {
		// Only its own message was taken back: the others return to the turn that is at work.
		returnInbox.put(tx.w, returned{OrgID: tx.org, LeftID: t.ID, KeptID: t.InputMessageID, TurnID: tx.Turn.ID})
		tx.Session.InputSequence = max(tx.Session.InputSequence, t.Carries)
		inherit(tx.Turn, &t)
		// They may be older than what that turn has been shown: it need not be the one that they came from.
		tx.Turn.ConsumedThrough = 0
		tx.inbox, tx.inboxComplete, tx.returned = nil, false, true
	}
	return true, nil
}

// Reorder puts a queued turn before another one, or last when before is zero. Both must be queued; Needs must load the queue.
func (tx *Tx) Reorder(id, before models.TurnID) bool {
	i := tx.queued(id)
	if i < 0 {
		return false
	}
	t := *tx.queue[i]
	rest := slices.Delete(slices.Clone(tx.queue), i, i+1)
	at := len(rest)
	if !before.IsZero() {
		if at = slices.IndexFunc(rest, func(q *models.Turn) bool { return q.ID == before }); at < 0 {
			return false
		}
	}
	if at == i {
		return true
	}
	tx.queue = slices.Insert(rest, at, &t)
	switch {
	case at == 0:
		t.QueuePosition = tx.queue[1].QueuePosition - positionStep
	case at == len(tx.queue)-1:
		t.QueuePosition = tx.queue[at-1].QueuePosition + positionStep
	default:
		// Rounded down, also below zero, where turns that were moved to the front are: then there is no room when it is that of the one before.
		low := tx.queue[at-1].QueuePosition
		t.QueuePosition = low + (tx.queue[at+1].QueuePosition-low)/2
	}
	tx.w.turns = append(tx.w.turns, &t)
	if at > 0 && t.QueuePosition <= tx.queue[at-1].QueuePosition {
		tx.spread()
	}
	ids := make([]models.TurnID, len(tx.queue))
	for i, q := range tx.queue {
		ids[i] = q.ID
	}
	tx.Emit(nil, events.QueueReordered{TurnIDs: ids})
	return true
}

// spread gives all queued turns new positions, when there is no room between two of them.
func (tx *Tx) spread() {
	first := tx.queue[0].QueuePosition
	for i, q := range tx.queue {
		t := *q
		t.QueuePosition = first + int64(i)*positionStep
		tx.queue[i] = &t
		tx.w.turns = append(tx.w.turns, &t)
	}
}

func (tx *Tx) queued(id models.TurnID) int {
	return slices.IndexFunc(tx.queue, func(q *models.Turn) bool { return q.ID == id })
}

// Steer puts the message of an author, whose event was the last one emitted, into the inbox of the current turn.
func (tx *Tx) Steer(id models.MessageID, author *models.Actor) {
	tx.Session.InputSequence = tx.Session.LastSequence
	tx.inbox = append(tx.inbox, waiting{id: id, sequence: tx.Session.LastSequence, author: author})
	if author != nil {
		tx.Turn.AddAuthor(*author)
	}
}

// EditQueued replaces the message of a queued turn, whose author the editor becomes, for commands whose Needs load the queue. It reports
// whether the turn is queued.
func (tx *Tx) EditQueued(id models.TurnID, content []models.Part, editor models.Actor) bool {
	i := tx.queued(id)
	if i < 0 {
		return false
	}
	t := *tx.queue[i]
	tx.queue[i] = &t
	if t.AddAuthor(editor) {
		tx.w.turns = append(tx.w.turns, &t)
	}
	editMessage.put(tx.w, models.Message{OrgID: tx.org, ID: t.InputMessageID, Content: content})
	tx.Emit(&id, events.MessageEdited{
		Message: events.Message{ID: t.InputMessageID, Role: models.MessageUser, Content: content, CreatedAt: tx.Now},
		ByKind:  editor.Kind, ByID: models.RefTo(editor.Kind, editor.ID),
	})
	return true
}

// inherit makes the authors of a turn those of another one as well, to which messages of it go. They are not told apart by message: an
// inbox need not have been read.
func inherit(to, from *models.Turn) {
	if from.StartedByID != nil {
		to.AddAuthor(models.Actor{Kind: from.StartedByKind, ID: *from.StartedByID})
	}
	if from.Coauthors != nil {
		to.Coauthors = to.Coauthors.With(*from.Coauthors...)
	}
}

// SteerModel makes the current turn ask another model from its next step on.
func (tx *Tx) SteerModel(id *models.ModelID) {
	tx.Turn.ModelID = id
}

// toHead makes a turn the current one, ready to be claimed.
func (tx *Tx) toHead(t *models.Turn) {
	t.ReadyAt = tx.Now.Ptr()
	tx.Session.CurrentTurnID = &t.ID
	tx.Session.InputSequence = t.InputSequence
	tx.Turn = t
	// A turn that has not begun waits for nothing.
	tx.waitsComplete = true
	tx.w.turns = append(tx.w.turns, t)
	tx.w.ready = true
}

// ClaimTurn grants a runner the lease of the turn at the head of the line, in the transaction that made it ready.
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
	consumeInbox.put(tx.w, consume{
		OrgID: tx.org, TurnID: tx.Turn.ID, After: tx.Turn.ConsumedThrough, Through: tx.Session.InputSequence,
		Position: tx.Session.LastSequence + 1,
	})
	tx.Turn.ConsumedThrough, tx.consumed = tx.Session.InputSequence, true
	tx.inbox, tx.inboxComplete = nil, true
}

// EndTurn ends the current turn with the event that says how and gives up the lease. In the same transaction the line moves on:
// to a turn for the messages that still wait in the inbox, so that none is stranded however a turn ends; else to the
// next queued turn; else the session comes to rest. The command must have said so in Needs.Ends.
//
// An error of EndTurn must be returned by the command. One of them, which Submit never returns, puts the command off: a batch
// ends one turn of a session, because what is behind the next one wasn't read.
func (tx *Tx) EndTurn(status models.TurnStatus, reason models.StopReason, end events.Payload) error {
	if tx.ended {
		return tx.lacks(lackBatch)
	}
	if err := tx.Release(); err != nil {
		return err
	}
	tx.ended = true
	t := tx.Turn
	tx.w.turns = append(tx.w.turns, t)
	t.Status, t.StopReason, t.Phase = status, &reason, models.PhaseEnd
	t.FinishedAt = tx.Now.Ptr()
	t.RunnerID, t.ReadyAt, t.OutputMessageID = nil, nil, nil
	t.PendingCalls, t.WaitingCalls, t.Attention = 0, 0, false
	t.EndedSequence = new(tx.Emit(&t.ID, end))
	if t.Announced {
		closeWaits.put(tx.w, models.Wait{
			OrgID: tx.org, TurnID: t.ID, State: models.WaitCancelled, ResolvedAt: tx.Now.Ptr(),
			Resolution: jsonx.MustEncode(models.WaitResolution{ErrorMessage: "The turn has ended."}),
		})
	}
	if t.EndHooks {
		tx.AddHookJob(models.HookJob{
			ID: models.NewID[models.HookJobEntity](), TurnID: &t.ID, Event: "turn_end", DueAt: tx.Now,
			Payload: jsonx.MustEncode(map[string]any{"success": status == models.TurnCompleted, "stopReason": reason}),
		})
	}

	switch {
	case !tx.InboxEmpty():
		tx.stayAwake(t)
		return tx.turnForInbox(t)
	case tx.Session.QueuedTurns > 0:
		if len(tx.queue) == 0 {
			return tx.lacks(lackBehind)
		}
		n := *tx.queue[0]
		tx.queue = tx.queue[1:]
		tx.Session.QueuedTurns--
		// More than one message may wait for it, when it interrupted another turn.
		tx.inbox, tx.inboxComplete = nil, false
		tx.stayAwake(t)
		tx.toHead(&n)
		return nil
	}
	tx.Turn, tx.Session.CurrentTurnID = nil, nil
	tx.Session.Status = models.SessionIdle
	tx.Emit(&t.ID, events.SessionIdled{Usage: tx.Session.Usage})
	return nil
}

// stayAwake reports that a session whose turn has ended while it waited goes on with another one.
func (tx *Tx) stayAwake(ended *models.Turn) {
	if tx.Session.Status == models.SessionWaiting || tx.Session.Status == models.SessionPaused {
		tx.Session.Status = models.SessionActive
		tx.Emit(&ended.ID, events.SessionResumed{})
	}
}

func (tx *Tx) turnForInbox(ended *models.Turn) error {
	if !tx.inboxComplete || len(tx.inbox) == 0 {
		if tx.returned {
			return tx.lacks(lackBatch)
		}
		return tx.lacks(lackBehind)
	}
	t := models.Turn{
		OrgID: tx.org, ID: models.NewID[models.TurnEntity](), SessionID: tx.sessionID, InputMessageID: tx.inbox[0].id,
		ModelID: ended.ModelID, MaxTokens: ended.MaxTokens, QueuedAt: tx.Now, QueuePosition: tx.inbox[0].sequence * positionStep,
		StartedByKind: ended.StartedByKind, StartedByID: ended.StartedByID,
		InputSequence: tx.inbox[len(tx.inbox)-1].sequence, Status: models.TurnQueued, Phase: models.PhaseInput,
	}
	if author := tx.inbox[0].author; author != nil {
		t.StartedByKind, t.StartedByID = author.Kind, author.ID.Ptr()
	}
	inherit(&t, ended)
	tx.w.newTurns = append(tx.w.newTurns, t.ID)
	moveInbox.put(tx.w, move{OrgID: tx.org, EndedID: ended.ID, Through: t.InputSequence, TurnID: t.ID})
	tx.toHead(&t)
	return nil
}
