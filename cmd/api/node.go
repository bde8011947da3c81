package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/graph/resolvers"
	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/budget/waiting"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/httpapi"
	"github.com/ostler-dev/ostler/internal/metrics"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/runtime"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/waitmail"
	"github.com/ostler-dev/ostler/internal/webhooks"
	"github.com/ostler-dev/ostler/web"
)

// node is one process of a server, all parts of it.
type node struct {
	base

	meter      *metrics.Metrics
	eventLog   *events.Log
	hub        *events.Hub
	queue      *queue.Queue
	orgSecrets *secrets.OrgSecrets
	auditLog   *audit.Log
	committer  *commit.Committer
	hooks      *webhooks.Service
	dispatcher *webhooks.Dispatcher // sends what webhooks are told; nil in an API node
	paying     *payments.Service
	waker      *waiting.Waker
	images     *sessions.Images
	work       *sessions.Service
	budgets    *manage.Service
	usage      *books.Usage
	engine     *runtime.Engine // nil in an API node
}

// openNode makes the parts of a node, and has those told of commits that want to hear of them. None of them works before it is started, but
// for the hub and the committer.
func openNode(b base, undo *closers) (*node, error) {
	n := &node{base: b, meter: metrics.New(version), eventLog: events.NewLog(b.db), queue: queue.New(b.db, queue.Turns()), images: sessions.NewImages(b.db, b.clk, b.most)}
	n.hub = events.NewHub(events.Config{Log: n.eventLog, Bus: b.bus, Clock: b.clk, Meter: n.meter})
	n.hub.Start()
	undo.add(n.hub.Stop)
	n.committer = commit.New(commit.Config{DB: b.db, Clock: b.clk, Logger: b.log, Meter: n.meter, Faults: b.extra.faults})
	undo.add(n.committer.Stop)
	n.committer.Observe(publisher(n.meter, n.hub))

	var err error
	if n.orgSecrets, err = secrets.NewOrgSecrets(b.db, b.id.keeper, b.clk); err != nil {
		return nil, err
	}
	if n.auditLog, err = audit.NewLog(b.db, b.id.keeper); err != nil {
		return nil, err
	}
	n.hooks, err = webhooks.NewService(webhooks.Config{DB: b.db, Keeper: b.id.keeper, Clock: b.clk, Addresses: b.providers.egress})
	if err != nil {
		return nil, err
	}
	n.paying, err = payments.NewService(payments.Config{
		DB: b.db, Committer: n.committer, Keeper: b.id.keeper, Capabilities: b.registry, Addresses: b.providers.egress, Client: b.providers.egress.HTTP(),
		Clock: b.clk, Logger: b.log,
	})
	if err != nil {
		return nil, err
	}
	n.waker = waiting.New(waiting.Config{DB: b.db, Committer: n.committer, Clock: b.clk, Logger: b.log})
	n.committer.Observe(n.waker.Committed)
	if n.budgets, err = manage.New(manage.Config{DB: b.db, Committer: n.committer, Clock: b.clk, Waker: n.waker}); err != nil {
		return nil, err
	}
	n.usage = books.NewUsage(b.db, b.people)
	if b.cfg.role != roleAPI {
		if err := n.openRunner(); err != nil {
			return nil, err
		}
	}
	n.committer.Observe(dispatch{bus: b.bus, log: b.log, engine: n.engine}.committed)
	work := sessions.Config{DB: b.db, Committer: n.committer, Catalog: b.cat, Clock: b.clk, Secrets: n.orgSecrets, Limits: b.most}
	if b.cfg.role == roleAll {
		work.Dispatch = n.engine
	}
	n.work = sessions.New(work)
	return n, nil
}

// openRunner makes what only runners have.
func (n *node) openRunner() (err error) {
	n.dispatcher, err = webhooks.NewDispatcher(webhooks.DispatcherConfig{
		DB: n.db, Feed: n.eventLog, Keeper: n.id.keeper, Client: n.providers.egress.HTTP(), Clock: n.clk, Logger: n.log, Bus: n.bus,
	})
	if err != nil {
		return err
	}
	n.committer.Observe(n.dispatcher.Committed)
	var presence *queue.Presence
	if n.db.Dialect == store.Postgres {
		presence = queue.NewPresence(n.db, n.cfg.directURL)
	}
	n.engine = runtime.New(runtime.Config{
		DB: n.db, Committer: n.committer, Queue: n.queue, Hub: n.hub, Bus: n.bus, Catalog: n.cat, Registry: n.registry,
		Drivers: n.providers.drivers, Images: n.images, Workspace: sessions.NewWorkspace(n.db, n.clk, n.most),
		Hooks: hooks.NewRunner(hooks.Config{
			Client: n.providers.egress.HTTP(), Secrets: n.orgSecrets, Expressions: n.expressions, Clock: n.clk,
		}),
		Tokens: sessions.NewTokens(n.orgSecrets), Budgets: manage.NewChecker(n.db, n.clk), Outbound: n.most, Payments: n.paying,
		Clock: n.clk, Logger: n.log, Meter: n.meter, Tracer: n.tracer, Exclusive: n.db.Dialect == store.SQLite,
		Presence: presence, Slots: n.cfg.runnerSlots, OrgActiveTurns: n.cfg.limits.ActiveTurns, Lease: n.cfg.lease, Heartbeat: n.cfg.heartbeat,
		ShutdownGrace: n.cfg.shutdown,
	})
	return nil
}

// server returns the HTTP server, and has the metrics watch this process.
func (n *node) server() (*httpapi.Server, error) {
	trusted, err := web.TrustedDocuments()
	if err != nil {
		return nil, err
	}
	root := &resolvers.Resolver{
		Version: version, Events: n.hub, Log: n.eventLog, Catalog: n.cat, Orgs: n.people, Sessions: n.work, Secrets: n.orgSecrets,
		Audit: n.auditLog, Hooks: n.hooks, Spending: n.budgets, Usage: n.usage, Payments: n.paying,
		ModelViews: runtime.NewModelViews(n.db, n.cat), WaitMail: waitmail.NewSettings(n.db, n.clk, n.cfg.mailsWaitsAfter()),
	}
	server, err := httpapi.New(httpapi.Config{
		Limits:  httpapi.Limits{ImageBytes: sessions.MaxImageBytes, Strangers: n.cfg.strangers},
		Trusted: trusted, TrustedOnly: n.cfg.trustedOnly,
		PublicURL: n.cfg.publicURL, TrustedProxies: n.cfg.trustedProxies, MetricsToken: n.cfg.metricsToken,
		Writable: n.db.Writable, ProbesOnly: n.cfg.role == roleRunner, Introspection: !n.cfg.production, Suggestions: !n.cfg.production,
	}, httpapi.Dependencies{
		Schema:        generated.NewExecutableSchema(generated.Config{Resolvers: root}),
		Authenticator: n.people, JWKS: jwks(n.id.tokens), ForOperation: root.OperationContext, Images: n.images, Exports: n.usage, Waits: n.work,
		AuditExports: audit.NewExporter(n.auditLog, n.people),
		Limits:       n.most, OpenID: n.people, Clock: n.clk, Logger: n.log, Dashboard: web.Dist(), Metrics: n.meter.Handler(n.log), Meter: n.meter, Tracer: n.tracer,
		Ready: []httpapi.ReadinessCheck{{Name: "database", Check: n.db.Ping}, {Name: "migrations", Check: n.db.Migrated},
			{Name: "disk", Check: func(context.Context) error { return n.db.Writable() }}, {Name: "bus", Check: connected(n.bus)}},
	})
	if err != nil {
		return nil, err
	}
	n.meter.Watch(watched{db: n.db, queue: n.queue, hub: n.hub, bus: n.bus, server: server, engine: n.engine}.sources())
	return server, nil
}

func jwks(tokens *auth.AccessTokens) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		set, err := tokens.JWKS(r.Context())
		if err != nil {
			http.Error(w, "the signing keys can't be read", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		_, _ = w.Write(set)
	})
}

func connected(bus events.Bus) func(context.Context) error {
	return func(context.Context) error {
		if !bus.Connected() {
			return errors.New("the bus is not connected")
		}
		return nil
	}
}
