package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/apiclient"
	"github.com/ostler-dev/ostler/internal/apiclient/attacks"
)

// attackRepeats is how often each document is sent.
const attackRepeats = 20

// attackDocuments takes S4: how long the worst document keeps the server, and how much it makes it say, for who is signed in.
func (b *bench) attackDocuments(ctx context.Context, kind string) error {
	at, err := b.newPlace(ctx, kind)
	if err != nil {
		return err
	}
	with := setup()
	with.Orgs = 1
	s, err := b.startSystemWith(ctx, kind, noFloor, at, with)
	if err != nil {
		return err
	}
	return s.end(ctx, s.takeAttacks(ctx))
}

func (s *system) takeAttacks(ctx context.Context) error {
	sessions, err := s.api.CreateSessions(ctx, 1)
	if err != nil {
		return err
	}
	repeats := attackRepeats
	if s.small {
		repeats = 3
	}
	list := attacks.All()
	took := make([][]float64, len(list))
	var slowest, largest struct {
		of    int
		value float64
	}
	for range repeats {
		for i, a := range list {
			elapsed, size, err := attack(ctx, sessions[0].API, a)
			if err != nil {
				return fmt.Errorf("%s: %w", a.Name, err)
			}
			took[i] = append(took[i], elapsed)
			if elapsed > slowest.value {
				slowest.of, slowest.value = i, elapsed
			}
			if size > largest.value {
				largest.of, largest.value = i, size
			}
		}
	}
	s.add(report.Figure{
		ID: "S4", Name: "the slowest answer to an attack", Unit: "ms", Value: slowest.value, Target: report.AtMost(100),
		Note: fmt.Sprintf("of %d documents, each sent %d times: %q, whose median is %.2f ms", len(list), repeats, list[slowest.of].Name, report.Median(took[slowest.of])),
	})
	s.add(report.Figure{
		ID: "S4", Name: "the largest answer to an attack", Unit: "bytes", Value: largest.value, Target: report.AtMost(1 << 20),
		Note: fmt.Sprintf("%q", list[largest.of].Name),
	})
	return nil
}

// attack sends a document, and checks that it is refused as it must be, or answered.
func attack(ctx context.Context, api *apiclient.Client, a attacks.Attack) (took, size float64, err error) {
	body, err := json.Marshal(map[string]any{"query": a.Document})
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	r, err := api.Post(ctx, body)
	took = millis(time.Since(begun))
	if err != nil {
		return 0, 0, err
	}
	status, answer := r.Status, r.Body
	if status >= 500 {
		return 0, 0, fmt.Errorf("the answer is %d: %.300s", status, answer)
	}
	refused := strings.Contains(string(answer), `"errors"`)
	wanted := a.Want != "" && a.Want != attacks.Unauthenticated
	if wanted && !strings.Contains(string(answer), `"`+a.Want+`"`) || a.Want == "" && refused || strings.Contains(string(answer), `"INTERNAL"`) {
		return 0, 0, fmt.Errorf("want %q, got %d: %.300s", a.Want, status, answer)
	}
	return took, float64(len(answer)), nil
}
