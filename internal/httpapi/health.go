package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
)

// ReadinessCheck is something that must work before this node can serve: the database, the bus, the migrations.
type ReadinessCheck struct {
	Name  string
	Check func(ctx context.Context) error
}

const (
	// readinessTimeout is how long all checks together may take.
	readinessTimeout = 2 * time.Second
	// readinessAge is how old an answer may be. Anyone may ask, as often as they like: what the checks cost must not depend on that.
	readinessAge = time.Second
)

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }

// readyz answers 200 only when everything works and the server isn't stopping. It names what doesn't; why is in the
// log, since anyone may ask.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		writeText(w, http.StatusServiceUnavailable, "stopping\n")
		return
	}
	switch answer, err := s.ready.ask(r.Context()); {
	case err != nil:
		writeText(w, http.StatusServiceUnavailable, "not known\n")
	case answer != "":
		writeText(w, http.StatusServiceUnavailable, answer)
	default:
		writeText(w, http.StatusOK, "ready\n")
	}
}

// readiness answers whether everything works. There is one round of checks at a time, whoever and however many ask, and its answer
// holds for readinessAge. A check that does not end when its time is over is not begun again before it does.
type readiness struct {
	clock  clock.Clock
	log    *slog.Logger
	checks []ReadinessCheck

	mu sync.Mutex
	// round is closed when the newest round has ended; nil before the first. answer is what it found, at is when.
	round  chan struct{}
	ended  bool
	at     time.Time
	answer string
	// busy are the checks that have not come back.
	busy map[string]bool
}

func newReadiness(clk clock.Clock, log *slog.Logger, checks []ReadinessCheck) *readiness {
	return &readiness{clock: clk, log: log, checks: checks, busy: map[string]bool{}}
}

// ask returns a line for each check that fails; "" when none does. Its error is that of ctx.
func (r *readiness) ask(ctx context.Context) (string, error) {
	r.mu.Lock()
	age := r.clock.Now().Sub(r.at)
	if r.round == nil || r.ended && (age < 0 || age >= readinessAge) {
		r.round, r.ended = make(chan struct{}), false
		// Who asked first may leave; others wait for the same round.
		go r.look(context.WithoutCancel(ctx), r.round)
	}
	round := r.round
	r.mu.Unlock()
	select {
	case <-round:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answer, nil
}

var (
	errCheckHangs = errors.New("the check did not end in time")
	errCheckBusy  = errors.New("an earlier check is still running")
)

// look makes a round of checks.
func (r *readiness) look(ctx context.Context, round chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	type result struct {
		i   int
		err error
	}
	results := make(chan result, len(r.checks))
	failures := make([]error, len(r.checks))
	waiting := 0
	for i, c := range r.checks {
		if failures[i] = errCheckHangs; !r.begin(c.Name) {
			failures[i] = errCheckBusy
			continue
		}
		waiting++
		go func() {
			err := c.Check(ctx)
			r.end(c.Name)
			results <- result{i, err}
		}()
	}
	for ; waiting > 0; waiting-- {
		select {
		case res := <-results:
			failures[res.i] = res.err
			continue
		case <-ctx.Done():
		}
		break
	}
	var answer strings.Builder
	for i, err := range failures {
		if err != nil {
			r.log.WarnContext(ctx, "not ready", "check", r.checks[i].Name, "error", err)
			answer.WriteString(r.checks[i].Name + ": not ready\n")
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer, r.at, r.ended = answer.String(), r.clock.Now(), true
	close(round)
}

func (r *readiness) begin(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy[name] {
		return false
	}
	r.busy[name] = true
	return true
}

func (r *readiness) end(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, name)
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
