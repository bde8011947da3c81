package main

import (
	"log/slog"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/runtime"
)

// dispatch tells runners of what was committed for them: the one in this process at once, the others over the bus.
type dispatch struct {
	bus    events.Bus
	log    *slog.Logger
	engine *runtime.Engine // this process's runner; nil in an API node
}

func (d dispatch) committed(c *commit.Committed) {
	for _, t := range c.Attention {
		if d.engine != nil {
			d.engine.Attend(t.Runner, t.Turn)
		} else if err := d.bus.Publish(events.RunnerSubject(t.Runner), t.Turn[:]); err != nil {
			d.log.Debug("a runner could not be notified about its turn", "runner", t.Runner, "error", err)
		}
	}
	if c.Ready {
		if err := d.bus.Publish(events.WakeSubject, nil); err != nil {
			d.log.Debug("a wake-up was lost", "error", err)
		}
	}
	if d.engine != nil && c.Ready {
		d.engine.Wake()
	}
	if d.engine != nil && c.Jobs {
		d.engine.WakeJobs()
	}
}
