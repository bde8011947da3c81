package runtime

import (
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// deltaInterval is the least time between two deltas of a stream; the first goes out at once.
	deltaInterval = 50 * time.Millisecond
	// A checkpoint is written after so much time or so much text since the last one.
	checkpointInterval = 500 * time.Millisecond
	checkpointBytes    = 4 << 10
)

// stream passes on what a model says: to those who watch, in pieces, and to the database, so that it survives this process.
type stream struct {
	e      *Engine
	turn   models.Turn
	output models.MessageID
	// attempt counts the turn's model calls, so that those who watch tell a repeated call from the one before it.
	attempt int
	// watch is told of every sign of life.
	watch *idleWatch
	// answers is called when the answer begins; nil for nothing.
	answers func()

	// begunAt is when the call was made, by the engine's clock; firstTokenMs is how long the first piece took.
	begunAt      time.Time
	firstTokenMs *int64
	// checkpointed tells that a checkpoint was written.
	checkpointed bool

	mu       sync.Mutex
	channels [2]channel // text, thinking
	lastSent time.Time
	timer    *time.Timer
	closed   bool
	saved    int
	savedAt  time.Time
	saving   sync.WaitGroup
	busy     bool
}

// channel is text that grows: what was sent, and what waits to be.
type channel struct {
	all strings.Builder
	// sent are the UTF-16 code units that went out.
	sent    int
	pending strings.Builder
}

func newStream(e *Engine, turn models.Turn, output models.MessageID, attempt int, watch *idleWatch) *stream {
	return &stream{e: e, turn: turn, output: output, attempt: attempt, watch: watch, begunAt: e.cfg.Clock.Now(), savedAt: time.Now()}
}

// elapsed is how long the call has lasted, in milliseconds. A clock that is set back doesn't make it negative.
func (s *stream) elapsed() int64 { return max(s.e.cfg.Clock.Now().Sub(s.begunAt).Milliseconds(), 0) }

// emit takes a piece from the driver.
func (s *stream) emit(d llm.Delta) {
	s.watch.alive()
	if d == (llm.Delta{}) {
		return
	}
	text, kind := d.Text, 0
	if d.Thinking != "" {
		text, kind = d.Thinking, 1
	}
	text = cleanText(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		// A driver that goes on after it has returned says nothing any more.
		return
	}
	if s.answers != nil {
		s.answers()
		s.answers = nil
	}
	if text == "" {
		return
	}
	if s.firstTokenMs == nil {
		ms := s.elapsed()
		s.firstTokenMs = &ms
	}
	s.channels[kind].all.WriteString(text)
	s.channels[kind].pending.WriteString(text)
	now := time.Now()
	if wait := deltaInterval - now.Sub(s.lastSent); wait > 0 {
		if s.timer == nil {
			s.timer = time.AfterFunc(wait, s.tick)
		}
	} else {
		s.send(now)
	}
	s.checkpoint(now)
}

func (s *stream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	if !s.closed {
		s.send(time.Now())
	}
}

func (s *stream) send(now time.Time) {
	s.lastSent = now
	for kind := range s.channels {
		c := &s.channels[kind]
		if c.pending.Len() == 0 {
			continue
		}
		text := c.pending.String()
		c.pending.Reset()
		s.e.cfg.Hub.PublishDelta(events.Delta{
			OrgID: s.turn.OrgID, SessionID: s.turn.SessionID, TurnID: s.turn.ID, MessageID: s.output, Epoch: s.turn.LeaseEpoch,
			Attempt: s.attempt, Thinking: kind == 1, Offset: c.sent, Text: text,
		})
		c.sent += utf16Len(text)
	}
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// checkpoint saves what there is when enough has come. It never makes the model wait.
func (s *stream) checkpoint(now time.Time) {
	size := s.channels[0].all.Len() + s.channels[1].all.Len()
	if s.busy || (size-s.saved < checkpointBytes && now.Sub(s.savedAt) < checkpointInterval) {
		return
	}
	s.busy, s.checkpointed = true, true
	row := models.Checkpoint{
		OrgID: s.turn.OrgID, TurnID: s.turn.ID, SessionID: s.turn.SessionID, MessageID: s.output, Epoch: s.turn.LeaseEpoch,
		Attempt: s.attempt, Text: s.channels[0].all.String(), Thinking: s.channels[1].all.String(), UpdatedAt: s.e.nowMillis(),
	}
	s.saving.Go(func() {
		s.e.trySaveCheckpoint(row)
		s.mu.Lock()
		s.busy, s.saved, s.savedAt = false, size, time.Now()
		s.mu.Unlock()
	})
}

// withdraw takes back what an attempt has said, before the next one begins or says anything. saved tells that there may be a checkpoint,
// which must not outlive the text.
func (s *stream) withdraw(saved bool) {
	s.e.cfg.Hub.PublishDelta(events.Delta{
		OrgID: s.turn.OrgID, SessionID: s.turn.SessionID, TurnID: s.turn.ID, MessageID: s.output, Epoch: s.turn.LeaseEpoch,
		Attempt: s.attempt + 1,
	})
	if saved {
		s.e.trySaveCheckpoint(models.Checkpoint{
			OrgID: s.turn.OrgID, TurnID: s.turn.ID, SessionID: s.turn.SessionID, MessageID: s.output, Epoch: s.turn.LeaseEpoch,
			Attempt: s.attempt + 1, UpdatedAt: s.e.nowMillis(),
		})
	}
}

// finish ends the stream: afterwards nothing is sent or saved. What was not sent is in the durable event that follows.
func (s *stream) finish() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.saving.Wait()
}
