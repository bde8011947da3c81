package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/shares"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// defaultTimeout is how long one attempt may take.
	defaultTimeout = 10 * time.Second
	// lookInterval is how often webhooks are looked for that are behind or due, whatever this process has heard.
	lookInterval = 2 * time.Second
	// sweepInterval is how often old deliveries are looked for.
	sweepInterval = 10 * time.Minute
	// lookPage is how many webhooks one look goes through.
	lookPage = 1000
	// How many webhooks a process sends for at once, and how many of one organization: receivers that hang keep nobody else waiting.
	defaultAtOnce    = 64
	defaultOrgAtOnce = 8
	// busQueue is shared by all processes, so that one of them is woken.
	busQueue = "webhooks"
)

// DispatcherConfig is what a Dispatcher needs. DB, Feed, Keeper, Client, Clock and Logger are required.
type DispatcherConfig struct {
	DB     *store.DB
	Feed   *events.Log
	Keeper *secrets.Keeper
	// Client makes the requests; egress.Client has one.
	Client *http.Client
	Clock  clock.Clock
	Logger *slog.Logger
	// Bus tells what other processes have committed; nil where there are none.
	Bus events.Bus
	// Timeout bounds one attempt. Defaults to 10 s.
	Timeout time.Duration
	// AtOnce is how many webhooks are sent for at once, OrgAtOnce how many of one organization. They default to 64 and 8.
	AtOnce, OrgAtOnce int
	// Chance returns a number from 0 to 1, by which pauses differ. Defaults to a random one.
	Chance func() float64
	// Ticks tells when to look for work; every two seconds when it is nil.
	Ticks <-chan time.Time
}

// Dispatcher makes deliveries of the feeds and sends them. Several may be at work at once, in any process: of those that want to move or to
// send for the same webhook, one does.
type Dispatcher struct {
	cfg DispatcherConfig

	loops background.Loops
	job   *background.Job // deletes old deliveries

	feed chan struct{} // wakes the loop that makes deliveries
	send *shares.Work[models.OrgID, claimed]

	mu sync.RWMutex
	// known are the organizations that have webhooks at work, with what ends listening to them; nil where nothing does.
	known map[models.OrgID]func()
	// dirty are those whose feeds may have gone on, in the order in which that was heard; unread has the same, to look them up.
	dirty  []models.OrgID
	unread map[models.OrgID]struct{}
}

// NewDispatcher fails when the configuration is incomplete. It does nothing until Start.
func NewDispatcher(cfg DispatcherConfig) (*Dispatcher, error) {
	if cfg.DB == nil || cfg.Feed == nil || cfg.Keeper == nil || cfg.Client == nil || cfg.Clock == nil || cfg.Logger == nil {
		return nil, errors.New("the dispatcher of webhooks needs a database, the feed, a keeper of secrets, an HTTP client, a clock and a logger")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.AtOnce <= 0 {
		cfg.AtOnce = defaultAtOnce
	}
	if cfg.OrgAtOnce <= 0 {
		cfg.OrgAtOnce = defaultOrgAtOnce
	}
	if cfg.Chance == nil {
		cfg.Chance = rand.Float64
	}
	d := &Dispatcher{
		cfg: cfg, feed: make(chan struct{}, 1),
		known: map[models.OrgID]func(){}, unread: map[models.OrgID]struct{}{},
	}
	d.send = d.newWork()
	d.job = background.Every(cfg.Logger, "delete old webhook deliveries", sweepInterval, func(ctx context.Context) error {
		_, err := d.Sweep(ctx)
		return err
	})
	return d, nil
}

// Start works in the background until Stop.
func (d *Dispatcher) Start(ctx context.Context) error {
	if err := d.loops.Start(ctx, d.feedLoop, func(ctx context.Context) { d.send.Run(ctx, nil) }); err != nil {
		return err
	}
	return d.job.Start(ctx)
}

// Stop ends the work and waits until nothing of it runs. Attempts that are under way are given up: somebody makes them again. It may be
// called more than once.
func (d *Dispatcher) Stop() {
	d.job.Stop()
	d.loops.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for org := range d.known {
		d.forget(org)
	}
}

// Sweep removes deliveries past their time, and deleted webhooks. It returns how many rows went.
func (d *Dispatcher) Sweep(ctx context.Context) (int64, error) {
	return deleteOld(ctx, d.cfg.DB, millis(clock.Millis(d.cfg.Clock), -keepDays*24*time.Hour))
}

// Committed hears of what this process has committed. It never waits, and asks no database.
func (d *Dispatcher) Committed(c *commit.Committed) {
	for _, s := range c.Sessions {
		if slices.ContainsFunc(s.Events, func(e models.Event) bool { return e.FeedPosition != nil }) {
			d.heard(s.Org)
		}
	}
}

// heard notes that a feed has gone on, if anybody wants it.
func (d *Dispatcher) heard(org models.OrgID) {
	d.mu.RLock()
	_, known := d.known[org]
	d.mu.RUnlock()
	if !known {
		return
	}
	d.markUnread(org)
	d.wakeFeed()
}

func (d *Dispatcher) markUnread(org models.OrgID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.unread[org]; !ok {
		d.unread[org] = struct{}{}
		d.dirty = append(d.dirty, org)
	}
}

// wakeFeed wakes the loop; one signal is enough for any number of reasons.
func (d *Dispatcher) wakeFeed() {
	select {
	case d.feed <- struct{}{}:
	default:
	}
}

// ticks returns when to look.
func (d *Dispatcher) ticks() (<-chan time.Time, func()) {
	if d.cfg.Ticks != nil {
		return d.cfg.Ticks, func() {}
	}
	t := time.NewTicker(lookInterval)
	return t.C, t.Stop
}

// feedLoop turns feeds into deliveries: when it hears of events, and of those that it didn't hear of, soon after.
func (d *Dispatcher) feedLoop(ctx context.Context) {
	ticks, stop := d.ticks()
	defer stop()
	var last webhookKey
	look := func() {
		var err error
		if last, err = d.look(ctx, last); err != nil && ctx.Err() == nil {
			d.cfg.Logger.Warn("webhooks with new events can't be read; trying again", "error", err)
		}
		d.send.Wake()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.feed:
		case <-ticks:
			look()
		}
		for d.advanceNext(ctx) {
			// There may be no end of it: the time to look comes nevertheless.
			select {
			case <-ticks:
				look()
			default:
			}
		}
	}
}

// look goes through one page of webhooks past the last one, and returns where to go on; the start after the last page.
func (d *Dispatcher) look(ctx context.Context, last webhookKey) (webhookKey, error) {
	list, err := readers(ctx, d.cfg.DB, last, lookPage)
	if err != nil {
		return last, err
	}
	for _, r := range list {
		d.learn(r.OrgID)
		if r.Behind {
			d.markUnread(r.OrgID)
		}
	}
	if len(list) < lookPage {
		return webhookKey{}, nil
	}
	return list[len(list)-1].webhookKey, nil
}

// learn notes that an organization has webhooks, and listens to what others commit in it.
func (d *Dispatcher) learn(org models.OrgID) {
	d.mu.RLock()
	_, known := d.known[org]
	d.mu.RUnlock()
	if known {
		return
	}
	var cancel func()
	if d.cfg.Bus != nil && d.cfg.Bus.Shared() {
		var err error
		if cancel, err = d.cfg.Bus.QueueSubscribe(events.OrgSubject(org), busQueue, func([]byte) { d.heard(org) }); err != nil {
			d.cfg.Logger.Debug("can't subscribe to events for webhooks; they are found by polling", "org", org, "error", err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[org] = cancel
}

// forget ends what learn began; the lock is held.
func (d *Dispatcher) forget(org models.OrgID) {
	if cancel := d.known[org]; cancel != nil {
		cancel()
	}
	delete(d.known, org)
}

// advanceNext takes one step with the feed that has waited longest, and reports whether to go on. One with more goes to the end of the line,
// so that a long one holds nobody up.
func (d *Dispatcher) advanceNext(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	d.mu.Lock()
	if len(d.dirty) == 0 {
		d.mu.Unlock()
		return false
	}
	org := d.dirty[0]
	d.dirty = d.dirty[1:]
	delete(d.unread, org)
	d.mu.Unlock()
	more, due, has, err := d.advance(ctx, org)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			d.cfg.Logger.Warn("deliveries of webhooks could not be created; trying again", "org", org, "error", err)
		}
	case !has:
		d.mu.Lock()
		d.forget(org)
		d.mu.Unlock()
	case more:
		d.markUnread(org)
	}
	if due {
		d.send.Wake()
	}
	return true
}
