package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
)

func TestTheModelsOfAFloodTakeAllTimesInBetween(t *testing.T) {
	t.Parallel()
	size := (&bench{}).pickupSize()
	seen := map[int]bool{}
	for n := range size.sessions * size.perSession {
		var script struct {
			Takes     int   `json:"ttft_ms"`
			Responses []any `json:"responses"`
		}
		if err := json.Unmarshal([]byte(floodMessage(n, size)), &script); err != nil {
			t.Fatal(err)
		}
		if script.Takes < size.fastest || script.Takes > size.slowest || len(script.Responses) != 1 {
			t.Fatalf("turn %d: %+v", n, script)
		}
		seen[script.Takes] = true
	}
	if want := size.slowest - size.fastest + 1; len(seen) != want {
		t.Errorf("%d different times, expected %d", len(seen), want)
	}
}

func TestATurnWhoseStartWasNotSeenIsNotTimed(t *testing.T) {
	t.Parallel()
	end := client.Event{Kind: "TURN_COMPLETED", Sequence: 1}
	for name, c := range map[string]struct {
		events []client.Event
		want   string
	}{
		"seen":     {[]client.Event{{Kind: "TURN_STARTED", Sequence: 1}, {Kind: "TURN_COMPLETED", Sequence: 2}}, ""},
		"not seen": {[]client.Event{end}, "TURN_STARTED was not seen"},
	} {
		p := watchProbe(&conversation{ended: make(chan error, 1), closed: make(chan struct{})})
		p.session = &fakeSession{listener: p.conversation, events: c.events}
		started, waited, err := p.pickup(context.Background(), time.Now())
		if c.want == "" {
			if err != nil || started <= 0 || waited != 0 { // it had begun before the message was answered
				t.Errorf("%s: started after %s, waited %s: %v", name, started, waited, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
