package auth

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// KeyLifetime is how long a key signs before another one takes its place by itself.
	KeyLifetime = 30 * 24 * time.Hour
	// KeyLead is how long a new key is published before it signs. Until then every node, whose set is at most keysMaxAge old, and
	// everybody who keeps the published set as long as its headers allow, has it.
	KeyLead = 10 * time.Minute
	// KeyLeadAtOnce is the lead of a rotation that somebody asked for: enough for all nodes, though not for everybody else.
	KeyLeadAtOnce = 2 * keysMaxAge
	// keysCheck is how often a node looks whether a rotation is due.
	keysCheck = 10 * time.Minute
)

// KeyRecorder writes down, as the last thing in the transaction of a rotation, that a new key takes over.
type KeyRecorder func(ctx context.Context, tx *gorm.DB, at models.Millis, id string) error

// Rotation is what a rotation came to.
type Rotation struct {
	// KeyID is the newest key, whether this rotation made it or another one.
	KeyID string
	// SignsAt is from when on it signs.
	SignsAt time.Time
	// Made is false when a key was waiting to take over already.
	Made bool
}

// RotateNow makes a new key, which all nodes know within KeyLeadAtOnce, and sign with from then on. While a new key waits to take
// over it makes none, so that of several rotations at once one counts.
func (k *Keys) RotateNow(ctx context.Context, record KeyRecorder) (Rotation, error) {
	return k.rotate(ctx, KeyLeadAtOnce, 0, record)
}

// RotateDue does what is due by itself: it makes a new key when the newest is KeyLifetime old, and removes those whose tokens have
// all ended. Of several nodes one does it.
func (k *Keys) RotateDue(ctx context.Context, record KeyRecorder) (Rotation, error) {
	now := k.clock.Now()
	young, over := models.MillisOf(now.Add(-KeyLifetime)), retiredBefore(now)
	// A look without the lock: nearly always nothing is due.
	var due int64
	err := k.db.ReadAcross(ctx).Model(&models.SigningKey{}).
		Where("retired_at <= ? OR (retired_at IS NULL AND created_at <= ?)", over, young).Count(&due).Error
	if err != nil {
		return Rotation{}, fmt.Errorf("look for signing keys that are due: %w", err)
	}
	if due == 0 {
		return Rotation{}, nil
	}
	return k.rotate(ctx, KeyLead, KeyLifetime, record)
}

// rotate makes a new key when the newest has an age and signs already, and lets the others retire when it takes over.
func (k *Keys) rotate(ctx context.Context, lead, age time.Duration, record KeyRecorder) (Rotation, error) {
	row, err := k.fresh()
	if err != nil {
		return Rotation{}, err
	}
	var done Rotation
	err = k.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if err := store.LockTable(tx, signingKeys); err != nil {
			return err
		}
		// Under the lock: who waited for it must not think that it is earlier than those before.
		now := k.clock.Now()
		if err := tx.Where("retired_at <= ?", retiredBefore(now)).Delete(&models.SigningKey{}).Error; err != nil {
			return fmt.Errorf("remove old ones: %w", err)
		}
		newest, signsAt, err := newestKey(tx)
		if err != nil {
			return err
		}
		takesOver := now
		if newest != nil {
			done = Rotation{KeyID: newest.ID, SignsAt: signsAt}
			if now.Before(signsAt) || now.Before(newest.CreatedAt.Time().Add(age)) {
				return nil
			}
			takesOver = now.Add(lead)
		}
		row.CreatedAt = models.MillisOf(now)
		err = tx.Model(&models.SigningKey{}).Where("retired_at IS NULL").Update("retired_at", models.MillisOf(takesOver)).Error
		if err != nil {
			return fmt.Errorf("retire the present one: %w", err)
		}
		if err := tx.Create(&row).Error; err != nil {
			return fmt.Errorf("store a new one: %w", err)
		}
		done = Rotation{KeyID: row.ID, SignsAt: takesOver, Made: true}
		if record == nil {
			return nil
		}
		return record(ctx, tx, row.CreatedAt, row.ID)
	})
	if err != nil {
		return Rotation{}, fmt.Errorf("rotate the signing keys: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loadedAt = time.Time{} // this node reads the set at its next use
	return done, nil
}

// newestKey returns the key that no other one is to take the place of, nil when there is none, and from when on it signs: when the last
// one before it retires.
func newestKey(tx *gorm.DB) (*models.SigningKey, time.Time, error) {
	var rows []models.SigningKey
	if err := tx.Order("created_at DESC, id").Find(&rows).Error; err != nil {
		return nil, time.Time{}, fmt.Errorf("read them: %w", err)
	}
	var newest *models.SigningKey
	var signsAt models.Millis
	for i, row := range rows {
		switch {
		case row.RetiredAt != nil:
			signsAt = max(signsAt, *row.RetiredAt)
		case newest == nil:
			newest = &rows[i]
		}
	}
	return newest, signsAt.Time(), nil
}

// NewRotator returns the job that rotates the keys when that is due: it looks when it starts, and every ten minutes.
func NewRotator(keys *Keys, record KeyRecorder, log *slog.Logger) *background.Job {
	return background.Every(log, "rotate the signing keys", keysCheck, func(ctx context.Context) error {
		made, err := keys.RotateDue(ctx, record)
		if err == nil && made.Made {
			log.Info("a new signing key was made", "key", made.KeyID, "signs_at", made.SignsAt)
		}
		return err
	}, background.AtStart())
}
