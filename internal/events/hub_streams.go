package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// acquire returns the stream, and makes it for the first subscriber.
func (h *Hub) acquire(key Key) (s *stream, first bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s = h.streams[key]; s != nil {
		s.refs++
		return s, false, nil
	}
	s = &stream{hub: h, key: key, refs: 1, last: -1, ready: make(chan struct{})}
	if !h.run(func() { h.prepare(s) }) {
		return nil, false, ErrStopped
	}
	h.streams[key] = s
	return s, true, nil
}

// release is called once for each acquire. The last one removes everything.
func (h *Hub) release(s *stream) {
	h.mu.Lock()
	s.refs--
	gone := s.refs == 0
	if gone && h.streams[s.key] == s {
		delete(h.streams, s.key)
	}
	h.mu.Unlock()
	if gone {
		s.end(errClosed)
	}
}

// prepare listens first and reads then, so that nothing gets lost between.
func (h *Hub) prepare(s *stream) {
	defer close(s.ready)
	if h.cfg.Bus.Shared() {
		cancel, err := h.cfg.Bus.Subscribe(s.key.subject(), s.hear)
		if err != nil {
			// The sweep brings the events, if later.
			h.cfg.Logger.Warn("listen to a stream", "stream", s.key.String(), "error", err)
		} else if !s.setCancel(cancel) {
			cancel()
		}
	}
	var st State
	err := h.reading(func(ctx context.Context) error {
		var found bool
		var err error
		if st, found, err = h.cfg.Log.State(ctx, s.key); err == nil && !found {
			err = errNoSession
		}
		return err
	})
	if err != nil {
		s.err = h.explain(err, s.key)
		return
	}
	s.start(st)
}

func (s *stream) setCancel(cancel func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.cancelBus = cancel
	return true
}

// start begins at what the database says.
func (s *stream) start(st State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active.Store(st.Active)
	s.last, s.target = st.LastSequence, max(s.target, st.LastSequence)
	if !st.MessageID.IsZero() {
		s.begin(&st.TurnID, st.MessageID)
		s.open.adopt(st.Checkpoint)
	}
	s.hand(s.acceptEarly(s.scratch[:0]))
}

// hear takes a message of the bus in. What can't be read counts as lost.
func (s *stream) hear(message []byte) {
	node, kind, body, err := readHeader(message)
	if err != nil || node == s.hub.node {
		return
	}
	switch kind {
	case wireEvents:
		var list []models.Event
		if list, err = decodeEvents(s.key, body); err == nil {
			items := itemsOf(list)
			s.mu.Lock()
			s.take(items)
			s.mu.Unlock()
		}
	case wireNotice:
		r := wireReader{rest: body}
		if last := r.number(); !r.bad {
			s.notice(last)
		}
	case wireDelta:
		var d Delta
		if d, err = decodeDelta(s.key, body); err == nil {
			s.delta(d)
		}
	case wireProgress:
		var turn models.TurnID
		var p ToolProgress
		if turn, p, err = decodeProgress(body); err == nil {
			s.tell(turn, p)
		}
	case wireRetrying:
		var turn models.TurnID
		var p GenerationRetrying
		if turn, p, err = decodeRetrying(body); err == nil {
			s.tell(turn, p)
		}
	}
	if err != nil {
		s.hub.cfg.Logger.Debug("a message from the bus can't be read", "stream", s.key.String(), "error", err)
	}
}

// explain turns an error into what the subscriber is told.
func (h *Hub) explain(err error, key Key) error {
	if errors.Is(err, errNoSession) && key.Feed() {
		return fault.New(fault.NotFound, "There is no organization %s.", key.Org)
	}
	if errors.Is(err, errNoSession) {
		return fault.New(fault.NotFound, "There is no session %s.", key.Session).At("sessionId")
	}
	return fmt.Errorf("subscribe to %s: %w", key, err)
}
