package ask

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
)

var (
	// errIdle cuts a model call short whose stream stands still.
	errIdle = errors.New("the model sends nothing")
	// errEndless cuts one short that comes to no end.
	errEndless = errors.New("the model does not finish")
)

// idleWatch cuts a call short that gives no sign of life for too long, also before its first byte, and one that gives signs forever. A
// sign costs no timer: the one there is looks when it is due whether there was one since.
type idleWatch struct {
	clock  clock.Clock
	timers events.Timers
	limit  time.Duration
	whole  time.Duration
	cancel context.CancelCauseFunc
	begun  time.Time
	// heard is when the last sign came, in nanoseconds since begun.
	heard atomic.Int64

	mu    sync.Mutex
	ended bool
	stop  func() bool
}

// watchIdle returns the context of a call that begins now. The watch must be ended.
func (m *Models) watchIdle(ctx context.Context) (context.Context, *idleWatch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &idleWatch{clock: m.cfg.Clock, timers: m.cfg.Timers, limit: m.cfg.IdleTimeout, whole: m.cfg.CallTimeout, cancel: cancel, begun: m.cfg.Clock.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop = w.timers.AfterFunc(min(w.limit, w.whole), w.check)
	return ctx, w
}

// alive notes a sign of life.
func (w *idleWatch) alive() { w.heard.Store(int64(w.clock.Now().Sub(w.begun))) }

func (w *idleWatch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	lasted := w.clock.Now().Sub(w.begun)
	quiet := lasted - time.Duration(w.heard.Load())
	switch {
	case quiet >= w.limit:
		w.cancel(errIdle)
	case lasted >= w.whole:
		w.cancel(errEndless)
	default:
		// A clock that was set back must not make this wait longer.
		w.stop = w.timers.AfterFunc(min(w.limit-quiet, w.limit, w.whole-lasted), w.check)
	}
}

// end lets go of the call.
func (w *idleWatch) end() {
	w.mu.Lock()
	w.ended = true
	w.stop()
	w.mu.Unlock()
	w.cancel(nil)
}
