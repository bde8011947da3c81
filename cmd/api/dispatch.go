package main

import (
	"log/slog"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime"
)

// dispatch tells runners of what was committed for them: the one in this process at once, the others over the bus.
type dispatch struct {
	bus events.Bus
	log *slog.Logger
	// engine is this process's runner; nil in an API node. It is set before anything is committed.
	engine *runtime.Engine
}

func (d *dispatch) ready() {
	if err := d.bus.Publish(events.WakeSubject, nil); err != nil {
		d.log.Debug("a wake-up was lost", "error", err)
	}
	if d.engine != nil {
		d.engine.Wake()
	}
}

func (d *dispatch) jobs() {
	if d.engine != nil {
		d.engine.WakeJobs()
	}
}

func (d *dispatch) attention(runner models.RunnerID, turn models.TurnID) {
	if d.engine != nil {
		d.engine.Attend(runner, turn)
		return
	}
	if err := d.bus.Publish(events.RunnerSubject(runner), turn[:]); err != nil {
		d.log.Debug("a runner could not be told of its turn", "runner", runner, "error", err)
	}
}
