package limits

import (
	"context"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// nodeBeat is how often a process reports that it lives, and gives back what it has taken and does not use.
	nodeBeat = 5 * time.Second
	// nodeAlive is after how long a process that told nothing counts no more.
	nodeAlive = 30 * time.Second
	// nodeForgotten is after how long its row is removed.
	nodeForgotten = 10 * time.Minute
	// refusedFor is how long a process waits before it asks again, when it got nothing or no answer.
	refusedFor = time.Second
	// StreamRetrySeconds is how long to wait for a socket or a subscription.
	StreamRetrySeconds = 5
)

// Stream is a kind of thing that stays open.
type Stream int

// The kinds.
const (
	Socket Stream = iota
	Subscription
	streamKinds
)

func (s Stream) of(v Values) int {
	if s == Socket {
		return v.Sockets
	}
	return v.Subscriptions
}

// streams counts what is open. On PostgreSQL a process takes of what an organization may have, in chunks, and writes down how much; what
// living processes have written down is never more than the limit.
type streams struct {
	node models.APINodeID
	kick chan struct{}

	mu   sync.Mutex
	orgs map[models.OrgID]*gauge
}

// gauge is what an organization has open in this process.
type gauge struct {
	mu sync.Mutex
	// open is what there is, and held what was taken for it: more, or less where there was no limit.
	open, held [streamKinds]int64
	// refused is when there was nothing to take.
	refused [streamKinds]time.Time
	// lost is when the database didn't answer.
	lost time.Time
	// users hold the gauge, so that it stays in the map.
	users int
}

func newStreams() streams {
	return streams{
		node: models.NewID[models.APINodeEntity](), kick: make(chan struct{}, 1), orgs: map[models.OrgID]*gauge{},
	}
}

// with calls fn with the gauge of an organization, under its lock. One that has nothing is dropped.
func (s *streams) with(org models.OrgID, fn func(g *gauge)) {
	s.mu.Lock()
	g := s.orgs[org]
	if g == nil {
		g = &gauge{}
		s.orgs[org] = g
	}
	g.users++
	s.mu.Unlock()
	g.mu.Lock()
	fn(g)
	empty := g.open == [streamKinds]int64{} && g.held == [streamKinds]int64{}
	g.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.users--; g.users == 0 && empty && s.orgs[org] == g {
		delete(s.orgs, org)
	}
}

// Open lets a socket or a subscription of an organization begin; Close must be called when it has ended. Without a database to ask they
// are let in.
func (l *Limits) Open(ctx context.Context, org models.OrgID, kind Stream) bool {
	if l == nil || org.IsZero() {
		return true
	}
	limit := int64(kind.of(l.Of(ctx, org)))
	ok := false
	l.streams.with(org, func(g *gauge) {
		switch {
		case limit <= 0:
			ok = true
		case g.open[kind] >= limit:
		case l.alone(), g.open[kind] < g.held[kind]:
			ok = true
		default:
			ok = l.borrow(ctx, org, g, kind, limit)
		}
		if ok {
			g.open[kind]++
		}
	})
	return ok
}

// Close reports that a socket or a subscription has ended that Open let in.
func (l *Limits) Close(org models.OrgID, kind Stream) {
	if l == nil || org.IsZero() {
		return
	}
	idle := int64(0)
	l.streams.with(org, func(g *gauge) {
		g.open[kind]--
		idle = g.held[kind] - g.open[kind]
	})
	// With a small limit each one counts, and others may wait for it.
	if limit := kind.of(l.known(org)); idle > 0 && (chunkOf(limit) == 1 || idle > 2*chunkOf(limit)) {
		select {
		case l.streams.kick <- struct{}{}:
		default:
		}
	}
}

// borrow takes a chunk, and one for what is about to begin.
func (l *Limits) borrow(ctx context.Context, org models.OrgID, g *gauge, kind Stream, limit int64) bool {
	switch {
	case l.justNow(g.refused[kind]):
		return false
	case l.justNow(g.lost):
		return true
	}
	now := l.cfg.Clock.Now()
	held := g.held
	err := l.lease(ctx, org, now, func(others leased) leased {
		have := [streamKinds]int64{others.Sockets, others.Subscriptions}
		want := g.open[kind] + chunkOf(int(limit))
		held[kind] = max(g.open[kind], min(want, limit-have[kind]))
		return leased{Sockets: held[Socket], Subscriptions: held[Subscription]}
	})
	if err != nil {
		l.cfg.Logger.WarnContext(ctx, "sockets and subscriptions can't be counted; they are allowed meanwhile", "org", org, "error", err)
		g.lost = l.cfg.Clock.Now()
		return true
	}
	g.held = held
	if g.held[kind] > g.open[kind] {
		return true
	}
	g.refused[kind] = now
	return false
}

// justNow reports whether a time is less than refusedFor ago.
func (l *Limits) justNow(t time.Time) bool {
	since := l.cfg.Clock.Now().Sub(t)
	return since >= 0 && since < refusedFor
}

func (l *Limits) lease(ctx context.Context, org models.OrgID, now time.Time, decide func(leased) leased) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return setLease(ctx, l.cfg.DB, org, l.streams.node, models.MillisOf(now), models.MillisOf(now.Add(-nodeAlive)), decide)
}

// Start keeps what this process has taken alive, in the background, until Stop.
func (l *Limits) Start(ctx context.Context) error {
	if l == nil || l.alone() {
		return nil
	}
	return l.beats.Start(ctx)
}

// Stop releases what this process has taken, and what it has open then counts no more.
func (l *Limits) Stop() {
	if l == nil || l.alone() {
		return
	}
	l.beats.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := dropNode(ctx, l.cfg.DB, l.streams.node); err != nil {
		l.cfg.Logger.Warn("the sockets and subscriptions of this process are counted until it is known to have ended", "error", err)
	}
}

// Beat reports that this process lives, gives back what it has taken and does not use, and takes what is open of organizations that got
// a limit meanwhile. Start does so every five seconds.
func (l *Limits) Beat(ctx context.Context) error {
	now := l.cfg.Clock.Now()
	bound, cancel := context.WithTimeout(ctx, 5*patience)
	defer cancel()
	there, err := seeNode(bound, l.cfg.DB, l.streams.node, models.MillisOf(now), models.MillisOf(now.Add(-nodeForgotten)))
	if err != nil {
		return err
	}
	l.streams.mu.Lock()
	orgs := make([]models.OrgID, 0, len(l.streams.orgs))
	for org := range l.streams.orgs {
		orgs = append(orgs, org)
	}
	l.streams.mu.Unlock()
	for _, org := range orgs {
		if e := l.settle(ctx, org, now, !there); e != nil {
			err = e
		}
	}
	return err
}

// settle brings what was taken to what is open, where a limit asks for it; anew reports that nothing is written down any more.
func (l *Limits) settle(ctx context.Context, org models.OrgID, now time.Time, anew bool) (err error) {
	v := l.Of(ctx, org)
	l.streams.with(org, func(g *gauge) {
		held := g.open
		for kind := range streamKinds {
			if kind.of(v) <= 0 {
				held[kind] = 0
			}
		}
		if held == g.held && (!anew || held == [streamKinds]int64{}) {
			return
		}
		err = l.lease(ctx, org, now, func(leased) leased {
			return leased{Sockets: held[Socket], Subscriptions: held[Subscription]}
		})
		if err == nil {
			g.held = held
		}
	})
	return err
}
