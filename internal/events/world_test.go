package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// memory is a database for tests of the hub: one session, and counts of the reads.
type memory struct {
	key events.Key
	// latency is called by each read, without the lock.
	latency func()

	mu          sync.Mutex
	log         []models.Event
	active      bool
	turn        models.TurnID
	message     models.MessageID
	checkpoint  *models.Checkpoint
	broken      error
	reads       int
	positions   int
	checkpoints int
}

func newMemory() *memory {
	return &memory{
		key:     events.Key{Org: models.NewID[models.OrgEntity](), Session: models.NewID[models.SessionEntity]()},
		latency: func() {},
	}
}

// commit stores events and returns them as rows.
func (m *memory) commit(turn models.TurnID, payloads ...events.Payload) []models.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	start := len(m.log)
	for _, p := range payloads {
		data, err := json.Marshal(p)
		if err != nil {
			panic(err)
		}
		m.log = append(m.log, models.Event{
			OrgID: m.key.Org, SessionID: m.key.Session, Sequence: int64(len(m.log) + 1), ID: models.NewID[models.EventEntity](),
			Kind: p.Kind(), TurnID: turn.Ptr(), Data: data, OccurredAt: 1,
		})
		switch p := p.(type) {
		case events.SessionActivated:
			m.active = true
		case events.SessionIdled:
			m.active = false
		case events.OutputStarted:
			m.turn, m.message = turn, p.MessageID
		case events.OutputCompleted:
			m.message, m.checkpoint = models.MessageID{}, nil
		}
	}
	return slices.Clone(m.log[start:])
}

func (m *memory) store(c models.Checkpoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.OrgID, c.SessionID = m.key.Org, m.key.Session
	m.checkpoint = &c
}

func (m *memory) enter(count *int) error {
	m.latency()
	m.mu.Lock()
	defer m.mu.Unlock()
	*count++
	return m.broken
}

func (m *memory) Read(_ context.Context, _ models.OrgID, _ models.SessionID, after int64, limit events.Limit) ([]models.Event, error) {
	if err := m.enter(&m.reads); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rest := m.log[min(after, int64(len(m.log))):]
	return within(rest, limit), nil
}

// within returns as many of the events as a limit allows.
func within(list []models.Event, limit events.Limit) []models.Event {
	n, bytes := 0, 0
	for n < len(list) && n < limit.Events {
		if bytes += len(list[n].Data); n > 0 && bytes > limit.Bytes {
			break
		}
		n++
	}
	return slices.Clone(list[:n])
}

func (m *memory) ReadFeed(context.Context, models.OrgID, int64, events.Limit) ([]models.Event, error) {
	panic("this database has no feeds")
}

func (m *memory) LastSequences(_ context.Context, keys []events.Key) (map[events.Key]events.Position, error) {
	if err := m.enter(&m.positions); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[events.Key]events.Position{}
	if slices.Contains(keys, m.key) {
		found[m.key] = m.position()
	}
	return found, nil
}

func (m *memory) position() events.Position {
	return events.Position{LastSequence: int64(len(m.log)), Active: m.active}
}

func (m *memory) State(_ context.Context, key events.Key) (events.State, bool, error) {
	if err := m.enter(&m.positions); err != nil {
		return events.State{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if key != m.key {
		return events.State{}, false, nil
	}
	st := events.State{Position: m.position(), TurnID: m.turn, MessageID: m.message}
	if c := m.checkpoint; c != nil && c.MessageID == m.message {
		st.Checkpoint = new(*c)
	}
	return st, true, nil
}

func (m *memory) Checkpoint(context.Context, models.OrgID, models.TurnID) (*models.Checkpoint, error) {
	if err := m.enter(&m.checkpoints); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.checkpoint == nil {
		return nil, nil
	}
	return new(*m.checkpoint), nil
}

func (m *memory) count(of *int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *of
}

func (m *memory) length() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.log)
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

// network joins the buses of several nodes. fate decides what becomes of a message on its way to one node: the delays
// after which copies arrive.
type network struct {
	mu    sync.Mutex
	nodes []*nodeBus
	fate  func() []time.Duration
	down  bool
	count int
}

type nodeBus struct {
	net       *network
	mu        sync.Mutex
	fns       map[int]listening
	next      int
	reconnect []func()
}

type listening struct {
	subject string
	fn      func([]byte)
}

var _ events.Bus = (*nodeBus)(nil)

func (n *network) join() *nodeBus {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := &nodeBus{net: n, fns: map[int]listening{}}
	n.nodes = append(n.nodes, b)
	return b
}

func (n *network) isDown() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.down
}

// set takes the network down, or up again: then all are told.
func (n *network) set(down bool) {
	n.mu.Lock()
	n.down = down
	nodes := slices.Clone(n.nodes)
	n.mu.Unlock()
	for _, b := range nodes {
		b.mu.Lock()
		fns := slices.Clone(b.reconnect)
		b.mu.Unlock()
		for _, fn := range fns {
			if !down {
				fn()
			}
		}
	}
}

func (b *nodeBus) Publish(subject string, data []byte) error {
	if b.net.isDown() {
		return errors.New("the network is down")
	}
	b.net.mu.Lock()
	nodes := slices.Clone(b.net.nodes)
	b.net.count++
	b.net.mu.Unlock()
	for _, to := range nodes {
		for _, delay := range b.net.fate() {
			if delay == 0 {
				to.arrive(subject, data)
				continue
			}
			time.AfterFunc(delay, func() { to.arrive(subject, data) })
		}
	}
	return nil
}

func (b *nodeBus) arrive(subject string, data []byte) {
	b.mu.Lock()
	var fns []func([]byte)
	for _, l := range b.fns {
		if l.subject == subject {
			fns = append(fns, l.fn)
		}
	}
	b.mu.Unlock()
	for _, fn := range fns {
		fn(data)
	}
}

func (b *nodeBus) Subscribe(subject string, fn func([]byte)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.next
	b.next++
	b.fns[id] = listening{subject, fn}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.fns, id)
	}, nil
}

func (b *nodeBus) QueueSubscribe(subject, _ string, fn func([]byte)) (func(), error) {
	return b.Subscribe(subject, fn)
}

func (b *nodeBus) OnReconnect(fn func()) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reconnect = append(b.reconnect, fn)
	return func() {}
}

func (b *nodeBus) Connected() bool { return !b.net.isDown() }
func (b *nodeBus) Shared() bool    { return true }
func (b *nodeBus) Close() error    { return nil }

func (b *nodeBus) listeners() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.fns)
}

// pass lets time pass in a bubble of synctest, where that takes none.
func pass(d time.Duration) { <-time.After(d) }

func faithful() []time.Duration { return []time.Duration{0} }

func startHub(t *testing.T, m events.Reader, bus events.Bus, change func(*events.Config)) *events.Hub {
	t.Helper()
	cfg := events.Config{Log: m, Bus: bus}
	if change != nil {
		change(&cfg)
	}
	h := events.NewHub(cfg)
	h.Start()
	h.Start()
	t.Cleanup(func() {
		h.Stop()
		h.Stop()
	})
	return h
}
