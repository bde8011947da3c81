package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/models"
)

// trial is one fault program on one database.
type trial struct {
	*arena
	s  *suite
	id string
	// faults counts what was injected.
	faults int
	// killed is called when a process is dead and not started again yet; nil for nobody.
	killed func(context.Context) error
}

// with opens an arena, lets a program break it, and closes it.
func (s *suite) with(ctx context.Context, id, kind string, sh shape, breakIt func(context.Context, *trial) error) (err error) {
	sh.env = append(sh.env, s.liveness()...)
	a, err := s.open(ctx, kind, sh)
	if err != nil {
		return err
	}
	a.progressf("%s begins with %d nodes", id, len(a.nodes))
	t := &trial{arena: a, s: s, id: id}
	if err = t.warmUp(ctx); err == nil {
		err = breakIt(ctx, t)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, a.said())
	}
	return errors.Join(err, a.close(context.WithoutCancel(ctx)))
}

const (
	// shortLease is that of short runs: as short as a machine under load bears.
	shortLease = 1500 * time.Millisecond
	// defaultLease is the product's.
	defaultLease = 6 * time.Second
)

// silence is how long a runner may be silent.
func (o *options) silence() time.Duration {
	if o.lease > 0 {
		return o.lease
	}
	return defaultLease
}

func (o *options) liveness() []string {
	if o.lease == 0 {
		return nil
	}
	return []string{"OSTLER_LEASE=" + o.lease.String(), "OSTLER_HEARTBEAT=" + (o.lease / 4).String()}
}

// warmUp runs some turns, so that each node has made the connections that it keeps, and notes what the nodes hold then.
func (t *trial) warmUp(ctx context.Context) error {
	l := &load{workers: 2 * len(t.nodes), script: t.toolTurn(10 * time.Millisecond)}
	t.begin(ctx, l)
	t.until(ctx, func() bool { return t.journal.ended.Load() >= int64(4*len(t.nodes)) })
	l.finish()
	t.rest(ctx)
	t.people.http.HTTP.CloseIdleConnections()
	for _, n := range t.nodes {
		v, err := n.ask(ctx)
		if err != nil {
			return err
		}
		t.idle.goroutines = max(t.idle.goroutines, v.goroutines)
		t.idle.descriptors = max(t.idle.descriptors, v.descriptors)
		t.idle.heap = max(t.idle.heap, v.heap)
	}
	if len(t.journal.stuck) > 0 {
		return fmt.Errorf("the load does not run before anything is broken: %s", t.journal.stuck[0])
	}
	return nil
}

// until waits for something that clients bring about.
func (t *trial) until(ctx context.Context, done func() bool) {
	for !done() && ctx.Err() == nil && !t.isStuck() {
		wait(ctx, 10*time.Millisecond)
	}
}

func (t *trial) isStuck() bool {
	t.journal.mu.Lock()
	defer t.journal.mu.Unlock()
	return len(t.journal.stuck) > 0
}

// conclude judges a trial whose load has ended, and adds the oracles' figures.
func (t *trial) conclude(ctx context.Context, injected string) (*evidence, *verdict, error) {
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if t.faults == 0 {
		return nil, nil, errors.New("the run has injected no fault: it shows nothing")
	}
	e, err := t.gather(ctx)
	if err != nil {
		return nil, nil, err
	}
	v := judge(e)
	if v.turns == 0 || v.calls == 0 {
		return nil, nil, fmt.Errorf("%d turns with %d calls of tools: the run shows nothing", v.turns, v.calls)
	}
	t.add(report.Figure{Name: "faults", Unit: "", Value: float64(t.faults), Note: injected})
	t.add(report.Figure{Name: "turns", Unit: "", Value: float64(v.turns), Note: fmt.Sprintf(
		"%s; %d tool calls, %d interrupted, %d runs of idempotent ones repeated; requests: %s",
		tally(v.ends), v.calls, v.interrupted, v.repeated, tally(t.journal.failures))})
	for _, oracle := range oracles() {
		found := v.violations[oracle]
		for i, text := range found {
			if i < 10 {
				_, _ = fmt.Fprintf(t.tell, "%s %s VIOLATES %s: %s\n", t.id, t.kind, oracle, text)
			}
		}
		note := ""
		if len(found) > 0 {
			note, _, _ = strings.Cut(found[0], "\n")
		}
		t.add(report.Figure{Name: "violations of " + oracle, Value: float64(len(found)), Gate: report.AtMost(0), Target: report.AtMost(0), Note: note})
	}
	if len(v.violations)+len(v.notRight) > 0 {
		_, _ = fmt.Fprint(t.tell, t.said())
	}
	for i, text := range v.notRight {
		if i < 10 {
			_, _ = fmt.Fprintf(t.tell, "%s %s: %.2000s\n", t.id, t.kind, text)
		}
	}
	for _, text := range t.journal.samples {
		_, _ = fmt.Fprintf(t.tell, "%s %s: a request failed: %s\n", t.id, t.kind, text)
	}
	return e, v, nil
}

// addRight adds how many turns did not end by TURN_COMPLETED.
func (t *trial) addRight(v *verdict, gate *report.Bound) {
	t.add(report.Figure{Name: "turns that did not end right", Value: float64(len(v.notRight)), Gate: gate, Target: report.AtMost(0), Note: fmt.Sprintf("of %d", v.turns)})
}

func (t *trial) add(f report.Figure) {
	f.ID, f.Database = t.id, t.kind
	t.s.run.Add(f)
}

// tally prints counts in the order of their names.
func tally[K ~string, V int | int64](counts map[K]V) string {
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(name))))
	}
	if len(parts) == 0 {
		return "none failed"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// interruption is a moment from which some turns could not go on where they ran.
type interruption struct {
	at    time.Time
	turns []heldTurn
	ready time.Duration // from that moment until the node was ready again; 0 when it was not restarted
}

// nextEvent is what came first of a turn after it was interrupted.
type nextEvent struct {
	event models.Event
	since int64         // ms, by the time that the event carries
	after time.Duration // from the interruption until the node was ready again; 0 when it was not restarted
}

// nextEvents returns that of each turn that was interrupted. A turn without a later event was at its end.
func nextEvents(e *evidence, list []interruption) []nextEvent {
	logs := map[string][]models.Event{}
	for i := range e.sessions {
		logs[e.sessions[i].session] = e.sessions[i].log
	}
	var found []nextEvent
	for _, i := range list {
		for _, turn := range i.turns {
			log := logs[turn.SessionID.String()]
			at := slices.IndexFunc(log, func(event models.Event) bool {
				return event.TurnID != nil && *event.TurnID == turn.ID && int64(event.OccurredAt) > i.at.UnixMilli()
			})
			if at >= 0 {
				found = append(found, nextEvent{log[at], int64(log[at].OccurredAt) - i.at.UnixMilli(), i.ready})
			}
		}
	}
	return found
}

// recoveries gives, for each turn that was interrupted, how long it took until its next event, in milliseconds, and how much of that
// came after the node was ready again.
func recoveries(e *evidence, list []interruption) (gaps, afterReady []float64) {
	for _, next := range nextEvents(e, list) {
		gaps = append(gaps, float64(next.since))
		if next.after > 0 {
			afterReady = append(afterReady, float64(max(0, next.since-next.after.Milliseconds())))
		}
	}
	return gaps, afterReady
}

// addTimes adds a median and a 99th percentile, in milliseconds.
func (t *trial) addTimes(name string, samples []float64, median, p99 *report.Bound) {
	note := fmt.Sprintf("%d samples", len(samples))
	if len(samples) == 0 {
		t.add(report.Figure{Name: name, Unit: "ms", Note: "no samples"})
		return
	}
	t.add(report.Figure{Name: name + ", median", Unit: "ms", Value: report.Median(samples), Target: median, Note: note})
	t.add(report.Figure{Name: name + ", p99", Unit: "ms", Value: report.Quantile(samples, 0.99), Target: p99, Note: fmt.Sprintf("greatest %.0f", slices.Max(samples))})
}
