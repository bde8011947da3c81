package egress_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/egress"
)

// zone is a name server that has the same addresses, of either family, for each name that ends in .test, and leaves other names alone.
type zone []string

func (z zone) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go z.serve(server)
		return client, nil
	}}
}

func (z zone) serve(c net.Conn) {
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
		kind := binary.BigEndian.Uint16(query[end+1:])
		var answers []byte
		count := 0
		for _, text := range z {
			a := netip.MustParseAddr(text)
			if (kind == 1) != a.Is4() {
				continue
			}
			raw := a.AsSlice()
			answers = append(answers, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(raw)))
			answers = append(answers, raw...)
			count++
		}
		reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, byte(count), 0, 0, 0, 0}, query[12:end+5]...)
		reply = append(reply, answers...)
		_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	}
}

// canary is a server on this machine that nobody may reach: over http and https, at both of its addresses where it has them. It counts
// connections, whether or not a request follows.
type canary struct {
	connections atomic.Int64
	ports       map[string]string // by scheme
	roots       *x509.CertPool
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	c := &canary{ports: map[string]string{}, roots: x509.NewCertPool()}
	for _, scheme := range []string{"http", "https"} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				c.connections.Add(1)
			}
		}
		if scheme == "https" {
			s.StartTLS()
			c.roots.AddCert(s.Certificate())
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		_, c.ports[scheme], _ = net.SplitHostPort(s.Listener.Addr().String())
	}
	return c
}

// TestNoPrivateAddressIsReached is S6: whatever a tenant writes, and whatever a name server says, no private address is connected to. Each
// is refused by us, before a connection: not by a network that happens to be down. Where the check is what keeps us out, a client that may
// reach this machine gets in by the same address.
func TestNoPrivateAddressIsReached(t *testing.T) {
	t.Parallel()
	home := newCanary(t)
	reached := func(c *egress.Client, address string) error {
		t.Cleanup(c.CloseIdleConnections)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("a key"))
		if err != nil {
			// What can't be parsed can't be asked either.
			var bad *url.Error
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
			return &egress.BlockedError{}
		}
		resp, err := c.HTTP().Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	refused := func(what string, err error) {
		t.Helper()
		if _, ok := errors.AsType[*egress.BlockedError](err); !ok {
			t.Errorf("%s: it was not refused: %v", what, err)
		}
		if n := home.connections.Load(); n > 0 {
			t.Fatalf("%s: a private address was reached", what)
		}
	}

	// What is written into the address itself.
	literal := []string{
		"127.0.0.1", "127.1", "127.255.255.254", "0", "0.0.0.0", "localhost", "LOCALHOST", "localhost.", "a.localhost", "a.localhost.", "127.0.0.1.",
		"2130706433", "017700000001", "0x7f000001", "0x7f.1", "0X7F.0.0.1", "0177.0.0.1", "0177.0.0.01", "127.0.0.0x1", "127.0.1", "00000127.0.0.1",
		"１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "127.0.0.1%20", "127.0.0.1%00.example.com",
		"[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:0:127.0.0.1]", "[::1%25lo]",
		"[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2002:7f00:1::1]", "[2001:0:7f00:1::]",
		"10.0.0.1", "167772161", "0xa000001", "012.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "169.254.1.1", "[::ffff:10.0.0.1]",
		"[64:ff9b::10.0.0.1]", "[2002:a00:1::1]", "[fc00::1]", "[fd00::1]", "[fe80::1]", "[fe80::1%25eth0]", "[fec0::1]",
		"169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]",
		"[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fd00:ec2::254]", "[fd20:ce::254]", "100.100.100.200", "192.0.0.192", "168.63.129.16",
		"192.0.0.170", "198.18.0.1", "224.0.0.1", "255.255.255.255", "[ff02::1]",
		// User names that look like hosts, and hosts that look like users.
		"example.com@127.0.0.1", "example.com:443@127.0.0.1", "127.0.0.1@127.0.0.1", "example.com%40127.0.0.1", `example.com\@127.0.0.1`,
		"example.com#@127.0.0.1", "user:pass@[::1]", "@127.0.0.1", ":@127.0.0.1",
	}
	for _, host := range literal {
		for scheme, port := range home.ports {
			address := scheme + "://" + host + ":" + port + "/"
			client := egress.New(egress.Config{RootCAs: home.roots, Resolver: zone{"127.0.0.1", "::1"}.resolver()})
			refused(address, reached(client, address))
		}
	}

	// What a name server says. An operator's exception for another network lets http through to the name server.
	answers := [][]string{
		{"127.0.0.1"}, {"::1"}, {"127.0.0.1", "::1"}, {"0.0.0.0"}, {"::"}, {"::ffff:127.0.0.1"}, {"64:ff9b::7f00:1"}, {"2002:7f00:1::"}, {"::7f00:1"},
		{"10.0.0.1"}, {"172.31.255.255"}, {"192.168.1.1"}, {"100.127.255.255"}, {"169.254.169.254"}, {"::ffff:169.254.169.254"}, {"64:ff9b::a9fe:a9fe"},
		{"fd00:ec2::254"}, {"fe80::1"}, {"fd12::1"}, {"100.100.100.200"}, {"168.63.129.16"}, {"10.0.0.1", "127.0.0.1", "169.254.169.254", "fd00::1"},
	}
	for _, list := range answers {
		for scheme, port := range home.ports {
			for _, name := range []string{"model.test", "model.test.", "MODEL.TEST", "127.0.0.1.test", "localhost.test"} {
				client := egress.New(egress.Config{
					RootCAs: home.roots, Resolver: zone(list).resolver(), Allow: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")},
				})
				refused(fmt.Sprint(scheme, " ", name, " ", list), reached(client, scheme+"://"+name+":"+port+"/"))
			}
		}
	}

	// The same by a client that may reach this machine, so that it is the check that has kept the others out.
	open := egress.New(egress.Config{AllowLoopback: true, RootCAs: home.roots, Resolver: zone{"127.0.0.1"}.resolver()})
	for _, address := range []string{"http://127.0.0.1:" + home.ports["http"], "https://127.0.0.1:" + home.ports["https"], "http://model.test:" + home.ports["http"]} {
		before := home.connections.Load()
		if err := reached(open, address); err != nil || home.connections.Load() != before+1 {
			t.Errorf("%s: %v, %d connections", address, err, home.connections.Load()-before)
		}
	}
}

// Nobody is led on: whichever redirect a server answers with, and wherever that leads, the next request isn't made.
func TestNoRedirectLeadsOn(t *testing.T) {
	t.Parallel()
	home := newCanary(t)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, location := range []string{
			"http://127.0.0.1:" + home.ports["http"] + "/", "https://127.0.0.1:" + home.ports["https"] + "/", "//127.0.0.1:" + home.ports["http"],
			"http://2130706433:" + home.ports["http"], "http://[::ffff:127.0.0.1]:" + home.ports["http"], "http://x@127.0.0.1:" + home.ports["http"],
			"http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_", "/elsewhere", "https://example.com/",
		} {
			var hits atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				hits.Add(1)
				w.Header().Set("Location", location)
				w.WriteHeader(status)
			}))
			_, err := get(t, egress.New(egress.Config{AllowLoopback: true, RootCAs: home.roots}), s.URL)
			if _, ok := errors.AsType[*egress.BlockedError](err); !ok || hits.Load() != 1 || home.connections.Load() != 0 {
				t.Errorf("%d to %s: %v, %d requests, %d connections elsewhere", status, location, err, hits.Load(), home.connections.Load())
			}
			s.Close()
		}
	}
}

// What was public when an address was saved is private when it is dialled, and at the next attempt: each connection is judged by the
// address that it goes to, and one that is open already leads to no other server.
func TestRebindingWhileConnected(t *testing.T) {
	t.Parallel()
	home := newCanary(t)
	n := &names{answers: [][]string{{"127.0.0.1"}, {"169.254.169.254"}, {"10.0.0.1"}}}
	own, hits := server(t, false)
	client := egress.New(egress.Config{AllowLoopback: true, RootCAs: home.roots, Resolver: n.resolver()})
	address := strings.Replace(own.URL, "127.0.0.1", "model.test", 1)
	if _, err := get(t, client, address); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		client.CloseIdleConnections()
		_, err := get(t, client, address)
		blocked(t, err, strings.TrimPrefix(address, "http://"), "")
		if hits.Load() != 1 {
			t.Errorf("attempt %d was made", i)
		}
	}
	if _, err := (&tls.Dialer{Config: &tls.Config{RootCAs: home.roots}}).DialContext(t.Context(), "tcp", "127.0.0.1:"+home.ports["https"]); err != nil {
		t.Errorf("the canary doesn't live: %v", err)
	}
}
