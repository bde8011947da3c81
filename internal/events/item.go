package events

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// Item is one event on a stream. All subscribers of a session share it, so nobody may change it.
type Item struct {
	// Event is the row of a durable event. An ephemeral one has an id of its own, no Data (see the method), and the
	// sequence of the last durable event that was delivered before it on the stream; in a feed, its position and neither session
	// nor sequence.
	Event models.Event
	// Ephemeral is true when the event is not in the log.
	Ephemeral bool

	payload Payload
	// mark is, of CAUGHT_UP, that of the durable event before it.
	mark Mark

	decodeOnce sync.Once
	decodeErr  error

	renderOnce sync.Once
	rendered   any
	renderErr  error

	sharedMu sync.Mutex
	shared   []sharedBytes
}

// sharedBytes is the item as it is sent to all who asked for the same of it.
type sharedBytes struct {
	key  any
	data []byte
}

// maxShared bounds for how many keys an item keeps its bytes.
const maxShared = 8

// NewItem returns the item of a durable event.
func NewItem(e models.Event) *Item { return &Item{Event: e} }

// itemsOf returns the items of events, each by itself: a reader that keeps one keeps no others alive.
func itemsOf(list []models.Event) []*Item {
	items := make([]*Item, len(list))
	for i := range list {
		items[i] = NewItem(list[i])
	}
	return items
}

// Mark returns that of a durable event and, with CAUGHT_UP, that of the durable event before it as far as it is known.
func (i *Item) Mark() Mark {
	if i.Ephemeral {
		return i.mark
	}
	return MarkOf(&i.Event)
}

// Size is how many bytes an item holds, beside some hundred. An answer that shows all of it is about as large, or larger where its text
// has to be escaped.
func (i *Item) Size() int {
	if i.Ephemeral {
		if p, ok := i.payload.(OutputDelta); ok {
			return len(p.Delta)
		}
	}
	return len(i.Event.Data)
}

// Payload returns what the event carries. It is decoded once, however many ask.
func (i *Item) Payload() (Payload, error) {
	i.decodeOnce.Do(func() {
		if i.payload == nil {
			i.payload, i.decodeErr = Decode(i.Event.Kind, i.Event.Data)
		}
	})
	return i.payload, i.decodeErr
}

// Data returns the payload as JSON.
func (i *Item) Data() (models.JSON, error) {
	if !i.Ephemeral {
		return i.Event.Data, nil
	}
	doc, err := jsonx.Encode(i.payload)
	if err != nil {
		return nil, fmt.Errorf("encode the data of %s: %w", i.Event.Kind, err)
	}
	return models.JSON(doc), nil
}

// Rendered returns what render made of the item. It is called once, however many subscribers ask.
func (i *Item) Rendered(render func(*Item) (any, error)) (any, error) {
	i.renderOnce.Do(func() { i.rendered, i.renderErr = render(i) })
	return i.rendered, i.renderErr
}

// Bytes returns what render makes of the item for key: one call serves all who ask with the same key. What is nil is not
// kept. Nobody may change the bytes.
func (i *Item) Bytes(key any, render func() []byte) []byte {
	i.sharedMu.Lock()
	defer i.sharedMu.Unlock()
	for _, s := range i.shared {
		if s.key == key {
			return s.data
		}
	}
	data := render()
	if data != nil && len(i.shared) < maxShared {
		i.shared = append(i.shared, sharedBytes{key, data})
	}
	return data
}

// note is an ephemeral event that waits to be delivered. Subscribers that are equally far share one Item.
type note struct {
	key     Key
	turn    models.TurnID
	payload Payload
	at      models.Millis
	last    atomic.Pointer[Item]
}

// item returns the note as it is delivered to a subscriber whose last durable event is sequence.
func (n *note) item(sequence int64) *Item {
	if i := n.last.Load(); i != nil && i.Event.Sequence == sequence {
		return i
	}
	i := newEphemeral(n.key, n.turn, sequence, n.at, n.payload)
	n.last.Store(i)
	return i
}

func newEphemeral(key Key, turn models.TurnID, sequence int64, at models.Millis, p Payload) *Item {
	i := &Item{
		Ephemeral: true, payload: p,
		Event: models.Event{
			OrgID: key.Org, SessionID: key.Session, Sequence: sequence, ID: models.NewID[models.EventEntity](),
			Kind: p.Kind(), TurnID: turn.Ptr(), OccurredAt: at,
		},
	}
	if key.Feed() {
		i.Event.Sequence, i.Event.FeedPosition = 0, &sequence
	}
	return i
}
