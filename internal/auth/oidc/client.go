package oidc

import (
	"context"
	"crypto/cipher"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// discoveryMaxAge is how long the issuer's own description is believed. Keys are looked at anew whenever an unknown one is used.
	discoveryMaxAge = time.Hour
	// discoveryPause is how long an issuer that did not answer is left alone.
	discoveryPause = 5 * time.Second
)

// Client is the relying party. It may be used by many goroutines.
type Client struct {
	cfg   Config
	http  *http.Client
	seals []cipher.AEAD

	known atomic.Pointer[issuer]
	// asking is held by who asks the issuer for its description.
	asking chan struct{}
	// failed is why it could not be had, and when; under asking.
	failed   error
	failedAt time.Time
}

// issuer is what the issuer says of itself.
type issuer struct {
	provider *gooidc.Provider
	verifier *gooidc.IDTokenVerifier
	oauth    oauth2.Config
	// namesItself is true when each answer names the issuer, see RFC 9207.
	namesItself bool
	readAt      time.Time
}

// New makes a Client. It doesn't ask the issuer for anything: a dead one keeps nobody else from working.
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.check()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the address of the issuer: %w", err)
	}
	c := &Client{cfg: cfg, http: newHTTP(u.Scheme == "http"), asking: make(chan struct{}, 1)}
	for _, secret := range cfg.Secrets {
		seal, err := newSeal(secret)
		if err != nil {
			return nil, err
		}
		c.seals = append(c.seals, seal)
	}
	return c, nil
}

// Name is what people call the issuer.
func (c *Client) Name() string { return c.cfg.Name }

// Close closes connections that no request uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// discover returns the issuer's description: the one that is known, or a new one. While the issuer does not answer an old one is good enough.
func (c *Client) discover(ctx context.Context) (*issuer, error) {
	if known := c.known.Load(); c.fresh(known) {
		return known, nil
	}
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return nil, Unavailable.because("wait for the description of the issuer: %s", context.Cause(ctx))
	}
	known := c.known.Load()
	if c.fresh(known) {
		return known, nil
	}
	if c.failed == nil || c.cfg.Clock.Now().Sub(c.failedAt) >= discoveryPause {
		// It is for everybody who comes after, so it goes on when this one has hung up; the client bounds it.
		described, err := c.describe(context.WithoutCancel(ctx))
		if err == nil {
			c.failed = nil
			c.known.Store(described)
			return described, nil
		}
		c.failed, c.failedAt = err, c.cfg.Clock.Now()
	}
	if known != nil {
		return known, nil
	}
	return nil, c.failed
}

func (c *Client) fresh(known *issuer) bool {
	return known != nil && c.cfg.Clock.Now().Sub(known.readAt) < discoveryMaxAge
}

// describe asks the issuer for its description, and checks it.
func (c *Client) describe(ctx context.Context) (*issuer, error) {
	ctx = gooidc.ClientContext(ctx, c.http)
	provider, err := gooidc.NewProvider(ctx, c.cfg.Issuer)
	if err != nil {
		return nil, Unavailable.because("ask for the description of the issuer: %s", err)
	}
	var says struct {
		JWKS        string   `json:"jwks_uri"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
		NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&says); err != nil {
		return nil, Unavailable.because("read the description of the issuer: %s", err)
	}
	endpoint := provider.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, says.JWKS} {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return nil, Unavailable.because("the description of the issuer lacks an address, or has %s", address)
		}
		if err := c.http.Transport.(*bounded).allow(u); err != nil { //nolint:forcetypeassert // New made it
			return nil, Unavailable.because("%s", err)
		}
	}
	// What is tried first must be right: a code is good for one try.
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if c.cfg.ClientSecret == "" || len(says.AuthMethods) > 0 && !slices.Contains(says.AuthMethods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &issuer{
		provider: provider,
		// Only signatures with keys that the issuer alone has: of what it offers, "none" and HS256 don't count.
		verifier: provider.VerifierContext(ctx, &gooidc.Config{ClientID: c.cfg.ClientID, Now: c.cfg.Clock.Now}),
		oauth: oauth2.Config{
			ClientID: c.cfg.ClientID, ClientSecret: c.cfg.ClientSecret, Endpoint: endpoint,
			RedirectURL: c.cfg.RedirectURL, Scopes: c.cfg.Scopes,
		},
		namesItself: says.NamesItself,
		readAt:      c.cfg.Clock.Now(),
	}, nil
}
