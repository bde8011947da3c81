package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/procs"
	"github.com/ostler-dev/ostler/bench/report"
)

// eventsPerSecond is the rate of durable events of P3.
const eventsPerSecond = 1000

// liveSize is how much P3 opens, and how long it lasts.
type liveSize struct {
	sockets, perSocket, sessions int
	lasts                        time.Duration
	events                       float64 // per second
}

func (b *bench) liveSize() liveSize {
	if b.small {
		return liveSize{sockets: 100, perSocket: 5, sessions: 200, lasts: 2 * time.Second, events: 100}
	}
	return liveSize{sockets: 1000, perSocket: 10, sessions: 2000, lasts: 7 * b.lasts, events: eventsPerSecond}
}

// live takes P3: how long an event takes from its commit to its subscribers, on the node that committed it and, where several
// can be, on another one.
func (b *bench) live(ctx context.Context, kind string) error {
	s, err := b.startSystem(ctx, kind, noFloor)
	if err != nil {
		return err
	}
	if err := s.end(ctx, s.liveEvents(ctx, s.product.URL, "same node")); err != nil || kind != postgres {
		return err
	}
	if s, err = b.startWithBus(ctx, noFloor); err != nil {
		return err
	}
	node, err := s.startSecond(ctx)
	if err != nil {
		return s.end(ctx, err)
	}
	s.others = append([]*procs.Process{node}, s.others...)
	return s.end(ctx, s.liveEvents(ctx, node.URL, "two nodes"))
}

// liveEvents sends messages to the product by the clock while all subscriptions are at the node with that address.
func (s *system) liveEvents(ctx context.Context, subscribers, where string) error {
	size := s.liveSize()
	perTurn, err := s.eventsOfTextTurn(ctx)
	if err != nil {
		return err
	}
	rate := size.events / float64(perTurn)
	s.progressf("P3 %s: %d subscriptions, %.0f turns/s of %d events", where, size.sockets*size.perSocket, rate, perTurn)
	watched, sockets, err := s.watch(ctx, subscribers, size)
	defer func() {
		for _, socket := range sockets {
			socket.Close()
		}
	}()
	if err != nil {
		return err
	}
	before, err := s.cpu()
	if err != nil {
		return err
	}
	begun := time.Now()
	sent, err := sendByTheClock(ctx, watched, rate, size.lasts)
	if err != nil {
		return err
	}
	took := time.Since(begun)
	after, err := s.cpu()
	if err != nil {
		return err
	}
	if err := untilAllHaveAll(ctx, watched); err != nil {
		return err
	}
	for _, socket := range sockets {
		socket.Close()
	}
	s.count(armProduct, measurement{turns: sent})
	if s.kind == postgres {
		if err := s.commitTimes(ctx, watched); err != nil {
			return err
		}
	}
	return s.addLive(watched, where, fmt.Sprintf("%.0f events/s", float64(sent*perTurn)/took.Seconds()), after.foreign(before, took))
}

// addLive judges what the watchers have noted.
func (s *system) addLive(watched []*watchedSession, where, rate string, foreign float64) error {
	var afterAnswer, afterCommit, afterRequest []float64
	deliveries := int64(0)
	for _, w := range watched {
		for _, watcher := range w.watchers {
			<-watcher.closed
			if watcher.err != nil {
				return watcher.err
			}
			deliveries += watcher.last.Load()
			for i, at := range watcher.arrived {
				afterAnswer = append(afterAnswer, millis(at-w.answered[i]))
				if w.committed != nil {
					afterCommit = append(afterCommit, millis(at-w.committed[i]))
				}
				afterRequest = append(afterRequest, millis(at-w.sent[i]))
			}
		}
	}
	if len(afterAnswer) == 0 {
		return errors.New("no event was timed")
	}
	target := report.AtMost(2)
	if where != "same node" {
		target = report.AtMost(5)
	}
	// SQLite doesn't tell when it committed; then the request stands for the commit, and the figure is more than what is asked for.
	name, times := "request → subscriber, commit included, ", afterRequest
	if len(afterCommit) > 0 {
		name, times = "commit → subscriber, ", afterCommit
	}
	for _, q := range []struct {
		name string
		of   float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		f := report.Figure{
			ID: "P3", Name: name + where + ", " + q.name, Unit: "ms", Value: report.Quantile(times, q.of), Foreign: foreign,
			Note: fmt.Sprintf("from before the request %.2f ms, from its answer %.2f ms; %s, %d deliveries, 0 lost, 0 reordered; %d timed",
				report.Quantile(afterRequest, q.of), report.Quantile(afterAnswer, q.of), rate, deliveries, len(times)),
		}
		if q.of == 0.99 {
			f.Gate, f.Target = report.AtMost(25), target
		}
		s.add(f)
	}
	return nil
}

// commitTimes asks PostgreSQL when it committed the event of each message. It takes this time before it flushes its log, so what
// follows from it is rather too much. Its clock is that of this machine.
func (s *system) commitTimes(ctx context.Context, watched []*watchedSession) (err error) {
	conn, err := pgx.Connect(ctx, s.place.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, `SELECT 'sess_' || replace(session_id::text, '-', ''), pg_xact_commit_timestamp(xmin)
		FROM events WHERE kind = 'MESSAGE_RECEIVED' ORDER BY session_id, sequence`)
	if err != nil {
		return fmt.Errorf("ask for the times of commits: %w", err)
	}
	found := map[string][]time.Duration{}
	var id string
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error {
		// Without its monotonic part begin is a time of the same clock.
		found[id] = append(found[id], at.Sub(begin.Round(0)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("ask for the times of commits; the server must have track_commit_timestamp = on: %w", err)
	}
	for _, w := range watched {
		if w.committed = found[w.session.ID]; len(w.committed) != len(w.sent) {
			return fmt.Errorf("session %s has %d messages in the database, %d were sent", w.session.ID, len(w.committed), len(w.sent))
		}
	}
	return nil
}

// eventsOfTextTurn counts the durable events of a turn.
func (s *system) eventsOfTextTurn(ctx context.Context) (int, error) {
	conversations, err := openConversations(ctx, s.api, 1)
	if err != nil {
		return 0, err
	}
	events, err := s.recordTurn(ctx, conversations[0], client.TextTurn)
	if err = errors.Join(err, closeConversations(conversations)); err != nil {
		return 0, err
	}
	s.countConversations(armProduct, conversations)
	return len(events), nil
}

// watchedSession is a session that gets messages and has several subscribers.
type watchedSession struct {
	session  *client.ProductSession
	watchers []*watcher

	busy atomic.Bool
	// By message: since begin, when its request was begun and when the mutation had answered.
	sent, answered []time.Duration
	// committed is when the database had its event, where it tells.
	committed []time.Duration
}

// watcher is one subscription. It checks that nothing is lost or out of order, and notes when each message came.
type watcher struct {
	live    chan<- struct{}
	failed  chan<- error
	closed  chan struct{}
	last    atomic.Int64
	ends    atomic.Int64
	arrived []time.Duration
	err     error
}

// Event implements client.Listener.
func (w *watcher) Event(e client.Event) {
	now := time.Since(begin)
	last := w.last.Load()
	if client.Ephemeral(e.Kind) {
		if e.Kind == "CAUGHT_UP" {
			w.live <- struct{}{}
		}
		if e.Sequence != last {
			w.fail(fmt.Errorf("%s carries sequence %d after %d", e.Kind, e.Sequence, last))
		}
		return
	}
	if e.Sequence != last+1 {
		w.fail(fmt.Errorf("%s has sequence %d after %d", e.Kind, e.Sequence, last))
		return
	}
	switch e.Kind {
	case "MESSAGE_RECEIVED":
		w.arrived = append(w.arrived, now)
	case "TURN_COMPLETED":
		w.ends.Add(1)
	case "TURN_FAILED", "TURN_SEALED":
		w.fail(fmt.Errorf("%s: %s", e.Kind, e.Data))
	}
	w.last.Store(e.Sequence)
}

func (w *watcher) fail(err error) {
	if w.err == nil {
		w.err = err
	}
	select {
	case w.failed <- err:
	default:
	}
}

// Ended implements client.Listener.
func (w *watcher) Ended(err error) {
	if err != nil {
		w.fail(err)
	}
	close(w.closed)
}

// watch makes the sessions and opens all subscriptions, so that each session has about as many. Sessions and sockets are
// spread over the organizations in the same way, because a socket sees the sessions of its own only.
func (s *system) watch(ctx context.Context, at string, size liveSize) ([]*watchedSession, []*client.Socket, error) {
	created, err := s.api.CreateSessions(ctx, size.sessions)
	if err != nil {
		return nil, nil, err
	}
	watched := make([]*watchedSession, len(created))
	for i, session := range created {
		watched[i] = &watchedSession{session: session}
	}
	live, failed := make(chan struct{}, size.perSocket), make(chan error, 1)
	sockets := make([]*client.Socket, 0, size.sockets)
	next := make([]int, orgs) // of each organization, which of its sessions the next subscription is for
	for i := range size.sockets {
		org := i % orgs
		socket, err := client.Dial(ctx, watched[org].session.API.At(at))
		if err != nil {
			return nil, sockets, fmt.Errorf("socket %d: %w", i, err)
		}
		sockets = append(sockets, socket)
		listeners := map[string]client.Listener{}
		for n := range size.perSocket {
			of := watched[(org+orgs*next[org])%len(watched)]
			next[org]++
			w := &watcher{live: live, failed: failed, closed: make(chan struct{})}
			of.watchers = append(of.watchers, w)
			listeners[strconv.Itoa(n)] = w
			if err := socket.Subscribe(ctx, strconv.Itoa(n), client.SessionEvents, map[string]any{"id": of.session.ID, "after": 0}); err != nil {
				return nil, sockets, err
			}
		}
		go socket.Listen(listeners)
		for range listeners {
			if err := wait(ctx, live, failed); err != nil {
				return nil, sockets, fmt.Errorf("socket %d: %w", i, err)
			}
		}
	}
	return watched, sockets, nil
}

// sendByTheClock starts text turns at a fixed rate, one session after the other, and returns how many.
func sendByTheClock(ctx context.Context, watched []*watchedSession, rate float64, lasts time.Duration) (int, error) {
	var group sync.WaitGroup
	failed := make(chan error, 1)
	start := time.Now()
	sent := 0
	for ; ; sent++ {
		due := start.Add(time.Duration(float64(sent) / rate * float64(time.Second)))
		if due.Sub(start) > lasts {
			break
		}
		time.Sleep(time.Until(due))
		w := watched[sent%len(watched)]
		if !w.busy.CompareAndSwap(false, true) {
			group.Wait()
			return sent, errors.New("the load can't be kept up: a message was not answered before the session's next one")
		}
		group.Go(func() {
			from := time.Since(begin)
			err := w.session.Send(ctx, client.TextTurn)
			w.sent, w.answered = append(w.sent, from), append(w.answered, time.Since(begin))
			w.busy.Store(false)
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		return sent, err
	default:
		return sent, nil
	}
}

// untilAllHaveAll waits until each subscriber has seen the ends of all turns of its session, and as much as the others.
func untilAllHaveAll(ctx context.Context, watched []*watchedSession) error {
	deadline := time.Now().Add(grace)
	for _, w := range watched {
		for !w.complete() {
			if time.Now().After(deadline) || ctx.Err() != nil {
				return fmt.Errorf("session %s: %d messages, but its subscribers have seen %v ends: events were lost", w.session.ID, len(w.sent), w.seen())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

func (w *watchedSession) complete() bool {
	return !slices.ContainsFunc(w.watchers, func(x *watcher) bool {
		return x.ends.Load() != int64(len(w.sent)) || x.last.Load() != w.watchers[0].last.Load()
	})
}

func (w *watchedSession) seen() []int64 {
	seen := make([]int64, 0, len(w.watchers))
	for _, x := range w.watchers {
		seen = append(seen, x.ends.Load())
	}
	return seen
}
