package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
)

// disconnects is R6: subscribers whose connections break again and again while nodes are killed, and others that stop reading.
func (s *suite) disconnects(ctx context.Context, kind string) error {
	steady := 20 * time.Second
	if s.short {
		steady = time.Second
	}
	return s.with(ctx, "R6", kind, shape{nodes: nodesOn(kind)}, func(ctx context.Context, t *trial) error {
		l := &load{workers: t.workers, script: t.toolTurn(20 * time.Millisecond), cutAfter: func() int { return t.roll(1, 12) }}
		t.begin(ctx, l)
		start := time.Now()
		wait(ctx, steady)
		stalled, err := t.stall(ctx, t.readers)
		if err == nil {
			stallStart := time.Now()
			wait(ctx, steady)
			stallEnd := time.Now()
			for _, socket := range stalled {
				socket.Close()
			}
			err = t.killWhileCut(ctx)
			l.finish()
			if err == nil {
				return t.judgeFollowers(ctx, span{start, stallStart}, span{stallStart, stallEnd})
			}
			return err
		}
		l.finish()
		return err
	})
}

type span struct{ from, to time.Time }

// killWhileCut kills a node now and then until enough connections have been cut.
func (t *trial) killWhileCut(ctx context.Context) error {
	for kills := 0; ctx.Err() == nil && !t.isStuck(); {
		if kills > 0 && t.resumed() >= t.cuts {
			return nil
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
		if err := t.startNode(ctx, n); err != nil {
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

// stall opens subscriptions to sessions that are at work and never reads them.
func (t *trial) stall(ctx context.Context, count int) ([]*client.Socket, error) {
	var sockets []*client.Socket
	for i := range count {
		t.journal.mu.Lock()
		c := t.journal.sessions[len(t.journal.sessions)-1-i%min(t.workers, len(t.journal.sessions))]
		t.journal.mu.Unlock()
		api, err := t.people.at(ctx, t.nodes[i%len(t.nodes)], c.org)
		if err != nil {
			return sockets, err
		}
		socket, err := client.Dial(ctx, api)
		if err != nil {
			return sockets, err
		}
		sockets = append(sockets, socket)
		if err := socket.Subscribe(ctx, "1", followed, map[string]any{"id": c.id, "after": 0}); err != nil {
			return sockets, err
		}
	}
	return sockets, nil
}

func (t *trial) judgeFollowers(ctx context.Context, quiet, stalled span) error {
	resumed := t.resumed()
	kills := t.faults
	t.faults += resumed
	_, _, err := t.conclude(ctx, fmt.Sprintf("%d kills of nodes, %d broken connections of subscribers, %d subscribers that did not read", kills, resumed, t.readers))
	if err != nil {
		return err
	}
	var missing, repeated, reordered, got int
	for _, c := range t.journal.sessions {
		missing += c.follower.missing
		repeated += c.follower.repeated
		reordered += c.follower.reordered
		got += len(c.follower.events)
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"events missing", missing}, {"events repeated", repeated}, {"events reordered", reordered}} {
		t.add(report.Figure{Name: f.name, Value: float64(f.n), Gate: report.AtMost(0), Target: report.AtMost(0), Note: fmt.Sprintf("of %d, after %d resumes", got, resumed)})
	}
	if alone := t.acceptance(quiet); len(alone) > 0 {
		with := t.acceptance(stalled)
		ratio := report.Quantile(with, 0.99) / report.Quantile(alone, 0.99)
		t.add(report.Figure{
			Name: "p99 of sendMessage with stalled readers / without", Value: ratio, Target: report.AtMost(1.2),
			Note: fmt.Sprintf("%.1f ms of %d, %.1f ms of %d", report.Quantile(with, 0.99), len(with), report.Quantile(alone, 0.99), len(alone)),
		})
	}
	return nil
}

// acceptance gives how long messages that were sent within a time took to be acknowledged, in milliseconds.
func (t *trial) acceptance(s span) []float64 {
	var list []float64
	for _, c := range t.journal.sessions {
		for _, m := range c.messages {
			if m.turn != "" && m.sent.After(s.from) && m.sent.Before(s.to) {
				list = append(list, float64(m.accepted)/float64(time.Millisecond))
			}
		}
	}
	return list
}
