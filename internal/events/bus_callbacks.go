package events

import (
	"sync"
	"sync/atomic"
)

// callbacks are the functions to call when messages of a bus may have been missed.
type callbacks struct {
	missed atomic.Bool

	mu   sync.Mutex
	next int
	fns  map[int]func()
}

func (c *callbacks) add(fn func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fns == nil {
		c.fns = map[int]func(){}
	}
	id := c.next
	c.next++
	c.fns[id] = fn
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.fns, id)
	}
}

func (c *callbacks) call() {
	c.mu.Lock()
	fns := make([]func(), 0, len(c.fns))
	for _, fn := range c.fns {
		fns = append(fns, fn)
	}
	c.mu.Unlock()
	for _, fn := range fns {
		fn()
	}
}

// dropped notes that a message was dropped. The functions are called by recovered, when there is room again: before,
// they would only make more work for a process that has too much.
func (c *callbacks) dropped() { c.missed.Store(true) }

func (c *callbacks) recovered() {
	if c.missed.Load() && c.missed.Swap(false) {
		c.call()
	}
}
