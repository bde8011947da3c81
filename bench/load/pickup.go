package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
)

// The organizations of P13, by number.
const quietOrg, floodingOrg = 0, 1

// pickupSize is how much P13 does.
type pickupSize struct {
	// The organization that floods: its sessions, the turns of each, and how many of its requests are under way at once.
	sessions, perSession, senders int
	// fastest and slowest are how long its model takes, in milliseconds; turns have all times in between.
	fastest, slowest int
	// backlog is how many turns of the flood must wait or run for a message beside it to be sent.
	backlog int
	// The quiet organization: its sessions, how often it sends a message, and for how long when it is alone.
	probes    int
	perSecond float64
	alone     time.Duration
	// env is what the product is told.
	env []string
}

// pickupSize makes places in the runner what is scarce, not processors: 256 of them, as it is by default, and turns that hold one for
// 600 ms in the mean are 430 turns per second. With a model as fast as it can be, a queue would be for the processors, and say
// nothing of who is given a place. The times differ, so that turns which began together don't end together.
func (b *bench) pickupSize() pickupSize {
	if b.small {
		return pickupSize{
			sessions: 60, perSession: 20, senders: 16, fastest: 30, slowest: 90, backlog: 200,
			probes: 64, perSecond: probesPerSecond, alone: time.Second, env: []string{"OSTLER_RUNNER_SLOTS=16"},
		}
	}
	return pickupSize{
		sessions: 500, perSession: 20, senders: 32, fastest: 200, slowest: 1000, backlog: 1000,
		probes: 256, perSecond: probesPerSecond, alone: 6 * time.Second,
	}
}

// pickup takes P13: how much longer the turns of a quiet organization take to begin while another one has thousands of them queued.
func (b *bench) pickup(ctx context.Context, kind string) error {
	at, err := b.newPlace(ctx, kind)
	if err != nil {
		return err
	}
	at.env = b.pickupSize().env
	s, err := b.startSystemAt(ctx, kind, noFloor, at)
	if err != nil {
		return err
	}
	return s.end(ctx, s.takePickup(ctx))
}

func (s *system) takePickup(ctx context.Context) error {
	size := s.pickupSize()
	// The first run only warms up.
	if _, err := s.pickupsAlone(ctx, size); err != nil {
		return err
	}
	var values, floor, ratios, foreign, waited, waitedAlone []float64
	for range s.pairs {
		alone, err := s.pickupsAlone(ctx, size)
		if err != nil {
			return fmt.Errorf("alone: %w", err)
		}
		beside, err := s.pickupsBesideFlood(ctx, size)
		if err != nil {
			return fmt.Errorf("beside a flood: %w", err)
		}
		value, least := report.Quantile(beside.started, 0.95), report.Quantile(alone.started, 0.95)
		values, floor, ratios = append(values, value), append(floor, least), append(ratios, value/least)
		waited, waitedAlone = append(waited, beside.waited...), append(waitedAlone, alone.waited...)
		foreign = append(foreign, alone.foreign, beside.foreign)
		s.progressf("P13: p95 alone %.2f ms of %d, beside the flood %.2f ms of %d", least, len(alone.started), value, len(beside.started))
	}
	s.add(report.Figure{
		ID: "P13", Name: "message → TURN_STARTED of a quiet organization, p95", Unit: "ms", Samples: values, Floor: report.Median(floor), Ratios: ratios,
		Gate: report.AtMost(3), Target: report.AtMost(2), Foreign: report.Median(foreign),
		Note: fmt.Sprintf("while another has queued %d turns in %d sessions, at least %d of which wait or run; the floor is alone; "+
			"from the answer on p95 %.2f, alone %.2f ms; %d timed", size.sessions*size.perSession, size.sessions, size.backlog,
			report.Quantile(waited, 0.95), report.Quantile(waitedAlone, 0.95), len(waited)),
	})
	return nil
}

// pickups is how long turns of the quiet organization took to begin, in milliseconds: since their message was due, and since it was
// accepted, which is 0 when the turn had begun by then.
type pickups struct {
	started, waited []float64
	foreign         float64
}

func (s *system) pickupsAlone(ctx context.Context, size pickupSize) (pickups, error) {
	probes, err := s.openProbes(ctx, size)
	if err != nil {
		return pickups{}, err
	}
	until := time.Now().Add(size.alone)
	p, err := s.sendProbes(ctx, probes, size.perSecond, func() bool { return time.Now().Before(until) })
	return p, errors.Join(err, s.closeProbes(probes))
}

// pickupsBesideFlood lets one organization queue its turns, and then the other one send messages while enough of them wait.
func (s *system) pickupsBesideFlood(ctx context.Context, size pickupSize) (pickups, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*grace)
	defer cancel()
	probes, err := s.openProbes(ctx, size)
	if err != nil {
		return pickups{}, err
	}
	f, err := openFlood(ctx, s.api.Org(floodingOrg), size)
	if err != nil {
		return pickups{}, errors.Join(err, s.closeProbes(probes))
	}
	begun := time.Now()
	var p pickups
	waiting := 0
	if err = f.send(ctx, size); err == nil {
		waiting = f.waiting()
		p, err = s.sendProbes(ctx, probes, size.perSecond, func() bool { return f.waiting() >= size.backlog && len(f.failed) == 0 })
	}
	if err == nil {
		err = f.wait(ctx)
	}
	took := time.Since(begun)
	turns, events, errFlood := f.close()
	if err := errors.Join(err, errFlood, s.closeProbes(probes)); err != nil {
		return p, err
	}
	s.count(armProduct, measurement{turns: turns, events: events})
	s.progressf("P13: %d turns in %.1f s, of which %d waited or ran when all were queued", turns, took.Seconds(), waiting)
	if fewest := int(size.perSecond / 2); len(p.started) < fewest {
		return p, fmt.Errorf("only %d messages were sent while %d turns waited, want %d: this was no flood", len(p.started), size.backlog, fewest)
	}
	return p, nil
}

// probe is a session of the quiet organization.
type probe struct {
	*conversation

	started atomic.Int64 // when TURN_STARTED of the present turn came, in nanoseconds since begin
}

func (s *system) openProbes(ctx context.Context, size pickupSize) ([]*probe, error) {
	conversations, err := openConversations(ctx, s.api.Org(quietOrg), size.probes)
	if err != nil {
		return nil, err
	}
	probes := make([]*probe, len(conversations))
	for i, c := range conversations {
		probes[i] = watchProbe(c)
	}
	return probes, nil
}

func watchProbe(c *conversation) *probe {
	p := &probe{conversation: c}
	c.watch(func(e client.Event) {
		if e.Kind == "TURN_STARTED" {
			p.started.Store(int64(time.Since(begin)))
		}
	})
	return p
}

func (s *system) closeProbes(probes []*probe) error {
	conversations := make([]*conversation, len(probes))
	for i, p := range probes {
		conversations[i] = p.conversation
	}
	err := closeConversations(conversations)
	s.countConversations(armProduct, conversations)
	return err
}

// sendProbes sends messages by the clock as long as there are to be more, each to a session that is at rest; a wait for one counts.
func (s *system) sendProbes(ctx context.Context, probes []*probe, perSecond float64, more func() bool) (pickups, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	free := make(chan *probe, len(probes))
	for _, p := range probes {
		free <- p
	}
	var mu sync.Mutex
	var out pickups
	var failed error
	var group sync.WaitGroup
	start := time.Now()
	before, err := s.cpu()
	if err != nil {
		return out, err
	}
	for i := 0; ; i++ {
		due := start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
		time.Sleep(time.Until(due))
		if !more() || ctx.Err() != nil {
			break
		}
		var p *probe
		select {
		case p = <-free:
		case <-ctx.Done():
			continue
		}
		group.Go(func() {
			started, waited, err := p.pickup(ctx, due)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = errors.Join(failed, err)
				cancel()
				return
			}
			out.started, out.waited = append(out.started, millis(started)), append(out.waited, millis(waited))
			free <- p
		})
	}
	group.Wait()
	after, err := s.cpu()
	out.foreign = after.foreign(before, time.Since(start))
	return out, errors.Join(failed, err)
}

// pickup runs a turn and tells how long it took to begin, since its message was due and since it was accepted.
func (p *probe) pickup(ctx context.Context, due time.Time) (started, waited time.Duration, err error) {
	p.started.Store(0)
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	timing, err := p.turn(ctx, client.TextTurn, due)
	if err != nil {
		return 0, 0, err
	}
	at := p.started.Load()
	if at == 0 {
		return 0, 0, errors.New("a turn ended whose TURN_STARTED was not seen")
	}
	started = time.Duration(at) - due.Sub(begin)
	return started, max(0, started-timing.accepted), nil
}

// flood is what one organization queues.
type flood struct {
	sessions []*client.ProductSession
	watchers []*watcher
	failed   chan error
	turns    int // in all
	sent     atomic.Int64
}

// openFlood makes the sessions of a flood, each with a subscriber.
func openFlood(ctx context.Context, org client.Part, size pickupSize) (*flood, error) {
	f := &flood{failed: make(chan error, 1), turns: size.sessions * size.perSession}
	listeners := make([]client.Listener, size.sessions)
	for i := range listeners {
		w := &watcher{live: make(chan struct{}, 1), failed: f.failed, closed: make(chan struct{})}
		listeners[i], f.watchers = w, append(f.watchers, w)
	}
	opened, err := org.Open(ctx, listeners)
	if err != nil {
		return nil, err
	}
	for _, session := range opened {
		if s, ok := session.(*client.ProductSession); ok {
			f.sessions = append(f.sessions, s)
		}
	}
	if len(f.sessions) != len(opened) {
		return nil, errors.New("only the product queues messages")
	}
	return f, nil
}

// send queues one message after the other in each session, some sessions at a time.
func (f *flood) send(ctx context.Context, size pickupSize) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	errs := make([]error, size.senders)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= f.turns {
					return
				}
				if _, errs[i] = f.sessions[n%len(f.sessions)].Say(ctx, floodMessage(n, size), client.Queue); errs[i] != nil {
					cancel()
					return
				}
				f.sent.Add(1)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// floodMessage brings a turn whose model takes a time between the fastest and the slowest, another one for each of them.
func floodMessage(n int, size pickupSize) string {
	const prime = 7919 // neighbours are far apart
	takes := size.fastest + n*prime%(size.slowest-size.fastest+1)
	return fmt.Sprintf(`{"ttft_ms":%d,"responses":[{"chunks":[{"text":%q}]}]}`, takes, answerText)
}

// waiting is how many turns have been accepted and have not ended, as far as is seen.
func (f *flood) waiting() int { return int(f.sent.Load()) - f.ended() }

func (f *flood) ended() int {
	n := int64(0)
	for _, w := range f.watchers {
		n += w.ends.Load()
	}
	return int(n)
}

// wait returns when all turns have ended.
func (f *flood) wait(ctx context.Context) error {
	for f.ended() < f.turns && len(f.failed) == 0 {
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d turns of the flood have ended: %w", f.ended(), f.turns, ctx.Err())
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// close returns what the subscribers saw, and what was wrong with any of it.
func (f *flood) close() (turns int, events int64, err error) {
	var all []error
	for i, w := range f.watchers {
		f.sessions[i].Close()
		<-w.closed
		events += w.last.Load()
		all = append(all, w.err)
	}
	if turns = f.ended(); turns != f.turns {
		all = append(all, fmt.Errorf("%d turns of the flood were seen to end, %d were queued", turns, f.turns))
	}
	return turns, events, errors.Join(all...)
}
