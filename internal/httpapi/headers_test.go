package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

// TestHeadersOfEveryRoute asks every route, in every way that ends differently, and looks for the headers that a browser must see
// whatever the answer is.
func TestHeadersOfEveryRoute(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.PublicURL = "https://ostler.test" })
	page := with("Accept", "text/html")
	routes := []struct {
		name, method, path, body string
		change                   []func(*http.Request)
		status                   int
	}{
		{"an answer", "POST", "/graphql", typename, nil, 200},
		{"a query by GET", "GET", "/graphql?query=%7B__typename%7D", "", nil, 200},
		{"a mutation by GET", "GET", "/graphql?query=mutation%7BsignOut%7BuserErrors%7Bmessage%7D%7D%7D", "", nil, 405},
		{"no JSON", "POST", "/graphql", "query=1", []func(*http.Request){with("Content-Type", "application/x-www-form-urlencoded")}, 415},
		{"multipart", "POST", "/graphql", "--x--", []func(*http.Request){with("Content-Type", "multipart/form-data; boundary=x")}, 415},
		{"malformed", "POST", "/graphql", "{", nil, 400},
		{"too large", "POST", "/graphql", `{"query":"` + strings.Repeat(" ", 2<<20) + `"}`, nil, 413},
		{"another method", "DELETE", "/graphql", "", nil, 405},
		{"another origin", "POST", "/graphql", typename, []func(*http.Request){with("Sec-Fetch-Site", "cross-site")}, 403},
		{"an event stream", "POST", "/graphql", typename, []func(*http.Request){with("Accept", mediaEvents)}, 200},
		{"an event stream of another origin", "GET", "/graphql?query=%7B__typename%7D", "", []func(*http.Request){with("Accept", mediaEvents), with("Cookie", "ostler_access=x")}, 403},
		{"a panic", "POST", "/graphql", `{"query":"{session(id:\"x\"){id}}"}`, []func(*http.Request){signedIn}, 200},
		{"an upgrade of another origin", "GET", "/graphql", "", []func(*http.Request){upgrading, with("Origin", "https://evil.test"), with("Cookie", "ostler_access=x")}, 403},
		{"an upgrade with a cookie and no origin", "GET", "/graphql", "", []func(*http.Request){upgrading, with("Cookie", "ostler_access=x")}, 403},
		{"the process", "GET", "/healthz", "", nil, 200},
		{"readiness", "GET", "/readyz", "", nil, 200},
		{"the metrics, to a stranger", "GET", "/metrics", "", nil, 404},
		{"the metrics, with a wrong token", "GET", "/metrics", "", []func(*http.Request){with("Authorization", "Bearer x")}, 401},
		{"a probe by POST", "POST", "/healthz", "", nil, 405},
		{"the keys", "GET", "/.well-known/jwks.json", "", nil, 404},
		{"an image", "GET", "/v1/images/img_1", "", nil, 404},
		{"an upload", "POST", "/v1/images", "x", nil, 404},
		{"an export", "GET", "/v1/usage.csv", "", nil, 404},
		{"an export of the audit log", "GET", "/v1/audit.csv", "", nil, 404},
		{"a wait", "POST", "/v1/waits/wait_1", "{}", nil, 404},
		{"a page", "GET", "/", "", []func(*http.Request){page}, 200},
		{"a page of the browser's own", "GET", "/agents/agent_1", "", []func(*http.Request){page}, 200},
		{"a missing asset", "GET", "/assets/none.js", "", nil, 404},
		{"a page by POST", "POST", "/", "", nil, 405},
		{"a path that is no path", "GET", "//graphql/../x", "", nil, 200},
	}
	for _, r := range routes {
		a := b.do(r.method, r.path, r.body, r.change...)
		if a.status != r.status {
			t.Errorf("%s: got %d %s, want %d", r.name, a.status, a.body, r.status)
		}
		secured(t, r.name, a.header)
		if r.path == "/metrics" || r.path == "/healthz" || r.path == "/readyz" || strings.HasPrefix(r.path, "/graphql") {
			if got := a.header.Get("Cache-Control"); a.status < 300 && got != "no-store" {
				t.Errorf("%s may be cached: %q", r.name, got)
			}
		}
	}
}

// A process that runs turns only is reached by people, too.
func TestHeadersOfRunners(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.PublicURL, c.ProbesOnly = "https://ostler.test", true })
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 404, "/graphql": 404, "/": 404} {
		a := b.do(http.MethodGet, path, "")
		if a.status != status {
			t.Errorf("%s: got %d, want %d", path, a.status, status)
		}
		secured(t, path, a.header)
	}
}

func upgrading(r *http.Request) {
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "graphql-transport-ws",
	} {
		r.Header.Set(name, value)
	}
}

func secured(t *testing.T, name string, h http.Header) {
	t.Helper()
	for header, want := range map[string]string{
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Strict-Transport-Security":    "max-age=31536000",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), microphone=(), geolocation=()",
	} {
		if list := h.Values(header); len(list) != 1 || list[0] != want {
			t.Errorf("%s: %s is %q, want %q", name, header, list, want)
		}
	}
	policy := h.Values("Content-Security-Policy")
	if len(policy) != 1 || !strings.Contains(policy[0], "frame-ancestors 'none'") || strings.Contains(policy[0], "unsafe") ||
		!strings.Contains(policy[0], "default-src") {
		t.Errorf("%s: the policy is %q", name, policy)
	}
	if len(h.Get(requestIDHeader)) < 8 {
		t.Errorf("%s has the request id %q", name, h.Get(requestIDHeader))
	}
	for _, open := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Server", "X-Powered-By"} {
		if got := h.Get(open); got != "" {
			t.Errorf("%s: %s is %q", name, open, got)
		}
	}
}
