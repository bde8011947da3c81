package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
)

// publicKey is an Ed25519 key as RFC 8037 writes it.
type publicKey struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	ID        string `json:"kid"`
	Algorithm string `json:"alg"`
	Use       string `json:"use"`
}

// JWKS returns the keys by which others can verify tokens as a JSON Web Key Set (RFC 7517), the body of /.well-known/jwks.json: one that
// is to sign soon among them. It is empty where tokens are signed with a secret.
func (t *AccessTokens) JWKS(ctx context.Context) ([]byte, error) {
	list := []publicKey{}
	if t.keys != nil {
		for _, key := range t.keys.published(ctx) {
			x := base64.RawURLEncoding.EncodeToString(key.public)
			list = append(list, publicKey{KeyType: "OKP", Curve: "Ed25519", X: x, ID: key.id, Algorithm: "EdDSA", Use: "sig"})
		}
	}
	return json.Marshal(map[string]any{"keys": list})
}

// published returns all keys that have tokens, or will have some.
func (k *Keys) published(ctx context.Context) []signingKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refresh(ctx, keysMaxAge)
	now := k.clock.Now()
	var list []signingKey
	for _, key := range k.set {
		if !key.over(now) {
			list = append(list, key)
		}
	}
	return list
}
