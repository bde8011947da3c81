package events

import (
	"sync"
	"sync/atomic"

	"github.com/ostler-dev/ostler/internal/models"
)

// stream is what this process knows of a session, or an organization's feed, that it has subscribers for. What is said of
// sequences here is true of positions in a feed; place tells the two apart.
//
// Durable events come from commits in this process, from the bus and from the log, in any order and more than once;
// take puts them in order. They go to the subscribers that are attached. The others read the log themselves until they
// have all that the stream has, and attach in that moment: so nothing is missed and nothing comes twice.
type stream struct {
	hub *Hub
	key Key
	// active is true when a turn is at work.
	active atomic.Bool
	// refs counts the subscribers; guarded by the hub's mutex.
	refs int
	// ready is closed when the stream knows where the log ends, or err says why not.
	ready chan struct{}
	err   error

	mu sync.Mutex
	// last is the sequence up to which everything was handed on; -1 before the stream is ready.
	last int64
	// target is how far the log is known to go.
	target int64
	// early holds events that came before their turn.
	early map[int64]*Item
	// subs are the attached subscribers.
	subs []*Subscription
	// open is the output that is open as of last, and ahead one whose beginning is still to come.
	open, ahead *output
	// completed is the message that was completed last: deltas of it come too late.
	completed models.MessageID
	scratch   []*Item

	pages       map[int64]*pageRead
	nextHead    *headRead
	readingHead bool

	catching bool
	stopGap  func() bool
	// resting is true when the checkpoint was read a short while ago, or is being read.
	resting  bool
	stopRest func() bool

	ended     bool
	cancelBus func()
}

// maxEarly bounds what is kept of events that came before their turn; the log has the others.
const maxEarly = 512

// place returns where an event stands on the stream.
func (s *stream) place(item *Item) int64 {
	if s.key.Feed() {
		return *item.Event.FeedPosition // what has none never gets here
	}
	return item.Event.Sequence
}

// take takes events in, in order among themselves. The caller holds the mutex.
func (s *stream) take(items []*Item) {
	if s.ended || len(items) == 0 {
		return
	}
	run := s.scratch[:0]
	for _, item := range items {
		n := s.place(item)
		s.target = max(s.target, n)
		switch {
		case s.last >= 0 && n == s.last+1:
			run = s.accept(run, item)
		case n > s.last && len(s.early) < maxEarly:
			if s.early == nil {
				s.early = map[int64]*Item{}
			}
			s.early[n] = item
		}
	}
	s.hand(s.acceptEarly(run))
}

// acceptEarly takes in what had come before its turn and is next now.
func (s *stream) acceptEarly(run []*Item) []*Item {
	if s.last < 0 || len(s.early) == 0 {
		return run
	}
	for item := s.early[s.last+1]; item != nil; item = s.early[s.last+1] {
		run = s.accept(run, item)
	}
	for n := range s.early {
		if n <= s.last {
			delete(s.early, n)
		}
	}
	if len(s.early) == 0 {
		s.early = nil
	}
	return run
}

// accept notes what the next event changes.
func (s *stream) accept(run []*Item, item *Item) []*Item {
	s.last = s.place(item)
	if s.key.Feed() {
		// Where there was one, more are to be expected; the next look at the database tells better.
		s.active.Store(true)
		return append(run, item)
	}
	switch item.Event.Kind {
	case models.EventSessionActivated, models.EventTurnStarted:
		s.active.Store(true)
	case models.EventSessionIdled:
		s.active.Store(false)
		s.complete()
	case models.EventOutputStarted:
		s.complete()
		p, _ := item.Payload()
		if p, ok := p.(OutputStarted); ok {
			s.begin(item.Event.TurnID, p.MessageID)
		}
	case models.EventOutputCompleted, models.EventTurnCompleted, models.EventTurnFailed, models.EventTurnSealed:
		s.complete()
	default:
	}
	return append(run, item)
}

func (s *stream) begin(turn *models.TurnID, message models.MessageID) {
	if s.ahead != nil && s.ahead.message == message {
		s.open, s.ahead = s.ahead, nil
		return
	}
	s.open = &output{key: s.key, message: message, turn: models.Value(turn)}
}

func (s *stream) complete() {
	if s.open != nil {
		s.completed = s.open.message
		s.open.closed.Store(true)
		s.open = nil
	}
}

// hand passes a run of events to the attached subscribers.
func (s *stream) hand(run []*Item) {
	if len(run) > 0 {
		for i := 0; i < len(s.subs); {
			if s.subs[i].push(run, s.hub.cfg.Buffer) {
				i++
			} else {
				s.drop(s.subs[i])
			}
		}
		clear(run)
		s.scratch = run[:0]
		if cap(run) > smallQueue {
			s.scratch = nil
		}
		if s.open != nil && !s.open.empty() {
			s.announce()
		}
	}
	s.checkGap()
}

// announce tells the attached subscribers that the open output has text. What is missing of it is looked for.
func (s *stream) announce() {
	for _, sub := range s.subs {
		sub.pushText(s.open, s.hub.cfg.Buffer)
	}
	s.checkText()
}

// delta takes a piece of text in.
func (s *stream) delta(d Delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || d.MessageID == s.completed {
		return
	}
	if s.open != nil && s.open.message == d.MessageID {
		if s.open.apply(d) {
			s.announce()
		} else {
			s.checkText()
		}
		return
	}
	// Its beginning is not in the log yet as far as this process knows, or it was completed long ago.
	if s.ahead == nil || s.ahead.message != d.MessageID {
		s.ahead = &output{key: s.key, turn: d.TurnID, message: d.MessageID}
	}
	s.ahead.apply(d)
}

// tell hands an ephemeral event on.
func (s *stream) tell(turn models.TurnID, p Payload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.subs) == 0 {
		return
	}
	n := &note{key: s.key, turn: turn, payload: p, at: s.hub.now()}
	for _, sub := range s.subs {
		sub.pushNote(n, s.hub.cfg.Buffer)
	}
}

// attach makes a subscriber live if it has all that the stream has, and all that it wants to have before. Otherwise it
// tells after which event the reader should read: where a reader that comes from another process is ahead of the stream,
// that is the stream's place, since what is live there is old news to the reader.
func (s *stream) attach(sub *Subscription) (ok bool, after int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		sub.fail(ErrStopped)
	} else if sub.sequence < max(s.last, sub.goal) || sub.sequence > s.last && s.target > s.last {
		return false, min(sub.sequence, s.last), nil
	}
	if err := sub.enliven(); err != nil {
		return false, 0, err
	}
	sub.index = len(s.subs)
	s.subs = append(s.subs, sub)
	if s.open != nil {
		sub.pushText(s.open, s.hub.cfg.Buffer)
		s.checkText()
	}
	s.checkGap()
	return true, 0, nil
}

// drop takes a subscriber off the list of the attached ones.
func (s *stream) drop(sub *Subscription) {
	if sub.index < 0 {
		return
	}
	end := len(s.subs) - 1
	moved := s.subs[end]
	s.subs[sub.index], moved.index = moved, sub.index
	s.subs[end] = nil
	s.subs = s.subs[:end]
	sub.index = -1
}

// leave ends a subscriber's part in the stream.
func (s *stream) leave(sub *Subscription) {
	s.mu.Lock()
	s.drop(sub)
	s.mu.Unlock()
	s.hub.release(s)
}
