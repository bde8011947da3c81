package events

import (
	"context"
	"time"
)

const (
	// sweepEvery is how often the logs of sessions at work are compared with what subscribers got.
	sweepEvery = time.Second
	// sweepAllRounds is after how many of those rounds the sessions at rest are compared too.
	sweepAllRounds = 15
)

// Start begins to look, every second, for what the bus lost. It may be called more than once.
func (h *Hub) Start() {
	h.life.Lock()
	defer h.life.Unlock()
	if h.life.started || h.life.stopped {
		return
	}
	h.life.started = true
	h.life.stopListening = h.cfg.Bus.OnReconnect(func() { h.run(func() { h.sweep(true) }) })
	h.life.stopTimer = h.cfg.Timers.AfterFunc(sweepEvery, h.tick)
}

// Stop ends all streams with ErrStopped and waits for what runs in the background. It may be called more than once.
// It doesn't close the bus.
func (h *Hub) Stop() {
	h.life.Lock()
	h.life.stopped = true
	if h.life.stopTimer != nil {
		h.life.stopTimer()
	}
	if h.life.stopListening != nil {
		h.life.stopListening()
	}
	h.life.Unlock()
	h.cancel()

	h.mu.Lock()
	streams := h.streams
	h.streams = map[Key]*stream{}
	h.mu.Unlock()
	for _, s := range streams {
		s.end(ErrStopped)
	}
	h.life.work.Wait()
}

// run starts fn in the background, unless the hub was stopped.
func (h *Hub) run(fn func()) bool {
	if !h.enter() {
		return false
	}
	go func() {
		defer h.life.work.Done()
		fn()
	}()
	return true
}

func (h *Hub) enter() bool {
	h.life.Lock()
	defer h.life.Unlock()
	if h.life.stopped {
		return false
	}
	h.life.work.Add(1)
	return true
}

// after runs fn later, unless the hub was stopped by then.
func (h *Hub) after(d time.Duration, fn func()) func() bool {
	return h.cfg.Timers.AfterFunc(d, func() {
		if h.enter() {
			defer h.life.work.Done()
			fn()
		}
	})
}

// reading runs a read of the database when there is a free slot: subscribers must not take all connections from those
// who write.
func (h *Hub) reading(fn func(ctx context.Context) error) error {
	select {
	case h.slots <- struct{}{}:
	case <-h.ctx.Done():
		return ErrStopped
	}
	defer func() { <-h.slots }()
	ctx, cancel := context.WithTimeout(h.ctx, h.cfg.ReadTimeout)
	defer cancel()
	err := fn(ctx)
	if err != nil && h.ctx.Err() != nil {
		return ErrStopped
	}
	return err
}

func (h *Hub) tick() {
	if !h.enter() {
		return
	}
	defer h.life.work.Done()
	h.round++
	// Without the bus nothing reports that a session at rest has begun to work again.
	h.sweep(h.round%sweepAllRounds == 0 || !h.cfg.Bus.Connected())
	h.life.Lock()
	defer h.life.Unlock()
	if !h.life.stopped {
		h.life.stopTimer = h.cfg.Timers.AfterFunc(sweepEvery, h.tick)
	}
}

// sweep compares how far the logs and the feeds go with what subscribers got, in one statement for each of the two.
func (h *Hub) sweep(all bool) {
	h.mu.RLock()
	streams := make([]*stream, 0, len(h.streams))
	for _, s := range h.streams {
		if all || s.active.Load() {
			streams = append(streams, s)
		}
	}
	h.mu.RUnlock()
	if len(streams) == 0 {
		return
	}
	keys := make([]Key, len(streams))
	for i, s := range streams {
		keys[i] = s.key
	}
	var found map[Key]Position
	err := h.reading(func(ctx context.Context) (err error) {
		found, err = h.cfg.Log.LastSequences(ctx, keys)
		return err
	})
	if err != nil {
		if h.ctx.Err() == nil {
			h.cfg.Logger.Warn("compare the logs with what subscribers got", "streams", len(keys), "error", err)
		}
		return
	}
	silent := !h.cfg.Bus.Connected()
	for _, s := range streams {
		if p, ok := found[s.key]; ok {
			s.observe(p)
		}
		if silent {
			s.poll()
		}
	}
}

func (h *Hub) logFailure(what string, key Key, err error) {
	if h.ctx.Err() == nil {
		h.cfg.Logger.Warn(what, "stream", key.String(), "error", err)
	}
}
