package events

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// Reader is what a hub reads; Log is one.
type Reader interface {
	Read(ctx context.Context, org models.OrgID, session models.SessionID, after int64, limit Limit) ([]models.Event, error)
	ReadFeed(ctx context.Context, org models.OrgID, after int64, limit Limit) ([]models.Event, error)
	LastSequences(ctx context.Context, keys []Key) (map[Key]Position, error)
	State(ctx context.Context, key Key) (State, bool, error)
	Checkpoint(ctx context.Context, org models.OrgID, turn models.TurnID) (*models.Checkpoint, error)
}

var _ Reader = (*Log)(nil)

// Config tells what a hub works with. Log and Bus are required.
type Config struct {
	Log Reader
	Bus Bus
	// Clock dates ephemeral events. Defaults to the machine's.
	Clock clock.Clock
	// Timers default to the machine's.
	Timers Timers
	// Logger hears of failed reads; nil for none.
	Logger *slog.Logger
	// Meter hears how it goes; nil for nobody.
	Meter Meter
	// Buffer is how many events may wait for one subscriber. Defaults to 256.
	Buffer int
	// Reads is how many reads of the database may run at once. Defaults to 4.
	Reads int
	// ReadTimeout bounds one read. Defaults to 10 s.
	ReadTimeout time.Duration
}

// Meter hears how it goes. Its methods must not block.
type Meter interface {
	// Delivered hears how long after its commit began a durable event was handed to a subscriber that was waiting for it: of the
	// first one of each subscriber, and of one in measureEvery after that.
	Delivered(lag time.Duration)
	// Lagged hears of a subscription that ends because its reader was too slow.
	Lagged()
}

// measureEvery is of how many live events one is measured: with very many subscribers each look at a clock counts.
const measureEvery = 16

const (
	defaultBuffer      = 256
	defaultReads       = 4
	defaultReadTimeout = 10 * time.Second
)

// Hub brings what is committed in any process to the subscribers in this one. There is one per process.
type Hub struct {
	cfg   Config
	node  NodeID
	slots chan struct{}
	//nolint:containedctx // the hub's own life, which its background reads end with
	ctx    context.Context
	cancel context.CancelFunc

	life struct {
		sync.Mutex
		started, stopped bool
		work             sync.WaitGroup
		stopTimer        func() bool
		stopListening    func()
	}
	round int

	mu      sync.RWMutex
	streams map[Key]*stream
}

// NewHub makes a hub. It serves subscribers at once; Start makes it look for what the bus lost.
func NewHub(cfg Config) *Hub {
	if cfg.Clock == nil {
		cfg.Clock = clock.System{}
	}
	if cfg.Timers == nil {
		cfg.Timers = SystemTimers{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Buffer <= 0 {
		cfg.Buffer = defaultBuffer
	}
	if cfg.Reads <= 0 {
		cfg.Reads = defaultReads
	}
	if cfg.ReadTimeout <= 0 {
		cfg.ReadTimeout = defaultReadTimeout
	}
	h := &Hub{cfg: cfg, slots: make(chan struct{}, cfg.Reads), streams: map[Key]*stream{}}
	_, _ = rand.Read(h.node[:]) // never fails, by its documentation
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Publish tells the subscribers of the session and those of its organization's feed, here and elsewhere, of events that were
// committed: gapless, in order. It never waits. The events must not be changed afterwards.
func (h *Hub) Publish(org models.OrgID, session models.SessionID, list []models.Event) {
	if len(list) == 0 {
		return
	}
	key := Key{org, session}
	if s := h.stream(key); s != nil {
		items := itemsOf(list)
		s.mu.Lock()
		s.take(items)
		s.mu.Unlock()
	}
	if h.cfg.Bus.Shared() {
		h.send(key, encodeEvents(h.node, key, list))
	}
	h.publishFeed(org, list)
}

// publishFeed tells those who follow the organization of the events that have a place in its feed.
func (h *Hub) publishFeed(org models.OrgID, list []models.Event) {
	if !slices.ContainsFunc(list, inFeed) {
		return
	}
	key := Key{Org: org}
	s := h.stream(key)
	if s == nil && !h.cfg.Bus.Shared() {
		return
	}
	placed := make([]models.Event, 0, len(list))
	for _, e := range list {
		if inFeed(e) {
			placed = append(placed, e)
		}
	}
	if s != nil {
		items := itemsOf(placed)
		s.mu.Lock()
		s.take(items)
		s.mu.Unlock()
	}
	if h.cfg.Bus.Shared() {
		h.send(key, encodeEvents(h.node, key, placed))
	}
}

func inFeed(e models.Event) bool { return e.FeedPosition != nil }

// PublishDelta tells the session's subscribers of a piece of text. It never waits, and it may be lost.
func (h *Hub) PublishDelta(d Delta) {
	key := Key{d.OrgID, d.SessionID}
	if s := h.stream(key); s != nil {
		s.delta(d)
	}
	if h.cfg.Bus.Shared() && len(d.Text) < wireLimit {
		h.send(key, encodeDelta(h.node, d))
	}
}

// PublishProgress tells the session's subscribers how far a tool is. It never waits, and it may be lost.
func (h *Hub) PublishProgress(org models.OrgID, session models.SessionID, turn models.TurnID, p ToolProgress) {
	key := Key{org, session}
	if s := h.stream(key); s != nil {
		s.tell(turn, p)
	}
	if h.cfg.Bus.Shared() && len(p.Message) < wireLimit {
		h.send(key, encodeProgress(h.node, turn, p))
	}
}

// PublishRetrying tells the session's subscribers that a model call failed and is retried. It never waits, and it may be
// lost.
func (h *Hub) PublishRetrying(org models.OrgID, session models.SessionID, turn models.TurnID, p GenerationRetrying) {
	key := Key{org, session}
	if s := h.stream(key); s != nil {
		s.tell(turn, p)
	}
	if h.cfg.Bus.Shared() && len(p.Message) < wireLimit {
		h.send(key, encodeRetrying(h.node, turn, p))
	}
}

// Subscribe begins a stream of a session's events. It fails with NOT_FOUND when the organization has no such session.
// The subscription must be closed.
func (h *Hub) Subscribe(ctx context.Context, org models.OrgID, session models.SessionID, opts Options) (*Subscription, error) {
	if session.IsZero() { // an id like any other to who asks; within, it stands for the feed
		return nil, h.explain(errNoSession, Key{org, session})
	}
	return h.subscribe(ctx, Key{org, session}, opts)
}

// SubscribeOrg begins a stream of an organization's feed: the durable lifecycle events of all its sessions, in the order of
// their positions. Options.After is a position. The subscription must be closed.
func (h *Hub) SubscribeOrg(ctx context.Context, org models.OrgID, opts Options) (*Subscription, error) {
	return h.subscribe(ctx, Key{Org: org}, opts)
}

func (h *Hub) subscribe(ctx context.Context, key Key, opts Options) (*Subscription, error) {
	if opts.After != nil && *opts.After < 0 {
		return nil, fault.New(fault.Invalid, "after must be 0 or more, not %d.", *opts.After).At("after")
	}
	s, first, err := h.acquire(key)
	if err != nil {
		return nil, err
	}
	sub := &Subscription{stream: s, allowance: opts.Allowance, wake: opts.Wake, index: -1}
	if sub.allowance == nil {
		sub.allowance = new(Allowance)
	}
	if sub.wake == nil {
		sub.signal = make(chan struct{}, 1)
		sub.wake = sub.raise
	}
	if err := h.begin(ctx, s, sub, first, opts); err != nil {
		h.release(s)
		return nil, err
	}
	return sub, nil
}

func (h *Hub) begin(ctx context.Context, s *stream, sub *Subscription, first bool, opts Options) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.err != nil {
		return s.err
	}
	if opts.After == nil {
		s.mu.Lock()
		sub.sequence = s.last
		s.mu.Unlock()
		// Another event may come in between: then there is one to replay, and Next does.
		_, _, err := s.attach(sub)
		return err
	}
	sub.sequence, sub.announce = *opts.After, true
	if first {
		// The stream was read after this subscriber asked for it.
		s.mu.Lock()
		sub.goal = s.last
		s.mu.Unlock()
	} else {
		last, err := s.freshLast(ctx)
		if err != nil {
			return h.explain(err, s.key)
		}
		sub.goal = last
	}
	if *opts.After > sub.goal {
		return &LostPlaceError{LastSequence: sub.goal}
	}
	if opts.Mark != (Mark{}) && *opts.After > 0 {
		sub.sequence, sub.expected = *opts.After-1, opts.Mark // the first event that is read is compared, and not delivered
	}
	return nil
}

// Sessions returns how many sessions and feeds have subscribers here.
func (h *Hub) Sessions() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.streams)
}

// Subscribers returns how many subscribers there are here.
func (h *Hub) Subscribers() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	n := 0
	for _, s := range h.streams {
		n += s.refs
	}
	return n
}

func (h *Hub) stream(key Key) *stream {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.streams[key]
}

func (h *Hub) send(key Key, message []byte) {
	if err := h.cfg.Bus.Publish(key.subject(), message); err != nil {
		h.cfg.Logger.Debug("a message to the bus was lost", "stream", key.String(), "error", err)
	}
}

func (h *Hub) now() models.Millis { return clock.Millis(h.cfg.Clock) }
