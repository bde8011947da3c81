package audit

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// signingKey signs anchors. Its id tells nothing about the secret.
type signingKey struct {
	id     string
	secret []byte
}

func newSigningKey(secret []byte) signingKey {
	sum := sha256.Sum256(append([]byte("audit anchors key id"), secret...))
	return signingKey{id: hex.EncodeToString(sum[:8]), secret: secret}
}

func (k signingKey) sign(a models.AuditAnchor) []byte {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write(a.OrgID[:])
	var numbers [16]byte
	binary.BigEndian.PutUint64(numbers[:8], uint64(a.Position))  //nolint:gosec // G115: the bits are what is signed
	binary.BigEndian.PutUint64(numbers[8:], uint64(a.CreatedAt)) //nolint:gosec // G115: the same
	mac.Write(numbers[:])
	mac.Write(a.Hash)
	return mac.Sum(nil)
}

func (l *Log) sign(a *models.AuditAnchor) {
	a.KeyID, a.Signature = l.keys[0].id, l.keys[0].sign(*a)
}

// signed reports whether an anchor is one of ours. The beginning of a chain that was never shortened needs no signature.
func (l *Log) signed(a models.AuditAnchor) bool {
	if a.Position == 0 {
		return bytes.Equal(a.Hash, make([]byte, sha256.Size))
	}
	for _, k := range l.keys {
		if k.id == a.KeyID {
			return hmac.Equal(k.sign(a), a.Signature)
		}
	}
	return false
}

// anchorOf returns where a chain begins: before its first entry, unless retention has removed some.
func anchorOf(db *gorm.DB, org models.OrgID) (models.AuditAnchor, error) {
	found, err := store.First[models.AuditAnchor](store.Of(db, org))
	if err != nil {
		return models.AuditAnchor{}, fmt.Errorf("read the anchor of an audit chain: %w", err)
	}
	if found == nil {
		return models.AuditAnchor{OrgID: org, Hash: make([]byte, sha256.Size), Signature: []byte{}}, nil
	}
	return *found, nil
}

// Removed is what one step of retention did.
type Removed struct {
	Entries int64
	// More is true when the next step may find others.
	More bool
	// Refused says why nothing was removed although there may be something to remove: the chain is broken, and what shows that must
	// stay. nil when all is well.
	Refused *Check
}

// Remove takes entries that are older than before from the beginning of a chain, at most limit of them and none after the first one that
// is not so old, and moves the anchor to the last one. Each step is a transaction of its own; several processes may do it at once.
// What it removes it verifies first, as the signature of the anchor vouches for it.
func (l *Log) Remove(ctx context.Context, org models.OrgID, now, before models.Millis, limit int) (Removed, error) {
	var done Removed
	err := l.db.Write(ctx, org, func(tx *gorm.DB) error {
		done = Removed{}
		anchor, err := lockAnchor(tx, org)
		if err != nil {
			return err
		}
		check := Check{From: anchor.Position + 1}
		if !l.signed(anchor) {
			check.broken(anchor.Position, "The signature of the anchor is wrong.")
			done.Refused = &check
			return nil
		}
		var page []models.AuditEntry
		if err := store.Of(tx, org).Where("position > ?", anchor.Position).Order("position").Limit(limit).Find(&page).Error; err != nil {
			return fmt.Errorf("read the oldest audit entries: %w", err)
		}
		n := 0
		for n < len(page) && page[n].CreatedAt < before {
			n++
		}
		if n == 0 {
			return nil
		}
		w := walk{check: &check, position: anchor.Position, hash: anchor.Hash}
		if !w.follow(page[:n]) {
			done.Refused = &check
			return nil
		}
		anchor.Position, anchor.Hash, anchor.CreatedAt = w.position, w.hash, now
		if err := l.putAnchor(tx, anchor); err != nil {
			return err
		}
		res := store.Of(tx, org).Where("position <= ?", anchor.Position).Delete(&models.AuditEntry{})
		if res.Error != nil {
			return fmt.Errorf("remove audit entries: %w", res.Error)
		}
		done = Removed{Entries: res.RowsAffected, More: n == limit}
		return nil
	})
	if err != nil {
		return Removed{}, fmt.Errorf("shorten the audit chain of %s: %w", org, err)
	}
	return done, nil
}

// SignAgain signs an anchor under the current master key that was signed under an earlier one, which may be taken out of the
// configuration afterwards. An anchor whose signature is wrong stays as it is.
func (l *Log) SignAgain(ctx context.Context, org models.OrgID) error {
	return l.db.Write(ctx, org, func(tx *gorm.DB) error {
		anchor, err := lockAnchor(tx, org)
		if err != nil {
			return err
		}
		if anchor.Position == 0 || anchor.KeyID == l.keys[0].id || !l.signed(anchor) {
			return nil
		}
		return l.putAnchor(tx, anchor)
	})
}

// EarlierKeys returns the ids of the keys that anchors should not be signed with any more.
func (l *Log) EarlierKeys() []string {
	ids := make([]string, 0, len(l.keys))
	for _, k := range l.keys[1:] {
		ids = append(ids, k.id)
	}
	return ids
}

// putAnchor signs and stores an anchor.
func (l *Log) putAnchor(tx *gorm.DB, a models.AuditAnchor) error {
	l.sign(&a)
	err := store.OneRow(store.Of(tx.Model(&models.AuditAnchor{}), a.OrgID).Updates(map[string]any{
		"position": a.Position, "hash": a.Hash, "key_id": a.KeyID, "signature": a.Signature, "created_at": a.CreatedAt,
	}))
	if err != nil {
		return fmt.Errorf("move the anchor of an audit chain: %w", err)
	}
	return nil
}

// lockAnchor keeps others from shortening a chain, which may still grow, until the transaction ends.
func lockAnchor(tx *gorm.DB, org models.OrgID) (models.AuditAnchor, error) {
	first := models.AuditAnchor{OrgID: org, Hash: make([]byte, sha256.Size), Signature: []byte{}}
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&first).Error; err != nil {
		return first, fmt.Errorf("make the anchor of an audit chain: %w", err)
	}
	return anchorOf(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), org)
}
