package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/bench/turnshape"
)

// floorAlone takes the floor's own figures, with the shape of turns that turnshape has: for work on the floor, and
// for machines without a product.
func (b *bench) floorAlone(ctx context.Context, kind string) error {
	s := &system{bench: b, kind: kind}
	err := s.startFloor(ctx, turnshape.Default)
	if err == nil && kind == postgres {
		s.postmaster, err = postmaster(ctx, s.floorPlace.url)
	}
	if err != nil {
		return errors.Join(err, s.kill(ctx))
	}
	for _, model := range []string{"builtin", "http"} {
		for _, workers := range s.sessions {
			if err := s.floorRate(ctx, model, workers); err != nil {
				return errors.Join(err, s.kill(ctx))
			}
		}
		var times []float64
		for range blocks {
			block, err := s.block(ctx, armBuiltin, client.NewFloor(s.floors.URL, model))
			if err != nil {
				return errors.Join(err, s.kill(ctx))
			}
			times = append(times, block...)
		}
		s.add(report.Figure{
			ID: "floor", Name: "message → first delta, alone, model " + model, Unit: "ms", Value: report.Median(times),
			Note: fmt.Sprintf("p99 %.2f ms", report.Quantile(times, 0.99)),
		})
	}
	return s.stop(ctx)
}

func (s *system) floorRate(ctx context.Context, model string, workers int) error {
	var rates, cpu, foreign []float64
	expected := float64(maxRate)
	for i := range s.pairs + 1 { // the first one only warms up
		m, err := s.throughput(ctx, s.floor(model), workers, s.lasts, expected)
		if err != nil {
			return err
		}
		s.count(armBuiltin, m)
		expected = m.perSecond
		if i > 0 {
			rates, cpu, foreign = append(rates, m.perSecond), append(cpu, m.cpuMillis), append(foreign, m.foreign)
		}
	}
	s.add(report.Figure{
		ID: "floor", Name: fmt.Sprintf("turns with a tool, model %s, %d sessions", model, workers), Unit: "/s",
		Samples: rates, CPUMillis: report.Median(cpu), Foreign: report.Median(foreign),
	})
	return nil
}
