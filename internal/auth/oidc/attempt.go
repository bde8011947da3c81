package oidc

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// AttemptLifetime is how long a person may take at the issuer.
const AttemptLifetime = 10 * time.Minute

const maxCookie = 4096

// Attempt is a sign-in that a browser has begun. It is sealed into a cookie of that browser, for the state that goes to the issuer: neither
// is good for anything without the other, so nobody can finish in somebody else's browser what they began in theirs.
type Attempt struct {
	// Nonce must come back in the ID token.
	Nonce string `json:"n"`
	// Verifier proves to the issuer that who has the code also began.
	Verifier string `json:"v"`
	// ReturnTo is the page to show afterwards.
	ReturnTo string `json:"r"`
	// Invitation is the SHA-256 of the token of an invitation to accept; nil for none.
	Invitation []byte `json:"i,omitempty"`
	// Expires is when it is too late, in seconds since 1970.
	Expires int64 `json:"e"`
	// State is the SHA-256 of the state: what reports that it was used.
	State []byte `json:"-"`
}

// Redirect sends a browser to the issuer.
type Redirect struct {
	URL     string
	Cookie  string
	Expires time.Time
}

// Begin begins a sign-in. It asks the issuer where to send people, unless that is known. Its error is Unavailable, or the server's own.
func (c *Client) Begin(ctx context.Context, returnTo string, invitation []byte) (Redirect, error) {
	at, err := c.discover(ctx)
	if err != nil {
		return Redirect{}, err
	}
	expires := c.cfg.Clock.Now().Add(AttemptLifetime)
	state := rand.Text()
	a := Attempt{Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), ReturnTo: returnTo, Invitation: invitation, Expires: expires.Unix()}
	plain, err := json.Marshal(a)
	if err != nil {
		return Redirect{}, fmt.Errorf("store the state of a sign-in: %w", err)
	}
	sealed := c.seals[0].Seal(nil, nil, plain, []byte(state)) //nolint:gosec // G407: it makes a random nonce for each value itself
	return Redirect{
		URL:    at.oauth.AuthCodeURL(state, gooidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)),
		Cookie: base64.RawURLEncoding.EncodeToString(sealed), Expires: expires,
	}, nil
}

// Open returns the sign-in that a browser has begun; StateLost when it has not begun one with this state, or when that was too long ago. The
// caller has to see to it that it is finished once: by Attempt.State.
func (c *Client) Open(cookie, state string) (Attempt, error) {
	var a Attempt
	if cookie == "" || state == "" {
		return a, StateLost.because("the cookie or the state is missing")
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil || len(sealed) > maxCookie {
		return a, StateLost.because("the cookie was not issued by this server")
	}
	for _, seal := range c.seals {
		plain, err := seal.Open(nil, nil, sealed, []byte(state))
		if err != nil {
			continue
		}
		if err := json.Unmarshal(plain, &a); err != nil {
			return a, fmt.Errorf("read the state of a sign-in: %w", err)
		}
		if a.Expires <= c.cfg.Clock.Now().Unix() {
			return a, StateLost.because("the sign-in took too long")
		}
		sum := sha256.Sum256([]byte(state))
		a.State = sum[:]
		return a, nil
	}
	return a, StateLost.because("the state belongs to another browser")
}

// newSeal returns AES-256-GCM that makes a random nonce for each value and keeps it in front of the ciphertext.
func newSeal(secret []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("prepare AES: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}
