package events

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// The form of messages on the subject of a session or a feed: version, node, type, then the body. It is of no concern to anybody but
// this package, and processes of two versions that meet on one bus do each other no harm: a message that can't be read
// counts as lost.
const (
	wireVersion = 2
	// wireLimit is how large a message may be; NATS refuses more than 1 MiB.
	wireLimit = 512 << 10
)

// NodeID tells the processes on a bus apart.
type NodeID [16]byte

type wireType byte

const (
	// wireEvents carries durable events, in order and without gaps.
	wireEvents wireType = iota + 1
	// wireNotice tells only how far the log goes.
	wireNotice
	wireDelta
	wireProgress
	wireRetrying
)

var errWire = errors.New("not a message of this version")

func appendHeader(b []byte, node NodeID, t wireType) []byte {
	b = append(b, wireVersion)
	b = append(b, node[:]...)
	return append(b, byte(t))
}

// readHeader returns the sender, the type and the body.
func readHeader(b []byte) (NodeID, wireType, []byte, error) {
	var node NodeID
	if len(b) < 2+len(node) || b[0] != wireVersion {
		return node, 0, nil, errWire
	}
	copy(node[:], b[1:])
	return node, wireType(b[1+len(node)]), b[2+len(node):], nil
}

// encodeEvents returns the message for committed events: the events, or a notice when that would be too large. Those on the subject of
// a feed all have a place in it.
func encodeEvents(node NodeID, key Key, list []models.Event) []byte {
	size := 64
	for i := range list {
		size += len(list[i].Data) + len(list[i].Kind) + 64
	}
	if size > wireLimit {
		b := appendHeader(make([]byte, 0, 32), node, wireNotice)
		last := &list[len(list)-1]
		if key.Feed() {
			return binary.AppendVarint(b, *last.FeedPosition)
		}
		return binary.AppendVarint(b, last.Sequence)
	}
	b := appendHeader(make([]byte, 0, size), node, wireEvents)
	for i := range list {
		e := &list[i]
		b = binary.AppendVarint(b, e.Sequence)
		b = append(b, e.ID[:]...)
		b = appendText(b, string(e.Kind))
		b = appendID(b, e.TurnID)
		// A sequence is never 0, and neither is a position.
		b = binary.AppendVarint(b, models.Value(e.FeedPosition))
		if key.Feed() {
			b = append(b, e.SessionID[:]...)
			b = appendID(b, e.AgentID)
		}
		b = binary.AppendVarint(b, int64(e.OccurredAt))
		b = appendText(b, string(e.Data))
	}
	return b
}

// decodeEvents reads a message of encodeEvents. The organization, and the session unless it is a feed, are known from its subject.
func decodeEvents(key Key, body []byte) ([]models.Event, error) {
	r := wireReader{rest: body}
	var list []models.Event
	for len(r.rest) > 0 && !r.bad {
		e := models.Event{OrgID: key.Org, SessionID: key.Session, Sequence: r.number()}
		r.raw(e.ID[:])
		e.Kind = models.EventKind(r.text())
		e.TurnID = readID[models.TurnEntity](&r)
		if position := r.number(); position > 0 {
			e.FeedPosition = &position
		} else if key.Feed() {
			r.take(-1)
		}
		if key.Feed() {
			r.raw(e.SessionID[:])
			e.AgentID = readID[models.AgentEntity](&r)
		}
		e.OccurredAt = models.Millis(r.number())
		e.Data = models.JSON(r.text())
		list = append(list, e)
	}
	if r.bad {
		return nil, fmt.Errorf("read events from the bus: %w", errWire)
	}
	return list, nil
}

func encodeDelta(node NodeID, d Delta) []byte {
	b := appendHeader(make([]byte, 0, len(d.Text)+128), node, wireDelta)
	b = append(b, d.TurnID[:]...)
	b = append(b, d.MessageID[:]...)
	b = binary.AppendVarint(b, d.Epoch)
	b = binary.AppendVarint(b, int64(d.Attempt))
	if d.Thinking {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.AppendVarint(b, int64(d.Offset))
	return appendText(b, d.Text)
}

func decodeDelta(key Key, body []byte) (Delta, error) {
	r := wireReader{rest: body}
	d := Delta{OrgID: key.Org, SessionID: key.Session}
	r.raw(d.TurnID[:])
	r.raw(d.MessageID[:])
	d.Epoch = r.number()
	d.Attempt = int(r.number())
	d.Thinking = r.flag()
	d.Offset = int(r.number())
	d.Text = r.text()
	if r.bad || len(r.rest) > 0 || d.Offset < 0 {
		return Delta{}, fmt.Errorf("read a delta from the bus: %w", errWire)
	}
	return d, nil
}

func encodeProgress(node NodeID, turn models.TurnID, p ToolProgress) []byte {
	b := appendHeader(make([]byte, 0, 128+len(p.Message)), node, wireProgress)
	b = append(b, turn[:]...)
	b = appendText(b, p.ToolCallID)
	b = appendText(b, p.ToolName)
	b = appendText(b, p.DisplayName)
	return appendText(b, p.Message)
}

func decodeProgress(body []byte) (models.TurnID, ToolProgress, error) {
	r := wireReader{rest: body}
	var turn models.TurnID
	r.raw(turn[:])
	p := ToolProgress{ToolCallID: r.text(), ToolName: r.text(), DisplayName: r.text(), Message: r.text()}
	if r.bad || len(r.rest) > 0 {
		return turn, p, fmt.Errorf("read progress from the bus: %w", errWire)
	}
	return turn, p, nil
}

func encodeRetrying(node NodeID, turn models.TurnID, p GenerationRetrying) []byte {
	b := appendHeader(make([]byte, 0, 256+len(p.Message)), node, wireRetrying)
	b = append(b, turn[:]...)
	b = append(b, p.MessageID[:]...)
	b = appendText(b, p.Model)
	b = appendText(b, p.Code)
	b = appendText(b, p.Message)
	b = appendText(b, p.NextModel)
	b = binary.AppendVarint(b, int64(p.Attempt))
	return binary.AppendVarint(b, p.DelayMs)
}

func decodeRetrying(body []byte) (models.TurnID, GenerationRetrying, error) {
	r := wireReader{rest: body}
	var turn models.TurnID
	r.raw(turn[:])
	var p GenerationRetrying
	r.raw(p.MessageID[:])
	p.Model, p.Code, p.Message, p.NextModel = r.text(), r.text(), r.text(), r.text()
	p.Attempt, p.DelayMs = int(r.number()), r.number()
	if r.bad || len(r.rest) > 0 {
		return turn, p, fmt.Errorf("read of a retry from the bus: %w", errWire)
	}
	return turn, p, nil
}

func appendID[E models.Entity](b []byte, id *models.ID[E]) []byte {
	if id == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	return append(b, id[:]...)
}

func readID[E models.Entity](r *wireReader) *models.ID[E] {
	if !r.flag() {
		return nil
	}
	var id models.ID[E]
	r.raw(id[:])
	return &id
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// wireReader takes a message apart. Once something is missing, all that follows is empty and bad is set.
type wireReader struct {
	rest []byte
	bad  bool
}

func (r *wireReader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *wireReader) raw(to []byte) { copy(to, r.take(len(to))) }

func (r *wireReader) flag() bool {
	b := r.take(1)
	return len(b) == 1 && b[0] == 1
}

func (r *wireReader) number() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.take(-1)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *wireReader) text() string {
	size, n := binary.Uvarint(r.rest)
	if n <= 0 || size > uint64(len(r.rest)) {
		r.take(-1)
		return ""
	}
	r.rest = r.rest[n:]
	return string(r.take(int(size))) //nolint:gosec // G115: bounded by the length of the message
}
