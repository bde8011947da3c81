package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
)

// Meter hears what is asked of the server, and what becomes of it. Its methods must not block. metrics.Metrics is one.
type Meter interface {
	// Request hears of an HTTP request that has ended; route is of the list below. took is 0 for sockets and event streams.
	Request(route string, status int, took time.Duration)
	// Operation hears of a GraphQL operation: its type, or "unknown", and the code of its first error, or "OK". took is 0 for those
	// that were refused, and for subscriptions, which are heard of when they begin.
	Operation(kind, code string, took time.Duration)
	// Panicked hears of a panic that was caught; where is "http" or "graphql".
	Panicked(where string)
}

// unmetered is the Meter of a server that has none.
type unmetered struct{}

func (unmetered) Request(string, int, time.Duration)      {}
func (unmetered) Operation(string, string, time.Duration) {}
func (unmetered) Panicked(string)                         {}

// codeOK is what the meter hears of operations without an error.
const codeOK = "OK"

// firstCode returns the code of the first error, for the meter.
func firstCode(errs gqlerror.List) string {
	if len(errs) == 0 {
		return codeOK
	}
	if code, _ := errs[0].Extensions["code"].(string); knownCode(code) {
		return code
	}
	return codeInternal
}

// routeOf returns the route of a path, as the meter hears of it: of a closed list, since paths are chosen by whoever asks.
func routeOf(path string) string {
	switch path {
	case "/graphql", "/healthz", "/readyz", metricsPath, "/.well-known/jwks.json", "/v1/images", usagePath, auditPath:
		return path
	}
	switch {
	case strings.HasPrefix(path, "/v1/images/"):
		return "/v1/images/{id}"
	case strings.HasPrefix(path, waitsPath):
		return "/v1/waits/{token}"
	case strings.HasPrefix(path, "/assets/"):
		return "/assets/"
	}
	return "other"
}

const metricsPath = "/metrics"

// serveMetrics answers those who may read the metrics: with the token of the configuration, with the token of an operator of the
// platform, or, where no token is configured, from this machine.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	token := bearer(r.Header.Get("Authorization"))
	allowed, err := s.mayReadMetrics(r, token)
	switch {
	case err != nil:
		writeText(w, http.StatusServiceUnavailable, "your credentials can't be verified at the moment\n")
	case allowed:
		w.Header().Set("Cache-Control", "no-store")
		s.deps.Metrics.ServeHTTP(w, r)
	case s.cfg.MetricsToken == "" && token == "":
		// Nothing that whoever asks could do would open it.
		writeText(w, http.StatusNotFound, "404 page not found\n")
	default:
		w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
		writeText(w, http.StatusUnauthorized, "the metrics need a bearer token\n")
	}
}

func (s *Server) mayReadMetrics(r *http.Request, token string) (bool, error) {
	if token == "" {
		return s.cfg.MetricsToken == "" && s.fromThisMachine(r), nil
	}
	if s.cfg.MetricsToken != "" && sameToken(token, s.cfg.MetricsToken) {
		return true, nil
	}
	p, err := s.authenticate(auth.WithRequest(r.Context(), s.requestInfo(r)), token, auth.TransportBody)
	return p.Can(auth.PlatformRead), err
}

// sameToken compares in a time that tells nothing, not even the length.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// forwarded are headers by which proxies say that they speak for somebody else.
func forwarded() []string {
	return []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"}
}

// fromThisMachine reports whether a request comes from this machine and was meant for it. A proxy on this machine may not say that it is
// one, so that it is believed only where the server's public address is this machine, too; and the name that was asked for must be this
// machine's, so that no page that a browser shows can have it ask.
func (s *Server) fromThisMachine(r *http.Request) bool {
	for _, name := range forwarded() {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	addr, _ := peer(r)
	return addr.IsLoopback() && !s.fromTrustedProxy(r) && s.public.loopback && isLoopback(host)
}
