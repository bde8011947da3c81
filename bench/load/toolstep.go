package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
)

const (
	// stepsInTurn is how many tool steps follow each other in a turn of P10.
	stepsInTurn = 20
	// callsInBatch is how many calls one response has.
	callsInBatch = 32
	// setsPerBlock is how many fresh sessions of each kind a block has; turnsInSet is how many turns of each count. Sessions
	// are left soon, because with them grows what the model is shown.
	setsPerBlock, turnsInSet = 3, 5
)

// stepKind is a turn of P10.
type stepKind struct {
	message string
	tools   int
}

// The turns whose differences P10 takes.
const (
	noStep = iota
	manySteps
	oneBatch
	stepKinds
)

func stepKindsOfTurns() ([stepKinds]stepKind, error) {
	const call = `{"tool_call":{"name":"get_current_time"}}`
	// The word before the call is seen at once: it tells when the model has answered.
	one := `{"chunks":[{"text":"Now."},` + call + `]}`
	many := strings.TrimSuffix(strings.Repeat(one+",", stepsInTurn), ",")
	batch := `{"chunks":[` + strings.TrimSuffix(strings.Repeat(call+",", callsInBatch), ",") + `]}`
	end := `{"chunks":[{"text":"` + answerText + `"}]}`
	kinds := [stepKinds]stepKind{
		noStep:    {`{"responses":[` + end + `]}`, 0},
		manySteps: {`{"responses":[` + many + `,` + end + `]}`, stepsInTurn},
		oneBatch:  {`{"responses":[` + batch + `,` + end + `]}`, callsInBatch},
	}
	for _, k := range kinds {
		if !json.Valid([]byte(k.message)) {
			return kinds, errors.New("a script of P10 is not JSON: " + k.message)
		}
	}
	return kinds, nil
}

// toolSteps takes P10: what a tool step takes, as a subscriber sees it and as the difference of turns with and without.
func (b *bench) toolSteps(ctx context.Context, kind string) error {
	s, err := b.startSystem(ctx, kind, noFloor)
	if err != nil {
		return err
	}
	return s.end(ctx, s.takeToolSteps(ctx))
}

func (s *system) takeToolSteps(ctx context.Context) error {
	kinds, err := stepKindsOfTurns()
	if err != nil {
		return err
	}
	var steps, iterations, batches, all, claims, foreign []float64
	for block := range s.pairs + 1 { // the first one only warms up
		times, watch, share, err := s.stepBlock(ctx, kinds)
		if err != nil {
			return err
		}
		if want := setsPerBlock * turnsInSet * stepsInTurn; len(watch.steps) != want {
			return fmt.Errorf("%d tool steps were timed, %d were taken", len(watch.steps), want)
		}
		if block == 0 {
			continue
		}
		without := report.Median(times[noStep])
		steps = append(steps, report.Median(watch.steps))
		iterations = append(iterations, (report.Median(times[manySteps])-without)/stepsInTurn)
		batches = append(batches, report.Median(times[oneBatch])-without)
		all, claims = append(all, watch.steps...), append(claims, watch.claims...)
		foreign = append(foreign, share)
	}
	s.add(report.Figure{
		ID: "P10", Name: "tool step, in process", Unit: "ms", Samples: steps, Gate: report.AtMost(10), Target: report.AtMost(0.8),
		Foreign: report.Median(foreign),
		Note: fmt.Sprintf("the model's word → the next step's start, at a subscriber; until the claim is seen p50 %.2f ms; in all p99 %.2f ms, of %d",
			report.Median(claims), report.Quantile(all, 0.99), len(all)),
	})
	s.add(report.Figure{
		ID: "P10", Name: "tool step with the model's call", Unit: "ms", Samples: iterations, Foreign: report.Median(foreign),
		Note: fmt.Sprintf("a turn with %d steps less one without, over %d", stepsInTurn, stepsInTurn),
	})
	s.add(report.Figure{
		ID: "P10", Name: "tool step, MCP over loopback", Unit: "ms", Gate: report.AtMost(10), Target: report.AtMost(1.5),
		Absent: true, Note: "not taken: the product has no MCP yet",
	})
	s.add(report.Figure{
		ID: "P10", Name: fmt.Sprintf("%d calls in one response", callsInBatch), Unit: "ms", Samples: batches,
		Gate: report.AtMost(10), Target: report.AtMost(6), Foreign: report.Median(foreign),
		Note: "a turn with them less one without; with the model's call",
	})
	if s.kind != postgres {
		return nil
	}
	return s.stepCommits(ctx, kinds)
}

// stepBlock runs turns of all kinds in alternation, one at a time, and returns their times in milliseconds.
func (s *system) stepBlock(ctx context.Context, kinds [stepKinds]stepKind) (times [stepKinds][]float64, watch *stepWatch, foreign float64, err error) {
	watch = &stepWatch{}
	begun := time.Now()
	before, err := s.cpu()
	if err != nil {
		return times, watch, 0, err
	}
	for range setsPerBlock {
		conversations, err := openConversations(ctx, s.api, stepKinds)
		if err != nil {
			return times, watch, 0, err
		}
		conversations[manySteps].watch(watch.see)
		for round := range turnsInSet + 1 { // the first turn of a session may do what is done once
			for i, kind := range kinds {
				watch.counts.Store(round > 0)
				time.Sleep(pause)
				timing, err := conversations[i].say(ctx, kind.message, kind.tools, time.Now())
				if err != nil {
					return times, watch, 0, errors.Join(err, closeConversations(conversations))
				}
				if round > 0 {
					times[i] = append(times[i], millis(timing.ended))
				}
			}
		}
		if err := closeConversations(conversations); err != nil {
			return times, watch, 0, err
		}
		s.countConversations(armProduct, conversations)
	}
	after, err := s.cpu()
	return times, watch, after.foreign(before, time.Since(begun)), err
}

// stepWatch notes how long the steps take that a subscriber sees, in milliseconds.
type stepWatch struct {
	counts atomic.Bool // off during a session's first turn
	// answered is when the model's word of the present step came; zero when none has.
	answered time.Time
	called   bool
	// claims are from the model's word to the claim of the call it was followed by, steps to the start of the next step, which is
	// in the commit of the result.
	claims, steps []float64
}

func (w *stepWatch) see(e client.Event) {
	now := time.Now()
	took := millis(now.Sub(w.answered))
	switch e.Kind {
	case "OUTPUT_DELTA":
		if w.answered.IsZero() {
			w.answered = now
		}
	case "TOOL_STARTED":
		if w.counts.Load() && !w.answered.IsZero() {
			w.claims, w.called = append(w.claims, took), true
		}
	case "REASON_STARTED":
		if w.called {
			w.steps = append(w.steps, took)
		}
		w.answered, w.called = time.Time{}, false
	}
}

// stepCommits counts the commits of a step and of a batch in PostgreSQL's log, less what an idle server commits meanwhile.
func (s *system) stepCommits(ctx context.Context, kinds [stepKinds]stepKind) error {
	idle := 5 * time.Second
	if s.small {
		idle = time.Second
	}
	if _, err := s.spent(ctx); err != nil { // the log is counted from here
		return err
	}
	first, err := s.spent(ctx)
	if err != nil {
		return err
	}
	time.Sleep(idle)
	last, err := s.spent(ctx)
	if err != nil {
		return err
	}
	perSecond := float64(last.commits-first.commits) / idle.Seconds()
	var perTurn [stepKinds]float64
	const turns = 4 * turnsInSet
	for i, kind := range kinds {
		c, err := openConversations(ctx, s.api, 1)
		if err != nil {
			return err
		}
		if _, err = c[0].say(ctx, kind.message, kind.tools, time.Now()); err == nil {
			first, err = s.spent(ctx)
		}
		begun := time.Now()
		for n := 0; n < turns && err == nil; n++ {
			_, err = c[0].say(ctx, kind.message, kind.tools, time.Now())
		}
		took := time.Since(begun)
		if err == nil {
			last, err = s.spent(ctx)
		}
		if err = errors.Join(err, closeConversations(c)); err != nil {
			return err
		}
		s.countConversations(armProduct, c)
		perTurn[i] = (float64(last.commits-first.commits) - perSecond*took.Seconds()) / turns
	}
	note := fmt.Sprintf("more than in the %.2f of a turn without; %d turns; an idle server's %.1f/s are taken off", perTurn[noStep], turns, perSecond)
	s.add(report.Figure{
		ID: "P10", Name: "commits of a tool step", Unit: "per step", Value: (perTurn[manySteps] - perTurn[noStep]) / stepsInTurn, Note: note,
	})
	s.add(report.Figure{
		ID: "P10", Name: fmt.Sprintf("commits of %d calls in one response", callsInBatch), Unit: "per batch",
		Value: perTurn[oneBatch] - perTurn[noStep], Target: report.AtMost(4), Note: note,
	})
	return nil
}
