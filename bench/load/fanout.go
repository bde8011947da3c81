package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/procs"
	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/apiclient"
)

// fanSockets is how many subscribers one session has.
func (b *bench) fanSockets() int {
	if b.small {
		return 50
	}
	return 1000
}

// fanOut takes P4: how many events per second one session can hand to its many subscribers, beside a program that does nothing but
// write the same bytes to as many sockets.
func (b *bench) fanOut(ctx context.Context, kind string) error {
	s, err := b.startSystem(ctx, kind, noFloor)
	if err != nil {
		return err
	}
	bare, err := procs.Start(ctx, procs.Program{Path: b.fanout})
	if err != nil {
		return s.end(ctx, err)
	}
	s.others = []*procs.Process{bare}
	return s.end(ctx, s.deliveries(ctx, bare.URL))
}

// fanned is one run of P4.
type fanned struct{ perSecond, cpuMicros, foreign float64 }

func (s *system) deliveries(ctx context.Context, bare string) error {
	frames, err := s.framesOfTurn(ctx)
	if err != nil {
		return err
	}
	count := 0
	for _, group := range frames {
		count += len(group)
	}
	body, err := json.Marshal(frames)
	if err != nil {
		return err
	}
	var rates, cpu, foreign [2][]float64
	var ratios []float64
	for pair := range s.pairs + 1 { // the first one only warms up
		var run [2]fanned
		for i := range run {
			arm := i
			if pair%2 == 1 {
				arm = 1 - i
			}
			if arm == armProduct {
				run[arm], err = s.fanProduct(ctx)
			} else {
				run[arm], err = s.fanBare(ctx, bare, body)
			}
			if err != nil {
				return fmt.Errorf("P4, %s: %w", [2]string{"product", "floor"}[arm], err)
			}
		}
		s.progressf("P4: product %.0f, bare loop %.0f deliveries/s", run[0].perSecond, run[1].perSecond)
		if pair == 0 {
			continue
		}
		for arm, r := range run {
			rates[arm], cpu[arm], foreign[arm] = append(rates[arm], r.perSecond), append(cpu[arm], r.cpuMicros), append(foreign[arm], r.foreign)
		}
		ratios = append(ratios, run[0].perSecond/run[1].perSecond)
	}
	s.add(report.Figure{
		ID: "P4", Name: fmt.Sprintf("deliveries, one session to %d subscribers", s.fanSockets()), Unit: "/s",
		Samples: rates[0], Floor: report.Median(rates[1]), Ratios: ratios,
		Gate: report.AtLeast(0.20), Target: report.AtLeast(0.60), Foreign: max(report.Median(foreign[0]), report.Median(foreign[1])),
		Note: fmt.Sprintf("of %d frames in %d groups per turn; CPU of everything per delivery: %.1f µs, floor %.1f µs", count, len(frames), report.Median(cpu[0]), report.Median(cpu[1])),
	})
	return nil
}

// framesOfTurn reads off the product what a subscriber gets for a turn: the frames that are due at the same time together.
func (s *system) framesOfTurn(ctx context.Context) ([][]string, error) {
	open, err := s.openFan(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = open.close() }()
	for range 2 { // the first turn may do things that are done once
		open.listeners[0].frames = nil
		if err := open.turn(ctx, func() error { return open.session.Send(ctx, client.ToolTurn) }); err != nil {
			return nil, err
		}
		// The turn's last event, SESSION_IDLED, comes with TURN_COMPLETED or a moment after.
		time.Sleep(200 * time.Millisecond)
	}
	if err := open.close(); err != nil {
		return nil, err
	}
	s.count(armProduct, measurement{turns: 2, tools: 2})
	return open.listeners[0].frames, nil
}

func (s *system) fanProduct(ctx context.Context) (fanned, error) {
	open, err := s.openFan(ctx, s.fanSockets())
	if err != nil {
		return fanned{}, err
	}
	defer func() { _ = open.close() }()
	run, turns, err := s.fanRun(ctx, open, func() error { return open.session.Send(ctx, client.ToolTurn) })
	s.count(armProduct, measurement{turns: turns, tools: turns})
	return run, errors.Join(err, open.close())
}

func (s *system) fanBare(ctx context.Context, bare string, body []byte) (fanned, error) {
	open := newFan(s.fanSockets(), false)
	defer func() { _ = open.close() }()
	api := apiclient.New(bare)
	for i := range open.listeners {
		if err := open.add(ctx, api, i, nil); err != nil {
			return fanned{}, err
		}
	}
	run, _, err := s.fanRun(ctx, open, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, bare+"/send", bytes.NewReader(body))
		if err != nil {
			return err
		}
		res, err := api.HTTP.Do(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(text)))
		}
		return err
	})
	return run, errors.Join(err, open.close())
}

// fanRun does turn after turn, the next one when all subscribers have seen the end of the one before.
func (s *system) fanRun(ctx context.Context, open *fan, send func() error) (run fanned, turns int, err error) {
	before, err := s.cpu()
	if err != nil {
		return run, 0, err
	}
	framesBefore := open.received()
	from := time.Now()
	for time.Since(from) < s.lasts {
		if err := open.turn(ctx, send); err != nil {
			return run, turns, err
		}
		turns++
	}
	took := time.Since(from)
	after, err := s.cpu()
	if err != nil {
		return run, turns, err
	}
	n := float64(open.received() - framesBefore)
	run = fanned{perSecond: n / took.Seconds(), cpuMicros: millis(after.own-before.own) * 1000 / n, foreign: after.foreign(before, took)}
	return run, turns, nil
}

// fan is many sockets, each with one subscription to the same session.
type fan struct {
	session   *client.ProductSession
	sockets   []*client.Socket
	listeners []*fanListener
	failed    chan error
	live      chan struct{}
	// ends counts the ends of turns that were seen; done is told when there are as many as wanted.
	ends, wanted atomic.Int64
	done         chan struct{}
}

// fanListener is one subscriber.
type fanListener struct {
	of *fan
	// check is true when sequences must have no gap: those of the floor are always the same ones.
	check    bool
	last     int64
	received atomic.Int64
	record   bool
	frames   [][]string
	previous string
	closed   chan struct{}
}

func newFan(count int, check bool) *fan {
	f := &fan{failed: make(chan error, 1), live: make(chan struct{}, count), done: make(chan struct{}, 1), listeners: make([]*fanListener, count)}
	for i := range f.listeners {
		f.listeners[i] = &fanListener{of: f, check: check, record: check && count == 1, closed: make(chan struct{})}
	}
	return f
}

// openFan makes a session of the product with so many subscribers.
func (s *system) openFan(ctx context.Context, count int) (*fan, error) {
	created, err := s.api.CreateSessions(ctx, 1)
	if err != nil {
		return nil, err
	}
	f := newFan(count, true)
	f.session = created[0]
	for i := range f.listeners {
		err := f.add(ctx, f.session.API, i, map[string]any{"id": f.session.ID, "after": 0})
		if err == nil {
			err = wait(ctx, f.live, f.failed)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("subscriber %d: %w", i, err), f.close())
		}
	}
	return f, nil
}

func (f *fan) add(ctx context.Context, api *apiclient.Client, i int, variables map[string]any) error {
	socket, err := client.Dial(ctx, api)
	if err != nil {
		return err
	}
	f.sockets = append(f.sockets, socket)
	if err := socket.Subscribe(ctx, "1", client.SessionEvents, variables); err != nil {
		return err
	}
	go socket.Listen(map[string]client.Listener{"1": f.listeners[i]})
	return nil
}

// turn brings a turn about and waits until all have seen its end.
func (f *fan) turn(ctx context.Context, send func() error) error {
	f.wanted.Add(int64(len(f.listeners)))
	if err := send(); err != nil {
		return err
	}
	select {
	case <-f.done:
		return nil
	case err := <-f.failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(grace):
		return fmt.Errorf("%d of %d ends of turns were seen", f.ends.Load(), f.wanted.Load())
	}
}

func (f *fan) received() int64 {
	n := int64(0)
	for _, l := range f.listeners {
		n += l.received.Load()
	}
	return n
}

// close ends the sockets and returns what went wrong with any. It may be called again.
func (f *fan) close() error {
	for i, socket := range f.sockets {
		socket.Close()
		<-f.listeners[i].closed
	}
	f.sockets = nil
	select {
	case err := <-f.failed:
		return err
	default:
		return nil
	}
}

// Event implements client.Listener.
func (l *fanListener) Event(e client.Event) {
	if e.Kind == "CAUGHT_UP" {
		l.of.live <- struct{}{}
		return
	}
	l.received.Add(1)
	if l.record {
		l.keep(e)
	}
	if l.check {
		want := l.last
		if !client.Ephemeral(e.Kind) {
			want++
		}
		if e.Sequence != want {
			l.fail(fmt.Errorf("%s has sequence %d after %d", e.Kind, e.Sequence, l.last))
		}
		l.last = e.Sequence
	}
	switch e.Kind {
	case "TURN_COMPLETED":
		if l.of.ends.Add(1) == l.of.wanted.Load() {
			l.of.done <- struct{}{}
		}
	case "TURN_FAILED", "TURN_SEALED":
		l.fail(fmt.Errorf("%s: %s", e.Kind, e.Data))
	}
}

// keep records a frame. What one commit brings is due at the same time, and so are deltas; see turnshape.Split.
func (l *fanListener) keep(e client.Event) {
	was := l.previous
	l.previous = e.Kind
	if len(l.frames) == 0 || was == "OUTPUT_STARTED" || (was == "TOOL_STARTED" && e.Kind != was) || client.Ephemeral(was) != client.Ephemeral(e.Kind) {
		l.frames = append(l.frames, nil)
	}
	last := len(l.frames) - 1
	l.frames[last] = append(l.frames[last], client.Frame("1", e))
}

func (l *fanListener) fail(err error) {
	select {
	case l.of.failed <- err:
	default:
	}
}

// Ended implements client.Listener.
func (l *fanListener) Ended(err error) {
	if err != nil {
		l.fail(err)
	}
	close(l.closed)
}
