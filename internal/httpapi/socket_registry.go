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

// socketRegistry knows the open sockets. One goroutine looks after the times of all of them, so that a socket at rest
// needs no timer, and tests can move the clock.
type socketRegistry struct {
	server *Server

	mu       sync.Mutex
	open     map[*socket]struct{}
	stopped  bool
	sweeping bool
	running  sync.WaitGroup
	// rechecking is set while a round of verification runs. Rounds don't overlap.
	rechecking atomic.Bool
	quit       chan struct{}
}

func newSocketRegistry(s *Server) *socketRegistry {
	return &socketRegistry{server: s, open: map[*socket]struct{}{}, quit: make(chan struct{})}
}

// start runs the socket until it is closed; false when the server is stopping.
func (r *socketRegistry) start(s *socket) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	r.open[s] = struct{}{}
	r.running.Go(func() {
		s.run()
		r.mu.Lock()
		delete(r.open, s)
		r.mu.Unlock()
	})
	if every := r.server.cfg.Sockets.SweepEvery; !r.sweeping && every > 0 {
		r.sweeping = true
		r.running.Go(func() { r.sweepEvery(every) })
	}
	return true
}

// sweepEvery ends with the last socket.
func (r *socketRegistry) sweepEvery(every time.Duration) {
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

func (r *socketRegistry) all() []*socket {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*socket, 0, len(r.open))
	for s := range r.open {
		list = append(list, s)
	}
	return list
}

// sweep does what is due on each socket.
func (r *socketRegistry) sweep(now time.Time) {
	var due []*socket
	for _, s := range r.all() {
		if s.tick(now) {
			due = append(due, s)
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

// recheck verifies principals again. A refusal closes the socket; a failure to find out does not.
func (r *socketRegistry) recheck(due []*socket, now time.Time) {
	var workers errgroup.Group
	workers.SetLimit(recheckWorkers)
	for _, s := range due {
		workers.Go(func() error {
			ctx, cancel := context.WithTimeout(auth.WithRequest(s.ctx, s.info), recheckTimeout)
			defer cancel()
			principal, err := r.server.authenticate(ctx, s.token, s.transport)
			if err == nil {
				s.rechecked(principal, now)
			}
			return nil
		})
	}
	_ = workers.Wait() // none of them fails
}

// stop closes all sockets and refuses new ones.
func (r *socketRegistry) stop() {
	r.mu.Lock()
	if !r.stopped {
		r.stopped = true
		close(r.quit)
	}
	r.mu.Unlock()
	for _, s := range r.all() {
		s.close(closeRestart, "The server restarts")
	}
}

var errSocketsOpen = errors.New("WebSockets were still open")

// wait returns when the last socket is gone. When ctx ends first, what is left is cut off.
func (r *socketRegistry) wait(ctx context.Context) error {
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
	for _, s := range left {
		s.abort()
	}
	<-gone
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d", errSocketsOpen, len(left))
}
