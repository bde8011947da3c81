package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
)

const (
	// blocks of turns alternate between product and floor.
	blocks        = 5
	turnsPerBlock = 60
	// pause lies between two turns of a session that is alone.
	pause = 5 * time.Millisecond
	// Sessions for the run at half load: those that make the load, and those that are looked at.
	loadSessions, probeSessions = 256, 64
	probesPerSecond             = 50
	halfLoadLasts               = 15 * time.Second
)

// firstDelta takes P2. The model takes no time of its own, so nothing is subtracted.
func (s *system) firstDelta(ctx context.Context) error {
	if err := s.firstDeltaAlone(ctx); err != nil {
		return fmt.Errorf("P2 alone: %w", err)
	}
	if err := s.firstDeltaUnderLoad(ctx); err != nil {
		return fmt.Errorf("P2 at half load: %w", err)
	}
	return nil
}

func (s *system) firstDeltaAlone(ctx context.Context) error {
	targets := []target{armProduct: s.api, armBuiltin: s.floor("builtin")}
	var all, medians, tails [2][]float64
	begun := time.Now()
	before, err := s.cpu()
	if err != nil {
		return err
	}
	for block := range blocks + 1 { // the first one only warms up
		for arm, t := range targets {
			times, err := s.block(ctx, arm, t)
			if err != nil {
				return err
			}
			if block == 0 {
				continue
			}
			all[arm] = append(all[arm], times...)
			medians[arm] = append(medians[arm], report.Median(times))
			tails[arm] = append(tails[arm], report.Quantile(times, 0.99))
		}
	}
	after, err := s.cpu()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name         string
		q            float64
		samples      []float64
		gate, target float64
	}{
		{"p50", 0.5, medians[armProduct], 5, 1.6},
		{"p99", 0.99, tails[armProduct], 25, 4},
	} {
		s.add(report.Figure{
			ID: "P2", Name: "message → first delta, alone, " + f.name, Unit: "ms", Samples: f.samples,
			Value: report.Quantile(all[armProduct], f.q), Floor: report.Quantile(all[armBuiltin], f.q),
			Gate: report.AtMost(f.gate), Target: report.AtMost(f.target), Foreign: after.foreign(before, time.Since(begun)),
			Note: fmt.Sprintf("of %d turns; spread of %d blocks", len(all[armProduct]), blocks),
		})
	}
	return nil
}

// block does turns one after the other, and returns the times to their first deltas in milliseconds.
func (s *system) block(ctx context.Context, arm int, t target) ([]float64, error) {
	conversations, err := openConversations(ctx, t, turnsPerBlock/turnsPerSession)
	if err != nil {
		return nil, err
	}
	var times []float64
	for i := range turnsPerBlock {
		time.Sleep(pause)
		timing, err := conversations[i/turnsPerSession].turn(ctx, client.TextTurn, time.Now())
		if err == nil && timing.firstDelta <= 0 {
			err = errors.New("a turn without a delta")
		}
		if err != nil {
			_ = closeConversations(conversations)
			return nil, err
		}
		times = append(times, millis(timing.firstDelta))
	}
	err = closeConversations(conversations)
	s.countConversations(arm, conversations)
	return times, err
}

// firstDeltaUnderLoad sends messages by the clock, at half of the rate that 32 sessions reach, whether or not
// earlier ones have been answered, and looks at some more beside them. Time counts from when a message was due.
func (s *system) firstDeltaUnderLoad(ctx context.Context) error {
	full, err := s.throughput(ctx, s.api, 32, s.lasts, maxRate)
	if err != nil {
		return err
	}
	s.count(armProduct, full)
	rate := full.perSecond / 2
	background, err := openConversations(ctx, s.api, loadSessions)
	if err != nil {
		return err
	}
	probes, err := openConversations(ctx, s.api, probeSessions)
	if err != nil {
		return errors.Join(err, closeConversations(background))
	}
	ctx, cancel := context.WithTimeout(ctx, halfLoadLasts+grace)
	defer cancel()
	var group sync.WaitGroup
	var times []float64
	var errLoad, errProbes error
	begun := time.Now()
	before, errBefore := s.cpu()
	group.Go(func() { _, errLoad = schedule(ctx, background, client.ToolTurn, rate) })
	group.Go(func() { times, errProbes = schedule(ctx, probes, client.TextTurn, probesPerSecond) })
	group.Wait()
	after, errAfter := s.cpu()
	foreign := after.foreign(before, time.Since(begun))
	if err := errors.Join(errBefore, errAfter, errLoad, errProbes, closeConversations(background), closeConversations(probes)); err != nil {
		return err
	}
	s.countConversations(armProduct, background)
	s.countConversations(armProduct, probes)
	note := fmt.Sprintf("%d messages beside %.0f turns/s by the clock", len(times), rate)
	s.add(report.Figure{
		ID: "P2", Name: "message → first delta, half load, p50", Unit: "ms", Value: report.Median(times), Note: note,
		Gate: report.AtMost(5), Foreign: foreign,
	})
	s.add(report.Figure{
		ID: "P2", Name: "message → first delta, half load, p99", Unit: "ms", Value: report.Quantile(times, 0.99), Note: note,
		Gate: report.AtMost(25), Target: report.AtMost(15), Foreign: foreign,
	})
	return nil
}

// schedule starts turns at a fixed rate and returns the times to their first deltas, in milliseconds. A message that is
// due waits for a session that is at rest; the wait counts.
func schedule(ctx context.Context, conversations []*conversation, kind client.TurnKind, rate float64) ([]float64, error) {
	free := make(chan *conversation, len(conversations))
	for _, c := range conversations {
		free <- c
	}
	var mu sync.Mutex
	var times []float64
	var failed error
	var group sync.WaitGroup
	start := time.Now()
	for i := 0; ; i++ {
		due := start.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		if due.Sub(start) > halfLoadLasts {
			break
		}
		time.Sleep(time.Until(due))
		var c *conversation
		select {
		case c = <-free:
		case <-ctx.Done():
			group.Wait()
			return nil, errors.Join(failed, errors.New("the load can't be kept up: no session is at rest"))
		}
		group.Go(func() {
			timing, err := c.turn(ctx, kind, due)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = errors.Join(failed, err)
				return
			}
			times = append(times, millis(timing.firstDelta))
			free <- c
		})
	}
	group.Wait()
	return times, failed
}
