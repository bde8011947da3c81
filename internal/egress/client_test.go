package egress_test

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/egress"
)

// names is a name server that answers the nth question about IPv4 addresses with the nth list; the last one is repeated.
type names struct {
	mu      sync.Mutex
	answers [][]string
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server)
		return client, nil
	}}
}

// serve speaks DNS over a stream: each message has its length before it.
func (n *names) serve(c net.Conn) {
	defer c.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		end := 12
		for query[end] != 0 {
			end += int(query[end]) + 1
		}
		question := query[12 : end+5]
		var list []string
		if binary.BigEndian.Uint16(query[end+1:]) == 1 {
			list = n.next()
		}
		reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, byte(len(list)), 0, 0, 0, 0}, question...)
		for _, a := range list {
			ip := netip.MustParseAddr(a).As4()
			reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ip[0], ip[1], ip[2], ip[3])
		}
		_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	}
}

func (n *names) next() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[0]
	if len(n.answers) > 1 {
		n.answers = n.answers[1:]
	}
	return list
}

// server counts its requests.
func server(t *testing.T, withTLS bool) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var hits atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, r.Proto)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if withTLS {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, &hits
}

func get(t *testing.T, c *egress.Client, address string) (string, error) {
	t.Helper()
	t.Cleanup(c.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("a key"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.HTTP().Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func blocked(t *testing.T, err error, host, reason string) *egress.BlockedError {
	t.Helper()
	e, ok := errors.AsType[*egress.BlockedError](err)
	if !ok || e.Host != host || !strings.Contains(e.Reason, reason) || !e.Permanent() {
		t.Fatalf("%v: want it blocked for %q with %q", err, host, reason)
	}
	return e
}

func TestWhatIsReached(t *testing.T) {
	t.Parallel()
	plain, plainHits := server(t, false)
	secure, secureHits := server(t, true)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	open := egress.New(egress.Config{AllowLoopback: true, RootCAs: roots})
	if body, err := get(t, open, plain.URL); err != nil || body != "HTTP/1.1" {
		t.Errorf("%q, %v", body, err)
	}
	if body, err := get(t, open, secure.URL); err != nil || body != "HTTP/2.0" {
		t.Errorf("%q, %v", body, err)
	}
	allowed := egress.New(egress.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RootCAs: roots})
	if _, err := get(t, allowed, plain.URL); err != nil {
		t.Error(err)
	}
	if _, err := get(t, egress.New(egress.Config{AllowLoopback: true}), secure.URL); err == nil {
		t.Error("a certificate of nobody was believed")
	}
	before := plainHits.Load() + secureHits.Load()
	closed := egress.New(egress.Config{RootCAs: roots})
	for _, s := range []*httptest.Server{plain, secure} {
		_, err := get(t, closed, s.URL)
		blocked(t, err, strings.TrimPrefix(strings.TrimPrefix(s.URL, "http://"), "https://"), "own machine")
	}
	if after := plainHits.Load() + secureHits.Load(); after != before {
		t.Errorf("%d requests reached a server that they must not", after-before)
	}
}

func TestRebinding(t *testing.T) {
	t.Parallel()
	for _, withTLS := range []bool{false, true} {
		s, hits := server(t, withTLS)
		address := strings.Replace(s.URL, "127.0.0.1", "model.test", 1)
		host := strings.TrimPrefix(strings.TrimPrefix(address, "http://"), "https://")
		n := &names{answers: [][]string{{"8.8.8.8"}, {"127.0.0.1"}}}
		resolver := n.resolver()
		first, err := resolver.LookupNetIP(t.Context(), "ip4", "model.test")
		if err != nil || len(first) != 1 || first[0].String() != "8.8.8.8" {
			t.Fatalf("the name server doesn't work: %v, %v", first, err)
		}
		// Something is allowed, so that http isn't refused before the name is looked up.
		c := egress.New(egress.Config{Resolver: resolver, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
		_, err = get(t, c, address)
		e := blocked(t, err, host, "own machine")
		if e.Addr.String() != "127.0.0.1" || strings.Contains(e.Error(), "127.0.0.1") {
			t.Errorf("%v of %v: users must not learn addresses, logs must", e, e.Addr)
		}
		if hits.Load() != 0 {
			t.Error("loopback was reached")
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s, hits := server(t, false)
	address := strings.Replace(s.URL, "127.0.0.1", "model.test", 1)
	c := egress.New(egress.Config{AllowLoopback: true, Resolver: (&names{answers: [][]string{{"127.0.0.1"}}}).resolver()})
	if _, err := get(t, c, address); err != nil || hits.Load() != 1 {
		t.Errorf("a name of an allowed address: %v", err)
	}
	// A name that means several addresses leads only to those that are allowed.
	c = egress.New(egress.Config{AllowLoopback: true, Resolver: (&names{answers: [][]string{{"10.0.0.1", "127.0.0.1", "169.254.169.254"}}}).resolver()})
	if _, err := get(t, c, address); err != nil || hits.Load() != 2 {
		t.Errorf("one of several addresses is allowed: %v", err)
	}
	c = egress.New(egress.Config{AllowLoopback: true, Resolver: (&names{answers: [][]string{{"8.8.8.8"}}}).resolver()})
	_, err := get(t, c, address)
	blocked(t, err, strings.TrimPrefix(address, "http://"), "unencrypted")
	for _, private := range []string{"10.0.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"} {
		c = egress.New(egress.Config{AllowLoopback: true, Resolver: (&names{answers: [][]string{{private}}}).resolver()})
		_, err := get(t, c, "https://model.test/v1")
		blocked(t, err, "model.test", "")
	}
}

func TestRedirectsAreRefused(t *testing.T) {
	t.Parallel()
	s, hits := server(t, false)
	_, err := get(t, egress.New(egress.Config{AllowLoopback: true}), s.URL+"/away")
	blocked(t, err, strings.TrimPrefix(s.URL, "http://"), "redirect")
	if hits.Load() != 1 {
		t.Errorf("%d requests, want 1", hits.Load())
	}
}

// TestProxiesOfTheEnvironment can't run beside others: it changes the environment.
func TestProxiesOfTheEnvironment(t *testing.T) {
	proxy, proxied := server(t, false)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	s, hits := server(t, false)
	c := egress.New(egress.Config{AllowLoopback: true, Resolver: (&names{answers: [][]string{{"127.0.0.1"}}}).resolver()})
	if _, err := get(t, c, strings.Replace(s.URL, "127.0.0.1", "model.test", 1)); err != nil || hits.Load() != 1 || proxied.Load() != 0 {
		t.Errorf("%v; %d direct, %d by the proxy", err, hits.Load(), proxied.Load())
	}
}

func TestUserInfo(t *testing.T) {
	t.Parallel()
	s, hits := server(t, false)
	_, err := get(t, egress.New(egress.Config{AllowLoopback: true}), strings.Replace(s.URL, "http://", "http://api.example.com@", 1))
	blocked(t, err, strings.TrimPrefix(s.URL, "http://"), "user name")
	if hits.Load() != 0 {
		t.Error("the request was made")
	}
}
