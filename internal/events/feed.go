package events

import (
	"context"
	"sync"
)

// Feed lets a transport ask for the events of a subscription, instead of waiting for them on the resolver's channel: a
// stream at rest then needs no goroutine, neither there nor here.
//
// A transport offers a feed in the resolver's context. A resolver that takes it returns a channel that nothing is put
// into but by Show. One that doesn't puts its events into the channel by itself.
type Feed struct {
	// Wake is the transport's; see Options.Wake.
	Wake func()
	// Allowance is that of the connection; see Options.Allowance.
	Allowance *Allowance
	// Mark is that of the event which the client has got last, if it has said so beside `after`; see Options.Mark.
	Mark Mark

	mu     sync.Mutex
	source Source
	show   Show
	write  Write
}

// Source returns the events of one subscription.
type Source interface {
	// Poll returns the next event, nil when there is none now; see Subscription.Poll. Its errors are for the subscriber.
	Poll(ctx context.Context) (*Item, error)
	// Undelivered returns the error for a subscriber whose stream ends before the item, since there was no memory for an answer; see
	// Subscription.Undelivered.
	Undelivered(item *Item) error
	// Close may be called at any time, more than once.
	Close()
}

// Positioned is a Source whose subscription has an argument `after`.
type Positioned interface {
	Source
	// Position returns the value of `after` for which a stream goes on behind the item. Ephemeral items have the position of
	// the durable one before them. "" means that the item is no place to resume at.
	Position(item *Item) string
}

// Show puts an event into the resolver's channel, which has room for one; false when the subscriber must not see it.
type Show func(*Item) (bool, error)

// Write returns the data of the answer to an event as JSON, for subscriptions whose answers depend on nothing but the event; nil for
// events that have to be shown.
type Write func(*Item) []byte

type feedKey struct{}

// WithFeed offers a feed to the resolver.
func WithFeed(ctx context.Context, f *Feed) context.Context {
	return context.WithValue(ctx, feedKey{}, f)
}

// FeedFrom returns the feed that the transport offers; nil when it reads the channel.
func FeedFrom(ctx context.Context) *Feed {
	f, _ := ctx.Value(feedKey{}).(*Feed)
	return f
}

// Take is called by the resolver. write may be nil.
func (f *Feed) Take(source Source, show Show, write Write) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.source, f.show, f.write = source, show, write
}

// Taken returns what the resolver handed over; nothing when it did not take the feed. show is given once: it belongs to
// the one gqlgen execution whose channel it fills.
func (f *Feed) Taken() (source Source, show Show, write Write) {
	f.mu.Lock()
	defer f.mu.Unlock()
	source, show, write = f.source, f.show, f.write
	f.show, f.write = nil, nil
	return source, show, write
}

// Close ends the subscription, if there is one.
func (f *Feed) Close() {
	f.mu.Lock()
	source := f.source
	f.mu.Unlock()
	if source != nil {
		source.Close()
	}
}
