package commit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// Tx is a session under its lock, as the commands before this one have left it, and what this one adds to the transaction.
type Tx struct {
	// Now is the time of the batch.
	Now models.Millis
	// Session is the locked row; nil when there is none in the organization. Change it in place, but title, tags, model and
	// agent only together with SaveDetails; the other columns from before LastSequence never change.
	Session *models.Session
	// Turn is the turn at the head of the line; nil when the session is at rest. Change it in place: set its fields, don't
	// write through its pointers, which others share.
	Turn *models.Turn
	// Known is what the idempotency key was used for before; nil when it is new.
	Known *models.IdempotencyKey

	org       models.OrgID
	sessionID models.SessionID
	// queue are turns behind the head, in their order: all of them when it is complete, else the first one at the most. It is
	// loaded where Needs says so. The turns that it points to are shared: they are replaced, and never changed.
	queue         []*models.Turn
	queueComplete bool
	// calls and waits are what Needs asked for, as the commands have left them, and what the batch has added.
	calls map[string]models.Effect
	waits map[models.WaitID]models.Wait
	// waitsComplete is true when waits holds all that the current turn waits for.
	waitsComplete bool
	decisions     map[models.WaitID][]models.ApprovalDecision
	// payments are those that Needs named, as the commands have left them.
	payments map[models.PaymentID]models.Payment
	// inbox holds the waiting messages of the current turn: all of them when it is complete, else those of this batch.
	inbox         []waiting
	inboxComplete bool
	files         map[string]models.SessionFile
	// log is what Needs.Events asked for, as it was before this batch.
	log []models.Event
	// moved is true when earlier commands of the batch have changed the session, so that the database doesn't hold yet what tx
	// shows.
	moved bool
	// forks are the sessions that this command makes from the history of this one.
	forks []fork
	// displaced is true when messages were moved to an interrupting turn in this batch.
	displaced bool
	// returned is true when messages came back to the turn at work in this batch: the inbox that was read lacks them.
	returned bool
	// consumed is true when messages have joined the conversation in this batch.
	consumed bool
	// ended is true when a turn has ended in this batch: what is behind the present one wasn't loaded.
	ended bool
	// shared are the budgets that the batch has locked, budgets those of them that this command has changed.
	shared *budgetRows
	// rebound is true when the session's details, and with them maybe its agent, have changed in this batch: other budgets may bind it than were read.
	rebound bool
	// missing is what the command has found that it needs, and that wasn't read.
	missing lack
	budgets map[models.BudgetID]models.Budget
	// totals are those of the organization, as far as they are known, with what the commands before this one in the batch add.
	totals Totals
	// quotas are the caps that the command has asked about.
	quotas quotas
	w      *writes
}

// waiting is a message that the current turn has not been shown.
type waiting struct {
	id       models.MessageID
	sequence int64
	// author is who sent it; nil for the server.
	author *models.Actor
}

// Emit adds an event and returns its sequence, the next one of the session.
func (tx *Tx) Emit(turn *models.TurnID, p events.Payload) int64 {
	return tx.EmitData(turn, p.Kind(), jsonx.MustEncode(p))
}

// EmitData is Emit for a payload that is encoded already.
func (tx *Tx) EmitData(turn *models.TurnID, kind models.EventKind, data models.JSON) int64 {
	tx.Session.LastSequence++
	insertEvent.put(tx.w, models.Event{
		OrgID: tx.org, SessionID: tx.sessionID, Sequence: tx.Session.LastSequence, ID: models.NewID[models.EventEntity](),
		Kind: kind, TurnID: turn, Data: data, OccurredAt: tx.Now, AgentID: tx.Session.AgentID,
	})
	return tx.Session.LastSequence
}

// CreateSession makes the session that the command needs.
func (tx *Tx) CreateSession(s models.Session) {
	tx.Session = &s
	tx.w.newSession = true
}

// SaveDetails writes title, tags, client tools, model and agent of the session, which other commands leave alone.
func (tx *Tx) SaveDetails() { tx.w.details = true }

// TagSession makes the session findable by its tags.
func (tx *Tx) TagSession(tags []string) {
	for _, t := range tags {
		insertTag.put(tx.w, label{tx.org, t, tx.sessionID})
	}
}

// ReplaceTags makes the session findable by these tags and no others.
func (tx *Tx) ReplaceTags(tags []string) {
	tx.w.retag = true
	insertTag.keep(tx.w, none)
	tx.TagSession(tags)
}

// AddMessage adds a message to the session.
func (tx *Tx) AddMessage(m models.Message) {
	m.OrgID, m.SessionID = tx.org, tx.sessionID
	insertMessage.put(tx.w, m)
}

// AddEffect claims an effect in the journal.
func (tx *Tx) AddEffect(e models.Effect) {
	e.OrgID, e.SessionID = tx.org, tx.sessionID
	insertEffect.put(tx.w, e)
	tx.keepCall(e)
}

// PutEffect journals an effect that has come to its end, whether or not the journal has it: writing it twice changes nothing.
func (tx *Tx) PutEffect(e models.Effect) {
	e.OrgID, e.SessionID = tx.org, tx.sessionID
	putEffect.put(tx.w, e)
}

// SaveEffect changes state, outcome and times of an effect that was claimed by an earlier command.
func (tx *Tx) SaveEffect(e models.Effect) {
	e.OrgID, e.SessionID = tx.org, tx.sessionID
	updateEffect.put(tx.w, e)
	tx.keepCall(e)
}

// AmendEffect changes what an effect that was claimed by an earlier command, and has not run, asks for.
func (tx *Tx) AmendEffect(e models.Effect) {
	e.OrgID, e.SessionID = tx.org, tx.sessionID
	amendEffect.put(tx.w, e)
	tx.keepCall(e)
}

// keepCall keeps the calls without a result as Calls returns them.
func (tx *Tx) keepCall(e models.Effect) {
	known, ok := tx.calls[e.ReplayKey]
	switch {
	case e.State == models.EffectSettled:
		delete(tx.calls, e.ReplayKey)
	case ok:
		known.State, known.Epoch, known.Attempt, known.StartedAt, known.DueAt = e.State, e.Epoch, e.Attempt, e.StartedAt, e.DueAt
		if len(e.Request) > 0 {
			known.Request, known.InputHash = e.Request, e.InputHash
		}
		tx.calls[e.ReplayKey] = known
	case e.Kind == models.EffectTool:
		tx.calls[e.ReplayKey] = e
	}
}

// Calls returns the calls of the current turn that have no result, in the model's order, for commands whose Needs say so.
func (tx *Tx) Calls() []models.Effect {
	list := slices.Collect(maps.Values(tx.calls))
	slices.SortFunc(list, func(a, b models.Effect) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.ReplayKey, b.ReplayKey))
	})
	return list
}

// RewriteMessage replaces the content of a message that is part of the conversation.
func (tx *Tx) RewriteMessage(id models.MessageID, content []models.Part) {
	rewriteMessage.put(tx.w, models.Message{OrgID: tx.org, ID: id, Content: content})
}

// AddSetup stores what a session brings, if it is not there yet.
func (tx *Tx) AddSetup(s models.SessionSetup) {
	s.OrgID = tx.org
	insertSetup.put(tx.w, s)
}

// AddHookJob adds hooks that run when the transaction has committed.
func (tx *Tx) AddHookJob(j models.HookJob) {
	j.OrgID, j.SessionID = tx.org, tx.sessionID
	insertJob.put(tx.w, j)
}

// EndHookJob removes hooks that have run.
func (tx *Tx) EndHookJob(id models.HookJobID) {
	dropJob.put(tx.w, models.HookJob{OrgID: tx.org, ID: id})
}

// DropCheckpoint removes the checkpoint of the current turn's stream.
func (tx *Tx) DropCheckpoint() {
	dropCheckpoint.put(tx.w, models.Checkpoint{OrgID: tx.org, TurnID: tx.Turn.ID})
}

// SaveTodos replaces the agent's plan.
func (tx *Tx) SaveTodos(items []models.Todo) {
	putTodos.put(tx.w, models.SessionTodos{OrgID: tx.org, SessionID: tx.sessionID, Items: items, UpdatedAt: tx.Now})
}

// Rate replaces what somebody thinks of a turn of the session. Its error must be returned by the command: it decides by the log, which doesn't hold
// what the batch has changed.
func (tx *Tx) Rate(f models.Feedback) error {
	if tx.moved {
		return tx.lacks(lackBatch)
	}
	f.OrgID, f.SessionID, f.RatedAt = tx.org, tx.sessionID, tx.Now
	putFeedback.put(tx.w, f)
	return nil
}

// Remember stores the answer to the request under its idempotency key, which must be new, or past its time.
func (tx *Tx) Remember(k IdempotencyKey, inputHash []byte, result any, until models.Millis) {
	if tx.Known != nil && tx.Known.ExpiresAt <= tx.Now {
		dropKey.put(tx.w, *tx.Known)
	}
	insertKey.put(tx.w, models.IdempotencyKey{
		OrgID: tx.org, Operation: k.Operation, Key: k.Key, InputHash: inputHash, Result: jsonx.MustEncode(result), ExpiresAt: until,
	})
}

// File returns an entry that Needs.Files named, as it stands now.
func (tx *Tx) File(path string) (models.SessionFile, bool) {
	f, ok := tx.files[path]
	return f, ok
}

// FilesLoaded returns all entries that Needs.Files named and that exist; there may be others among them, which commands of the
// same batch have named.
func (tx *Tx) FilesLoaded() map[string]models.SessionFile { return tx.files }

// PutFile writes an entry; blob is its content, nil for directories.
func (tx *Tx) PutFile(f models.SessionFile, blob *models.Blob) {
	f.OrgID, f.SessionID, f.UpdatedAt = tx.org, tx.sessionID, tx.Now
	tx.Session.FileBytes += f.Size - tx.files[f.Path].Size
	tx.files[f.Path] = f
	putFile.put(tx.w, f)
	if blob != nil {
		blob.OrgID = tx.org
		insertBlob.put(tx.w, *blob)
	}
}

// RemoveFile deletes an entry.
func (tx *Tx) RemoveFile(f models.SessionFile) {
	f.OrgID, f.SessionID = tx.org, tx.sessionID
	tx.Session.FileBytes -= tx.files[f.Path].Size
	delete(tx.files, f.Path)
	deleteFile.put(tx.w, f)
}
