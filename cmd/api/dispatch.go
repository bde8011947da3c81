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
	for _, h := range c.Attention {
		if d.engine != nil {
			d.engine.Attend(h.Runner, h.Execution)
		} else if err := d.bus.Publish(events.RunnerSubject(h.Runner), []byte(h.String())); err != nil {
			d.log.Debug("a runner could not be notified about what it runs", "runner", h.Runner, "execution", h.Execution, "error", err)
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
