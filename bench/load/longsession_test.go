package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
)

func TestTurnsThatAreNotTheSameAreNotCompared(t *testing.T) {
	t.Parallel()
	early := turnCost{wall: 2, cpu: 1, read: 5000, statements: 30, pages: 300, prompt: 5000}
	late := early
	late.wall, late.cpu = 3, 4
	for name, c := range map[string]struct {
		kind    string
		prompt  float64
		figures int
		missed  int
	}{
		"the same":         {postgres, 5000, 5, 1}, // four times the processor time
		"without counters": {sqlite, 5050, 3, 1},
		"more to see":      {postgres, 6000, 0, 0},
		"nothing known":    {postgres, 0, 0, 0},
	} {
		s := &system{bench: &bench{run: &report.Run{}}, kind: c.kind}
		late.prompt = c.prompt
		err := s.addLong(longSize{early: 10, late: 9900, turns: 100}, []turnCost{early}, []turnCost{late})
		if (err != nil) != (c.figures == 0) || len(s.run.Figures) != c.figures || s.run.Missed() != c.missed {
			t.Errorf("%s: %d figures, %d missed: %v", name, len(s.run.Figures), s.run.Missed(), err)
		}
		if err != nil && !strings.Contains(err.Error(), "not the same turns") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProcessorTimeOfProcessesThatComeAndGo(t *testing.T) {
	t.Parallel()
	before := reading{cpu: map[int]time.Duration{1: 10, 2: 20}}
	after := reading{cpu: map[int]time.Duration{1: 13, 3: 4}}
	if got := before.cpuUntil(after); got != 7 {
		t.Errorf("%d, expected 3 of one that was there and 4 of a new one", got)
	}
}

func TestWhatTheModelWasShown(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]int64{
		`{"model":"m","usage":{"inputTokens":100,"outputTokens":7,"cacheReadTokens":20,"cacheWriteTokens":3}}`: 123,
		`{}`: 0, `x`: 0,
	} {
		if got := promptTokens(client.Event{Kind: "GENERATION_RECORDED", Data: []byte(data)}); got != want {
			t.Errorf("%s: %d, expected %d", data, got, want)
		}
		if got := promptTokens(client.Event{Kind: "TURN_COMPLETED", Data: []byte(data)}); got != 0 {
			t.Errorf("another event: %d", got)
		}
	}
}
