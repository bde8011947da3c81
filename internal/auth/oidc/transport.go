package oidc

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// patience is how long one answer of the issuer may take, its body included.
	patience = 10 * time.Second
	// maxAnswer bounds an answer; documents and key sets of real issuers have some 10 KB.
	maxAnswer = 1 << 20
	// requestsAtOnce bounds what waits for an issuer that is slow.
	requestsAtOnce = 32
)

var (
	errTooLarge = errors.New("the answer is too large")
	errBusy     = errors.New("too many requests to the issuer are waiting")
)

// newHTTP returns the client for the issuer. It is no egress.Client: that one is for addresses that tenants write, and keeps them out of the
// operator's network, which is where an issuer often is. The address of this one comes from the operator alone, and so does the proxy. What
// the issuer names in its documents is as trusted as the issuer, but for plain http, which only an issuer on this machine may use.
func newHTTP(plain bool) *http.Client {
	return &http.Client{
		Timeout: patience,
		// A redirect of a request with a code or a secret in it would hand them to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the issuer redirects, and redirects are not followed: configure the address that it redirects to")
		},
		Transport: &bounded{
			plain: plain, slots: make(chan struct{}, requestsAtOnce),
			base: &http.Transport{
				Proxy:                  http.ProxyFromEnvironment,
				DialContext:            (&net.Dialer{Timeout: patience}).DialContext,
				TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    patience,
				ForceAttemptHTTP2:      true,
				MaxIdleConns:           8,
				IdleConnTimeout:        time.Minute,
				MaxResponseHeaderBytes: 64 << 10,
			},
		},
	}
}

// bounded keeps requests and their answers within bounds.
type bounded struct {
	base  *http.Transport
	plain bool
	slots chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := b.allow(req.URL); err != nil {
		return nil, err
	}
	select {
	case b.slots <- struct{}{}:
	default:
		return nil, errBusy
	}
	defer func() { <-b.slots }()
	resp, err := b.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &limited{ReadCloser: resp.Body, left: maxAnswer}
	return resp, nil
}

// CloseIdleConnections closes connections that no request uses.
func (b *bounded) CloseIdleConnections() { b.base.CloseIdleConnections() }

// allow refuses addresses that the issuer must not name.
func (b *bounded) allow(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && b.plain {
		return nil
	}
	return fmt.Errorf("the issuer names %s, which is not https", u.Redacted())
}

// limited fails, instead of ending, where an answer is too long.
type limited struct {
	io.ReadCloser

	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
