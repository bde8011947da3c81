package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/procs"
	"github.com/ostler-dev/ostler/bench/report"
)

const (
	// Idle sessions are made in batches; the first ones fill caches and let the heap find its size.
	idleBatches, idleWarmUp = 12, 8
	// allocatedSessions is how many sessions are at work while allocations are counted.
	allocatedSessions = 32
)

// turnMemory takes the part of P5 that needs turns: what an idle session keeps, and what a turn allocates.
func (b *bench) turnMemory(ctx context.Context, kind string) error {
	at, err := b.newPlace(ctx, kind)
	if err != nil {
		return err
	}
	trace := &gcTrace{}
	// The runtime's own account of its heap; it needs nothing of the product.
	at.env, at.errors = []string{"GODEBUG=gctrace=1"}, trace
	s, err := b.startSystemAt(ctx, kind, noFloor, at)
	if err != nil {
		return err
	}
	if err = s.idleSessions(ctx, trace); err == nil {
		err = s.allocations(ctx, trace)
	}
	return s.end(ctx, err)
}

// idleSessions runs one turn in each of many sessions, batch after batch, and takes what the process keeps per session. Resident
// memory holds garbage, megabytes more or less of it, so it is the slope of what the collections of each batch found alive, stacks
// included; what is at work meanwhile is the same in each.
func (s *system) idleSessions(ctx context.Context, trace *gcTrace) error {
	batch := 2000
	if s.small {
		batch = 100
	}
	var sessions, kept []float64
	for n := range idleBatches {
		trace.reset()
		if err := s.oneTurnEach(ctx, batch); err != nil {
			return err
		}
		alive, cycles := trace.alive()
		rss, err := procs.RSS(s.product.PID())
		if err != nil {
			return err
		}
		s.progressf("P5: %d sessions at rest, %.2f MiB alive in %d collections, %.1f MiB resident", (n+1)*batch, alive/mebibyte, cycles, float64(rss)/mebibyte)
		if cycles == 0 {
			return fmt.Errorf("no garbage collection in %d turns: nothing tells what is alive", batch)
		}
		if n >= idleWarmUp {
			sessions, kept = append(sessions, (float64(n)+0.5)*float64(batch)), append(kept, alive)
		}
	}
	s.add(report.Figure{
		ID: "P5", Name: "per idle session", Unit: "B", Value: max(0, slope(sessions, kept)), Gate: report.AtMost(64), Target: report.AtMost(0),
		Note: fmt.Sprintf("growth of what is alive over %d sessions with a turn each, after %d", (idleBatches-idleWarmUp)*batch, idleWarmUp*batch),
	})
	return nil
}

// oneTurnEach makes sessions, runs a turn in each, some at a time, and leaves them.
func (s *system) oneTurnEach(ctx context.Context, count int) error {
	const atOnce = 50
	for done := 0; done < count; done += atOnce {
		conversations, err := openConversations(ctx, s.api, min(atOnce, count-done))
		if err != nil {
			return err
		}
		errs := make([]error, len(conversations))
		var group sync.WaitGroup
		for i, c := range conversations {
			group.Go(func() { _, errs[i] = c.turn(ctx, client.TextTurn, time.Now()) })
		}
		group.Wait()
		if err := errors.Join(errors.Join(errs...), closeConversations(conversations)); err != nil {
			return err
		}
		s.countConversations(armProduct, conversations)
	}
	return nil
}

// slope returns by how much y grows with x, by least squares.
func slope(x, y []float64) float64 {
	var meanX, meanY, xy, xx float64
	for i := range x {
		meanX += x[i] / float64(len(x))
		meanY += y[i] / float64(len(y))
	}
	for i := range x {
		xy += (x[i] - meanX) * (y[i] - meanY)
		xx += (x[i] - meanX) * (x[i] - meanX)
	}
	return xy / xx
}

// allocations keeps sessions at work and compares what the process allocates per second with the turns per second.
func (s *system) allocations(ctx context.Context, trace *gcTrace) error {
	warm, err := s.throughput(ctx, s.api, allocatedSessions, time.Second, maxRate)
	if err != nil {
		return err
	}
	s.count(armProduct, warm)
	lasts := max(4*time.Second, s.lasts)
	prepared, err := prepare(ctx, s.api, allocatedSessions, lasts, warm.perSecond)
	if err != nil {
		return err
	}
	// Opening the sessions allocated as well. The run begins after a while of its own, so the first cycles are left out.
	trace.reset()
	m, err := s.drive(ctx, prepared, lasts)
	if err != nil {
		return err
	}
	s.count(armProduct, m)
	perSecond, cycles := trace.allocated(warmUp.Seconds(), (warmUp + lasts).Seconds())
	const fewest = 10
	if cycles < fewest {
		return fmt.Errorf("only %d garbage collections in %s: too few to count what was allocated", cycles, lasts)
	}
	s.add(report.Figure{
		ID: "P5", Name: "allocated per turn", Unit: "KiB", Value: perSecond / m.perSecond / kibibyte,
		Gate: report.AtMost(mebibyte / kibibyte), Target: report.AtMost(200), Foreign: m.foreign,
		Note: fmt.Sprintf("turns with a tool, %d sessions; over %d garbage collections", allocatedSessions, cycles),
	})
	return nil
}

// gcTrace reads what a Go program prints with GODEBUG=gctrace=1.
type gcTrace struct {
	mu     sync.Mutex
	rest   []byte
	cycles []gcCycle
	from   time.Time
}

// gcCycle is a garbage collection: when its line came, and the heap in bytes when it began, when it ended,
// and what was alive, which has the stacks beside it.
type gcCycle struct {
	at               time.Time
	begin, end, live float64
	stacks           float64
}

var gcLine = regexp.MustCompile(`^gc \d+ @.* (\d+)->(\d+)->(\d+) MB, .* (\d+) MB stacks`)

// Write implements io.Writer.
func (g *gcTrace) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rest = append(g.rest, b...)
	for {
		line, rest, found := bytes.Cut(g.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		if m := gcLine.FindSubmatch(line); m != nil {
			c := gcCycle{at: time.Now()}
			for i, to := range []*float64{&c.begin, &c.end, &c.live, &c.stacks} {
				n, _ := strconv.Atoi(string(m[i+1])) // the expression lets nothing else through
				*to = float64(n) * mebibyte
			}
			g.cycles = append(g.cycles, c)
		}
		g.rest = append([]byte(nil), rest...)
	}
}

// reset forgets what came before now.
func (g *gcTrace) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cycles, g.from = nil, time.Now()
}

// alive returns the mean of what collections have found alive since reset, in bytes, and how many these were.
func (g *gcTrace) alive() (bytes float64, cycles int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.cycles {
		bytes += (c.live + c.stacks) / float64(len(g.cycles))
	}
	return bytes, len(g.cycles)
}

// allocated returns the bytes per second that were allocated between the first and the last collection from one moment to another,
// in seconds since reset, and how many collections these were. What was allocated from one collection to the next is how far
// the heap had grown above what was alive, and what came during the collection. Sizes are whole MiB, rounded down alike at
// both ends, so the error is a part of a MiB per collection that evens out.
func (g *gcTrace) allocated(from, to float64) (perSecond float64, cycles int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var sum float64
	var first, last *gcCycle
	for i := range g.cycles {
		c := &g.cycles[i]
		if at := c.at.Sub(g.from).Seconds(); at < from || at > to {
			continue
		}
		cycles++
		if first == nil {
			first = c
		} else {
			sum += c.begin - last.live + c.end - c.begin
		}
		last = c
	}
	if cycles < 2 {
		return 0, cycles
	}
	return sum / last.at.Sub(first.at).Seconds(), cycles
}
