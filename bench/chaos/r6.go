package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/bench/report"
)

// disconnects is R6: subscribers whose connections break again and again while nodes are killed, and others that stop reading.
func (s *suite) disconnects(ctx context.Context, kind string) error {
	pairs, steady := 3, 20*time.Second
	if s.short {
		pairs, steady = 1, 2*time.Second
	}
	return s.with(ctx, "R6", kind, shape{nodes: nodesOn(kind)}, func(ctx context.Context, t *trial) error {
		fat, err := t.fatten(ctx)
		if err != nil {
			return err
		}
		l := &load{workers: t.workers, script: t.toolTurn(20 * time.Millisecond), cutAfter: func() int { return t.roll(1, 12) }}
		t.begin(ctx, l)
		readers, err := t.beside(ctx, fat, pairs, steady)
		if err == nil {
			err = t.killWhileCut(ctx)
		}
		l.finish()
		if err != nil {
			return err
		}
		return t.judgeFollowers(ctx, readers)
	})
}

// besideReaders is what was measured with and without readers that stall.
type besideReaders struct {
	without, with         []span
	heapBefore, heapAfter int64 // of all nodes, in bytes
	opened, refused       int64
}

// beside lets the load run alone for a time, and then as long beside readers that stall, some times in turn: what else goes on, and the
// age of the database, is in both.
func (t *trial) beside(ctx context.Context, fat *conversation, pairs int, lasts time.Duration) (b besideReaders, err error) {
	wait(ctx, lasts/4) // all sessions began at once
	for range pairs {
		b.without = append(b.without, during(func() { wait(ctx, lasts) }))
		if b.heapBefore, err = t.heap(ctx); err != nil {
			return b, err
		}
		readers := t.stall(ctx, fat, t.readers)
		b.with = append(b.with, during(func() { wait(ctx, lasts) }))
		b.heapAfter, err = t.heap(ctx)
		readers.end()
		b.opened += readers.opened.Load()
		b.refused += readers.refused.Load()
		if err != nil {
			return b, err
		}
	}
	if b.opened == 0 {
		err = errors.New("no reader could be opened to stall")
	}
	return b, err
}

type span struct{ from, to time.Time }

func during(f func()) span {
	from := time.Now()
	f()
	return span{from, time.Now()}
}

// killWhileCut kills a node now and then until enough connections have been cut.
func (t *trial) killWhileCut(ctx context.Context) error {
	for kills := 0; ctx.Err() == nil && !t.isStuck(); {
		if kills >= max(1, t.kills/10) && t.resumed() >= t.cuts {
			return nil
		}
		if err := t.revive(ctx); err != nil {
			return err
		}
		n := t.up(ctx)
		if n == nil {
			return errors.New("no node runs")
		}
		if _, err := t.killNode(ctx, n); err != nil {
			return err
		}
		kills++
		t.faults++
		if err := t.restart(ctx, n); err != nil {
			return err
		}
		wait(ctx, t.rollDuration(time.Second, 4*time.Second))
		if kills%10 == 0 {
			t.progressf("R6: %d kills, %d connections began again", kills, t.resumed())
		}
	}
	return nil
}

// resumed counts the subscriptions that went on where one before had ended.
func (t *trial) resumed() int {
	t.journal.mu.Lock()
	defer t.journal.mu.Unlock()
	n := 0
	for _, c := range t.journal.sessions {
		c.follower.mu.Lock()
		n += c.follower.resumed
		c.follower.mu.Unlock()
	}
	return n
}

func (t *trial) judgeFollowers(ctx context.Context, b besideReaders) error {
	resumed := t.resumed()
	kills := t.faults
	t.faults += resumed + int(b.opened)
	_, _, err := t.conclude(ctx, fmt.Sprintf("%d kills of nodes, %d broken connections of subscribers, %d subscribers that did not read", kills, resumed, b.opened))
	if err != nil {
		return err
	}
	var missing, repeated, reordered, got, deltas int
	for _, c := range t.journal.sessions {
		missing += c.follower.missing
		repeated += c.follower.repeated
		reordered += c.follower.reordered
		got += len(c.follower.events)
		deltas += c.follower.deltas
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"events missing", missing}, {"events repeated", repeated}, {"events reordered", reordered}} {
		t.add(report.Figure{Name: f.name, Value: float64(f.n), Gate: report.AtMost(0), Target: report.AtMost(0), Note: fmt.Sprintf("of %d, with %d deltas, after %d resumes", got, deltas, resumed)})
	}
	alone, with := t.acceptance(b.without), t.acceptance(b.with)
	if len(alone) > 0 && len(with) > 0 {
		t.add(report.Figure{
			Name: "p99 of sendMessage with stalled readers / without", Value: report.Quantile(with, 0.99) / report.Quantile(alone, 0.99), Target: report.AtMost(1.2),
			Note: fmt.Sprintf("%.1f ms of %d, %.1f ms of %d", report.Quantile(with, 0.99), len(with), report.Quantile(alone, 0.99), len(alone)),
		})
	}
	t.add(report.Figure{
		Name: "heap per stalled reader", Unit: "KiB", Value: float64(b.heapAfter-b.heapBefore) / 1024 / float64(t.readers), Target: report.AtMost(256),
		Note: fmt.Sprintf("%d at once with %d subscriptions each, %d in all, %d refused", t.readers, t.each, b.opened, b.refused),
	})
	return nil
}

// acceptance returns how long messages that were sent within some times took to be acknowledged, in milliseconds.
func (t *trial) acceptance(spans []span) []float64 {
	var list []float64
	for _, c := range t.journal.sessions {
		for _, m := range c.messages {
			if m.turn != "" && slices.ContainsFunc(spans, func(s span) bool { return m.sent.After(s.from) && m.sent.Before(s.to) }) {
				list = append(list, float64(m.accepted)/float64(time.Millisecond))
			}
		}
	}
	return list
}
