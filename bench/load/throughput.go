package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
)

const (
	// turnsPerSession is after how many turns a worker goes on with a fresh session, so that figures speak of turns
	// and not of long histories.
	turnsPerSession = 20
	// grace is how long the last turns of a run may take.
	grace = 60 * time.Second
	// warmUp is how long a run lasts before it counts.
	warmUp = 300 * time.Millisecond
)

// measurement is one run of turns.
type measurement struct {
	perSecond float64
	cpuMillis float64 // per turn, of everything that takes part
	foreign   float64 // the share of the machine that other programs had
	turns     int
	events    int64
	tools     int
}

// throughput keeps so many sessions at work for a time, in a closed loop, and counts the turns that end meanwhile.
// expected is the rate to prepare sessions for.
func (s *system) throughput(ctx context.Context, t target, workers int, lasts time.Duration, expected float64) (measurement, error) {
	prepared, err := prepare(ctx, t, workers, lasts, expected)
	if err != nil {
		return measurement{}, err
	}
	return s.drive(ctx, prepared, lasts)
}

// prepare opens the sessions of a run, by worker.
func prepare(ctx context.Context, t target, workers int, lasts time.Duration, expected float64) ([][]*conversation, error) {
	const reserve = 1.5
	each := int(expected*lasts.Seconds()*reserve)/workers/turnsPerSession + 1
	all, err := openConversations(ctx, t, workers*each)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(all, each)), nil
}

// drive does the work of throughput, and closes the sessions.
func (s *system) drive(ctx context.Context, prepared [][]*conversation, lasts time.Duration) (measurement, error) {
	var m measurement
	ctx, cancel := context.WithTimeout(ctx, lasts+grace)
	defer cancel()
	from := time.Now().Add(warmUp)
	until := from.Add(lasts)

	var mu sync.Mutex
	var failures []error
	var group sync.WaitGroup
	counted := 0
	for _, own := range prepared {
		group.Go(func() {
			n, err := work(ctx, own, from, until)
			mu.Lock()
			defer mu.Unlock()
			counted += n
			if err != nil {
				failures = append(failures, err)
			}
		})
	}
	time.Sleep(time.Until(from))
	before, err := s.cpu()
	time.Sleep(time.Until(until))
	after, errAfter := s.cpu()
	group.Wait()
	all := slices.Concat(prepared...)
	failures = append(failures, err, errAfter, closeConversations(all))
	if err := errors.Join(failures...); err != nil {
		return m, fmt.Errorf("%d sessions: %w", len(prepared), err)
	}
	for _, c := range all {
		m.turns += c.turns
		m.tools += c.tools
		m.events += c.last
	}
	if counted == 0 {
		return m, fmt.Errorf("%d sessions: no turn ended within %s", len(prepared), lasts)
	}
	m.perSecond = float64(counted) / lasts.Seconds()
	m.cpuMillis = millis(after.own-before.own) / float64(counted)
	m.foreign = after.foreign(before, lasts)
	return m, nil
}

// work does turn after turn until the time is over, and counts those that end between from and until.
func work(ctx context.Context, own []*conversation, from, until time.Time) (int, error) {
	counted := 0
	for i := 0; ; i++ {
		c := own[min(i/turnsPerSession, len(own)-1)]
		start := time.Now()
		if start.After(until) {
			return counted, nil
		}
		if _, err := c.turn(ctx, client.ToolTurn, start); err != nil {
			return counted, err
		}
		if now := time.Now(); now.After(from) && now.Before(until) {
			counted++
		}
	}
}

// arms are what P1 compares: the product, the floor with the model inside of the process as the product has it, and
// the floor with a model over HTTP.
const (
	armProduct = iota
	armBuiltin
	armHTTP
	armCount
)

// turnsPerSecond takes P1: pairs of runs, the arms one after the other, in turn forwards and backwards.
func (s *system) turnsPerSecond(ctx context.Context) error {
	targets := [armCount]target{s.api, s.floor("builtin"), s.floor("http")}
	for _, workers := range s.sessions {
		var rates, cpu [armCount][]float64
		var ratios, ratiosHTTP, foreign []float64
		expected := [armCount]float64{maxRate, maxRate, maxRate}
		for pair := range s.pairs + 1 { // the first one only warms up
			var m [armCount]measurement
			for i := range armCount {
				arm := i
				if pair%2 == 1 {
					arm = armCount - 1 - i
				}
				var err error
				if m[arm], err = s.throughput(ctx, targets[arm], workers, s.lasts, expected[arm]); err != nil {
					return fmt.Errorf("P1, %s: %w", [armCount]string{"product", "floor", "floor over HTTP"}[arm], err)
				}
				s.count(arm, m[arm])
				expected[arm] = m[arm].perSecond
			}
			if pair == 0 {
				continue
			}
			for arm := range armCount {
				rates[arm] = append(rates[arm], m[arm].perSecond)
				cpu[arm] = append(cpu[arm], m[arm].cpuMillis)
				foreign = append(foreign, m[arm].foreign)
			}
			ratios = append(ratios, m[armProduct].perSecond/m[armBuiltin].perSecond)
			ratiosHTTP = append(ratiosHTTP, m[armProduct].perSecond/m[armHTTP].perSecond)
			s.progressf("P1 %d sessions: product %.0f, floor %.0f, floor over HTTP %.0f turns/s", workers,
				m[armProduct].perSecond, m[armBuiltin].perSecond, m[armHTTP].perSecond)
		}
		s.add(report.Figure{
			ID: "P1", Name: fmt.Sprintf("turns with a tool, %d sessions", workers), Unit: "/s",
			Samples: rates[armProduct], Floor: report.Median(rates[armBuiltin]), Ratios: ratios,
			CPUMillis: report.Median(cpu[armProduct]), FloorCPUMillis: report.Median(cpu[armBuiltin]),
			Gate: report.AtLeast(0.30), Target: report.AtLeast(0.60), Foreign: report.Median(foreign),
			Note: fmt.Sprintf("model over HTTP: floor %.0f, ratio %.2f", report.Median(rates[armHTTP]), report.Median(ratiosHTTP)),
		})
	}
	return nil
}

// maxRate is the rate that nothing exceeds here: sessions are prepared for it before a rate is known.
const maxRate = 1500

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
