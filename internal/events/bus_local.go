package events

import (
	"sync"
	"sync/atomic"
)

// LocalBus is a Bus within one process.
type LocalBus struct {
	queue  chan localMessage
	stop   chan struct{}
	done   chan struct{}
	queued atomic.Int64

	mu       sync.RWMutex
	closed   bool
	subjects map[string]*localSubject
	reconn   callbacks
}

type localMessage struct {
	subject string
	data    []byte
}

type localSubject struct {
	all    []*localHandler
	queues map[string]*localQueue
}

type localQueue struct {
	members []*localHandler
	next    int
}

type localHandler struct {
	fn    func([]byte)
	ended atomic.Bool
}

var _ Bus = (*LocalBus)(nil)

// NewLocalBus starts a bus within this process.
func NewLocalBus() *LocalBus {
	b := &LocalBus{
		queue: make(chan localMessage, busQueueMessages), stop: make(chan struct{}), done: make(chan struct{}),
		subjects: map[string]*localSubject{},
	}
	go b.deliver()
	return b
}

// Publish implements Bus.
func (b *LocalBus) Publish(subject string, data []byte) error {
	b.mu.RLock()
	closed, heard := b.closed, b.subjects[subject] != nil
	b.mu.RUnlock()
	if closed {
		return ErrBusClosed
	}
	if !heard {
		return nil
	}
	size := int64(len(data))
	if b.queued.Add(size) > busQueueBytes {
		b.queued.Add(-size)
		b.reconn.dropped()
		return ErrBusFull
	}
	select {
	case b.queue <- localMessage{subject, data}:
		return nil
	default:
		b.queued.Add(-size)
		b.reconn.dropped()
		return ErrBusFull
	}
}

// deliver calls the handlers. One goroutine for all keeps the order of each publisher's messages.
func (b *LocalBus) deliver() {
	defer close(b.done)
	var to []*localHandler
	for {
		select {
		case <-b.stop:
			return
		case m := <-b.queue:
			b.queued.Add(-int64(len(m.data)))
			to = b.receivers(to[:0], m.subject)
			for _, h := range to {
				if !h.ended.Load() {
					h.fn(m.data)
				}
			}
			b.reconn.recovered()
		}
	}
}

func (b *LocalBus) receivers(to []*localHandler, subject string) []*localHandler {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.subjects[subject]
	if s == nil {
		return to
	}
	to = append(to, s.all...)
	for _, q := range s.queues {
		q.next = (q.next + 1) % len(q.members)
		to = append(to, q.members[q.next])
	}
	return to
}

// Subscribe implements Bus.
func (b *LocalBus) Subscribe(subject string, fn func([]byte)) (func(), error) {
	return b.QueueSubscribe(subject, "", fn)
}

// QueueSubscribe implements Bus.
func (b *LocalBus) QueueSubscribe(subject, queue string, fn func([]byte)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrBusClosed
	}
	s := b.subjects[subject]
	if s == nil {
		s = &localSubject{queues: map[string]*localQueue{}}
		b.subjects[subject] = s
	}
	h := &localHandler{fn: fn}
	if queue == "" {
		s.all = append(s.all, h)
	} else {
		q := s.queues[queue]
		if q == nil {
			q = &localQueue{}
			s.queues[queue] = q
		}
		q.members = append(q.members, h)
	}
	return func() { b.unsubscribe(subject, queue, h) }, nil
}

func (b *LocalBus) unsubscribe(subject, queue string, h *localHandler) {
	if h.ended.Swap(true) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.subjects[subject]
	if s == nil {
		return
	}
	if queue == "" {
		s.all = without(s.all, h)
	} else if q := s.queues[queue]; q != nil {
		if q.members = without(q.members, h); len(q.members) == 0 {
			delete(s.queues, queue)
		}
	}
	if len(s.all) == 0 && len(s.queues) == 0 {
		delete(b.subjects, subject)
	}
}

// without returns the list without one element, in a new array: the old one may be being walked.
func without[T comparable](list []T, gone T) []T {
	rest := make([]T, 0, len(list))
	for _, e := range list {
		if e != gone {
			rest = append(rest, e)
		}
	}
	return rest
}

// OnReconnect implements Bus.
func (b *LocalBus) OnReconnect(fn func()) func() { return b.reconn.add(fn) }

// Connected implements Bus.
func (b *LocalBus) Connected() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return !b.closed
}

// Shared implements Bus: nobody else is listening.
func (b *LocalBus) Shared() bool { return false }

// Close implements Bus.
func (b *LocalBus) Close() error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.subjects = map[string]*localSubject{}
	b.mu.Unlock()
	if !closed {
		close(b.stop)
	}
	<-b.done
	return nil
}
