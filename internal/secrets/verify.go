package secrets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// ErrWrongKey means that the database belongs to a master key that is not configured.
var ErrWrongKey = errors.New("the master key does not fit this database")

const knownValue = "ostler"

// VerifyKey checks at start that the configured master keys are those of the database. A new database takes the
// current key. One whose key is configured as the previous one takes the current one beside it: a rotation begins.
// Every key that the database knows must be configured, since values sealed under it may exist; otherwise the error
// wraps ErrWrongKey and says what to set.
func (k *Keeper) VerifyKey(ctx context.Context, db *store.DB, clk clock.Clock) error {
	var known []models.MasterKey
	if err := db.ReadAcross(ctx).Order("created_at, id").Find(&known).Error; err != nil {
		return fmt.Errorf("check the master key: %w", err)
	}
	if slices.ContainsFunc(known, func(m models.MasterKey) bool { return m.ID == k.KeyID() }) {
		return k.fits(known)
	}
	err := db.WriteAcross(ctx, func(tx *gorm.DB) error {
		// Two nodes with different keys may start on a new database at once: one of them must lose.
		if err := store.LockTable(tx, "master_keys"); err != nil {
			return err
		}
		if err := tx.Order("created_at, id").Find(&known).Error; err != nil {
			return err
		}
		if err := k.fits(known); err != nil {
			return err
		}
		if slices.ContainsFunc(known, func(m models.MasterKey) bool { return m.ID == k.KeyID() }) {
			return nil
		}
		sealed, err := k.Seal([]byte(knownValue), placeOfKey(k.KeyID()))
		if err != nil {
			return err
		}
		return tx.Create(&models.MasterKey{ID: k.KeyID(), Sealed: sealed, CreatedAt: clock.Millis(clk)}).Error
	})
	if err != nil {
		return fmt.Errorf("check the master key: %w", err)
	}
	return nil
}

func (k *Keeper) fits(known []models.MasterKey) error {
	for _, m := range known {
		value, err := k.Open(m.Sealed, placeOfKey(m.ID))
		if err == nil && string(value) == knownValue {
			continue
		}
		return fmt.Errorf("%w: it belongs to key %s, and the configured one is %s. Set OSTLER_MASTER_KEY (with SQLite, "+
			"or the file %s) to that key; to change keys, set it as OSTLER_MASTER_KEY_PREVIOUS",
			ErrWrongKey, m.ID, k.KeyID(), KeyFile)
	}
	return nil
}

func placeOfKey(id string) Place { return Place{Table: "master_keys", Column: "sealed", Row: id} }
