package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
)

// AccessTokenLifetime is how long an access token is good for.
const AccessTokenLifetime = 15 * time.Minute

const (
	// clockSkew is how far the clocks of two nodes may be apart: tokens are good from that long before they were made.
	clockSkew = 30 * time.Second
	// maxTokenLength bounds, in bytes, what is looked at; ours have about 600.
	maxTokenLength = 4096
)

// ErrUnauthenticated means that a token gives no access: it is not ours, it has ended, or what it stands for (the
// sign-in, the membership) is gone. Other errors of authentication are the server's own.
var ErrUnauthenticated = errors.New("the token is not valid")

// ErrTokenExpired is the ErrUnauthenticated of a token that was valid until its time was over.
var ErrTokenExpired = fmt.Errorf("%w: it has expired", ErrUnauthenticated)

// Claims is what an access token says. The role is only a hint for clients: the server reads it again.
type Claims struct {
	UserID    models.UserID
	OrgID     models.OrgID
	SignInID  models.SignInID
	Role      models.Role
	ExpiresAt time.Time
}

type wireClaims struct {
	jwt.RegisteredClaims

	Org    string `json:"org"`
	Role   string `json:"role"`
	SignIn string `json:"sid"`
}

// TokenConfig names the parties of a token. Both names are required and the same on all nodes.
type TokenConfig struct {
	// Issuer is the server's public URL.
	Issuer string
	// Audience is whom the tokens are for.
	Audience string
	// Secret, of at least MinTokenSecret bytes, makes HS256 the only algorithm; nil is Ed25519 with a set of keys.
	Secret []byte
}

// MinTokenSecret is how long a secret that signs tokens must be, in bytes: as long as what HMAC-SHA-256 gives.
const MinTokenSecret = 32

// AccessTokens makes and verifies access tokens: JWTs that are signed with Ed25519, or else with a secret, and last
// AccessTokenLifetime.
type AccessTokens struct {
	keys   *Keys // nil with a secret
	method jwt.SigningMethod
	clock  clock.Clock
	cfg    TokenConfig
	parser *jwt.Parser
}

// NewAccessTokens fails when the configuration is incomplete: it must have either keys or a secret.
func NewAccessTokens(keys *Keys, clk clock.Clock, cfg TokenConfig) (*AccessTokens, error) {
	if cfg.Issuer == "" || cfg.Audience == "" {
		return nil, errors.New("access tokens need an issuer and an audience")
	}
	var method jwt.SigningMethod = jwt.SigningMethodEdDSA
	if (keys == nil) == (cfg.Secret == nil) {
		return nil, errors.New("access tokens are signed either with keys or with a secret")
	}
	if cfg.Secret != nil {
		if len(cfg.Secret) < MinTokenSecret {
			return nil, fmt.Errorf("the secret of access tokens has %d bytes, want at least %d", len(cfg.Secret), MinTokenSecret)
		}
		method = jwt.SigningMethodHS256
	}
	return &AccessTokens{keys: keys, method: method, clock: clk, cfg: cfg, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{method.Alg()}),
		jwt.WithIssuer(cfg.Issuer),
		jwt.WithAudience(cfg.Audience),
		jwt.WithExpirationRequired(),
		jwt.WithNotBeforeRequired(),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(clk.Now),
	)}, nil
}

// Issue makes a token and returns it with the time of its end, which replaces that of the claims.
func (t *AccessTokens) Issue(ctx context.Context, c Claims) (string, time.Time, error) {
	key, kid, err := t.signing(ctx)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("make an access token: %w", err)
	}
	// JWTs count whole seconds.
	now := t.clock.Now().UTC().Truncate(time.Second)
	ends := now.Add(AccessTokenLifetime)
	id, err := uuid.NewRandom()
	if err != nil {
		return "", time.Time{}, fmt.Errorf("make an access token: %w", err)
	}
	token := jwt.NewWithClaims(t.method, wireClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: t.cfg.Issuer, Subject: c.UserID.String(), Audience: jwt.ClaimStrings{t.cfg.Audience},
			ExpiresAt: jwt.NewNumericDate(ends), NotBefore: jwt.NewNumericDate(now.Add(-clockSkew)),
			IssuedAt: jwt.NewNumericDate(now), ID: id.String(),
		},
		Org: c.OrgID.String(), Role: string(c.Role), SignIn: c.SignInID.String(),
	})
	if kid != "" {
		token.Header["kid"] = kid
	}
	signed, err := token.SignedString(key)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("make an access token: %w", err)
	}
	return signed, ends, nil
}

// signing returns what signs tokens now, and its id; a secret has none.
func (t *AccessTokens) signing(ctx context.Context) (key any, kid string, err error) {
	if t.keys == nil {
		return t.cfg.Secret, "", nil
	}
	k, err := t.keys.signing(ctx)
	return k.private, k.id, err
}

// Verify checks signature, algorithm, issuer, audience and times. Its errors wrap ErrUnauthenticated. It does not know
// whether the sign-in still stands: see orgs.Service.Authenticate.
func (t *AccessTokens) Verify(ctx context.Context, token string) (Claims, error) {
	if len(token) > maxTokenLength {
		return Claims{}, fmt.Errorf("%w: it is too long", ErrUnauthenticated)
	}
	var w wireClaims
	_, err := t.parser.ParseWithClaims(token, &w, func(token *jwt.Token) (any, error) {
		if t.keys == nil {
			return t.cfg.Secret, nil
		}
		kid, _ := token.Header["kid"].(string)
		public, ok := t.keys.verifying(ctx, kid)
		if !ok {
			return nil, errors.New("unknown key")
		}
		return public, nil
	})
	if errors.Is(err, jwt.ErrTokenExpired) {
		return Claims{}, ErrTokenExpired
	}
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrUnauthenticated, err)
	}
	c := Claims{Role: models.Role(w.Role), ExpiresAt: w.ExpiresAt.UTC()}
	if c.UserID, err = models.ParseID[models.UserEntity](w.Subject); err != nil {
		return Claims{}, fmt.Errorf("%w: sub: %w", ErrUnauthenticated, err)
	}
	if c.OrgID, err = models.ParseID[models.OrgEntity](w.Org); err != nil {
		return Claims{}, fmt.Errorf("%w: org: %w", ErrUnauthenticated, err)
	}
	if c.SignInID, err = models.ParseID[models.SignInEntity](w.SignIn); err != nil {
		return Claims{}, fmt.Errorf("%w: sid: %w", ErrUnauthenticated, err)
	}
	return c, nil
}
