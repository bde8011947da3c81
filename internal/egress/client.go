// Package egress is the HTTP client for everything that leaves on behalf of an organization. It reaches public addresses, and of others
// only those that the operator allows: what a tenant writes into an address must never open a way into the operator's network.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

const (
	connectTimeout = 10 * time.Second
	tlsTimeout     = 10 * time.Second
	// headerTimeout is generous: some servers of models send their first byte only when they have read the whole prompt, or when it
	// is this call's turn in their queue. Who waits for less ends the request's context earlier.
	headerTimeout = 120 * time.Second
	idleTimeout   = 90 * time.Second
	maxIdle       = 256
	maxIdlePer    = 32
	// maxHeaderBytes bounds what a hostile server can make us hold before the caller sees anything.
	maxHeaderBytes = 256 << 10
	// A connection that carries several requests is asked for a sign of life after pingAfter of silence, and given up pingTimeout
	// later. Otherwise a dead one would hold all of them until their contexts end.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// Config says which addresses may be reached besides public ones.
type Config struct {
	// AllowLoopback is the development switch: this machine may be reached.
	AllowLoopback bool
	// Allow are networks of the operator, where servers of models live. Addresses of cloud metadata are not reached even there.
	Allow []netip.Prefix
	// Rules say which of those may be reached by what they are called.
	Rules Rules
	// Resolver resolves names; nil is the system's.
	Resolver *net.Resolver
	// RootCAs are the authorities that servers' certificates are checked against; nil is the system's.
	RootCAs *x509.CertPool
}

// Client makes requests to addresses that tenants gave. It may be used by many goroutines.
type Client struct {
	cfg           Config
	secure, plain *http.Transport
	client        *http.Client
}

// New makes a Client.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg}
	c.secure, c.plain = c.transport(false), c.transport(true)
	c.client = &http.Client{
		Transport: roundTripper{c},
		// A redirect would carry the request, and perhaps its key, to where nobody asked for. The address must be the final one.
		// Where it leads isn't told: the error is shown to people, and that may be a name of the operator's network.
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			return &BlockedError{Host: via[0].URL.Host, Reason: reasonRedirect}
		},
	}
	return c
}

// HTTP returns the client to make requests with. It follows no redirects, uses no proxy of the environment and has no time limit for a
// whole answer, which may be a long stream: the request's context ends it. A request that may not be made fails with an
// error that wraps *BlockedError.
func (c *Client) HTTP() *http.Client { return c.client }

// CloseIdleConnections closes connections that no request uses.
func (c *Client) CloseIdleConnections() {
	c.secure.CloseIdleConnections()
	c.plain.CloseIdleConnections()
}

// transport makes the transport for https, or the one for plain http. They differ in what may be dialled, so they share no connections.
func (c *Client) transport(plain bool) *http.Transport {
	dialer := &net.Dialer{
		Timeout: connectTimeout, Resolver: c.cfg.Resolver,
		// Here the name is resolved, and this very address is connected to: what a name server says later doesn't matter.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return c.checkDial(address, plain)
		},
	}
	return &http.Transport{
		Proxy:                  nil, // a proxy of the environment would resolve names itself, past the check
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.cfg.RootCAs},
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePer,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		// Compression would hold back the pieces of a stream, and a small answer could become a huge one.
		DisableCompression: true,
	}
}

// checkDial decides about an address that is about to be connected to.
func (c *Client) checkDial(address string, plain bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &BlockedError{Reason: reasonUnreadable}
	}
	if reason := c.check(at.Addr(), plain); reason != "" {
		return &BlockedError{Reason: reason, Addr: at.Addr()}
	}
	return nil
}

// roundTripper checks each request before anything is dialled for it.
type roundTripper struct{ *Client }

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := r.CheckURL(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	transport := r.secure
	if req.URL.Scheme == "http" {
		transport = r.plain
	}
	resp, err := transport.RoundTrip(req)
	if blocked, ok := errors.AsType[*BlockedError](err); ok && blocked.Host == "" {
		// Where the address was checked, the name was no longer known.
		return nil, &BlockedError{Host: req.URL.Host, Reason: blocked.Reason, Addr: blocked.Addr}
	}
	return resp, err
}

// BlockedError reports that an address may not be reached. Repeating the request doesn't help.
type BlockedError struct {
	// Host is the host as it was written in the address.
	Host string
	// Reason is for the user: why, and what to do.
	Reason string
	// Addr is the address that Host has, for logs; the zero Addr when none was looked up. It isn't said in the error's text: names of
	// the operator's network would give away their addresses.
	Addr netip.Addr
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s can't be called: %s", e.Host, e.Reason)
}

// Permanent reports whether the same request can't succeed later.
func (e *BlockedError) Permanent() bool { return true }

// CheckURL tells what can be said of an address before anything is looked up, so that a wrong one is refused when it is saved. The error
// is a *BlockedError. An address that passes may still be refused when it is dialled.
func (c *Client) CheckURL(u *url.URL) error {
	if reason := c.checkURL(u); reason != "" {
		return &BlockedError{Host: u.Host, Reason: reason}
	}
	return nil
}
