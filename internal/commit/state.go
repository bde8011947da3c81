package commit

import (
	"maps"
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
)

// key names a session.
type key struct {
	org     models.OrgID
	session models.SessionID
}

// loaded is what a backend read of a session under its lock.
type loaded struct {
	session *models.Session
	turn    *models.Turn
	// next is the first turn of the queue, unless queue holds all of it.
	next      *models.Turn
	queue     []*models.Turn
	queueRead bool
	calls     map[string]models.Effect
	waits     map[models.WaitID]models.Wait
	waitsRead bool
	decisions map[models.WaitID][]models.ApprovalDecision
	payments  map[models.PaymentID]models.Payment
	// inbox was read unless inboxRead is false.
	inbox     []waiting
	inboxRead bool
	files     map[string]models.SessionFile
	log       []models.Event
}

// state is a session within a batch: what was loaded, and what the commands of the batch have made of it.
type state struct {
	tx    Tx
	turns map[models.TurnID]*models.Turn
	isNew map[models.TurnID]bool
	// unbegun are those of the loaded turns that had not begun.
	unbegun map[models.TurnID]bool
	// changed is true when a command of the batch has something to write.
	changed bool
	// putOff is true when a command of the batch had to be put off, and so must those behind it.
	putOff bool
	w      writes
}

func newState(k key, l loaded) *state {
	s := &state{
		tx: Tx{
			Session: l.session, Turn: l.turn, queue: l.queue, queueComplete: l.queueRead, inbox: l.inbox, files: l.files, log: l.log,
			calls: orEmpty(l.calls), waits: orEmpty(l.waits), decisions: orEmpty(l.decisions),
			payments: orEmpty(l.payments), org: k.org, sessionID: k.session,
		},
		turns: map[models.TurnID]*models.Turn{}, isNew: map[models.TurnID]bool{},
	}
	s.waited(l.turn, l.next)
	s.waited(l.queue...)
	s.tx.waitsComplete = l.waitsRead || l.turn == nil || l.turn.WaitingCalls == 0
	if l.next != nil && !l.queueRead {
		s.tx.queue = []*models.Turn{l.next}
	}
	s.tx.queueComplete = s.tx.queueComplete || l.session == nil || l.session.QueuedTurns == 0
	s.tx.inboxComplete = l.inboxRead || l.turn == nil || s.tx.InboxEmpty()
	if s.tx.files == nil {
		s.tx.files = map[string]models.SessionFile{}
	}
	return s
}

// draft returns what one command works on: copies, so that what a refused command did is forgotten.
func (s *state) draft(now models.Millis, known *models.IdempotencyKey) *Tx {
	tx := s.tx
	tx.Now, tx.Known, tx.w, tx.moved, tx.forks, tx.quotas, tx.budgets, tx.lacking = now, known, &writes{}, s.changed, nil, quotas{}, nil, false
	tx.files = maps.Clone(s.tx.files)
	tx.inbox = slices.Clone(s.tx.inbox)
	tx.queue = slices.Clone(s.tx.queue)
	tx.cloneKnown()
	tx.Session, tx.Turn = clone(s.tx.Session), clone(s.tx.Turn)
	return &tx
}

func orEmpty[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// merge takes over what a command has done.
func (s *state) merge(tx *Tx) {
	for _, t := range tx.w.turns {
		s.turns[t.ID] = t
	}
	if tx.Turn != nil && !sameTurn(s.tx.Turn, tx.Turn) {
		s.turns[tx.Turn.ID] = tx.Turn
	}
	for _, id := range tx.w.newTurns {
		s.isNew[id] = true
	}
	// A later command may change these further; they are written as they stand at the end of the batch.
	for _, t := range append(slices.Clip(tx.queue), tx.Turn) {
		if t != nil && s.turns[t.ID] != nil {
			s.turns[t.ID] = t
		}
	}
	w := tx.w
	s.w.newSession = s.w.newSession || w.newSession
	s.w.copies = append(s.w.copies, w.copies...)
	s.w.details = s.w.details || w.details
	s.w.ready = s.w.ready || w.ready
	s.w.messages = append(s.w.messages, w.messages...)
	s.w.consumes = append(s.w.consumes, w.consumes...)
	s.w.moves = append(s.w.moves, w.moves...)
	s.w.events = append(s.w.events, w.events...)
	s.w.newEffects = append(s.w.newEffects, w.newEffects...)
	s.w.effects = append(s.w.effects, w.effects...)
	s.w.putEffects = append(s.w.putEffects, w.putEffects...)
	s.w.amended = append(s.w.amended, w.amended...)
	s.w.newWaits = append(s.w.newWaits, w.newWaits...)
	s.w.waits = append(s.w.waits, w.waits...)
	s.w.decisions = append(s.w.decisions, w.decisions...)
	s.w.newJobs = append(s.w.newJobs, w.newJobs...)
	s.w.endedJobs = append(s.w.endedJobs, w.endedJobs...)
	s.w.edited = append(s.w.edited, w.edited...)
	s.w.closedTurns = append(s.w.closedTurns, w.closedTurns...)
	s.w.rewritten = append(s.w.rewritten, w.rewritten...)
	s.w.toolsets = append(s.w.toolsets, w.toolsets...)
	s.w.attention = s.w.attention || w.attention
	s.w.checkpoints = append(s.w.checkpoints, w.checkpoints...)
	s.w.blobs = append(s.w.blobs, w.blobs...)
	s.w.files = append(s.w.files, w.files...)
	s.w.deletedFiles = append(s.w.deletedFiles, w.deletedFiles...)
	s.w.todos = append(s.w.todos, w.todos...)
	s.w.entries = append(s.w.entries, w.entries...)
	s.w.journal = append(s.w.journal, w.journal...)
	s.w.postings = append(s.w.postings, w.postings...)
	s.w.payments = append(s.w.payments, w.payments...)
	s.w.paid = append(s.w.paid, w.paid...)
	if w.retag {
		s.w.retag, s.w.tags = true, nil
	}
	s.w.tags = append(s.w.tags, w.tags...)
	s.w.keys = append(s.w.keys, w.keys...)
	s.w.staleKeys = append(s.w.staleKeys, w.staleKeys...)
	tx.w, tx.Known, tx.forks, tx.budgets = nil, nil, nil, nil
	s.tx = *tx
}

// changedBy reports whether a command has anything to write.
func (s *state) changedBy(tx *Tx) bool {
	return tx.w.any() || len(tx.budgets) > 0 || !sameSession(s.tx.Session, tx.Session) || !sameTurn(s.tx.Turn, tx.Turn)
}

// any reports whether there is anything to write.
func (w *writes) any() bool {
	return w.newSession || len(w.copies) > 0 || w.details || w.retag || w.ready || w.attention ||
		len(w.newTurns) > 0 || len(w.turns) > 0 || len(w.messages) > 0 || len(w.consumes) > 0 || len(w.moves) > 0 ||
		len(w.events) > 0 || len(w.newEffects) > 0 || len(w.effects) > 0 || len(w.putEffects) > 0 || len(w.amended) > 0 || len(w.newWaits) > 0 || len(w.waits) > 0 ||
		len(w.decisions) > 0 || len(w.newJobs) > 0 || len(w.endedJobs) > 0 || len(w.edited) > 0 || len(w.rewritten) > 0 || len(w.closedTurns) > 0 || len(w.toolsets) > 0 ||
		len(w.checkpoints) > 0 || len(w.blobs) > 0 ||
		len(w.files) > 0 || len(w.deletedFiles) > 0 || len(w.todos) > 0 || len(w.tags) > 0 || len(w.keys) > 0 || len(w.staleKeys) > 0 ||
		len(w.entries) > 0 || len(w.journal) > 0 || len(w.postings) > 0 ||
		len(w.payments) > 0 || len(w.paid) > 0
}

// sameSession compares what updateSession writes, but for the time.
func sameSession(a, b *models.Session) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.LastSequence == b.LastSequence && a.InputSequence == b.InputSequence && a.Status == b.Status &&
		models.Same(a.CurrentTurnID, b.CurrentTurnID) && a.QueuedTurns == b.QueuedTurns && a.FileBytes == b.FileBytes && a.Usage == b.Usage &&
		models.Same(a.ResumedAt, b.ResumedAt) && models.Same(a.CompactedThrough, b.CompactedThrough)
}

// sameTurn may take equal turns for different, when their pointers are; that costs a write and no more.
func sameTurn(a, b *models.Turn) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
