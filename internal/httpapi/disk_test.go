package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/sessions"
)

// While the database takes no writes, what would write is refused before anything of it runs, and reading goes on.
func TestAFullDiskRefusesWritesAtOnce(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	b := setup(t, func(cfg *Config) {
		cfg.Writable = func() error {
			if full.Load() {
				return errors.New("the disk is full")
			}
			return nil
		}
	})
	b.server.deps.Waits = callbackFunc(func(string, sessions.Outcome) (sessions.Resolved, error) { return sessions.Accepted, nil })
	const signIn = `mutation { signIn(input: {email: "a@b.c", password: "p"}) { tokens { org { id } } } }`
	callback := func() answer {
		return b.do(http.MethodPost, "/v1/waits/ostw_good", `{"value": 1}`, with("Content-Type", "application/json"))
	}
	if a, c := b.query(signIn, nil), callback(); a.code() != "" || c.status != 200 {
		t.Fatalf("with room: %s, %d", a.body, c.status)
	}
	full.Store(true)
	if a := b.query(signIn, nil); a.code() != codeUnavailable || a.hasData || !strings.Contains(a.body, "disk is full") {
		t.Errorf("a mutation: %s", a.body)
	}
	if c := callback(); c.status != http.StatusServiceUnavailable {
		t.Errorf("a callback: %d %s", c.status, c.body)
	}
	if a := b.query(`{ viewer { org { id } } }`, nil, signedIn); a.code() != "" {
		t.Errorf("a query: %s", a.body)
	}
	full.Store(false)
	if a := b.query(signIn, nil); a.code() != "" {
		t.Errorf("with room again: %s", a.body)
	}
}
