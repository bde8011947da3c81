package main

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestGCTraceAddsUpWhatWasAllocated(t *testing.T) {
	t.Parallel()
	g := &gcTrace{}
	g.reset()
	for _, text := range []string{
		"{\"level\":\"INFO\"}\ngc 1 @0.1s 2%: 0.1+0.2+0.3 ms clock, 0.1+0.2/0.3/0.4+0.5 ms cpu, 10->12->5 MB, 11 MB goal, 1 MB stacks, 0 MB globals, 2 P\n",
		"gc 2 @0.2s 2%: 0.1+0.2+0.3 ms clock, 0.1+0.2/0.3/0.4+0.5 ms cpu, 12->13", "->6 MB, 12 MB goal, 2 MB stacks, 0 MB globals, 2 P\nscvg: x\n",
	} {
		if n, err := fmt.Fprint(g, text); err != nil || n != len(text) {
			t.Fatal(n, err)
		}
	}
	if alive, n := g.alive(); n != 2 || alive != 7*mebibyte {
		t.Errorf("%f bytes are alive in %d collections", alive, n)
	}
	for i := range g.cycles {
		g.cycles[i].at = g.from.Add(time.Duration(i+1) * time.Second)
	}
	// From 5 that were alive to 12 at the next one's begin, and 1 while it ran.
	if perSecond, n := g.allocated(0, 10); n != 2 || perSecond != 8*mebibyte {
		t.Errorf("%f bytes per second over %d collections", perSecond, n)
	}
	if perSecond, n := g.allocated(1.5, 10); n != 1 || perSecond != 0 {
		t.Errorf("%f bytes per second over %d collections", perSecond, n)
	}
}

func TestSlope(t *testing.T) {
	t.Parallel()
	if got := slope([]float64{1, 2, 3, 4}, []float64{10, 13, 14, 17}); math.Abs(got-2.2) > 1e-9 {
		t.Errorf("got %f", got)
	}
}
