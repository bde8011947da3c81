package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/secrets"
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
)

// openDatabase makes sure that this process may use the database, opens it, and brings its schema up to date.
func openDatabase(ctx context.Context, cfg config, tracer trace.Tracer, undo *closers) (*store.DB, error) {
	var release func()
	var err error
	if path, ok := strings.CutPrefix(cfg.databaseURL, "sqlite:"); ok {
		release, err = store.LockDir(ctx, filepath.Dir(path))
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

// openClock returns the clock that the whole process uses: the database's, so that times mean the same in all processes.
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

// openKeeper returns what seals and opens, after a look whether this database belongs to these master keys.
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

// openMail returns who sends mail; nil for nobody.
func openMail(cfg config) (*mail.Sender, error) {
	if cfg.smtpURL == "" {
		return nil, nil
	}
	sender, err := mail.New(mail.Config{URL: cfg.smtpURL, From: cfg.smtpFrom})
	if err != nil {
		return nil, fmt.Errorf("OSTLER_SMTP_URL: %w", err)
	}
	return sender, nil
}

// openPeople returns the service of organizations.
func openPeople(cfg config, db *store.DB, clk clock.Clock, log *slog.Logger, id identity, cat *catalog.Service, most *limits.Limits, sender *mail.Sender, undo *closers) (*orgs.Service, error) {
	resets := orgs.Resets{PublicURL: cfg.publicURL, Logger: log, Mail: sender}
	issuer, err := openIssuer(cfg, clk, id.keeper)
	if err != nil {
		return nil, err
	}
	if issuer != nil {
		undo.add(issuer.Close)
	}
	people, err := orgs.New(orgs.Config{
		DB: db, Clock: clk, Passwords: auth.NewPasswords(), Tokens: id.tokens, Secrets: id.keeper, Seeder: cat,
		AdminEmail: cfg.adminEmail, AdminPassword: cfg.adminPassword, Limits: most, Creators: orgs.Creators(cfg.orgCreators), PersonOrgs: cfg.personOrgs, Descendants: cfg.descendants, Resets: resets, Issuer: issuer,
	})
	if err != nil {
		return nil, err
	}
	undo.add(people.Stop)
	return people, nil
}

// openBus returns the bus to the other processes; one that is alone has one of its own.
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

// openCatalog returns the tools that there are, and what organizations make of them.
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

// base is what everything else of a server is made of.
type base struct {
	cfg    config
	log    *slog.Logger
	tracer trace.Tracer
	db     *store.DB
	clk    clock.Clock
	id     identity
	bus    events.Bus

	providers   providers
	extra       extras
	expressions *expr.Compiler
	most        *limits.Limits
	registry    *tools.Registry
	cat         *catalog.Service
	mail        *mail.Sender // nil for none
	people      *orgs.Service
}

func openBase(ctx context.Context, cfg config, log *slog.Logger, undo *closers) (b base, err error) {
	b.cfg, b.log = cfg, log
	tracer, stopTraces, err := tracing.Open(ctx, tracing.Config{Getenv: os.Getenv, Version: version, Logger: log})
	if err != nil {
		return b, err
	}
	undo.add(stopTraces)
	b.tracer = tracer
	if b.db, err = openDatabase(ctx, cfg, tracer, undo); err != nil {
		return b, err
	}
	if b.clk, err = openClock(ctx, b.db, log, undo); err != nil {
		return b, err
	}
	if b.id, err = openIdentity(ctx, cfg, b.db, b.clk); err != nil {
		return b, err
	}
	if b.bus, err = openBus(cfg, log); err != nil {
		return b, err
	}
	undo.add(func() { _ = b.bus.Close() })
	b.providers = newProviders(cfg)
	undo.add(b.providers.egress.CloseIdleConnections)
	if b.extra, err = addExtras(os.Getenv, os.Stderr); err != nil {
		return b, err
	}
	if b.expressions, err = expr.New(); err != nil {
		return b, err
	}
	b.most = limits.New(limits.Config{DB: b.db, Clock: b.clk, Usual: cfg.limits, Logger: log})
	if err := b.most.Load(ctx); err != nil {
		return b, err
	}
	list := append(capabilities(b.expressions, b.providers.egress), b.extra.capabilities...)
	if b.registry, b.cat, err = openCatalog(b.db, b.id.keeper, b.clk, cfg, b.most, b.providers, list); err != nil {
		return b, err
	}
	if b.mail, err = openMail(cfg); err != nil {
		return b, err
	}
	b.people, err = openPeople(cfg, b.db, b.clk, log, b.id, b.cat, b.most, b.mail, undo)
	return b, err
}
