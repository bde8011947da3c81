package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// ReadinessCheck is something that must work before this node can serve: the database, the bus, the migrations.
type ReadinessCheck struct {
	Name  string
	Check func(ctx context.Context) error
}

// readinessTimeout is how long all checks together may take.
const readinessTimeout = 2 * time.Second

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }

// readyz answers 200 only when everything works and the server isn't stopping. It names what doesn't; why is in the
// log, since anyone may ask.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		writeText(w, http.StatusServiceUnavailable, "stopping\n")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readinessTimeout)
	defer cancel()
	failures := make([]error, len(s.deps.Ready))
	var wg sync.WaitGroup
	for i, c := range s.deps.Ready {
		wg.Go(func() { failures[i] = c.Check(ctx) })
	}
	wg.Wait()
	answer := ""
	for i, err := range failures {
		if err != nil {
			s.log.WarnContext(ctx, "not ready", "check", s.deps.Ready[i].Name, "error", err)
			answer += s.deps.Ready[i].Name + ": not ready\n"
		}
	}
	if answer != "" {
		writeText(w, http.StatusServiceUnavailable, answer)
		return
	}
	writeText(w, http.StatusOK, "ready\n")
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
