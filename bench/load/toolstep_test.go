package main

import (
	"testing"

	"github.com/ostler-dev/ostler/bench/client"
)

func TestOnlyWholeToolStepsAreTimed(t *testing.T) {
	t.Parallel()
	w := &stepWatch{}
	play := func(kinds ...string) {
		for _, kind := range kinds {
			w.see(client.Event{Kind: kind})
		}
	}
	step := []string{"OUTPUT_DELTA", "OUTPUT_DELTA", "TOOL_STARTED", "TOOL_COMPLETED", "REASON_STARTED"}
	play("REASON_STARTED")
	play(step...) // does not count yet
	w.counts.Store(true)
	play(step...)
	play(step...)
	play("OUTPUT_DELTA", "TURN_COMPLETED")                   // the answer
	play("REASON_STARTED", "TOOL_STARTED", "REASON_STARTED") // a call without a word before it
	if len(w.claims) != 2 || len(w.steps) != 2 {
		t.Errorf("%d claims and %d steps were timed, expected 2 of each", len(w.claims), len(w.steps))
	}
	for i := range w.steps {
		if w.steps[i] < w.claims[i] || w.claims[i] < 0 {
			t.Errorf("a step of %v ms was claimed after %v ms", w.steps[i], w.claims[i])
		}
	}
}

func TestTheScriptsOfToolStepsAreJSON(t *testing.T) {
	t.Parallel()
	kinds, err := stepKindsOfTurns()
	if err != nil {
		t.Error(err)
	}
	for i, want := range []int{0, stepsInTurn, callsInBatch} {
		if kinds[i].tools != want {
			t.Errorf("kind %d has %d calls, expected %d", i, kinds[i].tools, want)
		}
	}
}
