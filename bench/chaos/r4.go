package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/bench/report"
)

// outages is R4: turns while PostgreSQL stops, loses its backends or has no connection left, and while NATS stops.
func (s *suite) outages(ctx context.Context, kind string) error {
	steady, least, most := 20*time.Second, 5*time.Second, 40*time.Second
	if s.short {
		steady, least, most = 2*time.Second, 300*time.Millisecond, time.Second
	}
	return s.with(ctx, "R4", kind, shape{nodes: 3, own: true}, func(ctx context.Context, t *trial) error {
		l := &load{workers: t.workers, script: t.toolTurn(100 * time.Millisecond)}
		t.begin(ctx, l)
		wait(ctx, steady/4) // until it runs evenly
		before := t.rate(ctx, steady)
		counts := map[string]int{}
		var back []time.Time
		from := t.journal.ended.Load()
		for i := 0; ctx.Err() == nil && !t.isStuck(); i++ {
			if len(counts) == len(breaks()) && t.journal.ended.Load()-from >= int64(t.turns) {
				break
			}
			b := breaks()[t.roll(0, len(breaks())-1)]
			if i < len(breaks()) {
				b = breaks()[i] // each at least once
			}
			t.progressf("R4: %s, after %d turns", b.name, t.journal.ended.Load()-from)
			if err := b.do(t, ctx, t.rollDuration(0, 2*time.Second)); err != nil {
				l.finish()
				return fmt.Errorf("%s: %w", b.name, err)
			}
			t.faults++
			counts[b.name]++
			if b.database {
				back = append(back, time.Now())
			}
			wait(ctx, t.rollDuration(least, most))
		}
		wait(ctx, steady/4)
		after := t.rate(ctx, steady)
		l.finish()
		e, v, err := t.conclude(ctx, tally(counts))
		if err != nil {
			return err
		}
		t.addRight(v, report.AtMost(0))
		t.add(report.Figure{
			Name: "throughput after / before", Value: after / before, Target: report.AtLeast(0.98), Note: fmt.Sprintf("%.1f/s, %.1f/s", after, before),
		})
		t.addTimes("PostgreSQL answers again → first event", firstEvents(e, back), nil, report.AtMost(1000))
		return nil
	})
}

// rate returns the turns per second that end within some time.
func (t *trial) rate(ctx context.Context, lasts time.Duration) float64 {
	start, before := time.Now(), t.journal.ended.Load()
	wait(ctx, lasts)
	return float64(t.journal.ended.Load()-before) / time.Since(start).Seconds()
}

// firstEvents gives, for each of some times, how long it took until any event was committed, in milliseconds.
func firstEvents(e *evidence, times []time.Time) []float64 {
	var all []int64
	for i := range e.sessions {
		for _, event := range e.sessions[i].log {
			all = append(all, int64(event.OccurredAt))
		}
	}
	slices.Sort(all)
	var gaps []float64
	for _, at := range times {
		if i, _ := slices.BinarySearch(all, at.UnixMilli()); i < len(all) {
			gaps = append(gaps, float64(all[i]-at.UnixMilli()))
		}
	}
	return gaps
}

// outage is something that breaks and is whole again when do returns. lasts is how long it stays broken.
type outage struct {
	name     string
	database bool
	do       func(t *trial, ctx context.Context, lasts time.Duration) error
}

func breaks() []outage {
	return []outage{
		{"stops of PostgreSQL", true, func(t *trial, ctx context.Context, lasts time.Duration) error {
			t.server.stop()
			wait(ctx, lasts)
			return t.server.start(ctx)
		}},
		{"kills of all backends", true, func(t *trial, ctx context.Context, _ time.Duration) error {
			return t.server.exec(ctx, killBackends)
		}},
		{"times without a connection", true, func(t *trial, ctx context.Context, lasts time.Duration) error {
			return t.useUp(ctx, lasts)
		}},
		{"stops of NATS", false, func(t *trial, ctx context.Context, lasts time.Duration) error {
			t.bus.kill()
			wait(ctx, lasts)
			return t.bus.start()
		}},
	}
}

const killBackends = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
	AND application_name <> 'hog'`

// useUp takes all connections that PostgreSQL has, those of the nodes too, and keeps them for some time.
func (t *trial) useUp(ctx context.Context, lasts time.Duration) (err error) {
	killer, err := pgx.Connect(ctx, t.server.admin.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, killer.Close(ctx)) }()
	cfg, err := pgx.ParseConfig(t.server.admin.String())
	if err != nil {
		return err
	}
	cfg.RuntimeParams["application_name"] = "hog"
	var hogs []*pgx.Conn
	defer func() {
		for _, hog := range hogs {
			_ = hog.Close(ctx) // it may have been ended with the server
		}
	}()
	var full time.Time // since when there is none left
	for begun := time.Now(); ctx.Err() == nil && (full.IsZero() || time.Since(full) < max(lasts, 500*time.Millisecond)); {
		if hog, err := pgx.ConnectConfig(ctx, cfg); err == nil {
			hogs = append(hogs, hog)
			continue
		}
		if full.IsZero() {
			full = time.Now()
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("%d connections were taken in %s", len(hogs), patience)
		}
		// What the nodes have is freed, and taken next.
		if _, err := killer.Exec(ctx, killBackends); err != nil {
			return err
		}
		wait(ctx, 5*time.Millisecond)
	}
	return nil
}
