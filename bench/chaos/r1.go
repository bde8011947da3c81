package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ostler-dev/ostler/bench/report"
)

// nodesOn is how many nodes a database has: SQLite's file belongs to one process.
func nodesOn(kind string) int {
	if kind == sqlite {
		return 1
	}
	return 3
}

// kill9 is R1: a random process is killed about every second, and started again at once.
func (s *suite) kill9(ctx context.Context, kind string) error {
	return s.with(ctx, "R1", kind, shape{nodes: nodesOn(kind)}, func(ctx context.Context, t *trial) error {
		l := &load{workers: t.workers, script: t.toolTurn(100 * time.Millisecond)}
		t.begin(ctx, l)
		killed, err := t.killSome(ctx, t.kills)
		l.finish()
		if err != nil {
			return err
		}
		e, v, err := t.conclude(ctx, "kill -9 of a random process about every second")
		if err != nil {
			return err
		}
		// Three takeovers in a row without a step stop a turn, as they should; so this has no gate.
		t.addRight(v, nil)
		gaps, afterReady := recoveries(e, killed)
		t.addTimes("kill → next event of a turn", gaps, report.AtMost(300), report.AtMost(2000))
		var ready []float64
		for _, k := range killed {
			ready = append(ready, float64(k.ready.Milliseconds()))
		}
		t.addTimes("kill → process ready again", ready, nil, nil)
		if kind == sqlite {
			t.addTimes("ready → next event of a turn", afterReady, nil, nil)
		}
		return nil
	})
}

// killSome kills processes until so many are killed.
func (t *trial) killSome(ctx context.Context, count int) ([]interruption, error) {
	var mu sync.Mutex
	var killed []interruption
	var failed error
	var restarts sync.WaitGroup
	defer restarts.Wait()
	for i := 0; i < count && ctx.Err() == nil && !t.isStuck(); i++ {
		wait(ctx, t.rollDuration(500*time.Millisecond, 1500*time.Millisecond))
		if err := t.revive(ctx); err != nil {
			return killed, err
		}
		n := t.up(ctx)
		if n == nil {
			break
		}
		t.reidentify(ctx)
		k, err := t.killNode(ctx, n)
		if err != nil {
			return killed, err
		}
		t.faults++
		if t.killed != nil {
			if err := t.killed(ctx); err != nil {
				return killed, err
			}
		}
		restarts.Go(func() {
			err := t.restart(ctx, n)
			k.ready = time.Since(k.at)
			mu.Lock()
			defer mu.Unlock()
			killed = append(killed, k)
			if err != nil && ctx.Err() == nil {
				failed = fmt.Errorf("a process does not start after it was killed: %w", err)
			}
		})
		if t.faults%20 == 0 {
			t.progressf("%s: %d kills, %d turns", t.id, t.faults, t.journal.ended.Load())
		}
	}
	restarts.Wait()
	mu.Lock()
	defer mu.Unlock()
	return killed, failed
}

// revive starts processes again that a failpoint has killed. One that ended without that is a fault of the product.
func (t *trial) revive(ctx context.Context) error {
	for _, n := range t.nodes {
		if n.alive() || n.away.Load() {
			continue
		}
		if !t.killsItself() {
			return fmt.Errorf("%s has ended, and nobody killed it", n.name)
		}
		t.faults++
		if err := t.restart(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// killsItself reports whether a failpoint may kill processes.
func (o *options) killsItself() bool { return strings.Contains(o.failpoints, "=kill") }

// restart starts a process that was killed. A failpoint may kill it again before it is ready.
func (t *trial) restart(ctx context.Context, n *node) error {
	for {
		err := t.startNode(ctx, n)
		if err == nil || ctx.Err() != nil || !t.killsItself() {
			return err
		}
		t.progressf("%s did not start, a failpoint may be why: %v", n.name, err)
	}
}

// up returns a random node that runs, as soon as there is one.
func (t *trial) up(ctx context.Context) *node {
	for until := time.Now().Add(patience); ctx.Err() == nil && time.Now().Before(until); wait(ctx, 5*time.Millisecond) {
		if n := t.pick(nil); n.alive() && !n.away.Load() {
			return n
		}
	}
	return nil
}

// killNode kills a process and tells which turns it was working on. So that these are known, it stands still for the moment that the
// question takes.
func (t *trial) killNode(ctx context.Context, n *node) (interruption, error) {
	if err := n.current().Signal(syscall.SIGSTOP); err != nil {
		return interruption{}, err
	}
	turns, err := t.held(ctx, n)
	n.away.Store(true)
	n.current().Kill()
	return interruption{at: time.Now(), turns: turns}, err
}
