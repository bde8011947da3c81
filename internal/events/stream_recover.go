package events

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// gapPatience is how long a hole in the sequence is waited for: two processes publish out of order.
	gapPatience = 20 * time.Millisecond
	// gapRetry is how long to wait when the log could not be read.
	gapRetry = 250 * time.Millisecond
	// textPatience is the least time between two looks at the checkpoint.
	textPatience = 500 * time.Millisecond
)

// observe takes in how far the log goes.
func (s *stream) observe(p Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.LastSequence >= s.last {
		s.active.Store(p.Active)
	}
	s.target = max(s.target, p.LastSequence)
	s.checkGap()
}

// notice takes in that the log goes this far, and that nobody will send what is in it.
func (s *stream) notice(last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = max(s.target, last)
	if s.behind() {
		s.catchUp()
	}
}

// behind reports whether attached subscribers miss something.
func (s *stream) behind() bool {
	return !s.ended && s.last >= 0 && s.target > s.last && len(s.subs) > 0
}

// checkGap waits a little for what is missing, then reads it. The caller holds the mutex.
func (s *stream) checkGap() { s.checkGapIn(gapPatience) }

func (s *stream) checkGapIn(d time.Duration) {
	if !s.behind() || s.catching || s.stopGap != nil {
		return
	}
	s.stopGap = s.hub.after(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopGap = nil
		if s.behind() {
			s.catchUp()
		}
	})
}

// catchUp reads what is missing, once for all subscribers. When that is more than they can be handed at once, they read
// it at their own pace.
func (s *stream) catchUp() {
	if s.catching {
		return
	}
	if s.target-s.last > int64(s.hub.cfg.Buffer) {
		for len(s.subs) > 0 {
			sub := s.subs[len(s.subs)-1]
			s.drop(sub)
			sub.goal = s.target
			sub.detach()
		}
		return
	}
	s.catching = true
	after, goal := s.last, s.target
	if !s.hub.run(func() { s.catchUpFrom(after, goal) }) {
		s.catching = false
	}
}

// catchUpFrom reads what comes after an event. The log is known to go to the goal, which one page may not reach.
func (s *stream) catchUpFrom(after, goal int64) {
	page, err := s.readAfter(s.hub.ctx, after)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catching = false
	switch {
	case err != nil:
		s.hub.logFailure("read what subscribers miss", s.key, err)
		s.checkGapIn(gapRetry)
	case len(page) == 0 && s.last == after:
		// What was said of the log is not so: events are told of after they are committed.
		s.target = s.last
	case s.last > after && s.last < goal && s.behind():
		s.catchUp()
	default:
		s.checkGap()
	}
}

// checkText looks at the checkpoint when pieces of the open output are missing. The caller holds the mutex.
func (s *stream) checkText() {
	if s.open != nil && s.open.gap() {
		s.readText()
	}
}

// poll looks at the checkpoint although nothing is known to be missing: the bus is gone, and no deltas come.
func (s *stream) poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readText()
}

func (s *stream) readText() {
	if s.ended || s.open == nil || s.resting || len(s.subs) == 0 {
		return
	}
	turn := s.open.turn
	s.resting = s.hub.run(func() {
		var c *models.Checkpoint
		err := s.hub.reading(func(ctx context.Context) (err error) {
			c, err = s.hub.cfg.Log.Checkpoint(ctx, s.key.Org, turn)
			return err
		})
		if err != nil {
			s.hub.logFailure("read the text so far", s.key, err)
		}
		s.haveText(c)
	})
}

// haveText takes a checkpoint in, and looks again later if pieces are still missing.
func (s *stream) haveText(c *models.Checkpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if s.open != nil && s.open.adopt(c) {
		s.announce()
	}
	s.stopRest = s.hub.after(textPatience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.resting, s.stopRest = false, nil
		if !s.ended {
			s.checkText()
		}
	})
}

// end stops everything that is still to happen.
func (s *stream) end(err error) {
	s.mu.Lock()
	s.ended = true
	subs := s.subs
	s.subs, s.early, s.open, s.ahead = nil, nil, nil, nil
	for _, sub := range subs {
		sub.index = -1
	}
	for _, stop := range []func() bool{s.stopGap, s.stopRest} {
		if stop != nil {
			stop()
		}
	}
	cancel := s.cancelBus
	s.cancelBus = nil
	s.mu.Unlock()
	for _, sub := range subs {
		sub.fail(err)
	}
	if cancel != nil {
		cancel()
	}
}
