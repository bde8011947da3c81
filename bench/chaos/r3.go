package main

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"time"

	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// frozen is a round of R3: a node that could not write for a while, until back.
type frozen struct {
	interruption

	node *node
	back time.Time
	// wronged counts the other nodes that were declared dead meanwhile.
	wronged int
}

// freeze is R3: a node stands still, or is cut off from PostgreSQL, for longer than its lease. Others take its turns over; what it
// brings afterwards is refused.
func (s *suite) freeze(ctx context.Context, kind string) error {
	rounds, lasts := 100, s.silence()*5/3 // 10 s with the default
	if s.rounds > 0 {
		rounds = s.rounds
	}
	if s.short {
		rounds *= 2 // one of each
	}
	return s.with(ctx, "R3", kind, shape{nodes: 3, linked: true}, func(ctx context.Context, t *trial) error {
		// Most of a turn is a tool's work, so that each round meets some.
		l := &load{workers: t.workers, script: t.toolTurn(900 * time.Millisecond)}
		t.begin(ctx, l)
		var all []*frozen
		var err error
		for i := 0; i < rounds && err == nil && ctx.Err() == nil && !t.isStuck(); i++ {
			var f *frozen
			if i%2 == 0 {
				f, err = t.standStill(ctx, lasts)
			} else {
				f, err = t.cutOff(ctx, lasts, i%4 == 1)
			}
			if err == nil {
				t.faults++
				all = append(all, f)
				// What the node still has to bring comes now; then it runs turns again. A call may have ended in the very moment
				// before, so not all may come.
				t.until(ctx, func() bool {
					n, since := len(f.node.output.endedSince(f.at)), time.Since(f.back)
					return n >= f.tools() || n > 0 && since > 2*time.Second || since > patience
				})
				wait(ctx, s.silence()/2)
				for _, n := range t.nodes {
					if dead := n.output.declaredDead(f.at); n != f.node && len(dead) > 0 {
						f.wronged += len(dead)
						t.progressf("R3: %s was declared dead, but it was %s that was away; it learned so %s after that one was back",
							n.name, f.node.name, dead[0].Sub(f.back).Round(time.Millisecond))
					}
				}
				t.reidentify(ctx)
			}
		}
		l.finish()
		if err != nil {
			return err
		}
		return t.judgeFrozen(ctx, all)
	})
}

// standStill stops a process while it runs a tool, and lets it go on later.
func (t *trial) standStill(ctx context.Context, lasts time.Duration) (*frozen, error) {
	for until := time.Now().Add(patience); time.Now().Before(until) && ctx.Err() == nil && !t.isStuck(); wait(ctx, 50*time.Millisecond) {
		n := t.pick(nil)
		p := n.current()
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return nil, err
		}
		f := &frozen{node: n, interruption: interruption{at: time.Now()}}
		var err error
		if f.turns, err = t.held(ctx, n); err != nil || f.tools() == 0 {
			if again := p.Signal(syscall.SIGCONT); again != nil || err != nil {
				return nil, fmt.Errorf("freeze %s: %w %w", n.name, err, again)
			}
			t.reidentify(ctx)
			continue
		}
		t.progressf("R3: %s stands still with %d turns", n.name, len(f.turns))
		n.away.Store(true)
		t.whileAway(ctx, f, lasts)
		f.back = time.Now()
		err = p.Signal(syscall.SIGCONT)
		n.away.Store(false)
		return f, err
	}
	return nil, fmt.Errorf("no node was found at work on a tool within %s", patience)
}

// cutOff cuts a node off from PostgreSQL while it runs a tool. With reset its connections are broken when the network comes back;
// without, what was on the way arrives late.
func (t *trial) cutOff(ctx context.Context, lasts time.Duration, reset bool) (*frozen, error) {
	for until := time.Now().Add(patience); time.Now().Before(until) && ctx.Err() == nil && !t.isStuck(); wait(ctx, 50*time.Millisecond) {
		n := t.pick(nil)
		n.link.cut()
		f := &frozen{node: n, interruption: interruption{at: time.Now()}}
		var err error
		if f.turns, err = t.held(ctx, n); err != nil || f.tools() == 0 {
			n.link.mend(false)
			if err != nil {
				return nil, err
			}
			t.reidentify(ctx)
			continue
		}
		t.progressf("R3: %s is cut off with %d turns", n.name, len(f.turns))
		n.away.Store(true)
		t.whileAway(ctx, f, lasts)
		f.back = time.Now()
		n.link.mend(reset)
		n.away.Store(false)
		return f, nil
	}
	return nil, fmt.Errorf("no node was found at work on a tool within %s", patience)
}

// tools is how many calls of tools the node ran when it stopped.
func (f *frozen) tools() int {
	n := 0
	for _, turn := range f.turns {
		n += turn.Running
	}
	return n
}

// whileAway lets the node be away for a time; in short runs for as long as it takes others to bring its calls to an end, so that
// nothing depends on how fast the machine is.
func (t *trial) whileAway(ctx context.Context, f *frozen, lasts time.Duration) {
	if !t.short {
		wait(ctx, lasts)
		return
	}
	var turns []models.TurnID
	for _, turn := range f.turns {
		turns = append(turns, turn.ID)
	}
	t.until(ctx, func() bool {
		var ended int64
		err := t.query(ctx, &ended, `SELECT count(*) FROM events WHERE kind = 'TOOL_COMPLETED' AND turn_id IN ? AND occurred_at > ?`, turns, f.at.UnixMilli())
		return err == nil && ended >= int64(f.tools()) || time.Since(f.at) > patience
	})
}

// judgeFrozen adds what became of the writes that came too late.
func (t *trial) judgeFrozen(ctx context.Context, all []*frozen) error {
	e, v, err := t.conclude(ctx, fmt.Sprintf("%d × a node stands still or is cut off from PostgreSQL", len(all)))
	if err != nil {
		return err
	}
	t.addRight(v, nil)
	outcomes := outcomesOf(e)
	tried, without, accepted, wronged := 0, 0, 0, 0
	var list []interruption
	for _, f := range all {
		list = append(list, f.interruption)
		n := 0
		for _, key := range f.node.output.endedSince(f.at) {
			o, found := outcomes[callOf(key)]
			// It was decided elsewhere, while the node could not write: the result with which the tool ended here came too late.
			if !found || o.at <= f.at.UnixMilli() || o.at >= f.back.UnixMilli() {
				continue
			}
			n++
			if o.count > 1 {
				accepted++
			}
		}
		tried += n
		wronged += f.wronged
		if n == 0 {
			without++
		}
	}
	t.add(report.Figure{Name: "stale results tried", Value: float64(tried), Note: fmt.Sprintf("%d rounds without one", without)})
	t.add(report.Figure{
		Name: "stale results accepted", Value: float64(accepted + len(v.violations["O2"])), Gate: report.AtMost(0), Target: report.AtMost(0),
		Note: "second outcomes of a call; whatever else was wrong with a log counts too",
	})
	t.add(report.Figure{Name: "rounds in which nothing stale was tried", Value: float64(without), Target: report.AtMost(0)})
	t.add(report.Figure{Name: "runners declared dead that were not away", Value: float64(wronged), Target: report.AtMost(0)})
	gaps := takeovers(e, list)
	limit := float64((t.silence() + time.Second).Milliseconds())
	t.addTimes("standstill → turn taken over", gaps, nil, report.AtMost(limit))
	return nil
}

// takeovers is recoveries, less the work of a tool that is run again: its end is the next event then.
func takeovers(e *evidence, list []interruption) []float64 {
	var gaps []float64
	for _, next := range nextEvents(e, list) {
		gap := next.since
		var done events.ToolCompleted
		if next.event.Kind == models.EventToolCompleted && json.Unmarshal(next.event.Data, &done) == nil && done.Success {
			gap = max(0, gap-done.DurationMs)
		}
		gaps = append(gaps, float64(gap))
	}
	return gaps
}

// told is what a log tells of a call: when it had its first outcome, in milliseconds, and how many it has.
type told struct {
	at    int64
	count int
}

// outcomesOf returns what the logs tell of each call.
func outcomesOf(e *evidence) map[string]told {
	outcomes := map[string]told{}
	for i := range e.sessions {
		for _, event := range e.sessions[i].log {
			if event.Kind != models.EventToolCompleted {
				continue
			}
			var done events.ToolCompleted
			if err := json.Unmarshal(event.Data, &done); err != nil {
				continue // judge has told
			}
			call := e.sessions[i].session + ":" + done.ToolCallID
			o, again := outcomes[call]
			if !again {
				o.at = int64(event.OccurredAt)
			}
			o.count++
			outcomes[call] = o
		}
	}
	return outcomes
}
