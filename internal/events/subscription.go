package events

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// LaggedError ends a stream whose reader was too slow, or for which there was no memory: durable events would have had to be left out.
type LaggedError struct {
	// LastSequence is that of the last durable event that was delivered; in a feed, its position. Subscribing with it as
	// After goes on there.
	LastSequence int64
	// Mark is that of the event.
	Mark Mark
	// Memory is true when there was no memory for the next event.
	Memory bool
}

func (e *LaggedError) Error() string {
	return fmt.Sprintf("the subscriber fell too far behind; subscribe again after %d", e.LastSequence)
}

// LostPlaceError refuses a stream that is to begin at a place which the log doesn't have, or has another event at: whoever asks has seen events
// that are not there any more, because the database was restored from a backup, or were of another log.
type LostPlaceError struct {
	// LastSequence is that of the newest durable event when the stream began; in a feed, its position.
	LastSequence int64
	// Replaced is true when another event is at the place, and false when the log ends before it.
	Replaced bool
}

func (e *LostPlaceError) Error() string {
	if e.Replaced {
		return "the log has another event at the place"
	}
	return fmt.Sprintf("the log ends at %d", e.LastSequence)
}

// ErrStopped ends the streams of a hub that was stopped, and refuses new ones.
var ErrStopped = errors.New("the process is shutting down")

// Options tell where a stream begins.
type Options struct {
	// After asks for every durable event past this sequence, in a feed past this position, then CAUGHT_UP. Without it the stream begins now.
	After *int64
	// Mark is that of the event at After, if it is known: then the stream fails with a *LostPlaceError if another one is there.
	Mark Mark
	// Wake is called when it makes sense to call Poll again after it gave nothing, once each time. It must return at
	// once, and must not call the subscription. It is for readers without a goroutine of their own; they don't call Next.
	Wake func()
	// Allowance is shared by the subscriptions of a connection. Without it this one has its own.
	Allowance *Allowance
}

// Subscription is one reader's stream of a session, or of an organization's feed. Next and Poll must not be called by two goroutines at once.
type Subscription struct {
	stream    *stream
	allowance *Allowance
	wake      func()
	// signal is what wake sends on for those who call Next.
	signal chan struct{}

	// announce is whether the reader is to be told when it has read all of the log. It is touched by the reader alone.
	announce bool

	// Guarded by the stream's mutex. index is the place among the stream's subscribers; -1 when it gets nothing live.
	// goal is how far it must have read before it gets that.
	index int
	goal  int64
	// expected is the mark of the event that the stream is to begin behind, until that was read; zero if any will do. It is touched by the
	// reader alone.
	expected Mark

	mu sync.Mutex
	// page is what the reader has read of the log; empty once all of it was delivered, and nil when the reader doesn't hold any.
	page []*Item
	// queue holds what was not read yet, from head on.
	queue []entry
	head  int
	// held is how many bytes of durable events are in it, and inHand how many the one has that came out of it last: the
	// reader has it until it asks again.
	held, inHand int
	// live is true when events arrive in the queue. Otherwise they are read from the log.
	live bool
	// sequence is that of the last durable event that was delivered; in a feed, its position.
	sequence int64
	// mark is that of this event, and before that of the one before it; zero when they are not known.
	mark, before Mark
	at           outputPosition
	// marked is the output whose text has an entry in the queue.
	marked *output
	// late is an output whose text there was no room to announce.
	late *output
	err  error
	// closed is true when the reader has left.
	closed bool
	// measured counts the live events since the last one whose delay was measured.
	measured int
	// idle is true when the reader found nothing and wants to be woken.
	idle bool
}

// entry is a place in a queue: a durable event, an ephemeral one, or whatever the text of an output is by then.
type entry struct {
	item *Item
	note *note
	text *output
}

// Next waits for the next event. It fails with ctx's error, a *LaggedError, a *LostPlaceError or ErrStopped, and then always will.
func (s *Subscription) Next(ctx context.Context) (*Item, error) {
	for {
		item, err := s.Poll(ctx)
		if item != nil || err != nil {
			return item, err
		}
		select {
		case <-s.signal:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Poll is Next for readers that don't wait: without an event it returns nothing, and Options.Wake is called later. It does wait
// for a read of the log.
func (s *Subscription) Poll(ctx context.Context) (*Item, error) {
	for {
		item, live, err := s.pop()
		if item != nil || live || err != nil {
			return item, err
		}
		var waits bool
		if item, waits, err = s.replay(ctx); item != nil || waits || err != nil {
			return item, err
		}
	}
}

// Undelivered returns the *LaggedError of a reader that was given an item last and can't deliver it. Its place is the one before the item.
func (s *Subscription) Undelivered(item *Item) error {
	if m := s.stream.hub.cfg.Meter; m != nil {
		m.Lagged()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if item.Ephemeral {
		return &LaggedError{LastSequence: s.sequence, Mark: s.mark, Memory: true}
	}
	return &LaggedError{LastSequence: s.sequence - 1, Mark: s.before, Memory: true} // there are no gaps
}

// Mark returns that of the last durable event that was delivered, or the stream began behind; zero when it is not known.
func (s *Subscription) Mark() Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mark
}

// Close ends the stream. It may be called more than once.
func (s *Subscription) Close() {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.err = errClosed
	s.empty()
	s.rouse()
	s.mu.Unlock()
	s.allowance.pass(s)
	if !closed {
		s.stream.leave(s)
	}
}

var errClosed = errors.New("the subscription is closed")

// pop returns what is first in the queue. Without anything it reports whether waiting makes sense.
func (s *Subscription) pop() (item *Item, live bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowance.free(s.inHand)
	s.inHand = 0
	for s.head < len(s.queue) {
		e := s.queue[s.head]
		if e.text != nil {
			item, more := e.text.next(&s.at, s.sequence, s.stream.hub.now)
			if !more {
				if s.marked == e.text {
					s.marked = nil
				}
				s.advance()
			}
			if item != nil {
				return item, true, nil
			}
			continue
		}
		s.advance()
		if e.note != nil {
			return e.note.item(s.sequence), true, nil
		}
		s.inHand = e.item.Size()
		s.held -= s.inHand
		s.deliver(e.item)
		s.measure(e.item)
		return e.item, true, nil
	}
	if o := s.late; o != nil && !o.closed.Load() {
		item, more := o.next(&s.at, s.sequence, s.stream.hub.now)
		if !more {
			s.late = nil
		}
		if item != nil {
			return item, true, nil
		}
	}
	s.late = nil
	if lagged, ok := s.err.(*LaggedError); ok { //nolint:errorlint // never wrapped: it is made below
		lagged.LastSequence, lagged.Mark = s.sequence, s.mark
	}
	s.idle = s.live && s.err == nil
	return nil, s.idle, s.err
}

// deliver makes a durable item the last that was delivered. The caller holds the mutex.
func (s *Subscription) deliver(item *Item) {
	s.before = s.mark
	s.sequence, s.mark = s.stream.place(item), item.Mark()
}

func (s *Subscription) advance() {
	s.queue[s.head] = entry{}
	if s.head++; s.head == len(s.queue) {
		// What a burst needed is not kept for ever.
		if s.head > smallQueue {
			s.queue = nil
		}
		s.queue, s.head = s.queue[:0], 0
	}
}

const smallQueue = 8

// push hands live events over. It never waits. false means that the reader gets no more: it lags behind by too many, or
// its connection holds as many bytes as it may, and it reads what follows from the log itself.
func (s *Subscription) push(items []*Item, limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || !s.live {
		return s.err == nil
	}
	if len(items) == 0 {
		return true
	}
	// A reader that has room gets a burst whole, however many events the commit has made.
	if len(s.queue)-s.head >= limit {
		s.dropEphemeral()
		if len(s.queue) >= limit {
			s.err, s.live = &LaggedError{}, false
			if m := s.stream.hub.cfg.Meter; m != nil {
				m.Lagged()
			}
			s.rouse()
			return false
		}
	}
	s.compact()
	for _, i := range items {
		if !s.allowance.admit(i.Size()) {
			s.live = false
			break
		}
		s.held += i.Size()
		s.queue = append(s.queue, entry{item: i})
	}
	s.rouse()
	return s.live
}

// pushNote hands an ephemeral event over, if there is room.
func (s *Subscription) pushNote(n *note, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.live && len(s.queue)-s.head < limit {
		s.compact()
		s.queue = append(s.queue, entry{note: n})
		s.rouse()
	}
}

// pushText announces that the text of an output has changed. However often that happens, there is one entry.
func (s *Subscription) pushText(o *output, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || !s.live || s.marked == o {
		return
	}
	if len(s.queue)-s.head >= limit {
		s.late = o
		return
	}
	s.compact()
	s.queue, s.marked = append(s.queue, entry{text: o}), o
	s.rouse()
}

// dropEphemeral makes room for durable events. The text is not lost: it comes merged, later.
func (s *Subscription) dropEphemeral() {
	kept := s.queue[:0]
	for _, e := range s.queue[s.head:] {
		if e.item != nil {
			kept = append(kept, e)
		} else if e.text != nil {
			s.late, s.marked = e.text, nil
		}
	}
	clear(s.queue[len(kept):])
	s.queue, s.head = kept, 0
}

// compact moves the queue to its array's begin when that saves it from growing.
func (s *Subscription) compact() {
	if s.head > 0 && len(s.queue) == cap(s.queue) {
		n := copy(s.queue, s.queue[s.head:])
		clear(s.queue[n:])
		s.queue, s.head = s.queue[:n], 0
	}
}

// rouse wakes a reader that found nothing.
func (s *Subscription) rouse() {
	if s.idle {
		s.idle = false
		s.wake()
	}
}

func (s *Subscription) raise() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// enliven lets live events into the queue from here on.
func (s *Subscription) enliven() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.live = true
	return nil
}

// fail ends the stream at once.
func (s *Subscription) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err, s.live = err, false
		s.empty()
		s.rouse()
	}
}

// empty drops what waits.
func (s *Subscription) empty() {
	s.allowance.free(s.held + s.inHand)
	s.page, s.queue, s.head, s.held, s.inHand, s.late = nil, nil, 0, 0, 0, nil
}

// detach makes the reader read the log itself from where its queue ends.
func (s *Subscription) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = false
	s.rouse()
}

// caughtUp is the event that ends a replay.
func (s *Subscription) caughtUp() *Item {
	i := newEphemeral(s.stream.key, models.TurnID{}, s.sequence, s.stream.hub.now(), CaughtUp{})
	i.mark = s.mark
	return i
}

// measure tells the meter how late an event is.
func (s *Subscription) measure(item *Item) {
	m := s.stream.hub.cfg.Meter
	if m == nil {
		return
	}
	if s.measured%measureEvery == 0 {
		m.Delivered(time.Duration(s.stream.hub.now()-item.Event.OccurredAt) * time.Millisecond)
	}
	s.measured++
}
