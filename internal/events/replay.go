package events

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
)

// pageSize is how many events one read of the log gives.
const pageSize = 500

// replay returns the next event of the log, or joins the live stream when there is none. It returns nothing when the reader
// should look at its queue, or is to wait until others of its connection have delivered their pages.
func (s *Subscription) replay(ctx context.Context) (item *Item, waits bool, err error) {
	for tries := 0; ; {
		item, delivered, err := s.turnPage()
		if item != nil && s.expected != (Mark{}) {
			if item.Mark() != s.expected {
				s.fail(&LostPlaceError{LastSequence: s.goal, Replaced: true})
			}
			s.expected = Mark{}
			continue
		}
		if item != nil || err != nil {
			return item, false, err
		}
		if delivered {
			s.allowance.pass(s)
		}
		ok, after, err := s.stream.attach(s)
		if ok || err != nil {
			s.allowance.pass(s)
			if err != nil || !s.announce {
				return nil, false, err
			}
			s.announce = false
			return s.caughtUp(), false, nil
		}
		if ok, err := s.mayRead(); !ok {
			return nil, err == nil, err
		}
		page, err := s.stream.readAfter(ctx, after)
		if err != nil {
			return nil, false, err
		}
		// A read that had begun before the goal was known may end before it; the next one will not.
		if tries++; len(page) == 0 && tries > 2 {
			if s.expected != (Mark{}) {
				return nil, false, &LostPlaceError{LastSequence: s.sequence}
			}
			if err := s.stream.believeLog(s); err != nil {
				return nil, false, err
			}
		}
		for len(page) > 0 && s.stream.place(page[0]) <= s.sequence {
			page = page[1:]
			tries = 0
		}
		s.keep(page)
	}
}

// keep makes a page the next that is delivered, unless the reader has left.
func (s *Subscription) keep(page []*Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && len(page) > 0 {
		s.page = slices.Clone(page) // others read the same
	}
}

// turnPage returns the next event of the page. delivered reports that all of it was, just before.
func (s *Subscription) turnPage() (item *Item, delivered bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.page) == 0 || s.err != nil {
		delivered, s.page = s.page != nil, nil
		return nil, delivered, s.err
	}
	item = s.page[0]
	s.page[0] = nil // what was delivered is not kept with the rest
	s.page = s.page[1:]
	s.deliver(item)
	return item, false, nil
}

// mayRead reports whether it is the reader's turn to read a page. If not, the reader is woken when it is, or when the stream fails.
func (s *Subscription) mayRead() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false, s.err
	}
	s.idle = !s.allowance.ask(s)
	return !s.idle, nil
}

// believeLog drops what was said of the log and is not in it: events are told of after they are committed.
func (s *stream) believeLog(sub *Subscription) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last > sub.sequence {
		return fmt.Errorf("the log of %s ends at %d, but %d was committed", s.key, sub.sequence, s.last)
	}
	sub.goal, s.target = sub.sequence, s.last
	return nil
}

// pageRead is a read of the log that any number of readers wait for.
type pageRead struct {
	done  chan struct{}
	items []*Item
	err   error
}

// readAfter returns the events past a sequence, at most a page. Readers who want the same page share one read. What it
// finds is news to the live stream, too, if that is behind.
func (s *stream) readAfter(ctx context.Context, after int64) ([]*Item, error) {
	s.mu.Lock()
	r := s.pages[after]
	if r == nil {
		r = &pageRead{done: make(chan struct{})}
		if s.pages == nil {
			s.pages = map[int64]*pageRead{}
		}
		s.pages[after] = r
		if !s.hub.run(func() { s.readPage(after, r) }) {
			delete(s.pages, after)
			r.err = ErrStopped
			close(r.done)
		}
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.items, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *stream) readPage(after int64, r *pageRead) {
	r.err = s.hub.reading(func(ctx context.Context) error {
		list, err := s.readLog(ctx, after)
		r.items = itemsOf(list)
		return err
	})
	s.mu.Lock()
	delete(s.pages, after)
	if r.err == nil && len(r.items) > 0 && s.place(r.items[0]) != after+1 {
		r.err = fmt.Errorf("the log of %s has %d after %d", s.key, s.place(r.items[0]), after)
	}
	if r.err == nil {
		s.take(r.items)
	}
	s.mu.Unlock()
	close(r.done)
}

func (s *stream) readLog(ctx context.Context, after int64) ([]models.Event, error) {
	limit := Limit{Events: pageSize, Bytes: heldBytes}
	if s.key.Feed() {
		return s.hub.cfg.Log.ReadFeed(ctx, s.key.Org, after, limit)
	}
	return s.hub.cfg.Log.Read(ctx, s.key.Org, s.key.Session, after, limit)
}

// headRead is a look at how far the log goes, for all who asked before it began.
type headRead struct {
	done chan struct{}
	last int64
	err  error
}

var errNoSession = errors.New("no such session")

// freshLast returns how far the log goes, by a read that begins after the call: what was committed anywhere before it
// counts. Many who ask at once share one read.
func (s *stream) freshLast(ctx context.Context) (int64, error) {
	s.mu.Lock()
	r := s.nextHead
	if r == nil {
		r = &headRead{done: make(chan struct{})}
		s.nextHead = r
		if !s.readingHead {
			if s.readingHead = s.hub.run(s.readHeads); !s.readingHead {
				s.nextHead = nil
				s.mu.Unlock()
				return 0, ErrStopped
			}
		}
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.last, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (s *stream) readHeads() {
	for {
		s.mu.Lock()
		r := s.nextHead
		s.nextHead = nil
		if r == nil {
			s.readingHead = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		r.err = s.hub.reading(func(ctx context.Context) error {
			found, err := s.hub.cfg.Log.LastSequences(ctx, []Key{s.key})
			if err != nil {
				return err
			}
			p, ok := found[s.key]
			if !ok {
				return errNoSession
			}
			r.last = p.LastSequence
			s.observe(p)
			return nil
		})
		close(r.done)
	}
}
