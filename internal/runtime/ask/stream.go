package ask

import (
	"strings"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// deltaInterval is the least time between two deltas of a stream; the first goes out at once.
	deltaInterval = 50 * time.Millisecond
	// checkpointInterval is how long after the last checkpoint the next one is written.
	checkpointInterval = 500 * time.Millisecond
	// CheckpointBytes is after how much text it is written sooner.
	CheckpointBytes = 4 << 10
)

// stream passes on what a model says: to those who watch, in pieces, and to the database, so that it survives this process.
type stream struct {
	m      *Models
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
	// checkpointed is true when a checkpoint was written.
	checkpointed bool
	// tally is what was known of the step's calls when this one was made.
	tally turns.Tally

	mu       sync.Mutex
	channels [2]channel // text, thinking
	lastSent time.Time
	timer    *time.Timer
	closed   bool
	// usage is what the provider has said that the call takes; nil for nothing. toolCall reports that a tool call has begun.
	usage    *models.Usage
	toolCall bool
	// heardAt is the time of the last piece.
	heardAt models.Millis
	// kept is what the newest checkpoint holds.
	kept    kept
	savedAt time.Time
	saving  sync.WaitGroup
	busy    bool
}

// kept is what a checkpoint holds, as far as it decides whether the next one is due.
type kept struct {
	size     int
	usage    *models.Usage
	toolCall bool
}

// channel is text that grows: what was sent, and what waits to be.
type channel struct {
	all strings.Builder
	// sent are the UTF-16 code units that went out.
	sent    int
	pending strings.Builder
}

func newStream(m *Models, turn models.Turn, output models.MessageID, attempt int, watch *idleWatch, known turns.Tally) *stream {
	known.At = m.nowMillis()
	return &stream{
		m: m, turn: turn, output: output, attempt: attempt, watch: watch, tally: known, begunAt: m.cfg.Clock.Now(), savedAt: time.Now(),
	}
}

// elapsed is how long the call has lasted, in milliseconds. A clock that is set back doesn't make it negative.
func (s *stream) elapsed() int64 { return max(s.m.cfg.Clock.Now().Sub(s.begunAt).Milliseconds(), 0) }

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
	text = texts.Clean(text)
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
	s.heardAt = s.m.nowMillis()
	s.toolCall = s.toolCall || d.ToolCall != ""
	if d.Usage != nil {
		said := *d.Usage
		s.usage = &said
	}
	now := time.Now()
	if text != "" {
		s.say(kind, text, now)
	}
	s.checkpoint(now)
}

// say adds text to a channel.
func (s *stream) say(kind int, text string, now time.Time) {
	if s.firstTokenMs == nil {
		ms := s.elapsed()
		s.firstTokenMs = &ms
	}
	s.channels[kind].all.WriteString(text)
	s.channels[kind].pending.WriteString(text)
	if wait := deltaInterval - now.Sub(s.lastSent); wait > 0 {
		if s.timer == nil {
			s.timer = time.AfterFunc(wait, s.tick)
		}
	} else {
		s.send(now)
	}
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
		s.m.cfg.Hub.PublishDelta(events.Delta{
			OrgID: s.turn.OrgID, SessionID: s.turn.SessionID, TurnID: s.turn.ID, MessageID: s.output, Epoch: s.turn.LeaseEpoch,
			Attempt: s.attempt, Thinking: kind == 1, Offset: c.sent, Text: text,
		})
		c.sent += events.UTF16Length(text)
	}
}

// checkpoint saves what there is when enough has come. It never makes the model wait.
func (s *stream) checkpoint(now time.Time) {
	has := kept{size: s.channels[0].all.Len() + s.channels[1].all.Len(), usage: s.usage, toolCall: s.toolCall}
	if s.busy || !s.due(has, now) {
		return
	}
	s.busy, s.checkpointed, s.kept = true, true, has
	row := s.row()
	s.saving.Go(func() {
		s.m.cfg.Save(row)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy, s.savedAt = false, time.Now()
		if !s.closed {
			// What has come meanwhile may be due by itself.
			s.checkpoint(s.savedAt)
		}
	})
}

// due reports whether there is enough that the newest checkpoint doesn't hold.
func (s *stream) due(has kept, now time.Time) bool {
	switch {
	case has == s.kept:
		return false
	case has.usage != nil && s.kept.usage == nil:
		// Without one nobody would know what the call takes, were this process to die now.
		return true
	case has.toolCall && !s.kept.toolCall && s.kept.size > 0:
		// What was saved is no answer any more that could stand by itself.
		return true
	case has.size == s.kept.size && has.usage == s.kept.usage:
		return false
	}
	return has.size-s.kept.size >= CheckpointBytes || now.Sub(s.savedAt) >= checkpointInterval
}

// row returns the checkpoint of what there is.
func (s *stream) row() models.Checkpoint {
	known := s.tally
	known.Said = s.usage
	at := s.heardAt
	if at == 0 {
		at = known.At
	}
	return models.Checkpoint{
		OrgID: s.turn.OrgID, TurnID: s.turn.ID, SessionID: s.turn.SessionID, MessageID: s.output, Epoch: s.turn.LeaseEpoch,
		Attempt: s.attempt, Text: s.channels[0].all.String(), Thinking: s.channels[1].all.String(), ToolCall: s.toolCall,
		Usage: jsonx.MustEncode(known), UpdatedAt: at,
	}
}

// leave saves all there is of a call that was cut short, after the stream's end: whoever goes on with the step knows what it took.
func (s *stream) leave(took models.Usage) {
	if took != (models.Usage{}) {
		s.usage = &took
	}
	s.m.cfg.Save(s.row())
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
