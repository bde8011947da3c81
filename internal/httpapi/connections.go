package httpapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ostler-dev/ostler/internal/auth"
)

const (
	// recheckWorkers is how many principals are verified at once.
	recheckWorkers = 16
	// recheckTimeout is for one of them. One that can't be verified in time is tried again in the next round.
	recheckTimeout = 2 * time.Second
)

// connection is one that stays open: a WebSocket or an event stream.
type connection interface {
	// tick does what is due at now. It reports whether the principal is to be verified again.
	tick(now time.Time) (recheck bool)
	// caller returns the context and the credential to verify the principal with.
	caller() (ctx context.Context, token, transport string)
	// rechecked takes over what became of the principal; nil for nobody.
	rechecked(principal *auth.Principal, now time.Time)
	// restart tells the client to come back, since this server stops.
	restart()
	// abort cuts it off.
	abort()
}

// connections knows those that are open. One goroutine looks after the times of all of them, so that one at rest
// needs no timer, and tests can move the clock.
type connections struct {
	server *Server

	mu       sync.Mutex
	open     map[connection]struct{}
	stopped  bool
	sweeping bool
	running  sync.WaitGroup
	// rechecking is set while a round of verification runs. Rounds don't overlap.
	rechecking atomic.Bool
	quit       chan struct{}
}

func newConnections(s *Server) *connections {
	return &connections{server: s, open: map[connection]struct{}{}, quit: make(chan struct{})}
}

// start runs the socket in the background until it is closed; false when the server is stopping.
func (r *connections) start(s *socket) bool {
	if !r.add(s) {
		return false
	}
	go func() {
		defer r.remove(s)
		s.run()
	}()
	return true
}

// add makes a connection known; false when the server is stopping. After true, remove must be called.
func (r *connections) add(c connection) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	r.open[c] = struct{}{}
	r.running.Add(1)
	if every := r.server.cfg.Sockets.SweepEvery; !r.sweeping && every > 0 {
		r.sweeping = true
		r.running.Go(func() { r.sweepEvery(every) })
	}
	return true
}

func (r *connections) remove(c connection) {
	r.mu.Lock()
	delete(r.open, c)
	r.mu.Unlock()
	r.running.Done()
}

// sweepEvery ends with the last connection.
func (r *connections) sweepEvery(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-r.quit:
			return
		}
		r.mu.Lock()
		if len(r.open) == 0 {
			r.sweeping = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		r.sweep(r.server.deps.Clock.Now())
	}
}

func (r *connections) all() []connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]connection, 0, len(r.open))
	for c := range r.open {
		list = append(list, c)
	}
	return list
}

// sweep does what is due on each connection.
func (r *connections) sweep(now time.Time) {
	var due []connection
	for _, c := range r.all() {
		if c.tick(now) {
			due = append(due, c)
		}
	}
	if len(due) == 0 || !r.rechecking.CompareAndSwap(false, true) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	r.running.Go(func() {
		defer r.rechecking.Store(false)
		r.recheck(due, now)
	})
}

// recheck verifies principals again. A refusal ends the connection; a failure to find out does not.
func (r *connections) recheck(due []connection, now time.Time) {
	var workers errgroup.Group
	workers.SetLimit(recheckWorkers)
	for _, c := range due {
		workers.Go(func() error {
			ctx, token, transport := c.caller()
			ctx, cancel := context.WithTimeout(ctx, recheckTimeout)
			defer cancel()
			principal, err := r.server.authenticate(ctx, token, transport)
			if err == nil {
				c.rechecked(principal, now)
			}
			return nil
		})
	}
	_ = workers.Wait() // none of them fails
}

// stop ends all connections and refuses new ones.
func (r *connections) stop() {
	r.mu.Lock()
	if !r.stopped {
		r.stopped = true
		close(r.quit)
	}
	r.mu.Unlock()
	for _, c := range r.all() {
		c.restart()
	}
}

var errConnectionsOpen = errors.New("connections were still open")

// wait returns when the last connection is gone. When ctx ends first, what is left is cut off.
func (r *connections) wait(ctx context.Context) error {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r.running.Wait()
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	left := r.all()
	for _, c := range left {
		c.abort()
	}
	<-gone
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d", errConnectionsOpen, len(left))
}

// count returns how many are open, by their kind.
func (r *connections) count() (sockets, streams int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.open {
		if _, ok := c.(*socket); ok {
			sockets++
		} else {
			streams++
		}
	}
	return sockets, streams
}
