package events

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// heldBytes is how much of the log all readers of one connection may hold that they have not been asked for yet: one page.
	// An event that is larger goes alone. If the connection stalls, it holds that for as long as the server is patient.
	heldBytes = 96 << 10
	// liveBytes is the same of what is live, with what is in their hands. A reader that finds no room reads on from the log.
	liveBytes = 48 << 10
)

// Allowance is what the subscriptions of one connection may hold together: they stall together. Its zero value is ready. It
// bounds durable events alone; the others are few, small and shared.
//
// Pages of the log are held by one subscription at a time, in the order in which they asked: who has delivered its page
// goes to the end of the line. Those who wait need no goroutine. What is live needs no turn.
type Allowance struct {
	live atomic.Int64

	mu sync.Mutex
	// turn is who may hold a page; nil for nobody.
	turn *Subscription
	line []*Subscription
}

// admit makes room for a live event, if there is some.
func (a *Allowance) admit(size int) bool {
	for {
		held := a.live.Load()
		if held > 0 && held+int64(size) > liveBytes {
			return false
		}
		if a.live.CompareAndSwap(held, held+int64(size)) {
			return true
		}
	}
}

// free gives room back.
func (a *Allowance) free(size int) { a.live.Add(-int64(size)) }

// ask reports whether it is a subscription's turn to hold a page. Otherwise the subscription gets in line, if it isn't there yet, and is
// roused when its turn comes. The caller holds the subscription's mutex.
func (a *Allowance) ask(s *Subscription) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn == nil {
		a.turn = s
	}
	if a.turn == s {
		return true
	}
	if !slices.Contains(a.line, s) {
		a.line = append(a.line, s)
	}
	return false
}

// pass ends a subscription's turn, or its wait for one. The caller holds no subscription's mutex.
func (a *Allowance) pass(s *Subscription) {
	a.mu.Lock()
	var next *Subscription
	if a.turn != s {
		a.line = slices.DeleteFunc(a.line, func(other *Subscription) bool { return other == s })
	} else if a.turn = nil; len(a.line) > 0 {
		next = a.line[0]
		a.turn, a.line = next, slices.Delete(a.line, 0, 1)
	}
	if len(a.line) == 0 {
		a.line = nil
	}
	a.mu.Unlock()
	if next != nil {
		next.mu.Lock()
		next.rouse()
		next.mu.Unlock()
	}
}
