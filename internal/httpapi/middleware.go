package httpapi

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
)

const requestIDHeader = "X-Request-Id"

// exchange is what the access log says about a request. Handlers add to it; nothing of a request's content goes in.
type exchange struct {
	http.ResponseWriter

	id        string
	address   string
	status    int
	written   int64
	operation string
	kind      string
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// WriteHeader implements http.ResponseWriter.
func (e *exchange) WriteHeader(status int) {
	if e.status == 0 {
		e.status = status
	}
	e.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (e *exchange) Write(b []byte) (int, error) {
	if e.status == 0 {
		e.status = http.StatusOK
	}
	n, err := e.ResponseWriter.Write(b)
	e.written += int64(n)
	return n, err
}

// measured returns how long the request took, for the meter; 0 for a socket or an event stream, which last as long as the client likes.
func (e *exchange) measured(took time.Duration) time.Duration {
	if e.status == http.StatusSwitchingProtocols || strings.HasPrefix(e.Header().Get("Content-Type"), mediaEvents) {
		return 0
	}
	return max(took, 1)
}

// Unwrap lets http.ResponseController reach the connection.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// observe assigns each request an id, logs it, and answers for handlers that panic.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := s.deps.Clock.Now()
		e := &exchange{ResponseWriter: w, id: s.requestID(r), address: clientAddress(r, s.cfg.TrustedProxies)}
		w.Header().Set(requestIDHeader, e.id)
		s.bound(w, r)
		defer func() {
			reason := recover()
			if reason != nil && reason != http.ErrAbortHandler {
				s.deps.Meter.Panicked("http")
				s.log.ErrorContext(r.Context(), "panic in a handler", "request_id", e.id, "panic", reason, "stack", string(debug.Stack()))
				if e.status == 0 {
					s.writeErrors(e, mediaJSON, http.StatusInternalServerError, internalError(e.id))
				}
			}
			took := s.deps.Clock.Now().Sub(start)
			s.deps.Meter.Request(routeOf(r.URL.Path), e.status, e.measured(took))
			s.log.LogAttrs(r.Context(), accessLevel(r.URL.Path, e.status), "request",
				slog.String("request_id", e.id), slog.String("method", r.Method), slog.String("path", clipMessage(loggedPath(r.URL.Path))),
				slog.Int("status", e.status), slog.Int64("bytes", e.written), slog.String("address", e.address),
				slog.String("operation", e.operation), slog.String("kind", e.kind),
				slog.Duration("duration", took))
			if reason == http.ErrAbortHandler {
				panic(reason) // the server cuts the connection then
			}
		}()
		next.ServeHTTP(e, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e)))
	})
}

// bound limits how long a client may take, whatever the handler does: net/http itself waits for the rest of a body that nobody has
// read, and for a reader of the answer. Handlers that need more time set deadlines of their own.
func (s *Server) bound(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w) // a recorder in a test has no deadlines
	if r.ContentLength != 0 {
		// It is taken away when the body has been read to its end.
		_ = control.SetReadDeadline(time.Now().Add(s.cfg.BodyTimeout))
	}
	_ = control.SetWriteDeadline(time.Now().Add(s.cfg.AnswerTimeout))
}

// accessLevel returns the level at which a request is logged: probes, and the dashboard's assets that are served, are for debugging only.
func accessLevel(path string, status int) slog.Level {
	if isProbe(path) || status < http.StatusBadRequest && strings.HasPrefix(path, "/assets/") {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func isProbe(path string) bool { return path == "/healthz" || path == "/readyz" || path == metricsPath }

// describe names the operation in the access log.
func describe(ctx context.Context, op *operation) {
	if e := exchangeOf(ctx); e != nil {
		e.operation, e.kind = clipMessage(op.context.OperationName), string(op.kind)
	}
}

// requestID takes over the id of a trusted proxy when it looks like one, and makes one otherwise: whoever could choose the id of
// a request could hide it among those of others in the log.
func (s *Server) requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	if len(id) < 8 || len(id) > 64 || !s.fromTrustedProxy(r) {
		return rand.Text()
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return rand.Text()
		}
	}
	return id
}

func (s *Server) requestInfo(r *http.Request) *auth.RequestInfo {
	info := &auth.RequestInfo{UserAgent: clipMessage(r.UserAgent())}
	if e := exchangeOf(r.Context()); e != nil {
		info.ID, info.Address = e.id, e.address
	}
	if c, err := r.Cookie(refreshCookie); err == nil {
		info.RefreshToken = c.Value
	}
	if c, err := r.Cookie(browserCookie); err == nil {
		info.Browser = c.Value
	}
	return info
}

// contentSecurityPolicy allows the dashboard's own files and nothing else; 'self' covers its WebSocket too.
const contentSecurityPolicy = "default-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self'; " +
	"script-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

func (s *Server) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		if s.public.https {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
