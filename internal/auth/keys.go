package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
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
	// keysAfterlife is how long a key verifies after it retired: until the last token that it signed has ended, by whichever
	// node's clock, and with a node in mind that learned of the retirement late.
	keysAfterlife = AccessTokenLifetime + clockSkew + keysMaxAge

	signingKeys = "signing_keys"
)

// KeySealer keeps private keys encrypted in the database; secrets.Keeper's SigningKeys is one.
type KeySealer interface {
	Seal(row string, plaintext []byte) ([]byte, error)
	Open(row string, sealed []byte) ([]byte, error)
}

// Keys is the set of keys that sign access tokens. It lives in the database, so that all nodes share it, and is read
// again when it gets old. The key that retires next signs: a new one is published at once, and
// takes over at the time at which the one before retires; see RotateNow and RotateDue. A retired one still verifies the
// tokens that it signed until they have ended.
type Keys struct {
	db     *store.DB
	sealer KeySealer
	clock  clock.Clock

	mu       sync.Mutex
	set      []signingKey // the newest first, without those whose tokens have all ended
	loadedAt time.Time
}

type signingKey struct {
	id      string
	public  ed25519.PublicKey
	private ed25519.PrivateKey // nil when the key had retired before the set was read
	retires models.Millis      // 0 while no other key is to take its place
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

// signing returns the key that signs now.
func (k *Keys) signing(ctx context.Context) (signingKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refresh(ctx, keysMaxAge)
	if s := k.signer(); s != nil {
		return *s, nil
	}
	return signingKey{}, errors.New("no signing key is active: rotate the keys")
}

// verifying returns the public key with this id; false when there is none.
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
	now := k.clock.Now()
	for _, key := range k.set {
		if key.id == id && !key.over(now) {
			return key.public, true
		}
	}
	return nil, false
}

// signer returns the key that retires next; the one that nothing takes the place of comes last.
func (k *Keys) signer() *signingKey {
	now := k.clock.Now()
	var best *signingKey
	for i, key := range k.set {
		if key.private == nil || key.retired(now) {
			continue
		}
		if best == nil || best.retires == 0 || key.retires != 0 && key.retires < best.retires {
			best = &k.set[i]
		}
	}
	return best
}

// retired reports whether another key signs now.
func (s signingKey) retired(now time.Time) bool {
	return s.retires != 0 && s.retires <= models.MillisOf(now)
}

// over reports whether all tokens of a key have ended.
func (s signingKey) over(now time.Time) bool {
	return s.retires != 0 && s.retires <= retiredBefore(now)
}

// retiredBefore returns the time whose keys, when they retired then, have no token any more.
func retiredBefore(now time.Time) models.Millis { return models.MillisOf(now.Add(-keysAfterlife)) }

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
	if err := k.db.ReadAcross(ctx).Where("retired_at IS NULL OR retired_at > ?", retiredBefore(now)).Order("created_at DESC, id").
		Find(&rows).Error; err != nil {
		return fmt.Errorf("read the signing keys: %w", err)
	}
	set := make([]signingKey, 0, len(rows))
	for _, row := range rows {
		key := signingKey{id: row.ID, public: ed25519.PublicKey(row.PublicKey)}
		if row.RetiredAt != nil {
			key.retires = *row.RetiredAt
		}
		if !key.retired(now) {
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

// create makes the first key, unless another node was faster.
func (k *Keys) create(ctx context.Context) error {
	row, err := k.fresh()
	if err != nil {
		return err
	}
	err = k.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if err := store.LockTable(tx, signingKeys); err != nil {
			return err
		}
		now := clock.Millis(k.clock)
		var active int64
		err := tx.Model(&models.SigningKey{}).Where("retired_at IS NULL OR retired_at > ?", now).Count(&active).Error
		if err != nil || active > 0 {
			return err
		}
		row.CreatedAt = now
		return tx.Create(&row).Error
	})
	if err != nil {
		return fmt.Errorf("make a signing key: %w", err)
	}
	return nil
}

// fresh makes a key and its row.
func (k *Keys) fresh() (models.SigningKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return models.SigningKey{}, fmt.Errorf("make a signing key: %w", err)
	}
	row := models.SigningKey{ID: keyID(public), PublicKey: public}
	if row.PrivateKey, err = k.sealer.Seal(row.ID, private.Seed()); err != nil {
		return models.SigningKey{}, fmt.Errorf("make a signing key: %w", err)
	}
	return row, nil
}

// keyID is the thumbprint of RFC 7638.
func keyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
