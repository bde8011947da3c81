// Package secrets keeps values encrypted in the database. Each value has a data key of its own, which is wrapped by
// a key-encryption key that is derived from the master key of the configuration. Both are bound to the place in the
// database where the value lives: copied to another row, column or organization it does not open.
package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// The form of a sealed value: format, key id, wrapped data key, encrypted value. The last two carry their nonces.
const (
	formatV1     = 1
	keyLen       = 32
	keyIDLen     = 8
	gcmOverhead  = 12 + 16
	wrappedLen   = keyLen + gcmOverhead
	headerLen    = 1 + keyIDLen + wrappedLen
	minSealedLen = headerLen + gcmOverhead
)

// ErrOpen means that a value can't be decrypted here: it was changed, it belongs to another place, or it was sealed
// under a master key that is not configured.
var ErrOpen = errors.New("the sealed value does not open")

// Place is where a sealed value lives. Org is zero for tables that belong to no organization; Row is the row's id.
type Place struct {
	Org    models.OrgID
	Table  string
	Column string
	Row    string
}

// additional returns the bytes that a value is bound by. Each part carries its length, so that no two places look the same.
func (p Place) additional(what string) []byte {
	b := append([]byte(nil), p.Org[:]...)
	for _, s := range [...]string{what, p.Table, p.Column, p.Row} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s))) //nolint:gosec // names and ids are short
		b = append(b, s...)
	}
	return b
}

// Keeper seals and opens values. It is safe for concurrent use.
type Keeper struct {
	keys []masterKey // the current one first
}

type masterKey struct {
	id  [keyIDLen]byte
	raw []byte
	kek cipher.AEAD
}

// NewKeeper seals under current and opens what was sealed under current or one of previous. Keys are 32 random bytes.
func NewKeeper(current []byte, previous ...[]byte) (*Keeper, error) {
	k := &Keeper{}
	for _, raw := range append([][]byte{current}, previous...) {
		if len(raw) != keyLen {
			return nil, fmt.Errorf("a master key has %d bytes, want %d: make one with `openssl rand -base64 32`", len(raw), keyLen)
		}
		m := masterKey{raw: append([]byte(nil), raw...)}
		id, err := derive(raw, "key id", keyIDLen)
		if err != nil {
			return nil, err
		}
		copy(m.id[:], id)
		kek, err := derive(raw, "key encryption", keyLen)
		if err != nil {
			return nil, err
		}
		if m.kek, err = newAEAD(kek); err != nil {
			return nil, err
		}
		k.keys = append(k.keys, m)
	}
	return k, nil
}

// KeyID is the fingerprint of the current master key, as master_keys stores it. It tells nothing about the key.
func (k *Keeper) KeyID() string { return hex.EncodeToString(k.keys[0].id[:]) }

// Secrets derives a secret of 32 bytes for a purpose other than sealing, from each master key, the current one first.
func (k *Keeper) Secrets(purpose string) ([][]byte, error) {
	list := make([][]byte, 0, len(k.keys))
	for _, m := range k.keys {
		s, err := derive(m.raw, "secret: "+purpose, keyLen)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// Seal encrypts a value for one place, under the current master key.
func (k *Keeper) Seal(plaintext []byte, at Place) ([]byte, error) {
	m := k.keys[0]
	dataKey := make([]byte, keyLen)
	if _, err := rand.Read(dataKey); err != nil {
		return nil, fmt.Errorf("seal %s.%s: %w", at.Table, at.Column, err)
	}
	value, err := newAEAD(dataKey)
	if err != nil {
		return nil, fmt.Errorf("seal %s.%s: %w", at.Table, at.Column, err)
	}
	b := make([]byte, 0, minSealedLen+len(plaintext))
	b = append(b, formatV1)
	b = append(b, m.id[:]...)
	// The nonces are random: see newAEAD.
	b = m.kek.Seal(b, nil, dataKey, at.additional("data key"))        //nolint:gosec // G407: nil is no nonce
	return value.Seal(b, nil, plaintext, at.additional("value")), nil //nolint:gosec // G407: nil is no nonce
}

// Open decrypts a value that was sealed for the same place. Its errors wrap ErrOpen.
func (k *Keeper) Open(sealed []byte, at Place) ([]byte, error) {
	_, dataKey, err := k.dataKey(sealed, at)
	if err != nil {
		return nil, err
	}
	value, err := newAEAD(dataKey)
	if err != nil {
		return nil, at.fails(err.Error())
	}
	plaintext, err := value.Open(nil, nil, sealed[headerLen:], at.additional("value"))
	if err != nil {
		return nil, at.fails("it was changed, or was sealed for another place")
	}
	return plaintext, nil
}

// dataKey returns the key of a sealed value, and the master key that it is wrapped by.
func (k *Keeper) dataKey(sealed []byte, at Place) (masterKey, []byte, error) {
	if len(sealed) < minSealedLen || sealed[0] != formatV1 {
		return masterKey{}, nil, at.fails("it has no known format")
	}
	id := [keyIDLen]byte(sealed[1 : 1+keyIDLen])
	for _, m := range k.keys {
		if m.id != id {
			continue
		}
		dataKey, err := m.kek.Open(nil, nil, sealed[1+keyIDLen:headerLen], at.additional("data key"))
		if err != nil {
			return masterKey{}, nil, at.fails("it was changed, or was sealed for another place")
		}
		return m, dataKey, nil
	}
	return masterKey{}, nil, at.fails("it was sealed under master key " + hex.EncodeToString(id[:]) + ", which is not configured")
}

// fails says why a value at a place doesn't open.
func (p Place) fails(why string) error {
	return fmt.Errorf("open %s.%s: %w: %s", p.Table, p.Column, ErrOpen, why)
}

// Rewrap returns a sealed value whose data key is wrapped by the current master key, and true; or false when it is so already. The value
// itself is not decrypted. Its errors wrap ErrOpen.
func (k *Keeper) Rewrap(sealed []byte, at Place) ([]byte, bool, error) {
	m, dataKey, err := k.dataKey(sealed, at)
	if err != nil {
		return nil, false, err
	}
	current := k.keys[0]
	if m.id == current.id {
		return sealed, false, nil
	}
	b := make([]byte, 0, len(sealed))
	b = append(b, formatV1)
	b = append(b, current.id[:]...)
	b = current.kek.Seal(b, nil, dataKey, at.additional("data key")) //nolint:gosec // G407: nil is no nonce
	return append(b, sealed[headerLen:]...), true, nil
}

// Column seals the values of one column of a table that belongs to no organization.
type Column struct {
	keeper        *Keeper
	table, column string
}

// SigningKeys returns the column of the private keys that sign access tokens.
func (k *Keeper) SigningKeys() Column {
	return Column{keeper: k, table: "signing_keys", column: "private_key"}
}

// Seal encrypts the value of a row.
func (c Column) Seal(row string, plaintext []byte) ([]byte, error) {
	return c.keeper.Seal(plaintext, Place{Table: c.table, Column: c.column, Row: row})
}

// Open decrypts the value of a row. Its errors wrap ErrOpen.
func (c Column) Open(row string, sealed []byte) ([]byte, error) {
	return c.keeper.Open(sealed, Place{Table: c.table, Column: c.column, Row: row})
}

func derive(master []byte, purpose string, length int) ([]byte, error) {
	b, err := hkdf.Key(sha256.New, master, nil, "ostler v1 "+purpose, length)
	if err != nil {
		return nil, fmt.Errorf("derive a key from the master key: %w", err)
	}
	return b, nil
}

// newAEAD returns AES-256-GCM that makes a random nonce for each value and keeps it in front of the ciphertext.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("prepare AES: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}
