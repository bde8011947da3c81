// Package shares divides scarce places fairly, so that nobody takes all of them. A place is the right to do one of a few things at once: to run
// a hook, to send for a webhook, to hold some memory. A key is who takes places: an organization, or a network.
package shares

import (
	"context"
	"slices"
	"sync"
)

// Shares counts how many places each key holds. The last quarter of the places is kept for keys that hold few: with a new place, no more than
// Least. With fewer than four places, none are kept. Set the exported fields before the first use. It is safe for concurrent use.
type Shares[K comparable] struct {
	// Places is how many there are, and Each how many one key holds at most; 0 for any number of them.
	Places, Each int
	// Least is how many places a key may hold and still take some of the last quarter. Defaults to 1.
	Least int

	mu   sync.Mutex
	all  int
	held map[K]int
	// first and others wait, the first before all others.
	first, others line[K]
}

// line is where keys wait for a place. They are served in turn, and those who wait for the same key in the order in which they came.
type line[K comparable] struct {
	keys    []K
	waiting map[K][]chan struct{}
}

// Try takes n places for a key, all or none of them. It reports whether it did; then Leave must be called.
func (s *Shares[K]) Try(key K, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(key, n)
}

// Wait takes a place for a key as soon as there is one; then Leave must be called. Its errors are the context's.
func (s *Shares[K]) Wait(ctx context.Context, key K) error { return s.wait(ctx, key, &s.others) }

// WaitFirst is Wait, but is served before everybody who uses Wait.
func (s *Shares[K]) WaitFirst(ctx context.Context, key K) error { return s.wait(ctx, key, &s.first) }

// Leave gives n places of a key back.
func (s *Shares[K]) Leave(key K, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(key, n)
}

// Full returns the keys that may not take another place, and whether no key at all may.
func (s *Shares[K]) Full() (keys []K, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.held {
		if !s.fits(key, 1) {
			keys = append(keys, key)
		}
	}
	return keys, s.all >= s.Places
}

// Held returns how many places a key holds.
func (s *Shares[K]) Held(key K) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[key]
}

// fits reports whether a key may take n places more. The lock is held.
func (s *Shares[K]) fits(key K, n int) bool {
	after, most := s.held[key]+n, s.Places
	if after > max(s.Least, 1) {
		most -= s.Places / 4
	}
	return s.all+n <= most && (s.Each == 0 || after <= s.Each)
}

func (s *Shares[K]) take(key K, n int) bool {
	if !s.fits(key, n) {
		return false
	}
	if s.held == nil {
		s.held = map[K]int{}
	}
	s.all += n
	s.held[key] += n
	return true
}

func (s *Shares[K]) leave(key K, n int) {
	s.all -= n
	if s.held[key] -= n; s.held[key] == 0 {
		delete(s.held, key)
	}
	s.serve(&s.first)
	s.serve(&s.others)
}

// serve gives places to those who wait, as long as there are some for them.
func (s *Shares[K]) serve(l *line[K]) {
	for i := 0; i < len(l.keys); {
		key := l.keys[i]
		if !s.take(key, 1) {
			i++
			continue
		}
		list := l.waiting[key]
		close(list[0])
		l.keys = append(l.keys[:i], l.keys[i+1:]...)
		if l.waiting[key] = list[1:]; len(list) > 1 {
			l.keys = append(l.keys, key)
		} else {
			delete(l.waiting, key)
		}
	}
}

func (s *Shares[K]) wait(ctx context.Context, key K, l *line[K]) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	if len(l.waiting[key]) == 0 && s.take(key, 1) {
		s.mu.Unlock()
		return nil
	}
	taken := make(chan struct{})
	l.add(key, taken)
	s.mu.Unlock()
	select {
	case <-taken:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.remove(key, taken) {
		s.leave(key, 1) // it was taken meanwhile
	}
	return context.Cause(ctx)
}

func (l *line[K]) add(key K, taken chan struct{}) {
	if l.waiting == nil {
		l.waiting = map[K][]chan struct{}{}
	}
	if len(l.waiting[key]) == 0 {
		l.keys = append(l.keys, key)
	}
	l.waiting[key] = append(l.waiting[key], taken)
}

// remove reports whether it still waited.
func (l *line[K]) remove(key K, taken chan struct{}) bool {
	list := l.waiting[key]
	i := slices.Index(list, taken)
	if i < 0 {
		return false
	}
	if l.waiting[key] = slices.Delete(list, i, i+1); len(list) == 1 {
		delete(l.waiting, key)
		l.keys = slices.DeleteFunc(l.keys, func(k K) bool { return k == key })
	}
	return true
}
