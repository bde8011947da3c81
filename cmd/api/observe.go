package main

import (
	"context"

	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/httpapi"
	"github.com/ostler-dev/ostler/internal/metrics"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/runtime"
	"github.com/ostler-dev/ostler/internal/store"
)

var (
	_ httpapi.Meter = (*metrics.Metrics)(nil)
	_ runtime.Meter = (*metrics.Metrics)(nil)
	_ events.Meter  = (*metrics.Metrics)(nil)

	_ books.CheckMeter = (*metrics.Metrics)(nil)
)

// publisher counts what was committed, and then has the hub tell of it.
func publisher(m *metrics.Metrics, hub *events.Hub) func(*commit.Committed) {
	return func(c *commit.Committed) {
		for _, s := range c.Sessions {
			m.Published(s.Events)
			hub.Publish(s.Org, s.Session, s.Events)
		}
	}
}

// watched is what the metrics read of a process.
type watched struct {
	db     *store.DB
	queue  *queue.Queue
	hub    *events.Hub
	bus    events.Bus
	server *httpapi.Server
	engine *runtime.Engine // nil in an API node
}

func (w watched) sources() metrics.Sources {
	s := metrics.Sources{
		Backlog: func(ctx context.Context) (metrics.Backlog, error) {
			b, err := w.queue.Backlog(ctx)
			return metrics.Backlog(b), err
		},
		Recoveries:  w.queue.Recoveries,
		Subscribers: w.hub.Subscribers, Streams: w.hub.Sessions,
		Connections: w.server.Connections, Pools: w.db.Pools, BusConnected: w.bus.Connected,
	}
	if w.engine != nil {
		s.Running = w.engine.Running
	}
	return s
}
