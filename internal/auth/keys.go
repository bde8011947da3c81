package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// keysMaxAge is how old the set may become before it is read again, so that every node learns of a rotation.
	keysMaxAge = time.Minute
	// keysMinAge bounds how often a token with an unknown key makes us read the set again.
	keysMinAge = time.Second
	// keysReadTimeout bounds how long callers wait for a set that is read again.
	keysReadTimeout = 5 * time.Second
)

// KeySealer keeps private keys encrypted in the database; secrets.Keeper's SigningKeys is one.
type KeySealer interface {
	Seal(row string, plaintext []byte) ([]byte, error)
	Open(row string, sealed []byte) ([]byte, error)
}

// Keys is the set of keys that sign access tokens. It lives in the database, so that all nodes share it, and is read
// again when it gets old. The newest key that is not retired signs; a retired one still verifies the tokens that it
// signed until they have ended.
type Keys struct {
	db     *store.DB
	sealer KeySealer
	clock  clock.Clock

	mu       sync.Mutex
	set      []signingKey // the newest first
	loadedAt time.Time
}

type signingKey struct {
	id      string
	public  ed25519.PublicKey
	private ed25519.PrivateKey // nil when the key is retired
}

// OpenKeys reads the set. When no key can sign, it makes one; of several nodes that start at once, one does.
func OpenKeys(ctx context.Context, db *store.DB, sealer KeySealer, clk clock.Clock) (*Keys, error) {
	k := &Keys{db: db, sealer: sealer, clock: clk}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(ctx); err != nil {
		return nil, err
	}
	if k.signer() != nil {
		return k, nil
	}
	if err := k.create(ctx); err != nil {
		return nil, err
	}
	if err := k.load(ctx); err != nil {
		return nil, err
	}
	if k.signer() == nil {
		return nil, errors.New("make a signing key: another node retired it at once")
	}
	return k, nil
}

// JWKS gives the public keys as a JSON Web Key Set, the body of /.well-known/jwks.json.
func (k *Keys) JWKS(ctx context.Context) ([]byte, error) {
	k.mu.Lock()
	k.refresh(ctx, keysMaxAge)
	set := k.set
	k.mu.Unlock()
	type jwk struct {
		KeyType   string `json:"kty"`
		Curve     string `json:"crv"`
		X         string `json:"x"`
		ID        string `json:"kid"`
		Algorithm string `json:"alg"`
		Use       string `json:"use"`
	}
	list := make([]jwk, 0, len(set))
	for _, key := range set {
		list = append(list, jwk{"OKP", "Ed25519", base64.RawURLEncoding.EncodeToString(key.public), key.id, "EdDSA", "sig"})
	}
	return json.Marshal(map[string]any{"keys": list})
}

// signing gives the key that signs now.
func (k *Keys) signing(ctx context.Context) (signingKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refresh(ctx, keysMaxAge)
	if s := k.signer(); s != nil {
		return *s, nil
	}
	return signingKey{}, errors.New("no signing key is active: rotate the keys")
}

// verifying gives the public key with this id; false when there is none.
func (k *Keys) verifying(ctx context.Context, id string) (ed25519.PublicKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refresh(ctx, keysMaxAge)
	if p, ok := k.find(id); ok {
		return p, true
	}
	// Another node may have made the key a moment ago.
	k.refresh(ctx, keysMinAge)
	return k.find(id)
}

func (k *Keys) find(id string) (ed25519.PublicKey, bool) {
	for _, key := range k.set {
		if key.id == id {
			return key.public, true
		}
	}
	return nil, false
}

func (k *Keys) signer() *signingKey {
	for i := range k.set {
		if k.set[i].private != nil {
			return &k.set[i]
		}
	}
	return nil
}

// refresh reads the set again when it is older than maxAge. When that fails, the old one still serves: the database
// will be asked again after another while, and the request that needs it fails by itself.
func (k *Keys) refresh(ctx context.Context, maxAge time.Duration) {
	now := k.clock.Now()
	if age := now.Sub(k.loadedAt); age >= 0 && age < maxAge {
		return
	}
	k.loadedAt = now
	// One caller reads for all: that its client hangs up must not leave the others with the old set.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysReadTimeout)
	defer cancel()
	_ = k.load(ctx)
}

func (k *Keys) load(ctx context.Context) error {
	now := k.clock.Now()
	var rows []models.SigningKey
	cut := models.MillisOf(now.Add(-AccessTokenLifetime))
	if err := k.db.ReadAcross(ctx).Where("retired_at IS NULL OR retired_at > ?", cut).Order("created_at DESC, id").
		Find(&rows).Error; err != nil {
		return fmt.Errorf("read the signing keys: %w", err)
	}
	set := make([]signingKey, 0, len(rows))
	for _, row := range rows {
		key := signingKey{id: row.ID, public: ed25519.PublicKey(row.PublicKey)}
		if row.RetiredAt == nil {
			seed, err := k.sealer.Open(row.ID, row.PrivateKey)
			if err != nil {
				return fmt.Errorf("read signing key %s: %w", row.ID, err)
			}
			if len(seed) != ed25519.SeedSize {
				return fmt.Errorf("read signing key %s: it has %d bytes, want %d", row.ID, len(seed), ed25519.SeedSize)
			}
			key.private = ed25519.NewKeyFromSeed(seed)
			// The public key in the table is not sealed: the private one tells the truth.
			key.public = key.private.Public().(ed25519.PublicKey) //nolint:forcetypeassert // it is documented to be one
		}
		if len(key.public) != ed25519.PublicKeySize || keyID(key.public) != key.id {
			return fmt.Errorf("read signing key %s: the public key is not the one of this id", row.ID)
		}
		set = append(set, key)
	}
	k.set, k.loadedAt = set, now
	return nil
}

func (k *Keys) create(ctx context.Context) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make a signing key: %w", err)
	}
	id := keyID(public)
	sealed, err := k.sealer.Seal(id, private.Seed())
	if err != nil {
		return fmt.Errorf("make a signing key: %w", err)
	}
	err = k.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if err := store.LockTable(tx, "signing_keys"); err != nil {
			return err
		}
		var active int64
		if err := tx.Model(&models.SigningKey{}).Where("retired_at IS NULL").Count(&active).Error; err != nil || active > 0 {
			return err
		}
		return tx.Create(&models.SigningKey{
			ID: id, PublicKey: public, PrivateKey: sealed, CreatedAt: clock.Millis(k.clock),
		}).Error
	})
	if err != nil {
		return fmt.Errorf("make a signing key: %w", err)
	}
	return nil
}

// keyID is the thumbprint of RFC 7638.
func keyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
