package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// NATSConfig tells how to reach NATS.
type NATSConfig struct {
	// URL is one or more addresses, with commas between.
	URL string
	// Name is what the connection is called in the server's lists.
	Name string
	// Logger hears of losses; nil for none.
	Logger *slog.Logger
	// Options are added to the bus's own, e.g. nats.InProcessServer for a server in this process.
	Options []nats.Option
}

// NATSBus is a Bus over NATS. It connects and reconnects forever.
type NATSBus struct {
	conn *nats.Conn
	log  *slog.Logger
	// in holds the messages of all subscriptions: a goroutine each, which is what nats.go starts otherwise, is too much
	// for a process with many thousand sessions.
	in     chan *nats.Msg
	out    chan localMessage
	queued atomic.Int64
	stop   chan struct{}
	work   sync.WaitGroup
	reconn callbacks

	mu       sync.RWMutex
	closed   bool
	handlers map[*nats.Subscription]func([]byte)
}

var _ Bus = (*NATSBus)(nil)

const (
	natsReconnectWait = 100 * time.Millisecond
	natsPing          = 3 * time.Second
	natsWriteTimeout  = 5 * time.Second
	natsFlushTimeout  = 2 * time.Second
)

// ConnectNATS starts a bus over NATS. It fails only for a configuration that can't work: a server that is not there
// yet is waited for in the background.
func ConnectNATS(cfg NATSConfig) (*NATSBus, error) {
	b := &NATSBus{
		log: cfg.Logger, in: make(chan *nats.Msg, busQueueMessages), out: make(chan localMessage, busQueueMessages),
		stop: make(chan struct{}), handlers: map[*nats.Subscription]func([]byte){},
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	opts := append([]nats.Option{
		nats.Name(cfg.Name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(natsReconnectWait), nats.ReconnectJitter(natsReconnectWait, natsReconnectWait),
		// What could not be sent is stale when the bus is connected again, and nobody needs it.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(natsPing), nats.MaxPingsOutstanding(2), nats.FlusherTimeout(natsWriteTimeout),
		nats.ConnectHandler(func(*nats.Conn) { b.reconn.call() }),
		nats.ReconnectHandler(func(c *nats.Conn) {
			b.log.Info("the bus is connected again", "server", c.ConnectedUrlRedacted())
			b.reconn.call()
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.log.Warn("the bus is disconnected; subscribers read from the database until it is back", "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrSlowConsumer) {
				b.reconn.dropped()
			}
			b.log.Warn("bus", "error", err)
		}),
	}, cfg.Options...)
	conn, err := nats.Connect(cfg.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %q: %w", cfg.URL, err)
	}
	if !conn.IsConnected() {
		b.log.Warn("the bus is not connected yet; subscribers read from the database until it is", "server", conn.ConnectedUrlRedacted())
	}
	b.conn = conn
	b.work.Go(b.send)
	b.work.Go(b.deliver)
	return b, nil
}

// Publish implements Bus. nats.go writes on the caller's goroutine when its buffer is full, so another one publishes.
func (b *NATSBus) Publish(subject string, data []byte) error {
	b.mu.RLock()
	closed := b.closed
	b.mu.RUnlock()
	if closed {
		return ErrBusClosed
	}
	size := int64(len(data))
	if b.queued.Add(size) > busQueueBytes {
		b.queued.Add(-size)
		return ErrBusFull
	}
	select {
	case b.out <- localMessage{subject, data}:
		return nil
	default:
		b.queued.Add(-size)
		return ErrBusFull
	}
}

func (b *NATSBus) send() {
	for {
		select {
		case <-b.stop:
			return
		case m := <-b.out:
			b.queued.Add(-int64(len(m.data)))
			if err := b.conn.Publish(m.subject, m.data); err != nil {
				b.log.Debug("a message to the bus was lost", "subject", m.subject, "error", err)
			}
		}
	}
}

func (b *NATSBus) deliver() {
	for {
		select {
		case <-b.stop:
			return
		case m := <-b.in:
			b.mu.RLock()
			fn := b.handlers[m.Sub]
			b.mu.RUnlock()
			if fn != nil {
				fn(m.Data)
			}
			b.reconn.recovered()
		}
	}
}

// Subscribe implements Bus.
func (b *NATSBus) Subscribe(subject string, fn func([]byte)) (func(), error) {
	return b.QueueSubscribe(subject, "", fn)
}

// QueueSubscribe implements Bus.
func (b *NATSBus) QueueSubscribe(subject, queue string, fn func([]byte)) (func(), error) {
	sub, err := b.register(subject, queue, fn)
	if err != nil {
		return nil, err
	}
	b.flush()
	return func() {
		b.mu.Lock()
		delete(b.handlers, sub)
		b.mu.Unlock()
		if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			b.log.Debug("unsubscribe", "subject", subject, "error", err)
		}
		if queue != "" {
			// Until the server knows, it may still choose this member.
			b.flush()
		}
	}, nil
}

func (b *NATSBus) register(subject, queue string, fn func([]byte)) (*nats.Subscription, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrBusClosed
	}
	sub, err := b.conn.ChanQueueSubscribe(subject, queue, b.in)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	b.handlers[sub] = fn
	return sub, nil
}

// flush waits until the server knows of the subscriptions, so that what the caller reads from the database next and
// what it hears from then on leave no hole. Where that fails the bus is broken, and OnReconnect closes the hole.
func (b *NATSBus) flush() {
	if !b.conn.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), natsFlushTimeout)
	defer cancel()
	if err := b.conn.FlushWithContext(ctx); err != nil {
		b.log.Debug("flush the bus", "error", err)
	}
}

// OnReconnect implements Bus.
func (b *NATSBus) OnReconnect(fn func()) func() { return b.reconn.add(fn) }

// Connected implements Bus.
func (b *NATSBus) Connected() bool { return b.conn.IsConnected() }

// Shared implements Bus.
func (b *NATSBus) Shared() bool { return true }

// Close implements Bus.
func (b *NATSBus) Close() error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.handlers = map[*nats.Subscription]func([]byte){}
	b.mu.Unlock()
	if !closed {
		close(b.stop)
		b.conn.Close()
	}
	b.work.Wait()
	return nil
}
