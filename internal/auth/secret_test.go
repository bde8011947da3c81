package auth_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func withSecret(t *testing.T, clk clock.Clock, secret []byte) *auth.AccessTokens {
	t.Helper()
	cfg := config
	cfg.Secret = secret
	tokens, err := auth.NewAccessTokens(nil, clk, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestWithASecretOnlyHS256IsAccepted(t *testing.T) {
	clk := clock.NewManual(start)
	secret := bytes.Repeat([]byte{5}, auth.MinTokenSecret)
	tokens := withSecret(t, clk, secret)
	good, _ := issue(t, tokens, someone())
	header, claims := parts(t, good)
	if err := verify(t, withSecret(t, clk, secret), good); err != nil || header["alg"] != "HS256" {
		t.Fatalf("another node: %v, header %v", err, header)
	}
	if set := published(t, tokens); len(set.Keys) != 0 {
		t.Errorf("published: %+v", set)
	}
	signed := func(method jwt.SigningMethod, key any) string {
		t.Helper()
		s, err := jwt.NewWithClaims(method, jwt.MapClaims(claims)).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	byKeys, _ := node(t, storetest.SQLite(t), clk)
	signedByKey, _ := issue(t, byKeys, someone())
	for name, token := range map[string]string{
		"alg none":                      signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType),
		"HS512 with the secret":         signed(jwt.SigningMethodHS512, secret),
		"another secret":                signed(jwt.SigningMethodHS256, bytes.Repeat([]byte{6}, auth.MinTokenSecret)),
		"no secret":                     signed(jwt.SigningMethodHS256, []byte{}),
		"a key of another installation": signedByKey,
		"EdDSA with the secret as seed": signed(jwt.SigningMethodEdDSA, ed25519.NewKeyFromSeed(secret)),
	} {
		if err := verify(t, tokens, token); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := verify(t, tokens, signed(jwt.SigningMethodHS256, secret)); err != nil {
		t.Errorf("the control was refused: %v", err)
	}
}

// The published key is no secret: who signs HS256 with it, in any form of it, must not get in.
func TestThePublicKeyIsNoSecret(t *testing.T) {
	clk := clock.NewManual(start)
	tokens, _ := node(t, storetest.SQLite(t), clk)
	good, _ := issue(t, tokens, someone())
	header, claims := parts(t, good)
	set := published(t, tokens)
	raw, ok := set.Keys[0].Key.(ed25519.PublicKey)
	if !ok {
		t.Fatalf("the published key is a %T", set.Keys[0].Key)
	}
	document, err := set.Keys[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string][]byte{"raw": raw, "text": []byte(base64.RawURLEncoding.EncodeToString(raw)), "document": document} {
		forged := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(claims))
		forged.Header["kid"] = header["kid"]
		token, err := forged.SignedString(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(t, tokens, token); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTokensAreSignedInOneWay(t *testing.T) {
	clk := clock.NewManual(start)
	_, keys := node(t, storetest.SQLite(t), clk)
	cfg := config
	if _, err := auth.NewAccessTokens(nil, clk, cfg); err == nil {
		t.Error("neither keys nor a secret were taken")
	}
	cfg.Secret = make([]byte, auth.MinTokenSecret-1)
	if _, err := auth.NewAccessTokens(nil, clk, cfg); err == nil {
		t.Error("a short secret was taken")
	}
	cfg.Secret = make([]byte, auth.MinTokenSecret)
	if _, err := auth.NewAccessTokens(keys, clk, cfg); err == nil {
		t.Error("keys and a secret were taken")
	}
}
