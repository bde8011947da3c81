package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/models"
)

// rolling is R10: all nodes are restarted, one after the other, by SIGTERM, while clients work. Clients behave as behind a load
// balancer: they leave a node that refuses connections or says that it stops, and nothing else may fail.
func (s *suite) rolling(ctx context.Context, kind string) error {
	rounds := 20
	if s.rounds > 0 {
		rounds = s.rounds
	}
	return s.with(ctx, "R10", kind, shape{nodes: 3}, func(ctx context.Context, t *trial) error {
		l := &load{workers: t.workers, script: t.toolTurn(100 * time.Millisecond)}
		t.begin(ctx, l)
		var drains []float64
		var err error
		for range rounds {
			for _, n := range t.nodes {
				wait(ctx, time.Second)
				if ctx.Err() != nil || t.isStuck() || err != nil {
					break
				}
				start := time.Now()
				if err = n.current().Stop(); err != nil {
					break
				}
				drains = append(drains, float64(time.Since(start).Milliseconds()))
				t.faults++
				err = t.startNode(ctx, n)
			}
			t.progressf("R10: %d restarts, %d turns", t.faults, t.journal.ended.Load())
		}
		wait(ctx, time.Second)
		l.finish()
		if err != nil {
			return err
		}
		e, v, err := t.conclude(ctx, "restarts by SIGTERM")
		if err != nil {
			return err
		}
		t.addRight(v, report.AtMost(0))
		t.add(report.Figure{
			Name: "requests that failed", Value: float64(t.journal.failed(classFailed) + v.unanswered), Gate: report.AtMost(0), Target: report.AtMost(0),
			Note: fmt.Sprintf("%d answered with an error, %d done and not answered; %d connections ended before the request was read",
				t.journal.failed(classFailed), v.unanswered, t.journal.failed(classBroken)-v.unanswered),
		})
		recovered := 0
		for i := range e.sessions {
			for _, event := range e.sessions[i].log {
				if event.Kind == models.EventReasonRecovered {
					recovered++
				}
			}
		}
		t.add(report.Figure{Name: "answers that had to begin again", Value: float64(recovered), Target: report.AtMost(0)})
		t.add(report.Figure{Name: "calls of tools interrupted", Value: float64(v.interrupted), Target: report.AtMost(0)})
		t.addTimes("SIGTERM → process ended", drains, nil, report.AtMost(5000))
		return nil
	})
}
