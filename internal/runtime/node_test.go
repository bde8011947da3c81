package runtime

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/budget/waiting"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/tools"
)

// node is what one process has of its own.
type node struct {
	w         *world
	faults    *faults
	committer *commit.Committer
	hub       *events.Hub
	engine    *Engine
	sessions  *sessions.Service
	puppet    *puppet
	// parked lets turns go on that wait for budgets; nil while nobody does.
	parked atomic.Pointer[waiting.Waker]
	// commits counts the transactions that were committed.
	commits atomic.Int64
}

// committed tells a node of what it has committed, as the server does.
func (n *node) committed(c *commit.Committed) {
	for _, s := range c.Sessions {
		n.hub.Publish(s.Org, s.Session, s.Events)
		n.w.news.spread()
	}
	for _, h := range c.Attention {
		n.engine.Attend(h.Runner, h.Execution)
	}
	if p := n.parked.Load(); p != nil {
		p.Committed(c)
	}
	if c.Ready {
		_ = n.w.bus.Publish(events.WakeSubject, nil)
		n.engine.Wake()
	}
	if c.Jobs {
		n.engine.WakeJobs()
	}
}

// write writes a file of a session as its user.
func (n *node) write(session models.SessionID, path, content string) {
	n.w.t.Helper()
	_, _, err := n.sessions.WriteFile(n.w.t.Context(), n.w.by, sessions.NewFile{
		SessionID: session, Path: path, Content: content, Encoding: tools.EncodingText,
	})
	if err != nil {
		n.w.t.Error(err)
	}
}

type nodeOption func(*Config)

// newNode makes a node whose engine does not run yet.
func (w *world) newNode(options ...nodeOption) *node {
	w.t.Helper()
	n := &node{w: w, puppet: newPuppet()}
	n.faults = newFaults(&n.commits)
	logger := slog.New(slog.DiscardHandler)
	if testing.Verbose() && !w.quiet {
		logger = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	}
	n.hub = events.NewHub(events.Config{Log: w.log, Bus: w.bus, Logger: logger})
	n.hub.Start()
	n.committer = commit.New(commit.Config{DB: w.db, Clock: w.clock, Logger: logger, Faults: n.faults})
	n.committer.Observe(n.committed)
	cfg := Config{
		DB: w.db, Committer: n.committer, Queue: w.queue, Hub: n.hub, Bus: w.bus, Catalog: w.catalog, Registry: w.tools,
		Drivers: map[models.ProviderKind]llm.Driver{models.ProviderSimulated: n.puppet},
		Hooks:   w.hooks, Tokens: plainTokens{},
		Workspace: sessions.NewWorkspace(w.db, w.clock, nil), Clock: w.clock, Logger: logger,
		// Tests say themselves who is dead.
		Lease: time.Hour, Heartbeat: time.Hour,
		// Waits take no time, but are seen to.
		Sleep: func(ctx context.Context, d time.Duration) error {
			w.clock.Advance(d)
			return ctx.Err()
		},
	}
	for _, o := range options {
		o(&cfg)
	}
	n.engine = New(cfg)
	service := sessions.Config{DB: w.db, Committer: n.committer, Catalog: w.catalog, Clock: w.clock}
	service.Dispatch = n.engine
	n.sessions = sessions.New(service)
	w.t.Cleanup(n.stop)
	return n
}

// start makes a node that runs.
func (w *world) start(options ...nodeOption) *node {
	w.t.Helper()
	n := w.newNode(options...)
	if err := n.engine.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// stop ends a node. What a test froze must be thawed before.
func (n *node) stop() {
	n.faults.thaw()
	n.puppet.thaw()
	n.w.probe.thaw()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := n.engine.Stop(ended); err != nil {
		n.w.t.Errorf("stop an engine: %v", err)
	}
	n.committer.Stop()
	n.hub.Stop()
}

// die is what is seen of a process that was killed: it is silent and claims nothing any more, and another one puts its turns
// back into the queue.
func (n *node) die() {
	n.w.t.Helper()
	n.engine.stopClaims()
	n.engine.stopLive()
	if _, err := n.w.queue.TakeOver(n.w.t.Context(), n.engine.runnerID()); err != nil {
		n.w.t.Fatal(err)
	}
	if err := n.w.bus.Publish(events.WakeSubject, nil); err != nil {
		n.w.t.Fatal(err)
	}
}
