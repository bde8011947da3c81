package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/graph/resolvers"
	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/httpapi"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/metrics"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/runtime"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/spending"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/approvals"
	"github.com/ostler-dev/ostler/internal/tools/ask"
	budgettool "github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/callbacks"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/expr"
	"github.com/ostler-dev/ostler/internal/tools/files"
	"github.com/ostler-dev/ostler/internal/tools/userhooks"
	"github.com/ostler-dev/ostler/internal/tracing"
	"github.com/ostler-dev/ostler/web"
)

// closers are undone in reverse.
type closers []func()

func (c *closers) add(fn func()) { *c = append(*c, fn) }

func (c *closers) run() {
	for _, fn := range slices.Backward(*c) {
		fn()
	}
}

// openDatabase makes sure that this process may use the database, opens it, and brings its schema up to date.
func openDatabase(ctx context.Context, cfg config, tracer trace.Tracer, undo *closers) (*store.DB, error) {
	var release func()
	var err error
	if path, ok := strings.CutPrefix(cfg.databaseURL, "sqlite:"); ok {
		release, err = store.LockDir(filepath.Dir(path))
	} else {
		release, err = store.LockPostgres(ctx, cfg.directURL, cfg.natsURL != "")
	}
	if err != nil {
		return nil, err
	}
	undo.add(release)
	// The schema first: the roles that the connections work as are made with it.
	if err := migrate(ctx, cfg); err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Config{URL: cfg.databaseURL, SQLiteSynchronous: cfg.sqliteSynchronous, RowSecurity: cfg.rowSecurity, Tracer: tracing.Statements(tracer)})
	if err != nil {
		return nil, err
	}
	undo.add(func() { _ = db.Close() })
	return db, nil
}

// openClock gives the clock that everything here goes by: the database's, so that times mean the same in all processes.
func openClock(ctx context.Context, db *store.DB, log *slog.Logger, undo *closers) (clock.Clock, error) {
	clk, err := clock.Follow(ctx, clock.FollowConfig{Source: db.Now, Logger: log})
	if err != nil {
		return nil, err
	}
	undo.add(clk.Stop)
	return clk, nil
}

// migrate brings the schema up to date as the owner of the tables.
func migrate(ctx context.Context, cfg config) (err error) {
	owner := cfg.databaseURL
	if cfg.ownerURL != "" {
		owner = cfg.ownerURL
	}
	db, err := store.Open(ctx, store.Config{URL: owner, SQLiteSynchronous: cfg.sqliteSynchronous})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	return db.SecureRows(ctx, cfg.rowSecurity, cfg.databaseURL)
}

// identity is who may do what.
type identity struct {
	keeper *secrets.Keeper
	keys   *auth.Keys // nil where tokens are signed with a secret
	tokens *auth.AccessTokens
}

// openKeeper gives what seals and opens, after a look whether this database belongs to these master keys.
func openKeeper(ctx context.Context, cfg config, db *store.DB, clk clock.Clock) (*secrets.Keeper, error) {
	keeper, err := secrets.Load(ctx, db, secrets.Config{Current: cfg.masterKey, Previous: cfg.previousKey, DataDir: cfg.dataDir})
	if err != nil {
		return nil, err
	}
	return keeper, keeper.VerifyKey(ctx, db, clk)
}

func openIdentity(ctx context.Context, cfg config, db *store.DB, clk clock.Clock) (identity, error) {
	var id identity
	var err error
	if id.keeper, err = openKeeper(ctx, cfg, db, clk); err != nil {
		return id, err
	}
	if cfg.jwtSecret == nil {
		if id.keys, err = auth.OpenKeys(ctx, db, id.keeper.SigningKeys(), clk); err != nil {
			return id, err
		}
	}
	id.tokens, err = auth.NewAccessTokens(id.keys, clk, auth.TokenConfig{Issuer: cfg.publicURL, Audience: "ostler", Secret: cfg.jwtSecret})
	return id, err
}

// openPeople gives the service of organizations, and rotates the keys of its tokens.
func openPeople(cfg config, db *store.DB, clk clock.Clock, log *slog.Logger, id identity, cat *catalog.Service, most *limits.Limits, undo *closers) (*orgs.Service, error) {
	resets := orgs.Resets{PublicURL: cfg.publicURL, Logger: log}
	if cfg.smtpURL != "" {
		var err error
		if resets.Mail, err = mail.New(mail.Config{URL: cfg.smtpURL, From: cfg.smtpFrom}); err != nil {
			return nil, fmt.Errorf("OSTLER_SMTP_URL: %w", err)
		}
	}
	issuer, err := openIssuer(cfg, clk, id.keeper)
	if err != nil {
		return nil, err
	}
	if issuer != nil {
		undo.add(issuer.Close)
	}
	people, err := orgs.New(orgs.Config{
		DB: db, Clock: clk, Passwords: auth.NewPasswords(), Tokens: id.tokens, Secrets: id.keeper, Seeder: cat,
		AdminEmail: cfg.adminEmail, AdminPassword: cfg.adminPassword, Limits: most, Creators: orgs.Creators(cfg.orgCreators), PersonOrgs: cfg.personOrgs, Resets: resets, Issuer: issuer,
	})
	if err != nil {
		return nil, err
	}
	undo.add(people.Stop)
	if id.keys != nil {
		undo.add(auth.StartRotator(id.keys, orgs.RecordKey, log).Stop)
	}
	return people, nil
}

// openBus gives the bus to the other processes; one that is alone has one of its own.
func openBus(cfg config, log *slog.Logger) (events.Bus, error) {
	if cfg.natsURL == "" {
		return events.NewLocalBus(), nil
	}
	return events.ConnectNATS(events.NATSConfig{URL: cfg.natsURL, Name: "ostler-" + cfg.role, Logger: log})
}

// capabilities are those that this server offers.
func capabilities(expressions *expr.Compiler, addresses userhooks.Addresses) []tools.Capability {
	return []tools.Capability{
		core.Capability(), files.Capability(), approvals.Capability(expressions), ask.Capability(), callbacks.Capability(),
		budgettool.Capability(), userhooks.Capability(expressions, addresses),
	}
}

// serve runs the server until ctx ends.
// openCatalog gives the tools that there are, and what organizations make of them.
func openCatalog(db *store.DB, keeper *secrets.Keeper, clk clock.Clock, cfg config, most *limits.Limits, p providers, list []tools.Capability) (*tools.Registry, *catalog.Service, error) {
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		return nil, nil, err
	}
	cat, err := catalog.New(catalog.Config{
		DB: db, Registry: registry, Keeper: keeper, Clock: clk, Limits: most, Environment: cfg.providers, URLs: p.egress, Listers: p.listers,
	})
	return registry, cat, err
}

func serve(ctx context.Context, cfg config, log *slog.Logger, out io.Writer) (err error) {
	var undo closers
	defer undo.run()

	tracer, stopTraces, err := tracing.Open(ctx, tracing.Config{Getenv: os.Getenv, Version: version, Logger: log})
	if err != nil {
		return err
	}
	undo.add(stopTraces)
	db, err := openDatabase(ctx, cfg, tracer, &undo)
	if err != nil {
		return err
	}
	clk, err := openClock(ctx, db, log, &undo)
	if err != nil {
		return err
	}
	id, err := openIdentity(ctx, cfg, db, clk)
	if err != nil {
		return err
	}
	bus, err := openBus(cfg, log)
	if err != nil {
		return err
	}
	undo.add(func() { _ = bus.Close() })

	providers := newProviders(cfg)
	undo.add(providers.egress.CloseIdleConnections)
	extra, err := addExtras(os.Getenv, os.Stderr)
	if err != nil {
		return err
	}
	expressions, err := expr.New()
	if err != nil {
		return err
	}
	most := limits.New(limits.Config{DB: db, Clock: clk, Usual: cfg.limits, Logger: log})
	if err := most.Load(ctx); err != nil {
		return err
	}
	registry, cat, err := openCatalog(db, id.keeper, clk, cfg, most, providers, append(capabilities(expressions, providers.egress), extra.capabilities...))
	if err != nil {
		return err
	}
	people, err := openPeople(cfg, db, clk, log, id, cat, most, &undo)
	if err != nil {
		return err
	}
	undo.add(people.RecordKeyUses(log).Stop)
	owner, err := people.FirstStart(ctx)
	if err != nil {
		return err
	}
	if err := cat.RefreshBuiltIns(ctx); err != nil {
		return err
	}

	meter := metrics.New(version)
	eventLog := events.NewLog(db)
	hub := events.NewHub(events.Config{Log: eventLog, Bus: bus, Clock: clk, Meter: meter})
	hub.Start()
	undo.add(hub.Stop)

	orgSecrets, err := secrets.NewOrgSecrets(db, id.keeper, clk)
	if err != nil {
		return err
	}
	auditLog, err := audit.NewLog(db, id.keeper)
	if err != nil {
		return err
	}
	outgoing, err := openWebhooks(cfg, db, id.keeper, clk, bus, eventLog, providers.egress, log)
	if err != nil {
		return err
	}
	runnable := queue.New(db)
	tell := &dispatch{bus: bus, log: log}
	parked := sessions.NewParked()
	committer := commit.New(commit.Config{
		DB: db, Clock: clk, Logger: log, Publish: publisher(meter, outgoing.publish(hub)), Meter: meter, Faults: extra.faults,
		Ready: tell.ready, Jobs: tell.jobs, Attention: tell.attention,
		Freed: func(org models.OrgID, budgets []models.BudgetID) { parked.Wake(org, budgets...) },
	})
	undo.add(committer.Stop)

	paying, err := payments.NewService(payments.Config{
		DB: db, Committer: committer, Keeper: id.keeper, Capabilities: registry, Addresses: providers.egress, Client: providers.egress.HTTP(), Clock: clk, Logger: log,
	})
	if err != nil {
		return err
	}
	workspace, images := sessions.NewWorkspace(db, clk), sessions.NewImages(db, clk)
	if cfg.role != roleAPI {
		var presence *queue.Presence
		if db.Dialect == store.Postgres {
			presence = queue.NewPresence(db, cfg.directURL)
		}
		tell.engine = runtime.New(runtime.Config{
			DB: db, Committer: committer, Queue: runnable, Hub: hub, Bus: bus, Catalog: cat, Registry: registry,
			Drivers: providers.drivers, Images: images, Workspace: workspace,
			Hooks: hooks.NewRunner(hooks.Config{
				Client: providers.egress.HTTP(), Secrets: orgSecrets, Expressions: expressions, Clock: clk,
			}),
			Tokens: sessions.NewTokens(orgSecrets), Budgets: spending.NewChecker(db, clk), Outbound: most, Payments: paying,
			Clock: clk, Logger: log, Meter: meter, Tracer: tracer, Exclusive: db.Dialect == store.SQLite,
			Presence: presence, Slots: cfg.runnerSlots, OrgActiveTurns: cfg.limits.ActiveTurns, Lease: cfg.lease, Heartbeat: cfg.heartbeat, ShutdownGrace: cfg.shutdown,
		})
	}

	sessionsCfg := sessions.Config{DB: db, Committer: committer, Catalog: cat, Clock: clk, Secrets: orgSecrets, Limits: most}
	if cfg.role == roleAll {
		sessionsCfg.Dispatch = tell.engine
	}
	work := sessions.New(sessionsCfg)
	budgets, err := spending.New(spending.Config{DB: db, Committer: committer, Clock: clk, Waker: parked})
	if err != nil {
		return err
	}
	usage := spending.NewUsage(db, people)
	root := &resolvers.Resolver{
		Version: version, Events: hub, Log: eventLog, Catalog: cat, Orgs: people, Sessions: work, Secrets: orgSecrets,
		Audit: auditLog, Hooks: outgoing.service, Spending: budgets, Usage: usage, Payments: paying,
	}
	server, err := newServer(cfg, log, httpapi.Dependencies{
		Schema:        generated.NewExecutableSchema(generated.Config{Resolvers: root}),
		Authenticator: people, JWKS: jwks(id.tokens), ForOperation: root.OperationContext, Images: images, Exports: usage, Waits: work, Limits: most, OpenID: people, Clock: clk,
		Metrics: meter.Handler(log), Meter: meter, Tracer: tracer,
		Ready: []httpapi.ReadinessCheck{{Name: "database", Check: db.Ping}, {Name: "migrations", Check: db.Migrated}, {Name: "bus", Check: connected(bus)}},
	})
	if err != nil {
		return err
	}
	meter.Watch(watched{db: db, queue: runnable, hub: hub, bus: bus, server: server, engine: tell.engine}.sources())
	parked.Start(sessions.ParkedConfig{DB: db, Committer: committer, Clock: clk, Logger: log})
	undo.add(parked.Stop)
	if tell.engine != nil {
		if err := tell.engine.Start(ctx); err != nil {
			return err
		}
		outgoing.dispatcher.Start()
		undo.add(outgoing.dispatcher.Stop)
		undo.add(paying.StartSweeper(nil).Stop)
		undo.add(orgs.StartSweeper(db, clk, log).Stop)
		undo.add(audit.StartRetention(audit.RetentionConfig{
			DB: db, Log: auditLog, Clock: clk, Logger: log, Keep: cfg.auditRetention,
		}).Stop)
		if cfg.budgetCheck > 0 {
			undo.add(spending.StartSelfCheck(spending.SelfCheckConfig{
				Reconciler: spending.NewReconciler(db, clk), Clock: clk, Logger: log, Meter: meter, Interval: cfg.budgetCheck,
			}).Stop)
		}
		undo.add(sessions.StartDeadlines(sessions.DeadlinesConfig{
			DB: db, Committer: committer, Clock: clk, Logger: log,
		}).Stop)
	}
	if cfg.role != roleRunner {
		most.Start()
		undo.add(most.Stop)
	}
	if err := server.Start(ctx); err != nil {
		return err
	}
	announce(out, cfg, owner)
	<-ctx.Done()
	log.Info("shutting down")
	return shutdown(cfg, server, tell.engine)
}

// shutdown lets clients go elsewhere, then turns.
func shutdown(cfg config, server *httpapi.Server, engine *runtime.Engine) error {
	ctx, cancel := context.WithTimeout(context.Background(), cfg.shutdown+5*time.Second)
	defer cancel()
	err := server.Stop(ctx)
	if engine != nil {
		err = errors.Join(err, engine.Stop(ctx))
	}
	return err
}

func newServer(cfg config, log *slog.Logger, deps httpapi.Dependencies) (*httpapi.Server, error) {
	deps.Logger, deps.Dashboard = log, web.Dist()
	trusted, err := web.TrustedDocuments()
	if err != nil {
		return nil, err
	}
	return httpapi.New(httpapi.Config{
		Limits:  httpapi.Limits{ImageBytes: sessions.MaxImageBytes, Strangers: cfg.strangers},
		Trusted: trusted, TrustedOnly: cfg.trustedOnly,
		Addr: cfg.addr, PublicURL: cfg.publicURL, TrustedProxies: cfg.trustedProxies, MetricsToken: cfg.metricsToken, ProbesOnly: cfg.role == roleRunner, Introspection: !cfg.production, Suggestions: !cfg.production,
	}, deps)
}

func jwks(tokens *auth.AccessTokens) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		set, err := tokens.JWKS(r.Context())
		if err != nil {
			http.Error(w, "the keys can't be read now", http.StatusServiceUnavailable)
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

// announce tells people where to go, and scripts that the server is ready: by its last line. It writes once, so that nothing
// that is logged meanwhile gets in between.
func announce(out io.Writer, cfg config, owner *orgs.FirstOwner) {
	text := ""
	if owner != nil {
		text = "first start: sign in as " + owner.Email
		if owner.Password != "" {
			text += " with the password " + owner.Password + " (shown only now)"
		}
		text += "\n"
	}
	_, _ = io.WriteString(out, text+"ready "+cfg.publicURL+"\n")
}
