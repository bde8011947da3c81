package auth_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

var (
	start  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	config = auth.TokenConfig{Issuer: "https://ostler.test", Audience: "ostler"}
)

// plain seals nothing: what is sealed is the business of internal/secrets.
type plain struct{}

func (plain) Seal(row string, b []byte) ([]byte, error) { return append([]byte(row+"|"), b...), nil }

func (plain) Open(row string, b []byte) ([]byte, error) {
	s, ok := strings.CutPrefix(string(b), row+"|")
	if !ok {
		return nil, errors.New("sealed for another row")
	}
	return []byte(s), nil
}

func node(t *testing.T, db *store.DB, clk clock.Clock) (*auth.AccessTokens, *auth.Keys) {
	t.Helper()
	keys, err := auth.OpenKeys(t.Context(), db, plain{}, clk)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.NewAccessTokens(keys, clk, config)
	if err != nil {
		t.Fatal(err)
	}
	return tokens, keys
}

func someone() auth.Claims {
	return auth.Claims{
		UserID: models.NewID[models.UserEntity](), OrgID: models.NewID[models.OrgEntity](),
		SignInID: models.NewID[models.SignInEntity](), Role: models.RoleAdmin,
	}
}

func issue(t *testing.T, tokens *auth.AccessTokens, c auth.Claims) (string, time.Time) {
	t.Helper()
	token, ends, err := tokens.Issue(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return token, ends
}

func TestAccessTokens(t *testing.T) {
	clk := clock.NewManual(start.Add(700 * time.Millisecond))
	tokens, _ := node(t, storetest.SQLite(t), clk)
	want := someone()
	token, ends := issue(t, tokens, want)
	want.ExpiresAt = start.Add(15 * time.Minute)
	if !ends.Equal(want.ExpiresAt) {
		t.Errorf("ends at %v, want %v", ends, want.ExpiresAt)
	}
	got, err := tokens.Verify(t.Context(), token)
	if err != nil || !got.ExpiresAt.Equal(want.ExpiresAt) {
		t.Fatalf("got %+v, %v", got, err)
	}
	got.ExpiresAt = want.ExpiresAt
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}

	header, claims := parts(t, token)
	for _, name := range []string{"sub", "org", "role", "sid", "iat", "exp", "nbf", "iss", "aud", "jti"} {
		if claims[name] == nil {
			t.Errorf("the claim %s is missing", name)
		}
	}
	if len(claims) != 10 || header["alg"] != "EdDSA" {
		t.Errorf("got header %v and claims %v", header, claims)
	}
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	jwks, err := tokens.JWKS(t.Context())
	if err != nil || json.Unmarshal(jwks, &set) != nil || len(set.Keys) != 1 || set.Keys[0]["kid"] != header["kid"] {
		t.Fatalf("got %s, %v", jwks, err)
	}
	// Who has only the published key can verify.
	public, err := base64.RawURLEncoding.DecodeString(set.Keys[0]["x"])
	if err != nil {
		t.Fatal(err)
	}
	_, err = jwt.Parse(token, func(*jwt.Token) (any, error) { return ed25519.PublicKey(public), nil }, jwt.WithTimeFunc(clk.Now))
	if err != nil {
		t.Errorf("verify by the published key: %v", err)
	}
	if strings.Contains(string(jwks), `"d"`) {
		t.Error("the private key is published")
	}

	clk.Advance(15*time.Minute - 701*time.Millisecond)
	if _, err := tokens.Verify(t.Context(), token); err != nil {
		t.Errorf("just before its end: %v", err)
	}
	clk.Advance(time.Millisecond)
	if _, err := tokens.Verify(t.Context(), token); !errors.Is(err, auth.ErrTokenExpired) || !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("at its end: got %v, want ErrTokenExpired", err)
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	clk := clock.NewManual(start)
	tokens, _ := node(t, storetest.SQLite(t), clk)
	good, _ := issue(t, tokens, someone())
	header, claims := parts(t, good)
	kid, _ := header["kid"].(string)
	_, foreign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	forge := func(method jwt.SigningMethod, key any, kid any, change func(jwt.MapClaims)) string {
		c := jwt.MapClaims(maps.Clone(claims))
		if change != nil {
			change(c)
		}
		token := jwt.NewWithClaims(method, c)
		if kid != nil {
			token.Header["kid"] = kid
		}
		signed, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	none := jwt.UnsafeAllowNoneSignatureType
	p := strings.Split(good, ".")
	for name, token := range map[string]string{
		"empty":                    "",
		"no token":                 "Bearer x",
		"an API key":               "ost_0123456789",
		"alg none":                 forge(jwt.SigningMethodNone, none, kid, nil),
		"alg none without kid":     forge(jwt.SigningMethodNone, none, nil, nil),
		"HS256, kid as secret":     forge(jwt.SigningMethodHS256, []byte(kid), kid, nil),
		"HS256, empty secret":      forge(jwt.SigningMethodHS256, []byte{}, kid, nil),
		"RS256":                    forge(jwt.SigningMethodRS256, rsaKey, kid, nil),
		"foreign key":              forge(jwt.SigningMethodEdDSA, foreign, kid, nil),
		"foreign key, its own kid": forge(jwt.SigningMethodEdDSA, foreign, "foreign", nil),
		"foreign key, no kid":      forge(jwt.SigningMethodEdDSA, foreign, nil, nil),
		"foreign key, odd kid":     forge(jwt.SigningMethodEdDSA, foreign, 7, nil),
		"no signature":             p[0] + "." + p[1] + ".",
		"two parts":                p[0] + "." + p[1],
		"another body":             p[0] + "." + strings.Split(forge(jwt.SigningMethodEdDSA, foreign, kid, func(c jwt.MapClaims) { c["role"] = "OWNER" }), ".")[1] + "." + p[2],
		"padding":                  good + "=",
		"more behind":              good + ".x",
		"too long":                 good + strings.Repeat("A", 5000),
	} {
		if got, err := tokens.Verify(t.Context(), token); !errors.Is(err, auth.ErrUnauthenticated) || got != (auth.Claims{}) {
			t.Errorf("%s: got %+v, %v; want ErrUnauthenticated", name, got, err)
		}
	}
}

// TestWrongClaimsAreRefused signs with the server's own key: only the claims are wrong.
func TestWrongClaimsAreRefused(t *testing.T) {
	clk := clock.NewManual(start)
	db := storetest.SQLite(t)
	tokens, _ := node(t, db, clk)
	good, _ := issue(t, tokens, someone())
	header, claims := parts(t, good)
	var row models.SigningKey
	if err := db.ReadAcross(t.Context()).Take(&row).Error; err != nil {
		t.Fatal(err)
	}
	seed, err := plain{}.Open(row.ID, row.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(jwt.MapClaims){
		"":                       func(jwt.MapClaims) {}, // the control
		"another audience":       func(c jwt.MapClaims) { c["aud"] = "somebody" },
		"no audience":            func(c jwt.MapClaims) { delete(c, "aud") },
		"another issuer":         func(c jwt.MapClaims) { c["iss"] = "https://evil.test" },
		"no issuer":              func(c jwt.MapClaims) { delete(c, "iss") },
		"expired":                func(c jwt.MapClaims) { c["exp"] = start.Unix() },
		"no end":                 func(c jwt.MapClaims) { delete(c, "exp") },
		"not yet":                func(c jwt.MapClaims) { c["nbf"] = start.Unix() + 1 },
		"no beginning":           func(c jwt.MapClaims) { delete(c, "nbf") },
		"end is text":            func(c jwt.MapClaims) { c["exp"] = "tomorrow" },
		"no subject":             func(c jwt.MapClaims) { delete(c, "sub") },
		"the subject is no user": func(c jwt.MapClaims) { c["sub"] = c["org"] },
		"no org":                 func(c jwt.MapClaims) { delete(c, "org") },
		"no sign-in":             func(c jwt.MapClaims) { delete(c, "sid") },
	} {
		c := jwt.MapClaims(maps.Clone(claims))
		change(c)
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
		token.Header["kid"] = header["kid"]
		signed, err := token.SignedString(ed25519.NewKeyFromSeed(seed))
		if err != nil {
			t.Fatal(err)
		}
		_, err = tokens.Verify(t.Context(), signed)
		if name == "" {
			if err != nil {
				t.Fatalf("the control was refused: %v", err)
			}
			continue
		}
		if !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: got %v, want ErrUnauthenticated", name, err)
		}
	}
}

func parts(t *testing.T, token string) (header, claims map[string]any) {
	t.Helper()
	for i, into := range []*map[string]any{&header, &claims} {
		b, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatal(err)
		}
	}
	return header, claims
}
