package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

const secretToken = "token-of-the-configuration"

// figures is what the tests' servers have at /metrics.
const figures = "figures"

func (b *bench) withMetrics() *bench {
	b.people.set("operator", &auth.Principal{Permissions: auth.RolePermissions(models.RoleViewer, true), ExpiresAt: start.Add(time.Hour)})
	return b
}

func TestWhoMayReadMetrics(t *testing.T) {
	t.Parallel()
	local := func(c *Config) { c.PublicURL = "http://127.0.0.1:8080" }
	withToken := func(c *Config) { c.MetricsToken = secretToken }
	bearer := func(token string) func(*http.Request) { return with("Authorization", "Bearer "+token) }
	servers := map[string]*bench{
		"local":     setup(t, local).withMetrics(),
		"public":    setup(t).withMetrics(),
		"token":     setup(t, local, withToken).withMetrics(),
		"proxied":   setup(t, local, behindProxy).withMetrics(),
		"elsewhere": setup(t, local, func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }).withMetrics(),
		"runner":    setup(t, withToken, func(c *Config) { c.ProbesOnly = true }).withMetrics(),
	}
	for _, c := range []struct {
		server string
		change func(*http.Request)
		status int
	}{
		{"local", nil2, 200},
		{"local", with("X-Forwarded-For", "203.0.113.7"), 404},
		{"local", with("Forwarded", "for=203.0.113.7"), 404},
		{"local", with("X-Real-IP", "203.0.113.7"), 404},
		{"local", with("Via", "1.1 proxy"), 404},
		{"local", func(r *http.Request) { r.Host = "rebound.test" }, 404},
		{"local", func(r *http.Request) { r.Host = "localhost" }, 200},
		{"local", bearer(""), 200},
		{"local", bearer("good"), 401},
		{"local", bearer("nonsense"), 401},
		{"local", bearer("operator"), 200},
		{"local", with("Cookie", "ostler_access=operator; x=y"), 200}, // for being here, not for the cookie
		{"public", nil2, 404},
		{"public", with("Cookie", "ostler_access=operator"), 404},
		{"public", bearer("operator"), 200},
		{"public", bearer("good"), 401},
		{"token", nil2, 401},
		{"token", bearer(secretToken), 200},
		{"token", bearer(secretToken + "x"), 401},
		{"token", bearer(secretToken[1:]), 401},
		{"token", with("Authorization", "Basic "+secretToken), 401},
		{"token", bearer("operator"), 200},
		{"token", bearer("good"), 401},
		{"proxied", nil2, 404},
		{"elsewhere", nil2, 200},
		{"runner", nil2, 401},
		{"runner", bearer(secretToken), 200},
	} {
		a := servers[c.server].do(http.MethodGet, "/metrics", "", c.change)
		if a.status != c.status || (a.body == figures) != (c.status == 200) {
			t.Errorf("%s: got %d %q, want %d", c.server, a.status, a.body, c.status)
		}
		if a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached", c.server)
		}
		if (a.status == 401) != (a.header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %d with %q", c.server, a.status, a.header.Get("WWW-Authenticate"))
		}
	}
	servers["public"].people.fail(errors.New("the database is away"))
	if a := servers["public"].do(http.MethodGet, "/metrics", "", bearer("operator")); a.status != 503 {
		t.Errorf("without knowing who asks: %d %s", a.status, a.body)
	}
	if a := servers["local"].do(http.MethodPost, "/metrics", ""); a.status != 405 {
		t.Errorf("by POST: %d", a.status)
	}
}

// tally is a Meter that writes down what it hears.
type tally struct {
	mu     sync.Mutex
	said   []string
	caught int
}

// panics is how many panics it has heard of.
func (m *tally) panics() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.caught
}

func (m *tally) sayf(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said = append(m.said, fmt.Sprintf(format, args...))
}

func (m *tally) heard() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	said := m.said
	m.said = nil
	slices.Sort(said)
	return said
}

func (m *tally) Request(route string, status int, took time.Duration) {
	m.sayf("%s %d %v", route, status, took > 0)
}

func (m *tally) Operation(kind, code string, took time.Duration) {
	m.sayf("%s %s %v", kind, code, took > 0)
}

func (m *tally) Panicked(where string) {
	m.sayf("panic %s", where)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.caught++
}

func TestWhatTheMeterHears(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.events = func(context.Context) (<-chan model.Event, error) { return nil, notFound }
	for _, c := range []struct {
		do   func()
		want []string
	}{
		{func() { b.query("{__typename}", nil) }, []string{"/graphql 200 true", "query OK true"}},
		{func() { b.query("{nonsense}", nil) }, []string{"/graphql 200 true", "unknown GRAPHQL_VALIDATION_FAILED false"}},
		{func() { b.query("query($a:Int!){__typename agents(first:$a){totalCount}}", nil) }, []string{"/graphql 200 true", "query BAD_USER_INPUT false"}},
		{func() { b.query("{viewer{org{id}}}", nil) }, []string{"/graphql 200 true", "query UNAUTHENTICATED true"}},
		{func() { b.query(`mutation{signIn(input:{email:"a",password:"b"}){userErrors{code}}}`, nil) }, []string{"/graphql 200 true", "mutation OK true"}},
		{func() { b.query(`{session(id:"x"){id}}`, nil, signedIn) }, []string{"/graphql 200 true", "panic graphql", "query INTERNAL true"}},
		{func() { b.query(`subscription{orgEvents{id}}`, nil, signedIn, with("Accept", mediaEvents)) }, []string{"/graphql 200 false", "subscription NOT_FOUND false"}},
		{func() { b.do(http.MethodGet, "/agents/chosen-by-somebody", "", with("Accept", "text/html")) }, []string{"other 200 true"}},
		{func() { b.do(http.MethodGet, "/v1/waits/secret", "") }, []string{"/v1/waits/{token} 404 true"}},
		{func() { b.do(http.MethodGet, "/healthz", "") }, []string{"/healthz 200 true"}},
	} {
		c.do()
		if got := b.meter.heard(); !slices.Equal(got, c.want) {
			t.Errorf("heard %q, want %q", got, c.want)
		}
	}
}
