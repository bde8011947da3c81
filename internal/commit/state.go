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

func newState(k key, l *loaded) *state {
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
	tx.Now, tx.Known, tx.w, tx.moved, tx.forks, tx.quotas, tx.budgets, tx.missing = now, known, &writes{}, s.changed, nil, quotas{}, nil, 0
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
	tx.rebound = tx.rebound || tx.w.details
	s.w.merge(tx.w)
	tx.w, tx.Known, tx.forks, tx.budgets = nil, nil, nil, nil
	s.tx = *tx
}

// changedBy reports whether a command has anything to write.
func (s *state) changedBy(tx *Tx) bool {
	return tx.w.any() || len(tx.budgets) > 0 || !sameSession(s.tx.Session, tx.Session) || !sameTurn(s.tx.Turn, tx.Turn)
}

// writes is what a batch, or one command of it, writes.
type writes struct {
	// lists are rows, by their shapes.
	lists []written
	// newTurns and turns are those that were added and changed: they are written as they stand at the end of the batch. So is the
	// session, with its details, when they have changed, and its tags, when they are replaced.
	newTurns                   []models.TurnID
	turns                      []*models.Turn
	newSession, details, retag bool
	// ready is true when a turn can be claimed, attention when the runner of the current turn is to look at it.
	ready, attention bool
}

// written are rows of one shape.
type written struct {
	shape *shape
	rows  rowList
}

// list returns the rows of a shape; nil for none.
func (w *writes) list(s *shape) rowList {
	for _, l := range w.lists {
		if l.shape == s {
			return l.rows
		}
	}
	return nil
}

// merge takes over what a command writes besides turns.
func (w *writes) merge(more *writes) {
	w.newSession, w.details, w.retag = w.newSession || more.newSession, w.details || more.details, w.retag || more.retag
	w.ready, w.attention = w.ready || more.ready, w.attention || more.attention
	if more.retag {
		insertTag.keep(w, none)
	}
	if w.lists == nil {
		w.lists = more.lists
		return
	}
	for _, l := range more.lists {
		if have := w.list(l.shape); have != nil {
			have.add(l.rows)
		} else {
			w.lists = append(w.lists, l)
		}
	}
}

func none[T any](*T) bool { return false }

// any reports whether there is anything to write.
func (w *writes) any() bool {
	return w.newSession || w.details || w.retag || w.ready || w.attention || len(w.newTurns)+len(w.turns)+len(w.lists) > 0
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
