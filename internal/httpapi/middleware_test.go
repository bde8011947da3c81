package httpapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t, behindProxy, func(c *Config) { c.PublicURL = "https://ostler.test" })
	a := b.query("{__typename}", nil, with(requestIDHeader, "proxy-id.0_1"))
	for name, want := range map[string]string{
		requestIDHeader:             "proxy-id.0_1",
		"Content-Security-Policy":   contentSecurityPolicy,
		"X-Content-Type-Options":    "nosniff",
		"Referrer-Policy":           "no-referrer",
		"Strict-Transport-Security": "max-age=31536000",
		"Cache-Control":             "no-store",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if strings.Contains(contentSecurityPolicy, "unsafe") {
		t.Error("inline script or style is allowed")
	}
	for _, insane := range []string{"", "short", strings.Repeat("x", 65), "spaces in it", "<script>12", "ümlaute12"} {
		if got := b.query("{__typename}", nil, with(requestIDHeader, insane)).header.Get(requestIDHeader); got == insane || len(got) < 20 {
			t.Errorf("the id %q became %q", insane, got)
		}
	}
	if got := setup(t).query("{__typename}", nil).header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("HSTS over http: %q", got)
	}
}

// behindProxy trusts the test's own requests as those of a proxy.
func behindProxy(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} }

func TestRequestIDsOfStrangers(t *testing.T) {
	t.Parallel()
	const chosen = "chosen-by-a-stranger"
	if got := setup(t).query("{__typename}", nil, with(requestIDHeader, chosen)).header.Get(requestIDHeader); got == chosen || len(got) < 20 {
		t.Errorf("a stranger chose the id %q", got)
	}
	if got := setup(t, behindProxy).query("{__typename}", nil, with(requestIDHeader, chosen)).header.Get(requestIDHeader); got != chosen {
		t.Errorf("the id of a trusted proxy became %q", got)
	}
}

func TestCrossOriginRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		name, site, origin string
		status             int
	}{
		{"a program", "", "", 200},
		{"own page", "same-origin", "", 200},
		{"another site", "cross-site", "", 403},
		{"another site with its origin", "cross-site", "http://evil.test", 403},
		{"a sister site", "same-site", "http://sister.ostler.test", 403},
		{"the public address behind a proxy", "", "http://ostler.test", 200},
		{"an old browser on another site", "", "http://evil.test", 403},
	} {
		a := b.do(http.MethodPost, "/graphql", typename, with("Sec-Fetch-Site", c.site), with("Origin", c.origin))
		if a.status != c.status || c.status == 403 && (a.code() != codeForbidden || a.hasData) {
			t.Errorf("%s: got %d %s", c.name, a.status, a.body)
		}
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.7", "192.0.2.1"},
		{"10.0.0.1:5", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:5", "1.1.1.1, 198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:5", "1.1.1.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"},
		{"10.0.0.1:5", "10.0.0.3, 10.0.0.2", "10.0.0.3"},
		{"10.0.0.1:5", "nonsense, 10.0.0.2", "10.0.0.2"},
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"[::ffff:10.0.0.1]:5", "::ffff:198.51.100.7", "198.51.100.7"},
		{"[fd00::1]:5", "2001:db8::1", "2001:db8::1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := clientAddress(r, trusted); got != c.want {
			t.Errorf("%s for %q: got %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
}

func TestWhatResolversKnow(t *testing.T) {
	t.Parallel()
	b := setup(t, behindProxy)
	var info *auth.RequestInfo
	b.stub.viewer = func(ctx context.Context) (*model.Viewer, error) {
		info = auth.RequestFrom(ctx)
		return &model.Viewer{Org: &model.Org{}}, nil
	}
	b.query("{viewer{org{id}}}", nil, signedIn, with("User-Agent", "test/1"), with("Cookie", "ostler_refresh=r"), with(requestIDHeader, "12345678"))
	if info.ID != "12345678" || info.Address != "127.0.0.1" || info.UserAgent != "test/1" || info.RefreshToken != "r" || info.Socket {
		t.Errorf("over HTTP: %+v", info)
	}
	c := b.dial().hello()
	c.send(`{"id":"q","type":"subscribe","payload":{"query":"{viewer{org{id}}}"}}`)
	c.expect("next")
	if info.ID == "" || info.Address != "127.0.0.1" || !info.Socket || info.SetCookies(auth.TokenCookies{}) {
		t.Errorf("over a WebSocket: %+v", info)
	}
}

func TestLogHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.query(`query Named($a:String!){serverInfo{name} __type(name:$a){name}}`, map[string]any{"a": "planted-secret"}, with("Authorization", "Bearer planted-secret"))
	b.do(http.MethodGet, "/graphql?query="+"%7B__typename%7D&variables=%7B%22a%22:%22planted-secret%22%7D", "")
	b.query(`mutation{signIn(input:{email:"a",password:"planted-secret"}){tokens{accessToken}}}`, nil, with("Cookie", "ostler_refresh=planted-secret"))
	b.do(http.MethodPost, "/graphql", `{"query":"planted-secret`, nil2)
	log := b.log.String()
	if strings.Contains(log, "planted-secret") {
		t.Error(log)
	}
	if !strings.Contains(log, `"operation":"Named"`) || !strings.Contains(log, `"kind":"mutation"`) || !strings.Contains(log, `"status":400`) {
		t.Errorf("the access log lacks what it is for: %s", log)
	}
}

func nil2(*http.Request) {}

func TestProbes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if a := b.do(http.MethodGet, "/healthz", ""); a.status != 200 {
		t.Errorf("healthz: %d", a.status)
	}
	if a := b.do(http.MethodGet, "/readyz", ""); a.status != 200 {
		t.Errorf("readyz: %d", a.status)
	}
	if a := b.do(http.MethodGet, "/.well-known/jwks.json", ""); a.status != 404 {
		t.Errorf("jwks without a handler: %d", a.status)
	}
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	handler := &dashboard{files: fstest.MapFS{
		"index.html":           {Data: []byte("<!doctype html>")},
		"favicon.svg":          {Data: []byte("<svg/>")},
		".keep":                {},
		".vite/manifest.json":  {Data: []byte("{}")},
		"assets/app-abc.js":    {Data: []byte("script")},
		"assets/app-abc.js.gz": {Data: []byte("gzipped")},
		"assets/app-abc.js.br": {Data: []byte("brotli")},
		"assets/old-abc.js":    {Data: []byte("old")},
		"assets/old-abc.js.gz": {Data: []byte("old gzipped")},
	}}
	page := with("Accept", "text/html,*/*")
	const forever = "public, max-age=31536000, immutable"
	accepting := func(codings string) func(*http.Request) { return with("Accept-Encoding", codings) }
	for _, c := range []struct {
		method, path string
		change       func(*http.Request)
		status       int
		body, cache  string
	}{
		{"GET", "/", page, 200, "<!doctype html>", "no-cache"},
		{"GET", "/agents/agent_1", page, 200, "<!doctype html>", "no-cache"},
		{"GET", "/agents/a.b", page, 200, "<!doctype html>", "no-cache"},
		{"HEAD", "/", page, 200, "", "no-cache"},
		{"GET", "/favicon.svg", nil2, 200, "<svg/>", "no-cache"},
		{"GET", "/assets/app-abc.js", nil2, 200, "script", forever},
		{"GET", "/assets/app-abc.js", accepting("gzip, deflate, br, zstd"), 200, "brotli", forever},
		{"GET", "/assets/app-abc.js", accepting("gzip, deflate"), 200, "gzipped", forever},
		{"GET", "/assets/app-abc.js", accepting("br;q=0, *"), 200, "gzipped", forever},
		{"GET", "/assets/app-abc.js", accepting("*"), 200, "brotli", forever},
		{"GET", "/assets/app-abc.js", accepting("*;q=0, GZIP;q=0.5"), 200, "gzipped", forever},
		{"GET", "/assets/app-abc.js", accepting("gzip;q=0"), 200, "script", forever},
		{"GET", "/assets/old-abc.js", accepting("gzip, br"), 200, "old gzipped", forever},
		{"GET", "/assets/app-old.js", nil2, 404, "404 page not found\n", ""},
		{"GET", "/assets/app-old", page, 404, "404 page not found\n", ""},
		{"GET", "/missing.png", nil2, 404, "404 page not found\n", ""},
		{"GET", "/.keep", page, 404, "404 page not found\n", ""},
		{"GET", "/.vite/manifest.json", nil2, 404, "404 page not found\n", ""},
		{"GET", "/../../etc/passwd", page, 200, "<!doctype html>", "no-cache"},
		{"POST", "/", page, 405, "method not allowed\n", ""},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		c.change(r)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Cache-Control") != c.cache {
			t.Errorf("%s %s: got %d %q, cache %q", c.method, c.path, w.Code, w.Body, w.Header().Get("Cache-Control"))
		}
		if tag := w.Header().Get("ETag"); c.status == 200 {
			r.Header.Set("If-None-Match", tag)
			again := httptest.NewRecorder()
			handler.ServeHTTP(again, r)
			if again.Code != http.StatusNotModified {
				t.Errorf("%s with its tag %s: got %d", c.path, tag, again.Code)
			}
		}
	}
	empty := httptest.NewRecorder()
	(&dashboard{files: fstest.MapFS{".keep": {}}}).ServeHTTP(empty, httptest.NewRequest(http.MethodGet, "/", nil))
	if empty.Code != 503 || !strings.Contains(empty.Body.String(), "make build") {
		t.Errorf("not built: %d %s", empty.Code, empty.Body)
	}
}

func TestServedAssetsAreNotLoggedAmongRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path   string
		status int
		want   slog.Level
	}{
		{"/assets/app-abc.js", 200, slog.LevelDebug},
		{"/assets/app-abc.js", 304, slog.LevelDebug},
		{"/assets/none.js", 404, slog.LevelInfo},
		{"/healthz", 503, slog.LevelDebug},
		{"/", 200, slog.LevelInfo},
		{"/graphql", 200, slog.LevelInfo},
	} {
		if got := accessLevel(c.path, c.status); got != c.want {
			t.Errorf("%s with %d: got %s, want %s", c.path, c.status, got, c.want)
		}
	}
}

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	deps := Dependencies{
		Logger: slog.New(slog.DiscardHandler), Schema: generated.NewExecutableSchema(generated.Config{}),
		Authenticator: &people{}, Dashboard: fstest.MapFS{},
	}
	for _, url := range []string{"ostler.test", "ftp://ostler.test", "http://", "http://ostler.test/path", "http://user@ostler.test", "http://ostler.test?q", "://"} {
		if _, err := New(Config{PublicURL: url}, deps); err == nil {
			t.Errorf("the public URL %q was accepted", url)
		}
	}
	if _, err := New(Config{Limits: Limits{Depth: -1}}, deps); err == nil {
		t.Error("a negative limit was accepted")
	}
	if _, err := New(Config{}, Dependencies{}); err == nil {
		t.Error("missing dependencies were accepted")
	}
}

func TestStartAndStop(t *testing.T) {
	t.Parallel()
	server, err := New(Config{}, Dependencies{
		Logger: slog.New(slog.DiscardHandler), Schema: generated.NewExecutableSchema(generated.Config{Resolvers: &stub{}}),
		Authenticator: &people{}, Dashboard: fstest.MapFS{},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Serve(listener)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + listener.Addr().String() + "/healthz")
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("healthz: %v %v", resp, err)
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	for range 2 {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
