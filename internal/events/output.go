package events

import (
	"sync/atomic"

	"github.com/ostler-dev/ostler/internal/models"
)

// Delta is a piece of what a model writes.
type Delta struct {
	OrgID     models.OrgID
	SessionID models.SessionID
	TurnID    models.TurnID
	MessageID models.MessageID
	// Epoch and Attempt tell whose piece it is: once a higher one was heard, lower ones are a dead runner's.
	Epoch   int64
	Attempt int
	// Thinking is true when it is of the model's thinking, which has offsets of its own.
	Thinking bool
	// Offset is where the piece begins, in UTF-16 code units; 0 begins the text anew.
	Offset int
	Text   string
}

// output is a message that a model is writing.
type output struct {
	key     Key
	turn    models.TurnID
	message models.MessageID

	// Guarded by the stream's mutex.
	epoch   int64
	attempt int

	thinking, text liveText
	// closed is set when the message is complete: there is nothing to catch up with any more.
	closed atomic.Bool
	// shared are the last deltas that were made, thinking first: subscribers that are equally far share them.
	shared [2]atomic.Pointer[sharedDelta]
}

type sharedDelta struct {
	from, to textPosition
	item     *Item
}

// admit reports whether pieces of this epoch and attempt count. A higher one makes everything begin anew; withdrawn reports that
// there was something, so that readers see a change although nothing has come yet.
func (o *output) admit(epoch int64, attempt int) (counts, withdrawn bool) {
	if epoch < o.epoch || epoch == o.epoch && attempt < o.attempt {
		return false, false
	}
	if epoch > o.epoch || attempt > o.attempt {
		o.epoch, o.attempt = epoch, attempt
		thinking, text := o.thinking.restart(), o.text.restart()
		return true, thinking || text
	}
	return true, false
}

// apply takes a delta in. It reports whether readers see a change.
func (o *output) apply(d Delta) bool {
	counts, withdrawn := o.admit(d.Epoch, d.Attempt)
	if !counts {
		return false
	}
	t := &o.text
	if d.Thinking {
		t = &o.thinking
	}
	return t.apply(d.Offset, d.Text) || withdrawn
}

// adopt takes a checkpoint in. It reports whether readers see a change.
func (o *output) adopt(c *models.Checkpoint) bool {
	if c == nil || c.MessageID != o.message {
		return false
	}
	counts, withdrawn := o.admit(c.Epoch, c.Attempt)
	if !counts {
		return false
	}
	thinking, text := o.thinking.adopt(c.Thinking), o.text.adopt(c.Text)
	return thinking || text || withdrawn
}

// empty reports whether there is nothing for readers yet.
func (o *output) empty() bool {
	return o.thinking.state.Load() == nil && o.text.state.Load() == nil && !o.gap()
}

// gap reports whether pieces are missing.
func (o *output) gap() bool { return o.thinking.gap() || o.text.gap() }

// outputPosition is how far a subscriber is in an output.
type outputPosition struct {
	of             *output
	thinking, text textPosition
}

// next returns what a subscriber has not seen, as one delta; nil when it has seen everything. more reports that there is a
// second one.
func (o *output) next(p *outputPosition, sequence int64, now func() models.Millis) (item *Item, more bool) {
	if p.of != o {
		*p = outputPosition{of: o}
	}
	if item = o.delta(0, &o.thinking, &p.thinking, sequence, now); item != nil {
		ahead := p.text
		_, _, more = ahead.next(o.text.state.Load())
		return item, more
	}
	return o.delta(1, &o.text, &p.text, sequence, now), false
}

func (o *output) delta(which int, t *liveText, p *textPosition, sequence int64, now func() models.Millis) *Item {
	from := *p
	offset, text, ok := p.next(t.state.Load())
	if !ok {
		return nil
	}
	if s := o.shared[which].Load(); s != nil && s.from == from && s.to == *p && s.item.Event.Sequence == sequence {
		return s.item
	}
	var payload Payload = OutputDelta{MessageID: o.message, Offset: offset, Delta: text}
	if which == 0 {
		payload = ThinkingDelta{MessageID: o.message, Offset: offset, Delta: text}
	}
	item := newEphemeral(o.key, o.turn, sequence, now(), payload)
	o.shared[which].Store(&sharedDelta{from: from, to: *p, item: item})
	return item
}
