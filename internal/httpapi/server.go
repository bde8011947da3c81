// Package httpapi is the HTTP side of the server: the GraphQL transports with their limits, authorization and errors,
// the middleware, the probes and the dashboard. It knows the schema but none of its resolvers.
//
// The path of a request: observe (id, log, panics) → secure (headers) → cross-origin protection → one of
// graphQL.post, get or upgrade → enter (who is asking, and how often) → readRequest → engine.prepare (parse, limits, validate, variables,
// cost) → engine.run or subscribe (authorizer.field around every field) → the answer. Subscriptions go on over a socket or,
// after follow, as an event stream; connections knows both.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/shares"
)

// Dependencies are what a Server works with. Logger, Schema, Authenticator and Dashboard are required.
type Dependencies struct {
	Logger        *slog.Logger
	Schema        graphql.ExecutableSchema
	Authenticator Authenticator
	// JWKS publishes the keys that access tokens are signed with. Without it the address answers 404.
	JWKS http.Handler
	// Images keeps what is uploaded to /v1/images. Without it the address answers 404.
	Images Images
	// Exports writes what is asked of /v1/usage.csv. Without it the address answers 404.
	Exports Exports
	// AuditExports writes what is asked of /v1/audit.csv. Without it the address answers 404.
	AuditExports AuditExports
	// Waits takes what is sent to /v1/waits/{token}. Without it the address answers 404.
	Waits Waits
	// OpenID signs people in at an issuer. Without it its addresses answer 404.
	OpenID OpenID
	// Limits bound what organizations may do; nil for nothing.
	Limits *limits.Limits
	// Dashboard holds index.html and assets/; see the package web.
	Dashboard fs.FS
	// ForOperation prepares the context of a query or mutation for its resolvers, after the caller is known. It is optional.
	ForOperation func(context.Context) context.Context
	// Ready must all pass before /readyz answers 200.
	Ready []ReadinessCheck
	// Metrics answers at /metrics, to those who may read it. Without it the address answers 404.
	Metrics http.Handler
	// Meter hears what is asked of the server. Defaults to nobody.
	Meter Meter
	// Tracer makes spans of operations and resolvers; nil for none.
	Tracer trace.Tracer
	// Clock defaults to the machine's.
	Clock clock.Clock
}

// Server is the one listener of a node. Use Serve and Stop, or Handler and Stop.
type Server struct {
	cfg     Config
	deps    Dependencies
	log     *slog.Logger
	engine  *engine
	public  publicOrigin
	cookies tokenCookies
	buffers buffers
	ready   *readiness

	// uploads, downloads and exports are who stores, reads and exports how much at once.
	uploads, downloads, exports shares.Shares[models.OrgID]
	// bodies is the memory that bodies of organizations take while they arrive, strangerBodies how many arrive from networks of callers
	// without a credential.
	bodies         *shares.Shares[models.OrgID]
	strangerBodies shares.Shares[string]
	// strangers counts what nobody has signed in for.
	strangers auth.Strangers
	open      *connections
	handler   http.Handler
	http      *http.Server

	draining atomic.Bool
	// requests is the context of all plain requests. It ends after Shutdown gave them their time.
	requests    context.Context
	endRequests context.CancelFunc
	served      sync.WaitGroup
}

// New fails when the configuration is wrong, or when the schema leaves open who may read a field.
func New(cfg Config, deps Dependencies) (*Server, error) {
	if deps.Logger == nil || deps.Schema == nil || deps.Authenticator == nil || deps.Dashboard == nil {
		return nil, errors.New("the HTTP server needs a logger, a schema, an authenticator and the dashboard's files")
	}
	if deps.Meter == nil {
		deps.Meter = unmetered{}
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	public, err := parsePublicURL(cfg.PublicURL)
	if err != nil {
		return nil, err
	}
	engine, err := newEngine(cfg, deps.Schema, deps.Logger, deps.Meter, deps.Tracer)
	if err != nil {
		return nil, err
	}
	engine.forOperation = deps.ForOperation
	s := &Server{
		cfg: cfg, deps: deps, log: deps.Logger, engine: engine, public: public,
		cookies:   tokenCookies{secure: public.secure},
		uploads:   shares.Shares[models.OrgID]{Places: maxUploads, Each: maxOrgUploads},
		downloads: shares.Shares[models.OrgID]{Places: maxDownloads, Each: maxOrgDownloads},
		exports:   shares.Shares[models.OrgID]{Places: maxExports, Each: maxOrgExports},
		bodies:    newBodies(cfg.Limits.ImageBytes), strangerBodies: shares.Shares[string]{Places: strangerBodies, Each: networkBodies},
		ready: newReadiness(deps.Clock, deps.Logger, deps.Ready),
	}
	s.requests, s.endRequests = context.WithCancel(context.Background())
	s.open = newConnections(s)
	if s.handler, err = s.routes(); err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Protocols: protocols(),
		HTTP2: &http.HTTP2Config{
			// What has come and nobody has read is memory that nobody counts.
			MaxReceiveBufferPerStream: receiveBuffer, MaxReceiveBufferPerConnection: 4 * receiveBuffer,
			// The deadlines of answers end streams; a connection that takes nothing at all goes with all of them.
			WriteByteTimeout: cfg.AnswerTimeout,
		},
		Handler:           s.handler,
		ReadHeaderTimeout: cfg.ReadHeaderTimeout,
		IdleTimeout:       cfg.IdleTimeout,
		MaxHeaderBytes:    cfg.MaxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return s.requests },
		ConnContext:       boundUnsent,
		ErrorLog:          slog.NewLogLogger(deps.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// receiveBuffer is how much of a request HTTP/2 takes ahead of its handler.
const receiveBuffer = 64 << 10

// protocols are those of a server whose TLS ends at a proxy: many answers at once over one connection of the proxy, and the WebSockets of
// HTTP/1.
func protocols() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return &p
}

func (s *Server) routes() (http.Handler, error) {
	protection := http.NewCrossOriginProtection()
	if err := protection.AddTrustedOrigin(s.public.origin); err != nil {
		return nil, fmt.Errorf("trust the public URL's origin: %w", err)
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.writeErrors(w, mediaJSON, http.StatusForbidden, coded(codeForbidden, "Requests from other origins are not allowed."))
	}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	if s.deps.Metrics != nil {
		mux.HandleFunc("GET "+metricsPath, s.serveMetrics)
	} else {
		mux.Handle(metricsPath, http.NotFoundHandler())
	}
	if s.cfg.ProbesOnly {
		return s.observe(s.secure(protection.Handler(mux))), nil
	}
	mux.HandleFunc("/graphql", s.graphQL)
	jwks := s.deps.JWKS
	if jwks == nil {
		jwks = http.NotFoundHandler()
	}
	mux.Handle("GET /.well-known/jwks.json", jwks)
	mux.HandleFunc("/v1/images", s.uploadImage)
	mux.HandleFunc("/v1/images/{id}", s.serveImage)
	mux.HandleFunc(usagePath, s.exportUsage)
	mux.HandleFunc(auditPath, s.exportAudit)
	mux.HandleFunc(waitsPath+"{token}", s.resolveWait)
	mux.HandleFunc(openIDStart, s.startOpenID)
	mux.HandleFunc(OpenIDCallback, s.finishOpenID)
	mux.Handle("/", &dashboard{files: s.deps.Dashboard})
	return s.observe(s.secure(protection.Handler(mux))), nil
}

// Handler serves everything, for listeners of one's own. Stop still has to be called.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers what comes to a listener, in the background, until Stop closes it.
func (s *Server) Serve(listener net.Listener) {
	s.served.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the HTTP server stopped", "error", err)
		}
	})
}

// Stop ends the server: sockets are closed with 1012 and event streams cut off, so that their clients go to another node;
// requests that run may finish until ctx ends. It returns when nothing of the server runs any more. A second call does
// nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.draining.Store(true)
	s.open.stop()
	err := s.http.Shutdown(ctx)
	s.endRequests()
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were still running: %w", err), s.http.Close())
	}
	if waitErr := s.open.wait(ctx); waitErr != nil {
		err = errors.Join(err, waitErr)
	}
	s.served.Wait()
	return err
}

// Connections returns how many WebSockets and event streams are open.
func (s *Server) Connections() (sockets, eventStreams int) { return s.open.count() }
